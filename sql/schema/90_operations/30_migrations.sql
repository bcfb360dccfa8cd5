-- Which migrations the database has, so that a deployed project can be compared with the repository from outside.
create function private.list_migrations()
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  versions json;
begin
  -- Dynamic, because the CLI creates the table, and a database that was made from the files alone has none.
  execute 'select json_agg(version order by version) from supabase_migrations.schema_migrations' into versions;
  return versions;
exception
  when undefined_table or insufficient_privilege then
    return null;
end
$$;
comment on function private.list_migrations() is
  'The versions of all applied migrations in order; null where nobody has noted them. Definer, because edge_functions
has no rights on the CLI''s table.';
grant execute on function private.list_migrations() to edge_functions;
