set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

DROP POLICY "participants read the files of their conversations" ON "storage"."objects";

DROP TRIGGER "handle_changed_conversation" ON "public"."conversations";

ALTER DOMAIN "private"."outbox_event"
  DROP CONSTRAINT "outbox_event_check";

ALTER TABLE "public"."messages"
  DROP CONSTRAINT "a message says something or carries an attachment";

DROP FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean);

DROP FUNCTION "private"."handle_changed_conversation"();

DROP FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text);

CREATE TABLE "private"."answer_spans" (
  "user_id" bigint NOT NULL,
  "answers" text   NOT NULL,
  CONSTRAINT "answers is one of three" CHECK ((answers = ANY (ARRAY['within an hour'::text, 'within a day'::text, 'within a week'::text]))),
  CONSTRAINT "answer_spans_pkey" PRIMARY KEY (user_id)
);

ALTER TABLE "private"."answer_spans"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "public"."messages"
  ADD COLUMN "edited_at" timestamp WITH time zone;

ALTER TABLE "public"."messages"
  ADD COLUMN "deleted_at" timestamp WITH time zone;

ALTER TABLE "public"."profiles"
  ADD COLUMN "show_answers" boolean NOT NULL DEFAULT true;

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

CREATE OR REPLACE FUNCTION api.get_me_and_choices()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return jsonb_set(api.get_me()::jsonb, '{Profile,show_answers}', (
    select to_jsonb(show_answers) from public.profiles where user_id = (select private.my_id())
  ));
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
begin
  return (left(api.get_public_profile(profile)::text, -1) || format(', "answers": %s}', coalesce((
    select to_json(answers)::text
    from private.answer_spans
    join public.profiles on profiles.user_id = answer_spans.user_id
    where profiles.id = profile and show_answers
  ), 'null')))::json;
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

CREATE OR REPLACE FUNCTION api.search_messages (
  page jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET enable_bitmapscan TO 'off'
  AS $function$
declare
  page_limit constant integer := (page ->> 'limit')::integer;
  chosen constant bigint := (page ->> 'conversation_id')::bigint;
  patterns constant text[] := private.message_patterns(page ->> 'q');
  ends_at constant timestamptz := clock_timestamp() + (page ->> 'timeout' || ' ms')::interval;
  -- What is read between two looks at the clock: with the longest messages half a second.
  step constant integer := 100;
  mine bigint[] := array[chosen];
  readable bigint[] := array[]::bigint[];
  compared integer := 0;
  listed private.message_view[] := array[]::private.message_view[];
  words text[] := array[]::text[];
  next bigint;
  hit record;
begin
  if chosen is not null then
    perform private.require_participant(chosen);
  else
    mine := array(select private.my_conversations());
  end if;
  if patterns <> '{}' then
    readable := array(
      select id
      from public.messages
      where conversation_id = any (mine) and id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      order by id desc
      limit 100000
    );
  end if;
  while compared < cardinality(readable) and cardinality(listed) <= page_limit and next is null loop
    for hit in
      select messages as message, users.name, folded
      from public.messages
      join public.users on users.id = messages.user_id
      cross join lateral (select private.fold(content) collate pg_catalog.pg_c_utf8 as folded) as text
      where messages.id = any (readable[compared + 1:compared + step]) and folded ~ all (patterns)
      order by messages.id desc
      limit page_limit + 1 - cardinality(listed)
    loop
      listed := listed || private.to_message_view(
        hit.message, json_build_object('id', (hit.message).user_id, 'name', hit.name)
      );
      words := words || array(
        select word[1] from unnest(patterns) as pattern cross join regexp_matches(hit.folded, pattern, 'g') as word
      );
    end loop;
    compared := compared + step;
    if clock_timestamp() > ends_at or compared = 100000 then
      next := readable[compared];
    end if;
  end loop;
  if cardinality(listed) <= page_limit and next is not null then
    perform private.set_response_metadata(jsonb_build_object('next', next));
  end if;
  return json_build_object(
    'messages', private.to_page(listed, page_limit, next => listed[page_limit].id),
    'words', array(select distinct word from unnest(words) as word)
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
    raise sqlstate 'PT403' using message = 'This message cannot be taken back any more', hint = 'forbidden';
  end if;
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
    set (first_name, last_name, age, biography, country, city, image_url, is_searchable, show_answers) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable,
        new.show_answers
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
    url => url || '/functions/v1/' || function_name,
    headers => jsonb_build_object('Content-Type', 'application/json', 'apikey', key),
    body => '{}'::jsonb,
    timeout_milliseconds => 30000
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
  return not private.is_in_evidence(path) or private.is_in_message(path);
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
    and not private.is_in_evidence(path);
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
  -- Whoever takes a message back meanwhile waits, and then finds its file in the evidence (80_storage).
  perform
  from public.conversations
  where least(voyager_id, local_id) = least(report.reporter_id, report.user_id)
    and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)
  for share;
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
    name = 'Deleted user',
    email = '',
    bio = null,
    location = null,
    role = 'user',
    is_active = false,
    auth_id = null,
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
  perform private.schedule_purge(person);
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

CREATE OR REPLACE FUNCTION private.export_account()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
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
    'answers', (select answers from private.answer_spans where answer_spans.user_id = users.id)
  )
  from public.users
  join public.profiles on profiles.user_id = users.id
  where users.id = (select private.my_id())
$function$;

CREATE OR REPLACE FUNCTION private.fold (
  value text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
  -- Letters without accents, at a tenth of the time.
  if octet_length(value) = char_length(value) then
    return lower(value collate "C");
  end if;
  return private.to_latin(lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc))));
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

CREATE OR REPLACE FUNCTION private.handle_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if tg_op = 'INSERT' then
    insert into private.inbox_entries (conversation_id, user_id, active_at)
    values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at);
    return null;
  end if;
  perform private.refresh_entries(new.id);
  if (new.voyager_id, new.local_id) <> (old.voyager_id, old.local_id) then
    if exists (
      select from public.messages where conversation_id = new.id and user_id not in (new.voyager_id, new.local_id)
      union all
      select
      from public.reservations
      where conversation_id = new.id
        and (host_id not in (new.voyager_id, new.local_id) or offered_by not in (new.voyager_id, new.local_id))
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    -- The row of whoever leaves goes to whoever comes, with its count, so that who marks messages as read meanwhile
    -- finds it. A count of what this transaction sees would miss that.
    update private.inbox_entries as entries
    set
      user_id = coalesce(newcomer, entries.user_id),
      has_written = newcomer is null and has_written,
      archived_id = null,
      is_pinned = newcomer is null and is_pinned,
      muted_until = case when newcomer is null then muted_until end
    from unnest(array[old.voyager_id, old.local_id]) as participant
    cross join lateral (
      select case
        when participant in (new.voyager_id, new.local_id) then null
        when new.voyager_id in (old.voyager_id, old.local_id) then new.local_id
        when new.local_id in (old.voyager_id, old.local_id) then new.voyager_id
        when participant = old.voyager_id then new.voyager_id
        else new.local_id
      end as newcomer
    ) as change
    where entries.conversation_id = new.id and entries.user_id = participant;
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
  created_user public.users;
  profile public.profiles;
begin
  select * into sign_up from private.sign_ups where ticket = metadata_ticket and name is not null for update;
  update private.sign_ups set name = null, fields = null where ticket = sign_up.ticket;
  fields := coalesce(sign_up.fields, '{}');

  insert into public.users (id, auth_id, name, email, bio, location, is_active, created_at, confirmed_at)
  overriding system value
  values (
    coalesce(sign_up.user_id, nextval('public.users_id_seq')),
    new.id,
    coalesce(sign_up.name, nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''),
    fields ->> 'bio',
    fields ->> 'location',
    confirmed_at is not null,
    coalesce(new.created_at, now()),
    confirmed_at
  )
  returning * into created_user;

  insert into public.profiles
  overriding system value
  select *
  from jsonb_populate_record(
    null::public.profiles,
    '{"is_searchable": false, "show_answers": true}' || jsonb_strip_nulls(fields) || jsonb_build_object(
      'id', coalesce(sign_up.profile_id, nextval('public.profiles_id_seq')), 'user_id', created_user.id
    )
  )
  returning * into profile;

  if jsonb_typeof(fields -> 'interest_ids') = 'array' then
    perform private.replace_interests(profile.id, private.parse_ids(fields -> 'interest_ids'));
  end if;

  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_in_evidence (
  path text
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select from private.report_evidence where attachment ->> 'url' in (path, 'attachments/' || path)
  )
$function$;

CREATE OR REPLACE FUNCTION private.is_in_message (
  path text
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select
    from private.my_conversations() as mine
    join public.messages on conversation_id = mine
    where mine::text = (storage.foldername(path))[1] and attachment ->> 'url' in (path, 'attachments/' || path)
  )
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
        select
        from private.outbox
        where channel in ('person', 'push', 'mail', 'webhook') and due_at <= now() and attempts < 8
        limit 200
      ) as due
    $job$),
    ('count words', '37 * * * *', 'select private.count_words()'),
    ('forget dead letters', '23 3 * * *', 'select private.forget_dead_letters()'),
    ('forget old changes', '47 3 * * *', 'select private.forget_changes()'),
    ('measure answers', '7 4 * * *', 'select private.measure_answers()'),
    ('purge evidence', '29 3 * * *', 'select private.purge_evidence()'),
    ('forget old runs', '17 3 * * *', $job$
      delete from cron.job_run_details where end_time < now() - interval '3 days'
    $job$)
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
      cross join lateral (
        select case first.user_id when voyager_id then local_id else voyager_id end as host
      ) as other
      join public.profiles on profiles.user_id = host and show_answers
      -- Whom admins have suspended, or who has left, waits for no answer.
      join public.users as writer on writer.id = first.user_id and writer.is_active
      left join lateral (
        select created_at
        from public.messages
        where conversation_id = conversations.id and user_id = host
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
  when matched and measured.answers <> kept.answers then
    update set answers = measured.answers
  when not matched then
    insert (user_id, answers) values (measured.host, measured.answers)
  when not matched by source then
    delete
$function$;

CREATE OR REPLACE FUNCTION private.message_patterns (
  query text
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  unspaced constant text := private.unspaced_letters();
  separators constant text := '[:space:][:punct:][:cntrl:]' || unspaced;
  terms constant text[] := array(
    select term[1]
    from regexp_matches(
      private.fold(query) collate pg_catalog.pg_c_utf8, format('[%s]+|[^%s]+', unspaced, separators), 'g'
    ) with ordinality as found (term, place)
    order by place
    limit 11
  );
begin
  return array(
    select
      case when term ~ format('^[%s]', unspaced) then format('(%s)', term)
        else format('(?:^|[%s])((?:%s)%s', separators, spellings, case
          when place = cardinality(terms) and query !~ '[[:space:]"]$' then format('[^%s]*)', separators)
          else format(')(?=$|[%s])', separators)
        end)
      end
    from unnest(terms) with ordinality as typed (term, place)
    cross join lateral (
      select concat_ws('|', term, string_agg(left(term, at - 1) || instead || substr(term, at + replaced), '|'))
      from generate_series(2, char_length(term) + 1) as at
      cross join lateral (
        values
          -- Another letter or none, one more, two that have changed places.
          ('.?', 1), ('.', 0), (substr(term, at + 1, 1) || substr(term, at, 1), 2)
      ) as errors (instead, replaced)
      where char_length(term) between 5 and 20 and at + replaced <= char_length(term) + 1
    ) as meant (spellings)
    where place <= 10
    order by place
  );
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

CREATE OR REPLACE FUNCTION private.record_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  select concerned.voyager_id, concerned.local_id, 'conversation', concerned.id, concerned.id
  from (
    select old.voyager_id, old.local_id, old.id
    union
    select new.voyager_id, new.local_id, new.id
  ) as concerned (voyager_id, local_id, id)
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

CREATE OR REPLACE FUNCTION private.schedule_jobs()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  begin
    create extension if not exists pg_cron with schema pg_catalog;
    -- In public the Data API would show it, and the advisors warn.
    create extension if not exists pg_net with schema extensions;
  exception
    -- One of them is missing, the server has not loaded pg_cron, or has it for another database.
    when feature_not_supported or undefined_file or undefined_object or raise_exception then
      return;
  end;
  perform cron.schedule(name, schedule, command) from private.list_jobs();
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

ALTER TABLE "private"."answer_spans"
  ADD CONSTRAINT "answer_spans_user_id_fkey" FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER DOMAIN "private"."outbox_event"
  ADD CONSTRAINT "outbox_event_check"
    CHECK
    ((VALUE = ANY (ARRAY['message.created'::text, 'conversation.created'::text, 'reservation.changed'::text, 'report.created'::text, 'user.erased'::text, 'silence'::text,
    'message.changed'::text])));

ALTER TABLE "public"."messages"
  ADD CONSTRAINT "a message says something or carries an attachment" CHECK ((((content ~ '[^[:space:][:cntrl:]]'::text) OR (attachment IS NOT NULL)) = (deleted_at IS NULL)))
  NOT VALID;

CREATE INDEX report_evidence_url_idx ON private.report_evidence USING btree (((attachment ->> 'url'::text)))
  WHERE (attachment IS NOT NULL);

CREATE TRIGGER handle_conversation
  AFTER INSERT OR UPDATE OF voyager_id, local_id, created_at ON public.conversations
  FOR EACH ROW
  EXECUTE FUNCTION private.handle_conversation();

CREATE TRIGGER record_own_change
  AFTER UPDATE OF edited_at, deleted_at ON public.messages
  FOR EACH ROW
  WHEN (((old.edited_at IS DISTINCT FROM new.edited_at) OR (old.deleted_at IS DISTINCT FROM new.deleted_at)))
  EXECUTE FUNCTION private.record_own_change();

CREATE POLICY "participants read the files of their conversations" ON "storage"."objects"
  FOR SELECT
  TO "authenticated"
  USING (((bucket_id = 'attachments'::text) AND ((storage.foldername(name))[1] IN ( SELECT (id.id)::text AS id
   FROM private.my_conversations() id(id))) AND private.can_read_attachment(name)));

CREATE POLICY "senders remove files that no message has" ON "storage"."objects"
  FOR DELETE
  TO "authenticated"
  USING (((bucket_id = 'attachments'::text) AND (owner_id = (( SELECT auth.uid() AS uid))::text) AND private.can_remove_attachment(name)));

COMMENT ON COLUMN "public"."messages"."client_id" IS 'The sender''s idempotency key: sending it again returns that message and inserts nothing.';

COMMENT ON COLUMN "public"."messages"."deleted_at" IS 'When its sender took it back. It is read then, because nothing is left to read, so no count has to know it.';

COMMENT ON COLUMN "public"."messages"."edited_at" IS 'When its sender last corrected it.';

COMMENT ON COLUMN "public"."profiles"."show_answers" IS 'Whether the public view may say how soon the owner answers.';

COMMENT ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, integer, boolean) IS 'Replaces the text of a message that the caller has sent in the last minutes; the same text again changes nothing,
whenever. is_blank is whether the text shows nothing, which the Edge Function knows by the characters of Unicode. Raises
409 for a stone, 403 as a send does, and when it is too late. Definer, because no caller has a grant to update
messages.';

COMMENT ON FUNCTION "api"."get_me_and_choices"() IS 'As get_me, and whether the public view may say how soon the caller answers. Definer, because callers cannot call
get_me.';

COMMENT ON FUNCTION "api"."get_public_profile_and_answers"(bigint) IS 'As get_public_profile, and how soon the person answers, or null. Definer, as that.';

COMMENT ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) IS 'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null. With
archived only those that the caller has archived, or only the others; with pinned_first the pinned ones come first; with
with_partner each has the other participant, with their public profile unless there is a block; with_states says when
a message was corrected or taken back; emails says when a partner''s address is shown: always or after_reply. The
response metadata holds the offset of the next page if there is one.';

COMMENT ON FUNCTION "api"."list_messages"(bigint, jsonb) IS 'A page {limit, offset, before_id, after_id, order, states} of a conversation: newest first; oldest first with
after_id or order asc. The response metadata holds the last id of the page if another page follows. Definer, because the
policy on messages gathers the whole inbox, 100 µs for one of 246, where a page takes 300; the caller must take part
first.';

COMMENT ON FUNCTION "api"."search_messages"(jsonb) IS 'The messages of the caller''s conversations, or of one of them, that have all words of a query {q, conversation_id,
limit, before_id, timeout}, newest first: {messages, words}, words being the ones by which they were found. The response
metadata holds the id before which to go on, if there may be more. It ends after `timeout` milliseconds, even if nothing
was found by then. Definer, as list_messages.';

COMMENT ON FUNCTION "api"."send_message"(bigint, jsonb) IS 'Sends {content, attachment, client_id, first_contact_limit} as the caller. A client_id that was used before returns
that message again, as it was sent, or was corrected or taken back since, and sets replayed in the response metadata.
Raises 403 if one of the two has blocked the other or the partner is erased, without saying which, or if the partner has
not written yet and the limit is reached. Definer, because no caller has a grant to insert messages: only this function
does.';

COMMENT ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) IS 'Leaves a stone of a message that the caller has sent in the last hours, also across a block; of a stone nothing is
changed, whenever. The response metadata holds the file that is to be removed from Storage, which takes no deletion in
SQL. Raises 403 when it is too late. Definer, as edit_message.';

COMMENT ON FUNCTION "private"."call_edge_function"(text, bigint) IS 'Calls an Edge Function that often, after the commit, with the secret key that Vault keeps.';

COMMENT ON FUNCTION "private"."can_read_attachment"(text) IS 'Whether participants see a file of their conversation. What was taken back stays as evidence of a report for admins
alone: by a file that is still there its sender would learn of the report. Definer, because nobody can read evidence.';

COMMENT ON FUNCTION "private"."can_remove_attachment"(text) IS 'Whether a file of the caller''s conversations is in no message any more, because it was taken back, nor in the
evidence of a report. Definer, as can_read_attachment.';

COMMENT ON FUNCTION "private"."handle_conversation"() IS 'A conversation was opened, which puts it into both inboxes; or an admin changed its participants or its time. Refuses
to take away somebody whose message or reservation is in it: others would read it as somebody else''s. Definer, because
nobody has a grant on inbox_entries.';

COMMENT ON FUNCTION "private"."is_in_evidence"(text) IS 'Whether this file is in the evidence of a report.';

COMMENT ON FUNCTION "private"."is_in_message"(text) IS 'Whether a message of the caller''s conversations has this file. The whole conversation is read: an index would cost
each send with a file.';

COMMENT ON FUNCTION "private"."list_jobs"() IS 'The jobs, each with its time as pg_cron reads it. One machine runs those that call one function of schema private.';

COMMENT ON FUNCTION "private"."measure_answers"() IS 'Says of each person the shortest span that their median answer kept to, of the conversations of the last 90 days in
which another person wrote first, at least that long ago, if these are five or more. Called each night.';

COMMENT ON FUNCTION "private"."message_patterns"(text) IS 'A regular expression for each of the first ten words of a query, which finds it in a folded text: with one error, but
not in its first letter, if it has 5 to 20, and the last one also as a beginning, unless a space or quote follows. In
scripts without spaces what is written together is one word.';

COMMENT ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) IS 'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others; with_profile reads the partners'' public profiles too.
Definer, because callers cannot read inbox_entries and other users, and the policy on messages would gather all
conversations of the caller.';

COMMENT ON FUNCTION "private"."own_message_for_update"(bigint, bigint) IS 'The caller''s message; locks the conversation. Raises 404, alike if there is none, somebody else has sent it, or the
conversation is not the caller''s.';

COMMENT ON FUNCTION "private"."print_message"(private.message_view, boolean) IS 'The JSON of one message.';

COMMENT ON FUNCTION "private"."record_conversation"() IS 'A conversation was opened: user_id of the event is the voyager, who opened it; or changed or removed by an admin.
Whoever took part in it before is told too. Definer, because nobody has a grant on the log.';

COMMENT ON FUNCTION "private"."record_own_change"() IS 'A sender has corrected a message or taken it back: logs it and broadcasts message.changed, across a block for the
sender alone, and tells the webhook. Nobody is pushed or mailed anew. Definer, as handle_new_message.';

COMMENT ON FUNCTION "private"."schedule_jobs"() IS 'Gives all jobs to pg_cron, which replaces those that it has by name; nothing on a server without it or pg_net. Each
migration ends with it, since a comparison of schemas does not see the rows of cron.job.';

COMMENT ON FUNCTION "private"."set_response_metadata"(jsonb) IS 'Stores what an API function returns besides its answer, for the Edge Function to act on: {next: cursor}, {replayed:
true}, {place: of the next piece} or {file: to remove}.';

COMMENT ON FUNCTION "private"."with_states"(private.message_view[]) IS 'These messages, each with when it was corrected and taken back. A second step, because whoever does not ask for it
must not pay for it: a case for each row made a page a third dearer.';

COMMENT ON TABLE "private"."answer_spans" IS 'All that is kept of how soon a person answers; without a row nothing is said. Written by measure_answers alone.';

COMMENT ON TYPE "private"."message_with_states" IS 'A message as it is shown to whoever asks for its states.';

REVOKE ALL ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, integer, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."edit_message"(bigint, bigint, text, boolean, integer, integer, boolean) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."get_me_and_choices"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_me_and_choices"() TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."get_public_profile_and_answers"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_public_profile_and_answers"(bigint) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."list_conversations"(integer, bigint, text, boolean, boolean, boolean, boolean) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."search_messages"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."search_messages"(jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."unsend_message"(bigint, bigint, integer) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."call_edge_function"(text, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."call_edge_function"(text, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."can_read_attachment"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."can_read_attachment"(text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."can_remove_attachment"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."can_remove_attachment"(text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."handle_conversation"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."handle_conversation"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_in_evidence"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_in_evidence"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_in_message"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_in_message"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."list_jobs"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."list_jobs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."measure_answers"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."measure_answers"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."message_patterns"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."message_patterns"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_inbox"(bigint, bigint, boolean, boolean, boolean, text) TO "authenticated", "postgres";

REVOKE ALL ON FUNCTION "private"."own_message_for_update"(bigint, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_message_for_update"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."print_message"(private.message_view, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."print_message"(private.message_view, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_own_change"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_own_change"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."schedule_jobs"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."schedule_jobs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."with_states"(private.message_view[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."with_states"(private.message_view[]) TO "postgres";

GRANT DELETE, INSERT, MAINTAIN, REFERENCES, SELECT, TRIGGER, TRUNCATE, UPDATE ON TABLE "private"."answer_spans" TO "postgres";

GRANT USAGE ON TYPE "private"."message_with_states" TO "postgres";

select private.schedule_jobs();
