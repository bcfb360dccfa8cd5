-- What somebody may do before the other participant has written: send a few messages, and on the operator's wish see no
-- e-mail address. The limits are settings of the Edge Functions, which pass them on.
create function private.has_written(person bigint, conversation bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select
    from private.conversation_activity
    where conversation_id = conversation
      and (voyager_id = person and voyager_has_written or local_id = person and local_has_written)
  );
end
$$;
comment on function private.has_written(bigint, bigint) is
  'Whether a person has ever sent a message in this conversation, also if an admin has deleted it since. Only for
definer functions.';

create function private.may_write_first(conversation bigint, partner bigint, max_messages integer)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  -- Apart, because the rest is a statement.
  if max_messages is null or private.has_written(partner, conversation) then
    return true;
  end if;
  return (
    select count(*) < max_messages
    from (select from public.messages where conversation_id = conversation limit max_messages) as own
  );
end
$$;
comment on function private.may_write_first(bigint, bigint, integer) is
  'Whether a message more is allowed: the partner has written, or there are fewer than so many messages. Null: no
limit. The conversation must be locked, so that concurrent messages are counted. Only for definer functions.';

create function private.refusal_to_send(conversation bigint, partner bigint, max_messages integer)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when private.may_write_first(conversation, partner, max_messages) then 'You cannot write to this person'
    else format(
      'You can send %s until this person has answered',
      case max_messages when 1 then '1 message' else max_messages || ' messages' end
    )
  end;
end
$$;
comment on function private.refusal_to_send(bigint, bigint, integer) is
  'Why a message is refused. Whoever has reached the limit learns no more, so that it hides a block. Only for definer
functions.';

create function private.shown_email(person public.users, conversation bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when person.id = private.my_id() or private.has_written(person.id, conversation) then person.email
    else ''
  end;
end
$$;
comment on function private.shown_email(public.users, bigint) is
  'The e-mail address of a participant as the caller sees it with PARTNER_EMAIL=after_reply: the partner''s is empty
until they have written. Only for definer functions.';
