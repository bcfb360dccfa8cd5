-- Schema realtime with the names, columns, grants and behaviour of the platform's. Runs before the migrations, if the
-- database has no such schema. On the platform the table is partitioned by day.
create schema realtime;
grant usage on schema realtime to anon, authenticated, service_role;

create table realtime.messages (
  topic text not null, extension text not null, payload jsonb, event text, private boolean default false,
  updated_at timestamp not null default now(), inserted_at timestamp not null default now(),
  id uuid not null default gen_random_uuid(), binary_payload bytea, primary key (id, inserted_at),
  constraint messages_payload_exclusive check (payload is null or binary_payload is null)
);
create index messages_inserted_at_topic_index on realtime.messages (inserted_at desc, topic)
  where extension = 'broadcast' and private;
alter table realtime.messages enable row level security;
grant select, insert, update on realtime.messages to anon, authenticated, service_role;

create function realtime.topic() returns text language sql stable
as $$
  select nullif(current_setting('realtime.topic', true), '')::text
$$;

-- As on the platform, a failure to send is a warning and does not fail the writer's transaction.
create function realtime.send(payload jsonb, event text, topic text, private boolean default true)
returns void language plpgsql
as $$
declare
  generated_id uuid := gen_random_uuid();
begin
  if not payload ? 'id' then
    payload := jsonb_set(payload, '{id}', to_jsonb(generated_id));
  end if;
  perform set_config('realtime.topic', topic, true);
  insert into realtime.messages (id, payload, event, topic, private, extension)
  values (generated_id, payload, event, topic, private, 'broadcast');
exception
  when others then
    raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$$;

grant execute on all functions in schema realtime to anon, authenticated, service_role;

do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
  end if;
end
$$;
