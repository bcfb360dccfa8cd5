-- A profile has at most 50 interests, whoever inserts them and in how many statements.
select plan(4);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;

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
select lives_ok($$ select pg_temp.add(person => 'ana', first => 1, last => 50) $$, 'ana can have 50 interests');
select throws_ok(
  $$ select pg_temp.add(person => 'ana', first => 51, last => 51) $$, 'PT400',
  'interest_ids: a profile has at most 50 interests', 'ana cannot add a 51st'
);

select tests.become('ben');
select throws_ok(
  $$ select pg_temp.add(person => 'ben', first => 1, last => 51) $$, 'PT400',
  'interest_ids: a profile has at most 50 interests', 'ben cannot add 51 in one statement'
);

select tests.become_role('service_role');
select throws_ok(
  $$ select pg_temp.add(person => 'ana', first => 51, last => 51) $$, 'PT400',
  'interest_ids: a profile has at most 50 interests', 'the secret key cannot add a 51st to ana''s'
);
