-- What the local Storage needs in the database beyond the platform's own schema: a statement as another role. Runs at
-- each start, after that of Realtime, so that it is always that of this release; no migration contains it.
create schema if not exists local_storage;

-- Runs one statement as the caller, as Storage does, in the transaction that sets who that is. The arguments are one
-- JSON value, $1 of the statement, which returns JSON. `is_rehearsal` takes it back: it only asks the policies.
create or replace function local_storage.run_as(
  claims jsonb, operation text, statement text, arguments jsonb, is_rehearsal boolean
)
returns setof jsonb
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform
    set_config('storage.operation', operation, true), set_config('storage.allow_delete_query', 'true', true),
    local_realtime.act_as(claims, '');
  return query execute statement using arguments;
  if is_rehearsal then
    raise sqlstate 'LS001' using message = 'rehearsed';
  end if;
end
$$;
