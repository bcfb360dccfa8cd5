-- A conversation as one participant arranges it: archived until a newer message, muted until a time, pinned.
select plan(38);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana'));
create function pg_temp.talk(with_cat boolean default false)
returns bigint
language sql security definer
as $$
  select id
  from public.conversations
  where (voyager_id = tests.id_of('cat')) = with_cat and tests.id_of('ana') in (voyager_id, local_id)
$$;
create function pg_temp.arrange(person text, changes text, with_cat boolean default false)
returns jsonb
language sql
as $$ select tests.ask(person, format('set_conversation_state(%s, %L)', pg_temp.talk(with_cat), changes)) $$;
create function pg_temp.list(person text, filter text default '')
returns bigint[]
language sql
as $$
  select array_agg((value ->> 'id')::bigint)
  from jsonb_array_elements(tests.ask(person, format('list_conversations(null, 0%s)', filter)))
$$;
grant execute on function pg_temp.talk, pg_temp.arrange, pg_temp.list to public;
create temp table ids as select pg_temp.talk() as ben, pg_temp.talk(true) as cat;
grant select on ids to public;
truncate realtime.messages;

select is(
  pg_temp.arrange('ana', '{}') - 'conversation_id', '{"archived": false, "muted_until": null, "pinned": false}',
  'the default'
);
select is(tests.ask('ana', 'list_conversation_states(''{}'')'), '[]', 'which is not listed');
select is(
  pg_temp.arrange('ana', '{"archived": true, "pinned": true}') - 'conversation_id',
  '{"archived": true, "muted_until": null, "pinned": true}', 'ana archives and pins'
);
select is(
  pg_temp.arrange('ana', '{"muted_until": "2999-01-01T00:00:00Z"}') - 'conversation_id',
  '{"archived": true, "muted_until": "2999-01-01T00:00:00.000Z", "pinned": true}', 'what is absent stays unchanged'
);
select is(
  tests.ask('ana', 'list_conversation_states(''{}'')'),
  (
    select jsonb_build_array(jsonb_build_object(
      'conversation_id', ben, 'archived', true, 'muted_until', '2999-01-01T00:00:00.000Z', 'pinned', true
    ))
    from ids
  ),
  'her states'
);
select is(tests.ask('ben', 'list_conversation_states(''{}'')'), '[]', 'the partner has none');
select is(pg_temp.list('ana'), (select array[cat, ben] from ids), 'the list without a filter has both');
select is(pg_temp.list('ana', ', archived => false'), (select array[cat] from ids), 'without archived ones');
select is(pg_temp.list('ana', ', archived => true'), (select array[ben] from ids), 'archived ones alone');
select is(pg_temp.list('ana', ', pinned_first => true'), (select array[ben, cat] from ids), 'the pinned one first');
select is(
  pg_temp.list('ana', ', archived => false, pinned_first => true'), (select array[cat] from ids),
  'a pinned one that is archived is not among the others'
);
select is(pg_temp.list('ben', ', archived => false'), (select array[ben] from ids), 'the partner sees it as before');

select tests.become_owner();
create temp table before as select * from private.conversation_states;
select tests.ask('ben', format('send_message(%s, ''{"content": "Are you there?"}'')', ben)) from ids;
select is(pg_temp.list('ana', ', archived => true'), null, 'a newer message shows it again');
select is(pg_temp.list('ana', ', archived => false'), (select array[ben, cat] from ids), 'among the others');
select is(
  pg_temp.arrange('ana', '{}') - 'conversation_id',
  '{"archived": false, "muted_until": "2999-01-01T00:00:00.000Z", "pinned": true}', 'still muted and pinned'
);
select is(tests.ask('ana', 'count_unread()') ->> 'total', '1', 'a muted message is unread as any other');
select tests.become_owner();
select set_eq('table private.conversation_states', 'table before', 'sending writes no state');
select is(
  (select voyager_archived_id from private.conversation_activity where conversation_id = (select ben from ids)),
  0::bigint, 'and leaves what was archived as it was'
);
delete from public.messages where conversation_id = (select ben from ids);
select is(
  pg_temp.list('ana', ', archived => true'), (select array[ben] from ids),
  'it is archived again when an admin deletes that message'
);
select tests.ask('ana', format('send_message(%s, ''{"content": "I am."}'')', ben)) from ids;
select is(pg_temp.list('ana', ', archived => true'), null, 'one''s own message shows it again, too');

select is(
  tests.ask('ana', 'list_conversation_states(''{"limit": 1}'')') -> 0 ->> 'conversation_id',
  (select ben::text from ids), 'a page of states'
);
select pg_temp.arrange('ana', '{"archived": true}', with_cat => true);
select is(
  tests.ask('ana', 'list_conversation_states(''{"limit": 1}'')') -> 0 ->> 'conversation_id',
  (select cat::text from ids), 'the highest id first'
);
select is(
  current_setting('api.response_metadata')::jsonb, (select jsonb_build_object('next', cat) from ids),
  'and where the next page begins'
);

-- Events.
select tests.become_owner();
select set_eq(
  $$ select distinct topic, payload - 'id' from realtime.messages where event = 'conversation.state' $$,
  $$
    select
      'user:' || tests.id_of('ana'),
      jsonb_build_object('conversation_id', id, 'previous_id', null, 'user_id', tests.id_of('ana'))
    from (select ben from ids union select cat from ids) as talks (id)
  $$,
  'conversation.state goes to the topic of the one who did it, and to no other'
);
truncate realtime.messages;
select pg_temp.arrange('ana', '{"archived": true, "pinned": false}', with_cat => true);
select pg_temp.arrange('ana', '{"pinned": true, "muted_until": "2999-01-01T00:00:00Z"}');
select tests.become_owner();
select is_empty('select from realtime.messages', 'a repeat sends none');
select is(pg_temp.arrange('ana', '{"muted_until": null}') ->> 'muted_until', null, 'null ends the mute');
select pg_temp.arrange('ana', '{"pinned": false}');
select is(jsonb_array_length(tests.ask('ana', 'list_conversation_states(''{}'')')), 1, 'a default state is not listed');

-- Who may not, and what not.
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.arrange('cat', '{"archived": true}') $$, 'PT404', 'Conversation not found', 'a stranger cannot'
);
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.arrange('ana', '{"muted_until": "2020-01-01T00:00:00Z"}') $$, 'PT400',
  'muted_until: must be in the future', 'nobody can mute until a time in the past'
);
select tests.become_owner();
select tests.make_person('guest' || number) from generate_series(1, 21) as number;
insert into public.conversations (voyager_id, local_id)
select id, tests.id_of('ben') from public.users where email like 'guest%@tests.example' order by id;
select tests.ask('ben', format('set_conversation_state(%s, ''{"pinned": true}'')', id))
from (
  select id from public.conversations where local_id = tests.id_of('ben') order by id desc limit 20
) as latest;
select is(jsonb_array_length(tests.ask('ben', 'list_conversation_states(''{}'')')), 20, 'ben pins twenty');
select throws_ok(
  $$ select pg_temp.arrange('ben', '{"pinned": true, "archived": true}') $$, 'PT400',
  'pinned: you cannot pin more than 20 conversations', 'not one more'
);
select tests.become_owner();
select is(
  pg_temp.arrange('ben', '{}') - 'conversation_id', '{"archived": false, "muted_until": null, "pinned": false}',
  'and nothing of that request is kept'
);

-- What notifications ask.
select tests.become_owner();
create function pg_temp.is_wanted(message bigint)
returns boolean
language sql
as $$
  select private.follows(person => tests.id_of('ana'), conversation => ben, message => message) from ids
$$;
create temp table latest as select max(id) as id from public.messages;
select ok(pg_temp.is_wanted((select id from latest)), 'ana wants to be notified of a message');
select pg_temp.arrange('ana', '{"archived": true}');
select tests.become_owner();
select ok(not pg_temp.is_wanted((select id from latest)) and not pg_temp.is_wanted(null), 'not after she archived it');
select ok(pg_temp.is_wanted((select id + 1 from latest)), 'but of a later one');
select pg_temp.arrange('ana', '{"archived": false, "muted_until": "2999-01-01T00:00:00Z"}');
select tests.become_owner();
select ok(not pg_temp.is_wanted((select id + 1 from latest)), 'not while it is muted');
update private.conversation_states set muted_until = now() - interval '1 second';
select ok(pg_temp.is_wanted((select id from latest)) and pg_temp.is_wanted(null), 'and again when that has passed');
select ok(
  not private.follows(person => tests.id_of('cat'), conversation => (select ben from ids), message => 1),
  'somebody who does not take part never does'
);
