-- The data of the bench, the same each time: psql -v users=10000 -v conversations=20000 -v messages=1000000.
-- Triggers are off: they run for each row, and nobody listens to their broadcasts.
set session_replication_role = replica;
set synchronous_commit = off;
set maintenance_work_mem = '512MB';
set work_mem = '256MB';
select setseed(0.5);

-- For what the bench keeps itself.
create schema bench;
grant usage on schema bench to edge_functions, authenticated;
set client_min_messages = warning;
truncate auth.users, public.users cascade;

-- Ids of auth users end in 100,000 plus the user's id, because pgbench cannot pad numbers.
insert into auth.users (id, email, email_confirmed_at)
select ('00000000-0000-4000-8000-000000' || 100000 + id)::uuid, 'person' || id || '@example.com', now()
from generate_series(1, :users) as id;
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

-- Every user opens the same number of conversations. The partners are skewed towards low ids. Ten users are left out
-- for each, so that cases can open new conversations. User 1 is the partner in conversations 1 to 600.
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

-- The indexes of messages are created again after the load: otherwise ten million rows take a quarter of an hour.
create temporary table dropped_indexes as
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
from pg_index
where indrelid = 'public.messages'::regclass and not indisprimary;
select 'drop index ' || name from dropped_indexes \gexec

-- A few conversations are very long. Message ids are scattered over conversations, as when many users write at once.
create temporary table lengths as
select
  id,
  least(floor(:messages * 0.4 / :conversations ^ 0.4 / (1 + id * 7919 % :conversations) ^ 0.6)::integer + 1, 20000)
    as length
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
select definition from dropped_indexes \gexec

-- As the triggers would have filled it.
insert into private.inbox_entries (conversation_id, user_id, last_message_id, active_at, unread, has_written)
select conversations.id, person, latest.id, latest.created_at, unread.count, true
from public.conversations
cross join unnest(array[voyager_id, local_id]) as person
cross join lateral (
  select id, created_at from public.messages where conversation_id = conversations.id order by id desc limit 1
) as latest
cross join lateral (
  select count(*) as count
  from public.messages
  where conversation_id = conversations.id and user_id <> person and not read
) as unread;

select setval('public.users_id_seq', :users), setval('public.profiles_id_seq', :users),
  setval('public.conversations_id_seq', :conversations) \g /dev/null
vacuum analyze;

-- Foreign keys are checked even in a session with session_replication_role = replica, as in a plain insert.
select format('alter table public.messages enable always trigger %I', tgname)
from pg_trigger
where tgrelid = 'public.messages'::regclass and tgisinternal and tgname like 'RI_ConstraintTrigger_c%' \gexec
