-- What is left to people whose account was deactivated, of what was their own.
select plan(52);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');
update public.users set is_active = false where id = tests.id_of('ana');

select tests.become('ana');
select is(
  tests.attempt(verb, name, 'ana'),
  expected,
  format('ana, deactivated, %s %s %s', case expected when 'rows' then 'can' else 'cannot' end, verb, name)
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
