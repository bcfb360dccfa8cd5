-- A hidden profile cannot be made searchable, by any way, until an admin has lifted it.
select plan(17);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
update public.profiles set is_searchable = true;
insert into public.reports (reporter_id, user_id, reason) values (tests.id_of('ana'), tests.id_of('ben'), 'spam');
select public.resolve_report(max(id), 'hide', 'Spam') from public.reports;

select throws_ok(
  format($$ select tests.ask('ben', %L) $$, call), 'PT403', 'An administrator has hidden this profile',
  'ben cannot show it by ' || call
)
from (
  values ('set_searchable(true)'), ('update_profile(''{"is_searchable": true}'')'),
    ('update_profile(''{"is_searchable": true, "city": "Faro", "name": "Benny"}'')')
) as calls (call);
select tests.become_owner();
select is((select name from public.users where id = tests.id_of('ben')), 'ben', 'a change with it is refused whole');
select throws_ok(
  $$ select tests.become('ben'); update public.profiles set is_searchable = true $$, 'PT403', null,
  'nor through the Data API'
);
select tests.become_owner();
select throws_ok(
  $$ select tests.become_role('service_role'); update public.profiles set is_searchable = true $$, 'PT403', null,
  'nor does the secret key, which has to lift it first'
);
select tests.become_owner();
select throws_ok(
  $$ update public.profiles set is_searchable = true where user_id = tests.id_of('ben') $$, 'PT403', null,
  'nor the owner'
);
select is(
  tests.ask('ben', 'set_searchable(false)'), '{"is_searchable": false}', 'ben can keep it hidden'
);
select is(
  tests.ask('ben', 'update_profile(''{"is_searchable": false, "city": "Faro"}'')') #>> '{Profile,city}', 'Faro',
  'and change everything else'
);
select is(tests.ask('ana', 'set_searchable(true)'), '{"is_searchable": true}', 'ana can show hers');
select throws_ok(
  format($$ select tests.ask(null, 'get_public_profile(%s)') $$, tests.profile_of('ben')), 'PT403',
  'This profile is not public', 'nobody sees the profile'
);
select tests.become_owner();
delete from public.profiles where user_id = tests.id_of('ben');
select throws_ok(
  $$ insert into public.profiles (user_id, is_searchable) values (tests.id_of('ben'), true) $$, 'PT403', null,
  'a new profile of his cannot be searchable'
);
select lives_ok(
  $$ insert into public.profiles (user_id) values (tests.id_of('ben')) $$, 'but it can be hidden'
);
select public.lift_restriction(tests.id_of('ben'), 'hide', 'Enough');
select is(
  (select is_searchable from public.profiles where user_id = tests.id_of('ben')), false,
  'lifting does not show the profile'
);
select is(tests.ask('ben', 'set_searchable(true)'), '{"is_searchable": true}', 'but lets ben do so');
select tests.become_owner();
select isnt_empty(
  $$ select from private.search_entries where user_id = tests.id_of('ben') $$, 'then he is found'
);
insert into public.reports (reporter_id, user_id, reason) values (tests.id_of('ana'), tests.id_of('ben'), 'spam');
select tests.ask('ben', 'erase_me()');
select tests.become_owner();
select public.resolve_report(max(id), 'hide', 'Spam') from public.reports;
select is_empty(
  $$ select from public.hidden_profiles where user_id = tests.id_of('ben') $$,
  'hiding whoever was erased leaves nothing about them'
);
