-- Erasing takes out whatever is about a person, their log-in with it, or nothing at all.
select plan(14);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');
update public.users set bio = 'Potter', location = 'Porto', role = 'admin' where id = tests.id_of('ana');
update public.profiles set is_searchable = true, city = 'Porto' where user_id = tests.id_of('ana');
insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('ben'), tests.id_of('ana'));
create temp table before as
select id, auth_id, (select id from public.profiles where user_id = users.id) as profile from public.users where id = tests.id_of('ana');
select isnt_empty('select from private.search_contexts where user_id = (select id from before)', 'ana has a context');
select isnt_empty('select from private.embedding_queue where id in (select profile from before)', 'and waits for vectors');

create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'Auth is not to be had'; end $$;
create trigger fail before delete on auth.users for each row execute function pg_temp.fail();
select throws_ok($$ select private.erase_person((select id from before)) $$, 'P0001', null, 'where the log-in cannot go');
select is((select name from public.users where id = (select id from before)), 'ana', 'nothing goes');
drop trigger fail on auth.users;

select ok(private.erase_person((select id from before)), 'an admin erases ana');
select results_eq(
  $$ select name, email, bio, location, role, is_active, auth_id, erased_at is null from public.users where id = (select id from before) $$,
  $$ values ('Deleted user', '', null::text, null::text, 'user', false, null::uuid, false) $$,
  'what is left of her is a place'
);
select is_empty('select from auth.users where id = (select auth_id from before)', 'her log-in is gone');
select is_empty('select from public.profiles where id = (select profile from before)', 'so is her profile');
select is_empty(
  $$
    select from private.search_entries where user_id = (select id from before)
    union all
    select from private.search_contexts where user_id = (select id from before)
    union all
    select from private.embedding_queue where (kind, id) in (select 'profile', profile from before union all select 'context', id from before)
  $$,
  'so is all that the search had of her'
);
select is_empty('select from private.blocks', 'so are blocks, hers and those of her');
select is_empty('select from private.idempotent_replies', 'so is her name in receipts');
select isnt_empty('select from public.messages where user_id = (select id from before)', 'what she wrote to ben is his');
select ok(not private.erase_person((select id from before)), 'once is enough');
select throws_ok(
  $$ update public.users set name = 'ana' where id = (select id from before) $$, '23514', null,
  'nobody gives her a name again'
);
