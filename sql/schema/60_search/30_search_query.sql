-- What a query looks for: its words and phrases, as queries of the index, and how much each of them says.

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  is_prefix boolean
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for, or the beginning of such words. `place` and `unit` are
those of the query word.';

create function private.term_query(term private.search_term)
returns tsquery
language sql immutable parallel safe
as $$
  select (private.lexeme(term.word) || case when term.is_prefix then ':*' else '' end)::tsquery
$$;
comment on function private.term_query(private.search_term) is 'Finds the profiles that have a term.';

create type private.search_unit as (
  unit integer,
  quoted boolean,
  is_phrase boolean,
  places integer[],
  query tsquery,
  holders integer,
  rarity double precision,
  is_named boolean
);
comment on type private.search_unit is
  'A word or phrase to look for. `query` finds the profiles that have it, or what it may stand for. `holders` is about
how many there are, `rarity` how much it says to have it: ln(1 + profiles / holders). `is_named`: above all a name of
people or places.';

create type private.search_query as (
  words private.query_word[],
  terms private.search_term[],
  units private.search_unit[],
  places text[]
);
comment on type private.search_query is
  'A query as private.read_query returns it. `places` are the names of places in it, and their adjectives after an @.';

create aggregate private.any_of(tsquery) (sfunc = tsquery_or, stype = tsquery);
comment on aggregate private.any_of(tsquery) is 'Finds what any of the queries finds; ignores null.';

create aggregate private.all_of(tsquery) (sfunc = tsquery_and, stype = tsquery);
comment on aggregate private.all_of(tsquery) is 'Finds what all of the queries find; ignores null.';

create function private.count_profiles()
returns double precision
language plpgsql stable security invoker set search_path = ''
as $$
declare
  estimate constant real := (select reltuples from pg_class where oid = 'private.search_words'::regclass);
begin
  return case when estimate > 2000 then estimate else (select count(*) from private.search_words) end;
end
$$;
comment on function private.count_profiles() is
  'How many profiles the index has. Beyond 2,000 as the latest vacuum counted them, if there was one.';

create function private.sample_profiles(profiles double precision)
returns tsvector[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case when profiles > 2000 then array(
    select words from private.search_words tablesample system (20000 / profiles) repeatable (0)
  ) end;
end
$$;
comment on function private.sample_profiles(double precision) is
  'The words of about 200 profiles, always the same while the table keeps its size; null if there are at most 2,000.';

-- Without `set search_path`, so that Postgres inlines it: it is called for each candidate and word.
create function private.weight_class(words tsvector, query tsquery)
returns integer
language sql immutable parallel safe
as $$
  -- The best weight decides the order of magnitude of the rank, 1 to 1e-18. To see that there is none takes .1 µs. The
  -- rank may overlook completions, as it takes a word and its prefix for the same: then it is 0, and the class D.
  select case when ts_match_vq(words, query) then
    floor(
      coalesce((1 - log(nullif(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), 0)::double precision)) / 6, 3)
    )::integer
  end
$$;
comment on function private.weight_class(tsvector, tsquery) is
  'The best weight of the words of a query in a profile: 0 for A to 3 for D; null if it has none of them. Takes .4 µs,
where reading all words of the profile takes 15.';

create function private.measure_word(
  query tsquery,
  is_known boolean,
  profiles double precision,
  sample tsvector[],
  out holders integer,
  out is_named boolean
)
language plpgsql stable security invoker
set search_path = ''
-- Postgres would scan the table for common words and stop early, which reads up to six times as much.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  name_values constant double precision[] := array[1, -1, 1, -0.5];
  sampled constant integer := (select count(*) from unnest(sample) as words where words @@ query);
  classes integer[];
  named double precision;
begin
  if sampled >= 30 then
    classes := array(
      select private.weight_class(words, query) from unnest(sample) as words where words @@ query limit 50
    );
  else
    classes := array(
      select private.weight_class(words, query) from private.search_words where words @@ query limit 50
    );
    holders := case
      when cardinality(classes) < 50 then cardinality(classes)
      else (
        select count(*)
        from (
          select from private.search_words where words @@ query limit case when sample is not null then 1000 end
        ) as found
      )
    end;
  end if;
  named := (select sum(name_values[class + 1]) from unnest(classes) as class);
  if holders is null or holders = 1000 and sample is not null then
    holders := greatest(1000, profiles * sampled / nullif(cardinality(sample), 0));
  end if;
  is_named := coalesce(named, 0) > case when is_known then 2 else 0 end;
end
$$;
comment on function private.measure_word(tsquery, boolean, double precision, tsvector[]) is
  'How many profiles have a word: exact below 1,000 and without a sample, but for words that at least 30 of the sampled
profiles have, of which it is the share in the sample. And whether the word is above all the name of people or
places, in fifty profiles that have it. A biography may mention a place, so it counts half. A word that the model
knows, such as Baker, is a name if at least three more have it as one.';

create function private.split_of(typed text, unfinished boolean)
returns text[]
language plpgsql stable security invoker
set search_path = ''
-- Postgres takes the half of the lexicon for a range of it.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  if char_length(typed) < 4 or exists (
    select
    from private.search_lexicon as lexicon
    where lexicon.word >= typed and lexicon.word <= case when unfinished then typed || u&'\+10FFFF' else typed end
  ) then
    return array[typed];
  end if;
  return coalesce(
    (
      select array[first, second]
      from generate_series(1, least(60, char_length(typed) - 2)) as cut
      cross join lateral (select left(typed, cut) as first, substr(typed, cut + 1) as second) as pieces
      -- O'Brien, d'Angelo and l'Aquila are two words.
      where (cut > 1 or first in ('d', 'l', 'o'))
        and exists (select from private.search_lexicon as lexicon where lexicon.word = first)
        and exists (select from private.search_lexicon as lexicon where lexicon.word = second)
        and exists (
          select
          from private.search_words
          where words @@ tsquery_phrase(private.lexeme(first)::tsquery, private.lexeme(second)::tsquery)
        )
      order by abs(2 * cut - char_length(typed))
      limit 1
    ),
    array[typed]
  );
end
$$;
comment on function private.split_of(text, boolean) is
  'The two words that a word which nobody has is written together from, if somebody has them as neighbours; else the
word.';

create function private.read_words(query text, out words private.query_word[], out places text[])
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  loose text[];
begin
  words := array(
    select row(
      unit,
      case when excluded then place when place is not null
        then (count(*) filter (where place is not null) over in_order)::integer end,
      piece, quoted, excluded, unfinished and cardinality(pieces) = 1, (row_number() over (order by position, number))
    )::private.query_word
    from (
      select *, count(*) over (partition by unit) as size from private.parse_query(query)
    ) as part
    cross join lateral (
      -- A split adds a place, and there are bits for twenty.
      select case when size = 1 and place <= 9 and not quoted and not excluded
        then private.split_of(word, unfinished) else array[word] end as pieces
      offset 0
    ) as split
    cross join lateral unnest(pieces) with ordinality as numbered (piece, number)
    window in_order as (partition by excluded order by position, number)
    order by position, number
  );
  loose := array(select word from unnest(words) as part where not quoted and not excluded order by position);
  places := private.places_among(array(
    select array_to_string(loose[first:first + size - 1], ' ')
    from generate_subscripts(loose, 1) as first
    cross join generate_series(1, 4) as size
    where first + size - 1 <= cardinality(loose)
  ));
  -- The longest names first. Each is a unit, like a phrase.
  if exists (select from unnest(places) as name where name like '% %') then
    words := array(
      select row(
        coalesce(named.unit, part.unit), place, word, quoted, excluded, unfinished, position
      )::private.query_word
      from (
        select *, count(*) filter (where not quoted and not excluded) over (order by position) as number
        from unnest(words)
      ) as part
      left join lateral (
        select (select unit from unnest(words) as one where not one.quoted and not one.excluded
          order by position offset first - 1 limit 1) as unit
        from generate_series(number - 3, number) as first
        cross join generate_series(2, 4) as size
        where first > 0 and first + size > number
          and array_to_string(loose[first:first + size - 1], ' ') = any (places)
        order by size desc, first
        limit 1
      ) as named on not quoted and not excluded
      order by position
    );
  end if;
end
$$;
comment on function private.read_words(text) is
  'The words of a query, with those apart that were written together, and each name of a place as one unit; and the
names of places that it has.';

create function private.read_query(query text, known text[] default '{}', reading jsonb default '{}')
returns private.search_query
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  asked private.search_query;
  profiles constant double precision := private.count_profiles();
  sample constant tsvector[] := private.sample_profiles(profiles);
begin
  select words, places into asked.words, asked.places from private.read_words(query);
  asked.terms := array(
    select row(place, unit, term.word, term.typos, term.is_prefix)::private.search_term
    from (
      select *, quoted or count(*) over (partition by unit) > 1 as is_literal
      from unnest(asked.words)
      where not excluded
    ) as parsed
    cross join lateral (
      select parsed.word, 0 as typos, false as is_prefix
      union all
      select parsed.word, 0, true where parsed.unfinished and not parsed.is_literal
      union all
      select '@' || parsed.word, 0, false
      where not parsed.is_literal and '@' || parsed.word = any (asked.places)
        and not coalesce(reading -> 'spoken' ? parsed.word, false)
      union all
      select variant, 0, false
      from jsonb_array_elements_text(coalesce(reading -> 'variants' -> parsed.word, '[]')) as variant
      where not parsed.is_literal
      union all
      -- What was written apart.
      select joined, 0, false
      from unnest(asked.words) as other
      cross join lateral (
        select case when other.place > parsed.place then parsed.word || other.word else other.word || parsed.word end
          as joined
      ) as pair
      where abs(other.place - parsed.place) = 1 and not other.excluded and not other.quoted and not parsed.is_literal
        -- Not exists(): Postgres would hash the whole lexicon.
        and (select lexicon.word from private.search_lexicon as lexicon where lexicon.word = joined limit 1) is not null
      union all
      select corrections.word, corrections.typos, false
      from private.corrections_of(parsed.word, parsed.unfinished) as corrections
      where not parsed.is_literal and parsed.word <> all (asked.places)
    ) as term
    where place is not null
  );
  asked.units := array(
    select row(
      units.unit, quoted, is_phrase, places, written.query, holders,
      ln(1 + greatest(1, profiles) / greatest(1, holders)), either.is_named
    )::private.search_unit
    from (
      select
        unit,
        bool_or(quoted) as quoted,
        count(*) > 1 as is_phrase,
        bool_and(word = any (known)) as is_known,
        bool_or(unfinished) as is_unfinished,
        string_agg(word, ' ' order by position) = any (asked.places) as is_place,
        array_agg(place order by place) filter (where place is not null) as places,
        string_agg(private.lexeme(word), ' <-> ' order by position)::tsquery as phrase
      from unnest(asked.words)
      where not excluded
      group by unit
    ) as units
    cross join lateral (
      select case when is_phrase then phrase else (
        select private.any_of(private.term_query(term)) from unnest(asked.terms) as term where term.unit = units.unit
      ) end as query
      offset 0
    ) as written
    cross join lateral private.measure_word(
      query => written.query, is_known => is_known, profiles => profiles, sample => sample
    ) as measured
    -- Fes is a city, whether or not it may go on as festivals.
    cross join lateral (
      select measured.is_named or is_place and measured.holders = 0 or is_unfinished and not is_phrase and (
        private.measure_word(query => phrase, is_known => is_known, profiles => profiles, sample => sample)
      ).is_named as is_named
    ) as either
    where places is not null
    order by unit
  );
  return asked;
end
$$;
comment on function private.read_query(text, text[], jsonb) is
  'What a query looks for, and how many profiles have each of it. `known` are words of it that the model knows;
`reading` is what the Edge Function has understood: {spoken, variants}.';

create function private.closest_bit(place integer, typos integer)
returns bigint
language sql immutable parallel safe
as $$
  select 1::bigint << (3 * place + typos)
$$;
comment on function private.closest_bit(integer, integer) is
  'A bit for a word of the query and the typing errors of its closest matches in a profile.';

create type private.word_pair as (
  bits bigint,
  none_between tsquery,
  one_between tsquery,
  two_between tsquery
);
comment on type private.word_pair is
  'Two words that are neighbours in a query, as closest_bits, and the queries that find them with so many words between
them.';

create function private.word_pairs(asked private.search_query)
returns setof private.word_pair
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
    with forms as (
      select
        place,
        private.closest_bit(place, typos) as bit,
        private.any_of(private.term_query(term)) as query
      from unnest(asked.terms) as term
      group by place, typos
    )
    -- In reverse order the distance counts one more.
    select
      one.bit | other.bit,
      tsquery_phrase(one.query, other.query, 0) || (one.query <-> other.query),
      tsquery_phrase(one.query, other.query, 2) || (other.query <-> one.query),
      tsquery_phrase(one.query, other.query, 3) || tsquery_phrase(other.query, one.query, 2)
    from forms as one
    join forms as other on other.place = one.place + 1;
end
$$;
comment on function private.word_pairs(private.search_query) is
  'The neighbours in a query, for all typing errors that they may have.';

-- Looks for three phrases at most, .3 µs each. To read the positions of the words and compare them took 5 µs for each
-- of them.
create function private.nearness(words tsvector, pair private.word_pair)
returns integer
language sql immutable parallel safe
as $$
  select case
    when ts_match_vq(words, pair.none_between) then 3
    when ts_match_vq(words, pair.one_between) then 2
    when ts_match_vq(words, pair.two_between) then 1
    else 0
  end
$$;
comment on function private.nearness(tsvector, private.word_pair) is
  'How near to each other a profile has two words: 3 if nothing stands between them anywhere, 0 if three words do.';
