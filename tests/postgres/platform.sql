-- A stub of a new Supabase database for a plain Postgres 17: run in each new database as its superuser. It is as strict
-- as Supabase where migrations can fail: `postgres` is not a superuser, owns none of the platform's schemas, and may
-- create policies on the platform's tables but change nothing else there.
set client_min_messages = warning;

-- Roles are shared by all databases, so they may exist.
do $$
declare
  role text;
begin
  foreach role in array array[
    'anon nologin noinherit',
    'authenticated nologin noinherit',
    'service_role nologin noinherit bypassrls',
    'authenticator login noinherit',
    'supabase_auth_admin login noinherit createrole',
    'supabase_storage_admin login noinherit createrole',
    'supabase_realtime_admin nologin noinherit',
    'dashboard_user nologin createdb createrole replication',
    'postgres login createdb createrole replication bypassrls'
  ] loop
    if not exists (select from pg_roles where rolname = split_part(role, ' ', 1)) then
      execute 'create role ' || role;
    end if;
  end loop;
end
$$;
alter role postgres login createdb createrole replication bypassrls;
grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role to postgres with admin option;
grant authenticator, pg_monitor, pg_signal_backend to postgres;
-- Owners may create policies. The event triggers below revoke their other rights.
grant supabase_realtime_admin, supabase_storage_admin to postgres;

select format('grant all on database %I to postgres', current_database()),
  format('alter database %I set search_path = "$user", public, extensions', current_database()) \gexec
grant all on schema public to postgres, anon, authenticated, service_role;

create schema extensions authorization postgres;
create schema auth authorization supabase_admin;
grant usage on schema extensions to public;
grant usage on schema auth to postgres, anon, authenticated, service_role;
grant all on schema auth to supabase_auth_admin;

create extension pgcrypto schema extensions;
create extension "uuid-ossp" schema extensions;
create extension pg_stat_statements schema extensions;

-- As permissive as Supabase, so that a missing revoke in a migration is found.
alter default privileges for role postgres in schema public grant all on tables to anon, authenticated, service_role;
alter default privileges for role postgres in schema public grant all on functions to anon, authenticated, service_role;
alter default privileges for role postgres in schema public grant all on sequences to anon, authenticated, service_role;

create publication supabase_realtime;
alter publication supabase_realtime owner to postgres;

create table auth.users (
  instance_id uuid, id uuid primary key, aud text, role text, email text, encrypted_password text,
  email_confirmed_at timestamptz, invited_at timestamptz, confirmation_token varchar(255), recovery_token varchar(255),
  recovery_sent_at timestamptz, email_change_token_new varchar(255), email_change varchar(255), phone text unique,
  phone_confirmed_at timestamptz, last_sign_in_at timestamptz, raw_app_meta_data jsonb, raw_user_meta_data jsonb,
  created_at timestamptz, updated_at timestamptz, banned_until timestamptz, deleted_at timestamptz,
  is_anonymous boolean not null default false
);
create unique index users_email_partial_key on auth.users (email);
alter table auth.users owner to supabase_auth_admin;
alter table auth.users enable row level security;
grant all on auth.users to postgres;
create table auth.identities (
  provider_id text not null, user_id uuid not null references auth.users (id) on delete cascade,
  identity_data jsonb not null, provider text not null, last_sign_in_at timestamptz, created_at timestamptz,
  updated_at timestamptz, email text generated always as (lower(identity_data ->> 'email')) stored,
  id uuid primary key default gen_random_uuid(), unique (provider_id, provider)
);
create table auth.sessions (
  id uuid primary key, user_id uuid not null references auth.users (id) on delete cascade, user_agent text, ip inet
);
create table auth.flow_state (id uuid primary key, user_id uuid, auth_code text not null);
create table auth.audit_log_entries (
  instance_id uuid, id uuid primary key, payload json, created_at timestamptz,
  ip_address varchar(64) not null default ''
);
do $$
declare
  name text;
begin
  foreach name in array array['identities', 'sessions', 'flow_state', 'audit_log_entries'] loop
    execute format('alter table auth.%I owner to supabase_auth_admin', name);
    execute format('alter table auth.%I enable row level security', name);
  end loop;
end
$$;
grant all on auth.identities, auth.sessions, auth.flow_state, auth.audit_log_entries to postgres;

create function auth.jwt() returns jsonb language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')
  )::jsonb
$$;
create function auth.uid() returns uuid language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
  )::uuid
$$;
create function auth.role() returns text language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.role', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
  )::text
$$;

\ir ../../supabase/local/platform_storage.sql
alter table storage.buckets owner to supabase_storage_admin;
alter table storage.objects owner to supabase_storage_admin;
grant usage on schema storage to postgres, supabase_storage_admin;
grant all on storage.buckets, storage.objects to postgres;

\ir ../../supabase/local/platform_realtime.sql
-- Realtime creates a partition for each day from yesterday until in three days, while somebody is connected. There is
-- no default partition, so a day without one takes no events.
alter table realtime.messages rename to messages_before;
drop index realtime.messages_inserted_at_topic_index;
create table realtime.messages (
  like realtime.messages_before including defaults including constraints,
  primary key (id, inserted_at)
) partition by range (inserted_at);
drop table realtime.messages_before;
create index messages_inserted_at_topic_index on realtime.messages (inserted_at desc, topic)
  where extension = 'broadcast' and private;
select
  format('create table realtime.%I partition of realtime.messages for values from (%L) to (%L)', name, day, day + 1),
  format('alter table realtime.%I owner to supabase_realtime_admin', name)
from generate_series(-1, 3) as ahead
cross join lateral (select current_date + ahead as day) as days
cross join to_char(day, '"messages_"YYYY_MM_DD') as name \gexec
alter table realtime.messages owner to supabase_realtime_admin;
alter table realtime.messages enable row level security;
grant usage on schema realtime to postgres with grant option;
grant all on schema realtime to supabase_realtime_admin with grant option;
grant all on realtime.messages to postgres;
grant select, insert, update on realtime.messages to anon, authenticated, service_role;
do $$
declare
  routine regprocedure;
begin
  for routine in select oid from pg_proc where pronamespace = 'realtime'::regnamespace loop
    execute format('alter function %s owner to supabase_realtime_admin', routine);
  end loop;
end
$$;

\ir platform_guard.sql

-- Supabase lets role postgres use pg_cron, in database postgres.
create function auth.share_pg_cron() returns event_trigger language plpgsql security definer as $$
begin
  if exists (
    select from pg_event_trigger_ddl_commands() where object_type = 'extension' and object_identity = 'pg_cron'
  ) then
    grant usage on schema cron to postgres;
    grant all on all tables in schema cron to postgres;
    grant all on all sequences in schema cron to postgres;
  end if;
end
$$;
create event trigger share_pg_cron on ddl_command_end when tag in ('CREATE EXTENSION')
  execute function auth.share_pg_cron();
