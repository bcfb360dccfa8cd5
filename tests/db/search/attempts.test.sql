-- A text that one model failed to embed is tried again by another model, and not by the same one, however often it
-- starts.
select plan(11);
select tests.make_person('ana');
update public.profiles set is_searchable = true, biography = 'Zorbing quokkas' where user_id = tests.id_of('ana');
delete from private.embedding_queue where kind = 'context';

-- Claims all jobs as if they were due, and returns how many there were.
create function pg_temp.claim(model text) returns integer language sql as $$
  update private.embedding_queue set due_at = now();
  select json_array_length(private.claim_embeddings(model, 64));
$$;

select private.adopt_model('old');
select is(
  array(select pg_temp.claim('old') from generate_series(1, 9)), '{1,1,1,1,1,1,1,1,0}', 'a job has eight attempts'
);
create function pg_temp.fail(reason text, refused boolean) returns void language sql as $$
  select private.fail_embeddings(
    json_build_array(json_build_object('kind', 'profile', 'id', tests.profile_of('ana')))::jsonb, reason, refused
  )
$$;
select pg_temp.fail('too odd', true);
select private.adopt_model('old');
select is(pg_temp.claim('old'), 0, 'it gets no more when another process of the same model starts');

select private.adopt_model('new');
select is(
  (select (attempts, last_error, model)::text from private.embedding_queue where kind = 'profile'), '(0,,new)',
  'another model resets its attempts'
);
select is(pg_temp.claim('new'), 1, 'another model can claim it');
select private.adopt_model('new');
select is(
  (select attempts from private.embedding_queue where kind = 'profile'), 1,
  'that attempt still counts after another process has started'
);
select is(
  array(select pg_temp.claim('new') from generate_series(1, 8)), '{1,1,1,1,1,1,1,0}',
  'the new model has eight attempts, too'
);

-- An outage of the provider, however long it lasts, makes no dead letters.
create function pg_temp.outage(model text) returns text language sql as $$
  select pg_temp.claim(model);
  select pg_temp.fail('openai RateLimitError 429', false);
  select format('%s attempts, due in %s s', attempts, round(extract(epoch from due_at - now())))
  from private.embedding_queue
  where kind = 'profile';
$$;
select private.adopt_model('third');
select is(
  array(select pg_temp.outage('third') from generate_series(1, 20)),
  array(
    select format('0 attempts, due in %s s', least(30 * 2 ^ round, 960))
    from generate_series(0, 19) as round
  ),
  'failures of the provider count no attempts, and the next attempt waits longer up to 16 minutes'
);
select is(json_array_length(private.claim_embeddings('third', 64)), 0, 'until then nobody tries');
select is(
  array(
    select pg_temp.claim('third')
    from generate_series(1, 8), lateral (select pg_temp.fail('openai BadRequestError 400', true)) as failed
  ),
  '{1,1,1,1,1,1,1,1}',
  'after the outage it still has eight attempts'
);
select pg_temp.fail('openai BadRequestError 400', true);
select is(pg_temp.claim('third'), 0, 'refused by itself eight times, it is a dead letter');
update public.profiles set biography = 'Zorbing wombats' where user_id = tests.id_of('ana');
select is(
  (select (attempts, failures)::text from private.embedding_queue where kind = 'profile'), '(0,0)',
  'another text starts again'
);
