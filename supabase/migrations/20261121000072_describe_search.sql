-- What is to be watched of the search, apart from the audit that may take too long.
create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0),
    'audit', (select json_object_agg(finding, amount order by finding) from private.search_audit),
    'audit_age', (select extract(epoch from now() - max(audited_at)) from private.search_audit)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is
  'How the queue does, and what the latest audit found and how many seconds ago; null where there was none. Definer, because the doors hold no
right on either.';
grant execute on function private.describe_search() to edge_functions;

create or replace function private.report_search(oldest_audit double precision)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from private.search_audit where audited_at > now() - oldest_audit * interval '1 second') then
    perform private.audit_search_index();
  end if;
  return private.describe_search();
end
$$;
comment on function private.report_search(double precision) is
  'As describe_search, but audits first where the latest is more than so many seconds old, which can take too long. Definer, as that.';
