-- A rebuild makes an index good that anything has broken.
select plan(7);
select tests.make_person('ana');
select tests.make_person('ben');
update public.profiles set is_searchable = true, city = 'Qwxburg', biography = 'Zorbing quokkas';
insert into public.profile_interests (profile_id, interest_id)
values (tests.profile_of('ana'), 1), (tests.profile_of('ana'), 2);

create function pg_temp.break_and_rebuild() returns void language plpgsql as $$
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
  set local session_replication_role = origin;
  perform private.rebuild_search_index();
end
$$;
select lives_ok('select pg_temp.break_and_rebuild()', 'a broken index is rebuilt');
select results_eq(
  $$ select name, words @@ 'zorbing <-> quokkas', words @@ 'zoe' from private.search_entries
     join private.search_words using (profile_id) order by name $$,
  $$ values ('Cat', false, false), ('Zoe', true, true) $$,
  'it has the searchable profiles, as they are'
);
select is_empty(
  $$
    select word from private.search_lexicon where word in ('gone', 'quokkas', 'zorbing')
    group by word having word = 'gone' or count(*) > 1
    union all
    select 'zorbing' where not exists (select from private.search_lexicon where word = 'zorbing')
  $$,
  'it counts the words'
);
select is(
  (select model from private.search_entries where profile_id = tests.profile_of('ana')), 'offline-wordnet-v3',
  'it keeps the embedding of an unchanged text'
);
select results_eq(
  $$ select kind, id from private.embedding_queue order by 1, 2 $$,
  $$
    values ('context', tests.id_of('ana')), ('profile', tests.profile_of('cat'))
  $$,
  'it queues what has no embedding'
);
update private.search_entries set model = null;
insert into private.embedding_queue (kind, id)
select 'profile', profile_id from private.search_entries on conflict do nothing;

-- The report
select is(
  private.describe_search()::jsonb - 'oldest', '{"waiting": 3, "dead": 0}',
  'the report counts the queue: two profiles and the context of ana'
);
update private.embedding_queue set attempts = 8, queued_at = now() - interval '1 hour' where kind = 'context';
update private.embedding_queue set queued_at = now() - interval '90 seconds' where id = tests.profile_of('ana');
select is(
  private.describe_search()::jsonb, '{"waiting": 2, "dead": 1, "oldest": 90.000000}',
  'the report counts dead letters separately, and has the age of the oldest job'
);
