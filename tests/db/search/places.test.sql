-- An operator adds a place, and whoever is there is found by its other names, as soon as anybody elsewhere is not.
select plan(4);
select tests.make_person('ana');
select tests.make_person('ben');
update public.profiles
set is_searchable = true, biography = 'Zorbing',
  city = case id when tests.profile_of('ana') then 'Altquill' else 'Quillonia' end;
create function pg_temp.found(request jsonb)
returns text
language sql
as $$
  select string_agg(hit ->> 'name', ', ' order by hit ->> 'name')
  from json_array_elements(
    api.search_profiles(request || jsonb_build_object('model', 'none', 'limit', 20, 'offset', 0)) -> 'hits'
  ) as hit
$$;
select is(pg_temp.found('{"q": "quillby "}'), null, 'a name that is in no table finds nobody');
select private.add_place(names => '{Quillby,Quill City}', adjectives => '{Quillish}', parts => '{Altquill}');
select is(
  array[pg_temp.found('{"q": "quillby "}'), pg_temp.found('{"q": "quill city "}'), pg_temp.found('{"q": "quillish "}')],
  array['ana', 'ana', 'ana'], 'a district''s people are found by the names of the place and its adjective'
);
select is(
  array[pg_temp.found('{"cities": ["Quill City"]}'), pg_temp.found('{"cities": ["Quillby"], "q": "zorbing"}')],
  array['ana', 'ana'], 'and by a filter'
);
select is(pg_temp.found('{"q": "altquill "}'), 'ana', 'and by the district as before');
