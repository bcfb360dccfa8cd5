set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

ALTER DOMAIN "private"."outbox_event"
  DROP CONSTRAINT "outbox_event_check";

ALTER TABLE "public"."messages"
  DROP CONSTRAINT "a message says something or carries an attachment";

DROP FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean);

DROP FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text);

ALTER TABLE "public"."messages"
  ADD COLUMN "edited_at" timestamp WITH time zone;

ALTER TABLE "public"."messages"
  ADD COLUMN "deleted_at" timestamp WITH time zone;

ALTER TYPE "private"."change_kind" ADD VALUE 'message.changed' AFTER 'message.removed';


SET local check_function_bodies = off;

CREATE TYPE "private"."message_with_states" AS (
  "id"              bigint,
  "user_id"         bigint,
  "conversation_id" bigint,
  "content"         text,
  "attachment"      jsonb,
  "read"            boolean,
  "createdAt"       text,
  "Sender"          json,
  "editedAt"        text,
  "deletedAt"       text
);

CREATE OR REPLACE FUNCTION api.edit_message (
  conversation bigint,
  message      bigint,
  new_content  text,
  is_blank     boolean,
  minutes      integer,
  with_states  boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  own public.messages := private.own_message_for_update(conversation, message);
  partner constant public.users := private.partner_in(me, conversation);
begin
  if own.deleted_at is not null then
    raise sqlstate 'PT409' using message = 'This message was taken back';
  elsif is_blank and own.attachment is null then
    raise sqlstate 'PT400' using message = 'content: must not be blank unless there is an attachment';
  end if;
  if own.content <> new_content then
    -- New words need what a send needs.
    if partner.erased_at is not null or private.is_blocked_between(me, partner.id) then
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person', hint = private.refusal_code(me, partner.id);
    elsif own.created_at <= private.present() - make_interval(mins => minutes) then
      raise sqlstate 'PT403' using message = 'This message cannot be corrected any more';
    end if;
    update public.messages
    set content = new_content, edited_at = private.present()
    where id = own.id
    returning * into own;
  end if;
  return private.print_message(
    private.to_message_view(own, json_build_object('id', me, 'name', (select name from public.users where id = me))),
    with_states
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.export_me (
  place  jsonb,
  emails text
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  AS $function$
declare
  -- The most messages in a piece: 2 MB of the longest possible ones. For a client that stops reading, the server holds
  -- two or three pieces in memory: with 500 messages in each, ten stalled exports of one user took 400 MB.
  remaining integer := 100;
  at_conversation constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  at_report bigint := (place ->> 'report')::bigint;
  after_id bigint := (place ->> 'message')::bigint;
  separator text := case when place is null then '' else ',' end;
  pieces text[] := array[]::text[];
  entry record;
  page record;
begin
  if place is null then
    pieces := array[left(private.export_account()::text, -1) || ',"conversations":['];
  end if;

  for entry in
    select
      participants.id,
      participants.voyager_id,
      json_build_object('id', participants.voyager_id, 'name', participants.voyager_name) as voyager,
      json_build_object('id', participants.local_id, 'name', participants.local_name) as local,
      json_build_object(
        'id', participants.id, 'voyager_id', participants.voyager_id, 'local_id', participants.local_id,
        'Voyager', json_build_object(
          'id', participants.voyager_id, 'name', participants.voyager_name, 'email', participants.voyager_email
        ),
        'Local', json_build_object(
          'id', participants.local_id, 'name', participants.local_name, 'email', participants.local_email
        ),
        'Reservations', (
          select coalesce(json_agg(body), '[]') from private.reservations_with_history(participants.id, null)
        ),
        'createdAt', private.iso(participants.created_at),
        'state', (
          select json_build_object('archived', state.archived, 'muted_until', state.muted_until, 'pinned', state.pinned)
          from private.inbox_entries as mine
          cross join lateral private.to_state(mine) as state
          where mine.conversation_id = participants.id and mine.user_id = private.my_id()
        )
      )::text as body
    -- Each conversation counts as one message, so no more than these fit into a piece.
    from private.participants_of(
      array(
        select id
        from private.my_conversations() as id
        where id >= at_conversation and at_report is null
        order by id
        limit remaining + 1
      ),
      emails => emails
    ) as participants
    order by participants.id
  loop
    if entry.id > at_conversation or after_id is null then
      if remaining <= 0 then
        perform private.set_response_metadata(
          jsonb_build_object('place', jsonb_build_object('conversation', entry.id))
        );
        return array_to_string(pieces, '');
      end if;
      pieces := pieces || (separator || left(entry.body, -1) || ',"messages":[');
      after_id := 0;
      remaining := remaining - 1;
    end if;
    separator := ',';
    select
      string_agg(
        private.print_message(
          private.to_message_view(message, case user_id when entry.voyager_id then entry.voyager else entry.local end),
          with_states => coalesce(edited_at, deleted_at) is not null
        )::text,
        ','
        order by message.id
      ) as bodies,
      count(*) as length,
      max(message.id) as last_id
    into page
    from (
      select *
      from public.messages
      where conversation_id = entry.id and id > after_id
      order by id
      limit remaining + 1
    ) as message;
    pieces := pieces || (case when after_id > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
    if page.length > remaining then
      perform private.set_response_metadata(
        jsonb_build_object('place', jsonb_build_object('conversation', entry.id, 'message', page.last_id))
      );
      return array_to_string(pieces, '');
    end if;
    pieces := pieces || ']}'::text;
    remaining := remaining - page.length;
  end loop;

  if at_report is null then
    pieces := pieces || '],"reports":['::text;
    at_report := 0;
  end if;
  select string_agg(body, ',' order by id) as bodies, count(*) as length, max(id) as last_id
  into page
  from (
    select
      reports.id,
      json_build_object(
        'id', reports.id, 'user_id', user_id, 'message_id', message_id, 'reason', reason, 'note', note,
        'share_messages', shares_messages, 'status', case when resolved_at is null then 'open' else 'resolved' end,
        'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
      )::text as body
    from public.reports
    where reporter_id = private.my_id() and reports.id > at_report
    order by reports.id
    limit remaining + 1
  ) as reports;
  pieces := pieces || (case when at_report > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
  if page.length > remaining then
    perform private.set_response_metadata(jsonb_build_object('place', jsonb_build_object('report', page.last_id)));
    return array_to_string(pieces, '');
  end if;
  return array_to_string(pieces || ']}'::text, '');
end
$function$;

CREATE OR REPLACE FUNCTION api.list_conversations (
  page_limit   integer,
  page_offset  bigint,
  emails       text,
  archived     boolean DEFAULT NULL::boolean,
  pinned_first boolean DEFAULT false,
  with_partner boolean DEFAULT false,
  with_states  boolean DEFAULT false
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  listed json[];
begin
  -- One more than the page, as in list_messages. format, because json_build_object took a fifth of a page of 50.
  select array_agg(
    format(
      '{"id" : %1$s, "voyager_id" : %2$s, "local_id" : %3$s, '
      '"Voyager" : {"id" : %2$s, "name" : %4$s, "email" : %5$s}, '
      '"Local" : {"id" : %3$s, "name" : %6$s, "email" : %7$s}, '
      '"Messages" : [%8$s], "createdAt" : "%9$s"%10$s}',
      page.id, page.voyager_id, page.local_id,
      to_json(page.voyager_name), to_json(page.voyager_email), to_json(page.local_name), to_json(page.local_email),
      case
        when page.latest_id is not null then format(
          '{"id" : %s, "content" : %s, "user_id" : %s, "read" : %s, "createdAt" : "%s"%s}',
          page.latest_id, to_json(page.content), page.user_id, to_json(page.read), private.iso(page.latest_at),
          case
            when with_states then format(
              ', "editedAt" : %s, "deletedAt" : %s',
              coalesce(to_json(private.iso(page.latest_edited_at))::text, 'null'),
              coalesce(to_json(private.iso(page.latest_deleted_at))::text, 'null')
            )
          end
        )
      end,
      private.iso(page.created_at),
      case
        when with_partner then format(
          ', "partner" : {"id" : %s, "name" : %s, "profile" : %s}',
          page.voyager_id + page.local_id - me,
          to_json(case me when page.voyager_id then page.local_name else page.voyager_name end),
          case
            when page.partner_profile_id is null then 'null'
            else format(
              '{"id" : %s, "image_url" : %s}',
              page.partner_profile_id, coalesce(to_json(page.partner_image_url)::text, 'null')
            )
          end
        )
      end
    )::json
    order by page.is_pinned desc, page.active_at desc, page.id desc
  )
  into listed
  from private.my_inbox(
    page_limit => page_limit + 1, page_offset => page_offset, archived => archived, pinned_first => pinned_first,
    with_profile => with_partner, emails => emails
  ) as page;

  return private.to_page(listed, page_limit, next => page_offset + page_limit);
end
$function$;

CREATE OR REPLACE FUNCTION api.list_messages (
  conversation bigint,
  page         jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  AS $function$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := page ->> 'after_id' is not null or page ->> 'order' = 'asc';
  participants record;
  voyager json;
  local json;
  listed private.message_view[];
begin
  -- Empty for non-participants, so the second query runs only before a refusal.
  select * into participants from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  voyager := json_build_object('id', participants.voyager_id, 'name', participants.voyager_name);
  local := json_build_object('id', participants.local_id, 'name', participants.local_name);

  -- Read one row more than the page to know whether another page follows.
  if oldest_first then
    select array_agg(
      private.to_message_view(entry, case user_id when participants.voyager_id then voyager else local end)
      order by entry.id
    )
    into listed
    from (
      select *
      from public.messages
      where conversation_id = conversation and id > after_id
      order by id
      limit page_limit + 1
      offset page_offset
    ) as entry;
  else
    select array_agg(
      private.to_message_view(entry, case user_id when participants.voyager_id then voyager else local end)
      order by entry.id desc
    )
    into listed
    from (
      select *
      from public.messages
      where conversation_id = conversation and id < before_id
      order by id desc
      limit page_limit + 1
      offset page_offset
    ) as entry;
  end if;

  if (page ->> 'states')::boolean then
    return private.to_page(private.with_states(listed), page_limit, next => listed[page_limit].id);
  end if;
  return private.to_page(listed, page_limit, next => listed[page_limit].id);
end
$function$;

CREATE OR REPLACE FUNCTION api.send_message (
  conversation bigint,
  draft        jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  draft_client_id uuid := (draft ->> 'client_id')::uuid;
  draft_attachment jsonb := nullif(draft -> 'attachment', 'null');
  first_contact_limit integer := (draft ->> 'first_contact_limit')::integer;
  sent public.messages;
begin
  -- The lock makes ids follow commit order within the conversation and serializes sends with the same client_id.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  select name into my_name from public.users where id = me and is_active;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', draft_attachment, draft_client_id
  where not private.is_blocked_between(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
    and private.first_contact_left(conversation, partner, first_contact_limit, is_locked => true) is distinct from 0
  on conflict (user_id, client_id) do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = draft_client_id;
    if sent.id is null then
      perform private.require_first_contact(conversation, partner, first_contact_limit);
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person',
        hint = private.refusal_code(me, partner);
    end if;
    -- Of a message that its sender has changed since, what was sent at first is not kept to be compared with.
    if sent.conversation_id <> conversation
      or coalesce(sent.edited_at, sent.deleted_at) is null
        and (sent.content, sent.attachment) is distinct from (draft ->> 'content', draft_attachment) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := sent.deleted_at is not null;
  end if;

  return to_json(private.to_message_view(sent, json_build_object('id', me, 'name', my_name)));
end
$function$;

CREATE OR REPLACE FUNCTION api.unsend_message (
  conversation bigint,
  message      bigint,
  hours        integer
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.can_remove_attachment (
  path text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  STRICT
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  urls constant text[] := array[path, 'attachments/' || path];
begin
  return exists (
    select
    from private.my_conversations() as mine
    where mine::text = (storage.foldername(path))[1]
      and not exists (
        select from public.messages where conversation_id = mine and attachment ->> 'url' = any (urls)
      )
  )
  and not exists (select from private.report_evidence where attachment ->> 'url' = any (urls));
end
$function$;

CREATE OR REPLACE FUNCTION private.handle_changed_messages()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  -- The entries before the counts, because that locks both of a conversation in the order in which a send does.
  if tg_op = 'DELETE' then
    perform private.refresh_entries(conversation_id)
    from (select distinct conversation_id from old_rows) as shortened
    order by conversation_id;
    perform private.add_unread(conversation => conversation_id, sender => user_id, amount => -count(*))
    from old_rows
    where not read
    group by conversation_id, user_id
    order by conversation_id, user_id;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  perform private.refresh_entries(conversation_id)
  from (
    select old_rows.conversation_id
    from old_rows
    left join new_rows using (id, conversation_id, user_id, created_at)
    where new_rows.id is null
    union
    select new_rows.conversation_id
    from new_rows
    left join old_rows using (id, conversation_id, user_id, created_at)
    where old_rows.id is null
  ) as moved
  order by conversation_id;
  -- Always in the order of ids, so that two such statements do not wait for each other.
  perform private.add_unread(conversation => conversation_id, sender => user_id, amount => sum(amount)::bigint)
  from (
    select conversation_id, user_id, -1 as amount from old_rows where not read
    union all
    select conversation_id, user_id, 1 from new_rows where not read
  ) as changes
  group by conversation_id, user_id
  having sum(amount) <> 0
  order by conversation_id, user_id;

  perform private.record_change(
    'read', marked.conversation_id, marked.id,
    actor => case marked.user_id when voyager_id then local_id else voyager_id end,
    event => 'message.read',
    previous_id => (
      select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id
    )
  )
  from (
    select new_rows.conversation_id, new_rows.user_id, max(new_rows.id) as id
    from new_rows
    join old_rows using (id, conversation_id)
    where new_rows.read and not old_rows.read and new_rows.deleted_at is null
    group by new_rows.conversation_id, new_rows.user_id
  ) as marked
  join public.conversations on conversations.id = marked.conversation_id;

  perform private.record_change(
    case when new_rows.id is null then 'message.removed' else 'message' end::private.change_kind, conversation_id, id
  )
  from new_rows
  full join old_rows using (id, conversation_id)
  where new_rows.id is null
    or old_rows.id is null
    or old_rows.read and not new_rows.read
    or (old_rows.user_id, old_rows.content, old_rows.attachment, old_rows.created_at)
      is distinct from (new_rows.user_id, new_rows.content, new_rows.attachment, new_rows.created_at)
      -- Otherwise its sender has changed it (25_own_messages.sql).
      and (old_rows.edited_at, old_rows.deleted_at) is not distinct from (new_rows.edited_at, new_rows.deleted_at)
  order by id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.own_message_for_update (
  conversation bigint,
  message      bigint
)
  RETURNS public.messages
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  own public.messages;
begin
  -- As a send does, so that the events of a conversation are in the order in which they happened (private.notify), and
  -- of two at once the second sees what the first has done.
  perform from public.conversations where id = conversation and me in (voyager_id, local_id) for no key update;
  select * into own from public.messages where id = message and conversation_id = conversation and user_id = me;
  if not found then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  return own;
end
$function$;

CREATE OR REPLACE FUNCTION private.my_inbox (
  page_limit   bigint,
  page_offset  bigint,
  archived     boolean,
  pinned_first boolean,
  with_profile boolean,
  emails       text
)
  RETURNS TABLE (
    id                 bigint,
    voyager_id         bigint,
    voyager_name       text,
    voyager_email      text,
    local_id           bigint,
    local_name         text,
    local_email        text,
    created_at         timestamp with time zone,
    active_at          timestamp with time zone,
    is_pinned          boolean,
    latest_id          bigint,
    content            text,
    user_id            bigint,
    read               boolean,
    latest_at          timestamp with time zone,
    partner_profile_id bigint,
    partner_image_url  text,
    latest_edited_at   timestamp with time zone,
    latest_deleted_at  timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  ROWS 50
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  SET enable_nestloop TO 'off'
  AS $function$
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
      profile.id, profile.image_url, messages.edited_at, messages.deleted_at
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
$function$;

CREATE OR REPLACE FUNCTION private.print_message (
  shown       private.message_view,
  with_states boolean
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return case when with_states then to_json((private.with_states(array[shown]))[1]) else to_json(shown) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_own_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.record_change(
    'message.changed', new.conversation_id, new.id, actor => new.user_id, event => 'message.changed',
    previous_id => (select max(id) from public.messages where conversation_id = new.conversation_id and id < new.id)
  );
  perform private.notify(
    event => 'message.changed', conversation => new.conversation_id, subject => new.id, by_id => new.user_id
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.step_notice (
  person       bigint,
  conversation bigint,
  step_id      bigint
)
  RETURNS private.notice
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  step public.reservation_history;
begin
  select *
  into step
  from public.reservation_history
  where id = step_id and conversation_id = conversation and by_id is distinct from person;
  if not found
    or exists (
      select
      from public.reservation_history
      where reservation_id = step.reservation_id and id > step_id and by_id = person
    )
    -- Reservations have no read marker. Whoever has read or written a later message there has seen the step. What was
    -- taken back may not have been read.
    or exists (
      select
      from (
        select * from public.messages where conversation_id = conversation order by id desc limit 100
      ) as latest
      where latest.created_at > step.created_at
        and (latest.user_id = person or latest.read and latest.deleted_at is null)
    )
  then
    return null;
  end if;
  return row(step.reservation_id, step.status, null, step.title, step.date)::private.notice;
end
$function$;

CREATE OR REPLACE FUNCTION private.webhook_data (
  entry private.outbox
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  data json;
begin
  -- Another kind of event raises case_not_found.
  case entry.event
    when 'message.created', 'message.changed' then
      data := (
        select json_build_object(
          'conversation_id', messages.conversation_id, 'id', messages.id, 'user_id', messages.user_id,
          'recipient_id', case messages.user_id when voyager_id then local_id else voyager_id end
        )
        from public.messages
        join public.conversations on conversations.id = messages.conversation_id
        where messages.id = entry.subject_id
      );
    when 'conversation.created' then
      data := (
        select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id)
        from public.conversations
        where id = entry.subject_id
      );
    when 'reservation.changed' then
      data := (
        select json_build_object(
          'conversation_id', conversation_id, 'id', reservation_id, 'status', status, 'user_id', by_id
        )
        from public.reservation_history
        where id = entry.subject_id
      );
    when 'report.created' then
      data := (
        select json_build_object('id', id, 'reason', reason, 'reporter_id', reporter_id, 'user_id', user_id)
        from public.reports
        where id = entry.subject_id
      );
    when 'user.erased' then
      data := json_build_object('user_id', entry.subject_id);
  end case;
  return data;
end
$function$;

CREATE OR REPLACE FUNCTION private.with_states (
  listed private.message_view[]
)
  RETURNS private.message_with_states[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return array(
    select row(
      shown.id, shown.user_id, shown.conversation_id, shown.content, shown.attachment, shown.read, shown."createdAt",
      shown."Sender", private.iso(messages.edited_at), private.iso(messages.deleted_at)
    )::private.message_with_states
    from unnest(listed) with ordinality as shown
    join public.messages on messages.id = shown.id
    order by shown.ordinality
  );
end
$function$;

ALTER DOMAIN "private"."outbox_event"
  ADD CONSTRAINT "outbox_event_check"
    CHECK
    ((VALUE = ANY (ARRAY['message.created'::text, 'conversation.created'::text, 'reservation.changed'::text, 'report.created'::text, 'user.erased'::text, 'silence'::text,
    'message.changed'::text])));

ALTER TABLE "public"."messages"
  ADD CONSTRAINT "a message says something or carries an attachment" CHECK ((((content ~ '[^[:space:][:cntrl:]]'::text) OR (attachment IS NOT NULL)) = (deleted_at IS NULL)))
  NOT VALID;

CREATE TRIGGER record_own_change
  AFTER UPDATE OF edited_at, deleted_at ON public.messages
  FOR EACH ROW
  WHEN (((old.edited_at IS DISTINCT FROM new.edited_at) OR (old.deleted_at IS DISTINCT FROM new.deleted_at)))
  EXECUTE FUNCTION private.record_own_change();

CREATE POLICY "senders remove files that no message has" ON "storage"."objects"
  FOR DELETE
  TO "authenticated"
  USING (((bucket_id = 'attachments'::text) AND (owner_id = (( SELECT auth.uid() AS uid))::text) AND private.can_remove_attachment(name)));

COMMENT ON COLUMN "public"."messages"."deleted_at" IS 'When its sender took it back. It is read then, because nothing is left to read, so no count has to know it.';

COMMENT ON COLUMN "public"."messages"."edited_at" IS 'When its sender last corrected it.';

COMMENT ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, boolean) IS 'Replaces the text of a message that the caller has sent in the last minutes; the same text again changes nothing,
whenever. is_blank is whether the text shows nothing, which the Edge Function knows by the characters of Unicode. Raises
409 for a stone, 403 as a send does, and when it is too late. Definer, because no caller has a grant to update
messages.';

COMMENT ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) IS 'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null. With
archived only those that the caller has archived, or only the others; with pinned_first the pinned ones come first; with
with_partner each has the other participant, with their public profile unless there is a block; with_states says when
a message was corrected or taken back; emails says when a partner''s address is shown: always or after_reply. The
response metadata holds the offset of the next page if there is one.';

COMMENT ON FUNCTION "api"."list_messages"(bigint, jsonb) IS 'A page {limit, offset, before_id, after_id, order, states} of a conversation: newest first; oldest first with
after_id or order asc. The response metadata holds the last id of the page if another page follows. Definer, because the
policy on messages gathers the whole inbox, 100 µs for one of 246, where a page takes 300; the caller must take part
first.';

COMMENT ON FUNCTION "api"."send_message"(bigint, jsonb) IS 'Sends {content, attachment, client_id, first_contact_limit} as the caller. A client_id that was used before returns
that message again, as it was sent, or was corrected or taken back since, and sets replayed in the response metadata.
Raises 403 if one of the two has blocked the other or the partner is erased, without saying which, or if the partner has
not written yet and the limit is reached. Definer, because no caller has a grant to insert messages: only this function
does.';

COMMENT ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) IS 'Leaves a stone of a message that the caller has sent in the last hours, also across a block; of a stone nothing is
changed, whenever. The response metadata holds the file that is to be removed from Storage, which takes no deletion in
SQL. Raises 403 when it is too late. Definer, as edit_message.';

COMMENT ON FUNCTION "private"."can_remove_attachment"(text) IS 'Whether a file of the caller''s conversations is in no message any more, because it was taken back, nor in the
evidence of a report. Definer, because nobody can read evidence. The whole conversation is read: an index would cost
each send with a file.';

COMMENT ON FUNCTION "private"."own_message_for_update"(bigint, bigint) IS 'The caller''s message; locks the conversation. Raises 404, alike if there is none, somebody else has sent it, or the
conversation is not the caller''s.';

COMMENT ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) IS 'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others; with_profile reads the partners'' public profiles too.
Definer, because callers cannot read inbox_entries and other users, and the policy on messages would gather all
conversations of the caller.';

COMMENT ON FUNCTION "private"."print_message"(private.message_view, boolean) IS 'The JSON of one message.';

COMMENT ON FUNCTION "private"."record_own_change"() IS 'A sender has corrected a message or taken it back: logs it and broadcasts message.changed, across a block for the
sender alone, and tells the webhook. Nobody is pushed or mailed anew. Definer, as handle_new_message.';

COMMENT ON FUNCTION "private"."with_states"(private.message_view[]) IS 'These messages, each with when it was corrected and taken back. A second step, because whoever does not ask for it
must not pay for it: a case for each row made a page a third dearer.';

COMMENT ON TYPE "private"."message_with_states" IS 'A message as it is shown to whoever asks for its states.';

REVOKE ALL ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, boolean) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."can_remove_attachment"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."can_remove_attachment"(text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."own_message_for_update"(bigint, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_message_for_update"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."print_message"(private.message_view, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."print_message"(private.message_view, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_own_change"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_own_change"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."with_states"(private.message_view[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."with_states"(private.message_view[]) TO "postgres";

GRANT USAGE ON TYPE "private"."message_with_states" TO "postgres";
