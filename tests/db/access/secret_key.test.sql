-- The secret key sees and writes all that the Data API shows. People who have a conversation it cannot delete, for that is their
-- partner's too.
select plan(53);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');

select tests.become_role('service_role');
select is(
  tests.attempt(verb, name, 'ana'),
  expected,
  format('the secret key %s %s %s', case expected when 'rows' then 'can' else 'cannot' end, verb, name)
)
from (
  values
    --                           select    insert    update    delete
    ('public.users',              'rows',   'rows',   'rows',   null    ),
    ('public.profiles',           'rows',   'rows',   'rows',   'rows'  ),
    ('public.interests',          'rows',   'rows',   'rows',   'rows'  ),
    ('public.profile_interests',  'rows',   'rows',   'rows',   'rows'  ),
    ('public.conversations',      'rows',   'rows',   'rows',   'rows'  ),
    ('public.messages',           'rows',   'rows',   'rows',   'rows'  ),
    ('public.reservations',       'rows',   'rows',   'rows',   'rows'  ),
    ('private.idempotent_replies',          'denied', 'denied', 'denied', 'denied'),
    ('private.blocks',            'denied', 'denied', 'denied', 'denied'),
    ('private.rate_limits',             'denied', 'denied', 'denied', 'denied'),
    ('private.rate_limit_salts',        'denied', 'denied', 'denied', 'denied'),
    ('private.sign_ups',          'denied', 'denied', 'denied', 'denied'),
    ('private.rate_settings',     'denied', 'denied', 'denied', 'denied')
) as matrix (name, may_select, may_insert, may_update, may_delete)
cross join lateral (
  values ('select', may_select), ('insert', may_insert), ('update', may_update), ('delete', may_delete)
) as cell (verb, expected)
where expected is not null;

select is(
  tests.attempt('delete', 'public.users', 'ana'),
  '23503 update or delete on table "users" violates foreign key constraint "conversations_voyager_id_fkey" on table "conversations"',
  'the secret key cannot delete public.users who have a conversation'
);
select lives_ok(
  $$ delete from public.users where email = 'nobody@tests.example' $$,
  'the secret key can delete public.users who have none'
);
