-- Other names of places. A profile is indexed under all names of its city and country, so that no search has to look
-- them up, and typing errors, prefixes and filters need nothing of their own.

create table private.search_places (
  names text[] not null,
  adjectives text[] not null default '{}',
  parts text[] not null default '{}'
);
comment on table private.search_places is
  'The names of each place in any language, its adjectives (Dutch) and its districts: all as private.words_of writes
them. Whoever lives in a district lives in the place as well. private.add_place adds one.';
create index search_places_names_idx
  on private.search_places using gin ((names || parts || adjectives)) with (fastupdate = off);
alter table private.search_places enable row level security;

create function private.places_among(candidates text[])
returns text[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return array(
    select distinct sign || candidate
    from private.search_places
    cross join lateral (values ('', names || parts), ('@', adjectives)) as kinds (sign, listed)
    cross join unnest(candidates) as candidate
    where names || parts || adjectives && candidates and candidate = any (listed)
  );
end
$$;
comment on function private.places_among(text[]) is
  'Which of these are names of places, and after an @ which are adjectives of places.';

create function private.other_names_of(value text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- Many write "Lisbon, Portugal".
  written constant text[] := array(
    select array_to_string(private.words_of(part), ' ') from unnest(array[value, split_part(value, ',', 1)]) as part
  );
begin
  return array(
    select name
    from private.search_places
    cross join lateral unnest(names || array(select '@' || adjective from unnest(adjectives) as adjective)) as name
    where names || parts || adjectives && written and names || parts && written
    except
    select unnest(written)
    order by 1
  );
end
$$;
comment on function private.other_names_of(text) is
  'The other names of a city or country, and its adjectives with a sign that no word has: whoever speaks Dutch may live
anywhere.';

create function private.add_place(names text[], adjectives text[] default '{}', parts text[] default '{}')
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  place private.search_places;
begin
  select
    array(select array_to_string(private.words_of(each), ' ') from unnest(names) as each),
    array(select array_to_string(private.words_of(each), ' ') from unnest(adjectives) as each),
    array(select array_to_string(private.words_of(each), ' ') from unnest(parts) as each)
  into place;
  insert into private.search_places select place.*;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and exists (
    select
    from unnest(array[city, country, split_part(city, ',', 1), split_part(country, ',', 1)]) as value
    where array_to_string(private.words_of(value), ' ') = any (place.names || place.parts)
  );
end
$$;
comment on function private.add_place(text[], text[], text[]) is
  'For operators: a place with its other names, adjectives and districts. The profiles of its people are indexed anew.';
