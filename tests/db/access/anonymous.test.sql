-- Who shows no token reads the interests, and nothing else.
select plan(52);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');

select tests.become(null);
select is(
  tests.attempt(verb, name, 'ana'),
  expected,
  format('an anonymous caller %s %s %s', case expected when 'rows' then 'can' else 'cannot' end, verb, name)
)
from (
  values
    --                           select    insert    update    delete
    ('public.users',              'denied', 'denied', 'denied', 'denied'),
    ('public.profiles',           'denied', 'denied', 'denied', 'denied'),
    ('public.interests',          'rows',   'denied', 'denied', 'denied'),
    ('public.profile_interests',  'denied', 'denied', 'denied', 'denied'),
    ('public.conversations',      'denied', 'denied', 'denied', 'denied'),
    ('public.messages',           'denied', 'denied', 'denied', 'denied'),
    ('public.reservations',       'denied', 'denied', 'denied', 'denied'),
    ('private.idempotent_replies',          'denied', 'denied', 'denied', 'denied'),
    ('private.blocks',            'denied', 'denied', 'denied', 'denied'),
    ('private.rate_limits',             'denied', 'denied', 'denied', 'denied'),
    ('private.rate_limit_salts',        'denied', 'denied', 'denied', 'denied'),
    ('private.sign_ups',          'denied', 'denied', 'denied', 'denied'),
    ('private.rate_settings',     'denied', 'denied', 'denied', 'denied')
) as matrix (name, may_select, may_insert, may_update, may_delete)
cross join lateral (
  values ('select', may_select), ('insert', may_insert), ('update', may_update), ('delete', may_delete)
) as cell (verb, expected);
