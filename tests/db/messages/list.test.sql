-- Participants read messages in pages, from either end or from a cursor.
select plan(12);
select tests.make_person(name) from unnest(array['ana', 'ben', 'mallory']) as name;
select tests.make_history('ana', 'ben');
insert into public.messages (conversation_id, user_id, content)
select tests.conversation_of('ana'), tests.id_of('ben'), number::text
from generate_series(2, 5) as number;

create function pg_temp.list(person text, page jsonb)
returns text
language sql
as $$
  select string_agg(message ->> 'content', ' ' order by place)
  from jsonb_array_elements(tests.ask(person, format('list_messages(%s, %L)', tests.conversation_of('ana'), page)))
    with ordinality as listing (message, place)
$$;
grant execute on function pg_temp.list to public;

create function pg_temp.cursor(name text, number text)
returns jsonb
language sql security definer
as $$ select jsonb_build_object('limit', 2, name, id) from public.messages where content = number $$;
grant execute on function pg_temp.cursor to public;

select is(pg_temp.list('ana', '{"limit": 50}'), '5 4 3 2 Hello', 'ana can read all messages, newest first');
select is(
  coalesce(current_setting('api.response_metadata', true), ''), '', 'without a next page there is no response metadata'
);
select is(
  pg_temp.list('ben', '{"limit": 50, "order": "asc"}'), 'Hello 2 3 4 5', 'ben can read all messages, oldest first'
);
select throws_ok(
  $$ select pg_temp.list('mallory', '{"limit": 50}') $$, 'PT404', 'Conversation not found',
  'mallory cannot read the messages of ana and ben'
);
select throws_ok(
  format('select tests.ask(%L, %L)', 'mallory', 'list_messages(9007199254740991, ''{"limit": 50}'')'), 'PT404',
  'Conversation not found', 'mallory gets the same error for an unknown conversation'
);
select throws_ok(
  $$ select pg_temp.list(null, '{"limit": 50}') $$, '42501', null, 'an anonymous caller cannot read messages'
);

select is(pg_temp.list('ana', '{"limit": 5}'), '5 4 3 2 Hello', 'a page can hold the whole conversation');
select is(
  coalesce(current_setting('api.response_metadata', true), ''), '', 'a page that holds the rest has no next page'
);
select is(pg_temp.list('ana', '{"limit": 2, "offset": 1}'), '4 3', 'ana can skip the newest with offset');
select is(
  pg_temp.list('ana', pg_temp.cursor('before_id', '4')), '3 2', 'ana can read the messages before an id, newest first'
);
select is(
  pg_temp.list('ana', pg_temp.cursor('after_id', '2')), '3 4', 'ana can read the messages after an id, oldest first'
);
select is(
  current_setting('api.response_metadata')::jsonb -> 'next', pg_temp.cursor('is', '4') -> 'is',
  'the response metadata holds the last id of the page'
);
