-- What a token still opens whose account is gone: what anybody reads, and nothing of what its person shared.
select plan(34);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');
select set_config('tests.ghost', tests.claims_of('ben')::text, true);
delete from auth.users
where email = 'ben@tests.example';

-- As tests.become, for somebody whom no address finds any more.
select set_config('request.jwt.claims', current_setting('tests.ghost'), true);
select set_config('request.jwt.claim.sub', current_setting('tests.ghost')::jsonb ->> 'sub', true);
select set_config('role', 'authenticated', true);
select is(
  tests.attempt(verb, name, 'ana'),
  expected,
  format('ben, erased, %s %s %s', case expected when 'rows' then 'can' else 'cannot' end, verb, name)
)
from (
  values
    --                           select    insert    update    delete
    ('public.users',              'none',   'denied', 'none',   'denied'),
    ('public.profiles',           'none',   'denied', 'none',   'denied'),
    ('public.interests',          'rows',   'denied', 'denied', 'denied'),
    ('public.profile_interests',  'none',   'denied', 'denied', 'none'  ),
    ('public.conversations',      'none',   'denied', 'denied', 'denied'),
    ('public.messages',           'none',   'denied', 'denied', 'denied'),
    ('public.reservations',       'none',   'denied', 'denied', 'denied'),
    ('private.idempotent_replies',          'denied', 'denied', 'denied', 'denied')
) as matrix (name, may_select, may_insert, may_update, may_delete)
cross join lateral (
  values ('select', may_select), ('insert', may_insert), ('update', may_update), ('delete', may_delete)
) as cell (verb, expected);

select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as(current_setting('tests.ghost')::jsonb, true) $$,
  'PT401',
  'This account no longer exists',
  'no door lets ben in'
);
select is(
  (select case when private.act_as(current_setting('tests.ghost')::jsonb, false) then current_user::text end),
  'anon',
  'and where a token is optional, his is none'
);
