set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

CREATE TABLE "private"."answer_spans" (
  "user_id" bigint NOT NULL,
  "answers" text   NOT NULL,
  CONSTRAINT "answers is one of three" CHECK ((answers = ANY (ARRAY['within an hour'::text, 'within a day'::text, 'within a week'::text]))),
  CONSTRAINT "answer_spans_pkey" PRIMARY KEY (user_id)
);

ALTER TABLE "private"."answer_spans"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "public"."profiles"
  ADD COLUMN "show_answers" boolean NOT NULL DEFAULT true;

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

ALTER TABLE "private"."answer_spans"
  ADD CONSTRAINT "answer_spans_user_id_fkey" FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

COMMENT ON COLUMN "public"."profiles"."show_answers" IS 'Whether the public view may say how soon the owner answers.';

COMMENT ON FUNCTION "api"."get_me_and_choices"() IS 'As get_me, and whether the public view may say how soon the caller answers. Definer, because callers cannot call
get_me.';

COMMENT ON FUNCTION "api"."get_public_profile_and_answers"(bigint) IS 'As get_public_profile, and how soon the person answers, or null. Definer, as that.';

COMMENT ON FUNCTION "api"."search_messages"(jsonb) IS 'The messages of the caller''s conversations, or of one of them, that have all words of a query {q, conversation_id,
limit, before_id, timeout}, newest first: {messages, words}, words being the ones by which they were found. The response
metadata holds the id before which to go on, if there may be more. It ends after `timeout` milliseconds, even if nothing
was found by then. Definer, as list_messages.';

COMMENT ON FUNCTION "private"."measure_answers"() IS 'Says of each person the shortest span that their median answer kept to, of the conversations of the last 90 days in
which another person wrote first, at least that long ago, if these are five or more. Called each night.';

COMMENT ON FUNCTION "private"."message_patterns"(text) IS 'A regular expression for each of the first ten words of a query, which finds it in a folded text: with one error, but
not in its first letter, if it has 5 to 20, and the last one also as a beginning, unless a space or quote follows. In
scripts without spaces what is written together is one word.';

COMMENT ON TABLE "private"."answer_spans" IS 'All that is kept of how soon a person answers; without a row nothing is said. Written by measure_answers alone.';

REVOKE ALL ON FUNCTION "api"."get_me_and_choices"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_me_and_choices"() TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."get_public_profile_and_answers"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_public_profile_and_answers"(bigint) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "api"."search_messages"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."search_messages"(jsonb) TO "edge_functions", "postgres";

REVOKE ALL ON FUNCTION "private"."measure_answers"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."measure_answers"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."message_patterns"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."message_patterns"(text) TO "postgres";

GRANT DELETE, INSERT, MAINTAIN, REFERENCES, SELECT, TRIGGER, TRUNCATE, UPDATE ON TABLE "private"."answer_spans" TO "postgres";
