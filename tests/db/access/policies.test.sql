-- What of a policy no grant and no other policy hides today: each holds by itself, should the other ever slip.
select plan(10);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('mallory');
select tests.make_history('ana', 'ben');
select set_config('tests.typing', 'typing:' || tests.conversation_of('ana'), true);

-- Without a condition, Postgres does not ask who may read the rows.
select tests.become('mallory');
select lives_ok('delete from public.profile_interests', 'mallory drops every interest she can reach');
select tests.become_owner();
select isnt_empty(
  $$ select from public.profile_interests where profile_id = tests.profile_of('ana') $$,
  'and reached none of ana''s'
);

select is(
  array(select format('%s: %s', policyname, roles) from pg_policies where schemaname = 'public' and roles <> '{authenticated}'),
  array['everybody reads interests: {anon,authenticated}'],
  'the one policy that is not for people alone is for callers without a token, and for nobody else'
);

grant update (id) on public.users to authenticated;
grant update (user_id) on public.profiles to authenticated;
select tests.become('ana');
select throws_ok(
  'update public.users set id = default',
  '42501',
  'new row violates row-level security policy for table "users"',
  'ana cannot become another row, even with a grant'
);
select throws_ok(
  format('update public.profiles set user_id = %s', tests.id_of('nobody')),
  '42501',
  'new row violates row-level security policy for table "profiles"',
  'nor make her profile somebody else''s'
);

-- Whatever else Realtime may come to carry is not for participants until a policy says so.
select tests.become_owner();
insert into realtime.messages (topic, extension)
select topic, 'postgres_changes'
from unnest(array['user:' || tests.id_of('ana'), 'conversation:' || tests.conversation_of('ana'), current_setting('tests.typing')]) as topic;
select set_config('realtime.topic', topic, true), tests.become('ana')
from (values ('user:' || tests.id_of('ana'))) as probe (topic);
select is_empty(
  $$ select from realtime.messages where extension = 'postgres_changes' $$,
  'ana hears nothing of another extension on her own topic'
);
select tests.become_owner();
select set_config('realtime.topic', 'conversation:' || tests.conversation_of('ana'), true);
select tests.become('ana');
select is_empty(
  $$ select from realtime.messages where extension = 'postgres_changes' $$,
  'nor on that of her conversation'
);
select set_config('realtime.topic', current_setting('tests.typing'), true);
select is_empty(
  $$ select from realtime.messages where extension = 'postgres_changes' $$,
  'nor where people type'
);
select throws_ok(
  $$ insert into realtime.messages (topic, extension) values (current_setting('tests.typing'), 'postgres_changes') $$,
  '42501',
  null,
  'and says nothing by it'
);
select lives_ok(
  $$ insert into realtime.messages (topic, extension) values (current_setting('tests.typing'), 'presence') $$,
  'where by presence she can'
);
