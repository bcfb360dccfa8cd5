-- Which place somebody is in, which places a query names, what lies near them, and how they are loaded.
select plan(18);
create function pg_temp.tags(city text, country text) returns text language sql as $$
  select string_agg(names[1], ', ' order by kind, names[1]) from private.search_places
  where id = any (private.place_tags(city, country)) and kind in ('city', 'district', 'region', 'country')
$$;
create function pg_temp.places(candidate text) returns text language sql as $$
  select string_agg(places.kind || ' ' || places.names[1], ', ' order by places.kind, places.names[1])
  from private.places_named(array[candidate]) as named
  join private.search_places as places on places.id = any (named.ids)
$$;

select is(pg_temp.tags('Lisbon', 'Portugal'), 'lisbon, portugal, lisboa', 'a city lies in its region and country');
select ok(
  array[39, 150] <@ private.place_tags('Lissabon', null) and not 15 = any (private.place_tags('Lissabon', null)),
  'and in Southern Europe and Europe, under any name, but not in Northern Africa'
);
select is(
  array[pg_temp.tags('Paris', null), pg_temp.tags('Paris', 'USA'), pg_temp.tags('Paris, Texas', null)],
  array['paris, france, ile de france, paris', 'paris, united states, texas', 'paris, united states, texas'],
  'of several the largest counts, unless the country or the region is said'
);
select is(pg_temp.tags('Nowhereton', 'Spain'), 'spain', 'where the city is unknown, the country counts');
select is(
  array[private.time_zone_of('Porto', 'Portugal'), private.time_zone_of('Kreuzberg', null),
    private.time_zone_of('Ponta Delgada', 'Portugal'), private.time_zone_of('Nowhereton', 'USA')],
  array['Europe/Lisbon', 'Europe/Berlin', 'Atlantic/Azores', null], 'a place has a time zone, if it has one'
);
select is(pg_temp.tags('Nowhereton', null), null, 'and nothing where that is unknown');
select is(pg_temp.tags('Sicily', null), 'italy, sicilia', 'a region may stand for a city');
select is(pg_temp.tags('Edinburgh', 'Scotland'), pg_temp.tags('Edinburgh', 'UK'), 'Scotland is a country to some');
select is(
  array[pg_temp.tags('Kreuzberg', null), pg_temp.tags('New York', 'United States')],
  array['berlin, germany, kreuzberg, berlin', 'new york city, united states, new york'],
  'a district lies in its city, and New York is a city first'
);

select is(
  array[pg_temp.places('lisboa'), pg_temp.places('west africa'), pg_temp.places('dutch')],
  array['city lisbon, region lisboa', 'area western africa', 'country netherlands'],
  'names in other languages, areas and adjectives are known'
);
select is(pg_temp.places('zorbing'), null, 'other words are none');
select is(
  (
    select array_agg(candidate || case when is_adjective then ' adjective' else '' end order by candidate)
    from private.places_named('{nice,lisbon,polish,dutch,sofia,reading,china,brittany,us,uk}')
    where is_ambiguous
  ),
  array['brittany', 'nice', 'polish adjective', 'reading', 'sofia', 'us'],
  'names that are words or given names are marked'
);

select is(
  array(
    select names[1] from private.search_places
    where names[1] in ('sintra', 'setubal', 'porto', 'lisbon') and (id = 2267057 or parents @> array[2264397])
      and id = any (private.places_within(array[2267057], 100)) and kind = 'city'
    order by 1
  ),
  array['lisbon', 'setubal', 'sintra'], 'within 100 km of Lisbon is Setúbal, and Porto is not'
);
select is(private.places_within(array[2264397], 100), array[2264397], 'a country has nothing near it');
select ok(
  4032402 = any (private.places_within(array[2198148], 1000)),
  'what is near across the 180th meridian is near: from Suva to Nuku‘alofa'
);

select is(
  (
    select count(*) from private.search_places
    where id % 40 = 0
      and names || adjectives
        <> array(select array_to_string(private.words_of(name), ' ') from unnest(names || adjectives) as name)
  ),
  0::bigint, 'the file is folded as the database folds: else build it again (embedder/places/main.ts)'
);
select tests.make_person('ana');
update public.profiles
set is_searchable = true, city = 'Altquill', country = 'Quillonia'
where id = tests.profile_of('ana');
select private.add_place(names => '{Altquill,Quill City}', parents => '{2264397}', adjectives => '{Quillish}');
select is(
  array[pg_temp.tags('quill city', null), pg_temp.places('quillish')], array['altquill, portugal', 'city altquill'],
  'a place that an operator adds lies in all that its country lies in'
);
select private.load_places(E'# a comment\n1\tarea\t\tquillworld\t\t\t\t\t\n2\tcountry\t1\tquillonia\t\tquillonian\t\t\t\n'
  || E'3\tcity\t2\tnice|nizza\tnice\t\t1.5\t-2\t70\n');
select is(
  array(
    select concat_ws(' ', kind, parents, names, ambiguous, adjectives, latitude, longitude, population)
    from private.search_places order by id
  ),
  array[
    'area {} {quillworld} {} {}', 'country {1} {quillonia} {} {quillonian}',
    'city {1,2} {nice,nizza} {nice} {} 1.5 -2 70',
    (
      select concat_ws(' ', kind, parents, names, ambiguous, adjectives)
      from private.search_places where id = 1000000000
    )
  ],
  'loading replaces all places but the operator''s'
);
