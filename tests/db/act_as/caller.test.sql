-- Who one is after act_as: authenticated or anon, whatever role the claims name. With strict it accepts only active
-- users; without, everybody else becomes anonymous.
select plan(21);
select tests.make_person(name) from unnest(array['ana', 'ben', 'dora', 'gus']) as name;
update public.users set is_active = false where id = tests.id_of('dora');
create temp table erased as select tests.claims_of('gus') as claims;
delete from auth.users where email = 'gus@tests.example';
grant select on erased to public;

-- The role after it, whose the claims are, and which users the caller reads. Of a refusal its error.
create function pg_temp.outcome(claims jsonb, strict boolean) returns text language plpgsql as $$
declare
  outcome text;
begin
  perform tests.become_role('edge_functions');
  if not private.act_as(claims, strict) then
    return 'not accepted';
  end if;
  perform from public.interests;
  outcome := concat_ws(
    ', ', current_user,
    case
      when current_setting('request.jwt.claims')::jsonb = claims then 'own claims'
      when current_setting('request.jwt.claims')::jsonb = '{"role": "anon"}' then 'no claims'
    end,
    case when auth.uid() is null then 'no account' end
  );
  select outcome || ', reads ' || string_agg(name || ' the ' || role, ', ') into outcome from public.users;
  perform tests.become_owner();
  return outcome;
exception
  when insufficient_privilege then
    return outcome;
  when others then
    return sqlstate || ' ' || sqlerrm;
end
$$;

select is(pg_temp.outcome(claims, strict), expected, format('strict: %s, %s', strict, what))
from (
  values
    ('ana', tests.claims_of('ana'), null),
    ('ana, as service_role by her claims', tests.claims_of('ana') || '{"role": "service_role"}', null),
    (
      'ana, as an admin by her claims',
      tests.claims_of('ana') || '{"role": "postgres", "user_role": "admin", "is_admin": true}', null
    ),
    ('dora, who is deactivated', tests.claims_of('dora'), 'PT403 This account is deactivated'),
    ('gus, whose account is erased', (select claims from erased), 'PT401 This account no longer exists'),
    (
      'an unknown account', '{"sub": "c0000000-0000-4000-8000-000000000003", "role": "authenticated"}',
      'PT401 This account no longer exists'
    ),
    ('claims without sub', '{"role": "authenticated"}', 'PT401 This account no longer exists'),
    ('claims without sub of service_role', '{"role": "service_role"}', 'PT401 This account no longer exists')
) as callers (what, claims, refusal)
cross join unnest(array[true, false]) as strict
cross join lateral (
  select case
    when refusal is null then 'authenticated, own claims, reads ana the user'
    when strict then refusal
    else 'anon, no claims, no account'
  end as expected
) as outcomes;
select is(pg_temp.outcome(null, false), 'anon, no claims, no account', 'who has no token is an anonymous caller');

-- my_id is what the latest act_as has stored, whatever the claims say later, and without act_as it is looked up by the
-- claims.
create function pg_temp.ids_of(people text[]) returns bigint[] language plpgsql as $$
declare
  person text;
  ids bigint[] := '{}';
begin
  foreach person in array people loop
    perform set_config('role', 'edge_functions', true);
    perform private.act_as(tests.claims_of(person), false);
    ids := ids || private.my_id();
  end loop;
  perform set_config('request.jwt.claims', tests.claims_of('ana')::text, true);
  perform set_config('request.jwt.claim.sub', tests.claims_of('ana') ->> 'sub', true);
  ids := ids || private.my_id();
  perform tests.become_owner();
  return ids;
end
$$;
select is(
  pg_temp.ids_of(array['ana', 'dora', 'ana', null, 'ben']),
  array[tests.id_of('ana'), null, tests.id_of('ana'), null, tests.id_of('ben'), tests.id_of('ben')],
  'my_id is whose the latest act_as was for, whatever the claims become'
);
select tests.become_role('edge_functions');
select private.act_as(tests.claims_of('ana'), true);
select throws_ok(
  $$ select private.act_as(tests.claims_of('dora'), false) $$, '42501', 'permission denied for function act_as',
  'act_as cannot be called again within the transaction'
);
select tests.become_role('edge_functions');
select throws_ok(
  'select from auth.users', '42501', 'permission denied for schema auth', 'edge_functions cannot read Auth''s accounts'
);

select tests.become_owner();
create or replace function private.find_me()
returns bigint language sql stable security definer set search_path = '' as $$ select null::bigint $$;
select is(
  pg_temp.outcome(tests.claims_of('ana'), true), '40001 This account has just changed',
  'a user who becomes active after find_me has looked gets a retryable error'
);
