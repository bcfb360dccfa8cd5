-- Rules for every table, key, policy and function, read from the catalogue, so that they hold for later additions too.
select plan(19);

-- The objects of our schemas without those of extensions.
create temp view tables as
select *, obj_description(oid, 'pg_class') as comment from tests.relations where relkind in ('r', 'p');

create temp view functions as
select *, format('%s.%s', pronamespace::regnamespace, proname) as name, obj_description(oid, 'pg_proc') as comment
from pg_proc
where pronamespace in ('public'::regnamespace, 'private'::regnamespace, 'api'::regnamespace)
  and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e');

create temp view keys as
select
  conrelid, conkey, confdeltype,
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

create temp view policies as
select tablename || ': ' || policyname as name, *
from pg_policies
where schemaname in ('public', 'private', 'realtime', 'storage');

-- Without these the rules below would hold of nothing.
select cmp_ok((select count(*) from tables), '>', 30::bigint, 'there are tables');
select cmp_ok((select count(*) from functions where prosecdef), '>', 50::bigint, 'there are definer functions');

select is_empty(violations, rule)
from (
  values
    ('every table has row level security', 'select name from tables where not relrowsecurity'),
    ('every table has a comment', $$ select name from tables where coalesce(comment, '') = '' $$),
    -- changes_origin holds no person's rows.
    ('no view bypasses row level security', $$
      select name
      from tests.relations
      where relname <> 'changes_origin'
        and (relkind in ('m', 'f') or relkind = 'v' and not coalesce('security_invoker=true' = any (reloptions), false))
    $$),
    ('every foreign key has an index that begins with its columns', $$
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
    $$),
    ('every column that a policy names has an index that begins with it', $$
      select name
      from policy_columns
      where not exists (
        select from pg_index where indrelid = table_id and indisvalid and indpred is null and indkey[0] = attnum
      )
    $$),
    ('every policy is for one command', $$ select name from policies where cmd = 'ALL' $$),
    (
      'every policy is permissive, so that each can be read by itself',
      $$ select name from policies where permissive <> 'PERMISSIVE' $$
    ),
    ('every policy except that of interests is for authenticated alone', $$
      select name
      from policies
      where roles <> '{authenticated}'
        and (name, roles::text) <> ('interests: everybody reads interests', '{anon,authenticated}')
    $$),
    ('every function has a comment', $$ select name from functions where coalesce(comment, '') = '' $$),
    (
      'every definer function says why it is one',
      $$ select name from functions where prosecdef and comment not like '%Definer%' $$
    ),
    ('except for two, a function that only its owner can call is not a definer function', $$
      select name
      from functions
      where prosecdef
        and prorettype <> 'trigger'::regtype
        and not exists (select from aclexplode(proacl) where grantee <> proowner)
        and name not in ('private.erase_person', 'private.refresh_search_entry')
    $$),
    ('search_path is empty, except for three functions that use the operators of pgvector', $$
      select name
      from functions
      cross join unnest(proconfig) as setting
      where setting like 'search_path=%'
        and setting <> 'search_path=""'
        and (name, setting) not in (
          ('private.find_profiles', 'search_path=extensions'), ('private.nearest_profiles', 'search_path=extensions'),
          ('private.score_profiles', 'search_path=extensions')
        )
    $$),
    ('nobody can call a trigger function', $$
      select name
      from functions, tests.granted(coalesce(proacl, acldefault('f', proowner)), proowner)
      where prorettype = 'trigger'::regtype
    $$)
) as rules (rule, violations);

select is(
  array(select replace(name, 'public.', '') from keys where confdeltype = on_delete order by name collate "C"),
  string_to_array(expected, '; '),
  format('on delete %s: these foreign keys', meaning)
)
from (
  values
    (
      'c'::"char", 'cascade',
      'private.answer_spans (user_id); '
        || 'private.blocks (blocked_id); private.blocks (blocker_id); private.devices (user_id); '
        || 'private.inbox_entries (conversation_id); private.notification_settings (user_id); '
        || 'private.report_evidence (report_id); '
        || 'private.search_completions (profile_id); private.search_contexts (user_id); '
        || 'private.search_entries (profile_id); private.search_entries (user_id); '
        || 'private.search_locks (profile_id); private.search_sentences (profile_id); '
        || 'private.search_words (profile_id); private.silences (user_id); '
        || 'private.stored_replies (user_id); '
        || 'messages (conversation_id); '
        || 'profile_interests (interest_id); profile_interests (profile_id); '
        || 'profiles (user_id); reservation_history (conversation_id); reservation_history (reservation_id); '
        || 'reservations (conversation_id)'
    ),
    (
      'r', 'restrict',
      'private.inbox_entries (user_id); conversations (local_id); '
        || 'conversations (voyager_id); messages (user_id); moderation_log (report_id); '
        || 'moderation_log (user_id); reports (reporter_id); reports (user_id); reservation_history (by_id); '
        || 'reservations (host_id); reservations (offered_by)'
    ),
    ('n', 'set null', 'private.search_contexts (model); private.search_entries (model); users (auth_id)')
) as actions (on_delete, meaning, expected);
select is_empty($$ select name from keys where confdeltype not in ('c', 'r', 'n') $$, 'no foreign key does nothing');
