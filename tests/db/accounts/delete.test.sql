-- Deleting an Auth account deactivates the user and keeps the conversations for the partners.
select plan(6);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
update public.profiles set is_searchable = true;
select set_config('tests.claims', tests.claims_of('ana')::text, true);
select set_config('tests.profile', tests.profile_of('ana')::text, true);
select set_config('tests.conversation', tests.conversation_of('ana')::text, true);

select lives_ok(
  $$ select tests.ask('ben', format('get_public_profile(%s)', tests.profile_of('ana'))) $$, 'ben can see ana''s profile'
);

select tests.become_owner();
delete from auth.users where email = 'ana@tests.example';

select results_eq(
  $$ select auth_id, is_active, email from public.users where name = 'ana' $$, $$ values (null::uuid, false, '') $$,
  'deleting ana''s account deactivates her and frees her address'
);
select ok((select is_active from public.users where name = 'ben'), 'ben stays active');
select throws_ok(
  $$ select tests.ask('ben', format('get_public_profile(%s)', current_setting('tests.profile'))) $$, 'PT403',
  'This profile is not public', 'ben can no longer see ana''s profile'
);
select is(
  jsonb_array_length(
    tests.ask('ben', format('list_messages(%s, %L)', current_setting('tests.conversation'), '{"limit": 50}'))
  ),
  1,
  'ben can still read ana''s messages'
);
select throws_ok(
  $$ select private.act_as(current_setting('tests.claims')::jsonb, true) $$, 'PT401', 'This account no longer exists',
  'ana''s token is refused'
);
