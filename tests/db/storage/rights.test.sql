-- Who can read, add, replace and remove files: participants the attachments of their conversations,
-- users their own avatars.
select plan(63);
-- As Storage does: it says what it is asked to do, and that it deletes.
set local storage.operation = 'storage.object.upload';
set local storage.allow_delete_query = 'true';
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
select tests.make_history('ana', 'ben');

create function pg_temp.account_of(person text)
returns text
language sql security definer
as $$ select auth_id::text from public.users where id = tests.id_of(person) $$;

-- Paths: {own} is the conversation of ana and ben, {ana} and {ben} are their Auth accounts.
create function pg_temp.path(pattern text)
returns text
language sql security definer
as $$
  select replace(replace(replace(
    pattern,
    '{own}', tests.conversation_of('ana')::text),
    '{ana}', pg_temp.account_of('ana')),
    '{ben}', pg_temp.account_of('ben')
  )
$$;

insert into storage.objects (bucket_id, name, owner_id, metadata)
values
  (
    'attachments', pg_temp.path('{own}/00000000-0000-4000-8000-000000000001/map.png'), pg_temp.account_of('ana'),
    '{"mimetype": "image/png", "size": 2048}'
  ),
  ('avatars', pg_temp.path('{ana}/me.png'), pg_temp.account_of('ana'), '{"mimetype": "image/png", "size": 2048}');

create function pg_temp.outcome(person text, statement text)
returns text
language plpgsql
as $$
declare
  affected bigint;
begin
  perform tests.become(person);
  execute statement;
  get diagnostics affected = row_count;
  perform tests.become_owner();
  return case when affected > 0 then 'can' else 'cannot' end;
exception
  when insufficient_privilege then
    return 'cannot';
end
$$;

-- The policies do not apply to other buckets, whatever their folders are called.
insert into storage.buckets (id, name) values ('elsewhere', 'elsewhere');
insert into storage.objects (bucket_id, name)
values ('elsewhere', pg_temp.path('{own}/map.png')), ('elsewhere', pg_temp.path('{ana}/me.png'));
select is(
  pg_temp.outcome('ana', $$ select from storage.objects where bucket_id = 'elsewhere' $$), 'cannot',
  'ana cannot read files of another bucket'
);
-- Without a where clause Postgres does not apply the select policy.
select is(
  pg_temp.outcome('ben', 'delete from storage.objects'), 'cannot', 'ben, who has no avatar, cannot remove any file'
);

select is(
  pg_temp.outcome(person, statement), outcome,
  format('%s %s %s', coalesce(person, 'an anonymous caller'), outcome, what)
)
from (
  values
    ('ana', 'read a shared file', $$ select from storage.objects where bucket_id = 'attachments' $$, 'can'),
    ('ben', 'read it', $$ select from storage.objects where bucket_id = 'attachments' $$, 'can'),
    ('cat', 'read it', $$ select from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    (null, 'read it', $$ select from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'change it', $$ update storage.objects set name = 'x' where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'remove it', $$ delete from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ben', 'remove it', $$ delete from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'list her avatar', $$ select from storage.objects where bucket_id = 'avatars' $$, 'can'),
    ('ben', 'list the avatars of others', $$ select from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    (
      'ana', 'replace the content of her avatar',
      $$ update storage.objects set metadata = '{"size": 1}' where bucket_id = 'avatars' $$, 'can'
    ),
    (
      'ben', 'replace the content of the avatar of ana',
      $$ update storage.objects set metadata = '{"size": 1}' where bucket_id = 'avatars' $$, 'cannot'
    ),
    (
      null, 'replace it', $$ update storage.objects set metadata = '{"size": 1}' where bucket_id = 'avatars' $$,
      'cannot'
    ),
    (
      'ana', 'rename her avatar',
      $$ update storage.objects set name = replace(name, 'me.png', 'you.png') where bucket_id = 'avatars' $$, 'can'
    ),
    -- Without a where clause, as above.
    (
      'ana', 'move her avatar out of her folder',
      $$ update storage.objects set name = 'x' $$, 'cannot'
    ),
    (
      'ana', 'move her avatar to the folder of ben',
      format('update storage.objects set name = %L', pg_temp.path('{ben}/you.png')), 'cannot'
    ),
    (
      'ana', 'move her avatar to a deeper folder',
      format('update storage.objects set name = %L', pg_temp.path('{ana}/deep/you.png')), 'cannot'
    ),
    (
      'ana', 'move her avatar to the attachments',
      $$ update storage.objects set bucket_id = 'attachments' $$, 'cannot'
    ),
    ('ben', 'remove the avatar of ana', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    (null, 'remove it', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    ('ana', 'remove her avatar', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'can')
) as attempts (person, what, statement, outcome);

select is(
  pg_temp.outcome(
    person,
    format(
      'insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)',
      bucket, pg_temp.path(pattern), pg_temp.account_of(coalesce(owner, person))
    )
  ),
  outcome,
  format(
    '%s %s upload %s to %s%s', coalesce(person, 'an anonymous caller'), outcome, pattern, bucket,
    ' with the owner ' || owner
  )
)
from (
  values
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000a/a b.png', null, 'can'),
    ('ben', 'attachments', '{own}/00000000-0000-4000-8000-00000000000b/b.pdf', null, 'can'),
    ('cat', 'attachments', '{own}/00000000-0000-4000-8000-00000000000c/c.png', null, 'cannot'),
    (null, 'attachments', '{own}/00000000-0000-4000-8000-00000000000d/d.png', 'ana', 'cannot'),
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000e/e.png', 'ben', 'cannot'),
    ('ana', 'attachments', '999999999/00000000-0000-4000-8000-00000000000f/f.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/g.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/map/g.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000f/x/g.png', null, 'cannot'),
    ('ana', 'attachments', 'g.png', null, 'cannot'),
    ('ana', 'avatars', '{ana}/new.png', null, 'can'),
    ('ana', 'avatars', '{ben}/new.png', null, 'cannot'),
    ('ana', 'avatars', '{ana}/deep/new.png', null, 'cannot'),
    ('ana', 'avatars', 'new.png', null, 'cannot'),
    (null, 'avatars', '{ana}/other.png', 'ana', 'cannot'),
    ('ana', 'elsewhere', '{ana}/new.png', null, 'cannot'),
    ('ana', 'elsewhere', '{own}/00000000-0000-4000-8000-000000000003/map.png', 'ana', 'cannot')
) as attempts (person, bucket, pattern, owner, outcome);

-- Storage checks the file of an upload; of these other requests it would check less.
create function pg_temp.outcome_of(operation text, bucket text, pattern text)
returns text
language plpgsql
as $$
begin
  perform set_config('storage.operation', coalesce(operation, ''), true);
  return pg_temp.outcome(
    'ana',
    format(
      'insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)',
      bucket, pg_temp.path(pattern), pg_temp.account_of('ana')
    )
  );
end
$$;
select is(
  pg_temp.outcome_of(operation, bucket, pattern), outcome,
  format('ana %s add to %s by %s', outcome, bucket, coalesce(operation, 'no request to Storage'))
)
from (
  values
    ('storage.object.upload_update', 'attachments', '{own}/00000000-0000-4000-8000-000000000010/a.png', 'can'),
    ('storage.tus.upload.create', 'attachments', '{own}/00000000-0000-4000-8000-000000000011/a.png', 'can'),
    ('storage.tus.upload.part', 'attachments', '{own}/00000000-0000-4000-8000-000000000012/a.png', 'can'),
    ('storage.tus.upload.delete', 'attachments', '{own}/00000000-0000-4000-8000-000000000013/a.png', 'can'),
    ('storage.object.copy', 'attachments', '{own}/00000000-0000-4000-8000-000000000014/a.png', 'cannot'),
    ('storage.object.sign_upload_url', 'attachments', '{own}/00000000-0000-4000-8000-000000000015/a.png', 'cannot'),
    ('storage.s3.object.copy', 'attachments', '{own}/00000000-0000-4000-8000-000000000016/a.png', 'cannot'),
    (null, 'attachments', '{own}/00000000-0000-4000-8000-000000000017/a.png', 'cannot'),
    ('storage.object.copy', 'avatars', '{ana}/copy.png', 'cannot'),
    ('storage.object.sign_upload_url', 'avatars', '{ana}/signed.png', 'cannot')
) as attempts (operation, bucket, pattern, outcome);
set local storage.operation = 'storage.object.upload';
set local storage.allow_delete_query = 'false';
select throws_ok(
  'delete from storage.objects', '42501',
  'Direct deletion from storage tables is not allowed. Use the Storage API instead.',
  'files are not deleted in SQL'
);
set local storage.allow_delete_query = 'true';

select set_eq(
  $$ select id, public, file_size_limit from storage.buckets where id <> 'elsewhere' $$,
  $$ values ('attachments', false, 10485760::bigint), ('avatars', true, 2097152) $$,
  'attachments are private with at most 10 MiB, avatars public with at most 2 MiB'
);
select is_empty(
  $$
    select id, type
    from storage.buckets
    left join unnest(allowed_mime_types) as type on true
    where id <> 'elsewhere' and (type is null or type ~ '(html|svg|xml|javascript|\*)')
  $$,
  'neither bucket accepts all types or types that a browser executes'
);

select is(
  tests.ask('ana', 'list_avatars()'), jsonb_build_array(pg_temp.path('{ana}/new.png')),
  'list_avatars returns ana''s avatar'
);
select tests.become_owner();
select is(tests.ask('ben', 'list_avatars()'), '[]', 'list_avatars does not return ana''s avatar to ben');
select tests.become_owner();
insert into storage.objects (bucket_id, name, owner_id)
select 'avatars', format('%s/%s.png', ben, number), ben
from pg_temp.account_of('ben') as ben
cross join generate_series(1, 1001) as number;
create temp table others as
select bucket_id, name
from storage.objects
where bucket_id <> 'avatars' or name not like (select pg_temp.account_of('ana')) || '/%';
-- If the policy reached any file of others, its check would refuse the whole statement.
select is(
  pg_temp.outcome('ana', $$ update storage.objects set metadata = '{"size": 2}' $$), 'can',
  'ana can replace every file that she can reach'
);
select is(pg_temp.outcome('ana', 'delete from storage.objects'), 'can', 'ana can remove every file that she can reach');
select set_eq(
  'select bucket_id, name from storage.objects', 'select bucket_id, name from others', 'ana has removed only her avatar'
);
select is(
  jsonb_array_length(tests.ask('ben', 'list_avatars()')), 1000,
  'list_avatars returns at most as many as Storage removes in one request'
);
select tests.become_owner();

select set_eq(
  $$ select policyname::text, cmd, roles::text from pg_policies where schemaname = 'storage' $$,
  $$
    values
      ('participants read the files of their conversations', 'SELECT', '{authenticated}'),
      ('participants upload files to their conversations', 'INSERT', '{authenticated}'),
      ('users list their own avatars', 'SELECT', '{authenticated}'),
      ('users add their own avatars', 'INSERT', '{authenticated}'),
      ('users replace their own avatars', 'UPDATE', '{authenticated}'),
      ('users remove their own avatars', 'DELETE', '{authenticated}')
  $$,
  'these are the policies on files'
);

insert into storage.objects (bucket_id, name, owner_id)
values ('avatars', pg_temp.path('{ana}/last.png'), pg_temp.account_of('ana'));
update public.users set is_active = false where id = tests.id_of('ana');
select is(
  pg_temp.outcome('ana', $$ update storage.objects set metadata = '{"size": 1}' where bucket_id = 'avatars' $$),
  'cannot', 'ana, deactivated, cannot replace an avatar'
);
select is(
  pg_temp.outcome('ana', $$ select from storage.objects where bucket_id = 'attachments' $$), 'cannot',
  'ana, deactivated, cannot read files'
);
select is(
  pg_temp.outcome(
    'ana',
    format(
      'insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)',
      'avatars', pg_temp.path('{ana}/late.png'), pg_temp.account_of('ana')
    )
  ),
  'cannot',
  'ana, deactivated, cannot add an avatar'
);
select throws_ok(
  $$ select tests.ask('ana', 'list_avatars()') $$, 'PT403', null, 'ana, deactivated, cannot call list_avatars'
);
