-- What people may do with what is their own, as voyagers of their conversation.
select plan(52);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');

select tests.become('ana');
select is(
  tests.attempt(verb, name, 'ana'),
  expected,
  format('ana %s %s %s', case expected when 'rows' then 'can' else 'cannot' end, verb, name)
)
from (
  values
    --                           select    insert    update    delete
    ('public.users',              'rows',   'denied', 'rows',   'denied'),
    ('public.profiles',           'rows',   'denied', 'rows',   'denied'),
    ('public.interests',          'rows',   'denied', 'denied', 'denied'),
    ('public.profile_interests',  'rows',   'rows',   'denied', 'rows'  ),
    ('public.conversations',      'rows',   'denied', 'denied', 'denied'),
    ('public.messages',           'rows',   'denied', 'denied', 'denied'),
    ('public.reservations',       'rows',   'denied', 'denied', 'denied'),
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
