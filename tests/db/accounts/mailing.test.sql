-- Auth mails whoever signs up before it commits, and its mail server may take seconds: nobody else is to wait for that.
select plan(4);

-- Whether this transaction holds what everybody needs who changes a profile.
create function pg_temp.holds_index()
returns boolean
language sql
as $$
  select exists (
    select from pg_locks
    where pid = pg_backend_pid() and locktype = 'advisory' and objid = 'private.search_entries'::regclass
  )
$$;

insert into auth.users (id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
values (
  '00000000-0000-4000-8000-0000000000a1', 'authenticated', 'authenticated', 'newcomer@tests.example', 'a hash', '{"provider": "email"}',
  '{"name": "Newcomer", "profile": {"biography": "Quokka", "bio": "Sea", "is_searchable": true, "interest_ids": [1, 2]}}', now(), now()
);
select is(
  pg_temp.holds_index(), false,
  'an account that has yet to be confirmed is made without the lock of the search index, whatever it wishes for'
);
update public.profiles set biography = 'Quokkas' where biography = 'Quokka';
select is(pg_temp.holds_index(), false, 'and changed without it, too');

update auth.users set email_confirmed_at = now() where email = 'newcomer@tests.example';
select is(pg_temp.holds_index(), true, 'confirming it takes the lock');
select results_eq(
  $$ select biography, cardinality(interests) from private.search_entries where name = 'Newcomer' $$,
  $$ values ('Quokkas', 2) $$,
  'and brings what it says into the search'
);
