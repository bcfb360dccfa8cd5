-- Where Storage runs, a message carries only a file that its sender put into that conversation, and that the door saw to be of its type.
select plan(17);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('cat'));

create function pg_temp.file(change jsonb)
returns jsonb
language sql
as $$
  select jsonb_build_object(
    'url', tests.conversation_of('ana') || '/00000000-0000-4000-8000-000000000001/map.png', 'name', 'map.png',
    'mime_type', 'image/png', 'size', 2048
  ) || change
$$;

create function pg_temp.send(person text, change jsonb, seen jsonb default '{"matches_mime_type": true}')
returns jsonb
language sql
as $$
  select tests.ask(
    person,
    format(
      'send_message(%s, %L)', tests.conversation_of('ana'), jsonb_build_object('content', '', 'attachment', pg_temp.file(change)) || seen
    )
  )
$$;

select lives_ok($$ select pg_temp.send('ana', '{}', '{}') $$, 'where Storage never ran a path is taken as it is');
select tests.become_owner();
create table storage.migrations (id integer);

select throws_ok(
  $$ select pg_temp.send('ana', '{}') $$,
  'PT400',
  'attachment: is not a file that you put into this conversation, or not of this type and size',
  'nobody sends a file that is not there'
);
insert into storage.objects (bucket_id, name, owner_id, metadata)
select
  'attachments', pg_temp.file('{}') ->> 'url', auth_id::text, '{"mimetype": "image/png", "size": 2048}'
from public.users
where id = tests.id_of('ana');
select lives_ok($$ select pg_temp.send('ana', '{}') $$, 'ana sends the file that she uploaded');
select tests.become_owner();
select lives_ok(
  format('select pg_temp.send(''ana'', %L)', jsonb_build_object('url', 'attachments/' || (pg_temp.file('{}') ->> 'url'))),
  'the bucket may stand before the path'
);
select tests.become_owner();
select lives_ok(
  $$ select pg_temp.send('ben', '{"url": "HTTPS://files.example/map.png", "size": 1}', '{}') $$,
  'an address on the web is taken as it is'
);

select tests.become_owner();
select throws_ok(
  $$ select pg_temp.send('ana', '{}', '{"matches_mime_type": false}') $$,
  'PT400',
  'attachment: its content is not of the type that it is said to be',
  'nobody sends a file that begins otherwise'
);
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.send('ana', '{}', '{"matches_mime_type": null}') $$,
  'PT503',
  'attachment: could not be looked at, please try again',
  'nor one that could not be looked at'
);
select tests.become_owner();
select lives_ok(
  $$ select pg_temp.send('ana', '{}', '{"matches_mime_type": true, "client_id": "00000000-0000-4000-8000-000000000002"}') $$,
  'under a key, ana sends it'
);
select tests.become_owner();
create temp table kept as select * from storage.objects;
delete from storage.objects;
select lives_ok(
  $$ select pg_temp.send('ana', '{}', '{"client_id": "00000000-0000-4000-8000-000000000002"}') $$,
  'and is answered again when the file is gone and nobody can look'
);
select tests.become_owner();
select lives_ok(
  $$ select pg_temp.send('ana', '{}', '{"matches_mime_type": false, "client_id": "00000000-0000-4000-8000-000000000002"}') $$,
  'or whatever it is by now'
);
select tests.become_owner();
insert into storage.objects (bucket_id, name, owner_id, metadata)
select bucket_id, name, owner_id, '{"mimetype": "image/png;charset=utf-8", "size": 2048}' from kept;

select throws_ok(
  format('select pg_temp.send(%L, %L)', person, change), 'PT400', null, format('%s cannot send %s', person, what)
)
from (
  values
    ('ana', 'it as another type', '{"mime_type": "image/jpeg"}'::jsonb),
    ('ana', 'it as another size', '{"size": 2049}'),
    ('ana', 'a path that begins like it', jsonb_build_object('url', (pg_temp.file('{}') ->> 'url') || '.exe')),
    ('ana', 'a path in no folder', '{"url": "map.png"}'),
    ('ben', 'what ana uploaded', '{}')
) as attempts (person, what, change);

select tests.become_owner();
update storage.objects
set name = (select max(id) from public.conversations) || '/00000000-0000-4000-8000-000000000001/map.png';
select throws_ok(
  format(
    'select pg_temp.send(''ana'', %L)',
    jsonb_build_object('url', (select max(id) from public.conversations) || '/00000000-0000-4000-8000-000000000001/map.png')
  ),
  'PT400',
  null,
  'ana cannot send a file of another conversation'
);
select tests.become_owner();
select lives_ok(
  $$ select tests.ask('ana', format('send_message(%s, ''{"content": "Bare"}'')', tests.conversation_of('ana'))) $$,
  'a message without one needs none'
);
