-- Each interest and each sentence of a profile has an embedding beside that of the whole text.
select plan(17);
select tests.make_person('ana');
select tests.make_person('ben');
insert into public.interests (name) select 'Zorbing ' || n from generate_series(1, 50) as n;
create function pg_temp.parts_of(text text, interest_count integer default 0) returns text[] language plpgsql as $$
declare
  ana bigint := tests.profile_of('ana');
begin
  delete from public.profile_interests where profile_id = ana;
  insert into public.profile_interests (profile_id, interest_id)
  select ana, id from public.interests where name like 'Zorbing %' order by id limit interest_count;
  update public.profiles set is_searchable = true, city = null, country = null, biography = text where id = ana;
  return private.entry_parts(ana);
end
$$;

-- Parts
select is(
  pg_temp.parts_of('I cook. Often!  Do you?', 2), array['Zorbing 1', 'Zorbing 2', 'I cook', 'Often', 'Do you'],
  'interests come first, then sentences'
);
select is(
  pg_temp.parts_of(e'Tea at 5.30 p.m\r\n\r\n\tand bread...\n好きです。はい！'),
  array['Tea at 5.30 p.m', 'and bread', '好きです', 'はい'],
  'a line or a full stop of any script ends a sentence, a point within a word does not'
);
select is(pg_temp.parts_of('I cook!'), '{}', 'one sentence alone has the embedding of the whole');
select is(pg_temp.parts_of('... !'), '{}', 'signs alone are no sentence');
select is(pg_temp.parts_of(null), '{}', 'nor is no biography');
select is(pg_temp.parts_of(null, 1), '{}', 'one interest alone has the embedding of the whole');
select is(
  (
    select (cardinality(parts), parts[1], parts[32] ~ 'S 99$')::text
    from pg_temp.parts_of((select string_agg('S ' || n, '. ') from generate_series(1, 99) as n), 50) as parts
  ),
  '(32,"Zorbing 1. Zorbing 10. Zorbing 11. Zorbing 12. Zorbing 13",t)',
  'of more than 32 parts neighbours are joined'
);
select is(
  (
    select array_agg(substr(sentence, 3) order by substr(sentence, 3)::integer)
    from unnest(pg_temp.parts_of((select string_agg('S ' || n, '. ') from generate_series(1, 99) as n), 3)) as part
    cross join lateral regexp_split_to_table(part, '\. ') as sentence
    where sentence like 'S %'
  ),
  (select array_agg(n::text) from generate_series(1, 99) as n),
  'and none is lost'
);

-- Claimed and saved
select pg_temp.parts_of('I cook. I sing.', 1);
delete from private.embedding_queue where kind = 'context';
select is(
  (
    select array_agg((job ->> 'parts')::json ->> 1)
    from json_array_elements(private.claim_embeddings('a model', 64)) as job
    where job ->> 'id' = tests.profile_of('ana')::text
  ),
  '{I cook}',
  'a claim tells the parts'
);
create function pg_temp.save(hash text, variadic parts text[]) returns smallint[] language sql as $$
  insert into private.search_models values ('a model', 0, 1, .5, .5) on conflict do nothing;
  select private.save_embeddings('a model', jsonb_build_array(jsonb_build_object(
    'kind', 'profile', 'id', tests.profile_of('ana'), 'content_hash', hash,
    'embedding', to_json(array_fill(0.1, array[384])), 'parts',
    array(select case when part <> '' then array_fill(part::float, array[384])::extensions.halfvec::text end
      from unnest(parts) as part)
  )));
  select array_agg(place order by place) from private.search_sentences where profile_id = tests.profile_of('ana');
$$;
create function pg_temp.hash() returns text language sql as $$
  select content_hash from private.search_entries where profile_id = tests.profile_of('ana')
$$;
create function pg_temp.owners() returns bigint[] language sql as $$
  select array_agg(profile_id order by profile_id, place) from private.search_sentences
$$;
select is(pg_temp.save(pg_temp.hash(), '.1', '', '.3'), '{1,3}', 'a part without an embedding is left out');
select is(pg_temp.save('another', '.1', '.2', '.3'), '{1,3}', 'embeddings of another text are not saved');
select is(pg_temp.save(pg_temp.hash(), '.1', '.2'), '{1,2}', 'new embeddings replace the old ones');
update public.users set name = 'Anna' where id = tests.id_of('ana');
update public.profiles set is_searchable = true where id = tests.profile_of('ben');
insert into private.search_sentences values (tests.profile_of('ben'), 1, array_fill(0.1, array[384]));
select is(cardinality(pg_temp.owners()), 3, 'a change of something else keeps them');
update public.profiles set biography = 'I cook.' where id = tests.profile_of('ana');
select is(pg_temp.owners(), array[tests.profile_of('ben')], 'a change of the biography deletes one''s own at once');
select pg_temp.save(pg_temp.hash(), '.1');
update public.profiles set is_searchable = false where id = tests.profile_of('ana');
select is(pg_temp.owners(), array[tests.profile_of('ben')], 'a hidden profile has none');
update public.profiles set is_searchable = false where id = tests.profile_of('ben');

-- Measured by its own embeddings, which lie on an arc: profile n at n degrees, its interest half a degree further.
create function pg_temp.at(degrees float) returns extensions.halfvec language sql as $$
  select (array[cosd(degrees), sind(degrees)] || array_fill(0::float, array[382]))::extensions.halfvec
$$;
create function pg_temp.fill(people integer) returns text language sql as $$
  select tests.make_person('p' || n) from generate_series(1, people) as n
  where not exists (select from public.users where name = 'p' || n);
  update public.profiles set is_searchable = true from public.users
  where users.id = user_id and users.name ~ '^p\d';
  insert into private.search_models values ('arc', 0.1, 0.6, 0.3, .5) on conflict do nothing;
  with listed as (select profile_id, row_number() over (order by profile_id) as n from private.search_entries)
  update private.search_entries as entry
  set model = 'arc', embedding = pg_temp.at(n), interests = '{Zorbing}'
  from listed where listed.profile_id = entry.profile_id;
  insert into private.search_sentences
  select profile_id, 1, pg_temp.at(row_number() over (order by profile_id) + .5) from private.search_entries
  on conflict do nothing;
  select private.calibrate_model('arc');
  select (measured_profiles, round(similarity_floor::numeric, 1), round(similarity_threshold::numeric, 1),
    round(similarity_ceiling::numeric, 1))::text
  from private.search_models where name = 'arc';
$$;
select is(pg_temp.fill(19), '(0,0.1,0.3,0.6)', 'nineteen profiles are too few to measure a model');
select is(pg_temp.fill(120), '(120,-0.3,0.9,1.0)', 'with more its similarities follow from its embeddings');
