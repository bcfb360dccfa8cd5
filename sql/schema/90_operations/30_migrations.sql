-- Which migrations the database has, so that a deployed project can be compared with the repository from outside.
create function private.list_migrations()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  migrations json;
begin
  -- Dynamic, because the CLI creates the table, and a database that was made from the files alone has none. The CLI
  -- splits a file into statements, and takes off what is between them.
  execute $query$
    select json_agg(json_build_object(
      'version', version,
      'sha256', encode(sha256(convert_to(translate(array_to_string(statements, ''), E' \t\r\n;', ''), 'utf8')), 'hex')
    ) order by version)
    from supabase_migrations.schema_migrations
  $query$
  into migrations;
  return migrations;
exception
  when undefined_table or insufficient_privilege then
    return null;
end
$$;
comment on function private.list_migrations() is
  'All applied migrations in order, {version, sha256}: the hash of their text without white space and semicolons, null
where it was not noted. Null where nobody has noted the migrations.';
