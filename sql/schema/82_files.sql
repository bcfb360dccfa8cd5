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

create function private.may_attach(path text)
returns boolean
language plpgsql stable security definer set search_path = ''
as $$
declare
  folder constant text := (storage.foldername(path))[1];
begin
  if not exists (select from private.my_open_conversations() as id where id::text = folder) then
    return false;
  end if;
  return (
    select count(*) < 200 and coalesce(sum((metadata ->> 'size')::bigint), 0) < 500 * 1048576
    from storage.objects
    where bucket_id = 'attachments'
      -- All that begins with the folder, in words that the index of names understands: after the slash comes the zero.
      and name collate "C" >= folder || '/'
      and name collate "C" < folder || '0'
      and owner_id = (select auth.uid())::text
  );
end
$$;
comment on function private.may_attach(text) is
  'Whether the caller may put one more file into the conversation that the path begins with: one of theirs in which both can write, and where they
have put fewer than 200 files and 500 MiB. Definer, because a policy cannot ask its own table. Of the row''s column, which only inserting asks.
Uploads that are under way are not counted: Storage lists a file once it has all of it.';
grant execute on function private.may_attach(text) to authenticated;

-- A name that nobody else draws, so that no file is put in the place of another. Nobody changes or removes one: it is part of a message.
create policy "participants add files to their conversations" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'attachments'
    and name ~ '^[1-9][0-9]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^/]+$'
    and owner_id = (select auth.uid())::text
    and private.may_attach(name)
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

create function api.list_avatars()
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(name), '[]')
  from (
    select name
    from storage.objects
    where bucket_id = 'avatars'
      -- As the policy says, in words that the index of names understands: after the slash comes the zero.
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
  ) as mine
$$;
comment on function api.list_avatars() is
  'The caller''s avatars, as many as Storage removes at a time: whoever erases themselves takes them along, which Storage lets nobody do in
SQL.';
grant execute on function api.list_avatars() to edge_functions;

create function private.is_stored(attachment jsonb)
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select attachment ->> 'url' !~* '^https://' and to_regclass('storage.migrations') is not null
$$;
comment on function private.is_stored(jsonb) is
  'Whether an attachment has to be a file in Storage: an address on the web is what it is, and where Storage never ran, as on one machine,
nothing can have been put there.';

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.is_stored(new.attachment) then
    return null;
  end if;
  if not exists (
    select
    from storage.objects
    join public.users on users.auth_id::text = objects.owner_id
    where objects.bucket_id = 'attachments'
      and objects.name = regexp_replace(new.attachment ->> 'url', '^attachments/', '')
      and (storage.foldername(objects.name))[1] = new.conversation_id::text
      and users.id = new.user_id
      -- The upload may have named a charset as well.
      and split_part(objects.metadata ->> 'mimetype', ';', 1) = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you put into this conversation, or not of this type and size';
  end if;
  return null;
end
$$;
comment on function private.check_attachment() is
  'A message carries only a file that its sender uploaded to this conversation, as the type and size that Storage knows it by. Definer,
because the verb that sends may not read Storage as somebody else.';

-- After, not before: what is not inserted, because its key was used, is answered from what there is.
create trigger check_attachment
  after insert on public.messages
  for each row
  when (new.attachment is not null)
  execute function private.check_attachment();

create function private.require_true_type(attachment jsonb, is_true boolean)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if attachment is null or is_true or not private.is_stored(attachment) then
    return;
  end if;
  if is_true is null then
    raise sqlstate 'PT503' using message = 'attachment: could not be looked at, please try again';
  end if;
  raise sqlstate 'PT400' using message = 'attachment: its content is not of the type that it is said to be';
end
$$;
comment on function private.require_true_type(jsonb, boolean) is
  'Refuses a stored file whose first bytes are not what its type promises, as the door says who looked at them, or that it could not look at
(null). Files are never changed in their place, so what it saw is what is sent.';
