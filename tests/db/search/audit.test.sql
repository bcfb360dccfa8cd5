-- The audit finds nothing where the index is in step, and each thing that can be wrong with it.
select plan(24);
select tests.make_person('ana');
select tests.make_person('ben');
update public.profiles
set is_searchable = true, city = 'Qwxburg', biography = 'Zorbing quokkas';
insert into public.profile_interests (profile_id, interest_id)
values (tests.profile_of('ana'), 1), (tests.profile_of('ana'), 2);

create function pg_temp.findings()
returns jsonb
language sql
as $$
  select coalesce(jsonb_object_agg(key, value) filter (where value <> '0'), '{}')
  from jsonb_each(private.audit_search_index()::jsonb)
$$;

-- Breaks the index behind the triggers' backs, and puts it right again.
create function pg_temp.found_after(break text)
returns jsonb
language plpgsql
as $$
declare
  found jsonb;
begin
  set local session_replication_role = replica;
  execute break;
  found := pg_temp.findings();
  raise sqlstate 'TRIED' using message = found::text;
exception
  when sqlstate 'TRIED' then
    return sqlerrm::jsonb;
end
$$;

select is(pg_temp.findings(), '{}', 'an index in step has no findings');
select set_eq(
  'select finding from private.search_audit',
  array['missing', 'surplus', 'stale', 'misworded', 'miscounted', 'forgotten'],
  'each thing that is looked for has a row'
);
select is(pg_temp.found_after(break), finding, format('it finds %s', what))
from (
  values
    (
      'who should be in the search and is not',
      $$ insert into public.users (name, email) values ('Cat', 'cat@tests.example');
         insert into public.profiles (user_id, is_searchable) values (tests.id_of('cat'), true) $$,
      '{"missing": 1}'::jsonb
    ),
    ('who hides and is still found', 'update public.profiles set is_searchable = false where id = tests.profile_of(''ana'')', '{"surplus": 1}'),
    ('who is deactivated and is still found', 'update public.users set is_active = false where id = tests.id_of(''ana'')', '{"surplus": 1}'),
    ('an old name', 'update public.users set name = ''Zoe'' where id = tests.id_of(''ana'')', '{"stale": 1, "misworded": 1}'),
    ('an old city', 'update public.profiles set city = ''Elsewhere'' where id = tests.profile_of(''ana'')', '{"stale": 1, "misworded": 1}'),
    ('an old picture', 'update public.profiles set image_url = ''https://x.example'' where id = tests.profile_of(''ana'')', '{"stale": 1}'),
    ('an interest too many', 'delete from public.profile_interests where interest_id = 1', '{"stale": 1, "misworded": 1}'),
    ('a first name that nobody finds', 'update public.profiles set first_name = ''Zoe'' where id = tests.profile_of(''ana'')', '{"misworded": 1}'),
    ('a phrase that nobody finds', 'update private.search_entries set words = '''' where profile_id = tests.profile_of(''ana'')', '{"misworded": 1}'),
    (
      'a word that is nowhere noted', 'delete from private.search_postings where profile_id = tests.profile_of(''ana'') and word = ''zorbing''',
      '{"misworded": 1, "miscounted": 1}'
    ),
    ('a word that is counted wrong', 'update private.search_lexicon set entries = 7 where word = ''zorbing''', '{"miscounted": 1}'),
    ('a word that nobody has any more', 'insert into private.search_lexicon values (''gone'', 1)', '{"miscounted": 1}'),
    ('a word that the lexicon lacks', 'delete from private.search_lexicon where word = ''zorbing''', '{"miscounted": 1}'),
    (
      'profiles that wait for a vector in vain', 'delete from private.embedding_queue where kind = ''profile''', '{"forgotten": 2}'
    )
) as faults (what, break, finding);

-- The cure
create function pg_temp.found_after_all_and_rebuilding()
returns jsonb
language plpgsql
as $$
declare
  found jsonb;
begin
  set local session_replication_role = replica;
  update private.search_entries set words = '', model = 'offline-wordnet-v1';
  update public.users set name = 'Zoe' where id = tests.id_of('ana');
  update public.profiles set is_searchable = false where id = tests.profile_of('ben');
  insert into public.users (name, email) values ('Cat', 'cat@tests.example');
  insert into public.profiles (user_id, is_searchable) values (tests.id_of('cat'), true);
  delete from private.search_postings where word = 'zorbing';
  insert into private.search_lexicon values ('gone', 1);
  delete from private.embedding_queue;
  found := pg_temp.findings();
  set local session_replication_role = origin;
  perform private.rebuild_search_index();
  return found;
end
$$;
select is(
  pg_temp.found_after_all_and_rebuilding(),
  '{"missing": 1, "surplus": 1, "stale": 1, "misworded": 1, "miscounted": 2, "forgotten": 1}',
  'there are all faults at once'
);
select is(pg_temp.findings(), '{}', 'and after rebuilding there is none');
select is(
  (select model from private.search_entries where profile_id = tests.profile_of('ana')),
  'offline-wordnet-v1',
  'who has a vector of the same text keeps it'
);
update private.search_entries
set model = null;
insert into private.embedding_queue (kind, id)
select 'profile', profile_id from private.search_entries
on conflict do nothing;

-- The report
select isnt(private.describe_search() ->> 'audit_age', null, 'the report says how old the audit is');
update private.search_audit
set amount = 5;
select is(
  private.describe_search() #>> '{audit,missing}',
  '5',
  'by itself it audits nothing'
);
update private.search_audit
set amount = 0;
select is(
  private.report_search(3600)::jsonb - array['oldest', 'audit_age'],
  jsonb_build_object(
    'waiting', 3, 'dead', 0,
    'audit', '{"missing": 0, "surplus": 0, "stale": 0, "misworded": 0, "miscounted": 0, "forgotten": 0}'::jsonb
  ),
  'the report counts what waits: two profiles and the context of ana'
);
update private.embedding_queue
set attempts = 8
where kind = 'context';
update private.embedding_queue
set queued_at = now() - interval '90 seconds'
where id = tests.profile_of('ana');
update private.search_audit
set amount = 7;
select is(
  private.report_search(3600)::jsonb - array['audit', 'audit_age'],
  '{"waiting": 2, "dead": 1, "oldest": 90.000000}',
  'a dead letter is counted by itself, and what waits longest says how long'
);
update private.search_audit
set audited_at = now() - interval '2 minutes';
select is(
  array[private.report_search(3600) #>> '{audit,missing}', private.report_search(60) #>> '{audit,missing}'],
  array['7', '0'],
  'an audit is kept for as long as is asked, and then made anew'
);
