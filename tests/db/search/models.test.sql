-- Vectors of one model are never compared with those of another: a change of model asks for all of them anew, and until they are made
-- people are found by words.
select plan(8);
select tests.make_person('ana');
select tests.make_person('ben');
update public.profiles
set is_searchable = true, city = 'Modelby', biography = 'Zorbing';
update private.search_entries
set model = 'offline-wordnet-v1', embedding = array_fill(0.05, array[384])::extensions.halfvec;
delete from private.embedding_queue;

-- Who is found by a query and the vector that all profiles have, in a model: their names, each with whether vectors were compared.
create function pg_temp.found(by text)
returns setof text
language sql
as $$
  select concat_ws(' ', hit ->> 'name', case when (hit -> '_rankingScoreDetails') ->> 'cosine' is null then 'by words' else 'by both' end)
  from json_array_elements(
    api.search_profiles(
      jsonb_build_object(
        'q', 'zorbing', 'vector', array_fill(0.05, array[384]), 'model', by, 'cities', '["Modelby"]'::jsonb, 'limit', 20, 'offset', 0, 'explain', true
      )
    ) -> 'hits'
  ) as hit
$$;
select set_eq($$ select pg_temp.found('offline-wordnet-v1') $$, array['ana by both', 'ben by both'], 'vectors of the model that is asked for are compared');
select private.adopt_model('offline-wordnet-v1');
select is_empty('select from private.embedding_queue where kind = ''profile''', 'the same model again asks for nothing');

select private.adopt_model('another');
select set_eq(
  'select id from private.embedding_queue where kind = ''profile''',
  array[tests.profile_of('ana'), tests.profile_of('ben')],
  'another model asks for every vector'
);
select set_eq($$ select pg_temp.found('another') $$, array['ana by words', 'ben by words'], 'the vectors of the model before are not compared, alike as they are');
select private.save_embeddings(
  'another',
  (
    select jsonb_build_array(
      jsonb_build_object('kind', 'profile', 'id', profile_id, 'content_hash', content_hash, 'embedding', array_fill(0.05, array[384]))
    )
    from private.search_entries
    where profile_id = tests.profile_of('ana')
  )
);
select set_eq($$ select pg_temp.found('another') $$, array['ana by both', 'ben by words'], 'whoever has a new one is found by both');
select set_eq($$ select pg_temp.found('offline-wordnet-v1') $$, array['ana by words', 'ben by both'], 'and no longer by the old one');
select set_eq('select id from private.embedding_queue where kind = ''profile''', array[tests.profile_of('ben')], 'only the other still waits');
select set_eq($$ select pg_temp.found('never heard of') $$, array['ana by words', 'ben by words'], 'a model that nobody has vectors of compares none');
