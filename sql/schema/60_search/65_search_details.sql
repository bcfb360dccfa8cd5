-- What else a search says if it is asked to: the part of a biography that shows the words, facet counts, and nearness
-- to one profile.

create type private.snippet as (
  text text,
  start integer,
  length integer
);
comment on type private.snippet is
  'A part of a biography. `start` and `length` say which characters, without the ellipses.';

create function private.snippet_of(biography text, matches private.text_match[])
returns private.snippet
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  max_length constant integer := 160;
  -- With an ellipsis at each end.
  room constant integer := max_length - 2;
  size constant integer := char_length(biography);
  part_of_word constant text := '[^[:space:]' || private.unspaced_letters() || ']+';
  -- Accents, and the vowel signs of the scripts without spaces.
  combining constant text := '[\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece'
    || '\u102b-\u103e\u17b6-\u17d3\u3099\u309a]';
  first integer := 0;
  last integer := 0;
  start integer;
  ending integer;
  whole integer;
begin
  if biography is null then
    return null;
  elsif size <= max_length then
    return row(biography, 0, size)::private.snippet;
  end if;
  -- From the match after which most words of the query follow, near enough for the last one to be whole. In one pass:
  -- with a join of all pairs, 100 biographies of a thousand matches each took a minute.
  select window_start, window_end
  into first, last
  from (
    select
      match.start as window_start,
      least(match.start + room, max(match.start + match.length) over following) as window_end,
      bit_count((bit_or(1::bigint << match.unit) over following)::bit(64)) as units,
      count(*) over following as matches_found
    from unnest(matches) as match
    window following as (order by match.start range between current row and 100 following)
  ) as windows
  order by units desc, matches_found desc, window_start
  limit 1;
  first := coalesce(first, 0);
  last := coalesce(last, 0);

  start := greatest(0, least(first - (room - (last - first)) / 2, size - room - 1));
  ending := case when start = 0 then room + 1 when start + room + 1 >= size then size else start + room end;
  if start > 0 then
    -- Not from the middle of a word, nor from a space or a mark, unless the match begins there.
    start := start + char_length(substring(
      substr(biography, start + 1, first - start) from '^'
        || case when substr(biography, start, 1) ~ part_of_word then '(?:' || part_of_word || ')?' else '' end
        || '[[:space:]]*' || combining || '*'
    ));
  end if;
  if ending < size then
    whole := ending - char_length(substring(
      substr(biography, last + 1, ending - last) from '[[:space:]]*'
        || case when substr(biography, ending + 1, 1) ~ part_of_word then '(?:' || part_of_word || ')?' else '' end
        || '$'
    ));
    -- A word that fills the snippet is cut.
    ending := case when whole > start then whole else ending end;
    while ending > start + 1 and substr(biography, ending + 1, 1) ~ combining loop
      ending := ending - 1;
    end loop;
  end if;
  return row(
    case when start > 0 then '…' else '' end || substr(biography, start + 1, ending - start)
      || case when ending < size then '…' else '' end,
    start,
    ending - start
  )::private.snippet;
end
$$;
comment on function private.snippet_of(text, private.text_match[]) is
  'The 160 characters of a biography that have the most words of a query, or its beginning if it has none: cut between
words, with an ellipsis, which counts, where text is left out. Null for no biography.';

create function private.highlight_together(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
    with matches as materialized (
      select * from private.text_matches(hits, asked)
    ),
    snippets as materialized (
      select
        hit, body, (snippet).*,
        -- Characters before the snippet, for which it has an ellipsis.
        greatest(0, (snippet).start - 1) as hidden
      from (
        select
          ordinality::integer as hit, body,
          private.snippet_of(body ->> 'biography', coalesce(in_biography, '{}')) as snippet
        from json_array_elements(hits) with ordinality as listed (body, ordinality)
        left join (
          select hit, array_agg(row(matches.*)::private.text_match) as in_biography
          from matches
          where field = 'biography'
          group by hit
        ) as biographies on hit = ordinality
        offset 0
      ) as cut
    ),
    ranges as (
      select hit, field, element, int4range(matches.start, matches.start + matches.length) as range
      from matches
      union all
      select hit, '_snippet', null, int4range(lower(shown) - hidden, upper(shown) - hidden)
      from matches
      join snippets using (hit)
      cross join lateral (
        select int4range(matches.start, matches.start + matches.length)
          * int4range(snippets.start, snippets.start + snippets.length)
      ) as cut (shown)
      where field = 'biography' and not isempty(shown)
    ),
    fields as (
      select hit, field, jsonb_agg(
        jsonb_strip_nulls(jsonb_build_object(
          'index', element, 'start', lower(range), 'length', upper(range) - lower(range)
        ))
        order by element, range
      ) as places
      from (
        select hit, field, element, unnest(range_agg(range)) as range
        from ranges
        group by hit, field, element
      ) as merged
      group by hit, field
    )
    select coalesce(
      json_agg(
        body::jsonb || jsonb_build_object('_snippet', snippets.text, '_matches', coalesce(places, '{}')) order by hit
      ),
      '[]'
    )
    from snippets
    left join (
      select hit, jsonb_object_agg(field, places) as places from fields group by hit
    ) as found using (hit)
  );
end
$$;
comment on function private.highlight_together(json, private.search_query) is
  'What highlight returns, in one step.';

create function private.highlight(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  step json;
  highlighted json[] := array[]::json[];
begin
  -- A hit whose longest biography is full of matches takes 10 to 50 ms, and a page has up to a hundred. Ordinary pages
  -- are one step or two.
  for step in
    select json_agg(body order by ordinality)
    from (
      select body, ordinality, sum(char_length(body::text)) over (order by ordinality) / 10000 as number
      from json_array_elements(hits) with ordinality as listed (body, ordinality)
    ) as numbered
    group by number
    order by number
  loop
    highlighted := highlighted || array(select json_array_elements(private.highlight_together(step, asked)));
    perform private.check_deadline();
  end loop;
  return array_to_json(highlighted);
end
$$;
comment on function private.highlight(json, private.search_query) is
  'The hits with _matches, {field: [{start, length}]} in characters of the field as printed (for interests also
`index`), and _snippet, which is such a field too. Matches that touch are one.';

create function private.facet_distribution(facets text[], ids bigint[])
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
-- Otherwise each spelling is compared with each value, because the plan expects few.
set enable_nestloop = off
as $$
begin
  return (
    with listed as materialized (
      select facet, value, profile_id
      from private.search_entries as entry
      cross join lateral (
        select 'interests' as facet, unnest(entry.interests) as value
        union all
        values ('city', entry.city), ('country', entry.country)
      ) as printed
      where profile_id = any (ids) and facet = any (facets) and trim(value) <> ''
    ),
    -- Folding takes longer than counting, so each spelling is folded once.
    spellings as materialized (
      select
        facet, value, holders, folded, count(*) over (partition by facet, folded) as alternatives,
        row_number() over (partition by facet, folded order by holders desc, value collate "C") as place
      from (
        select facet, value, count(*) as holders, private.facet(facet, value) as folded
        from listed
        group by facet, value
      ) as grouped
    ),
    -- A profile with two spellings counts once. To count all values so was half of the time.
    counted as (
      select facet, folded, count(distinct profile_id) as holders
      from listed
      join (select facet, value, folded from spellings where alternatives > 1) as several using (facet, value)
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from (
        select facet, value, coalesce(counted.holders, spellings.holders) as holders
        from spellings
        left join counted using (facet, folded)
        where place = 1
      ) as named
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';

create function private.like_profile(profile bigint, caller bigint)
returns private.search_entries
language plpgsql stable security invoker set search_path = ''
as $$
declare
  liked private.search_entries;
begin
  select * into liked
  from private.search_entries
  where profile_id = profile and user_id <> all (coalesce(private.blocked_users_of(caller), '{}'));
  if liked.profile_id is null then
    raise sqlstate 'PT404' using message = 'No such profile';
  end if;
  return liked;
end
$$;
comment on function private.like_profile(bigint, bigint) is
  'The profile that a search compares others to. 404 unless it is searchable, its owner active, and no block between
them and the caller.';
