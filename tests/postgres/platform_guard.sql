-- Keeps role postgres, which platform.sql made a member of the owners of the platform's tables, from everything there
-- but policies.
create table auth.platform_grants as
  select oid, relacl
  from pg_class
  where oid in ('realtime.messages'::regclass, 'storage.buckets'::regclass, 'storage.objects'::regclass);
grant select on auth.platform_grants to public;

create function auth.refuse_platform_changes() returns event_trigger language plpgsql as $$
declare
  command record;
begin
  if current_user = 'supabase_admin' then
    return;
  end if;
  for command in select * from pg_event_trigger_ddl_commands() where not in_extension loop
    if coalesce(command.schema_name, '') in ('realtime', 'storage')
      or (command.object_type <> 'policy' or command.command_tag = 'COMMENT')
        and command.object_identity ~ '( on |^)(realtime|storage)\.'
      or exists (
        select
        from auth.platform_grants
        join pg_class using (oid)
        where pg_class.relacl is distinct from platform_grants.relacl
      )
    then
      raise insufficient_privilege using
        message = format('must be owner of platform object: %s %s', command.command_tag, command.object_identity);
    end if;
  end loop;
end
$$;
create function auth.refuse_platform_drops() returns event_trigger language plpgsql as $$
declare
  dropped record;
begin
  if current_user = 'supabase_admin' then
    return;
  end if;
  for dropped in select * from pg_event_trigger_dropped_objects() where original and object_type <> 'policy' loop
    if coalesce(dropped.schema_name, '') in ('realtime', 'storage')
      or dropped.object_identity ~ ' on (realtime|storage)\.'
    then
      raise insufficient_privilege using
        message = format('must be owner of platform object: %s', dropped.object_identity);
    end if;
  end loop;
end
$$;
create event trigger refuse_platform_changes on ddl_command_end execute function auth.refuse_platform_changes();
create event trigger refuse_platform_drops on sql_drop execute function auth.refuse_platform_drops();
