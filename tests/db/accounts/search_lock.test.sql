-- Auth sends the confirmation mail before it commits, which may take seconds. Sign-up must not hold the lock of the
-- search index meanwhile, because every change of a profile needs it.
select plan(4);

-- Whether this transaction holds the lock of the search index.
create function pg_temp.holds_lock()
returns boolean
language sql
as $$
  select exists (
    select from pg_locks
    where pid = pg_backend_pid() and locktype = 'advisory' and objid = 'private.search_entries'::regclass
  )
$$;

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
select is(
  pg_temp.holds_lock(), false, 'creating an unconfirmed account does not take the lock, even with a searchable profile'
);
update public.profiles set biography = 'Quokkas' where biography = 'Quokka';
select is(pg_temp.holds_lock(), false, 'changing an unconfirmed account does not take the lock');

update auth.users set email_confirmed_at = now() where email = 'newcomer@tests.example';
select is(pg_temp.holds_lock(), true, 'confirming the account takes the lock');
select results_eq(
  $$ select biography, cardinality(interests) from private.search_entries where name = 'Newcomer' $$,
  $$ values ('Quokkas', 2) $$, 'the confirmed profile is in the search index'
);
