-- The audit finds nothing if the index is in sync, and every kind of fault if it is not.
select plan(20);
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

-- Breaks the index with triggers off, returns the findings, and rolls back.
create function pg_temp.findings_after(break text)
returns jsonb
language plpgsql
as $$
begin
  set local session_replication_role = replica;
  execute break;
  raise sqlstate 'TRIED' using message = pg_temp.findings()::text;
exception
  when sqlstate 'TRIED' then
    return sqlerrm::jsonb;
end
$$;

select is(pg_temp.findings(), '{}', 'an index in sync has no findings');
select set_eq(
  'select json_object_keys(private.audit_search_index())',
  array['missing', 'surplus', 'stale', 'misworded', 'unlisted', 'forgotten'],
  'each kind of fault is counted'
);
select is(pg_temp.findings_after(break), findings, format('the audit finds %s', fault))
from (
  values
    (
      'a missing entry',
      $$ insert into public.users (name, email) values ('Cat', 'cat@tests.example');
         insert into public.profiles (user_id, is_searchable) values (tests.id_of('cat'), true) $$,
      '{"missing": 1}'::jsonb
    ),
    (
      'an entry of a hidden profile',
      $$ update public.profiles set is_searchable = false where id = tests.profile_of('ana') $$, '{"surplus": 1}'
    ),
    (
      'an entry of a deactivated user',
      $$ update public.users set is_active = false where id = tests.id_of('ana') $$, '{"surplus": 1}'
    ),
    (
      'an old name',
      $$ update public.users set name = 'Zoe' where id = tests.id_of('ana') $$, '{"stale": 1, "misworded": 1}'
    ),
    (
      'an old city',
      $$ update public.profiles set city = 'Elsewhere' where id = tests.profile_of('ana') $$,
      '{"stale": 1, "misworded": 1}'
    ),
    (
      'an old image',
      $$ update public.profiles set image_url = 'https://x.example' where id = tests.profile_of('ana') $$,
      '{"stale": 1}'
    ),
    (
      'an extra interest',
      $$ delete from public.profile_interests where interest_id = 1 $$, '{"stale": 1, "misworded": 1}'
    ),
    (
      'an old first name',
      $$ update public.profiles set first_name = 'Zoe' where id = tests.profile_of('ana') $$, '{"misworded": 1}'
    ),
    (
      'other words',
      $$ update private.search_words set words = '' where profile_id = tests.profile_of('ana') $$,
      '{"misworded": 1}'
    ),
    (
      'an entry without words',
      $$ delete from private.search_words where profile_id = tests.profile_of('ana') $$, '{"misworded": 1}'
    ),
    (
      'a word that the lexicon lacks',
      $$ delete from private.search_lexicon where word = 'zorbing' $$, '{"unlisted": 1}'
    ),
    (
      'entries without an embedding that are not queued',
      $$ delete from private.embedding_queue where kind = 'profile' $$, '{"forgotten": 2}'
    )
) as faults (fault, break, findings);

-- Repair
create function pg_temp.break_and_rebuild()
returns jsonb
language plpgsql
as $$
declare
  found jsonb;
begin
  set local session_replication_role = replica;
  update private.search_entries set model = 'offline-wordnet-v3';
  update public.users set name = 'Zoe' where id = tests.id_of('ana');
  update public.profiles set is_searchable = false where id = tests.profile_of('ben');
  insert into public.users (name, email) values ('Cat', 'cat@tests.example');
  insert into public.profiles (user_id, is_searchable) values (tests.id_of('cat'), true);
  update private.search_words set words = '';
  delete from private.search_lexicon where word = 'zorbing';
  insert into private.search_lexicon values ('gone', 1, 0), ('quokkas', 1, 0);
  delete from private.embedding_queue;
  found := pg_temp.findings();
  set local session_replication_role = origin;
  perform private.rebuild_search_index();
  return found;
end
$$;
select is(
  pg_temp.break_and_rebuild(),
  '{"missing": 1, "surplus": 1, "stale": 1, "misworded": 1, "forgotten": 1}',
  'the audit finds all faults at once'
);
select is(pg_temp.findings(), '{}', 'the audit finds nothing after a rebuild');
select is_empty(
  $$
    select word from private.search_lexicon where word in ('gone', 'quokkas')
    group by word having word = 'gone' or count(*) > 1
  $$,
  'a rebuild counts the words'
);
select is(
  (select model from private.search_entries where profile_id = tests.profile_of('ana')),
  'offline-wordnet-v3',
  'a rebuild keeps the embedding of an unchanged text'
);
update private.search_entries
set model = null;
insert into private.embedding_queue (kind, id)
select 'profile', profile_id from private.search_entries
on conflict do nothing;

-- The report
select is(
  private.describe_search()::jsonb - 'oldest',
  '{"waiting": 3, "dead": 0}',
  'the report counts the queue: two profiles and the context of ana'
);
update private.embedding_queue
set attempts = 8
where kind = 'context';
update private.embedding_queue
set queued_at = now() - interval '90 seconds'
where id = tests.profile_of('ana');
select is(
  private.describe_search()::jsonb,
  '{"waiting": 2, "dead": 1, "oldest": 90.000000}',
  'the report counts dead letters separately, and has the age of the oldest job'
);
