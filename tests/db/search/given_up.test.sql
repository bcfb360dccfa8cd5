-- What one model gave up, another tries anew; the same one does not, however often it starts.
select plan(6);
select tests.make_person('ana');
update public.profiles
set is_searchable = true, biography = 'Zorbing quokkas'
where user_id = tests.id_of('ana');
delete from private.embedding_queue
where kind = 'context';

-- As though it were the next day; answers with how many texts there were to make vectors of.
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
  'a text is tried eight times'
);
select private.fail_embeddings(json_build_array(json_build_object('kind', 'profile', 'id', tests.profile_of('ana')))::jsonb, 'too odd');
select private.adopt_model('old');
select is(pg_temp.claim('old'), 0, 'and not again because a process of the same model starts');

select private.adopt_model('new');
select is(
  (select (attempts, last_error, model)::text from private.embedding_queue where kind = 'profile'),
  '(0,,new)',
  'for another model it has a new start'
);
select is(pg_temp.claim('new'), 1, 'and is tried');
select private.adopt_model('new');
select is(
  (select attempts from private.embedding_queue where kind = 'profile'), 1,
  'which counts, whatever starts meanwhile'
);
select is(
  array(select pg_temp.claim('new') from generate_series(1, 8)),
  '{1,1,1,1,1,1,1,0}',
  'until it has been tried eight times by the new one'
);
