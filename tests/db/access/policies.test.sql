-- Policies that a missing grant or another policy masks today: each must hold by itself.
select plan(4);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
select set_config('tests.typing', 'typing:' || tests.conversation_of('ana'), true);
select set_config('tests.own', 'user:' || tests.id_of('ana'), true);

-- Other extensions of Realtime need a policy of their own.
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
