-- The data of the bench, the same each time: psql -v users=10000 -v conversations=20000 -v messages=1000000.
-- Past the triggers, which take a row at a time and have nobody to tell.
set session_replication_role = replica;
set synchronous_commit = off;
set maintenance_work_mem = '512MB';
set work_mem = '256MB';
select setseed(0.5);

-- What of the bench itself is in the database. Somebody signed up before: the hash that Auth made of their password becomes everybody's.
create schema bench;
grant usage on schema bench to edge_functions, authenticated;
create table bench.password as
select encrypted_password as hash
from auth.users;
set client_min_messages = warning;
truncate auth.users, public.users cascade;

-- Log-ins end in their user's id and 100,000, so that pgbench, which cannot pad, can name them.
insert into auth.users (id, email, encrypted_password, email_confirmed_at)
select ('00000000-0000-4000-8000-000000' || 100000 + id)::uuid, 'person' || id || '@example.com', hash, now()
from generate_series(1, :users) as id
cross join bench.password;
create procedure bench.begin_sessions()
language sql
as $$
  delete from auth.sessions;
  insert into auth.sessions (id, user_id, aal)
  select overlay(id::text placing '1' from 1 for 1)::uuid, id, 'aal1'
  from auth.users;
  insert into auth.refresh_tokens (id, token, user_id, session_id)
  select overlay(id::text placing '3' from 1 for 1), overlay(id::text placing '2' from 1 for 1), id, overlay(id::text placing '1' from 1 for 1)::uuid
  from auth.users
$$;
call bench.begin_sessions();
insert into public.users (id, auth_id, name, email) overriding system value
select id, ('00000000-0000-4000-8000-000000' || 100000 + id)::uuid, 'Person ' || id, 'person' || id || '@example.com'
from generate_series(1, :users) as id;
insert into public.profiles (id, user_id, first_name, biography, city, country, is_searchable) overriding system value
select id, id, 'Person', repeat('I show people round. ', 10), 'Lisbon', 'Portugal', id % 5 > 0
from generate_series(1, :users) as id;
insert into public.profile_interests (profile_id, interest_id)
select profiles.id, interests.id
from public.profiles
join public.interests on interests.id % 10 = profiles.id % 10;

-- Everybody opened as many conversations; locals are sought as Zipf has it, but for some who stay strangers, whom cases write to for the
-- first time. The first was sought by 600 people, whom pgbench can name, too.
insert into public.conversations (id, voyager_id, local_id, created_at) overriding system value
select id, 2 + (id - 1) % (:users - 1), 1, timestamptz '2026-01-01'
from generate_series(1, 600) as id;
select format(
  'insert into public.conversations (id, voyager_id, local_id, created_at) overriding system value
  select id, voyager, local, timestamptz ''2026-01-01''
  from (
    select id, 2 + (id - 1) %% (%1$s - 1) as voyager, 2 + floor((%1$s - 1) * random() ^ 3)::bigint as local
    from generate_series(601, %2$s) as id
  ) as drawn
  where voyager <> local
    and (local - voyager + %1$s) %% %1$s not between 2001 and 2010
    and (voyager - local + %1$s) %% %1$s not between 2001 and 2010
    and not exists (select from public.conversations where conversations.id = drawn.id)
  on conflict do nothing',
  :users, :conversations
)
from generate_series(1, 8) \gexec

-- Without the indexes of messages, which are made when all are there: ten million would else take a quarter of an hour.
create temporary table dropped as
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
from pg_index
where indrelid = 'public.messages'::regclass and not indisprimary;
select 'drop index ' || name from dropped \gexec

-- A few conversations go on for ever. Ids are scattered over conversations, as they are where many people write at once.
create temporary table lengths as
select
  id,
  least(floor(:messages * 0.4 / :conversations ^ 0.4 / (1 + id * 7919 % :conversations) ^ 0.6)::integer + 1, 20000) as length
from public.conversations;
insert into public.messages (conversation_id, user_id, content, read, client_id, created_at)
select
  conversation_id,
  case when random() < 0.5 then voyager_id else local_id end,
  left(repeat(md5(number::text || ' ') || ' ', 8), 20 + floor(180 * random() ^ 2)::integer),
  number < length - 1,
  gen_random_uuid(),
  timestamptz '2026-01-01' + interval '1 second' * row_number() over (order by shuffle)
from (
  select conversations.id as conversation_id, voyager_id, local_id, length, number, random() as shuffle
  from public.conversations
  join lengths on lengths.id = conversations.id
  cross join lateral generate_series(1, length) as number
) as written
order by shuffle;
select definition from dropped \gexec
insert into private.idempotent_replies (message_id, sender_name)
select messages.id, users.name
from public.messages
join public.users on users.id = messages.user_id;

-- In each conversation the latest that waits to be read.
create table bench.unread as
select row_number() over (order by random()) as number, waiting.*
from (
  select distinct on (conversation_id)
    messages.id, conversation_id as conversation, voyager_id + local_id - user_id as reader
  from public.messages
  join public.conversations on conversations.id = conversation_id
  where not read
  order by conversation_id, messages.id desc
) as waiting;
alter table bench.unread add primary key (number);
grant select on bench.unread to edge_functions, authenticated;

select setval('public.users_id_seq', :users), setval('public.profiles_id_seq', :users),
  setval('public.conversations_id_seq', :conversations) \g /dev/null
vacuum analyze;

-- So that a session in which no trigger runs still checks foreign keys, and its insert is a plain one.
select format('alter table public.messages enable always trigger %I', tgname)
from pg_trigger
where tgrelid = 'public.messages'::regclass and tgisinternal and tgname like 'RI_ConstraintTrigger_c%' \gexec
