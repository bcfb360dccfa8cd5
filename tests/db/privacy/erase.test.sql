-- Erasing removes all data of a user including the log-in, or nothing at all.
select plan(18);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
update public.users set bio = 'Potter', location = 'Porto', role = 'admin' where id = tests.id_of('ana');
update public.profiles set is_searchable = true, city = 'Porto' where user_id = tests.id_of('ana');
insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('ben'), tests.id_of('ana'));
create temp table before as
select id, auth_id, (select id from public.profiles where user_id = users.id) as profile
from public.users
where id = tests.id_of('ana');
select private.begin_sign_up(address => 'Ana@tests.example', name => 'Ana again', fields => '{"city": "Porto"}');
select private.begin_sign_up(address => 'ben@tests.example', name => 'Ben again', fields => '{}');
select isnt_empty(
  'select from private.search_contexts where user_id = (select id from before)', 'ana has a search context'
);
select isnt_empty(
  'select from private.embedding_queue where id in (select profile from before)', 'ana has a queued embedding'
);

create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'Auth fails'; end $$;
create trigger fail before delete on auth.users for each row execute function pg_temp.fail();
select throws_ok(
  $$ select private.erase_person((select id from before)) $$, 'P0001', null,
  'erasing fails if the log-in cannot be deleted'
);
select is(
  (select name from public.users where id = (select id from before)), 'ana', 'a failed erasure changes nothing'
);
drop trigger fail on auth.users;

select ok(private.erase_person((select id from before)), 'an admin can erase ana');
select results_eq(
  $$
    select name, email, bio, location, role, is_active, auth_id, erased_at is null
    from public.users
    where id = (select id from before)
  $$,
  $$ values ('Deleted user', '', null::text, null::text, 'user', false, null::uuid, false) $$,
  'ana''s row holds no personal data'
);
select is_empty('select from auth.users where id = (select auth_id from before)', 'ana''s log-in is deleted');
select is_empty('select from public.profiles where id = (select profile from before)', 'ana''s profile is deleted');
select is_empty(
  $$
    select from private.search_entries where user_id = (select id from before)
    union all
    select from private.search_contexts where user_id = (select id from before)
    union all
    select from private.embedding_queue
    where (kind, id) in (select 'profile', profile from before union all select 'context', id from before)
  $$,
  'ana''s search data is deleted'
);
select results_eq(
  'select name from private.sign_ups', $$ values ('Ben again') $$,
  'sign-ups with ana''s address are deleted, others stay'
);
select is_empty('select from private.blocks', 'blocks by and of ana are deleted');
select is_empty(
  'select from private.changes where other_id is null and user_id = (select id from before)',
  'so is what ana alone was to learn of'
);
select is_empty(
  $$
    select user_id from private.devices
    union all
    select user_id from private.notification_settings
    union all
    select user_id from private.silences
    union all
    select user_id from private.outbox where user_id = (select id from before)
  $$,
  'ana''s devices, settings and what was to be sent to her are deleted'
);
select isnt_empty(
  'select from private.outbox where user_id = tests.id_of(''ben'')', 'what was to be sent to ben is not'
);
select is_empty('select from private.idempotent_replies', 'idempotent replies with ana''s name are deleted');
select isnt_empty('select from public.messages where user_id = (select id from before)', 'ana''s messages stay');
select ok(not private.erase_person((select id from before)), 'erasing her again returns false');
select throws_ok(
  $$ update public.users set name = 'ana' where id = (select id from before) $$, '23514', null,
  'an erased user cannot get a name again'
);
