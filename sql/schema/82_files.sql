-- Files: who may put what into the platform's Storage, and that a message carries a file which is there.
--   attachments/<conversation id>/<uuid>/<name>   private, for the two people of the conversation
--   avatars/<Auth account>/<name>                 public to read, its owner's to write
-- Statements about storage.objects have no comments: the table is the platform's, which allows policies alone.
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values
  (
    'attachments', 'attachments', false, 10485760,
    array[
      'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'application/pdf', 'text/plain', 'audio/mpeg', 'audio/mp4', 'video/mp4'
    ]
  ),
  ('avatars', 'avatars', true, 2097152, array['image/jpeg', 'image/png', 'image/webp'])
on conflict (id) do update set
  public = excluded.public,
  file_size_limit = excluded.file_size_limit,
  allowed_mime_types = excluded.allowed_mime_types;

create function private.attachment_folders()
returns setof text
language sql stable security invoker set search_path = ''
as $$
  select id::text from private.my_conversations() as id
$$;
comment on function private.attachment_folders() is 'The folders of the bucket attachments that the caller may look into.';
grant execute on function private.attachment_folders() to authenticated;

create policy "participants read the files of their conversations" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select private.attachment_folders())
  );

-- A name that nobody else draws, so that no file is put in the place of another. Nobody changes or removes one: it is part of a message.
create policy "participants add files to their conversations" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select private.attachment_folders())
    and name ~ '^[1-9][0-9]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^/]+$'
    and owner_id = (select auth.uid())::text
  );

create policy "people list their own avatars" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  );

create policy "people add avatars of their own" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
  );

create policy "people remove their own avatars" on storage.objects
  for delete to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  );

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  -- An address on the web is what it is. And where Storage never ran, as on one machine, nothing can have been put there.
  if new.attachment ->> 'url' ~ '^https://' or to_regclass('storage.migrations') is null then
    return new;
  end if;
  if not exists (
    select
    from storage.objects
    join public.users on users.auth_id::text = objects.owner_id
    where objects.bucket_id = 'attachments'
      and objects.name = regexp_replace(new.attachment ->> 'url', '^attachments/', '')
      and (storage.foldername(objects.name))[1] = new.conversation_id::text
      and users.id = new.user_id
      and objects.metadata ->> 'mimetype' = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you put into this conversation, or not of this type and size';
  end if;
  return new;
end
$$;
comment on function private.check_attachment() is
  'A message carries only a file that its sender uploaded to this conversation, as the type and size that Storage knows it by. Definer,
because the verb that sends may not read Storage as somebody else.';

create trigger check_attachment
  before insert on public.messages
  for each row
  when (new.attachment is not null)
  execute function private.check_attachment();
