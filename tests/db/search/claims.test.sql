-- What a worker claims is what its next call embeds. So a worker that is killed counts against no other text.
select plan(13);
select tests.make_person(name) from unnest('{ana,ben,cat,dan}'::text[]) as name;
update public.profiles set is_searchable = true, biography = 'Zorbing quokkas';
delete from private.embedding_queue;
insert into private.embedding_queue (kind, id, due_at)
select 'profile', tests.profile_of(name), now() - age * interval '1 minute'
from (values ('ana', 40), ('ben', 30), ('cat', 20), ('dan', 10)) as waiting (name, age);

-- Claims, and returns the names in alphabetical order.
create function pg_temp.claim(max_jobs integer, newest boolean default false) returns text language sql as $$
  select string_agg(users.name, ' ' order by users.name)
  from json_to_recordset(private.claim_embeddings('a model', max_jobs, newest)) as job (kind text, id bigint)
  join public.profiles on profiles.id = job.id
  join public.users on users.id = profiles.user_id
$$;
create function pg_temp.job_of(name text) returns private.embedding_queue language sql as $$
  select job from private.embedding_queue as job where kind = 'profile' and id = tests.profile_of(name)
$$;

-- One after another
select is(pg_temp.claim(1), 'ana', 'a worker claims what is due longest');
select is(
  array(select attempts from private.embedding_queue order by attempts), '{0,0,0,1}',
  'an attempt is counted against that text alone'
);
select is(pg_temp.claim(1), 'ben', 'the next claim gets another text');
select ok(
  (pg_temp.job_of('ana')).due_at between now() + interval '1 second' and now() + interval '1 minute',
  'a text whose worker was killed is due again within a minute'
);

-- Tried before
update private.embedding_queue set due_at = now() - interval '50 minutes', last_error = 'openai 429' where attempts = 1;
select is(pg_temp.claim(64), 'ana', 'a text that was tried before is tried alone');
select is(
  ((pg_temp.job_of('ana')).attempts, (pg_temp.job_of('ana')).last_error)::text, '(2,)', 'a new attempt has no error yet'
);
update private.embedding_queue set due_at = now() - interval '5 minutes' where attempts = 1;
select is(pg_temp.claim(64), 'cat dan', 'untried texts are claimed together, without one that was tried before');
select is(pg_temp.claim(64), 'ben', 'which is next');
select is(pg_temp.claim(64), null, 'then nothing is due');

-- Newest first
update private.embedding_queue set attempts = 0, failures = 0, due_at = now() - interval '1 minute';
update private.embedding_queue set failures = 1, due_at = now() where id = tests.profile_of('ana');
update private.embedding_queue set due_at = now() - interval '1 second' where id = tests.profile_of('cat');
select is(pg_temp.claim(1, true), 'cat', 'after a change the newest untried text is claimed');
select is(pg_temp.claim(64, true), 'ben dan', 'and none that was tried before');

-- Hidden since
update private.embedding_queue set attempts = 0, failures = 0, due_at = now() - interval '1 minute';
update private.embedding_queue set due_at = now() where id = tests.profile_of('dan');
update public.profiles set is_searchable = false where id <> tests.profile_of('dan');
select is(pg_temp.claim(1), 'dan', 'jobs of hidden profiles do not end a claim');
select is(
  (select array_agg(id) from private.embedding_queue where kind = 'profile'), array[tests.profile_of('dan')],
  'and are deleted'
);
