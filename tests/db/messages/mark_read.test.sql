-- The recipient marks a message as read, or all up to one; it never becomes unread, and the sender cannot.
select plan(10);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('mallory');
select tests.make_history('ana', 'ben');
select tests.make_history('mallory', 'ben');
insert into public.messages (conversation_id, user_id, content)
values
  (tests.conversation_of('ana'), tests.id_of('ana'), 'second'),
  (tests.conversation_of('ana'), tests.id_of('ben'), 'third'),
  (tests.conversation_of('ana'), tests.id_of('ana'), 'fourth'),
  (tests.conversation_of('ana'), tests.id_of('ana'), 'fifth');

create function pg_temp.mark(person text, message text, and_before boolean default false, voyager text default 'ana')
returns jsonb
language plpgsql
as $$
begin
  perform tests.become_owner();
  return tests.ask(
    person,
    format(
      'mark_read(%s, %s, %L)',
      tests.conversation_of(voyager),
      (select id from public.messages where content = message and conversation_id = tests.conversation_of('ana')),
      and_before
    )
  );
end
$$;
grant execute on function pg_temp.mark to public;

create function pg_temp.read_messages()
returns text
language sql security definer
as $$ select coalesce(string_agg(content, ' ' order by id), 'none') from public.messages where read $$;
grant execute on function pg_temp.read_messages to public;

select is(pg_temp.mark('ana', 'second'), '{"success": true}', 'ana is not refused to mark a message of her own');
select is(pg_temp.read_messages(), 'none', 'it changes nothing: she cannot read in ben''s stead');
select is(pg_temp.mark('ben', 'second'), '{"success": true}', 'ben can mark a message that he received');
select is(pg_temp.read_messages(), 'second', 'that one is read, and no other');
select throws_ok(
  $$ select pg_temp.mark('mallory', 'fourth') $$,
  'PT404',
  'Conversation not found',
  'mallory cannot mark the messages of ana and ben'
);
select throws_ok(
  $$ select pg_temp.mark('mallory', 'fourth', false, 'mallory') $$,
  'PT404',
  'Message not found',
  'mallory cannot mark them by way of a conversation of her own'
);
select throws_ok(
  $$ select pg_temp.mark(null, 'fourth') $$,
  'PT404',
  'Conversation not found',
  'an anonymous caller cannot mark them'
);
select is(pg_temp.mark('ben', 'fourth', true), '{"success": true}', 'ben can mark all up to one');
select is(
  pg_temp.read_messages(),
  'Hello second fourth',
  'what he received before it is read: not his own, not what came after, not another conversation''s'
);
select lives_ok($$ select pg_temp.mark('ben', 'second') $$, 'ben can mark one twice');
