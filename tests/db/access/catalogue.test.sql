-- Rules for every table, key, policy and function, read from the catalogue, so that they hold for later additions too.
select plan(30);

-- The objects of our schemas without those of extensions.
create temp view tables as
select
  oid,
  relnamespace::regnamespace::text as schema,
  format('%s.%s', relnamespace::regnamespace, relname) as name,
  relrowsecurity
from pg_class
where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
  and relkind in ('r', 'p')
  and not exists (
    select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
  );

create temp view functions as
select
  pg_proc.*,
  pronamespace::regnamespace::text as schema,
  format('%s.%s', pronamespace::regnamespace, proname) as name,
  obj_description(oid, 'pg_proc') as comment
from pg_proc
where pronamespace in ('public'::regnamespace, 'private'::regnamespace, 'api'::regnamespace)
  and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e');

create temp view keys as
select
  pg_constraint.*,
  format('%s (%s)', tables.name, string_agg(attname, ', ' order by position)) as name
from pg_constraint
join tables on tables.oid = conrelid
cross join unnest(conkey) with ordinality as key (column_number, position)
join pg_attribute on attrelid = conrelid and attnum = column_number
where contype = 'f'
group by pg_constraint.oid, tables.name;

create temp view policy_columns as
select distinct tables.oid as table_id, attnum, format('%s.%s', tables.name, attname) as name
from pg_depend
join pg_attribute on attrelid = refobjid and attnum = refobjsubid
join tables on tables.oid = attrelid
where classid = 'pg_policy'::regclass and refclassid = 'pg_class'::regclass and refobjsubid > 0;

-- Tables
select set_eq(
  'select name from tables',
  array[
    'private.blocks', 'private.changes', 'private.conversation_activity', 'private.conversation_states',
    'private.devices',
    'private.embedding_queue', 'private.idempotent_replies', 'private.notification_settings', 'private.outbox',
    'private.outbox_settings', 'private.rate_limit_salts', 'private.rate_limits', 'private.rate_settings',
    'private.report_evidence', 'private.search_audit',
    'private.search_completions', 'private.search_contexts', 'private.search_entries', 'private.search_lexicon',
    'private.search_lexicon_queue', 'private.search_locks', 'private.search_models', 'private.search_places',
    'private.search_removed_words',
    'private.search_words',
    'private.sign_ups', 'private.silences', 'private.stored_replies', 'public.conversations', 'public.hidden_profiles',
    'public.interests',
    'public.messages', 'public.moderation_log', 'public.profile_interests', 'public.profiles', 'public.reports',
    'public.reservation_history', 'public.reservations', 'public.users'
  ],
  'these are the tables, so access/matrix.test.sql and, for the search, search/rights.test.sql cover them all'
);
select is_empty('select name from tables where not relrowsecurity', 'every table has row level security');
select is_empty(
  $$ select name from tables where coalesce(obj_description(oid, 'pg_class'), '') = '' $$, 'every table has a comment'
);
select is_empty(
  $$
    select relname
    from pg_class
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      -- Holds no person's rows.
      and relname <> 'changes_origin'
      and (relkind in ('m', 'f') or relkind = 'v' and not coalesce(reloptions @> array['security_invoker=true'], false))
  $$,
  'no view bypasses row level security'
);

-- Foreign keys
select set_eq(
  $$
    select
      name,
      case confdeltype when 'c' then 'cascade' when 'r' then 'restrict' when 'n' then 'set null' else 'nothing' end
    from keys
  $$,
  $$
    values
      ('private.blocks (blocked_id)', 'cascade'),
      ('private.blocks (blocker_id)', 'cascade'),
      ('private.devices (user_id)', 'cascade'),
      ('private.notification_settings (user_id)', 'cascade'),
      ('private.conversation_activity (conversation_id)', 'cascade'),
      ('private.conversation_activity (local_id)', 'restrict'),
      ('private.conversation_activity (voyager_id)', 'restrict'),
      ('private.conversation_states (conversation_id)', 'cascade'),
      ('private.conversation_states (user_id)', 'cascade'),
      ('private.search_completions (profile_id)', 'cascade'),
      ('private.search_contexts (model)', 'set null'),
      ('private.search_contexts (user_id)', 'cascade'),
      ('private.search_entries (model)', 'set null'),
      ('private.search_entries (profile_id)', 'cascade'),
      ('private.search_entries (user_id)', 'cascade'),
      ('private.search_lexicon_queue (profile_id)', 'cascade'),
      ('private.search_locks (profile_id)', 'cascade'),
      ('private.search_words (profile_id)', 'cascade'),
      ('private.silences (user_id)', 'cascade'),
      ('private.stored_replies (report_id)', 'cascade'),
      ('private.stored_replies (reservation_id)', 'cascade'),
      ('private.stored_replies (user_id)', 'cascade'),
      ('public.conversations (local_id)', 'restrict'),
      ('public.conversations (voyager_id)', 'restrict'),
      ('public.messages (conversation_id)', 'cascade'),
      ('public.messages (user_id)', 'restrict'),
      ('public.profile_interests (interest_id)', 'cascade'),
      ('public.profile_interests (profile_id)', 'cascade'),
      ('public.profiles (user_id)', 'cascade'),
      ('private.report_evidence (report_id)', 'cascade'),
      ('public.hidden_profiles (report_id)', 'restrict'),
      ('public.hidden_profiles (user_id)', 'cascade'),
      ('public.moderation_log (report_id)', 'restrict'),
      ('public.moderation_log (user_id)', 'restrict'),
      ('public.reports (reporter_id)', 'restrict'),
      ('public.reports (user_id)', 'restrict'),
      ('public.reservation_history (by_id)', 'restrict'),
      ('public.reservation_history (conversation_id)', 'cascade'),
      ('public.reservation_history (reservation_id)', 'cascade'),
      ('public.reservations (conversation_id)', 'cascade'),
      ('public.reservations (host_id)', 'restrict'),
      ('public.reservations (offered_by)', 'restrict'),
      ('public.users (auth_id)', 'set null')
  $$,
  'every foreign key says what a delete does to it'
);
select is_empty(
  $$
    select name
    from keys
    where not exists (
      select
      from pg_index
      where indrelid = conrelid
        and indisvalid
        and indpred is null
        and (indkey::int2[])[0:cardinality(conkey) - 1] @> conkey
    )
  $$,
  'every foreign key has an index that begins with its columns'
);

-- Policies
select set_eq(
  'select name from policy_columns',
  array[
    'public.conversations.local_id', 'public.conversations.voyager_id', 'public.messages.conversation_id',
    'public.profile_interests.profile_id', 'public.profiles.user_id', 'public.reservation_history.conversation_id',
    'public.reservations.conversation_id',
    'public.users.id'
  ],
  'these are the columns that policies name'
);
select is_empty(
  $$
    select name
    from policy_columns
    where not exists (
      select from pg_index where indrelid = table_id and indisvalid and indpred is null and indkey[0] = attnum
    )
  $$,
  'every column that a policy names has an index that begins with it'
);
select is_empty(
  $$ select tablename, policyname from pg_policies where schemaname in ('public', 'private') and cmd = 'ALL' $$,
  'every policy is for one command'
);
select is_empty(
  $$
    select tablename, policyname
    from pg_policies
    where schemaname in ('public', 'private') and permissive <> 'PERMISSIVE'
  $$,
  'every policy is permissive, so that each can be read by itself'
);
select set_eq(
  $$
    select tablename::text, policyname::text
    from pg_policies
    where schemaname in ('public', 'private') and roles <> '{authenticated}'
  $$,
  $$ values ('interests', 'everybody reads interests') $$,
  'every policy except that of interests applies to authenticated alone'
);

-- Functions
select is_empty($$ select name from functions where coalesce(comment, '') = '' $$, 'every function has a comment');
select is_empty(
  $$ select name from functions where prosecdef and comment not like '%Definer%' $$,
  'every definer function says why it is one'
);
select is_empty(
  $$
    select name
    from functions
    where prosecdef
      and prorettype <> 'trigger'::regtype
      and not exists (select from aclexplode(proacl) where grantee <> proowner)
      and name not in ('private.erase_person', 'private.refresh_search_entry')
  $$,
  'except for these, a function that only its owner can call is not a definer function'
);
select isnt_empty('select from functions where prosecdef', 'there are definer functions');
select set_eq(
  $$
    select name
    from functions
    -- An aggregate has no body.
    where prokind <> 'a' and not coalesce(array_to_string(proconfig, ' ') like '%search_path=%', false)
  $$,
  array[
    'private.hit_body', 'private.final_score', 'private.iso', 'private.keyword_score', 'private.my_id',
    'private.position_cost', 'private.typo_budget', 'private.to_message_view', 'private.text_start',
    'private.text_start_at', 'private.attribute_at', 'private.weight_class', 'private.lexeme',
    'private.matches_filter', 'private.semantic_score', 'private.closest_bit', 'private.nearness',
    'private.latest_entries_of', 'private.term_query', 'private.shown_score'
  ],
  'every function except the 20 that must be inlined sets search_path'
);
select set_eq(
  $$ select name from functions where proconfig is not null and not proconfig @> array['search_path=""'] $$,
  $$
    select name
    from functions
    where proconfig @> array['search_path=extensions']
      and name in ('private.find_profiles', 'private.nearest_profiles')
  $$,
  'search_path is empty, except for the two functions that use pgvector''s operators'
);
select is_empty(
  $$
    select role
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    where has_schema_privilege(role, 'extensions', 'create')
  $$,
  'no role can create objects in the schema of the extensions'
);
select is_empty(
  $$
    select name
    from functions
    cross join aclexplode(coalesce(proacl, acldefault('f', proowner))) as granted
    where grantee = 0
  $$,
  'no function is granted to public'
);
select is_empty(
  $$
    select name, role
    from functions
    cross join unnest(array['anon', 'authenticated', 'service_role']) as role
    where schema = 'api' and has_function_privilege(role, oid, 'execute')
  $$,
  'callers cannot call API functions directly'
);
select is_empty(
  $$
    select name
    from functions
    where schema = 'api' and not has_function_privilege('edge_functions', oid, 'execute')
  $$,
  'the Edge Functions can call every API function'
);
select is_empty(
  $$
    select name, grantee::regrole
    from functions
    cross join aclexplode(coalesce(proacl, acldefault('f', proowner))) as granted
    where schema = 'api' and grantee not in (proowner, 'edge_functions'::regrole)
  $$,
  'only the Edge Functions can call API functions'
);
select set_eq(
  $$
    select name
    from functions
    where schema = 'private' and has_function_privilege('edge_functions', oid, 'execute')
  $$,
  array[
    'private.account_status', 'private.act_as', 'private.adopt_model', 'private.adopt_outbox_settings',
    'private.begin_sign_up', 'private.check_sign_up', 'private.claim_embeddings', 'private.claim_mail',
    'private.claim_pushes', 'private.claim_webhooks', 'private.consume_rate_limit', 'private.consume_write_limit',
    'private.count_due', 'private.count_pending_embeddings', 'private.describe_outbox', 'private.describe_search',
    'private.drain_lexicon_queue',
    'private.fail_embeddings', 'private.find_me', 'private.finish_outbox', 'private.is_within_write_limit',
    'private.list_migrations', 'private.plan_notifications', 'private.report_search', 'private.save_embeddings'
  ],
  'the Edge Functions can call only these helpers: act_as, sign-up, embeddings, outbox and rate limits'
);
select set_eq(
  $$ select name from functions where schema = 'private' and has_function_privilege('anon', oid, 'execute') $$,
  array[
    'private.check_interests', 'private.find_me', 'private.iso', 'private.my_id', 'private.parse_ids',
    'private.set_response_metadata'
  ],
  'anonymous callers can call only these helpers'
);
select is_empty(
  $$
    select name, role
    from functions
    cross join unnest(array['anon', 'authenticated', 'edge_functions']) as role
    where prorettype = 'trigger'::regtype and has_function_privilege(role, oid, 'execute')
  $$,
  'nobody can call a trigger function'
);

-- Schemas and grants
select set_eq(
  $$
    select tables.name, lower(privilege_type)
    from tables
    join pg_class on pg_class.oid = tables.oid
    cross join aclexplode(relacl) as granted
    where grantee = 'anon'::regrole
  $$,
  $$ values ('public.interests', 'select') $$,
  'anonymous callers have select on interests and no other table privilege'
);
select is_empty(
  $$
    select name
    from tables
    join pg_class on pg_class.oid = tables.oid
    cross join aclexplode(relacl) as granted
    where grantee in (0, 'edge_functions'::regrole)
  $$,
  'no table privilege is granted to public or to edge_functions'
);
select is_empty(
  $$
    select name, attname
    from tables
    join pg_attribute on attrelid = tables.oid
    cross join aclexplode(attacl) as granted
    where grantee in (0, 'anon'::regrole, 'edge_functions'::regrole)
  $$,
  'no column privilege is granted to public, anon or edge_functions'
);
select is_empty(
  $$
    select role, schema
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    cross join unnest(array['public', 'private', 'api']) as schema
    where has_schema_privilege(role, schema, 'create')
  $$,
  'no role can create objects in our schemas'
);
select set_eq(
  $$
    select role
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    where has_schema_privilege(role, 'api', 'usage')
  $$,
  array['edge_functions'],
  'only the Edge Functions can use schema api'
);
