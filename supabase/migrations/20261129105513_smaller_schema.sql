set local lock_timeout = '500ms';
select '[1]'::extensions.vector;
do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', case attempt when 20 then '1500ms' else '500ms' end, true);
      lock table private.devices, private.stored_replies, public.hidden_profiles, public.moderation_log, public.profile_interests, public.profiles, public.reservation_history, public.reservations, public.users in access exclusive mode;
      exit;
    exception when lock_not_available then
      if attempt = 20 then
        raise;
      end if;
      perform pg_sleep(.1);
    end;
  end loop;
end
$$;

SET local check_function_bodies = off;

COMMENT ON COLUMN "private"."notification_settings"."previews" IS NULL;

COMMENT ON COLUMN "public"."profiles"."show_answers" IS NULL;

COMMENT ON COLUMN "public"."users"."erased_at" IS NULL;

DROP TRIGGER "protect_moderation_log" ON "public"."moderation_log";

DROP TRIGGER "cap_interests" ON "public"."profile_interests";

DROP TRIGGER "keep_profile_hidden" ON "public"."profiles";

DROP TRIGGER "protect_history" ON "public"."reservation_history";

DROP INDEX "private"."stored_replies_reservation_id_idx";

DROP VIEW "public"."moderation_queue";

ALTER TABLE "private"."stored_replies"
  DROP CONSTRAINT "stored_replies_reservation_id_fkey";

DROP FUNCTION "private"."add_unread"(bigint, bigint, bigint);

DROP FUNCTION "private"."bounded_snapshot"(pg_snapshot, integer);

DROP FUNCTION "private"."cancel_reservations_of"(bigint, bigint);

DROP FUNCTION "private"."cap_interests"();

DROP FUNCTION "private"."changes_between"(bigint, pg_snapshot, pg_snapshot, xid8, bigint, integer);

DROP FUNCTION "private"."erase_states_of"(bigint);

DROP FUNCTION "private"."export_conversations"(bigint[], text);

DROP FUNCTION "private"."follows"(bigint, bigint, bigint);

DROP FUNCTION "private"."keep_profile_hidden"();

DROP FUNCTION "private"."lock_pair"(bigint);

DROP FUNCTION "private"."print_latest"(public.messages, boolean);

DROP FUNCTION "private"."print_message"(private.message_view, boolean);

DROP FUNCTION "private"."protect_history"();

DROP FUNCTION "private"."protect_moderation_log"();

DROP FUNCTION "private"."record_change"(private.change_kind, bigint, bigint, bigint, text, bigint);

DROP FUNCTION "private"."record_state"(bigint, bigint, text, bigint);

DROP FUNCTION "private"."store_reply"(text, uuid, jsonb, bigint, json, jsonb);

DROP FUNCTION "private"."refresh_places"(bigint, integer);

ALTER TABLE "private"."devices"
  DROP COLUMN "silences";

ALTER TABLE "private"."devices"
  DROP COLUMN "silent_until";

ALTER TABLE "private"."stored_replies"
  DROP COLUMN "reservation_id";

ALTER TABLE "private"."stored_replies"
  DROP COLUMN "subject_id";

ALTER TABLE "public"."profiles"
  ADD COLUMN "is_hidden" boolean NOT NULL DEFAULT false;

UPDATE "public"."profiles" SET is_hidden = true WHERE user_id IN (SELECT user_id FROM "public"."hidden_profiles");

DROP TABLE "public"."hidden_profiles";

ALTER FUNCTION "api"."complete_search"(jsonb) SET enable_seqscan TO 'off' SET plan_cache_mode TO 'force_generic_plan';

ALTER FUNCTION "private"."complete"(text[], text, bigint[], integer) RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."facet_distribution"(text[], bigint[]) RESET plan_cache_mode;

ALTER FUNCTION "private"."is_listed"(text) STRICT RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."keyword_candidates"(private.search_query, private.search_filter, integer)
  RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."list_passing"(private.search_filter, text[], integer)
  RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."places_named"(text[]) RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."places_within"(integer[], double precision) RESET enable_seqscan RESET plan_cache_mode;

ALTER FUNCTION "private"."read_filter"(jsonb, private.search_query, bigint)
  SET enable_seqscan TO 'off' SET plan_cache_mode TO 'force_generic_plan';

ALTER FUNCTION "private"."word_counts"(text[]) RESET enable_seqscan RESET plan_cache_mode;

CREATE OR REPLACE FUNCTION api.counter_reservation (
  conversation        bigint,
  reservation         bigint,
  revision            integer,
  changes             jsonb,
  first_contact_limit integer DEFAULT NULL::integer
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select api.step_reservation(
    conversation => conversation, reservation => reservation, step => 'counter', note => null, revision => revision,
    first_contact_limit => first_contact_limit, changes => changes
  )
$function$;

CREATE OR REPLACE FUNCTION api.delete_device (
  device uuid
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  delete from private.devices where user_id = private.my_id() and id = device
$function$;

CREATE OR REPLACE FUNCTION api.edit_message (
  conversation        bigint,
  message             bigint,
  new_content         text,
  is_blank            boolean,
  minutes             integer,
  first_contact_limit integer,
  with_states         boolean
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
  -- In the place of a conversation the reports, which come last: the largest integer of JSON.
  of_reports constant bigint := 9007199254740991;
  at_list constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  -- What was printed last of a list: 0 is its beginning, -1 nothing.
  after_id bigint := coalesce((place ->> 'message')::bigint, -1);
  separator text := case when place is null then '' else ',' end;
  pieces text[] := array[]::text[];
  list record;
  entry record;
  next_place jsonb;
begin
  if place is null then
    pieces := array(select left(json_build_object(
      'exported_at', private.iso(now()),
      'user', json_build_object(
        'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
        'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
      ),
      'profile', to_jsonb(profiles) - 'is_hidden', 'interests', private.interests_of(profiles.id),
      'blocks', api.list_blocks(), 'devices', api.list_devices(), 'notifications', api.get_notification_settings(),
      'answers', (select answers from private.answer_spans where answer_spans.user_id = users.id),
      'warnings', private.warnings_of(users.id)
    )::text, -1) || ',"conversations":['
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = private.my_id());
  end if;
  <<lists>>
  for list in
    select
      pair.id, voyager_id, voyager, local,
      left(json_build_object(
        'id', pair.id, 'voyager_id', voyager_id, 'local_id', local_id,
        'Voyager', private.to_contact(voyagers, pair.id, emails, cut_off)::json,
        'Local', private.to_contact(locals, pair.id, emails, cut_off)::json,
        'Reservations', array_to_json(array(select body from private.reservations_with_history(pair.id, null))),
        'createdAt', private.iso(pair.created_at),
        'state', (
          select json_build_object('archived', state.archived, 'muted_until', state.muted_until, 'pinned', state.pinned)
          from private.inbox_entries as mine
          cross join lateral private.to_state(mine) as state
          where mine.conversation_id = pair.id and mine.user_id = private.my_id()
        )
      )::text, -1) || ',"messages":[' as head
    -- The beginning of each counts as a message, except of the first if it goes on: then one more fits into a piece.
    from private.participants_of(array(
      select id from private.my_conversations() as id where id >= at_list order by id limit remaining + 1
    )) as pair
    join public.users as voyagers on voyagers.id = voyager_id
    join public.users as locals on locals.id = local_id
    cross join coalesce(private.blocked_users_of(private.my_id()), '{}') as cut_off
    union all
    select of_reports, null, null, null, '],"reports":['
    order by id
  loop
    if list.id > at_list then
      after_id := -1;
    end if;
    for entry in
      select 0 as id, case when list.id < of_reports then separator else '' end || list.head as body
      where after_id = -1
      union all
      (
        select
          messages.id,
          case
            when coalesce(edited_at, deleted_at) is null then to_json(shown)
            else (private.with_states(array[shown]))[1]
          end::text
        from public.messages
        cross join lateral (
          select
            private.to_message_view(messages, case user_id when list.voyager_id then list.voyager else list.local end)
        ) as view (shown)
        where conversation_id = list.id and messages.id > after_id
        order by messages.id
        limit remaining
      )
      union all
      (
        select id, json_build_object(
          'id', id, 'user_id', user_id, 'message_id', message_id, 'reason', reason, 'note', note,
          'share_messages', shares_messages, 'status', case when resolved_at is null then 'open' else 'resolved' end,
          'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
        )::text
        from public.reports
        where list.id = of_reports and reporter_id = private.my_id() and id > after_id
        order by id
        limit remaining
      )
      order by id
    loop
      pieces := pieces || (case when after_id > 0 then ',' else '' end || entry.body);
      after_id := entry.id;
      remaining := remaining - 1;
      if remaining = 0 then
        next_place := jsonb_build_object('conversation', list.id, 'message', after_id);
        exit lists;
      end if;
    end loop;
    -- The end of a conversation, and of the document.
    pieces := pieces || ']}'::text;
    separator := ',';
  end loop;
  perform private.set_response_metadata(jsonb_build_object('place', next_place));
  return array_to_string(pieces, '');
end
$function$;

CREATE OR REPLACE FUNCTION api.get_conversation (
  conversation bigint
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.require_participant(conversation);
  return (
    select json_build_object(
      'id', id, 'Voyager', voyager, 'Local', local,
      'Reservations', array(
        select json_build_object(
          'id', id, 'title', title, 'price', price, 'date', private.iso(date),
          'status', (private.reservation_at(reservations, moment)).status
        )
        from public.reservations
        cross join private.present() as moment
        where conversation_id = conversation
        order by date, id
      )
    )
    from private.participants_of(array[conversation])
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.get_notification_settings()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'push', push, 'email', email, 'delay_minutes', coalesce(delay_minutes, ceil(delay_seconds / 60.0)::integer),
    'quiet_hours', case
      when time_zone is not null then json_build_object(
        'from', left(quiet_from::text, 5), 'to', left(quiet_to::text, 5), 'time_zone', time_zone
      )
    end,
    'previews', previews
  )
  from private.notification_settings_of(private.my_id())
  cross join private.outbox_settings
$function$;

CREATE OR REPLACE FUNCTION api.list_blocks()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select to_json(array(
    select json_build_object('user_id', users.id, 'name', users.name, 'createdAt', private.iso(blocks.created_at))
    from private.blocks
    join public.users on users.id = blocks.blocked_id
    where blocks.blocker_id = (select private.my_id())
    order by blocks.created_at desc, users.id desc
  ))
$function$;

CREATE OR REPLACE FUNCTION api.list_changes (
  after      text,
  page_limit integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
declare
  me constant bigint := private.my_id();
  present pg_snapshot := pg_current_snapshot();
  running constant xid8[] := array(select pg_snapshot_xip(present) order by 1);
  cursor private.change_cursor;
  page private.changes[] := array[]::private.changes[];
  more boolean := false;
begin
  -- An older one with fewer running transactions, so that a cursor fits into a URL. The next page shows the rest.
  if cardinality(running) > 100 then
    present := format(
      '%s:%s:%s', pg_snapshot_xmin(present), running[101], array_to_string(running[:100], ',')
    )::pg_snapshot;
  end if;
  if after is not null then
    cursor := private.read_cursor(after, me);
    cursor.target := coalesce(cursor.target, present);
    -- One more than the page, to know whether another page follows.
    page := array(
      select row(user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind)::private.changes
      from private.changes_by_reader
      where reader_id = me
        and (xid, id) > (coalesce(cursor.xid, pg_snapshot_xmin(cursor.seen)), coalesce(cursor.id, 0))
        and xid < pg_snapshot_xmax(cursor.target)
        and pg_visible_in_snapshot(xid, cursor.target)
        and not pg_visible_in_snapshot(xid, cursor.seen)
        and id > (select last_id from private.changes_origin)
      order by xid, id limit page_limit + 1
    );
    more := cardinality(page) > page_limit;
    page := page[:page_limit];
  end if;

  if more then
    cursor.xid := page[page_limit].xid;
    cursor.id := page[page_limit].id;
  else
    cursor.seen := coalesce(cursor.target, present);
    cursor.target := null;
    cursor.xid := null;
    cursor.id := null;
  end if;
  select id, created_at into cursor.newest_id, cursor.newest_at
  from private.newest_change(me, coalesce(cursor.target, cursor.seen));
  select me, epoch, private.present() into cursor.user_id, cursor.epoch, cursor.issued_at from private.changes_origin;
  return json_build_object(
    'changes', to_json(array(
      select json_build_object('kind', kind, 'conversation_id', conversation_id, 'id', entity_id)
      from (
        -- A message that was removed is the same entity as the message.
        select distinct on (split_part(kind::text, '.', 1), conversation_id, entity_id) *
        from unnest(page) with ordinality
        order by split_part(kind::text, '.', 1), conversation_id, entity_id, ordinality desc
      ) as latest
      order by ordinality
    )),
    'cursor', translate(encode(convert_to(cursor::text, 'UTF8'), 'base64'), E'+/=\n', '-_'),
    'more', more
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.list_conversation_states (
  page jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  page_limit constant bigint := (page ->> 'limit')::bigint;
  listed private.conversation_state[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select private.to_state(entries)
    from private.inbox_entries as entries
    where user_id = (select private.my_id())
      and conversation_id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      -- The condition of the index; what is archived may have come back since, and a mute may have ended.
      and (archived_id is not null or is_pinned or muted_until is not null)
      and (is_archived or is_pinned or muted_until > now())
    order by conversation_id desc
    limit page_limit + 1
  );
  return private.to_page(listed, page_limit, next => listed[page_limit].conversation_id);
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
  SECURITY DEFINER
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  SET enable_nestloop TO 'off'
  AS $function$
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
  pair record;
  listed private.message_view[];
begin
  -- Empty for non-participants, so the second query runs only before a refusal.
  select * into pair from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  -- One row more than the page, to know whether another page follows. One query for both orders was a tenth dearer.
  if oldest_first then
    listed := array(
      select private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
      from (
        select *
        from public.messages
        where conversation_id = conversation and id > after_id
        order by id
        limit page_limit + 1
        offset page_offset
      ) as entry
    );
  else
    listed := array(
      select private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
      from (
        select *
        from public.messages
        where conversation_id = conversation and id < before_id
        order by id desc
        limit page_limit + 1
        offset page_offset
      ) as entry
    );
  end if;
  if (page ->> 'states')::boolean then
    return private.to_page(private.with_states(listed), page_limit, next => listed[page_limit].id);
  end if;
  return private.to_page(listed, page_limit, next => listed[page_limit].id);
end
$function$;

CREATE OR REPLACE FUNCTION api.list_my_reports (
  page jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  page_limit constant integer := (page ->> 'limit')::integer;
  listed json[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select json_build_object(
      'id', id, 'status', case when resolved_at is null then 'open' else 'resolved' end, 'reason', reason,
      'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
    )
    from public.reports
    where reporter_id = (select private.my_id()) and id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
    order by id desc limit page_limit + 1
  );
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
end
$function$;

CREATE OR REPLACE FUNCTION api.list_my_reservations (
  page jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  page_limit constant integer := (page ->> 'limit')::integer;
  wanted constant text := page ->> 'status';
  listed json[];
begin
  with mine as materialized (
    -- One more than the page, as in list_messages.
    select reservations as entry, reservations.id, reservations.conversation_id
    from public.reservations
    where reservations.conversation_id = any (array(select private.my_conversations()))
      and reservations.id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      and reservations.date >= coalesce((page ->> 'from')::timestamptz, '-infinity')
      and reservations.date < coalesce((page ->> 'to')::timestamptz, 'infinity')
      and (wanted is null or (private.reservation_at(reservations, moment)).status = wanted)
    order by reservations.id desc
    limit page_limit + 1
  ),
  entries as (
    select view.*, case (select private.my_id()) when voyager_id then local else voyager end as partner
    from mine
    cross join lateral private.to_reservation_view(private.reservation_at(mine.entry, moment)) as view
    join private.participants_of(array(select distinct conversation_id from mine)) as participants
      on participants.id = mine.conversation_id
  )
  select array_agg(row_to_json(entries) order by entries.id desc) into listed from entries;
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
end
$function$;

CREATE OR REPLACE FUNCTION api.offer_reservation (
  conversation        bigint,
  draft               jsonb,
  first_contact_limit integer DEFAULT NULL::integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.require_participant(conversation);
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  host constant bigint := coalesce(
    (draft ->> 'host_id')::bigint, (select local_id from public.conversations where id = conversation)
  );
  request constant jsonb := draft || jsonb_build_object(
    'conversation_id', conversation, 'host_id', host, 'price', trim_scale((draft ->> 'price')::numeric)
  );
  reply json;
  offered public.reservations;
begin
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => partner, shared => true);
  reply := private.find_reply('reservation', draft_client_id, request);
  if reply is not null then
    return reply;
  end if;
  if host not in (me, partner) then
    raise sqlstate 'PT400' using message = 'host_id: must be one of the two participants';
  elsif (draft ->> 'date')::timestamptz <= private.present() then
    raise sqlstate 'PT400' using message = 'date: must be in the future';
  end if;
  perform private.require_partner(partner);
  perform private.require_first_contact(conversation, partner, first_contact_limit);
  offered := jsonb_populate_record(null::public.reservations, request || jsonb_build_object('offered_by', me));
  offered := private.write_reservation(reservation => offered, by_id => me, note => null, moment => private.present());
  return private.store_reply(
    noun => 'reservation', client_id => draft_client_id, request => request,
    body => to_json(private.to_reservation_view(offered))
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.put_device (
  device       uuid,
  subscription jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
begin
  -- Serialize concurrent calls of one user, so that the limit holds. An erasure waits, or has happened.
  perform private.lock_me();
  -- Serialize calls of different users with the same endpoint: the second takes the device over.
  perform pg_advisory_xact_lock(hashtextextended('device ' || (subscription ->> 'endpoint'), 0));
  delete from private.devices where endpoint = subscription ->> 'endpoint' and (user_id, id) <> (me, device);
  if (select count(*) from private.devices where user_id = me and id <> device) >= 10 then
    raise sqlstate 'PT400' using message = 'device: you cannot have more than 10 devices', hint = 'too_many';
  end if;
  insert into private.devices (user_id, id, endpoint, p256dh, auth)
  values (me, device, subscription ->> 'endpoint', subscription #>> '{keys,p256dh}', subscription #>> '{keys,auth}')
  on conflict (user_id, id) do update
  set endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth;
end
$function$;

CREATE OR REPLACE FUNCTION api.report_person (
  draft jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  reply constant json := private.find_reply('report', draft_client_id, draft);
  shares constant boolean := coalesce((draft ->> 'share_messages')::boolean, false);
  message constant bigint := (draft ->> 'message_id')::bigint;
  subject bigint := (draft ->> 'user_id')::bigint;
  person public.users;
  report public.reports;
  is_new boolean;
begin
  if reply is not null then
    return reply;
  end if;
  if message is not null then
    select user_id into subject
    from public.messages
    where id = message and conversation_id in (select private.my_conversations());
    if not found then
      raise sqlstate 'PT404' using message = 'Message not found';
    end if;
  end if;
  if subject = me then
    raise sqlstate 'PT400' using
      message = case when message is null then 'user_id' else 'message_id' end || ': you cannot report yourself';
  end if;
  -- A concurrent erasure waits, or has happened by now, and so does another report or block by the caller. Whoever
  -- takes a message back meanwhile waits, too, and then finds its file in the evidence (80_storage).
  perform private.lock_me(beside => subject);
  select * into person from public.users where id = subject;
  select * into report
  from public.reports
  where reporter_id = me and user_id = subject and message_id is not distinct from message and resolved_at is null;
  is_new := not found;
  if is_new then
    -- Who has sent a message can be reported for it after being deactivated or erased.
    if message is null and person.is_active is not true then
      raise sqlstate 'PT404' using message = 'User not found';
    end if;
    insert into public.reports (reporter_id, user_id, message_id, reason, note, shares_messages, purge_at)
    values (
      me, subject, message, draft ->> 'reason', draft ->> 'note', shares,
      case when person.erased_at is not null then private.present() + interval '180 days' end
    )
    returning * into report;
    perform private.copy_evidence(report);
    perform private.notify(event => 'report.created', conversation => null, subject => report.id);
  elsif shares and not report.shares_messages then
    -- The consent came with a repeat.
    update public.reports set shares_messages = true where id = report.id returning * into report;
    perform private.copy_evidence(report);
  end if;
  if (draft ->> 'block')::boolean and person.erased_at is null then
    perform private.add_block(me, subject, 'block');
  end if;
  return private.store_reply(
    noun => 'report', client_id => draft_client_id, request => draft,
    body => json_build_object(
      'id', report.id, 'status', 'open', 'reason', report.reason, 'createdAt', private.iso(report.created_at)
    ),
    metadata => jsonb_build_object('existing', not is_new)
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.set_conversation_state (
  conversation bigint,
  changes      jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  archive constant boolean := (changes ->> 'archived')::boolean;
  pin constant boolean := (changes ->> 'pinned')::boolean;
  mute_until constant timestamptz := (changes ->> 'muted_until')::timestamptz;
  before private.inbox_entries;
  after private.inbox_entries;
begin
  if mute_until <= now() then
    raise sqlstate 'PT400' using message = 'muted_until: must be in the future';
  end if;
  -- So that the limit of pinned conversations holds, and an erasure leaves nothing.
  perform private.lock_me();
  perform private.require_participant(conversation);
  -- What a message that commits meanwhile has shown again is told as archived anew.
  select * into before
  from private.inbox_entries
  where conversation_id = conversation and user_id = me
  for no key update;
  update private.inbox_entries
  set
    archived_id = case
      when archive is null or archive = is_archived then archived_id
      when archive then last_message_id
    end,
    is_pinned = coalesce(pin, is_pinned),
    muted_until = case when changes ? 'muted_until' then mute_until else muted_until end
  where conversation_id = conversation and user_id = me
  returning * into after;
  if pin and (select count(*) from private.inbox_entries where user_id = me and is_pinned) > 20 then
    raise sqlstate 'PT400' using message = 'pinned: you cannot pin more than 20 conversations', hint = 'too_many';
  end if;
  if private.to_state(after) is distinct from private.to_state(before) then
    perform private.record_change('state', conversation, conversation, actor => me, event => 'conversation.state');
  end if;
  return row_to_json(private.to_state(after));
end
$function$;

CREATE OR REPLACE FUNCTION api.set_interests (
  wanted jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('id', me #> '{Profile,id}', 'user_id', me -> 'id', 'Interests', me #> '{Profile,Interests}')
  from api.update_profile(jsonb_build_object('interest_ids', wanted -> 'ids')) as me
$function$;

CREATE OR REPLACE FUNCTION api.set_searchable (
  searchable boolean
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('is_searchable', me #> '{Profile,is_searchable}')
  from api.update_profile(jsonb_build_object('is_searchable', searchable)) as me
$function$;

CREATE OR REPLACE FUNCTION api.step_reservation (
  conversation        bigint,
  reservation         bigint,
  step                text,
  note                text,
  revision            integer DEFAULT NULL::integer,
  first_contact_limit integer DEFAULT NULL::integer,
  changes             jsonb   DEFAULT '{}'::jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.require_participant(conversation);
  moment timestamptz;
  current public.reservations;
  wanted public.reservations;
  is_stale boolean;
  conflict text;
begin
  -- As in offer_reservation.
  perform private.lock_me(beside => partner, shared => true);
  select * into current
  from public.reservations
  where id = reservation and conversation_id = conversation
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  elsif step = 'accept' then
    -- Before the moment: what becomes due while this waits is cancelled.
    perform private.lock_host(current.host_id);
  end if;
  moment := private.present();
  current := private.reservation_at(current, moment);
  wanted := jsonb_populate_record(current, changes);
  wanted.status := case step
    when 'counter' then 'pending' when 'accept' then 'accepted' when 'decline' then 'declined'
    when 'cancel' then 'cancelled' when 'complete' then 'completed'
  end;
  if step <> 'cancel' then
    perform private.require_partner(partner);
  elsif private.is_blocked_between(me, partner) then
    -- Whoever is in a reservation can leave it, but no words cross a block.
    note := null;
  end if;
  is_stale := step in ('accept', 'decline', 'counter') and current.revision is distinct from step_reservation.revision;
  if wanted is not distinct from current and not is_stale then
    return to_json(private.to_reservation_view(current));
  end if;
  conflict := case
    when is_stale then 'This offer has changed since it was read'
    -- Nobody completes a reservation before its end, and at its end the clock does.
    when step = 'complete' and current.status = 'accepted' then 'This reservation has not ended yet'
    when step = 'complete' or current.status <> 'pending' and (step <> 'cancel' or current.status <> 'accepted')
      then format('This reservation is %s', current.status)
    when step in ('accept', 'decline') and current.offered_by = me
      then 'Only the other participant can answer this offer'
  end;
  if conflict is not null then
    raise sqlstate 'PT409' using
      message = conflict, detail = json_build_object('status', current.status),
      hint = case when is_stale then 'stale_revision' else 'conflict' end;
  end if;
  if step = 'counter' then
    if wanted.date <= moment then
      raise sqlstate 'PT400' using message = 'date: must be in the future';
    end if;
    perform private.require_first_contact(conversation, partner, first_contact_limit);
    wanted.offered_by := me;
  elsif note is not null and private.first_contact_left(conversation, partner, first_contact_limit) = 0 then
    note := null;
  end if;
  begin
    current := private.write_reservation(reservation => wanted, by_id => me, note => note, moment => moment);
  exception
    when exclusion_violation then
      raise sqlstate 'PT409' using
        message = 'The host has another reservation at that time',
        detail = json_build_object('status', current.status), hint = 'overlap';
  end;
  return to_json(private.to_reservation_view(current));
end
$function$;

CREATE OR REPLACE FUNCTION private.act_as (
  claims jsonb,
  strict boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  me bigint;
  status text;
  -- What set_config returns is assigned: perform would run a statement for it, which takes five times as long.
  is_set text;
begin
  is_set := set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  is_set := set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  if claims is not null then
    me := private.find_me();
    if me is null then
      status := private.account_status();
      if status = 'active' then
        -- It became active after find_me looked; the Edge Function retries.
        raise sqlstate '40001' using message = 'This account has just changed';
      elsif strict and status is null then
        raise sqlstate 'PT401' using message = 'This account no longer exists';
      elsif strict then
        raise sqlstate 'PT403' using message = 'This account is deactivated', hint = 'deactivated';
      end if;
      return private.act_as(null, false);
    end if;
  end if;
  is_set := set_config('api.caller', coalesce(me::text, ''), true);
  -- As the platform limits anonymous callers. Unlike a statement_timeout it applies to the statement that sets it.
  if claims is null and current_setting('server_version_num')::integer >= 170000 then
    is_set := set_config('transaction_timeout', '3s', true);
  end if;
  -- The role is a literal and never taken from the claims.
  is_set := set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return is_set is not null;
end
$function$;

CREATE OR REPLACE FUNCTION private.back_off (
  failures integer
)
  RETURNS interval
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  select interval '15 seconds' * 3 ^ least(failures, 6) * (1 + random() / 2)
$function$;

CREATE OR REPLACE FUNCTION private.claim_rows (
  wanted   text,
  max_rows integer,
  busy     jsonb,
  moment   timestamp with time zone
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  avoided constant text[] := array(select jsonb_array_elements_text(busy));
  claimed bigint[];
begin
  if wanted = 'push' then
    claimed := array(
      select entry.id
      from (
        select distinct on (user_id) id
        from (
          select due.id, due.user_id, due_at
          from private.outbox as due
          -- A push whose device is gone is claimed, and dropped then.
          left join private.devices on devices.user_id = due.user_id and devices.id = due.device_id
          where channel = 'push' and due_at <= moment and attempts < 8
            and not coalesce(private.push_receivers(devices) && avoided, false)
          order by due_at, due.id
          -- Reading all of 48,000 took 0.4 s. Whose rows these are is busy after two claims, if they are few.
          limit 1000
        ) as oldest
        order by user_id, due_at, id
      ) as next
      join private.outbox as entry using (id)
      where due_at <= moment and attempts < 8
      order by due_at, entry.id limit max_rows
      for update of entry skip locked
    );
  else
    claimed := array(
      select outbox.id
      from private.outbox
      left join public.users on channel = 'mail' and users.id = user_id
      where channel = wanted and due_at <= moment and attempts < 8
        and not coalesce(split_part(email, '@', 2) = any (avoided), false)
        -- A dead letter holds nothing up once its last attempt is over.
        and not exists (
          select from private.outbox as earlier
          where earlier.channel = 'webhook' and earlier.conversation_id = outbox.conversation_id
            and earlier.id < outbox.id and (earlier.attempts < 8 or earlier.due_at > moment)
        )
      order by due_at, outbox.id limit max_rows
      for update of outbox skip locked
    );
  end if;
  update private.outbox
  set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
  where id = any (claimed);
  return claimed;
end
$function$;

CREATE OR REPLACE FUNCTION private.complete_word (
  typed  text,
  others private.search_unit[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  beginning constant tsquery := private.any_term(array[typed || '*']);
begin
  return (
    select jsonb_build_array(jsonb_build_object('from', typed, 'to', string_agg(lexeme, ' ')))
    from (
      select lexeme
      from (
        select words
        from private.search_words
        where words @@ coalesce(beginning && (select private.all_of(query) from unnest(others)), beginning)
        limit 50
      ) as sample
      cross join lateral unnest(tsvector_to_array(words)) as lexeme
      where starts_with(lexeme, typed)
      group by lexeme
      order by count(*) desc, lexeme
      limit 2
    ) as likeliest
    having string_agg(lexeme, ' ') <> typed
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.corrections_of (
  typed      text,
  unfinished boolean
)
  RETURNS SETOF text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  size constant integer := char_length(typed);
  budget constant integer := case when size < 5 then 0 when size < 9 then 1 else 2 end;
  double constant text := '(.)\1';
  undoubled constant text := regexp_replace(typed, double, '\1', 'g');
begin
  return query
    select lexicon.word
    from (
      select *
      from private.search_lexicon as listed
      where budget > 0
        and listed.word !~ '^[@~]'
        and private.deletion_keys(listed.word) && private.deletions(left(typed, 4 + budget), budget)
      -- Among 13,000 words at most 77 are as near. Fifty profiles can hold 20,000 that begin alike: a second.
      limit 200
    ) as lexicon
    -- The beginnings of a word that an unfinished one may stand for.
    cross join lateral unnest(case
      when unfinished and char_length(lexicon.word) > size - budget
        then array(select left(lexicon.word, size + more) from generate_series(-budget, budget) as more)
      else array[lexicon.word]
    end) as form
    -- In a short word, a wrong first letter counts twice.
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget)
        + (left(form, 1) <> left(typed, 1) and budget < 2)::integer
    ) as cost (errors)
    where cost.errors between 1 and budget
      and lexicon.word <> typed collate "C"
      and not (unfinished and starts_with(lexicon.word, typed))
    group by lexicon.word
    -- Of as many errors, a letter that should be double is the likeliest: chese is cheese and not chess.
    order by min(cost.errors), regexp_replace(lexicon.word, double, '\1', 'g') = undoubled desc, max(holders) desc, 1
    limit 20;
end
$function$;

CREATE OR REPLACE FUNCTION private.denied_words (
  biography text
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
declare
  -- As Russian and Ukrainian deny: "ne" is another word in other languages.
  said text := private.fold(regexp_replace(biography, '(^|\s)не(?=\s)', '\1no', 'gi'));
  -- What denies nothing is taken out, and other ways to deny are written with words that do.
  spelled_out constant text[] := array[
    '\m(ca|wo|do|does|did|is|are|was|were|have|has|had|could|would|should)n''?t\M|\mcannot\M', '\1 not',
    '\m(not|never|no|nothing|nobody|kein\w*|nicht|nie|nunca|pas|jamais|non|nao|geen|niet|nooit)( \w+){0,4} '
      '(without|ohne|sin|sans|senza|sem|zonder)\M|\mn(ot|ever) (only|just|mind|miss|forget|say|worry|hesitate|sure|'
      'afraid|scared|get enough|((too|so|very) )?far)\M|\mno (problem|worries|limit|matter|doubt|need|one)\w*|\mwhy '
      'not\M|\mnothing but\M|\mkein\w* problem|\mnicht (nur|weit)\M|\mno solo\M|\mpas (seulement|loin)\M|\mnon solo\M|'
      '\mniet alleen\M|\mnao so\M|\mnot (an? |really )?(vegan|vegetari)\w*', ' ',
    '\m(vegan|טבעונ)\w*|纯素', '. no meat seafood no milk dairy eggs cheese .',
    '\mvegetari\w*|吃素|素食', '. no meat seafood .',
    '\m(teetotal\w*|sober|abstemi\w*)\M', '. no alcohol .', '\m(childless|kinderlos)\w*', '. no children .',
    '\m(non|nicht|no)-?(?=smok|drink|rauch|trink|fum)|\mg[ai]ven? up\M|\mfree (of|from)\M|\mnot stand\M', ' no ',
    '\m(\w{3,})(-free|-?frei|-los|less| free(?! to| time))\M', '. no \1 .',
    '\m(and|und|et|y|e|en) (love|like|enjoy|adore|liebe|mag|aime|amo|adoro|gosto|hou)\M', ' but ',
    '\m(is|are) not (for me|my|welcome|allowed)\M|\mnothing for me\M|\mnichts fur mich\M|\mmakes? me (sneeze|cough|'
      'ill|sick)\M|\m(bore|scare|frighten|bother)s? me\M|\moff my (plate|menu)\M|\m(do|does) not exist\M|'
      '\mme aburren?\M', ' forbidden '
  ];
  -- They deny what follows …
  before constant text[] := string_to_array('no not never without neither nor non zero quit stopped deleted sold avoid '
    'avoids hate hates detest dislike dislikes allergic afraid scared kein keine keinen keinem keiner ohne nie niemals '
    'nicht weder hasse vermeide allergisch aufgehort pas jamais sans ni aucun aucune deteste allergique arrete sin '
    'nunca tampoco ninguna odio detesto deje alergico alergica senza niente allergico allergica smesso geen '
    'zonder niet nooit haat gestopt nao sem nem parei bez', ' ');
  -- … and what stands before them.
  behind constant text[] := '{forbidden,nicht,niet,allergisch,verboten,interdit,prohibido,vietato,verboden,degil}'::text[];
  ends constant text[] := string_to_array('. but only just except because since so instead aber sondern nur weil '
    'dafur pero sino solo porque mais seulement sauf parce ma perche maar alleen wel omdat mas apenas', ' ');
begin
  said := translate(replace(said, ' - ', '.'), e'!?;:()…–—\n', '..........');
  -- In Portuguese, "no" is "in the".
  said := case when said ~ '\m(nao|sou|moro|gosto|meu|minha)\M' then replace(said, ' no ', ' em ') else said end;
  for place in 1..cardinality(spelled_out) by 2 loop
    said := regexp_replace(said, spelled_out[place], spelled_out[place + 1], 'g');
  end loop;
  said := regexp_replace(replace(replace(said, '.', ' . '), ',', ' , '), '[^[:alnum:].,]+', ' ', 'g');
  return array(
    select distinct '~no ' || left(word, 60)
    from (
      select
        word, place, max(place) filter (where word = any (before)) over ahead as denied_at,
        max(place) filter (where word = any (ends) or word = any ('{i,we,ich,wir,je,j,nous,yo,io,eu,ik}')) over ahead
          as ended_at,
        min(place) filter (where word = any (behind)) over back as denies_at,
        min(place) filter (where word = any (ends) or word = ',') over back as begins_at
      from string_to_table(said, ' ') with ordinality as listed (word, place)
      window
        ahead as (order by place rows between 5 preceding and current row),
        back as (order by place rows between current row and 4 following)
    ) as listed
    where word !~ '^[.,]?$' and (denied_at > coalesce(ended_at, 0) and denied_at < place
      or denies_at < coalesce(begins_at, place + 9) and denies_at > place)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.describe_query (
  asked      private.search_query,
  hidden_ids bigint[]
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select json_build_object(
      'places', coalesce(json_agg(
        array_to_string(words, case when words[1] ~ ('^[' || private.unspaced_letters() || ']') then '' else ' ' end)
      ) filter (where exists (select from unnest(exact) as term where term like '@in %')), '[]'),
      'corrections', private.shown_spellings(asked.corrections, hidden_ids),
      'completions', private.shown_spellings(asked.completions, hidden_ids),
      'unknown', asked.unknown,
      'wanted', coalesce(json_agg(json_build_object(
        'unit', number, 'phrase', cardinality(words) > 1, 'quoted', quoted, 'common',
        rarity <= ln(3) and private.count_profiles() > 50, 'words', array(
          select json_build_object(
            'word', rtrim(term, '*'), 'prefix', term like '%*',
            'typos', (kind = 'loose' and term not like '%*')::integer
          )
          from (
            select 'exact' as kind, unnest(exact) as term
            union all
            -- What a phrase may stand for is no word of it.
            select 'loose', unnest(loose) where cardinality(words) = 1 or place is not null
          ) as terms
          where term !~ '^[@~]'
        )
      )), '[]')
    )
    from unnest(asked.units)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.erase_person (
  person bigint
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  -- Null for an admin.
  me constant bigint := private.my_id();
  account constant uuid := (select auth_id from public.users where id = person);
  moment timestamptz;
  profile bigint;
  address text;
  words tsvector;
  reservation public.reservations;
  erasure text;
begin
  -- Take the locks in the same order as other transactions: the Auth account first, then the profile.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  select email into address from public.users where id = person;
  select search_words.words into words from private.search_words where profile_id = profile;
  -- As the worker that plans: the rows of the outbox before the person.
  perform from private.outbox where user_id = person order by id for update;
  update public.users
  set
    name = 'Deleted user', email = '', bio = null, location = null, role = 'user', is_active = false, auth_id = null,
    erased_at = now()
  where id = person and erased_at is null;
  if not found then
    return false;
  end if;
  moment := private.present();
  for reservation in
    select *
    from public.reservations
    where conversation_id in (select id from public.conversations where person in (voyager_id, local_id))
      -- What has ended by now is left to the clock.
      and due_at > moment
    order by id
    for no key update
  loop
    reservation.status := 'cancelled';
    perform private.write_reservation(reservation => reservation, by_id => me, note => null, moment => moment);
  end loop;
  delete from private.blocks where person in (blocker_id, blocked_id);
  delete from private.changes where user_id = person and other_id is null;
  update private.inbox_entries
  set archived_id = null, is_pinned = false, muted_until = null
  where user_id = person and (archived_id is not null or is_pinned or muted_until is not null);
  -- Cascades to its interests and its search entry; the search context was removed when the account became inactive.
  delete from public.profiles where id = profile;
  perform private.forget_words(words);
  delete from private.embedding_queue where (kind, id) in (('profile', profile), ('context', person));
  delete from private.sign_ups where address_hash = sha256(convert_to(lower(address), 'UTF8'));
  delete from private.stored_replies where user_id = person;
  delete from private.devices where user_id = person;
  delete from private.notification_settings where user_id = person;
  delete from private.silences where user_id = person;
  delete from private.answer_spans where user_id = person;
  delete from private.outbox where user_id = person;
  perform private.notify(event => 'user.erased', conversation => null, subject => person);
  update public.reports
  set purge_at = least(purge_at, moment + interval '180 days')
  where reporter_id = person or user_id = person;
  -- Cascades to its sessions, refresh tokens and identities.
  delete from auth.users where id = account;
  foreach erasure in array array[
    'auth.flow_state where user_id = $1',
    'auth.audit_log_entries where $1::text in (payload ->> ''actor_id'', payload -> ''traits'' ->> ''user_id'')'
  ] loop
    begin
      execute 'delete from ' || erasure using account;
    exception
      -- Auth's log has no index for this and may belong to another role. The erasure must not fail because of it.
      when undefined_table or undefined_column or insufficient_privilege or query_canceled then
        raise warning 'Not erased, for %: %', sqlstate, erasure;
    end;
  end loop;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_profiles (
  request        jsonb,
  asked          private.search_query,
  filter         private.search_filter,
  query_vector   extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_ratio double precision
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO 'extensions'
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  max_results constant integer := 1000;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  has_words constant boolean := cardinality(asked.units) > 0;
  model private.search_models;
  trust double precision;
  neighbour_ids bigint[] := array[]::bigint[];
  candidate_ids bigint[];
  answer json;
begin
  select * into model from private.search_models where name = request ->> 'model';
  trust := coalesce(model.trust, 1);
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    neighbour_ids := array(
      select profile_id
      from private.nearest_profiles(
        query_vector => query_vector, query_model => model.name, filter => filter, max_results => 100,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();
  candidate_ids := private.keyword_candidates(asked => asked, filter => filter, max_results => max_results);
  if not has_words then
    candidate_ids := candidate_ids || array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      order by stored.profile_id
      limit max_results
    );
  end if;
  perform private.check_deadline();

  with ranked as materialized (
    select *
    from private.score_profiles(
      ids => candidate_ids || neighbour_ids, neighbour_ids => neighbour_ids,
      asked => asked, model => model, query_vector => query_vector, context_vector => context_vector,
      -- (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.
      semantic_weight => semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust)
    )
  ),
  page as (
    select *
    from ranked
    order by score desc, lacks desc, is_name desc, keyword desc, cosine desc nulls last, profile_id
    limit greatest(0, least((request ->> 'limit')::integer, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(json_agg(case when details is null then hit else (hit::jsonb || details)::json end), '[]'),
    'estimatedTotalHits', (select least(max_results, count(*)) from ranked),
    'facetDistribution', case when request -> 'facets' is not null then private.facet_distribution(
      array(select jsonb_array_elements_text(request -> 'facets')), array(select profile_id from ranked)
    ) end
  )
  into answer
  from page
  cross join lateral (
    select
      json_build_object(
        'id', profile_id, 'user_id', user_id, 'name', name, 'biography', biography, 'city', city, 'country', country,
        'interests', interests, 'image_url', image_url, '_rankingScore', score
      ) as hit,
      case when (request ->> 'explain')::boolean then jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
        'words', case when words_matched > 0 then
          json_build_object('words', json_build_array(words_matched, cardinality(asked.units)))
        end,
        'coverage', coverage, 'keyword', keyword, 'cosine', cosine, 'similarityFloor', model.similarity_floor,
        'similarityCeiling', model.similarity_ceiling, 'namesMissing', names_missing, 'semantic', semantic,
        'ratio', semantic_ratio, 'trust', model.trust, 'named', in_name, 'context', context,
        'lives', case when asked.home is not null then lives end
      )) end as details
    from private.search_entries
    where profile_id = page.profile_id
    offset 0
  ) as printed;
  return answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.finish_outbox (
  outcomes jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  finished record;
  entry private.outbox;
begin
  for finished in
    select *
    from jsonb_to_recordset(outcomes) as outcome (
      id bigint, outcome text, reason text, retry_after integer, subject bigint
    )
    order by id
  loop
    select * into entry from private.outbox where id = finished.id for update;
    continue when not found;
    if finished.outcome = 'sent' then
      delete from private.outbox where id = entry.id and (entry.channel <> 'push' or subject_id = finished.subject);
      -- The push has more to tell by now.
      update private.outbox
      set attempts = 0, due_at = private.present(), first_id = finished.subject + 1, key = gen_random_uuid()
      where id = entry.id;
    elsif finished.outcome = 'gone' then
      delete from private.devices where user_id = entry.user_id and id = entry.device_id;
      delete from private.outbox where channel = 'push' and user_id = entry.user_id and device_id = entry.device_id;
    else
      update private.outbox
      set
        attempts = case finished.outcome when 'refused' then 8 else attempts end,
        last_error = left(finished.reason, 200),
        due_at = greatest(due_at, private.present() + least(coalesce(finished.retry_after, 0), 86400) * interval '1 s')
      where id = entry.id;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.handle_changed_messages()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if tg_op = 'DELETE' then
    perform private.refresh_entries(conversation_id)
    from (select distinct conversation_id from old_rows) as shortened
    order by conversation_id;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  perform private.refresh_entries(conversation_id)
  from (select conversation_id from old_rows union select conversation_id from new_rows) as concerned
  order by conversation_id;
  -- An admin may give a message to the other participant, or move it to another conversation of its sender.
  if exists (
    select from new_rows
    where not exists (
      select from public.conversations where id = conversation_id and user_id in (voyager_id, local_id)
    )
  ) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  perform private.record_change(
    'read', marked.conversation_id, marked.id, event => 'message.read',
    actor => case marked.user_id when voyager_id then local_id else voyager_id end
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

CREATE OR REPLACE FUNCTION private.handle_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  leaving bigint[];
begin
  if tg_op = 'UPDATE' then
    leaving := array_remove(array_remove(array[old.voyager_id, old.local_id], new.voyager_id), new.local_id);
    if exists (
      select from public.messages where conversation_id = new.id and user_id = any (leaving)
      union all
      select from public.reservations where conversation_id = new.id and array[host_id, offered_by] && leaving
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    -- First, as it locks both rows in their order.
    update private.inbox_entries set archived_id = null where conversation_id = new.id and leaving <> '{}';
    delete from private.inbox_entries where conversation_id = new.id and user_id = any (leaving);
  end if;
  insert into private.inbox_entries (conversation_id, user_id, active_at)
  values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at)
  on conflict do nothing;
  if tg_op = 'UPDATE' then
    perform private.refresh_entries(new.id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.handle_new_user()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  metadata_ticket constant uuid := case
    when new.raw_user_meta_data ->> 'ticket' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then (new.raw_user_meta_data ->> 'ticket')::uuid
  end;
  confirmed_at constant timestamptz := coalesce(new.email_confirmed_at, new.phone_confirmed_at);
  sign_up private.sign_ups;
  fields jsonb;
begin
  select * into sign_up from private.sign_ups where ticket = metadata_ticket and name is not null for update;
  update private.sign_ups set name = null, fields = null where ticket = sign_up.ticket;
  fields := coalesce(sign_up.fields, '{}');
  sign_up.user_id := coalesce(sign_up.user_id, nextval('public.users_id_seq'));
  sign_up.profile_id := coalesce(sign_up.profile_id, nextval('public.profiles_id_seq'));
  insert into public.users (id, auth_id, name, email, bio, location, is_active, created_at, confirmed_at)
  overriding system value
  values (
    sign_up.user_id, new.id,
    coalesce(sign_up.name, nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''), fields ->> 'bio', fields ->> 'location', confirmed_at is not null,
    coalesce(new.created_at, now()), confirmed_at
  );
  insert into public.profiles
  overriding system value
  select *
  from jsonb_populate_record(
    null::public.profiles,
    '{"is_searchable": false, "show_answers": true, "is_hidden": false}' || jsonb_strip_nulls(fields)
      || jsonb_build_object('id', sign_up.profile_id, 'user_id', sign_up.user_id)
  );
  perform private.replace_interests(sign_up.profile_id, nullif(fields -> 'interest_ids', 'null'));
  return null;
end
$function$;

create function private.hangul_name(typed text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  parts constant text[] := string_to_array(private.hangul_spelling(typed), ' ');
  -- A given name is written together, apart or with a hyphen.
  asked constant tsquery := (
    select private.all_of((
      select private.any_of(private.phrase(array_remove(array[left(part, cut), substr(part, cut + 1)], '')))
      from generate_series(1, char_length(part)) as cut
    ))
    from unnest(parts) as part
  );
begin
  return (select parts where exists (select from private.search_words where words @@ asked));
end
$$;
comment on function private.hangul_name(text) is
  'A Korean name in Latin letters, as hangul_spelling, if somebody has all of it: else 강아지, a puppy, would be everybody
called Kang.';

REVOKE ALL ON FUNCTION "private"."hangul_name"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hangul_name"(text) TO "postgres";

CREATE OR REPLACE FUNCTION private.hangul_spelling (
  word text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
declare
  -- As families write themselves, where that is not the Revised Romanization.
  surnames constant text[] := string_to_array(
    '김 kim 이 lee 박 park 최 choi 정 jung 강 kang 조 cho 윤 yoon 임 lim 오 oh 신 shin 유 yoo 안 ahn 권 kwon 고 ko 문 moon '
    '노 noh 우 woo 주 joo 구 koo 심 shim 곽 kwak', ' '
  );
  -- A syllable is one of 19, of 21 and of 28 (The Unicode Standard, 3.12).
  initials constant text[] := string_to_array('g kk n d tt r m b pp s ss  j jj ch k t p h', ' ');
  vowels constant text[] := string_to_array('a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i', ' ');
  finals constant text[] := string_to_array(' k k k n n n t l k m l l l p l m p p t t ng t t k t p t', ' ');
begin
  if word !~ '^[가-힣]+$' then
    return null;
  end if;
  return (
    select string_agg(coalesce(
      case when place = 1 and char_length(word) in (1, 3) then surnames[array_position(surnames, letter) + 1] end,
      initials[code / 588 + 1] || vowels[code % 588 / 28 + 1] || finals[code % 28 + 1]
    ) || case when place = 1 and char_length(word) = 3 then ' ' else '' end, '' order by place)
    from string_to_table(word, null) with ordinality as letters (letter, place)
    cross join lateral (select ascii(letter) - ascii('가') as code) as numbered
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.hash_message (
  message public.messages
)
  RETURNS bytea
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select private.hash_request(jsonb_build_object('content', message.content, 'attachment', message.attachment))
$function$;

CREATE OR REPLACE FUNCTION private.hash_request (
  request jsonb
)
  RETURNS bytea
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select sha256(convert_to(jsonb_strip_nulls(request)::text, 'UTF8'))
$function$;

CREATE OR REPLACE FUNCTION private.interest_ids (
  list jsonb
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  ids constant bigint[] := array(select distinct wanted::bigint from jsonb_array_elements_text(list) as wanted);
  unknown constant text := (
    select string_agg(wanted::text, ', ' order by wanted)
    from unnest(ids) as wanted
    where wanted not in (select id from public.interests)
  );
begin
  if unknown is not null then
    raise sqlstate 'PT400' using message = 'interest_ids: unknown interests ' || unknown;
  elsif cardinality(ids) > 50 then
    raise sqlstate 'PT400' using message = 'interest_ids: a profile has at most 50 interests';
  end if;
  return ids;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_host (
  host bigint
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  select pg_advisory_xact_lock(hashtextextended('reservations of host ' || host, 0))
$function$;

CREATE OR REPLACE FUNCTION private.mail_job (
  entry private.outbox
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  recipient constant public.users := (select users from public.users where id = entry.user_id);
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  conversations json;
begin
  with notices as materialized (
    select
      conversation_id, unread, null::bigint as step_id,
      private.notice_of(
        person => user_id, event => 'message.created', conversation => conversation_id, first_id => 1,
        last_id => last_message_id
      ) as notice
    from private.inbox_entries
    where user_id = entry.user_id and unread > 0
    union all
    select
      conversation_id, 0, id,
      private.notice_of(
        person => entry.user_id, event => 'reservation.changed', conversation => conversation_id, first_id => id,
        last_id => id
      )
    from public.reservation_history
    where id in (select unnest(steps) from private.silences where user_id = entry.user_id)
  ),
  told as (
    select
      conversation_id, max(unread) as unread, max((notice).id) filter (where step_id is null) as message_id,
      max((notice).content) as content,
      (array_agg(notice order by step_id desc) filter (where step_id is not null))[1] as step
    from notices
    where (notice).id is not null
    group by conversation_id
  )
  select json_agg(
    json_build_object(
      'conversation_id', conversation_id,
      'name', private.quote((private.partner_in(entry.user_id, conversation_id)).name), 'unread', unread,
      'status', (step).status, 'title', private.quote((step).title), 'date', private.iso((step).date),
      'text', case when chosen.previews then private.quote(content, 160) end
    )
    order by message_id desc nulls last, conversation_id desc
  )
  into conversations
  from told;
  return case when chosen.email and recipient.email <> '' and conversations is not null then json_build_object(
    'id', entry.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', entry.key,
    'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
    'time_zone', chosen.time_zone, 'conversations', conversations, 'request', entry.request
  ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.match_words (
  ids           bigint[],
  neighbour_ids bigint[],
  asked         private.search_query
)
  RETURNS TABLE (
    profile_id    bigint,
    coverage      double precision,
    words_matched bigint,
    names_missing double precision,
    has_all       boolean,
    in_name       boolean,
    is_name       boolean,
    lives         boolean,
    lacks         boolean
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
#variable_conflict use_column
declare
  all_rarity constant double precision := (select sum(unit.rarity) from unnest(asked.units) as unit);
  -- Of more than one word, and where no place is asked for, so that the name of a place is not one of a person.
  name_words constant tsquery := (
    select case when count(*) > 1 and asked.home is null then private.all_of((
      private.lexeme(word) || ':A' || case when word || '*' = any (unit.loose) then '*' else '' end
    )::tsquery) end
    from unnest(asked.units) as unit
    cross join unnest(unit.words) as word
  );
  neighbours constant tsquery := (
    select private.all_of(one.exact_query <-> other.query)
    from unnest(asked.units) as one
    join unnest(asked.units) as other on other.number = one.number + 1
    where one.place is null and other.place is null
  );
begin
  return query
    select
      stored.profile_id, case when are_apart then 0.97 * share else share end as coverage, words_matched, names_missing,
      least_worth > 0 as has_all, least_worth = 1 or is_name or has_name_words as in_name, is_name, lives, lacks
    from private.search_words as stored
    -- One after the other for each profile: a join with the units copied the words of all of them.
    cross join lateral (
      select
        coalesce(sum(worth * rarity) / all_rarity, 0) as share,
        count(*) filter (where worth > 0) as words_matched,
        coalesce(sum(rarity) filter (where is_named and worth = 0) / all_rarity, 0) as names_missing,
        coalesce(min(worth), 0) as least_worth
      from (
        select rarity, is_named, case
          when ts_match_vq(stored.words, exact_query) then private.weight_value(stored.words, exact_query)
          when ts_match_vq(stored.words, query) then 0.8 * private.weight_value(stored.words, query)
          else 0
        end as worth
        from unnest(asked.units)
        -- Else once for each of the sums.
        offset 0
      ) as worths
    ) as by_unit
    cross join lateral (
      select
        coalesce(ts_match_vq(stored.words, asked.called_so), false) as is_name,
        coalesce(ts_match_vq(stored.words, name_words), false) as has_name_words,
        coalesce(ts_match_vq(stored.words, asked.home), true) as lives,
        coalesce(ts_match_vq(stored.words, asked.lacking), false) as lacks,
        not coalesce(ts_match_vq(stored.words, neighbours), true) as are_apart
    ) as person
    where stored.profile_id = any (ids)
      and (words_matched > 0 or lacks or stored.profile_id = any (neighbour_ids) or cardinality(asked.units) = 0)
    order by is_name desc, lives desc, in_name desc, coverage desc, profile_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.newest_change (
  person   bigint,
  snapshot pg_snapshot
)
  RETURNS private.changes
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select row(user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind)::private.changes
    from private.changes_by_reader
    where reader_id = person
      and xid < pg_snapshot_xmax(snapshot)
      and pg_visible_in_snapshot(xid, snapshot)
      and id > (select last_id from private.changes_origin)
    order by xid desc, id desc limit 1
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.notice_of (
  person       bigint,
  event        text,
  conversation bigint,
  first_id     bigint,
  last_id      bigint
)
  RETURNS private.notice
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  notice private.notice;
  message bigint;
begin
  -- Another kind of event raises case_not_found.
  case event
    when 'message.created' then
      select latest.id, null, latest.content, null, null::timestamptz into notice
      from (
        select *
        from public.messages
        where conversation_id = conversation and id between first_id and last_id and user_id <> person and not read
        order by id desc limit 1
      ) as latest
      join public.users on users.id = latest.user_id and users.is_active;
      message := notice.id;
    when 'reservation.changed' then
      select step.reservation_id, step.status, null, step.title, step.date into notice
      from public.reservation_history as step
      where step.id = last_id and step.conversation_id = conversation and step.by_id is distinct from person
        and not exists (
          select from public.reservation_history as later
          where later.reservation_id = step.reservation_id and later.id > step.id and later.by_id = person
        )
        -- Reservations have no read marker. Whoever has read or written a later message there has seen the step. What
        -- was taken back may not have been read.
        and not exists (
          select
          from (
            select * from public.messages where conversation_id = conversation order by id desc limit 100
          ) as latest
          where latest.created_at > step.created_at
            and (latest.user_id = person or latest.read and latest.deleted_at is null)
        );
  end case;
  return case when exists (
    select
    from public.conversations
    join private.inbox_entries on conversation_id = conversations.id and user_id = person
    where conversations.id = conversation
      and exists (select from public.users where id = person and is_active)
      and not private.is_blocked_between(voyager_id, local_id)
      -- Of a message archived before, of anything else now.
      and coalesce(archived_id < message, not is_archived)
      and (muted_until <= now()) is not false
  ) then notice end;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_reservation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  participants bigint[];
  settled public.reservations;
  -- What write_reservation says.
  step constant jsonb := nullif(current_setting('api.reservation_step', true), '');
  moment constant timestamptz := coalesce((step ->> 'moment')::timestamptz, private.present());
begin
  select array[local_id, voyager_id] into participants from public.conversations where id = new.conversation_id;
  new.host_id := coalesce(new.host_id, participants[1]);
  if tg_op = 'INSERT' then
    new.revision := 1;
    new.updated_at := new.created_at;
  else
    new.revision := old.revision + (
      (new.title, new.price, new.date, new.ends_at) is distinct from (old.title, old.price, old.date, old.ends_at)
    )::integer;
    if new.conversation_id <> old.conversation_id then
      new.host_id := case when new.host_id = any (participants) then new.host_id else participants[1] end;
      new.offered_by := case when new.offered_by = any (participants) then new.offered_by end;
    end if;
    settled := private.reservation_at(old, moment);
    new.status := case when new.status = old.status then settled.status else new.status end;
    new.updated_at := moment;
    if settled.status <> old.status
      and (new.conversation_id, new.revision, new.status, new.host_id)
        = (old.conversation_id, old.revision, settled.status, old.host_id) then
      new.updated_at := settled.updated_at;
    elsif settled.status <> old.status then
      -- An admin was quicker than the schedule. The step of the clock comes first.
      perform private.add_to_history(settled, null, null);
    end if;
  end if;
  if not new.host_id = any (participants) then
    raise check_violation using
      message = 'host_id is not a participant', constraint = 'host_id must be one of the two participants';
  elsif not new.offered_by = any (participants) then
    raise check_violation using
      message = 'offered_by is not a participant', constraint = 'offered_by must be one of the two participants';
  elsif new.status = 'accepted' and new.ends_at is not null then
    perform private.lock_host(new.host_id);
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.push_job (
  entry private.outbox
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  notice constant private.notice := private.notice_of(
    person => entry.user_id, event => entry.event, conversation => entry.conversation_id, first_id => entry.first_id,
    last_id => entry.subject_id
  );
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  device constant private.devices := (
    select devices from private.devices where user_id = entry.user_id and id = entry.device_id
  );
begin
  return case when device.id is not null and notice.id is not null and chosen.push then json_build_object(
    'id', entry.id, 'receivers', private.push_receivers(device), 'endpoint', device.endpoint,
    'keys', json_build_object('p256dh', device.p256dh, 'auth', device.auth), 'subject', entry.subject_id,
    'request', entry.request,
    'data', json_build_object(
      'type', entry.event, 'conversation_id', entry.conversation_id, 'id', notice.id,
      'name', private.quote((private.partner_in(entry.user_id, entry.conversation_id)).name),
      'unread', (
        select unread from private.inbox_entries
        where (user_id, conversation_id) = (entry.user_id, entry.conversation_id)
      ),
      'status', notice.status, 'title', case when chosen.previews then private.quote(notice.title) end,
      'date', private.iso(notice.date),
      'text', case when chosen.previews then private.quote(notice.content, 160) end
    )
  ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_exclusion (
  part   private.query_word,
  phrase text[],
  places private.place_name[],
  OUT    excluded tsquery,
  OUT    lacking tsquery
)
  RETURNS record
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
declare
  living constant tsquery := (
    select private.any_of(private.any_term(private.tags_of(ids)))
    from unnest(places)
    where candidate = array_to_string(phrase, ' ') and not is_adjective
  );
  -- Singular for plural, and the other way round.
  forms constant text[] :=
    part.variants || phrase[1] || regexp_replace(phrase[1] || 's', '(.)ss$', '\1')
    || ts_lexize('english_stem', phrase[1]);
begin
  if not part.is_denied then
    excluded := private.phrase(phrase);
  elsif living is null or not part.is_where then
    lacking := (select private.all_of(private.any_term(array['~no ' || word])) from unnest(phrase) as word);
    if cardinality(phrase) = 1 then
      lacking := lacking || private.any_term(array(select '~no ' || ltrim(form, '~') from unnest(forms) as form));
      -- Not in names, which look like many a word.
      excluded := (
        select private.any_of((private.lexeme(form) || ':BCD')::tsquery) from unnest(forms) as form where form !~ '^~'
      );
    end if;
    excluded := coalesce(private.phrase(phrase) || excluded, private.phrase(phrase)) && !!lacking;
  end if;
  excluded := coalesce(excluded || living, excluded, living);
end
$function$;

create function private.holders_of(unit private.search_unit)
returns double precision
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    -- All the words of a phrase, as the rarest of them.
    when unit.place is null and cardinality(unit.words) > 1
      then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
    else coalesce(
      nullif((private.word_counts(unit.exact)).holders, 0),
      (private.word_counts(case when unit.place is null then unit.loose end)).holders
    )
  end;
end
$$;
comment on function private.holders_of(private.search_unit) is 'How many profiles have what a unit looks for, at most.';

REVOKE ALL ON FUNCTION "private"."holders_of"(private.search_unit) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."holders_of"(private.search_unit) TO "postgres";

CREATE OR REPLACE FUNCTION private.read_query (
  typed jsonb
)
  RETURNS private.search_query
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  profiles constant double precision := private.count_profiles();
  unsaid constant private.query_word :=
    row(null, null, false, false, false, false, false, false, false, false, false, false, '{}')::private.query_word;
  words private.query_word[] :=
    array(select jsonb_populate_record(unsaid, word) from jsonb_array_elements(typed) as word);
  places constant private.place_name[] := array(
    select place
    from private.places_named(array(
      select array_to_string(array(select word from unnest(words[first:final])), ' ')
      from generate_subscripts(words, 1) as first
      cross join generate_series(first, least(first + 7, cardinality(words))) as final
    )) as place
  );
  -- "the and of" asks for nobody, unless it is a name: An Will.
  are_light constant boolean := cardinality(words) > 1 and not exists (select from unnest(words) where not is_light);
  part private.query_word;
  unit private.search_unit;
  place private.search_unit;
  term text;
  phrase text[];
  pieces text[];
  where_words text[];
  exclusion record;
  size integer;
  at integer := 1;
  asked private.search_query := row('{}', null, '[]', '[]', '{}', null, null, null);
begin
  while at <= cardinality(words) loop
    part := words[at];
    phrase := array(select word from unnest(words[at:]) where run = part.run);
    if part.excluded then
      size := cardinality(phrase);
      exclusion := private.read_exclusion(part => part, phrase => phrase, places => places);
      asked.excluded := (select private.any_of(query) from unnest(array[asked.excluded, exclusion.excluded]) as query);
      asked.lacking := (select private.any_of(query) from unnest(array[asked.lacking, exclusion.lacking]) as query);
    else
      unit := private.read_place(words, at, places);
      size := cardinality(unit.words);
      if size is null and part.run is not null then
        size := cardinality(phrase);
        unit := null;
        unit.words := phrase;
        unit.exact := phrase;
        unit.loose := array_remove(array[private.latin_spelling(array_to_string(phrase, ''))], null);
        unit.exact_query := private.phrase(phrase);
        unit.query := coalesce(unit.exact_query || private.any_term(unit.loose), unit.exact_query);
      elsif size is null then
        term := part.word || case when part.unfinished then '*' else '' end;
        pieces := case
          when not part.is_known and (private.word_counts(array[term])).holders = 0
            then coalesce(private.split_of(part.word), private.hangul_name(part.word))
        end;
        if pieces is not null then
          part.is_known := true;
          words := words[:at - 1] || array(
            select jsonb_populate_record(part, jsonb_build_object('word', piece)) from unnest(pieces) as piece
          ) || words[at + 1:];
          continue;
        end if;
        size := 1;
        unit := private.read_word(
          part => part, places => places, names_only => are_light,
          others => array(
            select joined
            from unnest(array[(words[at - 1]).word || part.word, part.word || (words[at + 1]).word]) as joined
            where private.is_listed(joined)
          )
        );
        if unit.corrected is not null then
          asked.corrections := asked.corrections || jsonb_build_object('from', part.word, 'to', unit.corrected);
          -- in Madrdi
          words[at].word := unit.corrected;
          place := private.read_place(
            words, at, array(select named from private.places_named(array[unit.corrected]) as named)
          );
          if place.words is not null then
            unit := place;
          end if;
        elsif not part.is_known and (private.word_counts(unit.exact || unit.loose)).holders = 0 then
          asked.unknown := asked.unknown || part.word;
        end if;
      end if;
      unit.number := cardinality(asked.units) + 1;
      unit.quoted := part.quoted;
      if not exists (select from unnest(asked.units) as other where other.words = unit.words) then
        unit.rarity := ln(1 + profiles / greatest(1, least(profiles, private.holders_of(unit))));
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
  where_words := array(select word from unnest(words) where is_where or is_near);
  part := words[cardinality(words)];
  unit := asked.units[cardinality(asked.units)];
  -- Of a word with up to three letters, nobody knows whether it is one already, unless somebody has it.
  if part.unfinished and part.word || '*' = any (unit.loose) and unit.corrected is null
    and (part.is_light or not part.is_known or char_length(part.word) <= 3 and not private.is_listed(part.word)) then
    asked.completions :=
      coalesce(private.complete_word(part.word, asked.units[:cardinality(asked.units) - 1]), asked.completions);
  end if;
  select
    private.lexeme(private.facet('name', string_agg(array_to_string(wanted.words, ' '), ' ')))::tsquery,
    private.any_of(coalesce(wanted.exact_query || namesakes, wanted.exact_query)) filter (where wanted.is_home)
  into asked.called_so, asked.home
  from unnest(asked.units) as wanted
  -- "Florence midwife": one of that name with all the rest is as good as who lives there.
  cross join lateral (
    select private.all_of(query) && (private.lexeme(wanted.words[1]) || ':A')::tsquery as namesakes
    from unnest(asked.units)
    where cardinality(asked.units) > 1 and cardinality(wanted.words) = 1 and wanted.words[1] <> all (where_words)
  ) as named;
  return asked;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_inbox()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into private.inbox_entries (conversation_id, user_id, active_at)
  select id, unnest(array[voyager_id, local_id]), created_at from public.conversations
  on conflict do nothing;
  perform private.refresh_entries(id) from public.conversations;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_block()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  block constant private.blocks := coalesce(new, old);
  conversation constant bigint := (
    select id
    from public.conversations
    where least(voyager_id, local_id) = least(block.blocker_id, block.blocked_id)
      and greatest(voyager_id, local_id) = greatest(block.blocker_id, block.blocked_id)
  );
begin
  perform private.record_change('state', conversation, conversation, actor => block.blocker_id);
  perform private.broadcast_to_users(
    event => 'block.changed', conversation => conversation, id => null, previous_id => null,
    user_id => block.blocked_id, one => block.blocker_id, other => null
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_change (
  kind         private.change_kind,
  conversation bigint,
  entity       bigint,
  actor        bigint              DEFAULT NULL::bigint,
  event        text                DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  one bigint;
  other bigint;
begin
  select voyager_id, local_id into one, other from public.conversations where id = conversation;
  if not found then
    return;
  elsif kind = 'state' or actor is not null and private.is_blocked_between(one, other) then
    one := actor;
    other := null;
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (one, other, record_change.kind, conversation, entity);
  if event is not null then
    perform private.broadcast_to_users(
      event => event, conversation => conversation, id => entity, user_id => actor, one => one, other => other,
      previous_id => (
        select max(id) from public.messages
        where record_change.kind in ('read', 'message.changed') and conversation_id = conversation and id < entity
      )
    );
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_own_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.record_reservation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  step constant jsonb := nullif(current_setting('api.reservation_step', true), '');
begin
  if tg_op <> 'DELETE'
    and (new.conversation_id, new.revision, new.status, new.host_id)
      is distinct from (old.conversation_id, old.revision, old.status, old.host_id) then
    perform private.add_to_history(new, (step ->> 'by_id')::bigint, step ->> 'note');
  end if;
  perform private.record_change('reservation', concerned.conversation_id, concerned.id, event => 'reservation.changed')
  from (
    select old.conversation_id, old.id
    union
    select new.conversation_id, new.id
  ) as concerned (conversation_id, id)
  where concerned.id is not null;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.refresh_entries (
  conversation bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  AS $function$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for. In the order of the
  -- primary key, so that two such functions do not wait for each other.
  perform from private.inbox_entries where conversation_id = conversation order by user_id for no key update;
  update private.inbox_entries as entries
  set
    last_message_id = coalesce(latest.id, 0),
    active_at = coalesce(latest.created_at, conversations.created_at),
    unread = (
      select count(*) from public.messages
      where conversation_id = conversation and messages.user_id <> entries.user_id and not read
    ),
    has_written = has_written or exists (
      select from public.messages where conversation_id = conversation and messages.user_id = entries.user_id
    )
  from public.conversations
  left join lateral (
    select id, created_at
    from public.messages
    where messages.conversation_id = conversations.id
    order by id desc
    limit 1
  ) as latest on true
  where conversations.id = conversation and entries.conversation_id = conversation;
end
$function$;

CREATE OR REPLACE FUNCTION private.refuse_change()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if tg_op = 'DELETE' and pg_trigger_depth() > 1 then
    return null;
  end if;
  raise exception using message = tg_argv[0], errcode = coalesce(tg_argv[1], '42501'), hint = coalesce(tg_argv[2], '');
end
$function$;

CREATE OR REPLACE FUNCTION private.reservations_with_history (
  conversation bigint,
  reservation  bigint
)
  RETURNS TABLE (
    body json
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select row_to_json(entry)
  from (
    select
      view.*,
      array(
        select json_build_object(
          'status', status, 'by', by_id, 'note', note, 'title', title, 'price', price, 'date', private.iso(date),
          'ends_at', private.iso(ends_at), 'createdAt', private.iso(created_at)
        )
        from (
          select id, status, by_id, note, title, price, date, ends_at, created_at
          from public.reservation_history
          where reservation_id = stored.id and conversation_id = stored.conversation_id
          union all
          -- The step of the clock, as it will be written.
          select
            null, settled.status, null, null, stored.title, stored.price, stored.date, stored.ends_at,
            settled.updated_at
          where settled.status <> stored.status
        ) as step
        order by step.id nulls last
      ) as history
    from public.reservations as stored
    cross join private.present() as moment
    cross join lateral private.reservation_at(stored, moment) as settled
    cross join lateral private.to_reservation_view(settled) as view
    where stored.conversation_id = conversation and (reservation is null or stored.id = reservation)
    order by stored.date, stored.id
  ) as entry
$function$;

CREATE OR REPLACE FUNCTION private.score_profiles (
  ids             bigint[],
  neighbour_ids   bigint[],
  asked           private.search_query,
  model           private.search_models,
  query_vector    extensions.halfvec,
  context_vector  extensions.halfvec,
  semantic_weight double precision
)
  RETURNS TABLE (
    profile_id    bigint,
    score         double precision,
    keyword       double precision,
    cosine        double precision,
    semantic      double precision,
    context       double precision,
    coverage      double precision,
    words_matched bigint,
    names_missing double precision,
    in_name       boolean,
    is_name       boolean,
    lives         boolean,
    lacks         boolean
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO 'extensions'
  AS $function$
#variable_conflict use_column
declare
  has_words constant boolean := cardinality(asked.units) > 0;
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  -- With 60 the labelled sets have the same order.
  max_compared constant integer := case when has_words then 100 else 1000 end;
begin
  return query
    with matches as materialized (
      select *, profile_id = any (neighbour_ids) or ordinality <= max_compared as is_compared
      from private.match_words(ids, neighbour_ids, asked) with ordinality
    ),
    -- `offset 0`, here and below: each step gets columns, which are computed once. Lateral joins take 2 µs more a row.
    near as (
      select profile_id, (whole + coalesce(sentence, whole)) / 2 as cosine, context_cosine
      from (
        select
          profile_id, 1 - (embedding <=> query_vector) as whole, 1 - (embedding <=> context_vector) as context_cosine,
          (
            select max(1 - (part.embedding <=> query_vector))
            from private.search_sentences as part
            where has_words and query_vector is not null and part.profile_id = entry.profile_id
          ) as sentence
        from private.search_entries as entry
        where coalesce(query_vector, context_vector) is not null and entry.model = model.name
          and profile_id = any (array(select profile_id from matches where is_compared))
        offset 0
      ) as similarities
    ),
    parts as (
      select
        *,
        -- Without words every profile is a hit, with score 1 unless its nearness ranks it.
        case
          when has_words and asked.lacking is not null then ((2 * coverage + lacks::integer) / 3) ^ 2
          when has_words then coverage ^ 2
          when lacks then 1
          else (query_vector is null)::integer
        end as keyword,
        -- 0 without a cosine, since greatest() ignores nulls. No embedding has names, so the share of the query that
        -- its missing names have is taken off.
        (1 - names_missing) * least(1, greatest(
          0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor)
        )) as semantic,
        -- Squared, because many strangers are somewhat alike.
        case when lacks then 1 else least(1, greatest(
          0, (context_cosine - model.similarity_threshold) / (model.similarity_ceiling - model.similarity_threshold)
        )) ^ 2 end as context
      from matches
      left join near using (profile_id)
      offset 0
    ),
    weighed as (
      -- An entry without a vector (such as one whose words the model does not know) is scored by words alone.
      select *, 1 - keyword - (semantic - keyword) * case
        when is_compared and cosine is null then 0 else semantic_weight
      end as missing
      from parts
      -- A name means nothing, so nobody is near to it.
      where not has_words or keyword > 0 or cosine >= model.similarity_threshold and semantic > 0
      offset 0
    ),
    ranked as (
      -- Whoever has all the words gets .15 of what is missing to 1.
      select *, private.shown_score(
        case when in_name then 1 when has_all then 1 - 0.85 * missing else 1 - missing end, semantic_weight
      ) as shown
      from weighed
      offset 0
    ),
    -- The context decides among people whom the query leaves about equal. Rejected: a fifth of what is missing to 1,
    -- which moves nobody at the top (18 of the 32 callers of tests/search/tastes saw their own kind first, now 27).
    own as (
      select *, shown + context * least(
        0.1 * shown, 0.9 * (case when keyword > 0 or lacks then 1 else 0.699::double precision end - shown)
      ) as own_score
      from ranked
    ),
    scored as (
      select *, case
        -- Whoever does not mention what alone is denied may have it.
        when not has_words and asked.lacking is not null and not lacks then 0.5 * own_score
        when asked.home is null or in_name then own_score
        -- Who lives in the place has .5 or more, the others less.
        when lives then 0.5 + 0.5 * own_score
        else 0.499 * own_score
      end as score
      from own
    )
    select
      profile_id, case when is_compared then score else least(score, min(score) filter (where is_compared) over ()) end,
      keyword, cosine, semantic, context, coverage, words_matched, names_missing, in_name, is_name, lives, lacks
    from scored;
end
$function$;

CREATE OR REPLACE FUNCTION private.set_restriction (
  person      bigint,
  restriction text,
  is_on       boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if restriction is null or restriction not in ('hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'restriction: must be hide or suspend';
  end if;
  perform private.lock_person(person);
  if restriction = 'suspend' then
    update public.users
    set is_active = not is_on
    where id = person and is_active = is_on and confirmed_at is not null and erased_at is null;
  else
    update public.profiles
    set is_hidden = is_on, is_searchable = is_searchable and not is_on
    where user_id = person and is_hidden <> is_on;
  end if;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION private.settle_reservations()
  RETURNS integer
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  with due as materialized (
    select id
    from public.reservations
    where due_at <= (select private.present())
    order by due_at
    limit 500
    -- What somebody is about to change is left for the next time.
    for no key update skip locked
  ),
  -- prepare_reservation sets the status.
  settled as (
    update public.reservations set status = reservations.status from due where reservations.id = due.id returning due.id
  )
  select count(*)::integer from settled
$function$;

CREATE OR REPLACE FUNCTION private.shown_spellings (
  spellings  jsonb,
  hidden_ids bigint[]
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select coalesce(json_agg(spelling order by place), '[]')
    from jsonb_array_elements(spellings) with ordinality as listed (spelling, place)
    where not exists (
      select
      from unnest(private.words_of(spelling ->> 'to')) as word
      where not exists (
        select from private.search_words where words @@ private.lexeme(word)::tsquery and profile_id <> all (hidden_ids)
      )
    )
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.store_reply (
  noun      text,
  client_id uuid,
  request   jsonb,
  body      json,
  metadata  jsonb DEFAULT '{}'::jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if store_reply.client_id is not null then
    insert into private.stored_replies (user_id, noun, client_id, request_hash, body, metadata)
    values (
      private.my_id(), store_reply.noun, store_reply.client_id, private.hash_request(request), store_reply.body,
      store_reply.metadata
    );
  end if;
  perform private.set_response_metadata(store_reply.metadata);
  return store_reply.body;
end
$function$;

CREATE OR REPLACE FUNCTION private.to_reservation_view (
  reservation public.reservations
)
  RETURNS private.reservation_view
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select row(
    reservation.id, reservation.conversation_id, reservation.title, reservation.price,
    private.iso(reservation.date), private.iso(reservation.ends_at), reservation.status, reservation.host_id,
    reservation.offered_by, reservation.revision, private.iso(reservation.created_at),
    private.iso(reservation.updated_at)
  )::private.reservation_view
$function$;

CREATE OR REPLACE FUNCTION private.warnings_of (
  person bigint
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select to_jsonb(array(
    select jsonb_build_object('reason', reason, 'createdAt', private.iso(resolved_at))
    from public.reports
    where user_id = person and is_told
    order by resolved_at desc
  ))
$function$;

CREATE OR REPLACE FUNCTION private.webhook_job (
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
      select json_build_object(
        'conversation_id', conversation_id, 'id', id, 'user_id', user_id,
        'recipient_id', (private.partner_in(user_id, conversation_id)).id
      )
      into data
      from public.messages where id = entry.subject_id;
    when 'conversation.created' then
      select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id) into data
      from public.conversations where id = entry.subject_id;
    when 'reservation.changed' then
      select json_build_object(
        'conversation_id', conversation_id, 'id', reservation_id, 'status', status, 'user_id', by_id
      )
      into data
      from public.reservation_history where id = entry.subject_id;
    when 'report.created' then
      select json_build_object('id', id, 'reason', reason, 'reporter_id', reporter_id, 'user_id', user_id) into data
      from public.reports where id = entry.subject_id;
    when 'user.erased' then
      data := json_build_object('user_id', entry.subject_id);
  end case;
  return case when data is not null then json_build_object(
    'id', entry.id, 'key', entry.key, 'type', entry.event, 'timestamp', private.iso(entry.created_at), 'data', data,
    'request', entry.request
  ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.weight_value (
  words tsvector,
  query tsquery
)
  RETURNS double precision
  LANGUAGE sql
  IMMUTABLE PARALLEL SAFE
  AS $function$
  -- The best weight decides the order of magnitude of the rank.
  select ('{0.92, 0.96, 0.98, 1}'::double precision[])[
    1 + width_bucket(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), array[1e-15, 1e-9, 1e-3])
  ]
$function$;

CREATE OR REPLACE FUNCTION private.words_vector (
  profile   public.profiles,
  name      text,
  interests text[]
)
  RETURNS tsvector
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    with texts (number, weight, value) as (
      values
        (1, 'A', name), (2, 'A', profile.first_name), (3, 'A', profile.last_name), (4, 'C', profile.city),
        (5, 'C', profile.country), (1000, 'D', profile.biography), (1001, 'D', profile.languages)
      union all
      select 5 + ordinality, 'B', interest from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    words (word, weight, position) as (
      (
        -- Two positions lie between two texts, so that no phrase reaches across them. A tsvector has 16,383, and some
        -- characters fold into many words.
        select word, weight, 2 * number + row_number() over (order by number, place)
        from texts
        cross join lateral unnest(private.words_of(value)) with ordinality as listed (word, place)
        order by number, place
        limit 14000
      )
      union all
      -- Names as other scripts spell them. One consonant is no name.
      select spelling, weight, 16383
      from texts
      cross join lateral regexp_split_to_table(private.fold(value), '[[:space:][:punct:]]+') as part
      cross join lateral unnest(array[
        private.latin_spelling(part), private.consonants(part), private.consonants(substring(part from '^ال(.+)'))
      ] || string_to_array(private.hangul_spelling(part), ' ')) as spelling
      where weight = 'A' and spelling !~ '^~\w+ .?$'
      union all
      select '@in ' || tag, 'C', 16383 from unnest(private.place_tags(profile.city, profile.country)) as tag
    )
    select coalesce(string_agg(private.lexeme(word) || ':' || position || weight, ' '), '') from words
  )::tsvector || array_to_tsvector(array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union
    select unnest(private.denied_words(array_to_string(interests || profile.biography, '. ')))
    union
    select private.facet('name', array_to_string(private.words_of(name), ' '))
    union
    select private.facet('city', profile.city) where profile.city is not null
    union
    select private.facet('country', profile.country) where profile.country is not null
    union
    select private.facet('age', coalesce(profile.age::text, 'unknown'))
  ));
end
$function$;

CREATE OR REPLACE FUNCTION public.describe_queues()
  RETURNS TABLE (
    queue          text,
    waiting        bigint,
    oldest_seconds double precision,
    dead           bigint
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select 'reports', count(*), coalesce(extract(epoch from now() - min(created_at)), 0)::float8, null
  from public.reports where resolved_at is null
  union all
  (
    select
      name, count(*) filter (where attempts < 8),
      greatest(0, extract(epoch from max(
        private.present() - case channel when 'person' then due_at else created_at end
      ) filter (where attempts < 8)))::float8,
      count(*) filter (where attempts >= 8)
    from unnest(array['person', 'push', 'mail', 'webhook']) with ordinality as channels (name, place)
    left join private.outbox on channel = name
    group by name, place
    order by place
  )
  union all
  select 'embeddings', counts.waiting, oldest, counts.dead
  from json_to_record(private.describe_search()) as counts (waiting bigint, oldest float8, dead bigint)
$function$;

CREATE OR REPLACE FUNCTION public.find_people (
  query      text,
  restricted boolean DEFAULT false
)
  RETURNS TABLE (
    id            bigint,
    name          text,
    email         text,
    status        text,
    is_hidden     boolean,
    is_searchable boolean,
    bio           text,
    location      text,
    role          text,
    created_at    timestamp with time zone,
    reports       bigint,
    upheld        bigint
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
#variable_conflict use_column
declare
  wanted constant text := private.fold(trim(coalesce(query, '')));
begin
  return query
    select
      users.id, users.name, users.email,
      case
        when users.erased_at is not null then 'erased'
        when users.confirmed_at is null then 'pending'
        when users.is_active then 'active'
        else 'suspended'
      end,
      coalesce(is_hidden, false), coalesce(is_searchable, false), bio, location, role, users.created_at,
      about.reports, about.upheld
    from public.users
    left join public.profiles on profiles.user_id = users.id
    cross join lateral (
      select count(*) as reports, count(*) filter (where resolution <> 'dismiss') as upheld
      from public.reports where reports.user_id = users.id
    ) as about
    where (
        users.id::text = wanted
        or wanted !~ '^[0-9]+$' and position(wanted in private.fold(users.name || E'\n' || users.email)) > 0
      )
      and (
        restricted is not true
        or is_hidden
        or not users.is_active and users.confirmed_at is not null and users.erased_at is null
      )
    order by users.id desc limit 50;
end
$function$;

CREATE OR REPLACE FUNCTION public.read_evidence (
  report bigint
)
  RETURNS TABLE (
    message_id     bigint,
    sent_at        timestamp with time zone,
    sender_id      bigint,
    is_by_reported boolean,
    content        text,
    attachment     jsonb
  )
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  about constant public.reports := (select reports from public.reports where id = report);
begin
  if about.id is null then
    raise sqlstate 'PT404' using message = 'Report not found';
  end if;
  perform private.log_moderation(action => 'read evidence', report => report, person => about.user_id, note => null);
  return query
    select
      evidence.message_id, evidence.sent_at,
      case when evidence.is_by_reported then about.user_id else about.reporter_id end,
      evidence.is_by_reported, evidence.content, evidence.attachment
    from private.report_evidence as evidence
    where evidence.report_id = about.id
    order by evidence.message_id;
end
$function$;

CREATE VIEW "public"."moderation_queue" WITH (security_invoker=true) AS  SELECT reports.id AS report,
    person.name AS person,
    reports.reason,
    reports.note,
    earlier.reports AS earlier_reports,
    earlier.dismissed AS earlier_dismissed,
    earlier.upheld AS earlier_upheld,
    (EXISTS ( SELECT
           FROM public.profiles
          WHERE ((profiles.user_id = person.id) AND profiles.is_hidden))) AS is_hidden,
    person.is_active,
    reporter.name AS reporter,
    reports.created_at,
    reports.message_id,
    reports.shares_messages,
    person.id AS person_id,
    reporter.id AS reporter_id
   FROM (((public.reports
     JOIN public.users person ON ((person.id = reports.user_id)))
     JOIN public.users reporter ON ((reporter.id = reports.reporter_id)))
     CROSS JOIN LATERAL ( SELECT count(*) AS reports,
            count(*) FILTER (WHERE (others.resolution = 'dismiss'::text)) AS dismissed,
            count(*) FILTER (WHERE (others.resolution <> 'dismiss'::text)) AS upheld
           FROM public.reports others
          WHERE ((others.user_id = reports.user_id) AND (others.id < reports.id))) earlier)
  WHERE (reports.resolved_at IS NULL)
  ORDER BY reports.id;

CREATE TRIGGER protect_moderation_log
  BEFORE DELETE OR UPDATE OR TRUNCATE ON public.moderation_log
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.refuse_change('The moderation log is append-only');

CREATE TRIGGER keep_profile_hidden
  BEFORE INSERT OR UPDATE OF is_searchable, is_hidden ON public.profiles
  FOR EACH ROW
  WHEN ((new.is_searchable AND new.is_hidden))
  EXECUTE FUNCTION private.refuse_change('An administrator has hidden this profile', 'PT403', 'hidden');

CREATE TRIGGER protect_is_hidden
  BEFORE UPDATE OF is_hidden ON public.profiles
  FOR EACH ROW
  WHEN (((new.is_hidden <> old.is_hidden) AND (CURRENT_USER = 'service_role'::name)))
  EXECUTE FUNCTION private.refuse_change('Call restrict_person() or lift_restriction(), which log whom and why');

CREATE TRIGGER protect_history
  BEFORE DELETE OR UPDATE OR TRUNCATE ON public.reservation_history
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.refuse_change('The history of reservations is append-only');

COMMENT ON COLUMN "public"."profiles"."is_hidden" IS 'Whether an admin has hidden it, until public.lift_restriction().';

COMMENT ON FUNCTION "api"."counter_reservation"(bigint, bigint, integer, jsonb, integer) IS 'Takes the step counter. Definer, as step_reservation.';

COMMENT ON FUNCTION "api"."delete_device"(uuid) IS 'Removes a caller''s device, if it is there. Definer, as list_devices.';

COMMENT ON FUNCTION "api"."get_notification_settings"() IS 'The caller''s settings, with the defaults. Definer, because callers have no grant on them.';

COMMENT ON FUNCTION "api"."set_interests"(jsonb) IS 'Sets the caller''s interests to {ids}. Definer, as update_profile.';

COMMENT ON FUNCTION "api"."set_searchable"(boolean) IS 'Lists the caller in the search. Definer, as update_profile.';

COMMENT ON FUNCTION "private"."back_off"(integer) IS 'How long the next attempt waits after so many earlier ones: 15 s to 22 s, more than the 12 s that a worker has for a
row; three times longer each time, up to 3 to 4 hours. Eight attempts take 5 hours.';

COMMENT ON FUNCTION "private"."begin_sign_up"(text, text, jsonb) IS 'Returns {ticket, user_id, pending}: the account whose metadata holds the ticket gets id, name and fields; pending is
whether an unconfirmed account has the address, which stays until Auth has seen the CAPTCHA (check_sign_up). Raises
400 for unknown interests or more than 50. Definer, because edge_functions has no rights on the tables.';

COMMENT ON FUNCTION "private"."denied_words"(text) IS 'What interests and biography say not to have, do or like, as lexemes: the words up to five behind "no" or up to four
before "is forbidden", in nine languages, but not beyond a sentence or a "but". functions/users/query_words.ts has their
forms, and the deniers of queries.';

COMMENT ON FUNCTION "private"."finish_outbox"(jsonb) IS 'What became of claimed rows: [{id, outcome, reason, retry_after, subject}]. sent deletes the row, gone the device as
well, refused makes it a dead letter, and after failed the row stays due when claim has said, or after retry_after
seconds. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."hangul_spelling"(text) IS 'A Korean name in Latin letters; of three syllables, the first is the surname, and a word of its own. Else null.';

COMMENT ON FUNCTION "private"."hash_message"(public.messages) IS 'What tells a repeat from another message with its key.';

COMMENT ON FUNCTION "private"."hash_request"(jsonb) IS 'What tells a repeat from another request with the same key.';

COMMENT ON FUNCTION "private"."interest_ids"(jsonb) IS 'The ids of a JSON array or null, without duplicates. Raises 400 for more than 50, and names unknown ones.';

COMMENT ON FUNCTION "private"."lock_host"(bigint) IS 'Serializes acceptances of one host: Postgres may abort one of two checks of an exclusion constraint as a deadlock.';

COMMENT ON FUNCTION "private"."record_change"(private.change_kind, bigint, bigint, bigint, text) IS 'Logs a change for both participants, and broadcasts it if it has an event; a state, and across a block what one of
them does (actor), for that one alone. Nothing if the conversation is gone, of which they are told by itself.';

COMMENT ON FUNCTION "private"."refresh_entries"(bigint) IS 'Reads latest message and activity, and counts what is unread, after messages were read or an admin has changed them.
Unmarks nobody who has written.';

COMMENT ON FUNCTION "private"."refuse_change"() IS 'Refuses a change with this message, code and hint, by the owner of the table too, but what a trigger deletes, as that
of a foreign key.';

COMMENT ON FUNCTION "private"."reservations_with_history"(bigint, bigint) IS 'One reservation of a conversation, or all by date if its id is null, each with its steps up to now, oldest first.';

COMMENT ON FUNCTION "private"."settle_reservations"() IS 'Writes the steps of the clock that are due, 500 at most, and returns their number. Only then people are told.';

COMMENT ON FUNCTION "private"."store_reply"(text, uuid, jsonb, json, jsonb) IS 'Stores the first answer, if there is a key, sets its response metadata and returns it.';

COMMENT ON FUNCTION "private"."to_reservation_view"(public.reservations) IS 'A settled reservation as endpoints show it.';

COMMENT ON FUNCTION "private"."warnings_of"(bigint) IS 'What moderators have warned a person of, the latest first: all that the person learns of a report.';

COMMENT ON FUNCTION "public"."describe_queues"() IS 'How many entries of each queue wait, the age of the oldest in seconds, and dead letters. Definer, as find_people.';

COMMENT ON TABLE "private"."stored_replies" IS 'What was created with an idempotency key: a hash of the request, and its first answer, byte for byte. Each noun has
keys of its own.';

COMMENT ON TABLE "public"."profile_interests" IS 'Which profile has which interests.';

COMMENT ON VIEW "public"."moderation_queue" IS 'The open reports, oldest first, each with how many there were about the same person before, and how these ended.';

REVOKE ALL ON FUNCTION "api"."counter_reservation"(bigint, bigint, integer, jsonb, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."counter_reservation"(bigint, bigint, integer, jsonb, integer) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."delete_device"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."delete_device"(uuid) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."get_notification_settings"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_notification_settings"() TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."set_interests"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."set_interests"(jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."set_searchable"(boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."set_searchable"(boolean) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."back_off"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."back_off"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hangul_spelling"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hangul_spelling"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hash_message"(public.messages) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hash_message"(public.messages) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hash_request"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hash_request"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."lock_host"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_host"(bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_change"(private.change_kind, bigint, bigint, bigint, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_change"(private.change_kind, bigint, bigint, bigint, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_change"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_change"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reservations_with_history"(bigint, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reservations_with_history"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."settle_reservations"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."settle_reservations"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_reply"(text, uuid, jsonb, json, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_reply"(text, uuid, jsonb, json, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."to_reservation_view"(public.reservations) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."to_reservation_view"(public.reservations) TO "postgres";

REVOKE ALL ON FUNCTION "private"."warnings_of"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."warnings_of"(bigint) TO "postgres";

REVOKE ALL ON FUNCTION "public"."describe_queues"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."describe_queues"() TO "postgres", "service_role";

GRANT DELETE, INSERT, MAINTAIN, REFERENCES, SELECT, TRIGGER, TRUNCATE, UPDATE ON TABLE "public"."moderation_queue" TO "postgres";

REVOKE ALL ON TABLE "public"."moderation_queue" FROM "service_role";

GRANT SELECT ON TABLE "public"."moderation_queue" TO "service_role";

select private.schedule_jobs();
