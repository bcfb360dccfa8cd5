-- Fixtures for the pgTAP files and the rules.
create schema if not exists tests;
grant usage on schema tests, tap to public;

-- A user with an Auth account; returns the user id.
create or replace function tests.make_person(name text)
returns bigint language plpgsql volatile security definer set search_path = '' as $$
declare
  account uuid := gen_random_uuid();
begin
  insert into auth.users (
    id, aud, role, email, email_confirmed_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
  )
  values (
    account, 'authenticated', 'authenticated', name || '@tests.example', now(), '{"provider": "email"}',
    jsonb_build_object('name', name), now(), now()
  );
  return (select id from public.users where auth_id = account);
end
$$;

create or replace function tests.id_of(person text)
returns bigint language sql stable security definer set search_path = ''
as $$ select id from public.users where email = person || '@tests.example' $$;

create or replace function tests.profile_of(person text)
returns bigint language sql stable security definer set search_path = ''
as $$ select id from public.profiles where user_id = tests.id_of(person) $$;

create or replace function tests.claims_of(person text)
returns jsonb language sql stable security definer set search_path = '' as $$
  select jsonb_build_object('sub', auth_id, 'role', 'authenticated', 'aud', 'authenticated')
  from public.users
  where email = person || '@tests.example'
$$;

-- Words, "phrases" and -exclusions as functions/users/read_query.ts sends them.
create or replace function tests.words(query text) returns jsonb language sql immutable set search_path = '' as $$
  select coalesce(
    jsonb_agg(jsonb_build_object(
      'word', word, 'excluded', token[1] like '-%', 'quoted', token[1] like '%"',
      'run', case when token[1] ~ '^-|"' then number end
    )),
    '[]'
  )
  from regexp_matches(query, '-?"[^"]*"|[^ ]+', 'g') with ordinality as tokens (token, number)
  cross join unnest(private.words_of(token[1])) as word
$$;

-- Runs what follows as that user on the Data API, or as an anonymous caller.
create or replace function tests.become(person text) returns void language plpgsql volatile set search_path = '' as $$
declare
  claims jsonb := tests.claims_of(person);
begin
  perform set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  perform set_config('api.caller', '', true);
  perform set_config('role', case when person is null then 'anon' else 'authenticated' end, true);
end
$$;

create or replace function tests.become_role(wanted name)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform set_config('request.jwt.claims', '', true);
  perform set_config('request.jwt.claim.sub', '', true);
  perform set_config('api.caller', '', true);
  perform set_config('role', wanted, true);
end
$$;

create or replace function tests.become_owner()
returns void language sql volatile set search_path = '' as $$ select tests.become_role('none') $$;

-- A Web Push subscription; returns the id of the device.
create or replace function tests.make_device(person text)
returns uuid language sql volatile security definer set search_path = '' as $$
  insert into private.devices (user_id, id, endpoint, p256dh, auth)
  select
    tests.id_of(person), id, 'https://push.example/' || id, 'B' || repeat('A', 86), repeat('A', 22)
  from gen_random_uuid() as id
  returning id
$$;

-- The voyager has the first interest of the seed and has sent a message. The two have a reservation, which the voyager
-- offered with a client_id, and the voyager has pinned the conversation. The voyager has reported the local with a
-- client_id and evidence, which an admin has read.
create or replace function tests.make_history(voyager text, local text)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  conversation bigint;
  message bigint;
  report bigint;
begin
  insert into public.profile_interests (profile_id, interest_id)
  values (tests.profile_of(voyager), 1);
  insert into public.conversations (voyager_id, local_id)
  values (tests.id_of(voyager), tests.id_of(local))
  returning id into conversation;
  insert into public.messages (conversation_id, user_id, content, client_id)
  values (conversation, tests.id_of(voyager), 'Hello', gen_random_uuid())
  returning id into message;
  update private.inbox_entries
  set is_pinned = true
  where inbox_entries.conversation_id = conversation and user_id = tests.id_of(voyager);
  insert into public.reservations (conversation_id, title, price, date, offered_by)
  values (conversation, 'A walk', 20, now() + interval '7 days', tests.id_of(voyager));
  insert into private.stored_replies (user_id, noun, client_id, request_hash, body, metadata)
  values (tests.id_of(voyager), 'reservation', gen_random_uuid(), '', '{}', '{}');
  perform tests.make_device(voyager);
  insert into private.notification_settings (user_id) values (tests.id_of(voyager));
  insert into private.silences (user_id) values (tests.id_of(voyager));
  insert into private.answer_spans (user_id, answers) values (tests.id_of(voyager), 'within a day');
  insert into private.outbox (channel, event, user_id, due_at) values ('mail', 'silence', tests.id_of(voyager), now());
  insert into public.reports (reporter_id, user_id, reason, note, resolution, resolved_at)
  values (tests.id_of(voyager), tests.id_of(local), 'spam', 'Too much', 'hide', clock_timestamp())
  returning id into report;
  insert into private.report_evidence (report_id, message_id, is_by_reported, content, sent_at)
  values (report, message, false, 'Hello', now());
  insert into public.moderation_log (action, report_id, user_id, by_whom)
  values ('read evidence', report, tests.id_of(local), 'nobody');
  -- A user without profile and conversation, for attempts to insert them.
  insert into public.users (name, email)
  values ('nobody', 'nobody@tests.example')
  on conflict do nothing;
end
$$;

create or replace function tests.conversation_of(voyager text)
returns bigint language sql stable security definer set search_path = ''
as $$ select id from public.conversations where voyager_id = tests.id_of(voyager) order by id limit 1 $$;

-- Calls a function of schema api as functions/_shared/rpc.ts does. Afterwards the role is edge_functions again.
create or replace function tests.ask(person text, call text)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  answer jsonb;
begin
  perform tests.become_role('edge_functions');
  execute format('select case when private.act_as($1, $1 is not null) then nullif(api.%s::text, '''')::jsonb end', call)
  into answer
  using tests.claims_of(person);
  perform tests.become_role('edge_functions');
  return answer;
end
$$;

-- Moves the clock of the reservations and reports until the end of the transaction.
create or replace function tests.pass_time(ahead interval)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  execute format(
    'create or replace function private.present() returns timestamptz language plpgsql volatile set search_path = '''' '
      'as $body$ begin return clock_timestamp() + interval %L; end $body$',
    ahead
  );
end
$$;

-- The rows of the inbox that differ from what the messages say. Empty, whatever happened.
create or replace function tests.inbox_drift()
returns table (conversation bigint, kept jsonb, counted jsonb)
language sql volatile security definer set search_path = ''
as $$
  select conversations.id, to_jsonb(kept), to_jsonb(counted)
  from public.conversations
  cross join unnest(array[voyager_id, local_id]) as participant
  left join lateral (
    select last_message_id, active_at, unread
    from private.inbox_entries
    where conversation_id = conversations.id and user_id = participant
  ) as kept on true
  cross join lateral (
    select
      coalesce(max(id), 0) as last_message_id,
      coalesce((array_agg(messages.created_at order by id desc))[1], conversations.created_at) as active_at,
      count(*) filter (where not read and user_id <> participant) as unread
    from public.messages
    where conversation_id = conversations.id
  ) as counted
  where to_jsonb(kept) is distinct from to_jsonb(counted)
    -- Who has written stays so when their messages are deleted.
    or exists (
      select
      from public.messages
      join private.inbox_entries as entries using (conversation_id, user_id)
      where conversation_id = conversations.id and user_id = participant and not entries.has_written
    )
$$;

grant execute on all functions in schema tests, tap to public;

-- Stable, so that it is inlined.
create or replace function tests.granted(acl aclitem[], owner oid)
returns table (role text, privilege text) language sql stable as $$
  select
    coalesce(nullif(grantee, 0)::regrole::text, 'public'),
    lower(privilege_type) || case when is_grantable then ' with grant option' else '' end
  from aclexplode(acl)
  where grantee not in (owner, 'pg_database_owner'::regrole, 'postgres'::regrole)
$$;

-- The tables, views and sequences of our schemas without those of extensions.
create or replace view tests.relations as
select pg_class.*, format('%s.%s', relnamespace::regnamespace, relname) as name
from pg_class
where relnamespace in ('public'::regnamespace, 'private'::regnamespace, 'api'::regnamespace)
  and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and not exists (
    select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
  );
