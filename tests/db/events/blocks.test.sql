-- Who is told of a block: the devices of whoever made it, and nobody else.
select plan(6);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');
select tests.make_history('ben', 'ana');
truncate realtime.messages;

create function pg_temp.heard()
returns table (topic text, event text, payload jsonb, private boolean)
language sql
as $$ select topic, event, payload, private from realtime.messages $$;
create function pg_temp.told(conversation bigint, person text)
returns table (topic text, event text, payload jsonb, private boolean)
language sql
as $$
  select
    'user:' || tests.id_of('ana'), 'block.changed',
    jsonb_build_object('conversation_id', conversation, 'id', null, 'previous_id', null, 'user_id', tests.id_of(person)), true
$$;

select tests.ask('ana', format('block_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.heard()', $$ select * from pg_temp.told(tests.conversation_of('ben'), 'ben') $$,
  'ana, who blocked ben, is told so, and he is not'
);
truncate realtime.messages;
select tests.ask('ana', format('block_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select is_empty('select * from pg_temp.heard()', 'a repeat tells nobody anything');
select tests.ask('ana', format('unblock_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.heard()', $$ select * from pg_temp.told(tests.conversation_of('ben'), 'ben') $$,
  'she is told when she takes it back'
);
truncate realtime.messages;
select tests.ask('ana', format('block_person(%s)', tests.id_of('cat')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.heard()', $$ select * from pg_temp.told(null, 'cat') $$,
  'and where the two have no conversation'
);

alter table realtime.messages rename to elsewhere;
select lives_ok($$ select tests.ask('ana', format('block_person(%s)', tests.id_of('ben'))) $$, 'where nothing can be sent, she blocks him all the same');
select tests.become_owner();
select is((select count(*) from private.blocks), 2::bigint, 'and both are blocked');
