-- What the text of a search box may go on to. Searches themselves do not use it.

create table private.search_completions (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  keys tsvector not null
);
comment on table private.search_completions is
  'What each entry completes: each value from each of its first eight words on, folded, behind its kind. Rejected: an
index on the entries, which each saved embedding would write again (8 ms instead of 5.5); private.search_words, where a
letter begins many words of biographies (four times as long).';
create index search_completions_keys_idx on private.search_completions using gin (keys) with (fastupdate = off);
alter table private.search_completions enable row level security;

create function private.complete(parts text[], before text, hidden_ids bigint[], max_results integer)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select json_object_agg(kind, array(
      select before || (array_agg(value order by holders desc, value collate "C"))[1]
      from (
        select value, count(*) as holders
        from (
          select profile_id
          from private.search_completions
          where keys @@ prefixes and profile_id <> all (hidden_ids)
          limit 200
        ) as found
        join private.search_entries using (profile_id)
        cross join lateral unnest(
          case kind when 'names' then array[name] when 'cities' then array[city] else interests end
        ) as value
        group by value
      ) as spellings
      cross join lateral (select private.fold(trim(value)) as folded offset 0) as keys
      -- Of a profile's interests, those that are meant. A name is typed from its beginning.
      where case kind when 'interests' then not exists (
          select from unnest(parts) as part
          where ' ' || array_to_string(private.words_of(value), ' ') not like '% ' || part || '%'
        ) else kind <> 'names' or before = '' end
      group by folded
      order by starts_with(folded, parts[1]) desc, sum(holders) desc, folded
      limit max_results
    ))
    from unnest('{interests,cities,names}'::text[]) as kind
    cross join lateral (
      select private.all_of((private.lexeme(left(kind || ' ' || part, 60)) || ':*')::tsquery) as prefixes
      from unnest(parts) as part
    ) as typed
  );
end
$$;
comment on function private.complete(text[], text, bigint[], integer) is
  'Values that go on from each of the typed parts, at their beginning or from a later word, after what is written
before: {interests, cities, names}. First those that begin with them, then the most frequent.';

create function private.complete_places(typed text, max_results integer)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select concat_ws(
      ', ', found.name, case when count(*) over (partition by found.name, country.name) > 1 then region.name end,
      country.name
    )
    from (
      select *
      from private.search_places
      where kind = 'city' and name is not null
        and typed <> '' and '|' || array_to_string(names, '|') like '%|' || typed || '%'
      order by population desc nulls last, id
      limit max_results
    ) as found
    left join lateral (
      select name
      from private.search_places
      where id = any (found.parents) and kind = 'region'
      order by cardinality(parents) desc
      limit 1
    ) as region on true
    left join lateral (
      select name from private.search_places where id = any (found.parents) and kind = 'country' limit 1
    ) as country on true
    order by population desc nulls last, id
  );
end
$$;
comment on function private.complete_places(text, integer) is
  'The largest cities of the world of which a folded name begins so, as "Lisbon, Portugal", with the region where two of
them have one name. It reads all places, which took PGlite 33 ms: too seldom asked for an index.';

create function api.complete_search(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
set enable_seqscan = off set plan_cache_mode = 'force_generic_plan'
as $$
declare
  max_results constant integer := (request ->> 'limit')::integer;
  words constant text[] := private.words_of(request ->> 'q');
  hidden_ids constant bigint[] := private.hidden_profiles_of(private.my_id());
  completed json := json_build_object('interests', '[]'::json, 'cities', '[]'::json, 'names', '[]'::json);
  none constant jsonb := completed;
  before text := '';
  parts text[];
begin
  if (request ->> 'places')::boolean then
    return jsonb_set(none, '{cities}', to_jsonb(private.complete_places(array_to_string(words, ' '), max_results)));
  end if;
  for attempt in 1..3 loop
    if attempt = 1 then
      parts := array[array_to_string(words, ' ')];
    elsif attempt = 2 then
      -- Each word for itself, as a search would read it: Zoe Lop(ez) of Zoe Maria Lopez, obr(ien), hikng.
      parts := array(
        select coalesce((
          select meant
          from private.corrections_of(piece, true) as meant
          where (private.word_counts(array[piece || '*'])).holders = 0
          limit 1
        ), piece)
        from unnest(words[:10]) as word
        cross join unnest(coalesce(
          case when not private.is_listed(word) then private.split_of(word) end, array[word]
        )) as piece
      );
    else
      -- The last word, after what is written, if it is long enough to mean something: hiking in Lis(bon).
      before := substring(request ->> 'q' from '^.*\s');
      parts := array[array_to_string(private.words_of(substring(request ->> 'q' from '\S\s+(\S{3,})$')), ' ')];
    end if;
    exit when parts = '{""}';
    completed :=
      private.complete(parts => parts, before => before, hidden_ids => hidden_ids, max_results => max_results);
    exit when completed::jsonb <> none;
  end loop;
  return completed;
end
$$;
comment on function api.complete_search(jsonb) is
  'What the text of a search box, {q, limit}, may go on to: {interests, cities, names} of profiles that the caller can
find; with places: true, {cities} of the world. Definer, as api.search_profiles.';
