-- Conversation states: each person their own, only the caller's, of one conversation; and what an erasure forgets.
select plan(28);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
insert into public.conversations (voyager_id, local_id)
values
  (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('ben'), tests.id_of('cat')),
  (tests.id_of('cat'), tests.id_of('ana')), (tests.id_of('dan'), tests.id_of('ana'));
create temp table talks as
select
  split_part(voyagers.email, '@', 1) || '-' || split_part(locals.email, '@', 1) as name, conversations.id, voyager_id,
  local_id
from public.conversations
join public.users as voyagers on voyagers.id = voyager_id
join public.users as locals on locals.id = local_id;
insert into public.messages (conversation_id, user_id, content) select id, voyager_id, 'Hello' from talks;
create function pg_temp.arrange(person text, talk text, changes text)
returns jsonb
language plpgsql
as $$
declare
  state jsonb := tests.ask(
    person, format('set_conversation_state(%s, %L)', (select id from talks where name = talk), changes)
  );
begin
  perform tests.become_owner();
  return state - 'conversation_id';
end
$$;
-- The names of a person's conversations that differ from the default, from the highest id, with what they are.
create function pg_temp.states(person text, page text default '{}')
returns text
language plpgsql
as $$
declare
  answer jsonb := tests.ask(person, format('list_conversation_states(%L)', page));
begin
  perform tests.become_owner();
  return (
    select string_agg(
      concat_ws(
        ' ', talks.name, case when (state ->> 'archived')::boolean then 'archived' end,
        case when (state ->> 'pinned')::boolean then 'pinned' end, left(state ->> 'muted_until', 4)
      ),
      ', '
      order by place
    )
    from jsonb_array_elements(answer) with ordinality as states (state, place)
    join talks on talks.id = (state ->> 'conversation_id')::bigint
  );
end
$$;
grant select on talks to public;

-- Both participants, whichever side they are on.
select pg_temp.arrange('ben', 'ana-ben', '{"archived": true}');
select pg_temp.arrange('ana', 'ana-ben', '{"pinned": true, "muted_until": "2998-01-01T00:00:00Z"}');
select is(pg_temp.states('ana'), 'ana-ben pinned 2998', 'ben''s archiving does not archive it for ana, the voyager');
select pg_temp.arrange('ana', 'cat-ana', '{"archived": true}');
select is(pg_temp.states('cat'), null, 'nor hers, the local''s, for cat');
select pg_temp.arrange('ana', 'cat-ana', '{"archived": false}');
select is(pg_temp.states('ana'), 'ana-ben pinned 2998', 'the local can show it again');
select is(
  pg_temp.arrange('ana', 'ana-ben', '{"pinned": false}'),
  '{"archived": false, "pinned": false, "muted_until": "2998-01-01T00:00:00.000Z"}', 'unpinning keeps the mute'
);
select is(pg_temp.states('ana'), 'ana-ben 2998', 'a mute alone is listed');
select is(
  pg_temp.arrange('ben', 'ana-ben', '{}'), '{"archived": true, "pinned": false, "muted_until": null}',
  'and is ana''s alone'
);
select pg_temp.arrange('ben', 'ana-ben', '{"pinned": true}');
select is(
  (
    select string_agg(talks.name, ', ' order by place)
    from jsonb_array_elements(tests.ask('ana', 'list_conversations(null, 0, pinned_first => true)'))
      with ordinality as listed (entry, place)
    join talks on talks.id = (entry ->> 'id')::bigint
  ),
  'dan-ana, cat-ana, ana-ben', 'neither a mute nor the partner''s pin puts a conversation first'
);
select tests.become_owner();
select pg_temp.arrange('ben', 'ana-ben', '{"pinned": false}');
select ok(
  private.follows(person => tests.id_of('ben'), conversation => id, message => null) is false
    and private.follows(person => tests.id_of('ben'), conversation => id, message => 9e15::bigint),
  'ben is notified of a later message in spite of ana''s mute'
)
from talks
where name = 'ana-ben';
select ok(
  private.follows(person => tests.id_of('ana'), conversation => id, message => null),
  'and ana in other conversations'
)
from talks
where name = 'cat-ana';
update private.conversation_states set muted_until = now() - interval '1 second';
select is(pg_temp.states('ana'), null, 'a mute that has ended is not listed');
select is(
  pg_temp.arrange('ana', 'ana-ben', '{}') ->> 'muted_until', null, 'nor shown'
);

-- The list.
select pg_temp.arrange('ana', name, '{"pinned": true}') from talks where name <> 'ben-cat';
select is(pg_temp.states('ana'), 'dan-ana pinned, cat-ana pinned, ana-ben pinned', 'the highest id first');
select is(
  pg_temp.states('ana', jsonb_build_object('before_id', id)::text), 'ana-ben pinned', 'before_id leaves out itself'
)
from talks
where name = 'cat-ana';
select is(
  tests.ask('ana', 'export_me(null)') #>> '{conversations,0,state,pinned}', 'true', 'the export has one''s own state'
);
select tests.become_owner();

-- Twenty pins of one person.
select tests.make_person('guest' || number) from generate_series(1, 18) as number;
insert into public.conversations (voyager_id, local_id)
select id, tests.id_of('ana') from public.users where email like 'guest%@tests.example' order by id;
insert into private.conversation_states (user_id, conversation_id, is_pinned, muted_until)
select tests.id_of('ana'), id, number <= 16, 'infinity'
from (
  select row_number() over (order by id) as number, id from public.conversations where id not in (select id from talks)
) as guests;
insert into private.conversation_states (user_id, conversation_id, is_pinned)
select voyager_id, id, true from public.conversations where id not in (select id from talks);
insert into talks
select 'guest', id, voyager_id, local_id
from public.conversations
where local_id = tests.id_of('ana')
order by id desc
limit 1;
select is(
  pg_temp.arrange('ana', 'guest', '{"pinned": true}') ->> 'pinned', 'true',
  'a twentieth: neither what is muted nor what others have pinned counts'
);
select pg_temp.arrange('ana', 'guest', '{"pinned": false}');

-- A suspended person, and an erased one.
update public.users set is_active = false where id = tests.id_of('dan');
select set_config('api.caller', tests.id_of('dan')::text, true);
select throws_ok(
  $$ select api.set_conversation_state(id, '{"pinned": true}') from talks where name = 'dan-ana' $$, 'PT401',
  'This account no longer exists', 'who was deactivated or erased while the request waited changes nothing'
);
select set_config('api.caller', '', true);
select tests.become_owner();
select pg_temp.arrange('ana', 'ana-ben', '{"archived": true}');
select pg_temp.arrange('ana', 'cat-ana', '{"archived": true}');
select pg_temp.arrange('cat', 'cat-ana', '{"archived": true, "pinned": true}');
select pg_temp.arrange('cat', 'ben-cat', '{"archived": true}');
select tests.ask('ana', 'erase_me()');
select tests.become_owner();
select is_empty(
  format('select from private.conversation_states where user_id = %s', id), 'an erasure leaves no pin and no mute'
)
from public.users
where email = '' and id in (select voyager_id from talks where name = 'ana-ben');
select is_empty(
  $$
    select
    from private.conversation_activity
    join talks on id = conversation_id
    where name = 'ana-ben' and voyager_archived or name in ('cat-ana', 'dan-ana') and local_archived
  $$,
  'nothing archived, on either side'
);
select is(pg_temp.states('cat'), 'cat-ana archived pinned, ben-cat archived', 'the partner keeps what is theirs');
select is(pg_temp.states('ben'), 'ana-ben archived', 'so does the other one');

-- Who has ever written, as the local.
create function pg_temp.has_local_written()
returns boolean
language sql
as $$
  select local_has_written
  from private.conversation_activity
  where conversation_id = (select id from talks where name = 'dan-ana')
$$;
select ok(not pg_temp.has_local_written(), 'ana has not written to dan');
update public.messages set user_id = talks.local_id from talks where talks.id = conversation_id and name = 'dan-ana';
select ok(pg_temp.has_local_written(), 'an admin makes his message hers');
update public.messages set created_at = now() - interval '1 day';
delete from public.messages where conversation_id = (select id from talks where name = 'dan-ana');
select ok(pg_temp.has_local_written(), 'and she has written for ever, though they delete it');
select is_empty('select * from tests.inbox_drift()', 'the times of messages are those of the inbox');
update public.conversations
set local_id = tests.id_of('cat')
where id = (select id from talks where name = 'dan-ana');
select ok(not pg_temp.has_local_written(), 'whoever takes her place has not');
select is(
  (tests.ask('cat', 'count_unread()') -> 'conversations')::text, '[{"unread": 1, "conversation_id": ' || id || '}]',
  'and what is read, or has no message, is not among the unread'
)
from talks
where name = 'ben-cat';
select tests.become_owner();

-- An admin gives a conversation to others.
select pg_temp.arrange('ben', 'ben-cat', '{"archived": true}');
update public.conversations
set voyager_id = tests.id_of('dan'), local_id = tests.id_of('ben')
where id = (select id from talks where name = 'ben-cat');
select is_empty(
  $$
    select
    from private.conversation_activity
    join talks on id = conversation_id
    where name = 'ben-cat' and (voyager_archived or local_archived or local_has_written is not true)
  $$,
  'which nobody has archived then, and ben''s message is still his'
);
select is_empty('select * from tests.inbox_drift()', 'and the inbox is what the messages say');
