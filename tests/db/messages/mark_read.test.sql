-- Only the recipient marks messages as read, one or all up to one; read never becomes false again.
select plan(10);
select tests.make_person(name) from unnest(array['ana', 'ben', 'mallory']) as name;
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
      'mark_read(conversation => %s, message => %s, and_before => %L)',
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

select is(pg_temp.mark('ana', 'second'), '{"success": true}', 'marking her own message succeeds for ana');
select is(pg_temp.read_messages(), 'none', 'marking her own message changes nothing');
select is(pg_temp.mark('ben', 'second'), '{"success": true}', 'ben can mark a received message');
select is(pg_temp.read_messages(), 'second', 'only that message is read');
select throws_ok(
  $$ select pg_temp.mark('mallory', 'fourth') $$, 'PT404', 'Conversation not found',
  'mallory cannot mark the messages of ana and ben'
);
select throws_ok(
  $$ select pg_temp.mark(person => 'mallory', message => 'fourth', voyager => 'mallory') $$, 'PT404',
  'Message not found', 'mallory cannot mark them through a conversation of her own'
);
select throws_ok(
  $$ select pg_temp.mark(null, 'fourth') $$, 'PT404', 'Conversation not found', 'an anonymous caller cannot mark them'
);
select is(
  pg_temp.mark(person => 'ben', message => 'fourth', and_before => true), '{"success": true}',
  'ben can mark all messages up to one'
);
select is(
  pg_temp.read_messages(), 'Hello second fourth',
  'the received messages up to it are read, but not his own, later ones or those of other conversations'
);
select lives_ok($$ select pg_temp.mark('ben', 'second') $$, 'ben can mark a message twice');
