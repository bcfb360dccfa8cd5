-- Changes of different profiles never wait for each other: none takes a lock that another needs. And a sign-up, whose
-- transaction waits for Auth's mail server, holds up nobody.
select plan(4);

create function pg_temp.blocking_locks()
returns setof text
language sql
as $$
  select concat_ws(' ', locktype, relation::regclass, mode)
  from pg_locks
  where pid = pg_backend_pid()
    and granted
    and (
      locktype = 'advisory'
      -- The tests themselves create tables.
      or relation::regclass::text ~ '^(private|public)\.'
        and mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
    )
$$;
create temp table before as select pg_temp.blocking_locks() as lock;

insert into auth.users (
  id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
)
values (
  '00000000-0000-4000-8000-0000000000a1', 'authenticated', 'authenticated', 'newcomer@tests.example', 'a hash',
  '{"provider": "email"}',
  jsonb_build_object('ticket', private.begin_sign_up(
    address => 'newcomer@tests.example',
    name => 'Newcomer',
    fields => '{"biography": "Quokka", "bio": "Sea", "is_searchable": true, "interest_ids": [1, 2]}'
  ) ->> 'ticket'),
  now(), now()
);
update public.profiles set biography = 'Quokkas' where biography = 'Quokka';
select is_empty('select pg_temp.blocking_locks() except table before', 'a sign-up takes no such lock');
select is_empty(
  $$ select from private.search_entries where name = 'Newcomer' $$, 'an unconfirmed account is not in the search index'
);

update auth.users set email_confirmed_at = now() where email = 'newcomer@tests.example';
update public.profiles set biography = 'Quokkas and zorbing' where biography = 'Quokkas';
select is_empty(
  'select pg_temp.blocking_locks() except table before', 'nor do a confirmation and a change of the biography'
);
select results_eq(
  $$ select biography, cardinality(interests) from private.search_entries where name = 'Newcomer' $$,
  $$ values ('Quokkas and zorbing', 2) $$, 'the confirmed profile is in the search index'
);
