-- What holds for whatever table, key, policy and function the schema has, asked of the catalogue: what is added later is asked too.
select plan(30);

-- Whatever we made in our schemas; extensions look after their own.
create temp view tables as
select oid, relnamespace::regnamespace::text as schema, format('%s.%s', relnamespace::regnamespace, relname) as name, relrowsecurity
from pg_class
where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
  and relkind in ('r', 'p')
  and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e');

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
    'private.blocks', 'private.embedding_queue', 'private.rate_settings', 'private.idempotent_replies', 'private.search_audit', 'private.search_contexts',
    'private.search_entries', 'private.search_lexicon', 'private.search_models', 'private.search_postings', 'private.sign_ups', 'private.turn_salts',
    'private.rate_limits', 'public.conversations', 'public.interests', 'public.messages', 'public.profile_interests',
    'public.profiles', 'public.reservations', 'public.users'
  ],
  'these are the tables, so the matrix of access and, for the search, search/rights.test.sql miss none'
);
select is_empty('select name from tables where not relrowsecurity', 'every table has row level security');
select is_empty(
  $$ select name from tables where coalesce(obj_description(oid, 'pg_class'), '') = '' $$,
  'every table says what it is'
);
select is_empty(
  $$
    select relname
    from pg_class
    where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and (relkind in ('m', 'f') or relkind = 'v' and not coalesce(reloptions @> array['security_invoker=true'], false))
  $$,
  'no view passes row level security by'
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
      ('private.idempotent_replies (message_id)', 'cascade'),
      ('private.search_contexts (model)', 'set null'),
      ('private.search_contexts (user_id)', 'cascade'),
      ('private.search_entries (model)', 'set null'),
      ('private.search_entries (profile_id)', 'cascade'),
      ('private.search_entries (user_id)', 'cascade'),
      ('private.search_postings (profile_id)', 'cascade'),
      ('public.conversations (local_id)', 'restrict'),
      ('public.conversations (voyager_id)', 'restrict'),
      ('public.messages (conversation_id)', 'cascade'),
      ('public.messages (user_id)', 'restrict'),
      ('public.profile_interests (interest_id)', 'cascade'),
      ('public.profile_interests (profile_id)', 'cascade'),
      ('public.profiles (user_id)', 'cascade'),
      ('public.reservations (conversation_id)', 'cascade'),
      ('public.users (auth_id)', 'set null')
  $$,
  'every foreign key says what deleting does to it'
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
    'public.profile_interests.profile_id', 'public.profiles.user_id', 'public.reservations.conversation_id', 'public.users.id'
  ],
  'these are the columns that policies look at'
);
select is_empty(
  $$
    select name
    from policy_columns
    where not exists (
      select from pg_index where indrelid = table_id and indisvalid and indpred is null and indkey[0] = attnum
    )
  $$,
  'every column that a policy looks at has an index that begins with it'
);
select is_empty(
  $$ select tablename, policyname from pg_policies where schemaname in ('public', 'private') and cmd = 'ALL' $$,
  'every policy is about one verb'
);
select is_empty(
  $$ select tablename, policyname from pg_policies where schemaname in ('public', 'private') and permissive <> 'PERMISSIVE' $$,
  'every policy permits, so that reading one tells what it lets through'
);
select set_eq(
  $$
    select tablename::text, policyname::text
    from pg_policies
    where schemaname in ('public', 'private') and roles <> '{authenticated}'
  $$,
  $$ values ('interests', 'everybody reads interests') $$,
  'every policy but that of interests is for people alone'
);

-- Functions
select is_empty(
  $$ select name from functions where coalesce(comment, '') = '' $$,
  'every function says what it promises'
);
select is_empty(
  $$ select name from functions where prosecdef and comment not like '%Definer%' $$,
  'every function with its owner''s rights says why'
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
  'but for these, a function that nobody is granted needs no rights of its owner, who alone calls it'
);
select isnt_empty('select from functions where prosecdef', 'there are functions with their owner''s rights');
select set_eq(
  $$ select name from functions where not coalesce(array_to_string(proconfig, ' ') like '%search_path=%', false) $$,
  array[
    'private.hit_body', 'private.hybrid_score', 'private.matches_filter', 'private.iso', 'private.keyword_score',
    'private.my_id', 'private.position_cost', 'private.postings_of', 'private.typo_budget', 'private.view_of'
  ],
  'every function but the ten that are to be inlined looks names up nowhere but where they say'
);
select set_eq(
  $$ select name from functions where proconfig is not null and not proconfig @> array['search_path=""'] $$,
  $$ select name from functions where proconfig @> array['search_path=extensions'] and name in ('api.search_profiles', 'private.find_profiles', 'private.nearest_profiles') $$,
  'that is nowhere at all but for the three that need the operators of vectors'
);
select is_empty(
  $$
    select role
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    where has_schema_privilege(role, 'extensions', 'create')
  $$,
  'and nobody makes anything where those two look'
);
select is_empty(
  $$
    select name
    from functions
    cross join aclexplode(coalesce(proacl, acldefault('f', proowner))) as granted
    where grantee = 0
  $$,
  'no function is everybody''s to call'
);
select is_empty(
  $$
    select name, role
    from functions
    cross join unnest(array['anon', 'authenticated', 'service_role']) as role
    where schema = 'api' and has_function_privilege(role, oid, 'execute')
  $$,
  'no caller calls a verb by themselves'
);
select is_empty(
  $$ select name from functions where schema = 'api' and not has_function_privilege('edge_functions', oid, 'execute') $$,
  'the doors call every verb'
);
select is_empty(
  $$
    select name, grantee::regrole
    from functions
    cross join aclexplode(coalesce(proacl, acldefault('f', proowner))) as granted
    where schema = 'api' and grantee not in (proowner, 'edge_functions'::regrole)
  $$,
  'nobody but the doors calls a verb'
);
select set_eq(
  $$ select name from functions where schema = 'private' and has_function_privilege('edge_functions', oid, 'execute') $$,
  array[
    'private.act_as', 'private.adopt_model', 'private.claim_embeddings', 'private.count_pending_embeddings', 'private.describe_search',
    'private.fail_embeddings', 'private.find_me', 'private.begin_sign_up', 'private.check_sign_up',
    'private.report_search', 'private.save_embeddings', 'private.account_status', 'private.consume_rate_limit', 'private.consume_send_limit'
  ],
  'of the helpers the doors call what makes them their caller, what signs people up, what brings vectors and what counts turns, and no other'
);
select set_eq(
  $$ select name from functions where schema = 'private' and has_function_privilege('anon', oid, 'execute') $$,
  array[
    'private.as_ids', 'private.check_interests', 'private.find_me', 'private.iso', 'private.my_id', 'private.set_response_metadata'
  ],
  'anonymous callers run these helpers and no other'
);
select is_empty(
  $$
    select name, role
    from functions
    cross join unnest(array['anon', 'authenticated', 'edge_functions']) as role
    where prorettype = 'trigger'::regtype and has_function_privilege(role, oid, 'execute')
  $$,
  'what triggers do nobody does by hand'
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
  'anonymous callers are granted to read interests, and nothing else on any table'
);
select is_empty(
  $$
    select name
    from tables
    join pg_class on pg_class.oid = tables.oid
    cross join aclexplode(relacl) as granted
    where grantee in (0, 'edge_functions'::regrole)
  $$,
  'nothing on any table is granted to everybody, or to the doors themselves'
);
select is_empty(
  $$
    select name, attname
    from tables
    join pg_attribute on attrelid = tables.oid
    cross join aclexplode(attacl) as granted
    where grantee in (0, 'anon'::regrole, 'edge_functions'::regrole)
  $$,
  'nor is anything on a column granted to them'
);
select is_empty(
  $$
    select role, schema
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    cross join unnest(array['public', 'private', 'api']) as schema
    where has_schema_privilege(role, schema, 'create')
  $$,
  'no role makes anything in our schemas'
);
select set_eq(
  $$
    select role
    from unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as role
    where has_schema_privilege(role, 'api', 'usage')
  $$,
  array['edge_functions'],
  'the doors alone enter schema api'
);
