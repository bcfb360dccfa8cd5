-- What somebody may do before the other participant has answered: send a few messages and offers, and on the operator's
-- wish see no e-mail address. The limits are settings of the Edge Functions, which pass them on.
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

create function private.may_write_first(conversation bigint, partner bigint, max_things integer)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  -- Apart, because the rest is a statement.
  if max_things is null or private.has_written(partner, conversation) then
    return true;
  end if;
  return exists (
    select
    from public.reservation_history
    where conversation_id = conversation and by_id = partner and status in ('pending', 'accepted', 'declined')
  ) or (
    select count(*) < max_things
    from (
      (select from public.messages where conversation_id = conversation limit max_things)
      union all
      (
        select
        from public.reservation_history
        where conversation_id = conversation and by_id <> partner and (status = 'pending' or note is not null)
        limit max_things
      )
    ) as own
  );
end
$$;
comment on function private.may_write_first(bigint, bigint, integer) is
  'Whether one more thing may reach the partner: they have written, offered, or accepted or declined an offer, or fewer
than so many messages, offers, changed offers and notes have reached them. Null: no limit. The conversation must be
locked, so that concurrent ones are counted. Only for definer functions.';

create function private.refusal_of_first_contact(max_things integer)
returns text
language sql immutable parallel safe security invoker set search_path = ''
as $$
  select format(
    'You can send %s until this person has answered',
    case max_things when 1 then '1 message or offer' else max_things || ' messages or offers' end
  )
$$;
comment on function private.refusal_of_first_contact(integer) is
  'What somebody reads who has reached the limit. It says no more, so that it hides a block.';

create function private.refusal_to_send(conversation bigint, partner bigint, max_things integer)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when private.may_write_first(conversation, partner, max_things) then 'You cannot write to this person'
    else private.refusal_of_first_contact(max_things)
  end;
end
$$;
comment on function private.refusal_to_send(bigint, bigint, integer) is
  'Why a message is refused. Only for definer functions.';

create function private.may_reach(conversation bigint, partner bigint, max_things integer)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if max_things is null then
    return true;
  end if;
  perform from public.conversations where id = conversation for no key update;
  return private.may_write_first(conversation, partner, max_things);
end
$$;
comment on function private.may_reach(bigint, bigint, integer) is
  'As may_write_first, after it has locked the conversation. Not for messages: a send checks in its one statement.
Only for definer functions.';

create function private.require_first_contact(conversation bigint, partner bigint, max_things integer)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if not private.may_reach(conversation, partner, max_things) then
    raise sqlstate 'PT403' using
      message = private.refusal_of_first_contact(max_things),
      hint = 'first_contact_limit';
  end if;
end
$$;
comment on function private.require_first_contact(bigint, bigint, integer) is
  'Raises 403 if nothing more may reach the partner before they have answered. Only for definer functions.';

create function private.shown_email(person bigint, email text, conversation bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when person = private.my_id() or private.has_written(person, conversation) then email
    else ''
  end;
end
$$;
comment on function private.shown_email(bigint, text, bigint) is
  'The e-mail address of a participant as the caller sees it with PARTNER_EMAIL=after_reply: the partner''s is empty
until they have written. Only for definer functions.';
