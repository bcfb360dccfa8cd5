-- What somebody may do before the other participant has answered: send a few messages and offers, and on the operator's
-- wish see no e-mail address. The limits are settings of the Edge Functions, which pass them on.
create function private.has_written(person bigint, conversation bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select from private.inbox_entries
    where conversation_id = conversation and user_id = person and inbox_entries.has_written
  );
end
$$;
comment on function private.has_written(bigint, bigint) is 'Whether a person has ever written in this conversation.';

create function private.first_contact_left(
  conversation bigint, partner bigint, max_things integer, is_locked boolean default false
)
returns bigint
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if max_things is null then
    return null;
  end if;
  if not is_locked then
    -- Concurrent messages, offers and notes are counted.
    perform from public.conversations where id = conversation for no key update;
  end if;
  if private.has_written(partner, conversation) or exists (
    select from public.reservation_history
    where conversation_id = conversation and by_id = partner and status in ('pending', 'accepted', 'declined')
  ) then
    return null;
  end if;
  return (
    select greatest(max_things - count(*), 0)
    from (
      (select from public.messages where conversation_id = conversation limit max_things)
      union all
      (
        select from public.reservation_history
        where conversation_id = conversation and by_id <> partner and (status = 'pending' or note is not null)
        limit max_things
      )
    ) as own
  );
end
$$;
comment on function private.first_contact_left(bigint, bigint, integer, boolean) is
  'How many more messages, offers, changed offers and notes may reach the partner before they have written, offered, or
accepted or declined an offer; null: any number. Locks the conversation, unless the caller has.';

create function private.require_first_contact(conversation bigint, partner bigint, max_things integer)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if private.first_contact_left(conversation, partner, max_things) = 0 then
    raise sqlstate 'PT403' using
      message = format(
        'You can send %s until this person has answered',
        case max_things when 1 then '1 message or offer' else max_things || ' messages or offers' end
      ),
      hint = 'first_contact_limit';
  end if;
end
$$;
comment on function private.require_first_contact(bigint, bigint, integer) is
  'Raises 403 if nothing more may reach the partner before they have answered, also across a block, which it hides.';

create function private.to_contact(person public.users, conversation bigint, emails text, cut_off bigint[])
returns text
language sql stable security invoker
as $$
  select pg_catalog.format(
    '{"id" : %s, "name" : %s, "email" : %s}', person.id, pg_catalog.to_json(person.name),
    pg_catalog.to_json(case
      when person.id = any (cut_off) then ''
      when emails = 'always' or person.id = private.my_id() or private.has_written(person.id, conversation)
        then person.email
      else ''
    end)
  )
$$;
comment on function private.to_contact(public.users, bigint, text, bigint[]) is
  'A participant as list and export show them: the address always or after_reply, and never across a block (cut_off).
With format, because json_build_object took a fifth of a page of 50. Without a subquery and `set search_path`, so that
it is inlined: not inlined it took as long as all else.';
