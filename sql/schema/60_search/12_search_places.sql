-- The places of the world. A profile is tagged with the place that it is in and with all that this lies in, so that a
-- place in a query or a filter is one condition. The rows are data: private.load_places reads sql/data/places.tsv.

create table private.search_places (
  id integer primary key,
  kind text not null check (kind in ('area', 'country', 'region', 'city', 'district')),
  parents integer[] not null,
  names text[] not null,
  ambiguous text[] not null default '{}',
  adjectives text[] not null default '{}',
  latitude real,
  longitude real,
  population integer,
  time_zone text,
  name text
);
comment on table private.search_places is
  'Places: their names in any language and adjectives (Dutch), as private.words_of writes them; those of them that are
also words or given names (Nice, Sofia); all that they lie in; `time_zone` where what they lie in has none for all of
it; `name` as it is printed. Ids are of GeoNames, or of UN M49 for parts of the world; from 1,000,000,000 on the
operator''s.';
create index search_places_names_idx on private.search_places using gin ((names || adjectives)) with (fastupdate = off);
create index search_places_latitude_idx on private.search_places (latitude);
alter table private.search_places enable row level security;

create table private.loaded_data (
  name text primary key,
  checksum text not null
);
comment on table private.loaded_data is 'Which data files were loaded: the MD5 of each.';
alter table private.loaded_data enable row level security;

create function private.folded_parts(value text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select array_to_string(private.words_of(part), ' ')
    from unnest(value || regexp_split_to_array(value, '[,;/()]| - ')) with ordinality as parts (part, place)
    where part ~ '\S'
    order by place
    limit 6
  );
end
$$;
comment on function private.folded_parts is 'A city or country as it is written, and its parts: Lisbon, Portugal.';

create function private.place_tags(city text, country text)
returns integer[]
language plpgsql stable security invoker set search_path = ''
set enable_seqscan = off set plan_cache_mode = 'force_generic_plan'
as $$
declare
  written constant text[] := private.folded_parts(city);
  written_country constant text[] := private.folded_parts(country);
  -- Somebody's country may be Scotland, which is a region.
  countries constant integer[] := array(
    select id
    from private.search_places
    where names || adjectives && written_country and names && written_country and kind in ('country', 'region')
    order by kind
  );
  found private.search_places;
begin
  select places.* into found
  from private.search_places as places
  cross join lateral (select min(array_position(written, name)) from unnest(names) as name) as matches (part)
  where names || adjectives && written and names && written
    and (cardinality(countries) = 0 or id = any (countries) or parents && countries)
  order by
    matches.part,
    -- In "Portland, Oregon" the rest tells which one.
    cardinality(written) > 2 and exists (
      select from private.search_places as wider
      where wider.id = any (places.parents) and wider.names && written[3:]
    ) desc,
    case
      when kind in ('city', 'district') then 1
      -- Whoever writes only Jamaica does not mean the part of New York; whoever lives in Luxembourg in Luxembourg does.
      when kind = 'country' then case when cardinality(countries) = 0 then 1 else 3 end
      else 2
    end,
    population desc nulls last,
    id
  limit 1;
  if found.id is null then
    select places.* into found from private.search_places as places where id = countries[1];
  end if;
  return array(select distinct tag from unnest(found.id || found.parents) as tag where tag is not null order by tag);
end
$$;
comment on function private.place_tags(text, text) is
  'The place of a profile, which is the largest of its name in the country, and all that it lies in.';

create function private.time_zone_of(city text, country text)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select time_zone
    from private.search_places
    where id = any (private.place_tags(city, country)) and time_zone is not null
    order by array_position('{district,city,region,country}', kind)
    limit 1
  );
end
$$;
comment on function private.time_zone_of(text, text) is
  'The time zone of a profile''s place by its IANA name; null if it is unknown.';

create type private.place_name as (candidate text, ids integer[], is_adjective boolean, is_ambiguous boolean);
comment on type private.place_name is
  'A name or adjective of these places, and whether it is also a word or a given name.';

create function private.places_named(candidates text[])
returns setof private.place_name
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return query
    select
      phrase, array_agg(id order by population desc nulls last, id), kinds.adjectival, bool_or(phrase = any (ambiguous))
    from private.search_places as places
    cross join lateral (values (false, places.names), (true, places.adjectives)) as kinds (adjectival, listed)
    cross join unnest(candidates) as phrase
    where places.names || places.adjectives && candidates and phrase = any (kinds.listed)
    group by phrase, kinds.adjectival;
end
$$;
comment on function private.places_named(text[]) is 'Which of these folded phrases are names of places.';

create function private.places_within(ids integer[], kilometres double precision)
returns integer[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select unnest(ids)
    union
    select near.id
    from private.search_places as centre
    join private.search_places as near
      on near.latitude between centre.latitude - kilometres / 111.2 and centre.latitude + kilometres / 111.2
    where centre.id = any (ids) and centre.kind in ('city', 'district') and near.kind in ('city', 'district')
      -- The spherical law of cosines, with the mean radius of the Earth.
      and sind(centre.latitude) * sind(near.latitude)
        + cosd(centre.latitude) * cosd(near.latitude) * cosd(near.longitude - centre.longitude)
        >= cos(kilometres / 6371)
  );
end
$$;
comment on function private.places_within(integer[], double precision) is
  'These places, and the cities and districts around those of them that are one.';

create function private.add_place(
  names text[], kind text default 'city', parents integer[] default '{}', adjectives text[] default '{}',
  latitude real default null, longitude real default null, population integer default null
)
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  place private.search_places;
begin
  insert into private.search_places
  select
    greatest(max(places.id) + 1, 1000000000), add_place.kind,
    array(
      select distinct parent
      from unnest(add_place.parents) as given
      left join private.search_places as above on above.id = given
      cross join unnest(given || above.parents) as parent
    ),
    array(select array_to_string(private.words_of(name), ' ') from unnest(add_place.names) as name), array[]::text[],
    array(select array_to_string(private.words_of(adjective), ' ') from unnest(add_place.adjectives) as adjective),
    add_place.latitude, add_place.longitude, add_place.population, null, add_place.names[1]
  from private.search_places as places
  returning * into place;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and private.folded_parts(city) || private.folded_parts(country) && place.names;
  return place.id;
end
$$;
comment on function private.add_place is 'For operators: adds a place, indexes its people anew, and returns its id.';

create function private.load_places(file text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  names_index constant text := pg_get_indexdef('private.search_places_names_idx'::regclass);
begin
  -- It is built afterwards. This also locks the table: two stacks that start on one database load one after the other.
  drop index private.search_places_names_idx;
  delete from private.search_places where id < 1000000000;
  with recursive rows as materialized (
    select
      columns[1]::integer as id, columns[2] as kind, string_to_array(columns[3], ',')::integer[] as parents,
      string_to_array(columns[4], '|') as names, string_to_array(columns[5], '|') as ambiguous,
      string_to_array(columns[6], '|') as adjectives, nullif(columns[7], '')::real as latitude,
      nullif(columns[8], '')::real as longitude, nullif(columns[9], '')::integer as population,
      nullif(columns[10], '') as time_zone, columns[11] as name
    from string_to_table(file, E'\n') as line
    -- Without the offset each column would split the line anew.
    cross join lateral (select string_to_array(line, E'\t') offset 0) as split (columns)
    where line <> '' and line not like '#%'
  ),
  -- The file has the nearest parents only.
  above as (
    select id, unnest(parents) as parent from rows
    union
    select above.id, unnest(rows.parents) from above join rows on rows.id = above.parent
  )
  insert into private.search_places
  select
    id, kind, coalesce(ancestors, '{}'), names, ambiguous, adjectives, latitude, longitude, population, time_zone,
    name
  from rows
  left join (select id, array_agg(parent order by parent) as ancestors from above group by id) as listed using (id);
  execute names_index;
  insert into private.loaded_data (name, checksum)
  values ('places', md5(file))
  on conflict (name) do update set checksum = excluded.checksum;
end
$$;
comment on function private.load_places(text) is
  'Replaces all places but the operator''s by sql/data/places.tsv. Searches wait for a second.';
