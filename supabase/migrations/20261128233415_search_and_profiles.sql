set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

COMMENT ON COLUMN "private"."embedding_queue"."attempts" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."due_at" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."failures" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."last_error" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."model" IS NULL;

COMMENT ON COLUMN "private"."embedding_queue"."queued_at" IS NULL;

COMMENT ON COLUMN "private"."search_models"."measured_profiles" IS NULL;

COMMENT ON COLUMN "private"."search_sentences"."place" IS NULL;

COMMENT ON INDEX "private"."search_entries_embedding_idx" IS NULL;

DROP INDEX "private"."search_entries_unembedded_idx";

DROP FUNCTION "private"."any_term"(text[]);

DROP FUNCTION "private"."called_so"(private.search_query);

DROP FUNCTION "private"."completion_keys"(text, text, text[]);

DROP FUNCTION "private"."corrections_of"(text, boolean);

DROP FUNCTION "private"."denied"(text[]);

DROP FUNCTION "private"."either"(private.search_unit);

DROP FUNCTION "private"."either_number"(text);

DROP FUNCTION "private"."export_account"();

DROP FUNCTION "private"."hit_body"(private.search_entries, double precision);

DROP FUNCTION "private"."is_begun"(private.query_word);

DROP FUNCTION "private"."match_words"(bigint[], bigint[], private.search_query);

DROP FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text);

DROP FUNCTION "private"."phrase"(text[]);

DROP FUNCTION "private"."places_to_filter"(text, text);

DROP FUNCTION "private"."refresh_places"(bigint, integer);

DROP FUNCTION "private"."romaji"(text);

DROP FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision);

DROP FUNCTION "private"."tags_of"(integer[]);

DROP FUNCTION "private"."term_query"(text);

DROP FUNCTION "private"."typo_budget"(text);

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "is_phrase" CASCADE;

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "lives" CASCADE;

ALTER TYPE "private"."search_unit" DROP ATTRIBUTE "loose_query" CASCADE;

ALTER TABLE "private"."outbox"
  ADD COLUMN "request" jsonb;

ALTER TABLE "private"."search_places"
  ADD COLUMN "time_zone" text;

ALTER TABLE "public"."profiles"
  ADD COLUMN "languages" text;

ALTER TABLE "public"."reports"
  ADD COLUMN "is_told" boolean NOT NULL DEFAULT false;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "called_so" tsquery CASCADE;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "home" tsquery CASCADE;

ALTER TYPE "private"."search_query" ADD ATTRIBUTE "lacking" tsquery CASCADE;

ALTER TYPE "private"."search_unit" ADD ATTRIBUTE "is_home" boolean CASCADE;

ALTER TYPE "private"."search_unit" ADD ATTRIBUTE "query" tsquery CASCADE;

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
    raise sqlstate 'PT409' using message = 'This message was taken back', hint = 'conflict';
  elsif is_blank and own.attachment is null then
    raise sqlstate 'PT400' using message = 'content: must not be blank unless there is an attachment';
  end if;
  if own.content <> new_content then
    -- New words need what a send needs.
    if partner.erased_at is not null or private.is_blocked_between(me, partner.id) then
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person', hint = private.refusal_code(me, partner.id);
    elsif own.created_at <= private.present() - make_interval(mins => minutes) then
      raise sqlstate 'PT403' using message = 'This message cannot be corrected any more', hint = 'forbidden';
    -- Otherwise corrections would reach somebody who has not answered without end.
    elsif own.edited_at is not null
      and private.first_contact_left(conversation, partner.id, first_contact_limit, is_locked => true) is not null then
      raise sqlstate 'PT403' using
        message = 'You can correct a message once until this person has answered', hint = 'first_contact_limit';
    end if;
    perform private.keep_request(own);
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
    select *
    -- Each conversation counts as one message, so no more than these fit into a piece.
    from private.export_conversations(array(
      select id
      from private.my_conversations() as id
      where id >= at_conversation and at_report is null
      order by id
      limit remaining + 1
    ), emails)
    order by id
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
              ', "attachment" : %s, "editedAt" : %s, "deletedAt" : %s',
              coalesce(page.latest_attachment::text, 'null'),
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
    select *
    into opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    if opened.id is null and not is_active then
      raise sqlstate 'PT404' using message = 'User not found';
    elsif opened.id is null then
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person',
        hint = private.refusal_code(me, other_user);
    end if;
    raise sqlstate 'PT409' using
      message = 'A conversation with this user already exists',
      detail = json_build_object('conversation_id', opened.id),
      hint = 'already_open';
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
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
    select messages.user_id
    into subject
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

  select *
  into report
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
    if sent.conversation_id <> conversation or private.hash_message(
      jsonb_populate_record(null::public.messages, draft)
    ) <> (case
      when coalesce(sent.edited_at, sent.deleted_at) is null then private.hash_message(sent)
      -- private.keep_request
      else (
        select request_hash
        from private.stored_replies
        where user_id = me and noun = 'message' and client_id = draft_client_id
      )
    end) then
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
    raise sqlstate 'PT403' using message = 'This message cannot be taken back any more', hint = 'forbidden';
  end if;
  perform private.keep_request(own);
  update public.messages
  set content = '', attachment = null, read = true, deleted_at = private.present()
  where id = own.id;
  if private.can_remove_attachment(file) then
    perform private.set_response_metadata(jsonb_build_object('file', file));
  end if;
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
begin
  -- Lock the profile first, as every change of a profile does, so that concurrent changes of one user queue and never
  -- deadlock.
  perform from public.profiles where user_id = me for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if changes ?| array['name', 'bio', 'location'] then
    update public.users
    set (name, bio, location) = (
      select new.name, new.bio, new.location
      from jsonb_populate_record(users, changes) as new
    )
    where id = me;
  end if;

  if changes - array['name', 'bio', 'location', 'interest_ids'] <> '{}' then
    update public.profiles
    set (
      first_name, last_name, age, biography, country, city, image_url, is_searchable, show_answers, languages
    ) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable,
        new.show_answers, new.languages
      from jsonb_populate_record(profiles, changes) as new
    )
    where user_id = me;
  end if;

  if changes ? 'interest_ids' then
    perform private.replace_interests(private.my_profile_id(), private.parse_ids(changes -> 'interest_ids'));
  end if;

  return api.get_me();
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
    add_place.latitude, add_place.longitude, add_place.population
  from private.search_places as places
  returning * into place;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and private.folded_parts(city) || private.folded_parts(country) && place.names;
  return place.id;
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
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  mail private.outbox;
  recipient public.users;
  conversations json;
begin
  -- Until one is wanted, but not without end, because a statement has 5 s.
  for round in 1..50 loop
    ids := private.claim_rows('mail', 1, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    continue when cardinality(ids) = 0;
    select * into mail from private.outbox where id = ids[1];
    select * into recipient from public.users where id = mail.user_id and is_active and email <> '';
    conversations := case
      when recipient.id is not null and (private.notification_settings_of(recipient.id)).email then
        private.unseen_by(
          recipient.id, (select coalesce(max(steps), '{}') from private.silences where user_id = recipient.id)
        )
      else '[]'::json
    end;
    if json_array_length(conversations) > 0 then
      return json_build_object(
        'id', mail.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', mail.key,
        'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
        'time_zone', (private.notification_settings_of(recipient.id)).time_zone, 'conversations', conversations,
        'request', mail.request
      );
    end if;
    delete from private.outbox where id = mail.id;
    -- Nothing was told, so the next message may be.
    delete from private.silences where user_id = mail.user_id;
  end loop;
  return 'null'::json;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_pushes (
  max_rows integer,
  busy     jsonb   DEFAULT '[]'::jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  pushes json;
begin
  -- As claim_mail.
  for round in 1..50 loop
    ids := private.claim_rows('push', max_rows, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are
    -- read in between would say that there are none.
    with claimed as materialized (
      select outbox.id, outbox.subject_id, request, devices, private.push_data(outbox) as data
      from private.outbox
      left join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
      where outbox.id = any (ids)
    ),
    unwanted as (
      delete from private.outbox
      where id in (select claimed.id from claimed where (devices).id is null or data is null)
    )
    select
      json_agg(
        json_build_object(
          'id', claimed.id,
          'receivers', private.push_receivers(devices),
          'endpoint', (devices).endpoint,
          'keys', json_build_object('p256dh', (devices).p256dh, 'auth', (devices).auth),
          'subject', subject_id,
          'data', data,
          'request', request
        )
      )
    into pushes
    from claimed
    where (devices).id is not null and data is not null;
    exit when pushes is not null;
  end loop;
  return coalesce(pushes, '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_webhooks (
  max_rows integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ids constant bigint[] := private.claim_rows('webhook', max_rows, '[]', private.present());
begin
  delete from private.outbox where id = any (ids) and private.webhook_data(outbox) is null;
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', id, 'key', key, 'type', event, 'timestamp', private.iso(created_at),
          'data', private.webhook_data(outbox), 'request', request
        )
        order by id
      ),
      '[]'
    )
    from private.outbox
    where id = any (ids)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.complete_word (
  typed  text,
  others private.search_unit[]
)
  RETURNS text
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
    select string_agg(lexeme, ' ')
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
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into private.report_evidence (report_id, message_id, is_by_reported, content, attachment, sent_at)
  select
    report.id, messages.id, messages.user_id = report.user_id, messages.content, messages.attachment,
    messages.created_at
  -- A union instead of `or`, and a list of ids instead of a join, which would read all messages: 86 ms a report with a
  -- million of them.
  from public.messages
  where id = any (array(
    select report.message_id
    union
    select latest.id
    from public.conversations
    cross join lateral (
      select messages.id
      from public.messages
      where conversation_id = conversations.id
      order by messages.id desc
      limit 20
    ) as latest
    where report.shares_messages
      and least(voyager_id, local_id) = least(report.reporter_id, report.user_id)
      and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)
  ))
  on conflict do nothing;
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

CREATE OR REPLACE FUNCTION private.export_account()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select json_build_object(
      'exported_at', private.iso(now()),
      'user', json_build_object(
        'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
        'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
      ),
      'profile', row_to_json(profiles),
      'interests', private.interests_of(profiles.id),
      'blocks', api.list_blocks(),
      'devices', api.list_devices(),
      'notifications', api.get_notification_settings(),
      'answers', (select answers from private.answer_spans where answer_spans.user_id = users.id),
      'warnings', private.warnings_of(users.id)
    )
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = (select private.my_id())
  );
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
    participants.id,
    participants.voyager_id,
    json_build_object('id', participants.voyager_id, 'name', participants.voyager_name),
    json_build_object('id', participants.local_id, 'name', participants.local_name),
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
    )::text
  from private.participants_of(ids, emails => emails) as participants
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

CREATE OR REPLACE FUNCTION private.keep_request (
  own public.messages
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into private.stored_replies (user_id, noun, client_id, subject_id, request_hash, body, metadata)
  select own.user_id, 'message', own.client_id, own.id, private.hash_message(own), 'null', '{}'
  where own.client_id is not null and own.edited_at is null
  on conflict do nothing;
end
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
    return filter.passing;
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
      nullif(columns[10], '') as time_zone
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
  select id, kind, coalesce(ancestors, '{}'), names, ambiguous, adjectives, latitude, longitude, population, time_zone
  from rows
  left join (select id, array_agg(parent order by parent) as ancestors from above group by id) as listed using (id);
  execute names_index;
  insert into private.loaded_data (name, checksum)
  values ('places', md5(file))
  on conflict (name) do update set checksum = excluded.checksum;
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
    latest_deleted_at  timestamp with time zone,
    latest_attachment  jsonb
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
  person bigint;
  request constant jsonb := nullif(current_setting('request.jwt.claims', true), '')::jsonb -> 'request';
begin
  select delay_seconds, webhooks into delay, to_webhook from private.outbox_settings;
  foreach person in array people loop
    insert into private.outbox (channel, event, conversation_id, subject_id, user_id, request, due_at)
    values (
      'person', notify.event, conversation, subject, person, request,
      private.present() + interval '1 second' * coalesce(
        60 * (select delay_minutes from private.notification_settings where user_id = person), delay
      )
    );
  end loop;
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
  -- An erasure or a report locks this account as well: it waits, or has happened by now.
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

CREATE OR REPLACE FUNCTION private.plan_person (
  person bigint,
  ids    bigint[],
  push   boolean,
  mail   boolean,
  moment timestamp with time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  chosen constant private.notification_settings := private.notification_settings_of(person);
  quiet constant timestamptz := private.quiet_until(
    quiet_from => chosen.quiet_from, quiet_to => chosen.quiet_to, time_zone => chosen.time_zone, moment => moment
  );
  heard bigint[];
  heard_steps bigint[];
  newest jsonb;
begin
  if quiet is not null then
    update private.outbox set due_at = quiet where id = any (ids);
    return;
  end if;
  select
    array_agg(id), coalesce(array_agg(subject_id) filter (where event = 'reservation.changed'), '{}'),
    (array_agg(request order by id desc))[1]
  into heard, heard_steps, newest
  from private.outbox
  where id = any (ids)
    and (
      private.notice_of(
        person => person, event => event, conversation => conversation_id, first_id => subject_id, last_id => subject_id
      )
    ).id is not null;
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
      subject_id = greatest(waiting.subject_id, excluded.subject_id),
      request = excluded.request,
      -- A dead letter is tried again. Its last attempt may still be under way until it is due.
      due_at = greatest(waiting.due_at, case when waiting.attempts >= 8 then excluded.due_at end),
      attempts = case when waiting.attempts >= 8 then 0 else waiting.attempts end;
  end if;
  if mail and chosen.email and heard is not null then
    insert into private.silences (user_id, steps) values (person, heard_steps) on conflict do nothing;
    if found then
      insert into private.outbox as waiting (channel, event, user_id, request, due_at)
      values ('mail', 'silence', person, newest, moment)
      on conflict (user_id) where channel = 'mail'
      do update set
        attempts = 0, request = excluded.request, due_at = greatest(waiting.due_at, excluded.due_at)
      where waiting.attempts >= 8;
    else
      update private.silences set steps = silences.steps || heard_steps where user_id = person;
    end if;
  end if;
  delete from private.outbox where id = any (ids);
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
        if unit.corrected is null then
          if not part.is_known and (private.word_counts(unit.exact || unit.loose)).holders = 0 then
            asked.unknown := asked.unknown || part.word;
          end if;
        else
          asked.corrections := asked.corrections || jsonb_build_object('from', part.word, 'to', unit.corrected);
          -- in Madrdi
          words[at].word := unit.corrected;
          place := private.read_place(
            words, at, array(select named from private.places_named(array[unit.corrected]) as named)
          );
          if place.words is not null then
            unit := place;
          end if;
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
    asked.completions := (
      select coalesce(jsonb_agg(jsonb_build_object('from', part.word, 'to', meant)), '[]')
      from private.complete_word(part.word, asked.units[:cardinality(asked.units) - 1]) as meant
      where meant <> part.word
    );
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
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  -- With 60 the labelled sets have the same order.
  max_compared constant integer := case when has_words then 100 else 1000 end;
begin
  return query
    with matches as materialized (
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
      where words_matched > 0 or lacks or id = any (neighbour_ids) or not has_words
    ),
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
  return (
    select coalesce(
      jsonb_agg(jsonb_build_object('reason', reason, 'createdAt', private.iso(resolved_at)) order by resolved_at desc),
      '[]'
    )
    from public.reports
    where user_id = person and is_told
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
    perform private.apply_restriction(person, action, report);
  end if;
  return resolved;
end
$function$;

ALTER TABLE "public"."profiles"
  ADD CONSTRAINT "languages has at most 200 characters" CHECK ((char_length(languages) <= 200))
  NOT VALID;

COMMENT ON AGGREGATE "private"."all_of"(tsquery) IS 'Ignores null.';

COMMENT ON AGGREGATE "private"."any_of"(tsquery) IS 'Ignores null.';

COMMENT ON COLUMN "private"."outbox"."request" IS 'The headers x-request-id and traceparent of what caused it; of several requests the newest when it was planned. Null
after an admin or the clock.';

COMMENT ON COLUMN "private"."search_entries"."content_hash" IS 'While it stays the same, the embedding is kept.';

COMMENT ON COLUMN "public"."profiles"."languages" IS 'Those that the owner speaks, in their own words.';

COMMENT ON COLUMN "public"."reports"."is_told" IS 'Whether the reported person reads that they were warned. In 1.0 and 1.1 a warning promised that they do not.';

COMMENT ON FUNCTION "api"."complete_search"(jsonb) IS 'What the text of a search box, {q, limit}, may go on to: {interests, cities, names} of profiles that the caller can
find. Definer, as api.search_profiles.';

COMMENT ON FUNCTION "api"."get_me_and_choices"() IS 'As get_me, whether the public view may say how soon the caller answers, the languages, and what the moderators warned
of. Definer, because callers cannot call get_me.';

COMMENT ON FUNCTION "api"."get_public_profile_and_answers"(bigint) IS 'As get_public_profile, and what else is known: how soon the person answers, the languages, and the time zone of the
place; null if it is not. Definer, as that.';

COMMENT ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) IS 'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null.
With archived only those that the caller has archived, or only the others; with pinned_first the pinned ones come
first; with with_partner each has the other participant, with their public profile unless there is a block;
with_states says what is attached to a message, and when it was corrected or taken back; emails says when a
partner''s address is shown: always or after_reply. The response metadata holds the offset of the next page if there
is one.';

COMMENT ON FUNCTION "api"."report_person"(jsonb) IS 'Reports {user_id or message_id, reason, note, share_messages, block, client_id}; evidence and block in the same
transaction. While a report about the same subject is open it is returned instead, with existing in the response
metadata; what the repeat shares or blocks is still done. A client_id that was used before returns the first answer
again. Blocks in either direction make no difference. Definer, because no caller has a grant on reports: the reported
learn of warnings alone.';

COMMENT ON FUNCTION "api"."search_profiles"(jsonb) IS 'Searches profiles for {words, vector, model, interests, cities, countries, age, limit, offset, explain,
facets, like, timeout, isNobody, isDraft}: {answer, query}, as private.find_profiles and private.describe_query print
them. `words` are private.query_words. Where words of a draft are corrected or completed, answer is null: the vector
must be made of what is meant. `like` is a profile that takes the place of the context, and ranks by itself if there is
no query. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may read the index.';

COMMENT ON FUNCTION "private"."add_place"(text[], text, integer[], text[], real, real, integer) IS 'For operators: adds a place, indexes its people anew, and returns its id.';

COMMENT ON FUNCTION "private"."adopt_model"(text) IS 'Queues everything that has no embedding of this model, dead letters of other models included. Embeddings of different
models are never compared. Definer, as all that edge_functions may do with index and queue.';

COMMENT ON FUNCTION "private"."any_term"(text[]) IS 'Finds who has any of these words, or of one with a * behind it any that begins so.';

COMMENT ON FUNCTION "private"."calibrate_model"(text) IS 'Measures a model by its own vectors, with an interest of each person for queries: the floor is the first percentile
of their cosines with the profiles of others, the threshold the 70.5th, the ceiling the 99.8th, as
bench/search/calibrate.ts finds for the offline model, knowing what is relevant. With twenty profiles, and again when
there are ten times as many. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."check_deadline"() IS 'Cancels a search after api.time_limit, as Postgres cancels a statement. Called between its steps, each of which is
bounded; within one, the statement_timeout of edge_functions applies.';

COMMENT ON FUNCTION "private"."claim_embeddings"(text, integer, boolean) IS 'Claims up to max_jobs due jobs for this model, to be embedded in one call: those that have been due longest, or the
newest of those that were never tried. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."claim_mail"(jsonb) IS 'Claims a due mail, to none of the domains that are busy, as {id, receivers, key, to, name, token, time_zone,
conversations, request}, or returns null. Mails that have nothing to tell any more are dropped. Definer, because
edge_functions has no rights on the outbox.';

COMMENT ON FUNCTION "private"."claim_pushes"(integer, jsonb) IS 'Claims up to max_rows due pushes as [{id, receivers, endpoint, keys, subject, data, request}], none for the receivers
that are busy, and drops those that nobody wants any more. Definer, because edge_functions has no rights on the
outbox.';

COMMENT ON FUNCTION "private"."claim_webhooks"(integer) IS 'Claims up to max_rows due webhooks as [{id, key, type, timestamp, data, request}], of each conversation the
first. Definer, because edge_functions has no rights on the outbox.';

COMMENT ON FUNCTION "private"."complete"(text[], text, bigint[], integer) IS 'Values that go on from each of the typed parts, at their beginning or from a later word, after what is written
before: {interests, cities, names}. First those that begin with them, then the most frequent.';

COMMENT ON FUNCTION "private"."complete_word"(text, private.search_unit[]) IS 'The words that an unfinished word most often stands for in fifty profiles that have it and the other words. By the
lexicon alone, callers with a token lose .006 nDCG on the labelled set.';

COMMENT ON FUNCTION "private"."consonants"(text) IS 'What a name in Arabic or Hebrew letters and its Latin spelling have in common, behind a sign of the script.';

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

COMMENT ON FUNCTION "private"."entry_parts"(bigint) IS 'What of a profile gets an embedding of its own: each interest, then each sentence of the biography, 32 at most: of
more, neighbours are joined. None if its whole text is one, which a provider would be paid for twice.';

COMMENT ON FUNCTION "private"."export_account"() IS 'What the export has of the caller alone.';

COMMENT ON FUNCTION "private"."export_conversations"(bigint[], text) IS 'Conversations as the export has them, without their messages; voyager and local as the senders of these.';

COMMENT ON FUNCTION "private"."facet"(text, text) IS 'A lexeme for a value that filters compare. An asterisk would end a beginning in private.any_term.';

COMMENT ON FUNCTION "private"."facet_distribution"(text[], bigint[]) IS 'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends are one, printed as most of the profiles print it.';

COMMENT ON FUNCTION "private"."fail_embeddings"(jsonb, text, boolean) IS 'Records why jobs failed. An attempt counts only if the provider refused a text by itself. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."find_profiles"(jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision) IS
  'The hits of a search {model, limit, offset, explain, facets}, best first.';

COMMENT ON FUNCTION "private"."fold"(text) IS 'Folds case, accents, compatibility forms and scripts. Immutable while the dictionary unaccent is.';

COMMENT ON FUNCTION "private"."folded_parts"(text) IS 'A city or country as it is written, and its parts: Lisbon, Portugal.';

COMMENT ON FUNCTION "private"."forget_words"(tsvector) IS 'Deletes those of the words that nobody has. An erasure does not wait for the count.';

COMMENT ON FUNCTION "private"."hash_message"(public.messages) IS 'What tells a repeat of a message from another one with its client_id.';

COMMENT ON FUNCTION "private"."hidden_profiles_of"(bigint) IS 'The caller''s own profile and those that a block hides from them.';

COMMENT ON FUNCTION "private"."keep_request"(public.messages) IS 'Keeps a hash of a message as it was sent, before its first change, so that another message with its key is refused
(api.send_message).';

COMMENT ON FUNCTION "private"."keyword_candidates"(private.search_query, private.search_filter, integer) IS 'Up to max_results profiles that pass the filter: whoever has exactly this name, those with all the words, those with
the rarest, and those who lack what is denied.';

COMMENT ON FUNCTION "private"."latin_spelling"(text) IS 'Kana as Hepburn, without long vowels, and Georgian and Devanagari as names are written; else null.';

COMMENT ON FUNCTION "private"."list_passing"(private.search_filter, text[], integer) IS 'The profiles that meet the conditions, or null if they are more than max_passing. Each has one of the lexemes
`alternatives`: one after the other they take a tenth of the time that one query takes.';

COMMENT ON FUNCTION "private"."load_places"(text) IS 'Replaces all places but the operator''s by sql/data/places.tsv. Searches wait for a second.';

COMMENT ON FUNCTION "private"."matches_filter"(bigint, tsvector, private.search_filter) IS 'Whether a profile meets the conditions. True where the filter lists those who do.';

COMMENT ON FUNCTION "private"."message_patterns"(text) IS 'A regular expression for each of the first ten words of a query, to find it in a folded text: with one error, but not
in its first letter, if it has 5 to 20, and the last also as a beginning, unless a space or quote follows. In scripts
without spaces what is written together is one word.';

COMMENT ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) IS 'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others; with_profile reads the partners'' public profiles too.
Definer, because callers cannot read inbox_entries and other users, and the policy on messages would gather all
conversations of the caller.';

COMMENT ON FUNCTION "private"."naming"(text[]) IS 'Whether a profile has a word as a name of people or places, by its weights there: 1, or less.';

COMMENT ON FUNCTION "private"."nearest_profiles"(extensions.halfvec, text, private.search_filter, integer, double precision) IS 'The nearest profiles within max_distance of a vector, and their cosine distances.';

COMMENT ON FUNCTION "private"."own_message_for_update"(bigint, bigint) IS 'The caller''s message; locks the caller and the conversation. Raises 404, alike if there is none, somebody else has
sent it, or the conversation is not the caller''s.';

COMMENT ON FUNCTION "private"."phrase"(text[]) IS 'Finds the profiles that have these words side by side.';

COMMENT ON FUNCTION "private"."place_tags"(text, text) IS 'The place of a profile, which is the largest of its name in the country, and all that it lies in.';

COMMENT ON FUNCTION "private"."places_named"(text[]) IS 'Which of these folded phrases are names of places.';

COMMENT ON FUNCTION "private"."places_within"(integer[], double precision) IS 'These places, and the cities and districts around those of them that are one.';

COMMENT ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) IS 'Finds whom a query excludes: who lives in a place, has a phrase, or a denied word in any form without saying to lack
it; and who says so (private.denied_words).';

COMMENT ON FUNCTION "private"."read_filter"(jsonb, private.search_query, bigint) IS 'Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';

COMMENT ON FUNCTION "private"."read_place"(private.query_word[], integer, private.place_name[]) IS 'The longest name of a place that begins with this word, as a unit; or null.';

COMMENT ON FUNCTION "private"."read_query"(jsonb) IS 'What a query looks for, from its private.query_words.';

COMMENT ON FUNCTION "private"."read_word"(private.query_word, text[], private.place_name[], boolean) IS 'A word of a query. `others` are its neighbours written together with it; `names_only`: in names alone.';

COMMENT ON FUNCTION "private"."refresh_places"(bigint, integer) IS 'For `npm run data` of version 1.1.0.';

COMMENT ON FUNCTION "private"."refresh_search_context"(bigint) IS 'Inserts, updates or deletes the context of a user.';

COMMENT ON FUNCTION "private"."refresh_search_entry"(bigint) IS 'Inserts, updates or deletes the entry of a profile. Definer, because users may not write the index.';

COMMENT ON FUNCTION "private"."save_embeddings"(text, jsonb) IS 'Saves embeddings [{kind, id, content_hash, embedding, parts}] of texts that have not changed; the other jobs stay
queued. Definer, as adopt_model.';

COMMENT ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision) IS
  'All hits among these profiles, with their scores and the parts of them (docs/search.md). `in_name`: the name has all
the words, and with `is_name` no others; `lives`: in the place that is asked for, true if none is; `lacks`: says to lack
what is denied. Nobody is put before those who were compared in meaning, which all neighbours are.';

COMMENT ON FUNCTION "private"."shown_score"(double precision, double precision) IS 'A final score as hits show it, in the same order. A meaning alone reaches the weight of meaning, shown as .699; at .5
half of such hits are wanted (bench/search/quality.ts --curve).';

COMMENT ON FUNCTION "private"."shown_spellings"(jsonb, bigint[]) IS 'Those whose words somebody has who is not hidden: else they would tell a name across a block.';

COMMENT ON FUNCTION "private"."split_of"(text) IS 'The two or three words that are written together in one, if somebody has them side by side.';

COMMENT ON FUNCTION "private"."sync_search_index"() IS 'Updates entry and context of whom a change concerns. Definer, as refresh_search_entry.';

COMMENT ON FUNCTION "private"."tags_of"(integer[]) IS 'How the index says that somebody lives in one of these places.';

COMMENT ON FUNCTION "private"."time_zone_of"(text, text) IS 'The time zone of a profile''s place by its IANA name; null if it is unknown.';

COMMENT ON FUNCTION "private"."to_latin"(text) IS 'Lower-case Greek and Cyrillic letters in their usual Latin spelling, as functions/_shared/fold.ts.';

COMMENT ON FUNCTION "private"."typos"(text, text, integer) IS 'How many letters are wrong, missing, too many, or swapped. Null above the budget.';

COMMENT ON FUNCTION "private"."unspaced_letters"() IS 'The letters of Han, kana, Thai, Lao, Khmer and Burmese, for a character class.';

COMMENT ON FUNCTION "private"."warnings_of"(bigint) IS 'What moderators have warned a person of, the latest first: all that the person learns of a report.';

COMMENT ON FUNCTION "private"."weight_value"(tsvector, tsquery) IS 'What a word that somebody has is worth, by the best field: name, interests, place, biography.';

COMMENT ON FUNCTION "private"."word_counts"(text[]) IS 'About how many profiles have any of these terms, and whether these are names (private.naming).';

COMMENT ON FUNCTION "private"."words_of"(text) IS 'The folded words of a text, in order; each character of a script without spaces.';

COMMENT ON FUNCTION "private"."words_vector"(public.profiles, text, text[]) IS 'The private.search_words of a profile.';

COMMENT ON FUNCTION "public"."resolve_report"(bigint, text, text) IS 'Resolves an open report: dismiss, warn (the person reads it, and it counts in later reports), hide (the profile is
not searchable until public.lift_restriction()) or suspend (the account is deactivated). The note says why. Raises 409
if it was resolved before. Definer, because the secret key has no grant to write reports, so that every decision is
logged.';

COMMENT ON INDEX "private"."search_lexicon_deletions_idx" IS 'To compare a mistyped word with each of 80,000 that has its first letter took 5.5 ms.';

COMMENT ON TABLE "private"."embedding_queue" IS 'What has needed an embedding since `queued_at`: profiles (by profile id) and contexts (by user id). `attempts`: how
often a worker was killed with it, or the provider refused it by itself (no outage makes dead letters); with 8 it is a
dead letter until its text or the model changes. `failures`: how often it was tried, for whatever end: after each it
waits longer, and it is tried alone. Both are of `model`, and start again at 0 for another one.';

COMMENT ON TABLE "private"."loaded_data" IS 'Which data files were loaded: the MD5 of each.';

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
it. Ids are of GeoNames, or of UN M49 for parts of the world; from 1,000,000,000 on the operator''s.';

COMMENT ON TABLE "private"."search_sentences" IS 'The embeddings of each interest and sentence (private.entry_parts), since one on a matter is hidden in the embedding
of a whole life. There is none where the model knows no word.';

COMMENT ON TABLE "private"."search_words" IS 'The words of each entry with their positions and weights (A names, B interests, C places, D biography); after @ the
values of filters and the places of residence, after ~ names in other scripts and what biographies deny.';

COMMENT ON TABLE "private"."stored_replies" IS 'What was created with an idempotency key: a hash of the request, and its first answer, which a repeat returns byte
for byte. The file of each noun but messages, of which only a hash is kept, adds a column that makes the answer go with
what it describes.';

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

REVOKE ALL ON FUNCTION "private"."any_term"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."any_term"(text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."corrections_of"(text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."corrections_of"(text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."denied_words"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."denied_words"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."export_account"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."export_account"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."export_conversations"(bigint[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."export_conversations"(bigint[], text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hash_message"(public.messages) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hash_message"(public.messages) TO "postgres";

REVOKE ALL ON FUNCTION "private"."keep_request"(public.messages) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."keep_request"(public.messages) TO "postgres";

REVOKE ALL ON FUNCTION "private"."latin_spelling"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."latin_spelling"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."phrase"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."phrase"(text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read_exclusion"(private.query_word, text[], private.place_name[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refresh_places"(bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refresh_places"(bigint, integer) TO "postgres";

REVOKE ALL
  ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision)
  FROM PUBLIC;

GRANT EXECUTE
  ON FUNCTION "private"."score_profiles"(bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec, double precision)
  TO "postgres";

REVOKE ALL ON FUNCTION "private"."tags_of"(integer[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tags_of"(integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."time_zone_of"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."time_zone_of"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."warnings_of"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."warnings_of"(bigint) TO "postgres";

ALTER TABLE "public"."profiles"
  ADD CONSTRAINT "languages is one line that shows something" CHECK (private.is_line(languages))
  NOT VALID;

select private.schedule_jobs();
