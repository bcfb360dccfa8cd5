-- Deleting the Auth account takes its person out of sight, and leaves their partners the conversation.
select plan(6);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');
update public.profiles
set is_searchable = true;
select set_config('tests.claims', tests.claims_of('ana')::text, true);
select set_config('tests.profile', tests.profile_of('ana')::text, true);
select set_config('tests.conversation', tests.conversation_of('ana')::text, true);

select lives_ok(
  $$ select tests.ask('ben', format('get_public_profile(%s)', tests.profile_of('ana'))) $$,
  'ben sees ana''s profile'
);

select tests.become_owner();
delete from auth.users
where email = 'ana@tests.example';

select results_eq(
  $$ select auth_id, is_active, email from public.users where name = 'ana' $$,
  $$ values (null::uuid, false, '') $$,
  'ana, whose account is deleted, is deactivated, and her address is free'
);
select ok((select is_active from public.users where name = 'ben'), 'ben is not');
select throws_ok(
  $$ select tests.ask('ben', format('get_public_profile(%s)', current_setting('tests.profile'))) $$,
  'PT403',
  'This profile is not public',
  'ben cannot see ana''s profile any more'
);
select is(
  jsonb_array_length(tests.ask('ben', format('list_messages(%s, %L)', current_setting('tests.conversation'), '{"limit": 50}'))),
  1,
  'ben can still read what ana wrote'
);
select throws_ok(
  $$ select private.act_as(current_setting('tests.claims')::jsonb, true) $$,
  'PT401',
  'This account no longer exists',
  'the token that ana still has is nobody''s'
);
