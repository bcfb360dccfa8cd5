-- How well an entry holds the words of a query.

create type private.search_term as (place integer, unit integer, word text, typos integer, exact boolean, phrase tsquery);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for: the place in the query, and the phrase it must stand in, if any.';

create function private.terms_of(query text)
returns private.search_term[]
language sql stable security definer set search_path = ''
as $$
  with parsed as (
    select *, count(*) over (partition by unit) > 1 as together
    from private.parse_query(query)
    where not excluded
  ),
  phrases as (
    select unit, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from parsed
    where together
    group by unit
  )
  select array_agg(row(parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, phrases.phrase)::private.search_term)
  from parsed
  left join phrases using (unit)
  cross join lateral (
    select parsed.word, 0 as typos, true as exact
    where parsed.together or parsed.quoted
    union all
    select expanded.word, expanded.typos, expanded.exact
    from private.expand_word(parsed.word, parsed.unfinished) as expanded
    where not (parsed.together or parsed.quoted)
  ) as meant
$$;
comment on function private.terms_of(text) is 'What a query looks for in the index. Definer, because callers do not read the lexicon.';

create function private.position_cost(distance integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when distance < 2 then distance
    when distance <= 4 then 2
    when distance <= 7 then 3
    when distance <= 11 then 4
    when distance <= 16 then 5
    when distance <= 24 then 6
    when distance <= 64 then 7
    when distance <= 256 then 8
    when distance <= 1024 then 9
    else 10
  end
$$;
comment on function private.position_cost(integer) is
  'How much a word''s distance from where the query has it counts, 0 to 10; the buckets are Meilisearch''s. Without a search_path, to be inlined.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  asked integer,
  allowed integer[],
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, details json)
language plpgsql stable security definer
set search_path = ''
-- Postgres takes what these expressions yield for one row. Planned once for all callers, or joined by nested loops, a search with 800
-- candidates took minutes; so it takes milliseconds.
set plan_cache_mode = 'force_custom_plan'
set enable_nestloop = off
as $$
declare
  -- Looking words up one by one wins until there are about as many as an entry has.
  many constant boolean := cardinality(terms) > 40;
  heaviest constant integer := (select max(weight) from unnest(weights) as weight);
begin
  return query
    with found as (
      select entry.profile_id, term.place, term.typos, term.exact, (spot.value)::integer as spot
      from private.search_entries as entry
      cross join unnest(terms) as term
      cross join lateral jsonb_array_elements(entry.spots -> term.word) as spot
      where not many
        and entry.profile_id = any (ids)
        and (term.phrase is null or entry.words @@ term.phrase)
      union all
      select entry.profile_id, term.place, term.typos, term.exact, (spot.value)::integer
      from private.search_entries as entry
      cross join lateral jsonb_each(entry.spots) as held (word, spots)
      join unnest(terms) as term on term.word = held.word
      cross join lateral jsonb_array_elements(held.spots) as spot
      where many
        and entry.profile_id = any (ids)
        and (term.phrase is null or entry.words @@ term.phrase)
    ),
    fewest as (
      select *, min(found.typos) over (partition by found.profile_id, found.place) as least_typos
      from found
    ),
    best as (
      select *, dense_rank() over (partition by fewest.profile_id order by fewest.place) as nth
      from fewest
      where fewest.typos = fewest.least_typos
    ),
    matched as (
      select
        best.profile_id,
        best.place,
        min(best.typos) as typos,
        bool_or(best.exact) as exact,
        bool_or(best.typos = 0 and best.spot < 1000000) as in_name,
        -- The best attribute, and the best place within it.
        min(
          weights[best.spot / 1000000 + 1] * 100
            + private.position_cost(abs(best.spot % 10000 - (best.place - 1)))
        ) as standing
      from best
      group by best.profile_id, best.place
    ),
    pairs as (
      select one.profile_id, one.place, min(
        least(3, case when other.spot > one.spot then other.spot - one.spot - 1 else one.spot - other.spot end)
      ) as apart
      from best as one
      join best as other
        on other.profile_id = one.profile_id
        and other.place = one.place + 1
        and other.spot / 10000 = one.spot / 10000
      group by one.profile_id, one.place
    ),
    closeness as (
      select pairs.profile_id, sum(3 - apart)::integer as saved
      from pairs
      group by pairs.profile_id
    ),
    openings as (
      -- Texts that begin with the words found, in their order.
      select best.profile_id, best.spot / 10000 as text, count(distinct best.nth) as words
      from best
      where best.exact and best.spot % 10000 = best.nth - 1
      group by best.profile_id, best.spot / 10000
    ),
    tallies as (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.typos)::integer as typos,
        sum(allowed[matched.place])::integer as allowance,
        sum(matched.standing / 100)::integer as attributes,
        sum(matched.standing % 100)::integer as positions,
        count(*) filter (where matched.exact)::integer as exacts,
        count(*) filter (where matched.in_name) = asked as named
      from matched
      group by matched.profile_id
    ),
    opened as (
      select
        openings.profile_id,
        max(case when entry.spots -> '' @> to_jsonb(openings.text * 10000 + tallies.kept) then 3 else 2 end) as exactness
      from openings
      join tallies on tallies.profile_id = openings.profile_id and tallies.kept = openings.words
      join private.search_entries as entry on entry.profile_id = openings.profile_id
      group by openings.profile_id
    ),
    ranks as (
      select
        tallies.*,
        greatest(tallies.allowance, case when kept > 1 then kept else 0 end) + 1 as typo_max,
        3 * (kept - 1) + 1 as proximity_max,
        3 * (kept - 1) - coalesce(closeness.saved, 0) as apart,
        heaviest * kept + 1 as attribute_max,
        10 * kept + 1 as position_max,
        coalesce(opened.exactness, 1) as exactness
      from tallies
      left join opened on opened.profile_id = tallies.profile_id
      left join closeness on closeness.profile_id = tallies.profile_id
    )
    select
      ranks.profile_id,
      1
        - (asked - kept) / asked::double precision
        - ranks.typos / (asked::double precision * typo_max)
        - apart / (asked::double precision * typo_max * proximity_max)
        - attributes / (asked::double precision * typo_max * proximity_max * attribute_max)
        - positions / (asked::double precision * typo_max * proximity_max * attribute_max * position_max)
        - (3 - exactness) / (asked::double precision * typo_max * proximity_max * attribute_max * position_max * 3)
        - case when exactness = 1 then
            (kept - exacts) / (asked::double precision * typo_max * proximity_max * attribute_max * position_max * 3 * (kept + 1))
          else 0 end,
      ranks.named,
      json_build_object(
        'words', json_build_array(kept, asked),
        'typo', json_build_array(typo_max - ranks.typos, typo_max),
        'proximity', json_build_array(proximity_max - apart, proximity_max),
        'attribute', json_build_array(attribute_max - attributes, attribute_max),
        'position', json_build_array(position_max - positions, position_max),
        'exactness', json_build_array(exactness, 3),
        'exactWords', case when exactness = 1 then json_build_array(exacts + 1, kept + 1) end
      )
    from ranks;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'Meilisearch''s keyword score, 0 to 1, of entries that hold some of the terms: 1 - sum over its rules i of (max_i - rank_i) / product of
max_j for j <= i, the closed form of its nested ranks. `asked` is how many words the query has, `allowed` how many errors each may
hold, `weights` the order of the attributes name, interests, city, country, biography, first and last name. Details give [rank, max] of
each rule. Definer, because callers do not read the index.';
