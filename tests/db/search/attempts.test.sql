-- A text that one model failed to embed is tried again by another model, and not by the same one, however often it
-- starts.
select plan(6);
select tests.make_person('ana');
update public.profiles
set is_searchable = true, biography = 'Zorbing quokkas'
where user_id = tests.id_of('ana');
delete from private.embedding_queue
where kind = 'context';

-- Claims all jobs as if they were due, and returns how many there were.
create function pg_temp.claim(model text)
returns integer
language sql
as $$
  update private.embedding_queue set due_at = now();
  select json_array_length(private.claim_embeddings(model, 64));
$$;

select private.adopt_model('old');
select is(
  array(select pg_temp.claim('old') from generate_series(1, 9)),
  '{1,1,1,1,1,1,1,1,0}',
  'a job has eight attempts'
);
select private.fail_embeddings(
  json_build_array(json_build_object('kind', 'profile', 'id', tests.profile_of('ana')))::jsonb, 'too odd'
);
select private.adopt_model('old');
select is(pg_temp.claim('old'), 0, 'it gets no more when another process of the same model starts');

select private.adopt_model('new');
select is(
  (select (attempts, last_error, model)::text from private.embedding_queue where kind = 'profile'),
  '(0,,new)',
  'another model resets its attempts'
);
select is(pg_temp.claim('new'), 1, 'another model can claim it');
select private.adopt_model('new');
select is(
  (select attempts from private.embedding_queue where kind = 'profile'), 1,
  'that attempt still counts after another process has started'
);
select is(
  array(select pg_temp.claim('new') from generate_series(1, 8)),
  '{1,1,1,1,1,1,1,0}',
  'the new model has eight attempts, too'
);
