-- What the export and the erasing do with each column of every table. A new column must be added here, or the test
-- fails; tests/rules/privacy.rules.ts shows that it happens. Whoever may select from a table may select it too.
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
    ('private.answer_spans', 'erase', 'user_id'), ('private.answer_spans', 'both', 'answers'),
    ('private.blocks', 'erase', 'blocker_id'), ('private.blocks', 'both', 'blocked_id created_at'),
    ('private.changes', 'none', 'id xid user_id other_id kind conversation_id entity_id created_at'),
    ('private.devices', 'both', 'id endpoint p256dh auth created_at'),
    ('private.devices', 'erase', 'user_id'),
    ('private.inbox_entries', 'erase', 'archived_id'),
    ('private.inbox_entries', 'both', 'is_archived is_pinned muted_until'),
    ('private.inbox_entries', 'none', 'conversation_id user_id last_message_id previous_message_id active_at'),
    ('private.inbox_entries', 'none', 'unread has_written'),
    ('private.embedding_queue', 'erase', 'kind id attempts failures due_at last_error queued_at model'),
    ('private.notification_settings', 'erase', 'user_id'),
    ('private.notification_settings', 'both', 'push email delay_minutes quiet_from quiet_to time_zone previews'),
    ('private.outbox', 'erase', 'id channel event conversation_id subject_id first_id user_id device_id'),
    ('private.outbox', 'erase', 'key attempts due_at last_error created_at request'),
    ('private.outbox_settings', 'none', 'singleton delay_seconds webhooks'),
    ('private.rate_limits', 'none', 'key tat'), ('private.rate_limit_salts', 'none', 'salt valid_on'),
    ('private.report_evidence', 'keep', 'report_id message_id is_by_reported content attachment sent_at'),
    ('public.moderation_log', 'log', 'id action report_id user_id by_whom note created_at'),
    ('public.reports', 'export', 'id user_id message_id reason note shares_messages created_at resolved_at'),
    ('public.reports', 'log', 'reporter_id resolution purge_at is_told'),
    ('private.search_completions', 'erase', 'profile_id keys'),
    ('private.search_contexts', 'erase', 'user_id content_hash model embedding'),
    ('private.search_entries', 'erase', 'profile_id user_id name biography city country interests image_url'),
    ('private.search_entries', 'erase', 'content_hash model embedding'),
    ('private.search_lexicon', 'erase', 'word holders named'), ('private.search_locks', 'erase', 'profile_id'),
    ('private.search_models', 'none', 'name similarity_floor similarity_ceiling similarity_threshold trust'),
    ('private.search_models', 'none', 'measured_profiles'),
    ('private.search_sentences', 'erase', 'profile_id place embedding'),
    ('private.loaded_data', 'none', 'name checksum'),
    ('private.search_places', 'none', 'id kind parents names ambiguous adjectives latitude longitude population'),
    ('private.search_places', 'none', 'time_zone name'),
    ('private.search_words', 'erase', 'profile_id words'),
    ('private.sign_ups', 'erase', 'ticket user_id profile_id address_hash name fields begun_at is_accepted'),
    ('private.silences', 'erase', 'user_id steps'),
    ('private.stored_replies', 'erase', 'user_id noun client_id request_hash body metadata'),
    ('public.conversations', 'export', 'id voyager_id local_id created_at'), ('public.interests', 'none', 'id name'),
    ('public.messages', 'export', 'id conversation_id user_id content attachment read created_at'),
    ('public.messages', 'export', 'edited_at deleted_at'),
    ('public.messages', 'none', 'client_id'), ('public.profile_interests', 'both', 'profile_id interest_id'),
    ('public.profiles', 'both', 'id user_id first_name last_name age biography country city image_url is_searchable'),
    ('public.profiles', 'both', 'show_answers languages'), ('public.profiles', 'erase', 'is_hidden'),
    ('public.reservations', 'export', 'id conversation_id title price date status ends_at host_id'),
    ('public.reservations', 'export', 'offered_by revision created_at updated_at'),
    ('public.reservations', 'none', 'due_at'),
    ('public.reservation_history', 'none', 'id reservation_id conversation_id'),
    ('public.reservation_history', 'export', 'status by_id note title price date ends_at created_at'),
    ('public.users', 'export', 'id created_at'), ('public.users', 'both', 'name email bio location role is_active'),
    ('public.users', 'erase', 'auth_id'),
    ('public.users', 'none', 'confirmed_at erased_at unsubscribe_token')
) as tables (name, rule, columns)
cross join string_to_table(columns, ' ') as col;

select set_eq(
  $$
    select format('%s.%s', relnamespace::regnamespace, relname), attname::text
    from pg_class
    join pg_attribute on attrelid = pg_class.oid
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and relkind in ('r', 'p') and attnum > 0 and not attisdropped
      and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
      )
  $$,
  'select name, col from rules',
  'every column is in the export, is erased, or has nothing to do with a person'
);

-- The part of the export of each table; a person, a message and a reservation of whom every column is filled in.
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
update public.messages set edited_at = now();
create temp table export as select tests.ask('ana', 'export_me(null, $$always$$)') as body;
select tests.become_owner();
select is_empty(
  $$
    select name, col
    from rules
    join (
      values
        ('public.users', '{user}'), ('public.profiles', '{profile}'), ('public.conversations', '{conversations,0}'),
        ('public.messages', '{conversations,0,messages,0}'), ('public.reports', '{reports,0}'),
        ('public.reservations', '{conversations,0,Reservations,0}'),
        ('public.reservation_history', '{conversations,0,Reservations,0,history,0}'), ('private.blocks', '{blocks,0}'),
        ('private.devices', '{devices,0}'), ('private.notification_settings', '{notifications}'),
        ('private.inbox_entries', '{conversations,0,state}'), ('private.answer_spans', '{}')
    ) as parts (name, path) using (name)
    where rule in ('export', 'both') and (select body #> path::text[] from export) ? coalesce(
      '{
        "created_at": "createdAt", "updated_at": "updatedAt", "by_id": "by", "blocked_id": "user_id",
        "p256dh": "keys", "auth": "keys", "quiet_from": "quiet_hours", "quiet_to": "quiet_hours",
        "time_zone": "quiet_hours", "is_pinned": "pinned", "is_archived": "archived",
        "shares_messages": "share_messages", "resolved_at": "resolvedAt", "edited_at": "editedAt",
        "deleted_at": "deletedAt"
      }'::jsonb ->> col,
      col
    ) is not true
  $$,
  'the export has the columns that it should have'
);
