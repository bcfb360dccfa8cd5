set local lock_timeout = '500ms';
select '[1]'::extensions.vector;
do $$
begin
  for attempt in 1..20 loop
    begin
      lock table private.outbox, private.search_entries, private.search_places, private.silences, private.stored_replies, public.hidden_profiles, public.messages, public.moderation_log, public.profile_interests, public.profiles, public.reports, public.reservation_history in access exclusive mode;
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

REVOKE ALL ON FUNCTION "private"."present"() FROM "authenticated";

REVOKE ALL ON FUNCTION "private"."reservation_at"(public.reservations, timestamp WITH time zone) FROM "authenticated";

REVOKE ALL ON FUNCTION "private"."to_page"(anyarray, bigint, bigint) FROM "authenticated";

REVOKE ALL ON FUNCTION "private"."to_reservation_view"(public.reservations) FROM "authenticated";

COMMENT ON COLUMN "private"."changes"."other_id" IS NULL;

COMMENT ON COLUMN "private"."changes"."user_id" IS NULL;

COMMENT ON COLUMN "private"."changes"."xid" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."attempts" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."due_at" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."failures" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."last_error" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."model" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."queued_at" IS NULL;

COMMENT ON COLUMN "private"."inbox_entries"."last_message_id" IS NULL;

COMMENT ON COLUMN "private"."outbox"."attempts" IS NULL;

COMMENT ON COLUMN "private"."outbox"."channel" IS NULL;

COMMENT ON COLUMN "private"."outbox"."due_at" IS NULL;

COMMENT ON COLUMN "private"."outbox"."first_id" IS NULL;

COMMENT ON COLUMN "private"."outbox"."key" IS NULL;

COMMENT ON COLUMN "private"."outbox"."subject_id" IS NULL;

COMMENT ON COLUMN "private"."outbox"."user_id" IS NULL;

COMMENT ON COLUMN "private"."report_evidence"."is_by_reported" IS NULL;

COMMENT ON COLUMN "private"."search_models"."measured_profiles" IS NULL;

COMMENT ON COLUMN "private"."search_sentences"."place" IS NULL;

COMMENT ON COLUMN "private"."sign_ups"."fields" IS NULL;

COMMENT ON COLUMN "private"."silences"."steps" IS NULL;

COMMENT ON COLUMN "private"."stored_replies"."metadata" IS NULL;

COMMENT ON COLUMN "private"."stored_replies"."noun" IS NULL;

COMMENT ON COLUMN "public"."messages"."client_id" IS NULL;

COMMENT ON COLUMN "public"."messages"."edited_at" IS NULL;

COMMENT ON COLUMN "public"."moderation_log"."by_whom" IS NULL;

COMMENT ON COLUMN "public"."moderation_log"."user_id" IS NULL;

COMMENT ON COLUMN "public"."reports"."resolution" IS NULL;

COMMENT ON COLUMN "public"."reports"."shares_messages" IS NULL;

COMMENT ON INDEX "private"."changes_other_id_idx" IS NULL;

COMMENT ON INDEX "private"."devices_endpoint_key" IS NULL;

COMMENT ON INDEX "private"."inbox_entries_arranged_idx" IS NULL;

COMMENT ON INDEX "private"."inbox_entries_pinned_idx" IS NULL;

COMMENT ON INDEX "private"."inbox_entries_unread_idx" IS NULL;

COMMENT ON INDEX "private"."outbox_webhooks_idx" IS NULL;

COMMENT ON INDEX "private"."search_entries_embedding_idx" IS NULL;

COMMENT ON INDEX "public"."conversations_local_id_id_idx" IS NULL;

COMMENT ON INDEX "public"."conversations_one_per_pair" IS NULL;

COMMENT ON INDEX "public"."conversations_voyager_id_id_idx" IS NULL;

COMMENT ON INDEX "public"."messages_conversation_id_id_idx" IS NULL;

COMMENT ON INDEX "public"."messages_unread_idx" IS NULL;

COMMENT ON INDEX "public"."reports_one_open_per_subject" IS NULL;

COMMENT ON INDEX "public"."reservations_due_at_idx" IS NULL;

COMMENT ON INDEX "public"."users_email_key" IS NULL;

COMMENT ON TYPE "private"."conversation_state" IS NULL;

COMMENT ON TYPE "private"."reservation_view" IS NULL;

DROP POLICY "users read their own interests" ON "public"."profile_interests";

DROP TRIGGER "require_sender_to_participate" ON "public"."messages";

DROP TRIGGER "protect_moderation_log_from_truncate" ON "public"."moderation_log";

DROP TRIGGER "protect_moderation_log" ON "public"."moderation_log";

DROP TRIGGER "protect_history_from_truncate" ON "public"."reservation_history";

DROP TRIGGER "protect_history" ON "public"."reservation_history";

DROP INDEX "private"."search_entries_unembedded_idx";

DROP INDEX "private"."stored_replies_report_id_idx";

DROP INDEX "public"."hidden_profiles_report_id_idx";

DROP INDEX "public"."reports_open_idx";

DROP INDEX "public"."reports_purge_at_idx";

ALTER TABLE "private"."stored_replies"
  DROP CONSTRAINT "stored_replies_report_id_fkey";

ALTER TABLE "public"."hidden_profiles"
  DROP CONSTRAINT "hidden_profiles_report_id_fkey";

DROP FUNCTION "api"."step_reservation"(bigint, bigint, text, text, integer, integer);

DROP FUNCTION "private"."any_term"(text[]);

DROP FUNCTION "private"."apply_restriction"(bigint, text, bigint);

DROP FUNCTION "private"."called_so"(private.search_query);

DROP FUNCTION "private"."check_interests"(bigint[]);

DROP FUNCTION "private"."claim_mail"(jsonb);

DROP FUNCTION "private"."claim_pushes"(integer, jsonb);

DROP FUNCTION "private"."claim_webhooks"(integer);

DROP FUNCTION "private"."complete_word"(text, private.search_unit[]);

DROP FUNCTION "private"."completion_keys"(text, text, text[]);

DROP FUNCTION "private"."copy_evidence"(public.reports);

DROP FUNCTION "private"."corrections_of"(text, boolean);

DROP FUNCTION "private"."current_admin"();

DROP FUNCTION "private"."dashboard_user"(text);

DROP FUNCTION "private"."decode_cursor"(text);

DROP FUNCTION "private"."denied"(text[]);

DROP FUNCTION "private"."describe_outbox"();

DROP FUNCTION "private"."describe_service"();

DROP FUNCTION "private"."either"(private.search_unit);

DROP FUNCTION "private"."either_number"(text);

DROP FUNCTION "private"."encode_cursor"(private.change_cursor);

DROP FUNCTION "private"."export_account"();

DROP FUNCTION "private"."forget_changes"();

DROP FUNCTION "private"."forget_dead_letters"();

DROP FUNCTION "private"."has_message_of"(bigint, bigint);

DROP FUNCTION "private"."history_of"(public.reservations, timestamp WITH time zone);

DROP FUNCTION "private"."hit_body"(private.search_entries, double precision);

DROP FUNCTION "private"."is_begun"(private.query_word);

DROP FUNCTION "private"."is_in_evidence"(text);

DROP FUNCTION "private"."list_migrations"();

DROP FUNCTION "private"."lock_reservation"(bigint, bigint, boolean);

DROP FUNCTION "private"."lock_to_restrict"(bigint, text);

DROP FUNCTION "private"."match_words"(bigint[], bigint[], private.search_query);

DROP FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text);

DROP FUNCTION "private"."my_profile_id"();

DROP FUNCTION "private"."parse_ids"(jsonb);

DROP FUNCTION "private"."participants_of"(bigint[], text);

DROP FUNCTION "private"."phrase"(text[]);

DROP FUNCTION "private"."places_to_filter"(text, text);

DROP FUNCTION "private"."plan_person"(bigint, bigint[], boolean, boolean, timestamp WITH time zone);

DROP FUNCTION "private"."present_step"();

DROP FUNCTION "private"."purge_evidence"();

DROP FUNCTION "private"."push_data"(private.outbox);

DROP FUNCTION "private"."refresh_places"(bigint, integer);

DROP FUNCTION "private"."refusal_code"(bigint, bigint);

DROP FUNCTION "private"."registrable_name"(text);

DROP FUNCTION "private"."remove_pending_account"(text);

DROP FUNCTION "private"."replace_interests"(bigint, bigint[]);

DROP FUNCTION "private"."require_current"(private.change_cursor);

DROP FUNCTION "private"."require_participant"(bigint);

DROP FUNCTION "private"."require_revision"(public.reservations, integer);

DROP FUNCTION "private"."require_sender_to_participate"();

DROP FUNCTION "private"."reservations_of"(bigint);

DROP FUNCTION "private"."romaji"(text);

DROP FUNCTION "private"."schedule_purge"(bigint);

DROP FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision);

DROP FUNCTION "private"."settle"(public.reservations, timestamp WITH time zone);

DROP FUNCTION "private"."shown_email"(bigint, text, bigint);

DROP FUNCTION "private"."step_notice"(bigint, bigint, bigint);

DROP FUNCTION "private"."tags_of"(integer[]);

DROP FUNCTION "private"."term_query"(text);

DROP FUNCTION "private"."typo_budget"(text);

DROP FUNCTION "private"."unread_notice"(bigint, bigint, bigint, bigint);

DROP FUNCTION "private"."unseen_by"(bigint, bigint[]);

DROP FUNCTION "private"."webhook_data"(private.outbox);

DROP FUNCTION "private"."with_states"(private.message_view[]);

DROP TYPE "private"."message_with_states";

DROP TYPE "private"."reservation_step";

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "is_phrase" CASCADE;

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "lives" CASCADE;

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "loose_query" CASCADE;

ALTER TABLE "private"."silences"
  DROP COLUMN "began_at";

ALTER TABLE "private"."stored_replies"
  DROP COLUMN "report_id";

ALTER TABLE "public"."hidden_profiles"
  DROP COLUMN "report_id";

ALTER TABLE "private"."outbox"
  ADD COLUMN "request" jsonb;

ALTER TABLE "private"."search_places"
  ADD COLUMN "time_zone" text;

ALTER TABLE "private"."search_places"
  ADD COLUMN "name" text;

ALTER TABLE "public"."profiles"
  ADD COLUMN "languages" text;

ALTER TABLE "public"."reports"
  ADD COLUMN "is_told" boolean NOT NULL DEFAULT false;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "called_so" tsquery CASCADE;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "home" tsquery CASCADE;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "lacking" tsquery CASCADE;

ALTER TYPE "private"."search_unit" ADD ATTRIBUTE "is_home" boolean CASCADE;

ALTER TYPE "private"."search_unit" ADD ATTRIBUTE "query" tsquery CASCADE;

CREATE OR REPLACE FUNCTION api.block_person (
  other_user bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: you cannot block yourself';
  elsif not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  perform private.add_block(me, other_user, 'user_id');
end
$function$;

CREATE OR REPLACE FUNCTION api.complete_search (
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  max_results constant integer := (request ->> 'limit')::integer;
  words constant text[] := private.words_of(request ->> 'q');
  hidden_ids constant bigint[] := private.hidden_profiles_of(private.my_id());
  completed json := json_build_object('interests', '[]'::json, 'cities', '[]'::json, 'names', '[]'::json);
  none constant jsonb := completed;
  before text := '';
  parts text[];
begin
  if (request ->> 'places')::boolean then
    return jsonb_set(none, '{cities}', to_jsonb(private.complete_places(array_to_string(words, ' '), max_results)));
  end if;
  for attempt in 1..3 loop
    if attempt = 1 then
      parts := array[array_to_string(words, ' ')];
    elsif attempt = 2 then
      -- Each word for itself, as a search would read it: Zoe Lop(ez) of Zoe Maria Lopez, obr(ien), hikng.
      parts := array(
        select coalesce((
          select meant
          from private.corrections_of(piece, true) as meant
          where (private.word_counts(array[piece || '*'])).holders = 0
          limit 1
        ), piece)
        from unnest(words[:10]) as word
        cross join unnest(coalesce(
          case when not private.is_listed(word) then private.split_of(word) end, array[word]
        )) as piece
      );
    else
      -- The last word, after what is written, if it is long enough to mean something: hiking in Lis(bon).
      before := substring(request ->> 'q' from '^.*\s');
      parts := array[array_to_string(private.words_of(substring(request ->> 'q' from '\S\s+(\S{3,})$')), ' ')];
    end if;
    exit when parts = '{""}';
    completed :=
      private.complete(parts => parts, before => before, hidden_ids => hidden_ids, max_results => max_results);
    exit when completed::jsonb <> none;
  end loop;
  return completed;
end
$function$;

CREATE OR REPLACE FUNCTION api.counter_reservation (
  conversation        bigint,
  reservation         bigint,
  revision            integer,
  changes             jsonb,
  first_contact_limit integer DEFAULT NULL::integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return api.step_reservation(
    conversation => conversation, reservation => reservation, step => 'counter', note => null, revision => revision,
    first_contact_limit => first_contact_limit, changes => changes
  );
end
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
  -- In the place of a conversation the reports, which come last: the largest integer of JSON.
  of_reports constant bigint := 9007199254740991;
  at_list constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  after_id bigint := (place ->> 'message')::bigint;
  separator text := case when place is null then '' else ',' end;
  pieces text[] := array[]::text[];
  list record;
  page record;
  next_place jsonb;
begin
  if place is null then
    pieces := array(select left(json_build_object(
      'exported_at', private.iso(now()),
      'user', json_build_object(
        'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
        'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
      ),
      'profile', row_to_json(profiles), 'interests', private.interests_of(profiles.id), 'blocks', api.list_blocks(),
      'devices', api.list_devices(), 'notifications', api.get_notification_settings(),
      'answers', (select answers from private.answer_spans where answer_spans.user_id = users.id),
      'warnings', private.warnings_of(users.id)
    )::text, -1) || ',"conversations":['
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = private.my_id());
  end if;
  for list in
    select id, voyager_id, voyager, local, left(body, -1) || ',"messages":[' as head
    -- Each conversation counts as one message, except the first if it goes on: then one more fits into a piece. And the
    -- next, to know that it does not.
    from private.export_conversations(array(
      select id from private.my_conversations() as id where id >= at_list order by id limit remaining + 2
    ), emails)
    union all
    select of_reports, null, null, null, '],"reports":['
    order by id
  loop
    if list.id > at_list or after_id is null then
      if remaining <= 0 then
        next_place := jsonb_build_object('conversation', list.id);
        exit;
      end if;
      pieces := pieces || (case when list.id < of_reports then separator else '' end || list.head);
      after_id := 0;
      remaining := remaining - 1;
    end if;
    separator := ',';
    if list.id < of_reports then
      select
        string_agg(private.print_message(
          private.to_message_view(message, case user_id when list.voyager_id then list.voyager else list.local end),
          with_states => coalesce(edited_at, deleted_at) is not null
        )::text, ',' order by id) as bodies, count(*) as length, max(id) as last_id
      into page
      from (
        select * from public.messages where conversation_id = list.id and id > after_id order by id limit remaining + 1
      ) as message;
    else
      select
        string_agg(json_build_object(
          'id', id, 'user_id', user_id, 'message_id', message_id, 'reason', reason, 'note', note,
          'share_messages', shares_messages, 'status', case when resolved_at is null then 'open' else 'resolved' end,
          'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
        )::text, ',' order by id) as bodies, count(*) as length, max(id) as last_id
      into page
      from (
        select * from public.reports
        where reporter_id = private.my_id() and id > after_id
        order by id limit remaining + 1
      ) as report;
    end if;
    pieces := pieces || (case when after_id > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
    if page.length > remaining then
      next_place := jsonb_build_object('conversation', list.id, 'message', page.last_id);
      exit;
    end if;
    -- The end of a conversation, and of the document.
    pieces := pieces || ']}'::text;
    remaining := remaining - page.length;
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
declare
  moment constant timestamptz := private.present();
begin
  perform private.require_participant(conversation);
  return (
    select json_build_object(
      'id', id, 'Voyager', voyager, 'Local', local,
      'Reservations', (
        select coalesce(
          json_agg(
            json_build_object(
              'id', id, 'title', title, 'price', price, 'date', private.iso(date),
              'status', (private.reservation_at(reservations, moment)).status
            )
            order by date, id
          ),
          '[]'
        )
        from public.reservations
        where conversation_id = conversation
      )
    )
    from private.participants_of(array[conversation])
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.get_me_and_choices()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant jsonb := api.get_me();
begin
  return me || jsonb_build_object(
    'Profile', me -> 'Profile' || (
      select jsonb_build_object('show_answers', show_answers, 'languages', languages)
      from public.profiles
      where user_id = (select private.my_id())
    ),
    'warnings', private.warnings_of((select private.my_id()))
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.get_notification_settings()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  chosen constant private.notification_settings := private.notification_settings_of(private.my_id());
begin
  return json_build_object(
    'push', chosen.push, 'email', chosen.email,
    'delay_minutes', coalesce(
      chosen.delay_minutes, (select ceil(delay_seconds / 60.0)::integer from private.outbox_settings)
    ),
    'quiet_hours', case
      when chosen.time_zone is not null then json_build_object(
        'from', left(chosen.quiet_from::text, 5), 'to', left(chosen.quiet_to::text, 5), 'time_zone', chosen.time_zone
      )
    end,
    'previews', chosen.previews
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.get_public_profile (
  profile bigint
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  visible boolean;
  shown json;
begin
  select
    profiles.is_searchable and users.is_active,
    json_build_object(
      'id', users.id, 'name', users.name, 'profile', json_build_object(
        'id', profiles.id, 'first_name', profiles.first_name, 'last_name', profiles.last_name, 'age', profiles.age,
        'biography', profiles.biography, 'country', profiles.country, 'city', profiles.city,
        'image_url', profiles.image_url, 'interests', private.interests_of(profiles.id)
      )
    )
  into visible, shown
  from public.profiles
  join public.users on users.id = profiles.user_id
  where profiles.id = profile and users.confirmed_at is not null;
  if visible is null then
    raise sqlstate 'PT404' using message = 'Profile not found';
  elsif not visible then
    raise sqlstate 'PT403' using message = 'This profile is not public', hint = 'not_public';
  end if;
  return shown;
end
$function$;

CREATE OR REPLACE FUNCTION api.get_public_profile_and_answers (
  profile bigint
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  shown constant text := api.get_public_profile(profile);
begin
  return (
    select (left(shown, -1) || ', ' || substr(more::text, 2))::json
    from public.profiles
    left join private.answer_spans on answer_spans.user_id = profiles.user_id and show_answers
    cross join lateral json_build_object(
      'answers', answers, 'languages', languages, 'time_zone', private.time_zone_of(city, country)
    ) as more
    where profiles.id = profile
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.get_reservation (
  conversation bigint,
  reservation  bigint
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  shown json;
begin
  perform private.require_participant(conversation);
  select body into shown from private.reservations_with_history(conversation, reservation);
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  end if;
  return shown;
end
$function$;

CREATE OR REPLACE FUNCTION api.list_avatars()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select to_json(array(
    select name
    from storage.objects
    where bucket_id = 'avatars'
      -- The condition of the policy, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
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
  present constant pg_snapshot := private.bounded_snapshot(pg_current_snapshot(), 100);
  cursor private.change_cursor;
  page private.changes[] := array[]::private.changes[];
  more boolean := false;
begin
  if after is not null then
    cursor := private.read_cursor(after, me);
    cursor.target := coalesce(cursor.target, present);
    -- One more than the page, to know whether another page follows.
    page := array(
      select changes
      from private.changes_between(
        person => me, seen => cursor.seen, target => cursor.target,
        after_xid => coalesce(cursor.xid, pg_snapshot_xmin(cursor.seen)), after_id => coalesce(cursor.id, 0),
        max_rows => page_limit + 1
      ) as changes
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
      case when messages.id is not null then private.print_latest(messages, with_states) end,
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

CREATE OR REPLACE FUNCTION api.list_devices()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select to_json(array(
    select json_build_object(
      'id', id, 'endpoint', endpoint, 'keys', json_build_object('p256dh', p256dh, 'auth', auth),
      'createdAt', private.iso(created_at)
    )
    from private.devices
    where user_id = (select private.my_id())
    order by created_at desc, id
  ))
$function$;

CREATE OR REPLACE FUNCTION api.list_interests()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]') from public.interests
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
    select array_agg(
      private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
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
      private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
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
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  listed json[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select json_build_object(
      'id', id, 'status', case when resolved_at is null then 'open' else 'resolved' end, 'reason', reason,
      'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
    )
    from public.reports
    where reporter_id = (select private.my_id()) and id < before_id
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
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  wanted constant text := page ->> 'status';
  from_date constant timestamptz := coalesce((page ->> 'from')::timestamptz, '-infinity');
  to_date constant timestamptz := coalesce((page ->> 'to')::timestamptz, 'infinity');
  listed json[];
begin
  with mine as materialized (
    -- One more than the page, as in list_messages.
    select reservations as entry, reservations.id, reservations.conversation_id
    from public.reservations
    where reservations.conversation_id = any (array(select private.my_conversations()))
      and reservations.id < before_id
      and reservations.date >= from_date and reservations.date < to_date
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

CREATE OR REPLACE FUNCTION api.mark_read (
  conversation bigint,
  message      bigint,
  and_before   boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
begin
  perform private.require_participant(conversation);
  if not exists (select from public.messages where id = message and conversation_id = conversation) then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  update public.messages
  set read = true
  where conversation_id = conversation and (id = message or and_before and id < message) and user_id <> me and not read;
  if found then
    delete from private.silences where user_id = me;
  end if;
  return json_build_object('success', true);
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
  partner constant bigint := private.lock_pair(conversation);
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  host constant bigint := coalesce(
    (draft ->> 'host_id')::bigint, (select local_id from public.conversations where id = conversation)
  );
  request constant jsonb := draft || jsonb_build_object(
    'conversation_id', conversation, 'host_id', host, 'price', trim_scale((draft ->> 'price')::numeric)
  );
  reply constant json := private.find_reply('reservation', draft_client_id, request);
  offered public.reservations;
begin
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
    noun => 'reservation', client_id => draft_client_id, request => request, subject => offered.id,
    body => to_json(private.to_reservation_view(offered))
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.open_conversation (
  other_user bigint
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
  is_active boolean;
  opened public.conversations;
begin
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => other_user, shared => true);
  if other_user = me then
    raise sqlstate 'PT400' using message = 'other_user_id: you cannot open a conversation with yourself';
  end if;
  is_active := exists (select from public.users where id = other_user and users.is_active);
  insert into public.conversations (voyager_id, local_id)
  select me, other_user
  where is_active and not private.is_blocked_between(me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the concurrent insert to commit, so this statement's snapshot sees the row.
    select * into opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    if found then
      raise sqlstate 'PT409' using
        message = 'A conversation with this user already exists',
        detail = json_build_object('conversation_id', opened.id), hint = 'already_open';
    elsif not is_active then
      raise sqlstate 'PT404' using message = 'User not found';
    end if;
    perform private.forbid_writing(other_user);
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
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
  insert into private.devices as known (user_id, id, endpoint, p256dh, auth)
  values (me, device, subscription ->> 'endpoint', subscription #>> '{keys,p256dh}', subscription #>> '{keys,auth}')
  on conflict (user_id, id) do update
  set
    endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth,
    silences = case when known.endpoint = excluded.endpoint then known.silences else 0 end,
    silent_until = case when known.endpoint = excluded.endpoint then known.silent_until end;
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
    select messages.user_id into subject
    from public.messages
    join public.conversations on conversations.id = messages.conversation_id
    where messages.id = message and me in (voyager_id, local_id);
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
    noun => 'report', client_id => draft_client_id, request => draft, subject => report.id,
    body => json_build_object(
      'id', report.id, 'status', 'open', 'reason', report.reason, 'createdAt', private.iso(report.created_at)
    ),
    metadata => jsonb_build_object('existing', not is_new)
  );
end
$function$;

CREATE OR REPLACE FUNCTION api.search_profiles (
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  asked constant private.search_query := private.read_query(coalesce(request -> 'words', '[]'));
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
  is_draft constant boolean := coalesce((request ->> 'isDraft')::boolean, false);
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  filter := private.read_filter(request, asked, me);
  if request ->> 'like' is not null then
    select * into liked
    from private.search_entries
    where profile_id = (request ->> 'like')::bigint and user_id <> all (coalesce(private.blocked_users_of(me), '{}'));
    if liked.profile_id is null then
      raise sqlstate 'PT404' using message = 'No such profile';
    end if;
    filter.hidden_ids := filter.hidden_ids || liked.profile_id;
    filter.passing := array_remove(filter.passing, liked.profile_id);
    if liked.model = request ->> 'model' then
      -- Halfway between the query and the profile; one of them if the other has no vector.
      query_vector := coalesce(
        extensions.l2_normalize(query_vector) operator(extensions.+) extensions.l2_normalize(liked.embedding),
        liked.embedding, query_vector
      );
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return json_build_object(
    'answer', case
      -- The vector is not yet that of what was meant.
      when not is_draft or asked.corrections || asked.completions = '[]' then private.find_profiles(
        request => request, asked => asked, filter => filter, query_vector => query_vector,
        context_vector => context_vector,
        -- The contract's two ratios.
        semantic_ratio => case when me is null then 0.5 else 0.7 end
      )
    end,
    'query', private.describe_query(asked, private.hidden_profiles_of(me))
  );
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
  select voyager_id + local_id - me into partner
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
      perform private.forbid_writing(partner);
    end if;
    -- private.record_own_change has kept the hash of what has changed since.
    if sent.conversation_id <> conversation
      or private.hash_message(jsonb_populate_record(null::public.messages, draft)) <> coalesce(
        (
          select request_hash
          from private.stored_replies
          where user_id = me and noun = 'message' and client_id = draft_client_id
        ),
        private.hash_message(sent)
      ) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := sent.deleted_at is not null;
  end if;
  return to_json(private.to_message_view(sent, json_build_object('id', me, 'name', my_name)));
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
    perform private.record_state(me, conversation, 'conversation.state', me);
  end if;
  return row_to_json(private.to_state(after));
end
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
  partner constant bigint := private.lock_pair(conversation);
  moment timestamptz;
  current public.reservations;
  wanted public.reservations;
  is_stale boolean;
  conflict text;
begin
  select * into current
  from public.reservations
  where id = reservation and conversation_id = conversation
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  elsif step = 'accept' then
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

CREATE OR REPLACE FUNCTION api.unsubscribe (
  token     text,
  confirmed boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person constant bigint := (select id from public.users where unsubscribe_token = token);
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'This link is not one of ours';
  end if;
  if confirmed then
    insert into private.notification_settings (user_id, email)
    select id, false from public.users where id = person and erased_at is null
    on conflict (user_id) do update set email = false;
  end if;
  return json_build_object('email', not confirmed and (private.notification_settings_of(person)).email);
end
$function$;

CREATE OR REPLACE FUNCTION api.update_notification_settings (
  changes jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  wanted private.notification_settings;
  quiet constant jsonb := nullif(changes -> 'quiet_hours', 'null');
begin
  -- Serializes concurrent changes of one user, of which each keeps what it does not name. An erasure waits.
  perform private.lock_me();
  wanted := jsonb_populate_record(private.notification_settings_of(me), jsonb_strip_nulls(changes));
  wanted.user_id := me;
  if changes ? 'quiet_hours' then
    wanted.quiet_from := (quiet ->> 'from')::time;
    wanted.quiet_to := (quiet ->> 'to')::time;
    wanted.time_zone := quiet ->> 'time_zone';
  end if;
  if quiet is not null then
    begin
      perform now() at time zone wanted.time_zone;
    exception
      when invalid_parameter_value then
        raise sqlstate 'PT400' using message = 'quiet_hours.time_zone: must be the name of a time zone';
    end;
  end if;
  delete from private.notification_settings where user_id = me;
  insert into private.notification_settings select wanted.*;
  -- What waits already goes by the new delay.
  if changes ? 'delay_minutes' then
    update private.outbox
    set due_at = created_at + make_interval(mins => wanted.delay_minutes)
    where user_id = me and channel = 'person';
  end if;
  return api.get_notification_settings();
end
$function$;

CREATE OR REPLACE FUNCTION api.update_profile (
  changes jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
  my_profile bigint;
begin
  -- First, as every change of a profile does, so that concurrent ones queue and never deadlock.
  select id into my_profile from public.profiles where user_id = me for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if changes ?| array['name', 'bio', 'location'] then
    update public.users
    set (name, bio, location) = (
      select new.name, new.bio, new.location from jsonb_populate_record(users, changes) as new
    )
    where id = me;
  end if;
  if changes - array['name', 'bio', 'location', 'interest_ids'] <> '{}' then
    update public.profiles
    set (first_name, last_name, age, biography, country, city, image_url, is_searchable, show_answers, languages) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable,
        new.show_answers, new.languages
      from jsonb_populate_record(profiles, changes) as new
    )
    where user_id = me;
  end if;
  if changes ? 'interest_ids' then
    perform private.replace_interests(my_profile, changes -> 'interest_ids');
  end if;
  return api.get_me();
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
      is_set := set_config('request.jwt.claims', '{"role": "anon"}', true);
      is_set := set_config('request.jwt.claim.sub', '', true);
      claims := null;
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

CREATE OR REPLACE FUNCTION private.add_block (
  me         bigint,
  other_user bigint,
  field      text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- So that the limit holds.
  perform private.lock_me();
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = field || ': you cannot block more than 1,000 people', hint = 'too_many';
  end if;
  insert into private.blocks (blocker_id, blocked_id) values (me, other_user) on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION private.add_place (
  names      text[],
  kind       text      DEFAULT 'city'::text,
  parents    integer[] DEFAULT '{}'::integer[],
  adjectives text[]    DEFAULT '{}'::text[],
  latitude   real      DEFAULT NULL::real,
  longitude  real      DEFAULT NULL::real,
  population integer   DEFAULT NULL::integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  place private.search_places;
begin
  insert into private.search_places
  select
    greatest(max(places.id) + 1, 1000000000), add_place.kind,
    array(
      select distinct parent
      from unnest(add_place.parents) as given
      left join private.search_places as above on above.id = given
      cross join unnest(given || above.parents) as parent
    ),
    array(select array_to_string(private.words_of(name), ' ') from unnest(add_place.names) as name), array[]::text[],
    array(select array_to_string(private.words_of(adjective), ' ') from unnest(add_place.adjectives) as adjective),
    add_place.latitude, add_place.longitude, add_place.population, null, add_place.names[1]
  from private.search_places as places
  returning * into place;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and private.folded_parts(city) || private.folded_parts(country) && place.names;
  return place.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.add_to_history (
  reservation public.reservations,
  by_id       bigint,
  note        text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  step bigint;
begin
  insert into public.reservation_history (
    reservation_id, conversation_id, status, by_id, note, title, price, date, ends_at, created_at
  )
  values (
    reservation.id, reservation.conversation_id, reservation.status, add_to_history.by_id, add_to_history.note,
    reservation.title, reservation.price, reservation.date, reservation.ends_at, reservation.updated_at
  )
  returning id into step;
  perform private.notify(
    event => 'reservation.changed', conversation => reservation.conversation_id, subject => step,
    by_id => add_to_history.by_id,
    people => (
      select array_remove(array[voyager_id, local_id], add_to_history.by_id)
      from public.conversations
      where id = reservation.conversation_id
    )
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.add_unread (
  conversation bigint,
  sender       bigint,
  amount       bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update private.inbox_entries set unread = unread + amount where conversation_id = conversation and user_id <> sender;
end
$function$;

CREATE OR REPLACE FUNCTION private.adopt_model (
  wanted text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
  values (wanted, 0.1, 0.6, 0.3, 3.0 / 7)
  -- Until calibrate_model has measured it.
  on conflict do nothing;
  -- Skips what is queued for this model already: else each process that starts would lock the whole queue for a moment.
  insert into private.embedding_queue as job (kind, id, model)
  select kind, id, wanted
  from (
    select 'profile' as kind, profile_id as id from private.search_entries where model is distinct from wanted
    union all
    select 'context', user_id from private.search_contexts where model is distinct from wanted
  ) as missing
  where not exists (
    select from private.embedding_queue as queued
    where queued.kind = missing.kind and queued.id = missing.id and queued.model = wanted
  )
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$function$;

CREATE OR REPLACE FUNCTION private.any_term (
  terms text[]
)
  RETURNS tsquery
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
  return (
    select private.any_of((private.lexeme(rtrim(term, '*')) || case when term like '%*' then ':*' else '' end)::tsquery)
    from unnest(terms) as term
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.begin_sign_up (
  address text,
  name    text,
  fields  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  begun private.sign_ups;
begin
  -- Auth would report an unknown interest as an unspecified failure.
  perform private.interest_ids(nullif(fields -> 'interest_ids', 'null'));
  delete from private.sign_ups
  where ticket in (
    select ticket from private.sign_ups where begun_at < now() - interval '1 hour' for update skip locked
  );
  insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
  values (
    nextval('public.users_id_seq'), nextval('public.profiles_id_seq'), sha256(convert_to(lower(address), 'UTF8')),
    begin_sign_up.name, begin_sign_up.fields
  )
  returning * into begun;
  return json_build_object(
    'ticket', begun.ticket, 'user_id', begun.user_id,
    'pending', exists (
      select from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is null
    )
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.bounded_snapshot (
  snapshot    pg_snapshot,
  max_running integer
)
  RETURNS pg_snapshot
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  running constant xid8[] := array(select pg_snapshot_xip(snapshot) order by 1);
begin
  if cardinality(running) <= max_running then
    return snapshot;
  end if;
  return format(
    '%s:%s:%s', pg_snapshot_xmin(snapshot), running[max_running + 1], array_to_string(running[:max_running], ',')
  )::pg_snapshot;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_closed()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  SET lock_timeout TO '50ms'
  AS $function$
begin
  perform realtime.send(jsonb_build_object('user_id', new.id), 'closed', 'typing:' || conversations.id, true)
  from public.conversations where new.id in (voyager_id, local_id);
  return null;
exception
  when others then
    raise warning 'Could not broadcast %: %', 'closed', sqlstate;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_to_users (
  event        text,
  conversation bigint,
  id           bigint,
  previous_id  bigint,
  user_id      bigint,
  one          bigint,
  other        bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  SET lock_timeout TO '50ms'
  AS $function$
begin
  -- Realtime checks its policies when a client joins, not for each event, so events must not be sent to deactivated
  -- users. There is no topic for the conversation: a plan's limit counts each event, and two say the same as three.
  perform realtime.send(jsonb_build_object(
    'conversation_id', conversation, 'id', broadcast_to_users.id, 'previous_id', previous_id,
    'user_id', broadcast_to_users.user_id
  ), event, 'user:' || users.id, true)
  from public.users
  -- An array instead would be planned again at each call: 50 of the 430 µs of a send.
  where users.id in (one, other) and users.is_active;
exception
  -- The write must succeed even if Realtime fails or does not exist.
  when others then
    raise warning 'Could not broadcast %: %', event, sqlstate;
end
$function$;

CREATE OR REPLACE FUNCTION private.calibrate_model (
  wanted text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  before constant integer := (select measured_profiles from private.search_models where name = wanted);
  limits double precision[];
begin
  -- Called whenever the queue is empty, so it does not count: the planner's estimate grows with each analysis.
  if before > 0
    and (select reltuples from pg_class where oid = 'private.search_entries'::regclass) < 10 * before then
    return;
  end if;
  with texts as materialized (
    select profile_id, embedding, interests
    from private.search_entries
    where model = wanted and embedding is not null
    order by random()
    limit 200
  ),
  -- Each one's first interest, because interests are as short as queries.
  queries as materialized (
    select profile_id, sentence.embedding
    from texts
    join private.search_sentences as sentence using (profile_id)
    where place = 1 and cardinality(interests) > 0
  )
  select
    percentile_cont(array[0.01, 0.705, 0.998])
    within group (order by 1 - (queries.embedding operator(extensions.<=>) texts.embedding))
  into limits
  from queries
  join texts on texts.profile_id <> queries.profile_id
  where (select count(*) from queries) >= 20;
  if limits[1] < limits[2] and limits[2] < limits[3] then
    update private.search_models
    set
      similarity_floor = limits[1], similarity_threshold = limits[2], similarity_ceiling = limits[3],
      measured_profiles = (select count(*) from private.search_entries where model = wanted)
    where name = wanted;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.call_edge_function (
  function_name text,
  calls         bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  url constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url');
  key constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'secret_key');
begin
  if url is null or key is null then
    raise 'Vault has no secret project_url, or no secret_key (docs/deploy.md, The schedule)';
  end if;
  perform net.http_post(
    url => url || '/functions/v1/' || function_name, body => '{}'::jsonb, timeout_milliseconds => 30000,
    headers => jsonb_build_object('Content-Type', 'application/json', 'apikey', key)
  )
  from generate_series(1, calls);
end
$function$;

CREATE OR REPLACE FUNCTION private.can_read_attachment (
  path text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return not exists (select from private.report_evidence where attachment ->> 'url' in (path, 'attachments/' || path))
    or private.is_in_message(path);
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
begin
  return exists (select from private.my_conversations() as mine where mine::text = (storage.foldername(path))[1])
    and not private.is_in_message(path)
    -- So it is in no evidence either.
    and private.can_read_attachment(path);
end
$function$;

CREATE OR REPLACE FUNCTION private.can_upload_attachment (
  path text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  folder constant text := (storage.foldername(path))[1];
begin
  return exists (select from private.my_writable_conversations() as id where id::text = folder) and (
    select count(*) < 200 and coalesce(sum((metadata ->> 'size')::bigint), 0) < 500 * 1048576
    from storage.objects
    where bucket_id = 'attachments'
      -- Everything below the folder, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= folder || '/'
      and name collate "C" < folder || '0'
      and owner_id = (select auth.uid())::text
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.cancel_reservations_of (
  person bigint,
  by_id  bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  reservation public.reservations;
begin
  for reservation in
    select *
    from public.reservations
    where conversation_id in (select id from public.conversations where person in (voyager_id, local_id))
      and due_at > moment
    order by id
    for no key update
  loop
    reservation.status := 'cancelled';
    perform private.write_reservation(
      reservation => reservation, by_id => cancel_reservations_of.by_id, note => null, moment => moment
    );
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.changes_between (
  person    bigint,
  seen      pg_snapshot,
  target    pg_snapshot,
  after_xid xid8,
  after_id  bigint,
  max_rows  integer
)
  RETURNS SETOF private.changes
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  origin_id constant bigint := (select last_id from private.changes_origin);
begin
  return query
    select user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind
    from private.changes_by_reader
    where reader_id = person
      and (xid, id) > (after_xid, after_id)
      and xid < pg_snapshot_xmax(target)
      and pg_visible_in_snapshot(xid, target)
      and not pg_visible_in_snapshot(xid, seen)
      and id > origin_id
    order by xid, id limit max_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_attachment()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if not exists (
    select from storage.objects
    join public.users on users.auth_id::text = objects.owner_id
    where objects.bucket_id = 'attachments'
      and objects.name = regexp_replace(new.attachment ->> 'url', '^attachments/', '')
      and (storage.foldername(objects.name))[1] = new.conversation_id::text
      and users.id = new.user_id
      -- The upload may have declared a charset as well.
      and split_part(objects.metadata ->> 'mimetype', ';', 1) = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you uploaded to this conversation, or not of this type and size';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_sign_up (
  address  text,
  begun    uuid,
  accepted boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  sign_up private.sign_ups;
  holder public.users;
begin
  update private.sign_ups set is_accepted = is_accepted or accepted where ticket = begun returning * into sign_up;
  select * into holder from public.users where lower(email) = lower(address) and email <> '';
  -- Also without a row, which is deleted after an hour: Auth answers long before.
  if sign_up.name is null then
    return to_json('made'::text);
  elsif holder.confirmed_at is not null then
    return to_json('taken'::text);
  -- Ids are drawn in order. If every sign-up could remove the others, concurrent ones could remove each other until
  -- none is left.
  elsif exists (
    select from private.sign_ups
    where address_hash = sign_up.address_hash and user_id > sign_up.user_id and (is_accepted or name is null)
  ) then
    return to_json('superseded'::text);
  elsif accepted then
    -- With the account go the links that were mailed. If it is being confirmed concurrently, this waits and checks the
    -- condition again. An invited account, which an admin created and which has no password, stays.
    begin
      delete from auth.users
      where id = holder.auth_id and email_confirmed_at is null and phone_confirmed_at is null and invited_at is null;
      if found then
        return to_json('retry'::text);
      end if;
    exception
      -- An admin has created a conversation with this user, so the account stays.
      when foreign_key_violation then
        null;
    end;
  end if;
  return to_json(case when holder.id is null then 'not made' else 'taken' end);
end
$function$;

CREATE OR REPLACE FUNCTION private.claim (
  wanted   text,
  max_rows integer,
  busy     jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  jobs json;
begin
  -- Until one is wanted, but not without end, because a statement has 5 s.
  for round in 1..50 loop
    ids := private.claim_rows(wanted, max_rows, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are
    -- read in between would say that there are none.
    with claimed as materialized (
      select
        id,
        case wanted
          when 'push' then private.push_job(outbox)
          when 'mail' then private.mail_job(outbox)
          else private.webhook_job(outbox)
        end as job
      from private.outbox where id = any (ids)
    ),
    dropped as (delete from private.outbox where id in (select id from claimed where job is null) returning user_id),
    -- By the mail nothing was told, so the next message may be.
    ended as (delete from private.silences where wanted = 'mail' and user_id in (select user_id from dropped))
    select json_agg(job order by id) into jobs from claimed where job is not null;
    exit when jobs is not null;
  end loop;
  return coalesce(jobs, '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_embeddings (
  wanted   text,
  max_jobs integer,
  newest   boolean DEFAULT false
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  claimed json;
  jobs json;
begin
  -- Usually once. Again if all that was claimed is deleted below, but not without end, because a statement has 5 s.
  for round in 1..100 loop
    with due as (
      select kind, id, failures, due_at
      from private.embedding_queue
      where due_at <= now() and attempts < 8 and (failures = 0 or not newest)
      -- Of the newest profiles before contexts, because others look for them.
      order by case when newest then due_at end desc, case when newest then kind end desc, due_at
      limit max_jobs
      for update skip locked
    ),
    taken as (
      update private.embedding_queue
      set
        attempts = attempts + 1, failures = failures + 1, last_error = null, model = wanted,
        -- The worker has half a minute. Then the job is due again, later after each failure, up to 16 minutes: after an
        -- outage everything is embedded within that time.
        due_at = now() + interval '30 seconds' * 2 ^ least(failures, 5)
      where (kind, id) in (
        select kind, id
        from (
          select *, row_number() over oldest as place, first_value(failures) over oldest as first_failures
          from due
          window oldest as (order by due_at)
        ) as ordered
        -- What was tried before is tried alone: it may be what made its call fail, or killed its worker.
        where failures = 0 and first_failures = 0 or place = 1
      )
      returning kind, id
    )
    select coalesce(json_agg(taken), '[]') into claimed from taken;

    -- Deletes jobs whose entry is gone. Another statement, which sees an entry that was shown again before this locked
    -- the row. Showing it from now on waits for this transaction, and queues the job again.
    delete from private.embedding_queue as job
    using json_to_recordset(claimed) as mine (kind text, id bigint)
    where job.kind = mine.kind and job.id = mine.id
      and not exists (select from private.search_entries where mine.kind = 'profile' and profile_id = mine.id)
      and not exists (select from private.search_contexts where mine.kind = 'context' and user_id = mine.id);

    select coalesce(json_agg(json_build_object(
      'kind', mine.kind, 'id', mine.id,
      'text', case mine.kind when 'profile' then private.entry_text(mine.id) else private.context_text(mine.id) end,
      'parts', case mine.kind when 'profile' then private.entry_parts(mine.id) else '{}' end,
      'content_hash', coalesce(entry.content_hash, context.content_hash)
    )), '[]')
    into jobs
    from json_to_recordset(claimed) as mine (kind text, id bigint)
    left join private.search_entries as entry on mine.kind = 'profile' and entry.profile_id = mine.id
    left join private.search_contexts as context on mine.kind = 'context' and context.user_id = mine.id
    where entry.profile_id is not null or context.user_id is not null;

    exit when json_array_length(jobs) > 0 or json_array_length(claimed) = 0;
  end loop;
  return jobs;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_mail (
  busy jsonb DEFAULT '[]'::jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(private.claim('mail', 1, busy) -> 0, 'null')
$function$;

CREATE OR REPLACE FUNCTION private.claim_pushes (
  max_rows integer,
  busy     jsonb   DEFAULT '[]'::jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.claim('push', max_rows, busy)
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
        select distinct on (user_id) id, was_silent
        from (
          select due.id, due.user_id, due_at, coalesce(silences > 0, false) as was_silent
          from private.outbox as due
          -- A push whose device is gone is claimed, and dropped then.
          left join private.devices on devices.user_id = due.user_id and devices.id = due.device_id
          where channel = 'push' and due_at <= moment and attempts < 8
            and coalesce(silent_until <= moment, true)
            and not coalesce(private.push_receivers(devices) && avoided, false)
          order by due_at, due.id
          -- Reading all of 48,000 took 0.4 s. Whose rows these are is busy after two claims, if they are few.
          limit 1000
        ) as oldest
        order by user_id, was_silent, due_at, id
      ) as next
      join private.outbox as entry using (id)
      where due_at <= moment and attempts < 8
      -- Those that answered last time come first.
      order by was_silent, due_at, entry.id limit max_rows
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

CREATE OR REPLACE FUNCTION private.claim_webhooks (
  max_rows integer
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.claim('webhook', max_rows, '[]')
$function$;

CREATE OR REPLACE FUNCTION private.complete_places (
  typed       text,
  max_results integer
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return array(
    select concat_ws(
      ', ', found.name, case when count(*) over (partition by found.name, country.name) > 1 then region.name end,
      country.name
    )
    from (
      select *
      from private.search_places
      where kind = 'city' and name is not null
        and typed <> '' and '|' || array_to_string(names, '|') like '%|' || typed || '%'
      order by population desc nulls last, id
      limit max_results
    ) as found
    left join lateral (
      select name
      from private.search_places
      where id = any (found.parents) and kind = 'region'
      order by cardinality(parents) desc
      limit 1
    ) as region on true
    left join lateral (
      select name from private.search_places where id = any (found.parents) and kind = 'country' limit 1
    ) as country on true
    order by population desc nulls last, id
  );
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
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
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
      cross join lateral unnest(words)
      where starts_with(lexeme, typed)
      group by lexeme
      order by count(*) desc, lexeme
      limit 2
    ) as likeliest
    having string_agg(lexeme, ' ') <> typed
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.conditions_of (
  request jsonb
)
  RETURNS SETOF text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
    select array_agg(distinct term)
    from (values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')) as facets (kind, key)
    cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
    cross join lateral unnest(private.facet(facets.kind, value) || array(
      -- Who lives in the city or country of this name.
      select '@in ' || id
      from private.places_named(array[array_to_string(private.words_of(value), ' ')]) as named
      cross join unnest(named.ids) as id
      join private.search_places as place using (id)
      where facets.kind in ('city', 'country') and not named.is_adjective
      -- Georgia is a country, if one filters by countries.
      order by (place.kind in ('city', 'district')) = (facets.kind = 'city') desc, place.kind = facets.kind desc
      fetch first row with ties
    )) as term
    group by facets.kind
    union all
    -- Whole decades, and the years before and after them. A profile without an age is not left out.
    select array_agg(distinct '@age ' || case
      when age is null then 'unknown'
      when age < 100 and age / 10 * 10 >= bounds.min and age / 10 * 10 + 9 <= bounds.max then age / 10 || '*'
      else age::text
    end)
    from jsonb_to_record(nullif(request -> 'age', 'null')) as bounds (min integer, max integer)
    cross join lateral (select generate_series(bounds.min, bounds.max) as age union all select null) as ages
    where bounds.min is not null
    having count(*) > 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.confirm_user()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  update public.users set is_active = true, confirmed_at = now() where auth_id = new.id and confirmed_at is null;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.consume_rate_limit (
  kind         text,
  who          text,
  seconds_each double precision,
  burst        integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  SET lock_timeout TO '250ms'
  AS $function$
declare
  token_interval constant interval := make_interval(secs => seconds_each);
  own_key constant bytea := private.rate_limit_key(kind, who);
  allowed_at timestamptz;
  wait json;
begin
  -- One call in a hundred purges, which leaves about a hundred expired rows at most.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as existing (key, tat)
  values (own_key, clock_timestamp() + token_interval)
  -- clock_timestamp() is read while the row is locked, so that concurrent calls get exactly the allowed tokens.
  on conflict (key) do update set tat = greatest(existing.tat, clock_timestamp()) + token_interval
  where existing.tat <= clock_timestamp() + token_interval * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - token_interval * (burst - 1) into allowed_at from private.rate_limits where key = own_key;
  wait := to_json(greatest(1, ceil(extract(epoch from allowed_at - clock_timestamp()))));
  perform private.set_response_metadata(jsonb_build_object('wait', wait));
  return wait;
end
$function$;

CREATE OR REPLACE FUNCTION private.context_text (
  person bigint
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select concat_ws('. ', (
      select string_agg(interests.name, ', ' order by interests.name)
      from public.profiles
      join public.profile_interests on profile_interests.profile_id = profiles.id
      join public.interests on interests.id = profile_interests.interest_id
      where profiles.user_id = users.id
    ), users.bio, users.location)
    from public.users
    where id = person and is_active
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.copy_evidence (
  report public.reports
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into private.report_evidence (report_id, message_id, is_by_reported, content, attachment, sent_at)
  select report.id, messages.id, messages.user_id = report.user_id, content, attachment, messages.created_at
  -- A union instead of `or`, and a list of ids instead of a join, which would read all messages: 86 ms a report with a
  -- million of them.
  from public.messages
  where id = any (array(
    select report.message_id
    union
    select latest.id
    from public.conversations
    cross join lateral (
      select id from public.messages where conversation_id = conversations.id order by id desc limit 20
    ) as latest
    where report.shares_messages
      and least(voyager_id, local_id) = least(report.reporter_id, report.user_id)
      and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)
  ))
  on conflict do nothing
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
    -- A wrong first letter counts twice.
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget) + (left(form, 1) <> left(typed, 1))::integer
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

CREATE OR REPLACE FUNCTION private.count_words()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  delete from private.search_lexicon as lexicon
  where exists (select from private.search_lexicon as copy where copy.word = lexicon.word and copy.ctid < lexicon.ctid);
  merge into private.search_lexicon as lexicon
  using (
    select lexeme as word, count(*)::integer as holders, sum(private.naming(weights))::real as named
    from private.search_words
    cross join lateral unnest(words)
    group by lexeme
  ) as counted
  on counted.word = lexicon.word
  when matched and (lexicon.holders, lexicon.named) <> (counted.holders, counted.named) then
    update set holders = counted.holders, named = counted.named
  when not matched then
    insert (word, holders, named) values (counted.word, counted.holders, counted.named)
  -- A transaction under way may have found it here: then it is there again after the next count.
  when not matched by source then
    delete;
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
  said text := translate(replace(private.fold(biography), ' - ', '.'), e'!?;:()…–—\n', '..........');
  -- What denies nothing is taken out, and other ways to deny are written with words that do.
  spelled_out constant text[] := array[
    '\m(ca|wo|do|does|did|is|are|was|were|have|has|had|could|would|should)n''?t\M|\mcannot\M', '\1 not',
    '\m(not|never|no|nothing|nobody|kein\w*|nicht|nie|nunca|pas|jamais|non|nao|geen|niet|nooit)( \w+){0,4} '
      '(without|ohne|sin|sans|senza|sem|zonder)\M|\mn(ot|ever) (only|just|mind|miss|forget|say|worry|hesitate|sure|'
      'afraid|scared|get enough|((too|so|very) )?far)\M|\mno (problem|worries|limit|matter|doubt|need|one)\w*|\mwhy '
      'not\M|\mnothing but\M|\mkein\w* problem|\mnicht (nur|weit)\M|\mno solo\M|\mpas (seulement|loin)\M|\mnon solo\M|'
      '\mniet alleen\M|\mnao so\M|\mnot (an? |really )?(vegan|vegetari)\w*', ' ',
    '\mvegan\w*', '. no meat fish no milk dairy eggs cheese .', '\mvegetari\w*', '. no meat fish .',
    '\m(teetotal\w*|sober|abstemi\w*)\M', '. no alcohol .', '\m(childless|kinderlos)\w*', '. no children .',
    '\m(non|nicht|no)-?(?=smok|drink|rauch|trink|fum)|\mg[ai]ven? up\M|\mfree (of|from)\M|\mnot stand\M', ' no ',
    '\m(\w{3,})(-free|-?frei|-los|less| free(?! to| time))\M', '. no \1 .',
    '\m(and|und|et|y|e|en) (love|like|enjoy|adore|liebe|mag|aime|amo|adoro|gosto|hou)\M', ' but ',
    '\m(is|are) not (for me|my|welcome|allowed)\M|\mnothing for me\M|\mnichts fur mich\M|\mmakes? me (sneeze|cough|'
      'ill|sick)\M|\m(bore|scare|frighten|bother)s? me\M|\moff my (plate|menu)\M|\mme aburren?\M', ' forbidden '
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
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.describe_service()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  migrations json;
begin
  begin
    -- Dynamic, because the CLI creates the table, and a database that was made from the files alone has none. The CLI
    -- splits a file into statements, and takes off what is between them.
    execute $query$
      select json_agg(json_build_object(
        'version', version,
        'sha256', encode(sha256(convert_to(translate(array_to_string(statements, ''), E' \t\r\n;', ''), 'utf8')), 'hex')
      ) order by version)
      from supabase_migrations.schema_migrations
    $query$
    into migrations;
  exception
    when undefined_table or insufficient_privilege then
      null;
  end;
  return json_build_object(
    'search', private.describe_search(), 'migrations', migrations,
    'outbox', (
      select json_object_agg(queue, json_build_object('depth', waiting, 'age', oldest_seconds, 'dead', dead))
      from public.describe_queues()
      where queue in ('person', 'push', 'mail', 'webhook')
    ),
    'data', (select coalesce(json_agg(loaded_data order by name), '[]') from private.loaded_data)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.due_channels()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select to_json(array(
    select name
    from unnest(array['push', 'mail', 'webhook']) as name
    where exists (select from private.outbox where channel = name and due_at <= private.present() and attempts < 8)
  ))
$function$;

CREATE OR REPLACE FUNCTION private.entry_parts (
  profile bigint
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  parts text[];
begin
  select entry.interests || array(
    select sentence
    from regexp_split_to_table(entry.biography, '[.!?…]+(?=\s|$)|[。！？\r\n]+') with ordinality as split (piece, place)
    cross join lateral btrim(piece, e' \t') as sentence
    where sentence <> ''
    order by place
  )
  into parts
  from private.search_entries as entry
  where profile_id = profile;
  if cardinality(parts) = 1 and parts[1] = btrim(private.entry_text(profile), ' .!?。！？') then
    return '{}'::text[];
  end if;
  return array(
    select string_agg(part, '. ' order by place)
    from unnest(parts) with ordinality as listed (part, place)
    group by (place - 1) * 32 / greatest(cardinality(parts), 32)
    order by min(place)
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
  profile bigint;
  address text;
  words tsvector;
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
  perform private.cancel_reservations_of(person, me);
  delete from private.blocks where person in (blocker_id, blocked_id);
  perform private.erase_states_of(person);
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
  delete from public.hidden_profiles where user_id = person;
  update public.reports
  set purge_at = least(purge_at, private.present() + interval '180 days')
  where reporter_id = person or user_id = person;
  -- Cascades to its sessions, refresh tokens and identities.
  delete from auth.users where id = account;
  begin
    delete from auth.flow_state where user_id = account;
    delete from auth.audit_log_entries
    where payload ->> 'actor_id' = account::text or payload -> 'traits' ->> 'user_id' = account::text;
  exception
    -- Auth's log has no index for this and may belong to another role. The erasure must not fail because of it.
    when undefined_table or undefined_column or insufficient_privilege or query_canceled then
      raise warning 'Auth''s audit log was not erased: %', sqlstate;
  end;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.export_conversations (
  ids    bigint[],
  emails text
)
  RETURNS TABLE (
    id         bigint,
    voyager_id bigint,
    voyager    json,
    local      json,
    body       text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select
    pair.id, pair.voyager_id, pair.voyager, pair.local,
    json_build_object(
      'id', pair.id, 'voyager_id', pair.voyager_id, 'local_id', pair.local_id,
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
    )::text
  from private.participants_of(ids) as pair
  join public.users as voyagers on voyagers.id = pair.voyager_id
  join public.users as locals on locals.id = pair.local_id
  cross join coalesce(private.blocked_users_of(private.my_id()), '{}') as cut_off
$function$;

CREATE OR REPLACE FUNCTION private.facet (
  kind  text,
  value text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$ begin return '@' || kind || ' ' || replace(left(private.fold(trim(value)), 200), '*', '∗'); end $function$;

CREATE OR REPLACE FUNCTION private.facet_distribution (
  facets text[],
  ids    bigint[]
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
begin
  return (
    with spellings as materialized (
      -- Folding takes longer than counting, so each spelling is folded once.
      select facet, value, private.facet(facet, value) as folded, count(*) as holders
      from private.search_entries as entry
      cross join lateral (
        select 'interests' as facet, unnest(entry.interests) as value
        union all
        values ('city', entry.city), ('country', entry.country)
      ) as printed
      where profile_id = any (ids) and facet = any (facets) and trim(value) <> ''
      group by facet, value
    ),
    counted as (
      select facet, (array_agg(value order by holders desc, value collate "C"))[1] as value, sum(holders) as holders
      from spellings
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from counted
      group by facet
    ) as distributions using (facet)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.fail_embeddings (
  jobs    jsonb,
  reason  text,
  refused boolean
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  update private.embedding_queue as job
  set
    last_error = left(reason, 500),
    -- claim_embeddings has counted it already. Since then the text may have changed.
    attempts = case when refused then attempts else greatest(attempts - 1, 0) end
  from jsonb_to_recordset(jobs) as failed (kind text, id bigint)
  where job.kind = failed.kind and job.id = failed.id
$function$;

CREATE OR REPLACE FUNCTION private.find_me()
  RETURNS bigint
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  me bigint;
begin
  -- No subquery around auth.uid(), and a variable: 4 µs instead of 6.
  select id into me from public.users where auth_id = auth.uid() and is_active;
  return me;
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
      ids => array(select unnest(candidate_ids) union select unnest(neighbour_ids)), neighbour_ids => neighbour_ids,
      asked => asked, model => model, query_vector => query_vector, context_vector => context_vector,
      -- (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.
      semantic_weight => semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust)
    )
  ),
  page as (
    select *, row_number() over (
      order by score desc, lacks desc, is_name desc, keyword desc, cosine desc nulls last, profile_id
    ) as place
    from ranked
    order by place
    limit greatest(0, least((request ->> 'limit')::integer, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(json_agg(coalesce((hit::jsonb || details)::json, hit) order by place), '[]'),
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

CREATE OR REPLACE FUNCTION private.find_reply (
  noun      text,
  client_id uuid,
  request   jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  stored private.stored_replies;
begin
  if find_reply.client_id is null then
    return null;
  end if;
  -- Requests with the same key wait until one is stored.
  perform pg_advisory_xact_lock(hashtextextended(format('%s %s %s', find_reply.noun, me, find_reply.client_id), 0));
  select * into stored
  from private.stored_replies as known
  where known.user_id = me and known.noun = find_reply.noun and known.client_id = find_reply.client_id;
  if not found then
    return null;
  elsif stored.request_hash <> private.hash_request(request) then
    raise sqlstate 'PT422' using message = format('This idempotency key was used for another %s', find_reply.noun);
  end if;
  perform private.set_response_metadata(stored.metadata || '{"replayed": true}');
  return stored.body;
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
      id bigint, outcome text, reason text, retry_after integer, subject bigint, silent boolean
    )
    order by id
  loop
    select * into entry from private.outbox where id = finished.id for update;
    continue when not found;
    update private.devices
    set
      silences = case when finished.silent then silences + 1 else 0 end,
      silent_until = case when finished.silent then private.present() + private.back_off(silences) end
    where user_id = entry.user_id and id = entry.device_id and (finished.silent or silences > 0);
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

CREATE OR REPLACE FUNCTION private.first_contact_left (
  conversation bigint,
  partner      bigint,
  max_things   integer,
  is_locked    boolean DEFAULT false
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.follows (
  person       bigint,
  conversation bigint,
  message      bigint
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return exists (
    select from private.inbox_entries
    where user_id = person and conversation_id = conversation
      and coalesce(archived_id < message, not is_archived)
      and (muted_until <= now()) is not false
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.forbid_writing (
  partner bigint
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  raise sqlstate 'PT403' using
    message = 'You cannot write to this person',
    hint = coalesce(
      (select 'blocked' from private.blocks where blocker_id = private.my_id() and blocked_id = partner), 'forbidden'
    );
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
    select distinct conversation_id
    from old_rows
    full join new_rows using (id, conversation_id, user_id, created_at)
    where old_rows.id is null or new_rows.id is null
  ) as moved
  order by conversation_id;
  -- An admin may give a message to the other participant, or move it to another conversation of its sender.
  if found and exists (
    select from new_rows
    where not exists (
      select from public.conversations where id = conversation_id and user_id in (voyager_id, local_id)
    )
  ) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
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
    'read', marked.conversation_id, marked.id, event => 'message.read',
    actor => case marked.user_id when voyager_id then local_id else voyager_id end,
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

CREATE OR REPLACE FUNCTION private.handle_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  leaving bigint[];
begin
  if tg_op = 'INSERT' then
    insert into private.inbox_entries (conversation_id, user_id, active_at)
    values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at);
    return null;
  end if;
  perform private.refresh_entries(new.id);
  if (new.voyager_id, new.local_id) <> (old.voyager_id, old.local_id) then
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
    update private.inbox_entries set archived_id = null where conversation_id = new.id;
    -- The row of whoever leaves goes to whoever comes, with its count, so that who marks messages as read meanwhile
    -- finds it. A count of what this transaction sees would miss that.
    update private.inbox_entries
    set user_id = newcomer, has_written = false, is_pinned = false, muted_until = null
    from unnest(
      leaving, array_remove(array_remove(array[new.voyager_id, new.local_id], old.voyager_id), old.local_id)
    ) as change (leaver, newcomer)
    where conversation_id = new.id and user_id = leaver;
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
    '{"is_searchable": false, "show_answers": true}' || jsonb_strip_nulls(fields)
      || jsonb_build_object('id', sign_up.profile_id, 'user_id', sign_up.user_id)
  );
  perform private.replace_interests(sign_up.profile_id, nullif(fields -> 'interest_ids', 'null'));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.has_written (
  person       bigint,
  conversation bigint
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return exists (
    select from private.inbox_entries
    where conversation_id = conversation and user_id = person and inbox_entries.has_written
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.hash_message (
  message public.messages
)
  RETURNS bytea
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
  return private.hash_request(jsonb_build_object('content', message.content, 'attachment', message.attachment));
end
$function$;

CREATE OR REPLACE FUNCTION private.hidden_profiles_of (
  caller bigint
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  hidden_users constant bigint[] := caller || private.blocked_users_of(caller);
begin
  return array(select profile_id from private.search_entries where user_id = any (hidden_users));
end
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
  end if;
  return ids;
end
$function$;

CREATE OR REPLACE FUNCTION private.interests_of (
  profile bigint
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]')
    from public.profile_interests
    join public.interests on id = interest_id
    where profile_id = profile
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.is_listed (
  word text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
begin
  -- The lexicon may still have words that nobody has any more. It is asked first, because it is quicker.
  return exists (select from private.search_lexicon as lexicon where lexicon.word = is_listed.word)
    and exists (select from private.search_words where words @@ private.lexeme(is_listed.word)::tsquery);
end
$function$;

CREATE OR REPLACE FUNCTION private.is_upload()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select storage.operation() = any (array[
    'storage.object.upload', 'storage.object.upload_update',
    'storage.tus.upload.create', 'storage.tus.upload.part', 'storage.tus.upload.delete'
  ])
$function$;

CREATE OR REPLACE FUNCTION private.keyword_candidates (
  asked       private.search_query,
  filter      private.search_filter,
  max_results integer
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  profiles constant double precision := private.count_profiles();
  all_words constant tsquery := (select private.all_of(query) from unnest(asked.units));
  -- The rarest words, as long as they have few enough holders: one in more than a fourth of the profiles distinguishes
  -- none. The others only add profiles that have all the words. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select query, held, sum(held) over rarest as held_so_far, row_number() over rarest as rank
      from unnest(asked.units) as unit
      cross join lateral (select profiles / exp(unit.rarity) as held) as counted
      window rarest as (order by held, unit.number)
    ) as ranked
    where ranked.rank = 1 or held_so_far <= max_results and held <= greatest(25, profiles / 4)
  );
begin
  if cardinality(filter.passing) <= max_results then
    -- Scoring all of them instead takes a fifth longer.
    return array(
      select stored.profile_id
      from private.search_words as stored
      where stored.profile_id = any (filter.passing)
        and ts_match_vq(stored.words, (
          select private.any_of(query) from unnest(array[all_words, rare_words, asked.lacking]) as query
        ))
    );
  end if;
  return array(
    select found.profile_id
    from unnest(array[asked.called_so, all_words, rare_words, asked.lacking]) with ordinality as steps (query, step)
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ steps.query
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found
    group by found.profile_id
    order by min(steps.step)
    limit max_results
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.latest_entries_of (
  person     bigint,
  archived   boolean,
  without    bigint[],
  after_time timestamp with time zone,
  after_id   bigint,
  max_rows   bigint
)
  RETURNS SETOF private.inbox_entries
  LANGUAGE sql
  STABLE
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.latin_spelling (
  word text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
declare
  latin text := normalize(word, nfkc);
  sounds constant text[] := string_to_array(
    'きゃ kya きゅ kyu きょ kyo しゃ sha しゅ shu しょ sho ちゃ cha ちゅ chu ちょ cho にゃ nya にゅ nyu にょ nyo ひゃ hya ひゅ hyu '
    'ひょ hyo みゃ mya みゅ myu みょ myo りゃ rya りゅ ryu りょ ryo ぎゃ gya ぎゅ gyu ぎょ gyo じゃ ja じゅ ju じょ jo びゃ bya '
    'びゅ byu びょ byo ぴゃ pya ぴゅ pyu ぴょ pyo あ a い i う u え e お o か ka き ki く ku け ke こ ko さ sa し shi す su '
    'せ se そ so た ta ち chi つ tsu て te と to な na に ni ぬ nu ね ne の no は ha ひ hi ふ fu へ he ほ ho ま ma み mi '
    'む mu め me も mo や ya ゆ yu よ yo ら ra り ri る ru れ re ろ ro わ wa を o ん n が ga ぎ gi ぐ gu げ ge ご go ざ za '
    'じ ji ず zu ぜ ze ぞ zo だ da ぢ ji づ zu で de ど do ば ba び bi ぶ bu べ be ぼ bo ぱ pa ぴ pi ぷ pu ぺ pe ぽ po '
    'ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k ლ l მ m ნ n ო o პ p ჟ zh რ r ს s ტ t უ u ფ p ქ k ღ gh ყ q შ sh ჩ ch ც ts '
    'ძ dz წ ts ჭ ch ხ kh ჯ j ჰ h क k ख kh ग g घ gh ङ n च ch छ chh ज j झ jh ञ n ट t ठ th ड d ढ dh ण n त t थ th द d '
    'ध dh न n प p फ ph ब b भ bh म m य y र r ल l ळ l व v श sh ष sh स s ह h अ a आ a इ i ई i उ u ऊ u ऋ ri ए e ऐ ai ओ o '
    'औ au ा a ि i ी i ु u ू u ृ ri े e ै ai ो o ौ au ं n ँ n ः h', ' '
  );
begin
  if latin !~ '^([ぁ-ゖァ-ヶー]+|[\u10d0-\u10f0]+|[\u0901-\u094d]+)$' then
    return null;
  end if;
  -- Katakana are hiragana 96 further on.
  latin := translate(
    latin,
    (select string_agg(chr(code), '' order by code) from generate_series(12449, 12534) as code),
    (select string_agg(chr(code), '' order by code) from generate_series(12353, 12438) as code)
  );
  -- A consonant of Devanagari has an a, unless another vowel or nothing follows.
  latin := regexp_replace(latin, '([\u0915-\u0939]\u093c?)(?=[\u0901-\u0939])', '\1a', 'g');
  for place in 1..cardinality(sounds) by 2 loop
    latin := replace(latin, sounds[place], sounds[place + 1]);
  end loop;
  -- A small tsu doubles what follows; long vowels are written once.
  latin := regexp_replace(translate(latin, e'ー\u093c\u094d', ''), 'っ(.)', '\1\1', 'g');
  return regexp_replace(regexp_replace(latin, 'ou', 'o', 'g'), '([aiueo])\1', '\1', 'g');
end
$function$;

CREATE OR REPLACE FUNCTION private.list_jobs()
  RETURNS TABLE (
    name     text,
    schedule text,
    command  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  values
    ('settle reservations', '10 seconds', 'select private.settle_reservations()'),
    -- A changed profile is embedded right after the change. This embeds what failed then, and a backlog.
    ('drain the embedding queue', '10 seconds', $job$
      select private.call_edge_function('embed', calls => (count(*) + 4) / 5)
      from (select from private.embedding_queue where due_at <= now() and attempts < 8 limit 50) as due
    $job$),
    ('send notifications', '10 seconds', $job$
      select private.call_edge_function('notify', calls => (count(*) + 49) / 50)
      from (
        select from private.outbox
        where channel in ('person', 'push', 'mail', 'webhook') and due_at <= now() and attempts < 8
        limit 200
      ) as due
    $job$),
    ('count words', '37 * * * *', 'select private.count_words()'),
    ('forget dead letters', '23 3 * * *', $job$
      delete from private.outbox where attempts >= 8 and due_at < private.present() - interval '30 days'
    $job$),
    -- A day after the last cursor. Reads the whole log.
    ('forget old changes', '47 3 * * *', $job$
      delete from private.changes where created_at < (select private.present()) - interval '31 days'
    $job$),
    ('measure answers', '7 4 * * *', 'select private.measure_answers()'),
    ('purge evidence', '29 3 * * *', $job$
      with due as (
        update public.reports set note = null, purge_at = null where purge_at <= (select private.present()) returning id
      )
      delete from private.report_evidence where report_id in (select id from due)
    $job$),
    ('forget old runs', '17 3 * * *', 'delete from cron.job_run_details where end_time < now() - interval ''3 days''')
$function$;

CREATE OR REPLACE FUNCTION private.list_passing (
  filter       private.search_filter,
  alternatives text[],
  max_passing  integer
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  passing constant bigint[] := array(
    select distinct found.profile_id
    from unnest(alternatives) as alternative
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ private.any_term(array[alternative])
        and private.matches_filter(stored.profile_id, stored.words, filter)
      -- Else Postgres would read the whole table once.
      offset 0
    ) as found
    limit max_passing + 1
  );
begin
  return case when cardinality(passing) <= max_passing then passing end;
end
$function$;

CREATE OR REPLACE FUNCTION private.load_places (
  file text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  names_index constant text := pg_get_indexdef('private.search_places_names_idx'::regclass);
begin
  -- It is built afterwards. This also locks the table: two stacks that start on one database load one after the other.
  drop index private.search_places_names_idx;
  delete from private.search_places where id < 1000000000;
  with recursive rows as materialized (
    select
      columns[1]::integer as id, columns[2] as kind, string_to_array(columns[3], ',')::integer[] as parents,
      string_to_array(columns[4], '|') as names, string_to_array(columns[5], '|') as ambiguous,
      string_to_array(columns[6], '|') as adjectives, nullif(columns[7], '')::real as latitude,
      nullif(columns[8], '')::real as longitude, nullif(columns[9], '')::integer as population,
      nullif(columns[10], '') as time_zone, columns[11] as name
    from string_to_table(file, E'\n') as line
    -- Without the offset each column would split the line anew.
    cross join lateral (select string_to_array(line, E'\t') offset 0) as split (columns)
    where line <> '' and line not like '#%'
  ),
  -- The file has the nearest parents only.
  above as (
    select id, unnest(parents) as parent from rows
    union
    select above.id, unnest(rows.parents) from above join rows on rows.id = above.parent
  )
  insert into private.search_places
  select
    id, kind, coalesce(ancestors, '{}'), names, ambiguous, adjectives, latitude, longitude, population, time_zone,
    name
  from rows
  left join (select id, array_agg(parent order by parent) as ancestors from above group by id) as listed using (id);
  execute names_index;
  insert into private.loaded_data (name, checksum)
  values ('places', md5(file))
  on conflict (name) do update set checksum = excluded.checksum;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_pair (
  conversation bigint
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner constant bigint := private.require_participant(conversation);
begin
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => partner, shared => true);
  return partner;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_person (
  person bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- In the order of an erasure, which goes on to the reports as well.
  perform from public.profiles where user_id = person for no key update;
  perform from public.users where id = person for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.log_moderation (
  action text,
  report bigint,
  person bigint,
  note   text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
  -- The dashboard's SQL editor ends each statement with comments that say who ran it.
  editor constant text := substring(current_query() from '-- user: ([0-9a-f-]{36})\s+-- date: [^\n]*\s*$');
begin
  if note !~ '[^[:space:][:cntrl:]]' or char_length(note) > 2000 or note is null and action <> 'read evidence' then
    raise sqlstate 'PT400' using message = 'note: say why, in 1 to 2,000 characters';
  end if;
  insert into public.moderation_log (action, report_id, user_id, note, by_whom)
  values (
    action, report, person, note,
    concat_ws(' ', coalesce(claims ->> 'role', session_user), claims ->> 'sub', 'dashboard user ' || editor)
  );
end
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
  recipient public.users;
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  conversations json;
begin
  select * into recipient from public.users where id = entry.user_id;
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
  if not chosen.email or recipient.email = '' or conversations is null then
    return null;
  end if;
  return json_build_object(
    'id', entry.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', entry.key,
    'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
    'time_zone', chosen.time_zone, 'conversations', conversations, 'request', entry.request
  );
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
  SET plan_cache_mode TO 'force_generic_plan'
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
      id as profile_id, share * case when are_apart then 0.97 else 1 end as coverage, words_matched, names_missing,
      least_worth > 0 as has_all, least_worth = 1 or is_name or has_name_words as in_name, is_name, lives, lacks
    from unnest(ids) as id
    join private.search_words as stored on stored.profile_id = id
    -- One after the other for each profile: a join with the units copied the words of all of them.
    cross join lateral (
      select
        coalesce(sum(worth * unit.rarity) / all_rarity, 0) as share,
        count(*) filter (where worth > 0) as words_matched,
        coalesce(sum(unit.rarity) filter (where unit.is_named and worth = 0) / all_rarity, 0) as names_missing,
        coalesce(min(worth), 0) as least_worth
      from unnest(asked.units) as unit
      cross join lateral (
        select case
          when ts_match_vq(stored.words, unit.exact_query) then private.weight_value(stored.words, unit.exact_query)
          when ts_match_vq(stored.words, unit.query) then 0.8 * private.weight_value(stored.words, unit.query)
          else 0
        end as worth
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
      offset 0
    ) as person
    where words_matched > 0 or lacks or id = any (neighbour_ids) or cardinality(asked.units) = 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.measure_answers()
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  merge into private.answer_spans as kept
  using (
    with contacts as materialized (
      select host, first.created_at, reply.created_at - first.created_at as took
      from public.conversations
      cross join lateral (
        select * from public.messages where conversation_id = conversations.id order by id limit 1
      ) as first
      cross join lateral (select voyager_id + local_id - first.user_id as host) as other
      join public.profiles on profiles.user_id = host and show_answers
      -- Whom admins have suspended, or who has left, waits for no answer.
      join public.users as writer on writer.id = first.user_id and writer.is_active
      left join lateral (
        select created_at from public.messages where conversation_id = conversations.id and user_id = host
        order by id
        limit 1
      ) as reply on true
      where first.created_at > now() - interval '90 days'
        and conversations.created_at > now() - interval '90 days'
        -- Taken back.
        and (first.content <> '' or first.attachment is not null)
        and not private.is_blocked_between(host, first.user_id)
    )
    select distinct on (host) host, answers
    from contacts
    -- Who has been waiting for less than this may still be answered in time.
    join (
      values
        ('within an hour', interval '1 hour'), ('within a day', interval '1 day'), ('within a week', interval '7 days')
    ) as spans (answers, span) on contacts.created_at <= now() - span
    group by host, answers, span
    having count(*) >= 5
      and percentile_cont(0.5) within group (order by coalesce(took, interval '90 days')) <= span
    order by host, span
  ) as measured
  on measured.host = kept.user_id
  when matched and measured.answers <> kept.answers then update set answers = measured.answers
  when not matched then insert (user_id, answers) values (measured.host, measured.answers)
  when not matched by source then delete
$function$;

CREATE OR REPLACE FUNCTION private.my_conversations()
  RETURNS SETOF bigint
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  ROWS 10
  SET search_path TO ''
  AS $function$
declare
  me bigint := private.my_id();
begin
  return query
    select id from public.conversations where voyager_id = me
    union all
    select id from public.conversations where local_id = me;
end
$function$;

CREATE OR REPLACE FUNCTION private.my_writable_conversations()
  RETURNS SETOF bigint
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select id
  from public.conversations
  where id in (select private.my_conversations())
    and not array[voyager_id, local_id] && coalesce((select private.blocked_users_of((select private.my_id()))), '{}')
    and not exists (select from public.users where users.id in (voyager_id, local_id) and erased_at is not null)
$function$;

CREATE OR REPLACE FUNCTION private.nearest_profiles (
  query_vector extensions.halfvec,
  query_model  text,
  filter       private.search_filter,
  max_results  integer,
  max_distance double precision
)
  RETURNS TABLE (
    profile_id bigint,
    distance   double precision
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO 'extensions'
  SET "hnsw.iterative_scan" TO 'relaxed_order'
  SET "hnsw.ef_search" TO '160'
  SET "hnsw.max_scan_tuples" TO '10000'
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_sort TO 'off'
  AS $function$
begin
  return query
    select nearest.profile_id, nearest.away
    from (
      -- A scan of few vectors is exact, and quicker than the index, in which they are far apart. Without the offset
      -- Postgres would walk the whole index, as sorting is off.
      (
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (filter.passing) and model = query_model
        offset 0
      )
      union all
      (
        select entry.profile_id, embedding <=> query_vector
        from private.search_entries as entry
        where filter.passing is null and model = query_model and entry.profile_id <> all (filter.hidden_ids)
          and (filter.required is null and filter.excluded is null or exists (
            select
            from private.search_words as stored
            where stored.profile_id = entry.profile_id
              and private.matches_filter(stored.profile_id, stored.words, filter)
          ))
        order by embedding <=> query_vector
        limit max_results
      )
    ) as nearest
    where nearest.away <= max_distance
    order by nearest.away, nearest.profile_id
    limit max_results;
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
declare
  origin_id constant bigint := (select last_id from private.changes_origin);
begin
  return (
    select row(user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind)::private.changes
    from private.changes_by_reader
    where reader_id = person
      and xid < pg_snapshot_xmax(snapshot)
      and pg_visible_in_snapshot(xid, snapshot)
      and id > origin_id
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
    select from public.conversations
    where id = conversation and person in (voyager_id, local_id)
      and exists (select from public.users where id = person and is_active)
      and not private.is_blocked_between(voyager_id, local_id)
      and private.follows(person, conversation, message)
  ) then notice end;
end
$function$;

CREATE OR REPLACE FUNCTION private.notification_settings_of (
  person bigint
)
  RETURNS private.notification_settings
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return coalesce(
    (select chosen from private.notification_settings as chosen where user_id = person),
    jsonb_populate_record(null::private.notification_settings, '{"push": true, "email": true, "previews": false}')
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.notify (
  event        text,
  conversation bigint,
  subject      bigint,
  by_id        bigint   DEFAULT NULL::bigint,
  people       bigint[] DEFAULT '{}'::bigint[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  delay integer;
  to_webhook boolean;
  request constant jsonb := nullif(current_setting('request.jwt.claims', true), '')::jsonb -> 'request';
begin
  select delay_seconds, webhooks into delay, to_webhook from private.outbox_settings;
  insert into private.outbox (channel, event, conversation_id, subject_id, user_id, request, due_at)
  select
    'person', notify.event, conversation, subject, person, request,
    private.present() + interval '1 second' * coalesce(60 * delay_minutes, delay)
  from unnest(people) as person
  left join private.notification_settings on user_id = person;
  if to_webhook then
    insert into private.outbox (channel, event, conversation_id, subject_id, request, due_at)
    values ('webhook', notify.event, conversation, subject, request, private.present());
  end if;
  -- Whoever did it is here again, which ends a silence.
  delete from private.silences where user_id = by_id;
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
$function$;

CREATE OR REPLACE FUNCTION private.participants_of (
  conversations bigint[]
)
  RETURNS TABLE (
    id         bigint,
    voyager_id bigint,
    voyager    json,
    local_id   bigint,
    local      json,
    created_at timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  ROWS 10
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  me bigint := private.my_id();
begin
  return query
    select
      mine.id, voyager.id, json_build_object('id', voyager.id, 'name', voyager.name),
      local.id, json_build_object('id', local.id, 'name', local.name), mine.created_at
    from public.conversations as mine
    join public.users as voyager on voyager.id = mine.voyager_id
    join public.users as local on local.id = mine.local_id
    where mine.id = any (conversations) and me in (mine.voyager_id, mine.local_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.partner_in (
  person       bigint,
  conversation bigint
)
  RETURNS public.users
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select users
  from public.conversations
  join public.users on users.id in (voyager_id, local_id) and users.id <> person
  where conversations.id = conversation
$function$;

CREATE OR REPLACE FUNCTION private.phrase (
  words text[]
)
  RETURNS tsquery
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$ begin return (select string_agg(private.lexeme(word), ' <-> ')::tsquery from unnest(words) as word); end $function$;

CREATE OR REPLACE FUNCTION private.places_within (
  ids        integer[],
  kilometres double precision
)
  RETURNS integer[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
begin
  return array(
    select unnest(ids)
    union
    select near.id
    from private.search_places as centre
    join private.search_places as near
      on near.latitude between centre.latitude - kilometres / 111.2 and centre.latitude + kilometres / 111.2
    where centre.id = any (ids) and centre.kind in ('city', 'district') and near.kind in ('city', 'district')
      -- The spherical law of cosines, with the mean radius of the Earth.
      and sind(centre.latitude) * sind(near.latitude)
        + cosd(centre.latitude) * cosd(near.latitude) * cosd(near.longitude - centre.longitude)
        >= cos(kilometres / 6371)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.plan_notifications (
  max_rows integer,
  push     boolean,
  mail     boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  planned integer := 0;
  chosen private.notification_settings;
  person bigint;
  due bigint[];
  awake bigint[];
  heard bigint[];
  heard_steps bigint[];
  newest jsonb;
begin
  for person, due in
    with locked as materialized (
      select id, user_id
      from private.outbox
      where channel = 'person' and due_at <= moment and attempts < 8
      order by due_at limit max_rows
      for update skip locked
    )
    select user_id, array_agg(id order by id) from locked group by user_id order by user_id
  loop
    begin
      chosen := private.notification_settings_of(person);
      awake := private.postpone_quiet(due, moment);
      select
        array_agg(id), coalesce(array_agg(subject_id) filter (where event = 'reservation.changed'), '{}'),
        (array_agg(request order by id desc))[1]
      into heard, heard_steps, newest
      from private.outbox
      where id = any (awake) and (private.notice_of(
        person => person, event => event, conversation => conversation_id, first_id => subject_id, last_id => subject_id
      )).id is not null;
      if push and chosen.push then
        insert into private.outbox as waiting (
          channel, event, conversation_id, first_id, subject_id, user_id, device_id, request, due_at
        )
        select
          'push', event, conversation_id, min(subject_id), max(subject_id), person, devices.id,
          (array_agg(request order by outbox.id desc))[1], moment
        from private.outbox
        join private.devices on devices.user_id = person
        where outbox.id = any (heard)
        group by event, conversation_id, devices.id
        on conflict (user_id, device_id, conversation_id, event) where channel = 'push'
        do update set
          subject_id = greatest(waiting.subject_id, excluded.subject_id), request = excluded.request,
          -- A dead letter is tried again, once its last attempt is over.
          attempts = case when waiting.attempts < 8 then waiting.attempts else 0 end;
      end if;
      if mail and chosen.email and heard is not null then
        insert into private.silences (user_id, steps) values (person, heard_steps) on conflict do nothing;
        if found then
          insert into private.outbox as waiting (channel, event, user_id, request, due_at)
          values ('mail', 'silence', person, newest, moment)
          on conflict (user_id) where channel = 'mail'
          do update set attempts = 0, request = excluded.request where waiting.attempts >= 8;
        else
          update private.silences set steps = silences.steps || heard_steps where user_id = person;
        end if;
      end if;
      delete from private.outbox where id = any (awake);
    exception
      -- One person's rows must not keep the others' waiting.
      when others then
        update private.outbox
        set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = sqlstate
        where id = any (due);
    end;
    planned := planned + cardinality(due);
  end loop;
  return to_json(planned);
end
$function$;

CREATE OR REPLACE FUNCTION private.postpone_quiet (
  ids    bigint[],
  moment timestamp with time zone
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  with postponed as (
    update private.outbox
    -- It was not tried.
    set attempts = greatest(attempts - 1, 0), due_at = ends_at
    from private.notification_settings as chosen
    cross join lateral private.quiet_until(quiet_from, quiet_to, time_zone, moment) as ends_at
    where outbox.id = any (ids) and outbox.user_id = chosen.user_id and ends_at is not null
    returning outbox.id
  )
  select array(select unnest(ids) except select id from postponed) into ids;
  return ids;
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
      and (new.conversation_id, new.title, new.price, new.date, new.ends_at, new.status, new.host_id)
        is not distinct from (
          old.conversation_id, old.title, old.price, old.date, old.ends_at, settled.status, old.host_id
        ) then
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

CREATE OR REPLACE FUNCTION private.present()
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return clock_timestamp();
end
$function$;

CREATE OR REPLACE FUNCTION private.print_latest (
  message     public.messages,
  with_states boolean
)
  RETURNS text
  LANGUAGE sql
  STABLE
  AS $function$
  select pg_catalog.format(
    '{"id" : %s, "content" : %s, "user_id" : %s, "read" : %s, "createdAt" : "%s"%s}',
    message.id, pg_catalog.to_json(message.content), message.user_id, pg_catalog.to_json(message.read),
    private.iso(message.created_at),
    case
      when with_states then pg_catalog.format(
        ', "attachment" : %s, "editedAt" : %s, "deletedAt" : %s',
        coalesce(message.attachment::text, 'null'),
        coalesce(pg_catalog.to_json(private.iso(message.edited_at))::text, 'null'),
        coalesce(pg_catalog.to_json(private.iso(message.deleted_at))::text, 'null')
      )
    end
  )
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
  return case when with_states then (private.with_states(array[shown]))[1] else to_json(shown) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_history()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if tg_op = 'DELETE' and pg_trigger_depth() > 1 then
    return null;
  end if;
  raise sqlstate '42501' using message = 'The history of reservations is append-only';
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
  device private.devices;
begin
  select * into device from private.devices where user_id = entry.user_id and id = entry.device_id;
  if not found or notice.id is null or not chosen.push then
    return null;
  end if;
  return json_build_object(
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
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.push_receivers (
  device private.devices
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  host constant text := rtrim(lower(substring(device.endpoint from '^https?://(\[[^]]*\]|[^/:?#]*)')), '.');
begin
  return array[
    device.id::text, 'user ' || device.user_id,
    case when host ~ '^[\d.]+$|^\[' then host else substring(host from '[^.]+\.[^.]+$') end
  ];
end
$function$;

CREATE OR REPLACE FUNCTION private.quiet_until (
  quiet_from time without time zone,
  quiet_to   time without time zone,
  time_zone  text,
  moment     timestamp with time zone
)
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  -- Both ends are computed from the wall clock of their own day, so that they are right on the days on which the clocks
  -- change: such a night is an hour shorter or longer.
  return (
    select max(ends)
    from (
      select
        (day + quiet_from) at time zone time_zone as starts,
        (day + (quiet_to < quiet_from)::integer + quiet_to) at time zone time_zone as ends
      from (values ((moment at time zone time_zone)::date), ((moment at time zone time_zone)::date - 1)) as days (day)
    ) as nights
    where moment >= starts and moment < ends
  );
exception
  -- Postgres has forgotten the time zone since it was chosen.
  when invalid_parameter_value then
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.quote (
  value   text,
  longest integer DEFAULT 60
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  unseen constant text := '[[:space:][:cntrl:]\u200e\u200f\u2028-\u202e\u2066-\u2069]+';
  line constant text := regexp_replace(btrim(value), unseen, ' ', 'g');
begin
  return case when char_length(line) > longest then left(line, longest - 1) || '…' else line end;
end
$function$;

CREATE OR REPLACE FUNCTION private.rate_limit_key (
  kind text,
  who  text
)
  RETURNS bytea
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  todays text := (select salt from private.rate_limit_salts where valid_on = current_date);
begin
  if todays is null then
    delete from private.rate_limit_salts where valid_on < current_date;
    insert into private.rate_limit_salts values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.rate_limit_salts where valid_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$function$;

CREATE OR REPLACE FUNCTION private.read_cursor (
  encoded text,
  person  bigint
)
  RETURNS private.change_cursor
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  padded constant text := translate(encoded, '-_', '+/') || repeat('=', -length(encoded) & 3);
  oldest constant timestamptz := private.present() - interval '30 days';
  cursor private.change_cursor;
  last_seen pg_snapshot;
  newest private.changes;
begin
  begin
    cursor := convert_from(decode(padded, 'base64'), 'UTF8')::private.change_cursor;
  exception
    when data_exception then
      cursor := null;
  end;
  if cursor.user_id is distinct from person or num_nulls(cursor.epoch, cursor.issued_at, cursor.seen) > 0
    or num_nulls(cursor.target, cursor.xid, cursor.id) not in (0, 3) then
    raise sqlstate 'PT400' using message = 'after: must be a cursor of your own';
  end if;
  last_seen := coalesce(cursor.target, cursor.seen);
  if cursor.issued_at >= oldest
    and cursor.epoch = (select epoch from private.changes_origin)
    and pg_snapshot_xmax(last_seen) <= pg_snapshot_xmax(pg_current_snapshot()) then
    -- A copy of the files, restored, has the same epoch and uses the same transaction ids again. Then what the owner
    -- has seen last is not there, or something else is there that they seem to have seen.
    newest := private.newest_change(person, last_seen);
    if (newest.id, newest.created_at) is not distinct from (cursor.newest_id, cursor.newest_at)
      or newest.id is null and cursor.newest_at < oldest then
      return cursor;
    end if;
  end if;
  raise sqlstate 'PT410' using message = 'after: this cursor is not valid any more, read everything anew';
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
  forms constant text[] := part.variants || phrase[1] || ts_lexize('english_stem', phrase[1]);
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

CREATE OR REPLACE FUNCTION private.read_filter (
  request jsonb,
  asked   private.search_query,
  caller  bigint
)
  RETURNS private.search_filter
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  profiles constant double precision := private.count_profiles();
  -- To list a profile takes 4 µs. Without a list the vector index visits 100 * profiles / passing, at 16 µs each, to
  -- find 100 that pass. Both take as long where passing is sqrt(400 * profiles).
  max_passing constant integer := greatest(2000, sqrt(400 * profiles));
  condition record;
  filter private.search_filter;
begin
  if (request ->> 'isNobody')::boolean then
    return row(null, null, '{}', '{}')::private.search_filter;
  end if;
  filter.hidden_ids := private.hidden_profiles_of(caller);
  filter.excluded := asked.excluded;
  filter.required := (select private.all_of(exact_query) from unnest(asked.units) where quoted);
  for condition in
    select terms, private.any_term(terms) as query, (private.word_counts(terms)).holders
    from private.conditions_of(request) as terms
    order by holders desc
  loop
    filter.required := coalesce(filter.required && condition.query, condition.query);
  end loop;
  -- The last, which has the fewest holders.
  if condition.holders <= max_passing then
    filter.passing :=
      private.list_passing(filter => filter, alternatives => condition.terms, max_passing => max_passing);
  end if;
  return case when filter.passing is null then filter
    else row(null, null, '{}', filter.passing)::private.search_filter end;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_place (
  words  private.query_word[],
  first  integer,
  places private.place_name[]
)
  RETURNS private.search_unit
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  part constant private.query_word := words[first];
  term constant text := part.word || case when part.unfinished then '*' else '' end;
  named record;
  unit private.search_unit;
begin
  select * into named
  from unnest(places) as place
  cross join lateral (select array_length(string_to_array(candidate, ' '), 1) as size) as sized
  where not is_adjective
    and candidate = array_to_string(array(select word from unnest(words[first:first + size - 1])), ' ')
    and not exists (select from unnest(words[first:first + size - 1]) where run is distinct from part.run or quoted)
    and (size > 1 or not part.is_light)
    -- What is also another word, or may become one while it is typed, is a place where one stands, or if people live
    -- there and it is all that is asked or written like a name.
    and case
      when part.is_where or part.is_near then true
      when exists (
        select from private.search_words as stored where stored.words @@ private.any_term(private.tags_of(ids))
      ) then not is_ambiguous or size > 1 or part.is_capital or cardinality(words) = 1
      else not is_ambiguous and (size > 1 or (private.word_counts(array[term])).holders = 0)
    end
  order by size desc
  limit 1;
  if named.candidate is null then
    return null;
  end if;
  unit.words := array(select word from unnest(words[first:first + named.size - 1]));
  unit.place := named.candidate;
  unit.exact := private.tags_of(named.ids);
  if part.is_near then
    -- Those where somebody lives: of 400 around a large city, a query of all takes 20 ms.
    unit.exact := unit.exact || array(
      select word from private.search_lexicon where word = any (private.tags_of(private.places_within(named.ids, 100)))
    );
  end if;
  unit.loose := unit.words;
  unit.exact_query := private.any_term(unit.exact);
  unit.query := unit.exact_query || private.phrase(unit.words);
  unit.is_named := true;
  -- Where nobody lives, somebody may have the name.
  unit.is_home := part.is_near
    or exists (select from private.search_words as stored where stored.words @@ unit.exact_query)
    or (private.word_counts(unit.words)).named <= 0;
  return unit;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_query (
  typed jsonb
)
  RETURNS private.search_query
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
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
  exclusion record;
  holders double precision;
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
          when not part.is_known and (private.word_counts(array[term])).holders = 0 then private.split_of(part.word)
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
        holders := case
          -- All the words of a phrase, as the rarest of them.
          when unit.place is null and cardinality(unit.words) > 1
            then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
          else coalesce(
            nullif((private.word_counts(unit.exact)).holders, 0),
            (private.word_counts(case when unit.place is null then unit.loose end)).holders
          )
        end;
        unit.rarity := ln(1 + profiles / greatest(1, least(profiles, holders)));
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
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
    private.any_of(wanted.exact_query) filter (where wanted.is_home)
  into asked.called_so, asked.home
  from unnest(asked.units) as wanted;
  return asked;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_word (
  part       private.query_word,
  others     text[],
  places     private.place_name[],
  names_only boolean
)
  RETURNS private.search_unit
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  word constant text := part.word;
  adjective constant text[] :=
    private.tags_of((select ids from unnest(places) as place where candidate = word and is_adjective));
  consonants constant text := private.consonants(word);
  corrections text[];
  is_begun boolean;
  unit private.search_unit;
begin
  unit.words := array[word];
  unit.exact := array[word] || part.variants || others || case when part.is_language then '{}' else adjective end;
  -- Who speaks a language may not say so where everybody does. Short words are not corrected: cat, cats.
  unit.loose := case when part.is_language then adjective else '{}' end
    || case when part.unfinished then array[word || '*'] else '{}' end
    -- Singular for plural, and the other way round.
    || case when char_length(word) > 2 then array[regexp_replace(word || 's', 'ss$', '')] else '{}' end
    || array(
      select spelling
      from unnest(array[
        private.latin_spelling(word),
        case when consonants like '~abjad %' then '~latin' else '~abjad' end || substr(consonants, 7),
        -- Mohammed, Muhammad: names, and not other words with the same consonants.
        case when consonants ~ '^~latin .{4}' and (private.word_counts(array[word])).named > 0 then consonants end
      ]) as spelling
      where private.is_listed(spelling)
    );
  is_begun := (private.word_counts(unit.exact || unit.loose)).holders > 0;
  -- A word that the model knows and somebody has is meant: horse is not house. So is a beginning that goes on.
  if not (is_begun and (part.is_known or part.unfinished)) then
    corrections := array(
      select meant from private.corrections_of(word, part.unfinished) as meant where private.is_listed(meant) limit 5
    );
    unit.loose := unit.loose || corrections;
    if not (part.is_known or is_begun) then
      unit.corrected := corrections[1];
    end if;
  end if;
  unit.is_named := (private.word_counts(unit.exact)).named > case when part.is_known then 2 else 0 end;
  unit.exact_query := private.any_term(unit.exact);
  unit.query := private.any_term(unit.exact || unit.loose);
  if names_only then
    unit.exact_query := (private.lexeme(word) || ':A')::tsquery;
    unit.query := (private.lexeme(word) || case when part.unfinished then ':*A' else ':A' end)::tsquery;
  end if;
  return unit;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_inbox()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into private.inbox_entries as entry (conversation_id, user_id, last_message_id, active_at, unread, has_written)
  select
    conversations.id, person, coalesce(max(messages.id), 0),
    coalesce((select created_at from public.messages as latest where id = max(messages.id)), conversations.created_at),
    count(*) filter (where messages.user_id <> person and not read), coalesce(bool_or(messages.user_id = person), false)
  from public.conversations
  cross join unnest(array[voyager_id, local_id]) as person
  left join public.messages on conversation_id = conversations.id
  group by conversations.id, person
  on conflict (conversation_id, user_id) do update
  set
    last_message_id = excluded.last_message_id, active_at = excluded.active_at, unread = excluded.unread,
    has_written = entry.has_written or excluded.has_written
  where (entry.last_message_id, entry.active_at, entry.unread, entry.has_written) is distinct from
    (excluded.last_message_id, excluded.active_at, excluded.unread, entry.has_written or excluded.has_written);
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_search_index()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.refresh_search_entry(id) from public.profiles order by id;
  perform private.refresh_search_context(id) from public.users;
  perform private.count_words();
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_change (
  kind         private.change_kind,
  conversation bigint,
  entity       bigint,
  actor        bigint              DEFAULT NULL::bigint,
  event        text                DEFAULT NULL::text,
  previous_id  bigint              DEFAULT NULL::bigint
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
  elsif actor is not null and private.is_blocked_between(one, other) then
    one := actor;
    other := null;
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (one, other, record_change.kind, conversation, entity);
  if event is not null then
    perform private.broadcast_to_users(
      event => event, conversation => conversation, id => entity, previous_id => previous_id, user_id => actor,
      one => one, other => other
    );
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  select concerned.voyager_id, concerned.local_id, 'conversation', concerned.id, concerned.id
  from (select old.voyager_id, old.local_id, old.id union select new.voyager_id, new.local_id, new.id)
    as concerned (voyager_id, local_id, id)
  where concerned.id is not null;
  if tg_op = 'INSERT' then
    perform private.notify(event => 'conversation.created', conversation => new.id, subject => new.id);
    perform private.broadcast_to_users(
      event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
      user_id => new.voyager_id, one => new.voyager_id, other => new.local_id
    );
  end if;
  return null;
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
  insert into private.stored_replies (user_id, noun, client_id, subject_id, request_hash, body, metadata)
  select old.user_id, 'message', old.client_id, old.id, private.hash_message(old), 'null', '{}'
  where old.client_id is not null and old.edited_at is null
  on conflict do nothing;
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

CREATE OR REPLACE FUNCTION private.record_person()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.record_change('conversation', id, id, actor => new.id)
  from public.conversations where new.id in (voyager_id, local_id);
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
    and (new.conversation_id, new.title, new.price, new.date, new.ends_at, new.status, new.host_id)
      is distinct from (old.conversation_id, old.title, old.price, old.date, old.ends_at, old.status, old.host_id) then
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

CREATE OR REPLACE FUNCTION private.record_state (
  person       bigint,
  conversation bigint,
  event        text,
  actor        bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into private.changes (user_id, kind, conversation_id, entity_id)
  select person, 'state', conversation, conversation where conversation is not null;
  perform private.broadcast_to_users(
    event => event, conversation => conversation, id => case when event <> 'block.changed' then conversation end,
    previous_id => null, user_id => actor, one => person, other => null
  );
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

CREATE OR REPLACE FUNCTION private.refresh_places (
  after        bigint,
  max_profiles integer
)
  RETURNS bigint
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  select max(id)
  from (
    select id, private.refresh_search_entry(id) from public.profiles where id > after order by id limit max_profiles
  ) as next
$function$;

CREATE OR REPLACE FUNCTION private.refresh_search_context (
  person bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  content text := private.context_text(person);
begin
  if content is null or content = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(content))
  on conflict (user_id) do update set content_hash = excluded.content_hash, embedding = null, model = null
  where context.content_hash <> excluded.content_hash;
  if found then
    perform private.enqueue_embedding('context', person);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.refresh_search_entry (
  profile bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  current_profile public.profiles;
  owner public.users;
  interest_names text[];
  vector tsvector;
  hash text;
  hash_before text;
begin
  -- Held until the transaction ends. Whoever refreshes this entry next waits, and then reads what is committed, so that
  -- one that read a profile before it was hidden cannot put it back.
  perform from private.search_locks where profile_id = profile for update;
  if not found then
    insert into private.search_locks (profile_id) values (profile)
    on conflict (profile_id) do update set profile_id = excluded.profile_id;
  end if;
  select * into current_profile from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = current_profile.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  interest_names := array(
    select interests.name
    from public.profile_interests
    join public.interests on interests.id = profile_interests.interest_id
    where profile_interests.profile_id = profile
    order by interests.name
  );
  vector := private.words_vector(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n', array_to_string(interest_names, ', '), current_profile.city, current_profile.country,
    current_profile.biography
  ));
  select content_hash into hash_before from private.search_entries where profile_id = profile;
  insert into private.search_entries as entry
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url, hash
  )
  on conflict (profile_id) do update set
    (name, biography, city, country, interests, image_url, content_hash) = (
      excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests, excluded.image_url, hash
    ),
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = hash then entry.embedding end,
    model = case when entry.content_hash = hash then entry.model end
  where (entry.image_url, entry.name, entry.city, entry.country, entry.interests, entry.content_hash)
    is distinct from (
      excluded.image_url, excluded.name, excluded.city, excluded.country, excluded.interests, excluded.content_hash
    );
  if hash_before is distinct from hash then
    -- Those of the old text, too, would still find what the owner has deleted.
    delete from private.search_sentences where profile_id = profile;
    perform private.enqueue_embedding('profile', profile);
  end if;
  insert into private.search_completions as stored (profile_id, keys)
  select profile, array_to_tsvector(array(
    select left(kind || ' ' || array_to_string(words[first_word:], ' '), 60)
    from (
      values ('names', owner.name), ('cities', current_profile.city)
      union all
      select 'interests', unnest(interest_names)
    ) as printed (kind, value)
    cross join lateral (select private.words_of(value) as words) as split
    cross join lateral generate_series(1, least(8, cardinality(words))) as first_word
  ))
  on conflict (profile_id) do update set keys = excluded.keys
  where stored.keys <> excluded.keys;
  insert into private.search_words as stored (profile_id, words)
  values (profile, vector)
  on conflict (profile_id) do update set words = excluded.words
  where stored.words <> excluded.words;
  if found then
    insert into private.search_lexicon (word, holders, named)
    select lexeme, 1, private.naming(weights)
    from unnest(vector)
    where not exists (select from private.search_lexicon as lexicon where lexicon.word = lexeme);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.replace_interests (
  profile bigint,
  list    jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  ids constant bigint[] := private.interest_ids(list);
begin
  delete from public.profile_interests where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id) select profile, unnest(ids) on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_participant (
  conversation bigint
)
  RETURNS bigint
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  me constant bigint := private.my_id();
  partner bigint;
begin
  select voyager_id + local_id - me into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id);
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  return partner;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_partner (
  partner bigint
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  if private.is_blocked_between(private.my_id(), partner)
    or not exists (select from public.users where id = partner and is_active) then
    perform private.forbid_writing(partner);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.reservations_with_history (
  conversation bigint,
  reservation  bigint
)
  RETURNS TABLE (
    body json
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
begin
  return query
    select row_to_json(entry)
    from (
      select view.*, history.steps as history
      from public.reservations as stored
      cross join lateral private.reservation_at(stored, moment) as settled
      cross join lateral private.to_reservation_view(settled) as view
      cross join lateral (
        select json_agg(
          json_build_object(
            'status', status, 'by', by_id, 'note', note, 'title', title, 'price', price, 'date', private.iso(date),
            'ends_at', private.iso(ends_at), 'createdAt', private.iso(created_at)
          )
          order by step.id nulls last
        ) as steps
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
      ) as history
      where stored.conversation_id = conversation and (reservation is null or stored.id = reservation)
      order by stored.date, stored.id
    ) as entry;
end
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
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
#variable_conflict use_column
declare
  has_words constant boolean := cardinality(asked.units) > 0;
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  -- With 60 the labelled sets have the same order.
  max_compared constant integer := case when has_words then 100 else 1000 end;
begin
  return query
    with matches as materialized (select * from private.match_words(ids, neighbour_ids, asked)),
    compared as materialized (
      select array(
        (
          select profile_id from matches
          order by is_name desc, lives desc, in_name desc, coverage desc, profile_id
          limit max_compared
        )
        union select unnest(neighbour_ids)
      ) as compared_ids
    ),
    -- A search of the index for each profile took twice as long.
    nearest_sentences as materialized (
      select profile_id, max(similarity) as sentence
      from (
        select profile_id, 1 - (embedding <=> query_vector) as similarity
        from private.search_sentences
        where has_words and profile_id = any ((select compared_ids from compared)::bigint[])
        offset 0
      ) as sentences
      group by profile_id
    ),
    near as materialized (
      select
        entry.profile_id, (whole + coalesce(sentence, whole)) / 2 as cosine,
        1 - (embedding <=> context_vector) as context_cosine
      from private.search_entries as entry
      cross join lateral (select 1 - (embedding <=> query_vector) as whole offset 0) as of_the_whole
      left join nearest_sentences using (profile_id)
      where entry.profile_id = any ((select compared_ids from compared)::bigint[]) and entry.model = model.name
    ),
    scored as (
      select
        matches.*, is_compared, keyword, cosine, semantic, context,
        case
          -- Whoever does not mention what alone is denied may have it.
          when not has_words and asked.lacking is not null and not lacks then 0.5 * own_score
          when asked.home is null or in_name then own_score
          -- Who lives in the place has .5 or more, the others less.
          when lives then 0.5 + 0.5 * own_score
          else 0.499 * own_score
        end as score
      from matches
      cross join compared
      left join near using (profile_id)
      -- `offset 0`, here and below: each step gets columns, which are computed once.
      cross join lateral (
        select
          profile_id = any (compared_ids) as is_compared,
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
        offset 0
      ) as parts
      cross join lateral (
        select private.shown_score(
          case
            when in_name then 1
            -- Whoever has all the words gets .15 of what is missing to 1. An entry without a vector (such as one whose
            -- words the model does not know) is scored by words alone.
            else 1 - case when has_all then 0.85 else 1 end * (1 - keyword - weight * (semantic - keyword))
          end,
          semantic_weight
        ) as shown
        from (select case when is_compared and cosine is null then 0 else semantic_weight end as weight) as weighed
        offset 0
      ) as ranked
      -- The context decides among people whom the query leaves about equal. Rejected: a fifth of what is missing to 1,
      -- which moves nobody at the top (18 of the 32 callers of tests/search/tastes saw their own kind first, now 27).
      cross join lateral (
        select shown + context * least(0.1 * shown, 0.9 * (highest - shown)) as own_score
        from (select case when keyword > 0 or lacks then 1 else 0.699 end as highest) as limits
        offset 0
      ) as own
      -- A name means nothing, so nobody is near to it.
      where not has_words or keyword > 0 or cosine >= model.similarity_threshold and semantic > 0
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
  elsif is_on then
    update public.profiles set is_searchable = false where user_id = person and is_searchable;
    -- Who has been erased has no profile.
    insert into public.hidden_profiles (user_id)
    select id from public.users where id = person and erased_at is null
    on conflict do nothing;
  else
    delete from public.hidden_profiles where user_id = person;
  end if;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION private.settle_reservations()
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  settled integer;
begin
  with due as materialized (
    select id
    from public.reservations
    where due_at <= (select private.present())
    order by due_at
    limit 500
    -- What somebody is about to change is left for the next time.
    for no key update skip locked
  )
  -- prepare_reservation sets the status.
  update public.reservations set status = reservations.status from due where reservations.id = due.id;
  get diagnostics settled = row_count;
  return settled;
end
$function$;

CREATE OR REPLACE FUNCTION private.shown_score (
  score           double precision,
  semantic_weight double precision
)
  RETURNS double precision
  LANGUAGE sql
  IMMUTABLE
  PARALLEL SAFE
  AS $function$
  select case
    when score < 0.88 * semantic_weight then score * 0.5 / (0.88 * semantic_weight)
    -- It may be greater by an error of rounding.
    when score <= semantic_weight + 1e-9
      then least(0.699, 0.5 + (score - 0.88 * semantic_weight) * 0.199 / (0.12 * semantic_weight))
    else 0.7 + coalesce((score - semantic_weight) * 0.3 / nullif(1 - semantic_weight, 0), 0)
  end
$function$;

CREATE OR REPLACE FUNCTION private.shown_spellings (
  spellings  jsonb,
  hidden_ids bigint[]
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(spelling order by place), '[]')
  from jsonb_array_elements(spellings) with ordinality as listed (spelling, place)
  where not exists (
    select
    from unnest(private.words_of(spelling ->> 'to')) as word
    where not exists (
      select from private.search_words where words @@ private.lexeme(word)::tsquery and profile_id <> all (hidden_ids)
    )
  )
$function$;

CREATE OR REPLACE FUNCTION private.split_of (
  typed text
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select parts
    from (
      select parts
      from generate_series(1, char_length(typed) - 1) as one
      cross join generate_series(one + 1, char_length(typed)) as two
      cross join lateral (
        select array_remove(array[left(typed, one), substr(typed, one + 1, two - one), substr(typed, two + 1)], '')
      ) as cut (parts)
      -- No word that is written together is longer.
      where char_length(typed) <= 40
        -- O'Brien, d'Angelo and l'Aquila are two words.
        and (one > 2 or left(typed, one) in ('d', 'l', 'o'))
        and two - one > 2
        and char_length(typed) - two not in (1, 2)
        and not exists (
          select
          from unnest(parts) as part
          where not exists (select from private.search_lexicon as lexicon where lexicon.word = part)
        )
      order by cardinality(parts), abs(2 * one - char_length(typed))
      -- Where all of aa, aaa, aaaa … are words, aaaaaaaaaa is many, and the index has to look for each.
      limit 20
    ) as likeliest
    where exists (select from private.search_words where words @@ private.phrase(parts))
    limit 1
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.tags_of (
  places integer[]
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$ begin return array(select '@in ' || place from unnest(places) as place); end $function$;

CREATE OR REPLACE FUNCTION private.time_zone_of (
  city    text,
  country text
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select time_zone
    from private.search_places
    where id = any (private.place_tags(city, country)) and time_zone is not null
    order by array_position('{district,city,region,country}', kind)
    limit 1
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.to_contact (
  person       public.users,
  conversation bigint,
  emails       text,
  cut_off      bigint[]
)
  RETURNS text
  LANGUAGE sql
  STABLE
  AS $function$
  select pg_catalog.format(
    '{"id" : %s, "name" : %s, "email" : %s}', person.id, pg_catalog.to_json(person.name),
    pg_catalog.to_json(case
      when person.id = any (cut_off) then ''
      when emails = 'always' or person.id = private.my_id() or private.has_written(person.id, conversation)
        then person.email
      else ''
    end)
  )
$function$;

CREATE OR REPLACE FUNCTION private.to_message_view (
  message public.messages,
  sender  json
)
  RETURNS private.message_view
  LANGUAGE sql
  STABLE
  AS $function$
  select row(
    message.id, message.user_id, message.conversation_id, message.content, message.attachment, message.read,
    private.iso(message.created_at), sender
  )::private.message_view
$function$;

CREATE OR REPLACE FUNCTION private.to_state (
  entry private.inbox_entries
)
  RETURNS private.conversation_state
  LANGUAGE sql
  STABLE
  AS $function$
  select row(
    entry.conversation_id, entry.is_archived,
    private.iso(case when entry.muted_until > now() then entry.muted_until end), entry.is_pinned
  )::private.conversation_state
$function$;

CREATE OR REPLACE FUNCTION private.unspaced_letters()
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$ begin
  return '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff';
end $function$;

CREATE OR REPLACE FUNCTION private.warnings_of (
  person bigint
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return to_jsonb(array(
    select jsonb_build_object('reason', reason, 'createdAt', private.iso(resolved_at))
    from public.reports
    where user_id = person and is_told
    order by resolved_at desc
  ));
end
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
  if data is null then
    return null;
  end if;
  return json_build_object(
    'id', entry.id, 'key', entry.key, 'type', entry.event, 'timestamp', private.iso(entry.created_at), 'data', data,
    'request', entry.request
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.with_states (
  listed private.message_view[]
)
  RETURNS json[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return array(
    select row_to_json(shown)
    from (
      select (listed[ordinality]).*, private.iso(edited_at) as "editedAt", private.iso(deleted_at) as "deletedAt"
      from unnest(listed) with ordinality as entry
      join public.messages on messages.id = entry.id
      order by ordinality
    ) as shown
  );
end
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
      ]) as spelling
      where weight = 'A' and spelling !~ '^~\w+ .?$'
      union all
      select '@in ' || tag, 'C', 16383 from unnest(private.place_tags(profile.city, profile.country)) as tag
    )
    select coalesce(string_agg(private.lexeme(word) || ':' || position || weight, ' '), '') from words
  )::tsvector || array_to_tsvector(array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union
    select unnest(private.denied_words(profile.biography))
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

CREATE OR REPLACE FUNCTION private.write_reservation (
  reservation public.reservations,
  by_id       bigint,
  note        text,
  moment      timestamp with time zone
)
  RETURNS public.reservations
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  written public.reservations;
begin
  perform set_config(
    'api.reservation_step', jsonb_build_object('by_id', by_id, 'note', note, 'moment', moment)::text, true
  );
  if reservation.id is null then
    insert into public.reservations (conversation_id, title, price, date, ends_at, host_id, offered_by)
    values (
      reservation.conversation_id, reservation.title, reservation.price, reservation.date, reservation.ends_at,
      reservation.host_id, reservation.offered_by
    )
    returning * into written;
  else
    update public.reservations
    set
      title = reservation.title, price = reservation.price, date = reservation.date, ends_at = reservation.ends_at,
      offered_by = reservation.offered_by, status = reservation.status
    where id = reservation.id
    returning * into written;
  end if;
  perform set_config('api.reservation_step', '', true);
  return written;
end
$function$;

CREATE OR REPLACE FUNCTION public.describe_queues()
  RETURNS TABLE (
    queue          text,
    waiting        bigint,
    oldest_seconds double precision,
    dead           bigint
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
    select 'reports', count(*), coalesce(extract(epoch from now() - min(created_at)), 0)::float8, null::bigint
    from public.reports where resolved_at is null;
  return query
    select
      name, count(*) filter (where attempts < 8),
      greatest(0, extract(epoch from max(
        private.present() - case channel when 'person' then due_at else created_at end
      ) filter (where attempts < 8)))::float8,
      count(*) filter (where attempts >= 8)
    from unnest(array['person', 'push', 'mail', 'webhook']) with ordinality as channels (name, place)
    left join private.outbox on channel = name
    group by name, place
    order by place;
  return query
    select 'embeddings', counts.waiting, oldest, counts.dead
    from json_to_record(private.describe_search()) as counts (waiting bigint, oldest float8, dead bigint);
end
$function$;

CREATE OR REPLACE FUNCTION public.describe_schedule()
  RETURNS TABLE (
    job          text,
    schedule     text,
    last_start   timestamp with time zone,
    last_status  text,
    last_message text,
    failures     bigint
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- Dynamic, because there is no pg_cron on one machine.
  return query execute $query$
    select
      jobname::text, schedule::text, latest.start_time, latest.status::text, left(latest.return_message, 200),
      (
        select count(*) from cron.job_run_details as run
        where run.jobid = job.jobid and status = 'failed' and start_time > now() - interval '1 day'
      )
    from cron.job
    left join lateral (
      select * from cron.job_run_details as run where run.jobid = job.jobid order by runid desc limit 1
    ) as latest on true
    order by jobname
  $query$;
end
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
      hidden.user_id is not null, coalesce(profiles.is_searchable, false), bio, location, role, users.created_at,
      about.reports, about.upheld
    from public.users
    left join public.profiles on profiles.user_id = users.id
    left join public.hidden_profiles as hidden on hidden.user_id = users.id
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
        or hidden.user_id is not null
        or not users.is_active and users.confirmed_at is not null and users.erased_at is null
      )
    order by users.id desc limit 50;
end
$function$;

CREATE OR REPLACE FUNCTION public.lift_restriction (
  person      bigint,
  restriction text,
  note        text
)
  RETURNS text
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if not private.set_restriction(person, restriction, false) then
    raise sqlstate 'PT409' using
      message = case restriction when 'hide' then 'This profile is not hidden' else 'This account is not suspended' end;
  end if;
  perform private.log_moderation(action => 'lift ' || restriction, report => null, person => person, note => note);
  return 'lifted';
end
$function$;

CREATE OR REPLACE FUNCTION public.resolve_report (
  report bigint,
  action text,
  note   text
)
  RETURNS public.reports
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person constant bigint := (select user_id from public.reports where id = report);
  resolved public.reports;
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'Report not found';
  elsif action is null or action not in ('dismiss', 'warn', 'hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'action: must be dismiss, warn, hide or suspend';
  end if;
  perform private.lock_person(person);
  select * into resolved from public.reports where id = report for update;
  if resolved.resolved_at is not null then
    raise sqlstate 'PT409' using message = format(
      'This report was resolved before: %s, at %s', resolved.resolution, private.iso(resolved.resolved_at)
    );
  end if;
  perform private.log_moderation(action => action, report => report, person => person, note => note);
  update public.reports
  set resolution = action, resolved_at = clock_timestamp(), is_told = action = 'warn'
  where id = report
  returning * into resolved;
  if action in ('hide', 'suspend') then
    perform private.set_restriction(person, action, true);
  end if;
  return resolved;
end
$function$;

CREATE OR REPLACE FUNCTION public.restrict_person (
  person      bigint,
  restriction text,
  note        text
)
  RETURNS text
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if not private.set_restriction(person, restriction, true) then
    raise sqlstate 'PT409' using message = case
      when exists (select from public.users where id = person and erased_at is not null) then 'This account was erased'
      when restriction = 'hide' then 'This profile is already hidden'
      else 'This account is not active'
    end;
  end if;
  perform private.log_moderation(action => restriction, report => null, person => person, note => note);
  return 'restricted';
end
$function$;

ALTER TABLE "public"."profiles"
  ADD CONSTRAINT "languages has at most 200 characters" CHECK ((char_length(languages) <= 200))
  NOT VALID;

CREATE TRIGGER protect_moderation_log
  BEFORE DELETE OR UPDATE OR TRUNCATE ON public.moderation_log
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.protect_moderation_log();

CREATE TRIGGER protect_history
  BEFORE DELETE OR UPDATE OR TRUNCATE ON public.reservation_history
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.protect_history();

CREATE POLICY "users read their own interests" ON "public"."profile_interests"
  FOR SELECT
  TO "authenticated"
  USING ((profile_id IN ( SELECT profiles.id
   FROM public.profiles
  WHERE (profiles.user_id = ( SELECT private.my_id() AS my_id)))));

COMMENT ON AGGREGATE "private"."all_of"(tsquery) IS 'Ignores null.';

COMMENT ON AGGREGATE "private"."any_of"(tsquery) IS 'Ignores null.';

COMMENT ON COLUMN "private"."devices"."silences" IS 'How often its push service has not answered in time since it last did. It gets no push before silent_until.';

COMMENT ON COLUMN "private"."inbox_entries"."active_at" IS 'When the latest message was sent, else the conversation opened.';

COMMENT ON COLUMN "private"."inbox_entries"."archived_id" IS 'The latest message when the user archived it, else null. A newer one shows it again, without another write.';

COMMENT ON COLUMN "private"."inbox_entries"."has_written" IS 'Whether the user has ever sent a message here, also if an admin has deleted it since.';

COMMENT ON COLUMN "private"."search_entries"."content_hash" IS 'While it stays the same, the embedding is kept.';

COMMENT ON COLUMN "private"."sign_ups"."address_hash" IS 'SHA-256 of the address in lower case, to tell which began last.';

COMMENT ON COLUMN "private"."sign_ups"."is_accepted" IS 'Whether Auth has accepted its CAPTCHA: then it supersedes others.';

COMMENT ON COLUMN "private"."sign_ups"."name" IS 'Null, as fields, once the account is made. Without a row it came from Auth, and supersedes none.';

COMMENT ON COLUMN "public"."messages"."deleted_at" IS 'When its sender took it back. It is read then, for the counts.';

COMMENT ON COLUMN "public"."reports"."is_told" IS 'Whether the reported person reads that they were warned. In 1.0 and 1.1 a warning promised that they do not.';

COMMENT ON COLUMN "public"."reports"."purge_at" IS 'When the job "purge evidence" deletes note and evidence. Null: both have an account, or it is done.';

COMMENT ON COLUMN "public"."reservation_history"."conversation_id" IS 'At that time. If an admin moves the reservation, its new participants do not read earlier steps.';

COMMENT ON COLUMN "public"."reservations"."due_at" IS 'When the clock changes the status. From then on a pending reservation counts as cancelled and an accepted one as
completed, whether or not private.settle_reservations() has written that.';

COMMENT ON COLUMN "public"."reservations"."host_id" IS 'Who receives the other, by default the local.';

COMMENT ON COLUMN "public"."reservations"."offered_by" IS 'Who made the current offer; the other answers. Null: an admin.';

COMMENT ON COLUMN "public"."reservations"."revision" IS 'Of the terms: one more with every change. Whoever answers names it.';

COMMENT ON COLUMN "public"."users"."confirmed_at" IS 'When the account was confirmed. Null: another sign-up replaces it.';

COMMENT ON COLUMN "public"."users"."email" IS 'Copy of the Auth account''s address. Its owner and partners see it.';

COMMENT ON COLUMN "public"."users"."erased_at" IS 'When the user was erased. The row stays for the conversations.';

COMMENT ON COLUMN "public"."users"."unsubscribe_token" IS 'Of the link in a user''s mails that turns them off. It does not expire: mails are kept for years.';

COMMENT ON FUNCTION "api"."block_person"(bigint) IS 'Blocks a user for the caller; a repeat changes nothing. Definer, because no caller has a grant on blocks.';

COMMENT ON FUNCTION "api"."complete_search"(jsonb) IS 'What the text of a search box, {q, limit}, may go on to: {interests, cities, names} of profiles that the caller can
find; with places: true, {cities} of the world. Definer, as api.search_profiles.';

COMMENT ON FUNCTION "api"."count_unread"() IS 'Unread messages, in all and by conversation. Definer, because callers cannot read the inbox.';

COMMENT ON FUNCTION "api"."counter_reservation"(bigint, bigint, integer, jsonb, integer) IS 'Takes the step counter. Definer, as step_reservation.';

COMMENT ON FUNCTION "api"."delete_device"(uuid) IS 'Removes a caller''s device, if it is there. Definer, as list_devices.';

COMMENT ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, integer, boolean) IS 'Replaces the text of a message that the caller has sent in the last minutes; the same text again changes nothing,
whenever. is_blank is whether the text shows nothing, which the Edge Function knows by Unicode. Raises 409 for a stone,
403 as a send does, and when it is too late. Definer, because no caller has a grant to update messages.';

COMMENT ON FUNCTION "api"."erase_me"() IS 'Erases the caller. Of two calls at once one gets 401. Definer, as erase_person.';

COMMENT ON FUNCTION "api"."export_me"(jsonb, text) IS 'Everything that the caller entered, did or received, as they see it, in pieces of one JSON document, so that a long
history needs no more memory than a short one. The response metadata holds the place of the next piece while there is
one; emails as in list_conversations. Definer, because callers have no grant on states and reports.';

COMMENT ON FUNCTION "api"."get_conversation"(bigint) IS 'A conversation with its two participants and its reservations by date. Definer, as list_messages.';

COMMENT ON FUNCTION "api"."get_me_and_choices"() IS 'As get_me, with the caller''s choices and warnings. Definer, because callers cannot call get_me.';

COMMENT ON FUNCTION "api"."get_notification_settings"() IS 'The caller''s settings, with the defaults. Definer, because callers have no grant on them.';

COMMENT ON FUNCTION "api"."get_public_profile"(bigint) IS 'The public view of a profile, the only way to see another user''s. Definer, because row level security hides it.';

COMMENT ON FUNCTION "api"."get_public_profile_and_answers"(bigint) IS 'As get_public_profile, with answers, languages and the time zone of the place, null if not known. Definer, as that.';

COMMENT ON FUNCTION "api"."get_reservation"(bigint, bigint) IS 'A reservation with its history. Definer, as list_messages.';

COMMENT ON FUNCTION "api"."list_avatars"() IS 'The caller''s avatars, up to the number that Storage removes in one request; an erasure removes them.';

COMMENT ON FUNCTION "api"."list_blocks"() IS 'Whom the caller has blocked: [{user_id, name, createdAt}], latest first. Definer, because callers cannot read that.';

COMMENT ON FUNCTION "api"."list_changes"(text, integer) IS 'What has changed for the caller since the cursor, oldest first, each entity once at its latest; without a cursor the
present one. Not for a standby, whose snapshots name no running transactions. Definer, as record_conversation.';

COMMENT ON FUNCTION "api"."list_conversation_states"(jsonb) IS 'A page {limit, before_id} of the caller''s states that differ from the default, by descending conversation_id; all
without a limit. Definer, as set_conversation_state.';

COMMENT ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) IS 'A page of the caller''s conversations with their latest message, latest activity first; all of them if the limit is
null. archived null takes archived ones and others; with_partner adds the other participant, with their public profile
unless there is a block; with_states says what is attached to a message, and when it was corrected or taken back; emails
is always or after_reply. Definer, because callers cannot read inbox_entries and other users.';

COMMENT ON FUNCTION "api"."list_devices"() IS 'The caller''s devices, newest first. Definer, as callers have no grant.';

COMMENT ON FUNCTION "api"."list_messages"(bigint, jsonb) IS 'A page {limit, offset, before_id, after_id, order, states} of a conversation: newest first; oldest first with
after_id or order asc. Definer, because the policy on messages gathers the whole inbox, 100 µs for one of 246, where a
page takes 300.';

COMMENT ON FUNCTION "api"."list_my_reports"(jsonb) IS 'A page {limit, before_id} of the caller''s reports, newest first, not how they ended. Definer, as report_person.';

COMMENT ON FUNCTION "api"."list_my_reservations"(jsonb) IS 'A page {status, from, to, limit, before_id} of the caller''s reservations in all conversations, newest first, each
with the partner; from <= date < to. Definer, as list_messages.';

COMMENT ON FUNCTION "api"."mark_read"(bigint, bigint, boolean) IS 'Marks a message that the caller has received as read; with and_before, all received before it as well. Definer,
because no caller has a grant to update messages.';

COMMENT ON FUNCTION "api"."offer_reservation"(bigint, jsonb, integer) IS 'Offers {title, price, date, ends_at, host_id, client_id} to the partner, once for each client_id. Raises 403 if the
partner is blocked, deactivated or erased, or at the limit of first contact. Definer, because no caller has a grant to
write reservations.';

COMMENT ON FUNCTION "api"."open_conversation"(bigint) IS 'Opens a conversation with the caller as the voyager. Raises 409 with the id of an existing one, 403 across a block.
Definer, because no caller has a grant to insert conversations.';

COMMENT ON FUNCTION "api"."put_device"(uuid, jsonb) IS 'Stores the caller''s device; the browser is not that of whoever was logged in there before any more. A repeat changes
nothing. Definer, as list_devices.';

COMMENT ON FUNCTION "api"."report_person"(jsonb) IS 'Reports {user_id or message_id, reason, note, share_messages, block, client_id}; evidence and block in the same
transaction. While a report about the same subject is open it is returned instead, with existing in the response
metadata; what the repeat shares or blocks is still done. Definer, because no caller has a grant on reports.';

COMMENT ON FUNCTION "api"."search_profiles"(jsonb) IS 'Searches profiles for {words, vector, model, interests, cities, countries, age, limit, offset, explain,
facets, like, timeout, isNobody, isDraft}: {answer, query}, as private.find_profiles and private.describe_query print
them. `words` are private.query_words. Where words of a draft are corrected or completed, answer is null: the vector
must be made of what is meant. `like` is a profile that takes the place of the context, and ranks by itself if there is
no query. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may read the index.';

COMMENT ON FUNCTION "api"."send_message"(bigint, jsonb) IS 'Sends {content, attachment, client_id, first_contact_limit} as the caller. A client_id that was used before returns
that message again, unread or as it was changed since. Raises 403 across a block or if the partner is erased, without
saying which, or at the limit of first contact. Definer, because no caller has a grant to insert messages.';

COMMENT ON FUNCTION "api"."set_conversation_state"(bigint, jsonb) IS 'Arranges a conversation for the caller: {archived, muted_until, pinned}, of which what is absent stays. Tells their
other devices. Definer, because no caller has a grant on inbox_entries.';

COMMENT ON FUNCTION "api"."set_interests"(jsonb) IS 'Sets the caller''s interests to {ids}. Definer, as update_profile.';

COMMENT ON FUNCTION "api"."set_searchable"(boolean) IS 'Lists the caller in the search. Definer, as update_profile.';

COMMENT ON FUNCTION "api"."step_reservation"(bigint, bigint, text, text, integer, integer, jsonb) IS 'Takes a step: accept, decline, cancel or complete, with a note, or counter, which changes a pending offer by {title,
price, date, ends_at}, so that the partner has to answer. Accept, decline and counter name the revision of the terms
that were read. A step that changes nothing does nothing; one that is not possible is 409 with the status. With a
partner who is blocked, deactivated or erased only cancel is possible; the rest is 403. A note is left out across a
block, and where nothing more may reach the partner. Definer, as offer_reservation.';

COMMENT ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) IS 'Leaves a stone of a message that the caller has sent in the last hours, also across a block; the response metadata
holds the file to be removed from Storage. Raises 403 when it is too late. Definer, as edit_message.';

COMMENT ON FUNCTION "api"."unsubscribe"(text, boolean) IS 'Turns off the mails of the user whom the token names, if that is confirmed, because mail programs follow links before
anybody reads the mail. Returns whether they get any, as {email}. Definer, because it is called without log-in.';

COMMENT ON FUNCTION "api"."update_notification_settings"(jsonb) IS 'Changes what is given of the caller''s settings, and returns the whole. Definer, as get_notification_settings.';

COMMENT ON FUNCTION "api"."update_profile"(jsonb) IS 'Changes the fields of these keys, all or none; null clears one, others are ignored. Definer, because no caller has a
grant to write.';

COMMENT ON FUNCTION "private"."account_status"() IS 'active or inactive; null without a confirmed account. Definer, because inactive callers cannot read their row.';

COMMENT ON FUNCTION "private"."act_as"(jsonb, boolean) IS 'Makes the rest of the transaction run as the caller; null claims are an anonymous one. With strict, unknown accounts
(401) and deactivated ones (403) are refused; without, they count as anonymous. In the API function''s statement, as
begin, set and commit would halve the request rate (bench/one_round_trip.ts).';

COMMENT ON FUNCTION "private"."add_block"(bigint, bigint, text) IS 'Blocks a user for the caller. Errors name this field.';

COMMENT ON FUNCTION "private"."add_place"(text[], text, integer[], text[], real, real, integer) IS 'For operators: adds a place, indexes its people anew, and returns its id.';

COMMENT ON FUNCTION "private"."add_unread"(bigint, bigint, bigint) IS 'Counts a sender''s messages as unread, or no more. Only differences are ever written: a count of what one transaction
sees would miss what another has not committed.';

COMMENT ON FUNCTION "private"."adopt_model"(text) IS 'Queues everything that has no embedding of this model, dead letters of other models included. Embeddings of different
models are never compared. Definer, as all that edge_functions may do with index and queue.';

COMMENT ON FUNCTION "private"."any_term"(text[]) IS 'Finds who has any of these words, or of one with a * behind it any that begins so.';

COMMENT ON FUNCTION "private"."back_off"(integer) IS 'How long the next attempt waits after so many earlier ones: 15 s to 22 s, more than the 12 s that a worker has for a
row; three times longer each time, up to 3 to 4 hours. Eight attempts take 5 hours.';

COMMENT ON FUNCTION "private"."begin_sign_up"(text, text, jsonb) IS 'Returns {ticket, user_id, pending}: the account whose metadata holds the ticket gets id, name and fields; pending is
whether an unconfirmed account has the address, which stays until Auth has seen the CAPTCHA (check_sign_up). Raises
400 for unknown interests. Definer, because edge_functions has no rights on the tables.';

COMMENT ON FUNCTION "private"."blocked_users_of"(bigint) IS 'Whom this user has blocked or was blocked by; null without any. Only for definer functions.';

COMMENT ON FUNCTION "private"."bounded_snapshot"(pg_snapshot, integer) IS 'The snapshot, or an older one with fewer running transactions, so that a cursor fits into a URL. The next page shows
the rest.';

COMMENT ON FUNCTION "private"."broadcast_to_users"(text, bigint, bigint, bigint, bigint, bigint, bigint) IS 'Broadcasts an event {conversation_id, id, previous_id, user_id} to one or two users, if they are active. Never
raises. Only for definer functions: callers may not send on these topics.';

COMMENT ON FUNCTION "private"."calibrate_model"(text) IS 'Measures a model by its own vectors, with an interest of each person for queries: the floor is the first percentile
of their cosines with the profiles of others, the threshold the 70.5th, the ceiling the 99.8th, as
bench/search/calibrate.ts finds for the offline model, knowing what is relevant. With twenty profiles, and again when
there are ten times as many. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."can_remove_attachment"(text) IS 'Whether a file of the caller''s conversations is in no message and no evidence. Definer, as can_read_attachment.';

COMMENT ON FUNCTION "private"."can_upload_attachment"(text) IS 'Whether the caller may write to the conversation that the path begins with, and has fewer than 200 files and 500 MiB
there, without uploads in progress. Definer, because a policy cannot query its own table.';

COMMENT ON FUNCTION "private"."cancel_reservations_of"(bigint, bigint) IS 'Cancels what a person has pending or accepted, and leaves to the clock what has ended by now.';

COMMENT ON FUNCTION "private"."cap_interests"() IS 'Limits a profile to 50, which a constraint cannot, for every role.';

COMMENT ON FUNCTION "private"."check_attachment"() IS 'Requires that an attachment is a file that the sender uploaded to this conversation, with the type and size that
Storage has recorded. Definer, because the sender may not read all of storage.objects.';

COMMENT ON FUNCTION "private"."check_deadline"() IS 'Cancels a search after api.time_limit, as Postgres cancels a statement. Called between its steps, each of which is
bounded; within one, the statement_timeout of edge_functions applies.';

COMMENT ON FUNCTION "private"."check_sign_up"(text, uuid, boolean) IS 'The outcome of a sign-up, which the answer of Auth does not reveal: made; superseded by a later one with the address
that Auth has accepted; retry, because this has removed a pending account with the address; taken, by an account that
stays; not made, for another reason. Definer, because it deletes from auth.users.';

COMMENT ON FUNCTION "private"."claim"(text, integer, jsonb) IS 'Claims what is due in a channel, to no receiver that is busy, and drops what nobody wants any more.';

COMMENT ON FUNCTION "private"."claim_embeddings"(text, integer, boolean) IS 'Claims up to max_jobs due jobs for this model, to be embedded in one call: those that have been due longest, or the
newest of those that were never tried. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."claim_mail"(jsonb) IS 'Claims a due mail, or returns null. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."claim_pushes"(integer, jsonb) IS 'Claims due pushes. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."claim_webhooks"(integer) IS 'Claims due webhooks, of each conversation the first. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."complete"(text[], text, bigint[], integer) IS 'Values that go on from each of the typed parts, at their beginning or from a later word, after what is written
before: {interests, cities, names}. First those that begin with them, then the most frequent.';

COMMENT ON FUNCTION "private"."complete_places"(text, integer) IS 'The largest cities of the world of which a folded name begins so, as "Lisbon, Portugal", with the region where two of
them have one name. It reads all places, which took PGlite 33 ms: too seldom asked for an index.';

COMMENT ON FUNCTION "private"."complete_word"(text, private.search_unit[]) IS 'The words that an unfinished one most often stands for in fifty profiles that have it and the others, as [{from,
to}]; null if it is the only one. By the lexicon alone, callers with a token lose .006 nDCG on the labelled set.';

COMMENT ON FUNCTION "private"."confirm_user"() IS 'Activates a pending account when its address is confirmed. Only once: who was deactivated since stays so. Definer, as
sync_auth_email.';

COMMENT ON FUNCTION "private"."consonants"(text) IS 'What a name in Arabic or Hebrew letters and its Latin spelling have in common, behind a sign of the script.';

COMMENT ON FUNCTION "private"."consume_rate_limit"(text, text, double precision, integer) IS 'Consumes a token: a burst at once, then one token every seconds_each. Returns 0, or the number of seconds until the
next token, which are wait in the response metadata, too, for the statement that writes and then does not. An error of
the write rolls the count back; the Edge Function then counts again. Definer, because it has no grant on rate_limits.';

COMMENT ON FUNCTION "private"."copy_evidence"(public.reports) IS 'Copies the reported message and, if the reporter shares them, the latest 20 messages of the two.';

COMMENT ON FUNCTION "private"."corrections_of"(text, boolean) IS 'The words of the index that a typed word may be meant for, the likeliest first.';

COMMENT ON FUNCTION "private"."count_profiles"() IS 'The profiles of the index; beyond 2,000 as the latest vacuum counted them, if there was one.';

COMMENT ON FUNCTION "private"."count_words"() IS 'Counts who has each word of the lexicon, each hour, and deletes those that nobody has.';

COMMENT ON FUNCTION "private"."deletion_keys"(text) IS 'What a mistyped word may be found by. If two words are at most n errors apart, or one and the beginning of the other,
deleting up to n of the first letters of each makes them equal (as in SymSpell). One error is forgiven from 5 letters on
and two from 9, so the first 5 and 6 letters suffice.';

COMMENT ON FUNCTION "private"."denied_words"(text) IS 'What a biography says not to have, do or like, as lexemes: the words up to five behind "no" or up to four before "is
forbidden", in seven languages, but not beyond a sentence or a "but". functions/users/query_words.ts has their forms,
and the deniers of queries.';

COMMENT ON FUNCTION "private"."describe_query"(private.search_query, bigint[]) IS 'What to say and highlight of a query.';

COMMENT ON FUNCTION "private"."describe_search"() IS 'The state of the queue. Definer, as private.adopt_model.';

COMMENT ON FUNCTION "private"."describe_service"() IS 'What the metrics say of the database; of migrations their {version, sha256 of the text without white space and
semicolons}, null if unknown. Definer, because edge_functions has no rights on its tables.';

COMMENT ON FUNCTION "private"."entry_parts"(bigint) IS 'What of a profile gets an embedding of its own: each interest, then each sentence of the biography, 32 at most: of
more, neighbours are joined. None if its whole text is one, which a provider would be paid for twice.';

COMMENT ON FUNCTION "private"."erase_person"(bigint) IS 'Erases a user and their log-in in one transaction or not at all; false if that was done before. Messages stay, sent
by "Deleted user", and so do reservations; reports keep their evidence for 180 days. Definer, for auth.users.';

COMMENT ON FUNCTION "private"."export_conversations"(bigint[], text) IS 'Conversations as the export has them, without their messages; voyager and local as the senders of these.';

COMMENT ON FUNCTION "private"."facet"(text, text) IS 'A lexeme for a value that filters compare. An asterisk would end a beginning in private.any_term.';

COMMENT ON FUNCTION "private"."facet_distribution"(text[], bigint[]) IS 'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends are one, printed as most of the profiles print it.';

COMMENT ON FUNCTION "private"."fail_embeddings"(jsonb, text, boolean) IS 'Records why jobs failed. An attempt counts only if the provider refused a text by itself. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."find_me"() IS 'The user id of the claims; null for anonymous and deactivated callers. Definer: the policy on users calls it.';

COMMENT ON FUNCTION "private"."find_profiles"(jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision) IS
  'The hits of a search {model, limit, offset, explain, facets}, best first.';

COMMENT ON FUNCTION "private"."find_reply"(text, uuid, jsonb) IS 'The stored answer to this request of the caller, if any. Raises 422 if the key was used for another request.';

COMMENT ON FUNCTION "private"."finish_outbox"(jsonb) IS 'What became of claimed rows: [{id, outcome, reason, retry_after, subject, silent}]. sent deletes the row, gone the
device as well, refused makes it a dead letter, and after failed the row stays due when claim has said, or after
retry_after seconds. A device that was silent waits longer, whatever it is to be told. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."first_contact_left"(bigint, bigint, integer, boolean) IS 'How many more messages, offers, changed offers and notes may reach the partner before they have written, offered, or
accepted or declined an offer; null: any number. Locks the conversation, unless the caller has.';

COMMENT ON FUNCTION "private"."fold"(text) IS 'Folds case, accents, compatibility forms and scripts. Immutable while the dictionary unaccent is.';

COMMENT ON FUNCTION "private"."folded_parts"(text) IS 'A city or country as it is written, and its parts: Lisbon, Portugal.';

COMMENT ON FUNCTION "private"."follows"(bigint, bigint, bigint) IS 'Whether a user wants to hear of a message (null: of anything else) in a conversation: they take part in it, have not
muted it, and have not archived it since.';

COMMENT ON FUNCTION "private"."forbid_writing"(bigint) IS 'Raises 403; its code says blocked only to who has blocked.';

COMMENT ON FUNCTION "private"."forget_pending_password"() IS 'Removes the password of a pending account when a recovery link is requested or its address is invited: the owner of
the address, which the link confirms, need not have signed up. A trigger, so that no sign-up in between keeps its own.';

COMMENT ON FUNCTION "private"."forget_words"(tsvector) IS 'Deletes those of the words that nobody has. An erasure does not wait for the count.';

COMMENT ON FUNCTION "private"."handle_changed_messages"() IS 'Messages were read, of which the log names the newest of a statement, or an admin has changed or removed them.
Definer, as handle_new_message.';

COMMENT ON FUNCTION "private"."handle_conversation"() IS 'A conversation was opened, which puts it into both inboxes; or an admin changed its participants or its time. Refuses
to take away somebody whose message or reservation is in it. Definer, because nobody has a grant on inbox_entries.';

COMMENT ON FUNCTION "private"."handle_deleted_user"() IS 'Deleting an Auth account deactivates the user and frees the address; who was never confirmed is deleted. Definer, as
sync_auth_email.';

COMMENT ON FUNCTION "private"."handle_new_message"() IS 'Moves the conversation up in both inboxes, counts the message as unread, logs it, tells the recipient and the webhook
and broadcasts message.created. Refuses a sender who is not a participant, whom only an admin could name. One trigger,
because the rest needs what the update returns. Definer, because nobody has a grant on inbox and log.';

COMMENT ON FUNCTION "private"."handle_new_user"() IS 'Creates a user and a profile with the Auth account, whose metadata may hold the ticket of a sign-up in progress, or a
name. The user is inactive until the address is confirmed. Definer, as sync_auth_email.';

COMMENT ON FUNCTION "private"."has_written"(bigint, bigint) IS 'Whether a person has ever written in this conversation.';

COMMENT ON FUNCTION "private"."hash_message"(public.messages) IS 'What tells a repeat from another message with its key.';

COMMENT ON FUNCTION "private"."hidden_profiles_of"(bigint) IS 'The caller''s own profile and those that a block hides from them.';

COMMENT ON FUNCTION "private"."interest_ids"(jsonb) IS 'The ids of a JSON array or null, without duplicates. Raises 400 and names those that do not exist.';

COMMENT ON FUNCTION "private"."is_attachment"(jsonb) IS 'Whether it is {url, name, mime_type, size} alone; null for null.';

COMMENT ON FUNCTION "private"."is_blocked_between"(bigint, bigint) IS 'Whether either has blocked the other. Only for definer functions: callers must not learn who has.';

COMMENT ON FUNCTION "private"."is_in_message"(text) IS 'Whether a message of the caller''s conversations has this file. An index would cost each send with a file.';

COMMENT ON FUNCTION "private"."is_line"(text) IS 'Whether the text can be a name or title: one line, no control characters, no overrides of the direction of writing,
and something that shows, or nothing at all. Null for null.';

COMMENT ON FUNCTION "private"."is_own_photo"(text) IS 'Whether the text is the address of an avatar in a Storage without https: never, but on one machine, whose stack
replaces this function (supabase/local/own_photos.ts). Null for null.';

COMMENT ON FUNCTION "private"."is_upload"() IS 'Whether Storage checks a file that the caller is sending. It also asks the policies before it copies a file, of which
it checks neither size nor type, or signs a URL for an upload, when blocks and quotas would not apply to its file.';

COMMENT ON FUNCTION "private"."is_web_address"(text) IS 'Whether the text is an https URL without user info that is safe in HTML without escaping. Null for null.';

COMMENT ON FUNCTION "private"."iso"(timestamp with time zone) IS 'ISO 8601 in UTC with milliseconds, as every timestamp in an answer.';

COMMENT ON FUNCTION "private"."keyword_candidates"(private.search_query, private.search_filter, integer) IS 'Up to max_results profiles that pass the filter: whoever has exactly this name, those with all the words, those with
the rarest, and those who lack what is denied.';

COMMENT ON FUNCTION "private"."latest_entries_of"(bigint, boolean, bigint[], timestamp with time zone, bigint, bigint) IS 'At least the max_rows entries of an inbox after this time and id, if there are as many: so many archived ones and so
many others, because Postgres does not merge parts of a union that have a condition each. Inlined, as to_state.';

COMMENT ON FUNCTION "private"."latin_spelling"(text) IS 'Kana as Hepburn, without long vowels, and Georgian and Devanagari as names are written; else null.';

COMMENT ON FUNCTION "private"."list_jobs"() IS 'The jobs, each with its time as pg_cron reads it. One machine runs those that need no Edge Function and no pg_cron.';

COMMENT ON FUNCTION "private"."list_passing"(private.search_filter, text[], integer) IS 'The profiles that meet the conditions, or null if they are more than max_passing. Each has one of the lexemes
`alternatives`: one after the other they take a tenth of the time that one query takes.';

COMMENT ON FUNCTION "private"."load_places"(text) IS 'Replaces all places but the operator''s by sql/data/places.tsv. Searches wait for a second.';

COMMENT ON FUNCTION "private"."lock_host"(bigint) IS 'Serializes acceptances of one host: Postgres may abort one of two checks of an exclusion constraint as a deadlock.';

COMMENT ON FUNCTION "private"."lock_me"(bigint, boolean) IS 'Locks the accounts of the caller and somebody beside them: a concurrent erasure, deactivation or write that does not
share the lock waits, or has happened by now. Raises 401 if the caller is not active.';

COMMENT ON FUNCTION "private"."lock_pair"(bigint) IS 'Locks the accounts of caller and partner, and returns the partner.';

COMMENT ON FUNCTION "private"."lock_person"(bigint) IS 'Locks a person, so that a change of theirs happens before or after what an admin does; 404 for nobody.';

COMMENT ON FUNCTION "private"."log_moderation"(text, bigint, bigint, text) IS 'Appends to the log; 400 without a reason.';

COMMENT ON FUNCTION "private"."mail_job"(private.outbox) IS 'A mail, with each conversation that has unread messages, or steps of reservations in its silence; null if unwanted.';

COMMENT ON FUNCTION "private"."match_words"(bigint[], bigint[], private.search_query) IS 'How profiles match the words of a query: those of these that have any, or are neighbours in meaning. `coverage`: the
share of the query''s rarity that it has; `in_name`: the name has all the words, and with `is_name` no others; `lives`:
in the place that is asked for, true if none is; `lacks`: says to lack what is denied.';

COMMENT ON FUNCTION "private"."matches_filter"(bigint, tsvector, private.search_filter) IS 'Whether a profile meets the conditions. True where the filter lists those who do.';

COMMENT ON FUNCTION "private"."message_patterns"(text) IS 'A regular expression for each of the first ten words of a query, to find it in a folded text: with one error, but not
in its first letter, if it has 5 to 20, and the last also as a beginning, unless a space or quote follows. In scripts
without spaces what is written together is one word.';

COMMENT ON FUNCTION "private"."my_conversations"() IS 'Ids of the caller''s conversations. Definer, so that the policies of messages and reservations compute one set, which
costs nothing measurable; a function of the row''s column cost ten times as much as no policy.';

COMMENT ON FUNCTION "private"."my_id"() IS 'The caller''s user id; null for anonymous and deactivated callers. act_as alone stores it, because looking it up six
times a request was a fifth of some statements; for Data API and Realtime it is looked up.';

COMMENT ON FUNCTION "private"."my_writable_conversations"() IS 'Those of my_conversations where neither participant has blocked the other, and neither is erased. Definer, as that.';

COMMENT ON FUNCTION "private"."naming"(text[]) IS 'Whether a profile has a word as a name of people or places, by its weights there: 1, or less.';

COMMENT ON FUNCTION "private"."nearest_profiles"(extensions.halfvec, text, private.search_filter, integer, double precision) IS 'The nearest profiles within max_distance of a vector, and their cosine distances.';

COMMENT ON FUNCTION "private"."notice_of"(bigint, text, bigint, bigint, bigint) IS 'What a person is still to be told of messages (the latest unread from first_id to last_id), or of the step of a
reservation (last_id in its history), also of an erasure''s. Null: they have seen or done it, their account or the
sender''s is not active, there is a block, or they have muted or archived the conversation. Only this decides it.';

COMMENT ON FUNCTION "private"."notify"(text, bigint, bigint, bigint, bigint[]) IS 'Tells these people, once their delay has passed and if they have not seen it, and the operator''s webhook at once, of
what by_id did, or an admin or the clock if that is null. The ids of one conversation''s events are in their order:
whoever draws the later one has waited for the lock on the conversation or the reservation.';

COMMENT ON FUNCTION "private"."own_message_for_update"(bigint, bigint) IS 'The caller''s message; locks the caller and the conversation. Raises 404 alike without one and for others''.';

COMMENT ON FUNCTION "private"."participants_of"(bigint[]) IS 'Both participants, as {id, name}, of those of these conversations that are the caller''s.';

COMMENT ON FUNCTION "private"."phrase"(text[]) IS 'Finds the profiles that have these words side by side.';

COMMENT ON FUNCTION "private"."place_tags"(text, text) IS 'The place of a profile, which is the largest of its name in the country, and all that it lies in.';

COMMENT ON FUNCTION "private"."places_named"(text[]) IS 'Which of these folded phrases are names of places.';

COMMENT ON FUNCTION "private"."places_within"(integer[], double precision) IS 'These places, and the cities and districts around those of them that are one.';

COMMENT ON FUNCTION "private"."plan_notifications"(integer, boolean, boolean) IS 'Turns rows whose delay has passed into pushes and mails, if the worker has these. Definer, as due_channels.';

COMMENT ON FUNCTION "private"."postpone_quiet"(bigint[], timestamp with time zone) IS 'Lets those rows wait whose person has quiet hours, which a delayed attempt may fall into, and returns the others.';

COMMENT ON FUNCTION "private"."prepare_reservation"() IS 'Fills in the host, revision and updated_at, and takes the step of the clock that is due first, dated when it was due.
Definer, because callers cannot write the history.';

COMMENT ON FUNCTION "private"."present"() IS 'The present time, also in a transaction that has waited for a lock. A function, so that tests can replace it.';

COMMENT ON FUNCTION "private"."print_latest"(public.messages, boolean) IS 'The JSON of a message in the list of conversations. As to_contact.';

COMMENT ON FUNCTION "private"."protect_history"() IS 'Refuses every change, by its owner too, but what a trigger deletes: that of a foreign key, with the reservation.';

COMMENT ON FUNCTION "private"."push_job"(private.outbox) IS 'A push of the latest message or a reservation; null if the person does not want it any more, or the device is gone.';

COMMENT ON FUNCTION "private"."push_receivers"(private.devices) IS 'Who could hold up a push: the device, its owner, and the IP address or last two labels of the name of its service.';

COMMENT ON FUNCTION "private"."rate_limit_key"(text, text) IS 'Today''s key of a user or address for one kind of request.';

COMMENT ON FUNCTION "private"."read_cursor"(text, bigint) IS 'A cursor from its base64url: 400 unless it is this person''s, 410 if older than 30 days or from before a restore.';

COMMENT ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) IS 'Finds whom a query excludes: who lives in a place, has a phrase, or a denied word in any form without saying to lack
it; and who says so (private.denied_words).';

COMMENT ON FUNCTION "private"."read_filter"(jsonb, private.search_query, bigint) IS 'Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';

COMMENT ON FUNCTION "private"."read_place"(private.query_word[], integer, private.place_name[]) IS 'The longest name of a place that begins with this word, as a unit; or null.';

COMMENT ON FUNCTION "private"."read_query"(jsonb) IS 'What a query looks for, from its private.query_words.';

COMMENT ON FUNCTION "private"."read_word"(private.query_word, text[], private.place_name[], boolean) IS 'A word of a query. `others` are its neighbours written together with it; `names_only`: in names alone.';

COMMENT ON FUNCTION "private"."rebuild_inbox"() IS 'Makes the inboxes anew after a load without triggers, while the functions are stopped. What is arranged stays.';

COMMENT ON FUNCTION "private"."record_block"() IS 'A block changes what its owner alone sees of the conversation, and ends typing. Definer, as record_conversation.';

COMMENT ON FUNCTION "private"."record_conversation"() IS 'A conversation was opened, or an admin changed or removed it, which whoever took part learns. Definer, for the log.';

COMMENT ON FUNCTION "private"."record_own_change"() IS 'A sender has corrected a message or taken it back: keeps a hash of what was sent, logs it, broadcasts
message.changed, across a block to the sender alone, and tells the webhook. Definer, as handle_new_message.';

COMMENT ON FUNCTION "private"."record_reservation"() IS 'Appends every new and changed reservation to the history, and logs what was offered, changed, moved to another
conversation or removed. Definer, because callers can write neither.';

COMMENT ON FUNCTION "private"."record_state"(bigint, bigint, text, bigint) IS 'Logs that a user has arranged a conversation differently, for their devices alone, and tells these.';

COMMENT ON FUNCTION "private"."refresh_entries"(bigint) IS 'Reads latest message and activity again after an admin has changed them. Unmarks nobody who has written.';

COMMENT ON FUNCTION "private"."refresh_places"(bigint, integer) IS 'For `npm run data` of version 1.1.0.';

COMMENT ON FUNCTION "private"."refresh_search_context"(bigint) IS 'Inserts, updates or deletes the context of a user.';

COMMENT ON FUNCTION "private"."refresh_search_entry"(bigint) IS 'Inserts, updates or deletes the entry of a profile. Definer, because users may not write the index.';

COMMENT ON FUNCTION "private"."replace_interests"(bigint, jsonb) IS 'Replaces a profile''s interests by a JSON array of ids, or raises 400 and changes nothing. The caller has locked the
profile: concurrent replacements would end with the union of both sets.';

COMMENT ON FUNCTION "private"."require_first_contact"(bigint, bigint, integer) IS 'Raises 403 if nothing more may reach the partner before they have answered, also across a block, which it hides.';

COMMENT ON FUNCTION "private"."require_participant"(bigint) IS 'Returns the partner. Raises 404 if the caller does not take part in the conversation, whether or not it exists.';

COMMENT ON FUNCTION "private"."require_partner"(bigint) IS 'Raises 403 across a block, and if the account is not active.';

COMMENT ON FUNCTION "private"."reservation_at"(public.reservations, timestamp with time zone) IS 'The reservation as it is at this moment, whether or not the clock has written the step that is due.';

COMMENT ON FUNCTION "private"."reservations_with_history"(bigint, bigint) IS 'One reservation of a conversation, or all by date if its id is null, each with its steps up to now, oldest first.';

COMMENT ON FUNCTION "private"."save_embeddings"(text, jsonb) IS 'Saves embeddings [{kind, id, content_hash, embedding, parts}] of texts that have not changed; the other jobs stay
queued. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision) IS
  'All hits among these profiles, with their scores and the parts of them (docs/search.md). Nobody is put before those
who were compared in meaning, which all neighbours are.';

COMMENT ON FUNCTION "private"."set_response_metadata"(jsonb) IS 'Stores what an API function returns besides its answer: {next: cursor}, {replayed: true}, {place} or {file}.';

COMMENT ON FUNCTION "private"."set_restriction"(bigint, text, boolean) IS 'Hides or suspends a person, or ends that; false if that was done before.';

COMMENT ON FUNCTION "private"."settle_reservations"() IS 'Writes the steps of the clock that are due, 500 at most, and returns their number. Only then people are told.';

COMMENT ON FUNCTION "private"."shown_score"(double precision, double precision) IS 'A final score as hits show it, in the same order. A meaning alone reaches the weight of meaning, shown as .699; at .5
half of such hits are wanted (bench/search/quality.ts --curve).';

COMMENT ON FUNCTION "private"."shown_spellings"(jsonb, bigint[]) IS 'Those whose words somebody has who is not hidden: else they would tell a name across a block.';

COMMENT ON FUNCTION "private"."split_of"(text) IS 'The two or three words that are written together in one, if somebody has them side by side.';

COMMENT ON FUNCTION "private"."sync_search_index"() IS 'Updates entry and context of whom a change concerns. Definer, as refresh_search_entry.';

COMMENT ON FUNCTION "private"."tags_of"(integer[]) IS 'How the index says that somebody lives in one of these places.';

COMMENT ON FUNCTION "private"."time_zone_of"(text, text) IS 'The time zone of a profile''s place by its IANA name; null if it is unknown.';

COMMENT ON FUNCTION "private"."to_contact"(public.users, bigint, text, bigint[]) IS 'A participant as list and export show them: the address always or after_reply, and never across a block (cut_off).
With format, because json_build_object took a fifth of a page of 50. Without a subquery and `set search_path`, so that
it is inlined: not inlined it took as long as all else.';

COMMENT ON FUNCTION "private"."to_latin"(text) IS 'Lower-case Greek and Cyrillic letters in their usual Latin spelling, as functions/_shared/fold.ts.';

COMMENT ON FUNCTION "private"."to_message_view"(public.messages, json) IS 'A message as every answer shows it; sender is {id, name}. Without `set search_path`, so that it is inlined.';

COMMENT ON FUNCTION "private"."to_page"(anyarray, bigint, bigint) IS 'A page of what was listed, with a row more than the limit if another follows: then next goes into the metadata.';

COMMENT ON FUNCTION "private"."to_reservation_view"(public.reservations) IS 'A settled reservation as endpoints show it.';

COMMENT ON FUNCTION "private"."to_state"(private.inbox_entries) IS 'How a user has arranged a conversation. Without `set search_path`, so that it is inlined.';

COMMENT ON FUNCTION "private"."typos"(text, text, integer) IS 'How many letters are wrong, missing, too many, or swapped. Null above the budget.';

COMMENT ON FUNCTION "private"."unspaced_letters"() IS 'The letters of Han, kana, Thai, Lao, Khmer and Burmese, for a character class.';

COMMENT ON FUNCTION "private"."warnings_of"(bigint) IS 'What moderators have warned a person of, the latest first: all that the person learns of a report.';

COMMENT ON FUNCTION "private"."webhook_job"(private.outbox) IS 'An event with its data: ids, and no names or texts; null if the subject is gone.';

COMMENT ON FUNCTION "private"."weight_value"(tsvector, tsquery) IS 'What a word that somebody has is worth, by the best field: name, interests, place, biography.';

COMMENT ON FUNCTION "private"."with_states"(private.message_view[]) IS 'The JSON of these messages with their states. A second step: a case for each row made a page a third dearer.';

COMMENT ON FUNCTION "private"."word_counts"(text[]) IS 'About how many profiles have any of these terms, and whether these are names (private.naming).';

COMMENT ON FUNCTION "private"."words_of"(text) IS 'The folded words of a text, in order; each character of a script without spaces.';

COMMENT ON FUNCTION "private"."words_vector"(public.profiles, text, text[]) IS 'The private.search_words of a profile.';

COMMENT ON FUNCTION "private"."write_reservation"(public.reservations, bigint, text, timestamp with time zone) IS 'Writes a new reservation or a step of a locked one, and returns it. by_id and note go into its history; moment is the
time of the whole step, so that nothing becomes due during it.';

COMMENT ON FUNCTION "public"."describe_queues"() IS 'How many entries of each queue wait, the age of the oldest in seconds, and dead letters. Definer, as find_people.';

COMMENT ON FUNCTION "public"."erase_person"(bigint, text) IS 'Erases a person; their avatars have to be removed by hand (docs/runbook.md). Definer, as find_people.';

COMMENT ON FUNCTION "public"."find_people"(text, boolean) IS 'The newest 50 people with this text in their name or e-mail address, regardless of case and accents; digits alone are
an id; restricted: only who is hidden or suspended. Definer, because the secret key has no rights on schema private.';

COMMENT ON FUNCTION "public"."lift_restriction"(bigint, text, text) IS 'Ends a restriction; a profile stays unsearchable until its owner changes that. Definer, as resolve_report.';

COMMENT ON FUNCTION "public"."read_evidence"(bigint) IS 'The messages that were copied for a report. Definer, because nobody has a grant on them: every look is logged.';

COMMENT ON FUNCTION "public"."resolve_report"(bigint, text, text) IS 'Resolves an open report: dismiss, warn (the person reads it), hide (the profile is not searchable until
public.lift_restriction()) or suspend (the account is deactivated). Raises 409 if it was resolved before. Definer,
because the secret key has no grant to write reports: every decision is logged.';

COMMENT ON FUNCTION "public"."restrict_person"(bigint, text, text) IS 'Hides or suspends as resolve_report does, without a report. Raises 409 if that was done before. Definer, as that.';

COMMENT ON INDEX "private"."inbox_entries_order_idx" IS 'Archived ones apart: no page reads the others.';

COMMENT ON INDEX "private"."search_lexicon_deletions_idx" IS 'To compare a mistyped word with each of 80,000 that has its first letter took 5.5 ms.';

COMMENT ON INDEX "public"."messages_one_per_client_id" IS 'A client_id of a sender is of one message, for ever. It serves the foreign key of user_id, too: an index less saves 3
of the 79 pages of a send.';

COMMENT ON TABLE "private"."answer_spans" IS 'All that is kept of how soon a person answers; without a row nothing.';

COMMENT ON TABLE "private"."blocks" IS 'Across a block nobody opens a conversation, writes or finds the other in a search.';

COMMENT ON TABLE "private"."devices" IS 'Where pushes for a user go: the endpoint and the keys are what a browser hands out for one subscription.';

COMMENT ON TABLE "private"."embedding_queue" IS 'What has needed an embedding since `queued_at`: profiles (by profile id) and contexts (by user id). `attempts`: how
often a worker was killed with it, or the provider refused it by itself (no outage makes dead letters); with 8 it is a
dead letter until its text or the model changes. `failures`: how often it was tried, for whatever end: after each it
waits longer, and it is tried alone. Both are of `model`, and start again at 0 for another one.';

COMMENT ON TABLE "private"."inbox_entries" IS 'A conversation in the inbox of one participant: its order, the unread count, and what they have archived, muted and
pinned, of which the partner never learns. Triggers on conversations and messages keep the rest, whoever writes those.';

COMMENT ON TABLE "private"."loaded_data" IS 'Which data files were loaded: the MD5 of each.';

COMMENT ON TABLE "private"."outbox" IS 'What is still to be sent, or after 8 attempts a dead letter. No foreign keys, because each would make every message
dearer: the worker drops a row whose subject is gone.';

COMMENT ON TABLE "private"."outbox_settings" IS 'What triggers must know of the environment, which notify writes. One row.';

COMMENT ON TABLE "private"."rate_limit_salts" IS 'The salt of the hashes. It is new every day, which resets every limit.';

COMMENT ON TABLE "private"."rate_limits" IS 'Each key is a hash that cannot be reversed without the day''s salt. A row whose tat has passed means nothing.';

COMMENT ON TABLE "private"."report_evidence" IS 'Copies of messages as they were when they were reported; public.read_evidence() shows them, and is logged.';

COMMENT ON TABLE "private"."search_completions" IS 'What each entry completes: each value from each of its first eight words on, folded, behind its kind. Rejected: an
index on the entries, which each saved embedding would write again (8 ms instead of 5.5); private.search_words, where a
letter begins many words of biographies (four times as long).';

COMMENT ON TABLE "private"."search_contexts" IS 'The embedding of each user''s own interests, bio and location.';

COMMENT ON TABLE "private"."search_entries" IS 'The profiles that a search can find, as hits show them: the searchable ones of active users.';

COMMENT ON TABLE "private"."search_lexicon" IS 'Every word of the index, how many profiles have it, and the sum of what private.naming says of it. A change adds new
words; an hourly job counts (private.count_words). It has no unique constraint: two transactions that add the same words
would wait for each other, and in another order deadlock. What both add is there twice until the next count.';

COMMENT ON TABLE "private"."search_locks" IS 'A row for each profile, to be locked while its entry is written. Locking the profile would deadlock: one transaction
updates the profile and then the user, another deactivates the user and then writes the entry.';

COMMENT ON TABLE "private"."search_models" IS 'How to read the cosines of each embedding model: floor and ceiling, between which they are ranked (the first
percentile of all queries and profiles, and the 99.8th); threshold, from where on a profile is a hit: the lowest at
which .15 of what is found is relevant (bench/search/calibrate.ts; private.calibrate_model for other models than the
offline one, at so many `measured_profiles`); trust: how much a similarity says beside words.';

COMMENT ON TABLE "private"."search_places" IS 'Places: their names in any language and adjectives (Dutch), as private.words_of writes them; those of them that are
also words or given names (Nice, Sofia); all that they lie in; `time_zone` where what they lie in has none for all of
it; `name` as it is printed. Ids are of GeoNames, or of UN M49 for parts of the world; from 1,000,000,000 on the
operator''s.';

COMMENT ON TABLE "private"."search_sentences" IS 'The embeddings of each interest and sentence (private.entry_parts), since one on a matter is hidden in the embedding
of a whole life. There is none where the model knows no word.';

COMMENT ON TABLE "private"."search_words" IS 'The words of each entry with their positions and weights (A names, B interests, C places, D biography); after @ the
values of filters and the places of residence, after ~ names in other scripts and what biographies deny.';

COMMENT ON TABLE "private"."sign_ups" IS 'Sign-ups in progress, with the ids that the new account will get: drawn before Auth is called, so that every sign-up
returns one and uses up as many, whether or not the address is taken. Name and fields (of PATCH /users/profile) wait
here and not in the metadata of the Auth account, which Auth copies into every access token. Kept for an hour.';

COMMENT ON TABLE "private"."silences" IS 'Who was mailed, or will be, and has neither read, written nor taken a step since: they get no other mail.';

COMMENT ON TABLE "private"."stored_replies" IS 'What was created with an idempotency key: a hash of the request, and its first answer, byte for byte. Each noun has
keys of its own; one that can be deleted adds a column, by which the answer goes with it.';

COMMENT ON TABLE "public"."conversations" IS 'A pair of users: the voyager, who opened the conversation, and the local. Erasing a user keeps the row.';

COMMENT ON TABLE "public"."messages" IS 'What participants have written. Within a conversation, a reader who has seen an id has seen all before it.';

COMMENT ON TABLE "public"."moderation_log" IS 'What admins did: who, when and why. Append-only, also for its owner.';

COMMENT ON TABLE "public"."profiles" IS 'Others see one only while is_searchable is true and the user active.';

COMMENT ON TABLE "public"."reports" IS 'What people have reported. Written only by functions of reporters and moderators; erasing a user keeps the row.';

COMMENT ON TABLE "public"."reservations" IS 'What the participants of a conversation offer each other and have agreed on.';

COMMENT ON TABLE "public"."users" IS 'A row without auth_id cannot log in. While is_active is false the token is refused and the profile hidden.';

COMMENT ON TYPE "private"."change_cursor" IS 'What a cursor holds. Unsigned: whoever makes one up asks for their own changes.';

COMMENT ON TYPE "private"."message_view" IS 'A message as every answer shows it. A page of rows becomes JSON in two thirds of the time of as many objects.';

COMMENT ON TYPE "private"."notice" IS 'What somebody is told of: a message with its text, or a reservation as it is now.';

COMMENT ON TYPE "private"."place_name" IS 'A name or adjective of these places, and whether it is also a word or a given name.';

COMMENT ON TYPE "private"."query_word" IS 'A word of a query as functions/users/read_query.ts sends it, folded. Words of one `run` are a phrase. `is_known`: the
model knows it; `is_where`, `is_near`, `is_language`: it stands where a place, one after "near" or a language does;
`is_denied`: excluded in words and not by a minus sign; `is_light`: without a meaning of its own; `variants`: other ways
to write it.';

COMMENT ON TYPE "private"."search_filter" IS '`required` has facets, ages and quoted phrases, `excluded` what no hit may have; either may be null. `passing`: all
who meet the conditions, if they are few; then the others are empty.';

COMMENT ON TYPE "private"."search_query" IS '`excluded` finds whom a query does not want, `lacking` who says to have no such thing, `called_so` whose name it is,
and `home` who lives in its place. `corrections` and `completions` of an unfinished word are [{from, to}]; `unknown` are
words that nobody has and the model does not know.';

COMMENT ON TYPE "private"."search_unit" IS 'One thing to look for. `words`: a word, or those of a phrase or of a place. `exact` are the words of the index that
mean the same, `loose` those that it may stand for: beginnings, marked with a *, and corrections. `exact_query` finds
who has the first, and of a place who lives there, `query` who has either. `place` is its name, and `is_home`: the query
is about its people only. `is_named`: above all a name of people or places.';

COMMENT ON VIEW "public"."moderation_queue" IS 'The open reports, oldest first, each with how many there were about the same person before, and how these ended.';

REVOKE ALL ON FUNCTION "api"."step_reservation"(bigint, bigint, text, text, integer, integer, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."step_reservation"(bigint, bigint, text, text, integer, integer, jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."any_term"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."any_term"(text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim"(text, integer, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim"(text, integer, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_mail"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_mail"(jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."claim_pushes"(integer, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_pushes"(integer, jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."claim_webhooks"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_webhooks"(integer) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."complete_places"(text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."complete_places"(text, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."complete_word"(text, private.search_unit[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."complete_word"(text, private.search_unit[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."copy_evidence"(public.reports) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."copy_evidence"(public.reports) TO "postgres";

REVOKE ALL ON FUNCTION "private"."corrections_of"(text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."corrections_of"(text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."denied_words"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."denied_words"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."describe_service"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."describe_service"() TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."export_conversations"(bigint[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."export_conversations"(bigint[], text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."forbid_writing"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."forbid_writing"(bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hash_message"(public.messages) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hash_message"(public.messages) TO "postgres";

REVOKE ALL ON FUNCTION "private"."interest_ids"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."interest_ids"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."latin_spelling"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."latin_spelling"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_job"(private.outbox) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_job"(private.outbox) TO "postgres";

REVOKE ALL ON FUNCTION "private"."match_words"(bigint[], bigint[], private.search_query) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."match_words"(bigint[], bigint[], private.search_query) TO "postgres";

REVOKE ALL ON FUNCTION "private"."participants_of"(bigint[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."participants_of"(bigint[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."phrase"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."phrase"(text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."print_latest"(public.messages, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."print_latest"(public.messages, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."push_job"(private.outbox) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."push_job"(private.outbox) TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_cursor"(text, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read_cursor"(text, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refresh_places"(bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refresh_places"(bigint, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."replace_interests"(bigint, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."replace_interests"(bigint, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_participant"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."require_participant"(bigint) TO "postgres";

REVOKE ALL
  ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision)
  FROM PUBLIC;

GRANT EXECUTE
  ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision)
  TO "postgres";

REVOKE ALL ON FUNCTION "private"."set_restriction"(bigint, text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."set_restriction"(bigint, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."tags_of"(integer[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tags_of"(integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."time_zone_of"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."time_zone_of"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."to_contact"(public.users, bigint, text, bigint[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."to_contact"(public.users, bigint, text, bigint[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."warnings_of"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."warnings_of"(bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."webhook_job"(private.outbox) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."webhook_job"(private.outbox) TO "postgres";

REVOKE ALL ON FUNCTION "private"."with_states"(private.message_view[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."with_states"(private.message_view[]) TO "postgres";

ALTER TABLE "public"."profiles"
  ADD CONSTRAINT "languages is one line that shows something" CHECK (private.is_line(languages))
  NOT VALID;

select private.schedule_jobs();
