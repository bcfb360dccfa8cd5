-- Reading the inbox: a page of conversations.
create function private.latest_entries_of(
  person bigint, archived boolean, without bigint[], after_time timestamptz, after_id bigint, max_rows bigint
)
returns setof private.inbox_entries
language sql stable security invoker
as $$
  (
    select *
    from private.inbox_entries
    where user_id = person and not is_archived and archived is distinct from true
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select *
    from private.inbox_entries
    where user_id = person and is_archived and archived is distinct from false
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
$$;
comment on function private.latest_entries_of(bigint, boolean, bigint[], timestamptz, bigint, bigint) is
  'At least the max_rows entries of an inbox after this time and id, if there are as many: so many archived ones and so
many others, because Postgres does not merge parts of a union that have a condition each. Inlined, as to_state.';

create function api.list_conversations(
  page_limit integer, page_offset bigint, emails text, archived boolean default null,
  pinned_first boolean default false, with_partner boolean default false, with_states boolean default false
)
returns json
language plpgsql stable security definer
set search_path = ''
-- Otherwise the plan for an inbox of five, which reads and sorts all of it, is kept for one of 10,000.
set enable_bitmapscan = off
set enable_seqscan = off
-- Nor compares each of 10,000 with each, which ten would justify.
set enable_nestloop = off
as $$
declare
  me constant bigint := private.my_id();
  cut_off constant bigint[] := coalesce(private.blocked_users_of(me), '{}');
  -- One more than the page, as in list_messages.
  max_rows constant bigint := page_limit + 1;
  myself text;
  pinned bigint[] := array[]::bigint[];
  shown bigint[];
  skipped bigint;
  -- The page begins after this entry.
  after_time timestamptz := 'infinity'::timestamptz;
  after_id bigint := 9223372036854775807;
  listed json[];
begin
  if pinned_first then
    pinned := array(
      select conversation_id
      from private.inbox_entries
      where user_id = me and is_pinned and (archived is null or is_archived = archived)
      order by active_at desc, conversation_id desc
    );
  end if;
  shown := pinned[least(page_offset, 20)::integer + 1:least(page_offset + max_rows, 20)::integer];
  skipped := page_offset - cardinality(pinned);
  if skipped > 0 then
    -- From the index alone, so that a late page costs little more than the first.
    select active_at, conversation_id
    into after_time, after_id
    from private.latest_entries_of(me, archived, pinned, after_time, after_id, skipped)
    order by active_at desc, conversation_id desc
    limit 1
    offset skipped - 1;
  end if;
  select private.to_contact(users, 0, 'always', '{}') into myself from public.users where id = me;
  with entries as materialized (
    select *, true as is_shown_first
    from private.inbox_entries
    where user_id = me and conversation_id = any (shown)
    union all
    (
      select *, false
      from private.latest_entries_of(me, archived, pinned, after_time, after_id, max_rows)
      order by active_at desc, conversation_id desc
      limit max_rows - cardinality(shown)
    )
  ),
  -- Each table is read once and in the order of its index: a row at a time was ten pages for each conversation.
  page as materialized (
    select
      conversations.*, active_at, is_shown_first, last_message_id, voyager_id + local_id - me as partner_id
    from entries
    join public.conversations
      on conversations.id = conversation_id and conversations.id = any (array(select conversation_id from entries))
  )
  select array_agg(
    format(
      '{"id" : %s, "voyager_id" : %s, "local_id" : %s, "Voyager" : %s, "Local" : %s, "Messages" : [%s], '
      '"createdAt" : "%s"%s}',
      page.id, page.voyager_id, page.local_id,
      case me when page.voyager_id then myself else printed end,
      case me when page.local_id then myself else printed end,
      case
        when messages.id is not null then format(
          '{"id" : %s, "content" : %s, "user_id" : %s, "read" : %s, "createdAt" : "%s"%s}',
          messages.id, to_json(content), messages.user_id, to_json(read), private.iso(messages.created_at),
          case
            when with_states then format(
              ', "attachment" : %s, "editedAt" : %s, "deletedAt" : %s', coalesce(attachment::text, 'null'),
              coalesce(to_json(private.iso(edited_at))::text, 'null'),
              coalesce(to_json(private.iso(deleted_at))::text, 'null')
            )
          end
        )
      end,
      private.iso(page.created_at),
      case
        when with_partner then format(
          ', "partner" : {"id" : %s, "name" : %s, "profile" : %s}',
          partner.id, to_json(partner.name),
          case
            when profiles.id is null then 'null'
            else format(
              '{"id" : %s, "image_url" : %s}', profiles.id, coalesce(to_json(profiles.image_url)::text, 'null')
            )
          end
        )
      end
    )::json
    order by page.is_shown_first desc, page.active_at desc, page.id desc
  )
  into listed
  from page
  join public.users as partner
    on partner.id = page.partner_id and partner.id = any (array(select partner_id from page))
  cross join lateral (select private.to_contact(partner, page.id, emails, cut_off)) as other (printed)
  left join public.profiles
    on profiles.user_id = partner.id and profiles.is_searchable
    and partner.is_active and partner.id <> all (cut_off)
    and profiles.user_id = any (array(select partner_id from page where with_partner))
  left join public.messages
    on messages.id = page.last_message_id
    and messages.id = any (array(select last_message_id from page));
  return private.to_page(listed, page_limit, next => page_offset + page_limit);
end
$$;
comment on function api.list_conversations(integer, bigint, text, boolean, boolean, boolean, boolean) is
  'A page of the caller''s conversations with their latest message, latest activity first; all of them if the limit is
null. archived null takes archived ones and others; with_partner adds the other participant, with their public profile
unless there is a block; with_states says what is attached to a message, and when it was corrected or taken back; emails
is always or after_reply. Definer, because callers cannot read inbox_entries and other users.';
