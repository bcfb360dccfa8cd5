-- What the export and the erasing do with each column of every table. A new column must be added here, or the test
-- fails; tests/http/export.test.ts and erase.test.ts show that it happens.
--   export  in the export of the person whom it is about; kept for the partner when that person is erased
--   both    in the export, and erased
--   erase   erased, and not in the export: derived from what is, or of no meaning outside
--   keep    what admins need to judge reports: ends 180 days after the person or the other of the two is erased
--   log     what admins did and decided, and that there was a report: kept for good, and shown to nobody but them
--   none    not about a person: keys, times of our own, the search's dictionary, what nobody can read back
select plan(2);

create temp table rules as
select name, col, rule
from (
  values
    ('private.blocks', 'blocker_id', 'erase'),
    ('private.blocks', 'blocked_id, created_at', 'both'),
    ('private.changes', 'id, xid, user_id, other_id, kind, conversation_id, entity_id, created_at', 'none'),
    ('private.devices', 'id, endpoint, p256dh, auth, created_at', 'both'),
    ('private.devices', 'user_id', 'erase'),
    ('private.conversation_activity', 'voyager_archived_id, local_archived_id', 'erase'),
    ('private.conversation_activity', 'voyager_archived, local_archived', 'both'),
    ('private.conversation_activity', 'conversation_id, voyager_id, local_id', 'none'),
    ('private.conversation_activity', 'last_message_id, previous_message_id, active_at', 'none'),
    ('private.conversation_activity', 'voyager_unread, local_unread', 'none'),
    ('private.conversation_activity', 'voyager_has_written, local_has_written', 'none'),
    ('private.conversation_states', 'user_id, conversation_id', 'erase'),
    ('private.conversation_states', 'is_pinned, muted_until', 'both'),
    ('private.embedding_queue', 'kind, id, attempts, failures, due_at, last_error, queued_at, model', 'erase'),
    ('private.idempotent_replies', 'message_id, sender_name', 'erase'),
    ('private.notification_settings', 'push, email, delay_minutes', 'both'),
    ('private.notification_settings', 'quiet_from, quiet_to, time_zone, previews', 'both'),
    ('private.notification_settings', 'user_id', 'erase'),
    ('private.outbox', 'id, channel, event, conversation_id, subject_id, first_id, user_id, device_id', 'erase'),
    ('private.outbox', 'key, attempts, due_at, last_error, created_at', 'erase'),
    ('private.outbox_settings', 'singleton, delay_seconds, webhooks, inner_key, outer_key', 'none'),
    ('private.rate_limits', 'key, tat', 'none'),
    ('private.rate_limit_salts', 'salt, valid_on', 'none'),
    ('private.rate_settings', 'name, rate', 'none'),
    ('private.report_evidence', 'report_id, message_id, is_by_reported, content, attachment, sent_at', 'keep'),
    ('public.hidden_profiles', 'user_id, report_id, hidden_at', 'erase'),
    ('public.moderation_log', 'id, action, report_id, user_id, by_whom, note, created_at', 'log'),
    ('public.reports', 'id, user_id, message_id, reason, note, shares_messages, created_at, resolved_at', 'export'),
    ('public.reports', 'reporter_id, resolution, purge_at', 'log'),
    ('private.search_audit', 'finding, amount, audited_at', 'none'),
    ('private.search_completions', 'profile_id, keys', 'erase'),
    ('private.search_contexts', 'user_id, content_hash, model, embedding', 'erase'),
    ('private.search_entries', 'profile_id, user_id, name, biography, city, country, interests, image_url', 'erase'),
    ('private.search_entries', 'content_hash, model, embedding', 'erase'),
    ('private.search_lexicon', 'word', 'erase'),
    ('private.search_lexicon_queue', 'profile_id', 'erase'),
    ('private.search_locks', 'profile_id', 'erase'),
    ('private.search_models', 'name, similarity_floor, similarity_ceiling, similarity_threshold, trust', 'none'),
    ('private.search_places', 'adjectives, names, parts', 'none'),
    ('private.search_removed_words', 'word', 'erase'),
    ('private.search_words', 'profile_id, words', 'erase'),
    ('private.sign_ups', 'ticket, user_id, profile_id, address_hash, name, fields, begun_at, is_accepted', 'erase'),
    ('private.silences', 'user_id, steps, began_at', 'erase'),
    ('private.stored_replies', 'user_id, noun, client_id, subject_id, request_hash, body, metadata', 'erase'),
    ('private.stored_replies', 'reservation_id, report_id', 'erase'),
    ('public.conversations', 'id, voyager_id, local_id, created_at', 'export'),
    ('public.interests', 'id, name', 'none'),
    ('public.messages', 'id, conversation_id, user_id, content, attachment, read, created_at', 'export'),
    ('public.messages', 'client_id', 'none'),
    ('public.profile_interests', 'profile_id, interest_id', 'both'),
    ('public.profiles', 'id, user_id, first_name, last_name, age, biography, country, city, image_url', 'both'),
    ('public.profiles', 'is_searchable', 'both'),
    ('public.reservations', 'id, conversation_id, title, price, date, status, ends_at, host_id', 'export'),
    ('public.reservations', 'offered_by, revision, created_at, updated_at', 'export'),
    ('public.reservations', 'due_at', 'none'),
    ('public.reservation_history', 'id, reservation_id, conversation_id', 'none'),
    ('public.reservation_history', 'status, by_id, note, title, price, date, ends_at, created_at', 'export'),
    ('public.users', 'id, created_at', 'export'),
    ('public.users', 'name, email, bio, location, role, is_active', 'both'),
    ('public.users', 'auth_id, public_profile_id, public_image_url', 'erase'),
    ('public.users', 'confirmed_at, erased_at', 'none')
) as tables (name, columns, rule)
cross join regexp_split_to_table(columns, ', ') as col;

select set_eq(
  $$
    select format('%s.%s', relnamespace::regnamespace, relname), attname::text
    from pg_class
    join pg_attribute on attrelid = pg_class.oid
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and relkind in ('r', 'p')
      and attnum > 0
      and not attisdropped
      and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
      )
  $$,
  'select name, col from rules',
  'every column is in the export, is erased, or has nothing to do with a person'
);

-- The keys of the export by table; a person and a reservation of whom every column is filled in.
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
create temp table export as select tests.ask('ana', 'export_me(null)') as body;
select tests.become_owner();
select is_empty(
  $$
    with keys (name, part) as (
      select 'public.users', body -> 'user' from export
      union all
      select 'public.profiles', body -> 'profile' from export
      union all
      select 'public.conversations', body #> '{conversations,0}' from export
      union all
      select 'public.messages', body #> '{conversations,0,messages,0}' from export
      union all
      select 'public.reservations', body #> '{conversations,0,Reservations,0}' from export
      union all
      select 'public.reservation_history', body #> '{conversations,0,Reservations,0,history,0}' from export
      union all
      select 'private.blocks', body #> '{blocks,0}' from export
      union all
      select 'private.devices', body #> '{devices,0}' from export
      union all
      select 'private.notification_settings', body -> 'notifications' from export
      union all
      select name, body #> '{conversations,0,state}'
      from export
      cross join (values ('private.conversation_activity'), ('private.conversation_states')) as tables (name)
      union all
      select 'public.reports', body #> '{reports,0}' from export
    )
    select rules.name, col
    from rules
    join keys on keys.name = rules.name
    where rule in ('export', 'both')
      and not part ? case col
        when 'created_at' then 'createdAt'
        when 'updated_at' then 'updatedAt'
        when 'by_id' then 'by'
        when 'blocked_id' then 'user_id'
        when 'p256dh' then 'keys'
        when 'auth' then 'keys'
        when 'quiet_from' then 'quiet_hours'
        when 'quiet_to' then 'quiet_hours'
        when 'time_zone' then 'quiet_hours'
        when 'is_pinned' then 'pinned'
        when 'voyager_archived' then 'archived'
        when 'local_archived' then 'archived'
        when 'shares_messages' then 'share_messages'
        when 'resolved_at' then 'resolvedAt'
        else col
      end
  $$,
  'the export has the columns that it should have'
);
