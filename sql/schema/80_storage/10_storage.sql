-- Storage: buckets, who can read and write which file, and the check that an attachment is an uploaded file.
--   attachments/<conversation id>/<uuid>/<name>   private, for the two participants
--   avatars/<Auth account id>/<name>              public to read, writable by their owner
-- Statements on storage.objects have no comments: the table belongs to the platform, which allows only policies on it.
-- Storage compares the whole type with these. supabase-js declares a charset where the body is a string.
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values
  ('attachments', 'attachments', false, 10485760, array[
    'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic', 'image/heif', 'application/pdf', 'audio/mpeg',
    'audio/mp4', 'audio/webm', 'video/mp4', 'video/quicktime', 'text/plain', 'text/plain;charset=UTF-8',
    'text/plain;charset=utf-8', 'text/plain; charset=UTF-8', 'text/plain; charset=utf-8'
  ]),
  ('avatars', 'avatars', true, 2097152, array['image/jpeg', 'image/png', 'image/webp'])
on conflict (id) do update set (public, file_size_limit, allowed_mime_types) =
  (excluded.public, excluded.file_size_limit, excluded.allowed_mime_types);

create function private.is_in_message(path text)
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select exists (
    select
    from private.my_conversations() as mine
    join public.messages on conversation_id = mine
    where mine::text = (storage.foldername(path))[1] and attachment ->> 'url' in (path, 'attachments/' || path)
  )
$$;
comment on function private.is_in_message(text) is
  'Whether a message of the caller''s conversations has this file. An index would cost each send with a file.';

create function private.can_read_attachment(path text)
returns boolean
language plpgsql stable security definer set search_path = ''
as $$
begin
  return not exists (select from private.report_evidence where attachment ->> 'url' in (path, 'attachments/' || path))
    or private.is_in_message(path);
end
$$;
comment on function private.can_read_attachment(text) is
  'Whether participants see a file of their conversation. What was taken back stays as evidence of a report for admins
alone: by a file that is still there its sender would learn of the report. Definer, because nobody can read evidence.';

create policy "participants read the files of their conversations" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select id::text from private.my_conversations() as id)
    and private.can_read_attachment(name)
  );

create function private.is_upload()
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select storage.operation() = any (array[
    'storage.object.upload', 'storage.object.upload_update',
    'storage.tus.upload.create', 'storage.tus.upload.part', 'storage.tus.upload.delete'
  ])
$$;
comment on function private.is_upload() is
  'Whether Storage checks a file that the caller is sending. It also asks the policies before it copies a file, of which
it checks neither size nor type, or signs a URL for an upload, when blocks and quotas would not apply to its file.';

create function private.can_upload_attachment(path text)
returns boolean
language plpgsql stable security definer set search_path = ''
as $$
declare
  folder constant text := (storage.foldername(path))[1];
begin
  return exists (select from private.my_writable_conversations() as id where id::text = folder) and (
    select count(*) < 200 and coalesce(sum((metadata ->> 'size')::bigint), 0) < 500 * 1048576
    from storage.objects
    where bucket_id = 'attachments'
      -- Everything below the folder, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= folder || '/'
      and name collate "C" < folder || '0'
      and owner_id = (select auth.uid())::text
  );
end
$$;
comment on function private.can_upload_attachment(text) is
  'Whether the caller may write to the conversation that the path begins with, and has fewer than 200 files and 500 MiB
there, without uploads in progress. Definer, because a policy cannot query its own table.';

-- The path holds a UUID, so that no upload replaces a file. There is no update policy: files are part of messages.
create policy "participants upload files to their conversations" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'attachments'
    and name ~ '^[1-9][0-9]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^/]+$'
    and owner_id = (select auth.uid())::text
    and (select private.is_upload())
    and private.can_upload_attachment(name)
  );

create function private.can_remove_attachment(path text)
returns boolean
language plpgsql stable strict security definer set search_path = ''
as $$
begin
  return exists (select from private.my_conversations() as mine where mine::text = (storage.foldername(path))[1])
    and not private.is_in_message(path)
    -- So it is in no evidence either.
    and private.can_read_attachment(path);
end
$$;
comment on function private.can_remove_attachment(text) is
  'Whether a file of the caller''s conversations is in no message and no evidence. Definer, as can_read_attachment.';

create policy "senders remove files that no message has" on storage.objects
  for delete to authenticated
  using (
    bucket_id = 'attachments' and owner_id = (select auth.uid())::text and private.can_remove_attachment(name)
  );

create policy "users list their own avatars" on storage.objects
  for select to authenticated
  using (bucket_id = 'avatars' and (storage.foldername(name))[1] = (select auth.uid())::text);

create policy "users add their own avatars" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
    and (select private.is_upload())
  );

-- An upload with `upsert` is an insert that updates where there is a file of that name.
create policy "users replace their own avatars" on storage.objects
  for update to authenticated
  using (bucket_id = 'avatars' and (storage.foldername(name))[1] = (select auth.uid())::text)
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
  );

create policy "users remove their own avatars" on storage.objects
  for delete to authenticated
  using (bucket_id = 'avatars' and (storage.foldername(name))[1] = (select auth.uid())::text);

create function api.list_avatars()
returns json
language sql stable security invoker set search_path = ''
as $$
  select to_json(array(
    select name
    from storage.objects
    where bucket_id = 'avatars'
      -- The condition of the policy, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
  ))
$$;
comment on function api.list_avatars() is
  'The caller''s avatars, up to the number that Storage removes in one request; an erasure removes them.';

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (
    select from storage.objects
    join public.users on users.auth_id::text = objects.owner_id
    where objects.bucket_id = 'attachments'
      and objects.name = regexp_replace(new.attachment ->> 'url', '^attachments/', '')
      and (storage.foldername(objects.name))[1] = new.conversation_id::text
      and users.id = new.user_id
      -- The upload may have declared a charset as well.
      and split_part(objects.metadata ->> 'mimetype', ';', 1) = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you uploaded to this conversation, or not of this type and size';
  end if;
  return null;
end
$$;
comment on function private.check_attachment() is
  'Requires that an attachment is a file that the sender uploaded to this conversation, with the type and size that
Storage has recorded. Definer, because the sender may not read all of storage.objects.';

-- After, not before: a repeat inserts nothing, and its answer must not depend on the file.
create trigger check_attachment
  after insert on public.messages
  for each row when (new.attachment ->> 'url' !~* '^https://') execute function private.check_attachment();
