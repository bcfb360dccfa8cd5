-- Limits of a message's content.
select plan(9);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');

create function pg_temp.write(content text, attachment jsonb default null)
returns void
language sql
as $$
  insert into public.messages (conversation_id, user_id, content, attachment)
  values (tests.conversation_of('ana'), tests.id_of('ana'), content, attachment)
$$;

select lives_ok($$ select pg_temp.write('x') $$, 'a message can have one character');
select lives_ok($$ select pg_temp.write(repeat('x', 5000)) $$, 'a message can have 5,000 characters');
select lives_ok($$ select pg_temp.write(repeat('😀', 5000)) $$, 'a message can have 5,000 characters of four bytes');
select throws_ok(
  $$ select pg_temp.write(repeat('x', 5001)) $$, '23514',
  'new row for relation "messages" violates check constraint "content has at most 5,000 characters"',
  'a message cannot have 5,001 characters'
);
select throws_ok(
  $$ select pg_temp.write('') $$, '23514',
  'new row for relation "messages" violates check constraint "a message says something or carries an attachment"',
  'a message cannot be empty'
);
select throws_ok(
  $$ select pg_temp.write(E' \t\r\n ') $$, '23514',
  'new row for relation "messages" violates check constraint "a message says something or carries an attachment"',
  'a message cannot be blank'
);
select throws_ok($$ select pg_temp.write(null) $$, '23502', null, 'the content of a message cannot be null');
select lives_ok(
  $$ select pg_temp.write('', '{"url": "https://a/b", "name": "b", "mime_type": "image/png", "size": 0}') $$,
  'a message with an attachment can be empty'
);
select lives_ok(
  $$ select pg_temp.write(E' \n', '{"url": "https://a/b", "name": "b", "mime_type": "image/png", "size": 0}') $$,
  'a message with an attachment can be blank'
);
