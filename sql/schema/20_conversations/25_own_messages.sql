-- What senders do afterwards: correct messages, and take them back, which leaves a stone for ids, pages and keys.
create function private.own_message_for_update(conversation bigint, message bigint)
returns public.messages
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  own public.messages;
begin
  -- An erasure or a report waits, or has happened by now.
  perform private.lock_me(shared => true);
  -- As a send does, so that the events of a conversation are in the order in which they happened (private.notify), and
  -- of two at once the second sees what the first has done.
  perform from public.conversations where id = conversation and me in (voyager_id, local_id) for no key update;
  select * into own from public.messages where id = message and conversation_id = conversation and user_id = me;
  if not found then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  return own;
end
$$;
comment on function private.own_message_for_update(bigint, bigint) is
  'The caller''s message; locks the caller and the conversation. Raises 404 alike without one and for others''.';

create function api.edit_message(
  conversation bigint, message bigint, new_content text, is_blank boolean, minutes integer,
  first_contact_limit integer, with_states boolean
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  own public.messages := private.own_message_for_update(conversation, message);
  partner constant public.users := private.partner_in(me, conversation);
  shown private.message_view;
begin
  if own.deleted_at is not null then
    raise sqlstate 'PT409' using message = 'This message was taken back';
  elsif is_blank and own.attachment is null then
    raise sqlstate 'PT400' using message = 'content: must not be blank unless there is an attachment';
  end if;
  if own.content <> new_content then
    -- New words need what a send needs.
    if partner.erased_at is not null or private.is_blocked_between(me, partner.id) then
      perform private.forbid_writing(partner.id);
    elsif own.created_at <= private.present() - make_interval(mins => minutes) then
      raise sqlstate 'PT403' using message = 'This message cannot be corrected any more';
    -- Otherwise corrections would reach somebody who has not answered without end.
    elsif own.edited_at is not null
      and private.first_contact_left(conversation, partner.id, first_contact_limit, is_locked => true) is not null then
      raise sqlstate 'PT403' using
        message = 'You can correct a message once until this person has answered', hint = 'first_contact_limit';
    end if;
    update public.messages set content = new_content, edited_at = private.present() where id = own.id
    returning * into own;
  end if;
  shown := private.to_message_view(
    own, json_build_object('id', me, 'name', (select name from public.users where id = me))
  );
  return case when with_states then (private.with_states(array[shown]))[1] else to_json(shown) end;
end
$$;
comment on function api.edit_message(bigint, bigint, text, boolean, integer, integer, boolean) is
  'Replaces the text of a message that the caller has sent in the last minutes; the same text again changes nothing,
whenever. is_blank is whether the text shows nothing, which the Edge Function knows by Unicode. Raises 409 for a stone,
403 as a send does, and when it is too late. Definer, because no caller has a grant to update messages.';

create function api.unsend_message(conversation bigint, message bigint, hours integer)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  own constant public.messages := private.own_message_for_update(conversation, message);
  file constant text := regexp_replace(own.attachment ->> 'url', '^attachments/', '');
begin
  if own.deleted_at is not null then
    return;
  elsif own.created_at <= private.present() - make_interval(hours => hours) then
    raise sqlstate 'PT403' using message = 'This message cannot be taken back any more';
  end if;
  update public.messages
  set content = '', attachment = null, read = true, deleted_at = private.present()
  where id = own.id;
  if private.can_remove_attachment(file) then
    perform private.set_response_metadata(jsonb_build_object('file', file));
  end if;
end
$$;
comment on function api.unsend_message(bigint, bigint, integer) is
  'Leaves a stone of a message that the caller has sent in the last hours, also across a block; the response metadata
holds the file to be removed from Storage. Raises 403 when it is too late. Definer, as edit_message.';

create function private.record_own_change()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  -- What was sent, so that another message with its key is refused (api.send_message).
  insert into private.stored_replies (user_id, noun, client_id, request_hash, body, metadata)
  select old.user_id, 'message', old.client_id, private.hash_message(old), 'null', '{}'
  where old.client_id is not null and old.edited_at is null
  on conflict do nothing;
  perform private.record_change(
    'message.changed', new.conversation_id, new.id, actor => new.user_id, event => 'message.changed'
  );
  perform private.notify(
    event => 'message.changed', conversation => new.conversation_id, subject => new.id, by_id => new.user_id
  );
  return null;
end
$$;
comment on function private.record_own_change() is
  'A sender has corrected a message or taken it back: keeps a hash of what was sent, logs it, broadcasts
message.changed, across a block to the sender alone, and tells the webhook. Definer, as handle_new_message.';

create trigger record_own_change
  after update of edited_at, deleted_at on public.messages
  for each row
  when ((old.edited_at, old.deleted_at) is distinct from (new.edited_at, new.deleted_at))
  execute function private.record_own_change();
