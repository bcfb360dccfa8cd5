-- Reading the inbox: a page of conversations, and the unread counts.
create function private.latest_entries_of(
  person bigint, archived boolean, without bigint[], after_time timestamptz, after_id bigint, max_rows bigint
)
returns setof private.inbox_entries
language sql stable security invoker
as $$
  (
    select *
    from private.inbox_entries
    where user_id = person
      and not is_archived
      and archived is distinct from true
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select *
    from private.inbox_entries
    where user_id = person
      and is_archived
      and archived is distinct from false
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
$$;
comment on function private.latest_entries_of(bigint, boolean, bigint[], timestamptz, bigint, bigint) is
  'At least the max_rows entries of an inbox that come after this time and id, if there are as many: that many of what
is archived and of what is not, because Postgres does not merge parts of a union that have a condition each. Without
`set search_path`, so that it is inlined.';

create function private.my_inbox(
  page_limit bigint, page_offset bigint, archived boolean, pinned_first boolean, with_profile boolean, emails text
)
returns table (
  id bigint,
  voyager_id bigint, voyager_name text, voyager_email text,
  local_id bigint, local_name text, local_email text,
  created_at timestamptz, active_at timestamptz, is_pinned boolean,
  latest_id bigint, content text, user_id bigint, read boolean, latest_at timestamptz,
  partner_profile_id bigint, partner_image_url text, latest_edited_at timestamptz, latest_deleted_at timestamptz,
  latest_attachment jsonb
)
language plpgsql stable security definer rows 50
set search_path = ''
-- Otherwise the plan for an inbox of five, which reads and sorts all of it, is kept for one of 10,000.
set enable_bitmapscan = off
set enable_seqscan = off
-- Nor compares each of 10,000 with each, which ten would justify.
set enable_nestloop = off
as $$
declare
  me constant bigint := private.my_id();
  my_name text;
  my_email text;
  pinned bigint[] := array[]::bigint[];
  shown bigint[];
  skipped bigint;
  -- The page begins after this entry.
  after_time timestamptz := 'infinity'::timestamptz;
  after_id bigint := 9223372036854775807;
  -- The rule of participants_of.
  cut_off constant bigint[] := coalesce(private.blocked_users_of(me), '{}');
begin
  if pinned_first then
    pinned := array(
      select entries.conversation_id
      from private.inbox_entries as entries
      where entries.user_id = me
        and entries.is_pinned
        and (archived is null or entries.is_archived = archived)
      order by entries.active_at desc, entries.conversation_id desc
    );
  end if;
  shown := pinned[least(page_offset, 20)::integer + 1:];
  if page_limit < cardinality(shown) then
    shown := shown[:page_limit::integer];
  end if;
  skipped := page_offset - cardinality(pinned);
  if skipped > 0 then
    -- From the index alone, so that a late page costs little more than the first.
    select entries.active_at, entries.conversation_id
    into after_time, after_id
    from private.latest_entries_of(me, archived, pinned, after_time, after_id, skipped) as entries
    order by entries.active_at desc, entries.conversation_id desc
    limit 1
    offset skipped - 1;
  end if;
  select name, email into my_name, my_email from public.users where users.id = me;
  return query
    with entries as materialized (
      select known.*, true as is_shown_first
      from private.inbox_entries as known
      where known.user_id = me and known.conversation_id = any (shown)
      union all
      (
        select latest.*, false
        from private.latest_entries_of(me, archived, pinned, after_time, after_id, page_limit) as latest
        order by latest.active_at desc, latest.conversation_id desc
        limit page_limit - cardinality(shown)
      )
    ),
    -- Each table is read once and in the order of its index: a row at a time was ten pages for each conversation.
    page as materialized (
      select
        entries.conversation_id, conversations.voyager_id, conversations.local_id, conversations.created_at,
        entries.active_at, entries.is_shown_first, entries.last_message_id,
        conversations.voyager_id + conversations.local_id - me as partner_id
      from entries
      join public.conversations
        on conversations.id = entries.conversation_id
        and conversations.id = any (array(select entries.conversation_id from entries))
    )
    select
      page.conversation_id,
      page.voyager_id,
      case me when page.voyager_id then my_name else partner.name end,
      case me when page.voyager_id then my_email else shown.email end,
      page.local_id,
      case me when page.local_id then my_name else partner.name end,
      case me when page.local_id then my_email else shown.email end,
      page.created_at, page.active_at, page.is_shown_first,
      messages.id, messages.content, messages.user_id, messages.read, messages.created_at,
      profile.id, profile.image_url, messages.edited_at, messages.deleted_at, messages.attachment
    from page
    join public.users as partner
      on partner.id = page.partner_id
      and partner.id = any (array(select page.partner_id from page))
    cross join lateral (
      select
        case
          when partner.id = any (cut_off) then ''
          when emails = 'always' then partner.email
          else private.shown_email(partner.id, partner.email, page.conversation_id)
        end as email,
        partner.is_active and partner.id <> all (cut_off) as profile
    ) as shown
    left join public.profiles as profile
      on profile.user_id = partner.id
      and profile.is_searchable
      and shown.profile
      and profile.user_id = any (array(select page.partner_id from page where with_profile))
    left join public.messages
      on messages.id = page.last_message_id
      and messages.id = any (array(select page.last_message_id from page));
end
$$;
comment on function private.my_inbox(bigint, bigint, boolean, boolean, boolean, text) is
  'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others; with_profile reads the partners'' public profiles too.
Definer, because callers cannot read inbox_entries and other users, and the policy on messages would gather all
conversations of the caller.';
grant execute on function private.my_inbox(bigint, bigint, boolean, boolean, boolean, text) to authenticated;
