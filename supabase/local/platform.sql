-- What Supabase has before the first migration and plain Postgres lacks: the API roles and their grants. Auth's own
-- tables come from @supabase/lite. Runs once for each database. Roles belong to the server, so another database may
-- have created them.
do $$
declare
  role text;
begin
  foreach role in array array[
    'anon nologin noinherit', 'authenticated nologin noinherit', 'service_role nologin noinherit bypassrls',
    'postgres nologin createrole bypassrls'
  ] loop
    if to_regrole(split_part(role, ' ', 1)) is null then
      execute 'create role ' || role;
    end if;
  end loop;
end
$$;

create schema extensions;
grant usage on schema extensions to anon, authenticated, service_role;
grant usage on schema public to anon, authenticated, service_role;

-- The same default privileges as on the platform, so that a migration which forgets to revoke fails tests here too.
alter default privileges in schema public grant all on tables to anon, authenticated, service_role;
alter default privileges in schema public grant all on sequences to anon, authenticated, service_role;
alter default privileges in schema public grant all on functions to anon, authenticated, service_role;
