-- An attachment is {url, name, mime_type, size} and nothing else.
select plan(33);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');

create function pg_temp.attach(attachment jsonb)
returns void
language sql
as $$
  insert into public.messages (conversation_id, user_id, content, attachment)
  values (tests.conversation_of('ana'), tests.id_of('ana'), 'Look', attachment)
$$;

create function pg_temp.with_change(change jsonb)
returns jsonb
language sql
as $$
  select '{"url": "https://a/map.png", "name": "map.png", "mime_type": "image/png", "size": 2048}'::jsonb || change
$$;

select lives_ok($$ select pg_temp.attach(null) $$, 'a message can have no attachment');
select lives_ok(
  format('select pg_temp.attach(pg_temp.with_change(%L))', change), format('an attachment can have %s', change)
)
from (
  values
    ('{"url": "https://files.example/map.png"}'::jsonb),
    ('{"size": 0}'),
    ('{"size": 5368709120}')
) as changes (change);

select lives_ok(
  format(
    'select pg_temp.attach(pg_temp.with_change(%L))', jsonb_build_object(field, rpad('https://a/', max_length, 'x'))
  ),
  format('the %s of an attachment can have %s characters', field, max_length)
)
from (values ('url', 2048), ('name', 255), ('mime_type', 255)) as limits (field, max_length);
select throws_ok(
  format('select pg_temp.attach(pg_temp.with_change(%L))', jsonb_build_object(field, repeat('x', max_length + 1))),
  '23514',
  'new row for relation "messages" violates check constraint "attachment is {url, name, mime_type, size}"',
  format('the %s of an attachment cannot have %s characters', field, max_length + 1)
)
from (values ('url', 2048), ('name', 255), ('mime_type', 255)) as limits (field, max_length);

select throws_ok(
  format('select pg_temp.attach(%L)', attachment), '23514',
  'new row for relation "messages" violates check constraint "attachment is {url, name, mime_type, size}"',
  format('an attachment cannot be %s', attachment)
)
from (
  values ('null'::jsonb), ('true'), ('3'), ('"ana/map.png"'), ('[]'), ('{}'), ('["url", "name", "mime_type", "size"]')
) as attachments (attachment);

select throws_ok(
  format('select pg_temp.attach(pg_temp.with_change(%L))', change), '23514',
  'new row for relation "messages" violates check constraint "attachment is {url, name, mime_type, size}"',
  format('an attachment cannot have %s', change)
)
from (
  values
    ('{"url": null}'::jsonb),
    ('{"url": ""}'),
    ('{"url": ["ana/map.png"]}'),
    ('{"name": null}'),
    ('{"name": ""}'),
    ('{"mime_type": null}'),
    ('{"mime_type": ""}'),
    ('{"size": null}'),
    ('{"size": "2048"}'),
    ('{"size": -1}'),
    ('{"size": {}}'),
    ('{"width": 640}')
) as changes (change);

select throws_ok(
  format('select pg_temp.attach(pg_temp.with_change(%L::jsonb) - %L)', '{}', field), '23514',
  'new row for relation "messages" violates check constraint "attachment is {url, name, mime_type, size}"',
  format('an attachment cannot be without its %s', field)
)
from (values ('url'), ('name'), ('mime_type'), ('size')) as fields (field);
