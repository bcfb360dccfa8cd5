-- A file in Storage has to be of the type that it is said to be: the door reads its first bytes, and send_message believes nobody else. Doors
-- of before this migration do not look, so from here until the functions are deployed a message with such a file is answered 503.
-- Whoever erased themselves is written to no more, nor typed to.

create function private.is_stored(attachment jsonb)
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select attachment ->> 'url' !~* '^https://' and to_regclass('storage.migrations') is not null
$$;
comment on function private.is_stored(jsonb) is
  'Whether an attachment has to be a file in Storage: an address on the web is what it is, and where Storage never ran, as on one machine,
nothing can have been put there.';

create or replace function private.check_attachment()
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

-- After, not before: what is not inserted, because its key was used, is answered from what there is.
drop trigger check_attachment on public.messages;
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

create or replace function private.my_open_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where (voyager_id = (select private.my_id()) or local_id = (select private.my_id()))
    and voyager_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and local_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and not exists (select from public.users where users.id in (voyager_id, local_id) and erased_at is not null)
$$;
comment on function private.my_open_conversations() is
  'Those of my_conversations in which neither has blocked the other and both are still there, for policies on speaking. Definer, as
my_conversations.';

create or replace function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  key uuid := (draft ->> 'client_id')::uuid;
  sent public.messages;
begin
  -- The lock gives ids in commit order within the conversation, and lets one of two sends with the same key in at a time.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- Shared, so that who is erased meanwhile leaves no name behind: the one waits for the other.
  select name into my_name from public.users where id = me and is_active for share;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', nullif(draft -> 'attachment', 'null'), key
  where not private.are_apart(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = key;
    if sent.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', nullif(draft -> 'attachment', 'null')) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.tell_door('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.receipts where message_id = sent.id;
  else
    perform private.require_true_type(sent.attachment, (draft ->> 'type_is_true')::boolean);
    if key is not null then
      insert into private.receipts (message_id, sender_name) values (sent.id, my_name);
    end if;
  end if;

  return private.message_body(sent, my_name);
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, type_is_true} as the caller; a client_id seen before answers the first answer again and tells
the door so. 403 says that one of the two blocked the other or that the other erased themselves, and not which. Definer, because nobody holds
a grant to insert messages: they are written here alone.';
