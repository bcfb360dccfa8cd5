-- Policies that a missing grant or another policy masks today: each must hold by itself.
select plan(8);
select tests.make_person(name) from unnest(array['ana', 'ben', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select set_config('tests.typing', 'typing:' || tests.conversation_of('ana'), true);
select set_config('tests.own', 'user:' || tests.id_of('ana'), true);

-- Without a where clause Postgres does not apply the select policy.
select tests.become('mallory');
select lives_ok('delete from public.profile_interests', 'mallory deletes every profile interest that she can reach');
select tests.become_owner();
select isnt_empty(
  $$ select from public.profile_interests where profile_id = tests.profile_of('ana') $$,
  'mallory has not deleted those of ana'
);

grant update (id) on public.users to authenticated;
grant update (user_id) on public.profiles to authenticated;
select tests.become('ana');
select throws_ok(statement, '42501', format('new row violates row-level security policy for table "%s"', name), what)
from (
  values
    ('users', 'update public.users set id = default', 'ana cannot change the id of her row, even with a grant'),
    (
      'profiles', format('update public.profiles set user_id = %s', tests.id_of('nobody')),
      'ana cannot give her profile to another user, even with a grant'
    )
) as attempts (name, statement, what);

-- Other extensions of Realtime need a policy of their own.
select tests.become_owner();
insert into realtime.messages (topic, extension)
select current_setting(topic), 'postgres_changes' from unnest(array['tests.own', 'tests.typing']) as topic;
select tests.become('ana');
select set_config('realtime.topic', current_setting('tests.own'), true);
select is_empty(
  $$ select from realtime.messages where extension = 'postgres_changes' $$,
  'ana receives nothing of another extension on her own topic'
);
select set_config('realtime.topic', current_setting('tests.typing'), true);
select is_empty(
  $$ select from realtime.messages where extension = 'postgres_changes' $$,
  'ana receives nothing of another extension on the typing topic'
);
select throws_like(
  $$ insert into realtime.messages (topic, extension) values (current_setting('tests.typing'), 'postgres_changes') $$,
  '%violates row-level security policy%', 'ana cannot send by another extension on the typing topic'
);
select lives_ok(
  $$ insert into realtime.messages (topic, extension) values (current_setting('tests.typing'), 'presence') $$,
  'ana can send presence on the typing topic'
);
