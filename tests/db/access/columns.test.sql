-- Every column of every table, and what people may do with it in the rows that are theirs. A new column is named here or fails.
select plan(103);

select is(
  actual.verbs,
  expected.verbs,
  format('people may %s %s.%s', coalesce(nullif(expected.verbs, ''), 'not touch'), name, col)
)
from (
  values
    ('private.blocks', 'blocker_id', ''),
    ('private.blocks', 'blocked_id', ''),
    ('private.blocks', 'created_at', ''),
    ('private.embedding_queue', 'kind', ''),
    ('private.embedding_queue', 'id', ''),
    ('private.embedding_queue', 'attempts', ''),
    ('private.embedding_queue', 'due_at', ''),
    ('private.embedding_queue', 'last_error', ''),
    ('private.embedding_queue', 'queued_at', ''),
    ('private.embedding_queue', 'model', ''),
    ('private.rate_settings', 'name', ''),
    ('private.rate_settings', 'rate', ''),
    ('private.idempotent_replies', 'message_id', ''),
    ('private.idempotent_replies', 'sender_name', ''),
    ('private.search_audit', 'finding', ''),
    ('private.search_audit', 'amount', ''),
    ('private.search_audit', 'audited_at', ''),
    ('private.search_contexts', 'user_id', ''),
    ('private.search_contexts', 'content_hash', ''),
    ('private.search_contexts', 'model', ''),
    ('private.search_contexts', 'embedding', ''),
    ('private.search_entries', 'profile_id', ''),
    ('private.search_entries', 'user_id', ''),
    ('private.search_entries', 'name', ''),
    ('private.search_entries', 'biography', ''),
    ('private.search_entries', 'city', ''),
    ('private.search_entries', 'country', ''),
    ('private.search_entries', 'interests', ''),
    ('private.search_entries', 'image_url', ''),
    ('private.search_entries', 'interest_keys', ''),
    ('private.search_entries', 'city_key', ''),
    ('private.search_entries', 'country_key', ''),
    ('private.search_entries', 'words', ''),
    ('private.search_entries', 'content_hash', ''),
    ('private.search_entries', 'model', ''),
    ('private.search_entries', 'embedding', ''),
    ('private.search_lexicon', 'word', ''),
    ('private.search_lexicon', 'entries', ''),
    ('private.search_models', 'name', ''),
    ('private.search_models', 'similarity_floor', ''),
    ('private.search_models', 'similarity_ceiling', ''),
    ('private.search_models', 'similarity_threshold', ''),
    ('private.search_postings', 'word', ''),
    ('private.search_postings', 'profile_id', ''),
    ('private.search_postings', 'word_positions', ''),
    ('private.sign_ups', 'ticket', ''),
    ('private.sign_ups', 'user_id', ''),
    ('private.sign_ups', 'profile_id', ''),
    ('private.sign_ups', 'address_hash', ''),
    ('private.sign_ups', 'begun_at', ''),
    ('private.turn_salts', 'salt', ''),
    ('private.turn_salts', 'made_on', ''),
    ('private.rate_limits', 'key', ''),
    ('private.rate_limits', 'tat', ''),
    ('public.conversations', 'id', 'select'),
    ('public.conversations', 'voyager_id', 'select'),
    ('public.conversations', 'local_id', 'select'),
    ('public.conversations', 'created_at', 'select'),
    ('public.interests', 'id', 'select'),
    ('public.interests', 'name', 'select'),
    ('public.messages', 'id', 'select'),
    ('public.messages', 'conversation_id', 'select'),
    ('public.messages', 'user_id', 'select'),
    ('public.messages', 'content', 'select'),
    ('public.messages', 'attachment', 'select'),
    ('public.messages', 'read', 'select'),
    ('public.messages', 'client_id', 'select'),
    ('public.messages', 'created_at', 'select'),
    ('public.profile_interests', 'profile_id', 'select, insert'),
    ('public.profile_interests', 'interest_id', 'select, insert'),
    ('public.profiles', 'id', 'select'),
    ('public.profiles', 'user_id', 'select'),
    ('public.profiles', 'first_name', 'select, update'),
    ('public.profiles', 'last_name', 'select, update'),
    ('public.profiles', 'age', 'select, update'),
    ('public.profiles', 'biography', 'select, update'),
    ('public.profiles', 'country', 'select, update'),
    ('public.profiles', 'city', 'select, update'),
    ('public.profiles', 'image_url', 'select, update'),
    ('public.profiles', 'is_searchable', 'select, update'),
    ('public.reservations', 'id', 'select'),
    ('public.reservations', 'conversation_id', 'select'),
    ('public.reservations', 'title', 'select'),
    ('public.reservations', 'price', 'select'),
    ('public.reservations', 'date', 'select'),
    ('public.reservations', 'status', 'select'),
    ('public.users', 'id', 'select'),
    ('public.users', 'auth_id', 'select'),
    ('public.users', 'name', 'select, update'),
    ('public.users', 'email', 'select'),
    ('public.users', 'bio', 'select, update'),
    ('public.users', 'location', 'select, update'),
    ('public.users', 'role', 'select'),
    ('public.users', 'is_active', 'select'),
    ('public.users', 'created_at', 'select'),
    ('public.users', 'confirmed_at', 'select'),
    ('public.users', 'erased_at', 'select')
) as expected (name, col, verbs)
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
    ) as verbs
  from pg_class
  join pg_attribute on attrelid = pg_class.oid
  where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    and relkind in ('r', 'p', 'v', 'm', 'f')
    and attnum > 0
    and not attisdropped
) as actual using (name, col)
order by name, col;

-- What is no column's matter: truncating passes row level security by, a trigger runs as whoever writes.
select is(
  string_agg(relname || ' ' || verb, ', ' order by relname),
  'profile_interests delete',
  'people may delete from, truncate, put triggers on and maintain no table but the interests of their profile'
)
from pg_class
cross join unnest(array['delete', 'truncate', 'trigger', 'maintain']) as verb
where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
  and relkind in ('r', 'p', 'v', 'm', 'f')
  and has_table_privilege('authenticated', pg_class.oid, verb);

select is_empty(
  $$
    select relname, role, verb
    from pg_class
    cross join unnest(array['anon', 'authenticated', 'edge_functions']) as role
    cross join unnest(array['usage', 'select', 'update']) as verb
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and relkind = 'S'
      and has_sequence_privilege(role, pg_class.oid, verb)
  $$,
  'nobody but the secret key draws from or looks at a sequence'
);

select tests.make_person('ana');
select tests.become('ana');
select lives_ok(
  $$ update public.users set name = 'Ana', bio = 'Potter', location = 'Porto' $$,
  'ana changes her name, bio and location'
);
select throws_ok($$ update public.users set role = 'admin' $$, '42501', null, 'ana cannot make herself an admin');
select throws_ok($$ update public.users set email = 'ben@tests.example' $$, '42501', null, 'ana cannot take another address');
select throws_ok('update public.profiles set user_id = user_id', '42501', null, 'ana cannot give her profile away');
