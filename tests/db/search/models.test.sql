-- Embeddings of different models are never compared. A new model needs all embeddings again; until then, profiles are
-- found by words.
select plan(8);
select tests.make_person('ana');
select tests.make_person('ben');
update public.profiles set is_searchable = true, city = 'Modelby', biography = 'Zorbing';
update public.users set bio = 'Zorbing' where id = tests.id_of('ana');
update private.search_entries
set model = 'offline-wordnet-v3', embedding = array_fill(0.05, array[384])::extensions.halfvec;
update private.search_contexts set model = 'offline-wordnet-v3';
delete from private.embedding_queue;

-- Searches with the vector that all profiles have. Returns the names of the hits, each with whether embeddings were
-- compared.
create function pg_temp.hits_with(model text) returns setof text language sql as $$
  select concat_ws(
    ' ', hit ->> 'name',
    case when (hit -> '_rankingScoreDetails') ->> 'cosine' is null then 'by words' else 'by both' end
  )
  from json_array_elements(
    api.search_profiles(jsonb_build_object(
      'words', tests.words('zorbing'), 'vector', array_fill(0.05, array[384]), 'model', model,
      'cities', '["Modelby"]'::jsonb, 'limit', 20, 'offset', 0, 'explain', true
    )) -> 'answer' -> 'hits'
  ) as hit
$$;
select set_eq(
  $$ select pg_temp.hits_with('offline-wordnet-v3') $$, array['ana by both', 'ben by both'],
  'embeddings of the requested model are compared'
);
select private.adopt_model('offline-wordnet-v3');
select is_empty('select from private.embedding_queue', 'adopting the same model again queues nothing');

select private.adopt_model('another');
select set_eq(
  'select concat_ws('' '', kind, id) from private.embedding_queue',
  array['context ' || tests.id_of('ana'), 'profile ' || tests.profile_of('ana'), 'profile ' || tests.profile_of('ben')],
  'adopting another model queues every profile and context'
);
select set_eq(
  $$ select pg_temp.hits_with('another') $$, array['ana by words', 'ben by words'],
  'identical embeddings of the previous model are not compared'
);
select private.save_embeddings(
  'another',
  (
    select jsonb_build_array(jsonb_build_object(
      'kind', 'profile', 'id', profile_id, 'content_hash', content_hash, 'embedding', array_fill(0.05, array[384])
    ))
    from private.search_entries
    where profile_id = tests.profile_of('ana')
  )
);
select set_eq(
  $$ select pg_temp.hits_with('another') $$, array['ana by both', 'ben by words'],
  'a profile with a new embedding is found by both'
);
select set_eq(
  $$ select pg_temp.hits_with('offline-wordnet-v3') $$, array['ana by words', 'ben by both'],
  'and by words alone with the previous model'
);
select set_eq(
  'select id from private.embedding_queue where kind = ''profile''', array[tests.profile_of('ben')],
  'only the other profile is still queued'
);
select set_eq(
  $$ select pg_temp.hits_with('unknown') $$, array['ana by words', 'ben by words'],
  'an unknown model compares no embeddings'
);
