-- What people wrote in a report is kept while both have an account, and for 180 days after one of them was erased.
create function private.schedule_purge(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  update public.reports
  set purge_at = least(purge_at, private.present() + interval '180 days')
  where reporter_id = person or user_id = person;
end
$$;
comment on function private.schedule_purge(bigint) is
  'Sets the evidence of all reports by and about an erased person to be deleted in 180 days, unless it is due earlier.';

create function private.purge_evidence()
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  purged bigint[];
begin
  with due as (
    update public.reports
    set note = null, purge_at = null
    where purge_at <= (select private.present())
    returning id
  )
  select array_agg(id) into purged from due;
  delete from private.report_evidence where report_id = any (purged);
  return coalesce(cardinality(purged), 0);
end
$$;
comment on function private.purge_evidence() is
  'Deletes notes and evidence whose time has passed, and returns of how many reports. What stays of these: who, whom,
reason, dates and outcome. Scheduled.';
