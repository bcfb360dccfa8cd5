-- An attachment must be a file that the sender uploaded to the conversation, and whose content
-- matches its type.
select plan(16);
-- As Storage does.
set local storage.allow_delete_query = 'true';
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
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

create function pg_temp.send(person text, change jsonb, draft jsonb default '{"matches_mime_type": true}')
returns jsonb
language sql
as $$
  select tests.ask(
    person,
    format(
      'send_message(%s, %L)', tests.conversation_of('ana'),
      jsonb_build_object('content', '', 'attachment', pg_temp.file(change)) || draft
    )
  )
$$;

select throws_ok(
  $$ select pg_temp.send('ana', '{}') $$, 'PT400',
  'attachment: is not a file that you uploaded to this conversation, or not of this type and size',
  'ana cannot send a file that does not exist'
);
insert into storage.objects (bucket_id, name, owner_id, metadata)
select
  'attachments', pg_temp.file('{}') ->> 'url', auth_id::text, '{"mimetype": "image/png", "size": 2048}'
from public.users
where id = tests.id_of('ana');
select lives_ok($$ select pg_temp.send('ana', '{}') $$, 'ana can send the file that she uploaded');
select tests.become_owner();
select lives_ok(
  format(
    'select pg_temp.send(''ana'', %L)', jsonb_build_object('url', 'attachments/' || (pg_temp.file('{}') ->> 'url'))
  ),
  'the path can begin with the bucket'
);
select tests.become_owner();
select lives_ok(
  $$
    select pg_temp.send(
      person => 'ben', change => '{"url": "HTTPS://files.example/map.png", "size": 1}', draft => '{}'
    )
  $$,
  'an https address is accepted as it is'
);

select tests.become_owner();
select throws_ok(
  $$ select pg_temp.send(person => 'ana', change => '{}', draft => '{"matches_mime_type": false}') $$, 'PT400',
  'attachment: its content does not match its mime_type',
  'ana cannot send a file whose content does not match its type'
);
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.send(person => 'ana', change => '{}', draft => '{"matches_mime_type": null}') $$, 'PT503',
  'attachment: could not be checked, please try again', 'ana cannot send a file that could not be read'
);
select tests.become_owner();
select lives_ok(
  $$
    select pg_temp.send(
      person => 'ana', change => '{}',
      draft => '{"matches_mime_type": true, "client_id": "00000000-0000-4000-8000-000000000002"}'
    )
  $$,
  'ana can send the file with a client_id'
);
select tests.become_owner();
create temp table saved as select * from storage.objects;
delete from storage.objects;
select lives_ok(
  $$
    select pg_temp.send(
      person => 'ana', change => '{}',
      draft => '{"client_id": "00000000-0000-4000-8000-000000000002"}'
    )
  $$,
  'a retry succeeds after the file is gone and cannot be read'
);
select tests.become_owner();
select lives_ok(
  $$
    select pg_temp.send(
      person => 'ana', change => '{}',
      draft => '{"matches_mime_type": false, "client_id": "00000000-0000-4000-8000-000000000002"}'
    )
  $$,
  'a retry succeeds if the content no longer matches'
);
select tests.become_owner();
insert into storage.objects (bucket_id, name, owner_id, metadata)
select bucket_id, name, owner_id, '{"mimetype": "image/png;charset=utf-8", "size": 2048}' from saved;

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
  format('select pg_temp.send(''ana'', %L)', jsonb_build_object('url', (select max(name) from storage.objects))),
  'PT400', null, 'ana cannot send a file of another conversation'
);
select tests.become_owner();
select lives_ok(
  $$ select tests.ask('ana', format('send_message(%s, ''{"content": "Bare"}'')', tests.conversation_of('ana'))) $$,
  'a message can be sent without an attachment'
);
