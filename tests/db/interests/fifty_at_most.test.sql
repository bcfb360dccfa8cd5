-- A profile has at most 50 interests, whoever adds them and in how many steps.
select plan(4);
select tests.make_person('ana');
select tests.make_person('ben');

create function pg_temp.add(person text, first bigint, last bigint)
returns void
language sql
as $$
  insert into public.profile_interests (profile_id, interest_id)
  select tests.profile_of(person), id
  from generate_series(first, last) as id
$$;
grant execute on function pg_temp.add to public;

select tests.become('ana');
select lives_ok($$ select pg_temp.add('ana', 1, 50) $$, 'ana can have 50 interests');
select throws_ok(
  $$ select pg_temp.add('ana', 51, 51) $$,
  'PT400',
  'interest_ids: a profile has at most 50 interests',
  'ana cannot add one more'
);

select tests.become('ben');
select throws_ok(
  $$ select pg_temp.add('ben', 1, 51) $$,
  'PT400',
  'interest_ids: a profile has at most 50 interests',
  'ben cannot add 51 at once'
);

select tests.become_role('service_role');
select throws_ok(
  $$ select pg_temp.add('ana', 51, 51) $$,
  'PT400',
  'interest_ids: a profile has at most 50 interests',
  'nor can the secret key add one more to ana''s'
);
