-- Where hits have the words of a query, if a search asks for highlights.

create function private.word_places(value text)
returns table (place integer, word text, start integer, length integer)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  letters constant text := private.unspaced_letters();
  -- What folds into nothing else and belongs to no word.
  between constant text := '[:space:][:cntrl:]!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6'
    || '\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3001-\u301f';
begin
  return query
    select
      (row_number() over (order by number, position))::integer, folded.word, char_start, char_length(token)
    from (
      select
        ordinality as number, part[2] as token,
        (sum(char_length(part[1]) + char_length(part[2])) over (order by ordinality))::integer - char_length(part[2])
          as char_start
      from regexp_matches(
        value,
        -- A voiced sound mark belongs to the kana before it.
        '([' || between || ']*)([' || letters || '][\u3099\u309a\uff9e\uff9f]*|[^' || between || letters || ']+)', 'g'
      ) with ordinality as matched (part, ordinality)
    ) as tokens
    cross join lateral unnest(private.words_of(token)) with ordinality as folded (word, position);
end
$$;
comment on function private.word_places(text) is
  'The words of a text as private.words_of has them, and where each stands in the text as written: from which character,
0 for the first, and how many. If what is written together folds into several words, it belongs to each.';

create type private.text_match as (
  hit integer,
  field text,
  element integer,
  unit integer,
  start integer,
  length integer
);
comment on type private.text_match is
  'Where a field of a hit has a word or phrase of a query, in characters. `hit`: which hit of the page, from 1;
`element`: which of the values, for a field with several, from 0.';

create function private.text_matches(hits json, asked private.search_query)
returns setof private.text_match
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- What half of the profiles have, as "the" and "in", would hide the words that say something. With 25 profiles or
  -- fewer no word is common.
  common constant double precision := ln(1 + 2);
  telling constant integer[] := array(
    select unit
    from unnest(asked.units)
    where quoted or holders <= 25 or rarity > common or (select max(rarity) from unnest(asked.units)) <= common
  );
  wanted constant text[] := array(
    select distinct word
    from (
      select term.word, term.unit from unnest(asked.terms) as term
      union all
      select part.word, part.unit from unnest(asked.words) as part where not excluded
    ) as words
    where unit = any (telling)
  );
  -- The o of O'Brien is marked where another word of the query follows.
  letters constant integer[] := array(
    select unit from unnest(asked.words) where word ~ '^[a-z]$' and not quoted and cardinality(asked.units) > 1
  );
begin
  return query
    with texts as (
      select ordinality::integer as hit, printed.field, printed.element, value
      from json_array_elements(hits) with ordinality as listed (body, ordinality)
      cross join lateral (
        select named.field, null::integer as element, body ->> named.field as value
        from unnest(array['name', 'city', 'country', 'biography']) as named (field)
        union all
        select 'interests', ordinality::integer - 1, interest.value
        from json_array_elements_text(body -> 'interests') with ordinality as interest (value, ordinality)
      ) as printed
    ),
    words as materialized (
      select texts.hit, texts.field, texts.element, word_places.*
      from texts
      -- `offset 0` keeps Postgres from folding a text for each word.
      cross join lateral (select private.fold(value) as folded offset 0) as whole
      cross join lateral private.word_places(value)
      -- Most texts have none of the words. To look for them takes a tenth of the time.
      where exists (select from unnest(wanted) as word where position(word in folded) > 0)
    ),
    phrases as materialized (
      select
        part.unit, part.word,
        row_number() over (partition by part.unit order by position) as number,
        count(*) over (partition by part.unit) as size
      from unnest(asked.words) as part
      where not excluded and part.unit = any (telling)
    ),
    terms as materialized (
      select * from unnest(asked.terms) as term where term.unit in (select phrases.unit from phrases where size = 1)
    ),
    words_found as (
      select words.hit, words.field, words.element, terms.unit, terms.typos, words.start, words.length
      from words
      join terms on terms.word = words.word and not is_prefix
      union
      select words.hit, words.field, words.element, terms.unit, 0, words.start, words.length
      from words
      join terms on starts_with(words.word, terms.word) and is_prefix
    )
    select ranked.hit, ranked.field, ranked.element, ranked.unit, ranked.start, ranked.length
    from (
      select *, rank() over (partition by words_found.hit, words_found.unit order by typos) as rank
      from words_found
    ) as ranked
    where rank = 1 and (
      ranked.unit <> all (letters) or exists (
        select
        from words_found as following
        where (following.hit, following.field) = (ranked.hit, ranked.field)
          and following.element is not distinct from ranked.element
          and following.start = ranked.start + ranked.length + 1
      )
    )
    union all
    -- Each word of a phrase says where the phrase would begin. All of them say so where it does.
    select words.hit, words.field, words.element, phrases.unit, min(words.start),
      max(words.start + words.length) - min(words.start)
    from words
    join phrases on phrases.word = words.word and size > 1
    group by words.hit, words.field, words.element, phrases.unit, size, place - number
    having count(*) = size;
end
$$;
comment on function private.text_matches(json, private.search_query) is
  'Where hits have the words of a query, as typed, completed or corrected, and its phrases, without those that half of
the profiles have, unless all are such or they are quoted. Of each word only the matches with the fewest typing
errors in the hit, as in its score.';
