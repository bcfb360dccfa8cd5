-- The privileges of authenticated on every column. A new column must be added here, or the test fails.
select plan(252);

select is(
  actual.privileges, expected.privileges,
  format('authenticated has %s on %s.%s', coalesce(nullif(expected.privileges, ''), 'nothing'), name, col)
)
from (
  select name, col, privileges
  from (
    values
      ('private.blocks', 'blocker_id, blocked_id, created_at', ''),
      (
        'private.changes',
        'user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind',
        ''
      ),
      ('private.changes_origin', 'epoch, last_id', ''),
      (
        'private.conversation_activity',
        'conversation_id, voyager_id, local_id, last_message_id, previous_message_id, active_at, voyager_unread, '
          || 'local_unread, voyager_archived_id, local_archived_id, voyager_archived, local_archived, '
          || 'voyager_has_written, local_has_written',
        ''
      ),
      ('private.conversation_states', 'user_id, conversation_id, is_pinned, muted_until', ''),
      (
        'private.inbox_entries',
        'user_id, conversation_id, voyager_id, local_id, last_message_id, active_at, unread, is_archived, archived_id',
        ''
      ),
      ('private.embedding_queue', 'kind, id, attempts, failures, due_at, last_error, queued_at, model', ''),
      ('private.devices', 'user_id, id, endpoint, p256dh, auth, created_at', ''),
      ('private.notification_settings', 'user_id, push, email, delay_minutes', ''),
      ('private.notification_settings', 'quiet_from, quiet_to, time_zone, previews', ''),
      ('private.outbox', 'id, channel, event, conversation_id, subject_id, first_id, user_id', ''),
      ('private.outbox', 'device_id, key, attempts', ''),
      ('private.outbox', 'due_at, last_error, created_at', ''),
      ('private.outbox_settings', 'singleton, delay_seconds, webhooks, inner_key, outer_key', ''),
      ('private.silences', 'user_id, steps, began_at', ''),
      ('private.stored_replies', 'user_id, noun, client_id, subject_id, request_hash, body, metadata', ''),
      ('private.stored_replies', 'reservation_id, report_id', ''),
      ('private.rate_settings', 'name, rate', ''),
      ('private.idempotent_replies', 'message_id, sender_name', ''),
      ('private.search_audit', 'finding, amount, audited_at', ''),
      ('private.search_completions', 'profile_id, keys', ''),
      ('private.search_contexts', 'user_id, content_hash, model, embedding', ''),
      ('private.search_entries', 'profile_id, user_id, name, biography, city, country, interests, image_url', ''),
      ('private.search_entries', 'content_hash, model, embedding', ''),
      ('private.search_lexicon', 'word', ''),
      ('private.search_lexicon_queue', 'profile_id', ''),
      ('private.search_locks', 'profile_id', ''),
      ('private.search_models', 'name, similarity_floor, similarity_ceiling, similarity_threshold, trust', ''),
      ('private.search_places', 'adjectives, names, parts', ''),
      ('private.search_removed_words', 'word', ''),
      ('private.search_words', 'profile_id, words', ''),
      ('private.sign_ups', 'ticket, user_id, profile_id, address_hash, name, fields, is_accepted, begun_at', ''),
      ('private.rate_limit_salts', 'salt, valid_on', ''),
      ('private.rate_limits', 'key, tat', ''),
      ('public.conversations', 'id, voyager_id, local_id, created_at', 'select'),
      ('public.interests', 'id, name', 'select'),
      ('public.messages', 'id, conversation_id, user_id, content, attachment, read, client_id, created_at', 'select'),
      ('public.profile_interests', 'profile_id, interest_id', 'select, insert'),
      ('public.profiles', 'id, user_id', 'select'),
      ('public.profiles', 'first_name, last_name, age, biography, country', 'select, update'),
      ('public.profiles', 'city, image_url, is_searchable', 'select, update'),
      ('private.report_evidence', 'report_id, message_id, is_by_reported, content, attachment, sent_at', ''),
      ('public.hidden_profiles', 'user_id, report_id, hidden_at', ''),
      ('public.moderation_log', 'id, action, report_id, user_id, by_whom, note, created_at', ''),
      ('public.moderation_queue', 'report, created_at, reason, note, person_id, person, is_active, is_hidden', ''),
      ('public.moderation_queue', 'earlier_reports, earlier_dismissed, earlier_upheld, reporter_id, reporter', ''),
      ('public.moderation_queue', 'message_id, shares_messages', ''),
      ('public.reports', 'id, reporter_id, user_id, message_id, reason, note, shares_messages, created_at', ''),
      ('public.reports', 'resolution, resolved_at, purge_at', ''),
      ('public.reservations', 'id, conversation_id, title, price, date, status, ends_at, host_id', 'select'),
      ('public.reservations', 'offered_by, revision, created_at, updated_at, due_at', 'select'),
      ('public.reservation_history', 'id, reservation_id, conversation_id, status, by_id, note', 'select'),
      ('public.reservation_history', 'title, price, date, ends_at, created_at', 'select'),
      ('public.users', 'id, auth_id, email, role, is_active, created_at, confirmed_at, erased_at', 'select'),
      ('public.users', 'public_profile_id, public_image_url', 'select'),
      ('public.users', 'name, bio, location', 'select, update')
  ) as tables (name, columns, privileges)
  cross join regexp_split_to_table(columns, ', ') as col
) as expected
full join (
  select
    format('%s.%s', relnamespace::regnamespace, relname) as name,
    attname::text as col,
    concat_ws(
      ', ',
      case when has_column_privilege('authenticated', pg_class.oid, attnum, 'select') then 'select' end,
      case when has_column_privilege('authenticated', pg_class.oid, attnum, 'insert') then 'insert' end,
      case when has_column_privilege('authenticated', pg_class.oid, attnum, 'update') then 'update' end,
      case when has_column_privilege('authenticated', pg_class.oid, attnum, 'references') then 'references' end
    ) as privileges
  from pg_class
  join pg_attribute on attrelid = pg_class.oid
  where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    and relkind in ('r', 'p', 'v', 'm', 'f')
    and attnum > 0
    and not attisdropped
) as actual using (name, col)
order by name, col;

-- Privileges on whole tables. Row level security does not apply to truncate, and a trigger runs as the writer.
select is(
  string_agg(relname || ' ' || privilege, ', ' order by relname), 'profile_interests delete',
  'authenticated has delete on profile_interests, and no delete, truncate, trigger or maintain elsewhere'
)
from pg_class
cross join unnest(array['delete', 'truncate', 'trigger', 'maintain']) as privilege
where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
  and relkind in ('r', 'p', 'v', 'm', 'f')
  and has_table_privilege('authenticated', pg_class.oid, privilege);

select is_empty(
  $$
    select relname, role, privilege
    from pg_class
    cross join unnest(array['anon', 'authenticated', 'edge_functions']) as role
    cross join unnest(array['usage', 'select', 'update']) as privilege
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and relkind = 'S'
      and has_sequence_privilege(role, pg_class.oid, privilege)
  $$,
  'only the secret key has privileges on sequences'
);

select tests.make_person('ana');
select tests.become('ana');
select lives_ok(
  $$ update public.users set name = 'Ana', bio = 'Potter', location = 'Porto' $$,
  'ana can change her name, bio and location'
);
select throws_ok($$ update public.users set role = 'admin' $$, '42501', null, 'ana cannot make herself an admin');
select throws_ok(
  $$ update public.users set email = 'ben@tests.example' $$, '42501', null, 'ana cannot change her address'
);
select throws_ok(
  'update public.profiles set user_id = user_id', '42501', null, 'ana cannot change the owner of her profile'
);
