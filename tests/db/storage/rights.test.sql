-- Who may do what with the rows of storage.objects. That Storage asks for each of its requests, also after a block or
-- an erasure, is in tests/contract/storage.test.ts; which file a message may have, in tests/rules/messages.rules.ts.
select plan(59);
-- As Storage does: it says what it is asked to do, and that it deletes.
set local storage.operation = 'storage.object.upload';
set local storage.allow_delete_query = 'true';
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('dan'));
update public.users set is_active = false where id = tests.id_of('dan');
insert into storage.buckets (id, name) values ('elsewhere', 'elsewhere');

-- {ana} and so on: an Auth account, {me} the caller's; {own}, {dans}: the conversation of ana and ben, or dan; {new}: a
-- path in {own}.
create temp table placeholders as
select '{new}' as mark, '{own}/{uuid}/a b.png' as value
union all
select '{uuid}', '00000000-0000-4000-8000-000000000001'
union all
select '{' || name || '}', tests.claims_of(name) ->> 'sub' from unnest(array['ana', 'ben', 'dan']) as name
union all
select case when local_id = tests.id_of('ben') then '{own}' else '{dans}' end, id::text from public.conversations;
create function pg_temp.fill(pattern text, me text default null) returns text language plpgsql security definer as $$
declare
  filled text := replace(pattern, '{me}', coalesce(tests.claims_of(me) ->> 'sub', 'nobody'));
  found record;
begin
  for found in select * from placeholders order by mark = '{new}' desc loop
    filled := replace(filled, found.mark, found.value);
  end loop;
  return filled;
end
$$;
-- Who can execute a statement once another has been, and on how many rows if there are several. Both are taken back.
create function pg_temp.who_can(statement text, done text default 'select') returns text language plpgsql as $$
declare
  able text[];
  person text;
  affected bigint;
begin
  foreach person in array array['ana', 'ben', 'cat', 'dan', null] loop
    begin
      perform tests.become_owner();
      execute pg_temp.fill(done);
      perform tests.become(person);
      execute pg_temp.fill(statement, person);
      get diagnostics affected = row_count;
      raise sqlstate 'TAKEN';
    exception
      when sqlstate 'TAKEN' then
        if affected > 0 then
          able := able || concat(coalesce(person, 'anybody'), ' ' || nullif(affected, 1));
        end if;
      when insufficient_privilege then
    end;
  end loop;
  perform tests.become_owner();
  return coalesce(array_to_string(able, ', '), 'nobody');
end
$$;
create function pg_temp.upload(bucket text, name text, owner text default '{me}')
returns text language sql immutable as $$
  select format('insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)', bucket, name, owner)
$$;
grant execute on all functions in schema pg_temp to public;

insert into storage.objects (bucket_id, name, owner_id, metadata)
select bucket, pg_temp.fill(name), pg_temp.fill(owner), '{"mimetype": "image/png;charset=utf-8", "size": 2048}'
from (
  values
    ('attachments', '{own}/{uuid}/map.png', '{ana}'), ('attachments', '{dans}/{uuid}/map.png', '{ana}'),
    ('avatars', '{ana}/me.png', '{ana}'), ('avatars', '{dan}/me.png', '{dan}'),
    -- The policies do not apply to other buckets, whatever their folders are called.
    ('elsewhere', '{own}/map.png', '{ana}'), ('elsewhere', '{ana}/me.png', '{ana}')
) as files (bucket, name, owner);

-- Without a where clause Postgres does not apply the policy for reading as well.
select is(pg_temp.who_can(statement), who, format('%s can %s', who, statement))
from (
  values
    ('select from storage.objects where name like ''{own}/%''', 'ana, ben'),
    ('select from storage.objects where name like ''{dans}/%''', 'ana'),
    ('select from storage.objects where name = ''{ana}/me.png''', 'ana'),
    ('select from storage.objects where bucket_id = ''elsewhere''', 'nobody'),
    ('update storage.objects set name = ''x'' where bucket_id = ''attachments''', 'nobody'),
    ('update storage.objects set metadata = ''{"size": 1}'' where name = ''{ana}/me.png''', 'ana'),
    ('update storage.objects set metadata = ''{"size": 1}''', 'ana'),
    ('update storage.objects set name = ''{me}/you.png''', 'ana'),
    ('update storage.objects set name = ''x''', 'nobody'),
    ('update storage.objects set name = ''{ben}/you.png''', 'nobody'),
    ('update storage.objects set name = ''{me}/deep/you.png''', 'nobody'),
    ('update storage.objects set bucket_id = ''attachments'', name = ''{new}''', 'nobody'),
    ('update storage.objects set bucket_id = ''elsewhere''', 'nobody'),
    ('delete from storage.objects where bucket_id = ''attachments''', 'ana 2'),
    ('delete from storage.objects where name = ''{ana}/me.png''', 'ana'),
    ('delete from storage.objects', 'ana 3, dan')
) as attempts (statement, who);

-- Of what was taken back, its sender must not see that it stayed, as evidence of a report.
create temp table evidence as
select 'insert into private.report_evidence select max(id), 0, true, ''x'', '
  || '''{"url": "{own}/{uuid}/map.png"}'', now() from public.reports' as copied,
  '; update public.messages set attachment = '
  || '''{"url": "{own}/{uuid}/map.png", "name": "map.png", "mime_type": "image/png", "size": 2048}'' '
  || 'where id = (select max(id) from public.messages where conversation_id = {own})' as sent;
select is(
  pg_temp.who_can(statement, concat(copied, case when is_sent then sent end)), who,
  format('%s can %s, sent: %s', who, statement, is_sent)
)
from evidence
cross join (
  values
    ('delete from storage.objects where name = ''{own}/{uuid}/map.png''', false, 'nobody'),
    ('select from storage.objects where name = ''{own}/{uuid}/map.png''', false, 'nobody'),
    ('delete from storage.objects where name = ''{own}/{uuid}/map.png''', true, 'nobody'),
    ('select from storage.objects where name = ''{own}/{uuid}/map.png''', true, 'ana, ben'),
    ('select from storage.objects where name = ''{dans}/{uuid}/map.png''', false, 'ana')
) as attempts (statement, is_sent, who);
select is(
  pg_temp.who_can(pg_temp.upload(bucket, name, owner)), who,
  format('%s can upload %s to %s as %s', who, name, bucket, owner)
)
from (
  values
    ('attachments', '{new}', '{me}', 'ana, ben'),
    ('attachments', '{new}', '{ben}', 'ben'),
    ('attachments', '{dans}/{uuid}/a.png', '{me}', 'ana'),
    ('attachments', '999999999/{uuid}/a.png', '{me}', 'nobody'),
    ('attachments', '{own}/a.png', '{me}', 'nobody'),
    ('attachments', '{own}/map/a.png', '{me}', 'nobody'),
    ('attachments', '{own}/{uuid}/x/a.png', '{me}', 'nobody'),
    ('attachments', 'a.png', '{me}', 'nobody'),
    ('avatars', '{me}/new.png', '{me}', 'ana, ben, cat'),
    ('avatars', '{ben}/new.png', '{me}', 'ben'),
    ('avatars', '{me}/deep/new.png', '{me}', 'nobody'),
    ('avatars', 'new.png', '{me}', 'nobody'),
    ('elsewhere', '{me}/new.png', '{me}', 'nobody'),
    ('elsewhere', '{new}', '{me}', 'nobody')
) as attempts (bucket, name, owner, who);

-- Storage checks the file of an upload; of the other requests it would check less.
select is(
  pg_temp.who_can(pg_temp.upload(bucket, name), format('set local storage.operation = %L', operation)),
  case when can then who else 'nobody' end,
  format('%s can add to %s by %L', case when can then who else 'nobody' end, bucket, operation)
)
from (
  values ('attachments', '{new}', 'ana, ben'), ('avatars', '{me}/new.png', 'ana, ben, cat')
) as files (bucket, name, who)
cross join (
  values
    ('storage.object.upload_update', true), ('storage.tus.upload.create', true), ('storage.tus.upload.part', true),
    ('storage.tus.upload.delete', true), ('storage.object.copy', false), ('storage.object.sign_upload_url', false),
    ('storage.s3.object.copy', false), ('', false)
) as operations (operation, can);

-- So many files of ana of this size.
create function pg_temp.files(folder text, files integer, size text) returns text language sql immutable as $$
  select format(
    'insert into storage.objects (bucket_id, name, owner_id, metadata) select ''attachments'', %L || number, '
    || '''{ana}'', jsonb_build_object(''size'', %L::bigint) from generate_series(1, %s) as number',
    folder, size, files
  )
$$;
select is(
  pg_temp.who_can(pg_temp.upload('attachments', '{new}'), done), who, format('%s can upload after %s', who, done)
)
from (
  values
    (pg_temp.files('{own}/', 198, '1'), 'ana, ben'), (pg_temp.files('{own}/', 199, '1'), 'ben'),
    -- Of a conversation whose id begins as this one's, and of others.
    (pg_temp.files('{own}0/', 200, '1'), 'ana, ben'), (pg_temp.files('{dans}/', 200, '1'), 'ana, ben'),
    (pg_temp.files('0/', 200, '1'), 'ana, ben'),
    -- With the 2048 bytes of the first file one byte less than 500 MiB, and 500 MiB.
    (pg_temp.files('{own}/', 1, '524285951'), 'ana, ben'), (pg_temp.files('{own}/', 1, '524285952'), 'ben'),
    (pg_temp.files('{own}/', 1, null), 'ana, ben')
) as conditions (done, who);
