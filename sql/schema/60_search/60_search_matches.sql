-- Where hits have the words of a query, if a search asks for highlights.

create function private.combining_marks()
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed\u093c\u09be'
    || '\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u0e31\u0e34-\u0e3a'
    || '\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1160-\u11ff\u17b6-\u17d3\u1ab0-\u1aff\u1b35'
    || '\u1dc0-\u1dff\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\uff9e\uff9f\uffa0-\uffdc';
end
$$;
comment on function private.combining_marks() is
  'For a character class: what belongs to the character before it. Has every character that NFKC may compose with the
one before it (NFC_Quick_Check=Maybe), and the marks that unaccent removes.';

create function private.folded_pieces(
  value text,
  out folded text,
  out starts integer[],
  out folded_starts integer[],
  out are_plain boolean[]
)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  combining constant text := private.combining_marks();
  -- Characters that fold into exactly one, so that a run of them needs no places of its own.
  plain constant text := '\u0001-\u007f\u00c0-\u00c5\u00c7-\u00cf\u00d1-\u00d6\u00d8-\u00dd\u00e0-\u00e5\u00e7-\u00ef'
    || '\u00f1-\u00f6\u00f8-\u00fd\u00ff\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3';
  pattern text;
  joined text;
begin
  folded := private.fold(value);
  -- Most texts are such a run.
  if value !~ ('[^' || plain || ']') then
    joined := folded;
    starts := '{0}';
    folded_starts := '{0}';
    are_plain := '{true}';
  end if;
  -- Into pieces that fold into the same text as the whole does. A mark after a plain character may compose with it;
  -- then into characters with their marks, and if even they do not, all is one piece.
  foreach pattern in array array[
    '([' || plain || ']+)|([^' || plain || '][' || combining || ']*)', '(^$)|(.[' || combining || ']*)', '(^$)|(.+)'
  ] loop
    exit when joined = folded;
    select
      string_agg(piece_folded, '' order by number),
      array_agg(char_start order by number),
      array_agg(folded_start order by number),
      array_agg(is_plain order by number)
    into joined, starts, folded_starts, are_plain
    from (
      select
        number, piece_folded, is_plain,
        (sum(char_length(piece)) over (order by number) - char_length(piece))::integer as char_start,
        (sum(char_length(piece_folded)) over (order by number) - char_length(piece_folded))::integer as folded_start
      from (
        select
          ordinality as number, part[1] is not null as is_plain, coalesce(part[1], part[2]) as piece,
          private.fold(coalesce(part[1], part[2])) as piece_folded
        from regexp_matches(value, pattern, 'g') with ordinality as matched (part, ordinality)
      ) as cut
    ) as pieces
    where piece_folded <> '';
  end loop;
  starts := starts || char_length(value);
  folded_starts := folded_starts || char_length(folded);
end
$$;
comment on function private.folded_pieces(text) is
  'Cuts a text so that each place of the folded text can be told from one of the text: where each piece starts in both,
from 0, and at last their lengths; and whether each character of a piece folds into one. And the folded text.';

create function private.word_places(value text)
returns table (place integer, word text, start integer, length integer)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  letters constant text := private.unspaced_letters();
  folded text;
  starts integer[];
  folded_starts integer[];
  are_plain boolean[];
begin
  select * into folded, starts, folded_starts, are_plain from private.folded_pieces(value);
  return query
    select
      listed.place,
      left(listed.word, 60),
      word_start,
      case
        when are_plain[last_piece] and last_letter + 1 < folded_starts[last_piece + 1]
          then starts[last_piece] + last_letter - folded_starts[last_piece] + 1
        else starts[last_piece + 1]
      end - word_start
    from (
      select
        ordinality::integer as place,
        part[2] as word,
        (sum(char_length(part[1]) + char_length(part[2])) over (order by ordinality))::integer - 1 as last_letter
      from regexp_matches(
        folded,
        '([[:space:][:punct:][:cntrl:]]*)((?=[^[:space:][:punct:][:cntrl:]])[' || letters
          || ']|[^[:space:][:punct:][:cntrl:]' || letters || ']+)',
        'g'
      ) with ordinality as matched (part, ordinality)
    ) as listed
    cross join lateral (
      select
        width_bucket(last_letter - char_length(listed.word) + 1, folded_starts) as first_piece,
        width_bucket(last_letter, folded_starts) as last_piece
    ) as pieces
    cross join lateral (
      select starts[first_piece] + case
        when are_plain[first_piece] then last_letter - char_length(listed.word) + 1 - folded_starts[first_piece]
        else 0
      end as word_start
    ) as begun;
end
$$;
comment on function private.word_places(text) is
  'The words of a text as private.words_of has them, and where each stands in the text as written: from which character,
0 for the first, and how many. A character that folds into several words belongs to each.';

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
    where rank = 1
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
