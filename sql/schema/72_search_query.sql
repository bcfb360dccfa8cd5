-- From the text of a query to search terms: its words, and the words of the index that they may stand for. Functions
-- that every search calls are in plpgsql, which keeps their plans; those to be inlined are in SQL without a
-- search_path.

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is
  'How many typing errors are tolerated in a word of this length. As in Meilisearch: none below 5 letters, one below 9,
else two.';

create function private.swaps_of(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select array_agg(
      distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2)
    )
    from generate_series(1, char_length(word) - 1) as place
  );
end
$$;
comment on function private.swaps_of(text) is 'The word with two adjacent letters swapped, at every place.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select case
      when typed = meant then 0
      -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
      when extensions.levenshtein_less_equal(typed, meant, 2 * budget) > 2 * budget then null
      else (
        select nullif(least(budget + 1, min(distance)), budget + 1)
        from (
          select extensions.levenshtein_less_equal(typed, meant, budget) as distance
          union all
          select 1 + case distance
            when 2 then case when meant = any (private.swaps_of(swapped)) then 1 else 2 end
            else distance
          end
          from unnest(private.swaps_of(typed)) as swapped
          cross join lateral (select extensions.levenshtein_less_equal(swapped, meant, 2) as distance) as measured
        ) as ways
      )
    end
  );
end
$$;
comment on function private.typos(text, text, integer) is
  'How many errors turn one word into the other: a wrong, missing or extra letter, or two adjacent letters swapped. Null
above the budget.';

create function private.expand_word(typed text, unfinished boolean)
returns table (word text, typos integer, exact boolean, entries integer)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  budget integer := private.typo_budget(typed);
  size integer := char_length(typed);
  swaps text[] := private.swaps_of(typed);
begin
  return query
    with candidates as (
      select lexicon.word, 0 as typos, lexicon.word = typed collate "C" as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where lexicon.word = typed collate "C"
      union all
      (
        select lexicon.word, 0, false, lexicon.entries
        from private.search_lexicon as lexicon
        where unfinished
          and lexicon.word > typed collate "C"
          and lexicon.word < typed || U&'\+10FFFF' collate "C"
        order by lexicon.entries desc, lexicon.word
        limit 200
      )
      union all
      (
        -- The first letter is right. A wrong one costs two errors, which is too many below 9 letters.
        select lexicon.word, cost.typos, false, lexicon.entries
        from private.search_lexicon as lexicon
        cross join lateral (
          select min(case
            when distance <= 1 then distance
            when form = any (swaps) then 1
            when distance <= budget then distance
            when budget > 1 then private.typos(typed => typed, meant => form, budget => budget)
          end) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- A swap is one error here and two to Levenshtein.
          cross join lateral (select extensions.levenshtein_less_equal(typed, form, 2 * budget) as distance) as measured
          where distance <= 2 * budget
        ) as cost
        where budget > 0
          and left(lexicon.word, 1) = left(typed, 1) collate "C"
          and char_length(lexicon.word) between size - budget and case when unfinished then 60 else size + budget end
          -- Leaves few words for the lateral, which takes ten times as long. Its forms of a word are within one letter
          -- of this one.
          and extensions.levenshtein_less_equal(
            typed, case when unfinished then left(lexicon.word, size) else lexicon.word end, 2 * budget + 1
          ) <= 2 * budget + 1
          and cost.typos > 0
        order by cost.typos, lexicon.entries desc, lexicon.word
        limit 100
      )
      union all
      (
        -- The first letter is wrong, missing, extra, or swapped with the second.
        select lexicon.word, 2, false, lexicon.entries
        from private.search_lexicon as lexicon
        where budget = 2
          and left(lexicon.word, 1) <> left(typed, 1) collate "C"
          and (
            substr(lexicon.word, 2) = substr(typed, 2) collate "C"
            or substr(lexicon.word, 2) = typed collate "C"
            or lexicon.word = substr(typed, 2) collate "C"
            or lexicon.word = overlay(typed placing substr(typed, 2, 1) || left(typed, 1) from 1 for 2) collate "C"
          )
      )
    )
    select candidates.word, min(candidates.typos), bool_or(candidates.exact), max(candidates.entries)
    from candidates
    group by candidates.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, each with its typing errors.';

create type private.query_word as (
  unit integer,
  place integer,
  word text,
  quoted boolean,
  excluded boolean,
  unfinished boolean,
  position integer
);
comment on type private.query_word is
  'A word of a query. `unit` is the word, phrase or run of letters that it belongs to. `place` numbers the words that
are scored, and excluded words separately; it is null from the third mention of a word on, which only belongs to its
phrase. `position` numbers all words.';

create function private.parse_query(query text)
returns setof private.query_word
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return query
    with pieces as (
      select
        ordinality as piece,
        coalesce(nullif(part[2], '') is not null, false) or part[1] is not null as is_quoted,
        coalesce(part[1], part[4]) = '-' as is_excluded,
        -- One character can expand to eighteen. To parse 512 of those takes 40 ms.
        private.words_of(left(normalize(coalesce(part[2], part[5]), nfkc), 512)) as words,
        max(ordinality) over () = ordinality and query !~ '[[:space:]"]$' as is_last
      from regexp_matches(query, '(-?)"([^"]*)("|$)|(-?)([^[:space:]"]+)', 'g')
        with ordinality as matches (part, ordinality)
    ),
    listed as (
      select
        piece, is_quoted, is_excluded, position, word,
        is_last and position = cardinality(words) and not is_quoted and not is_excluded as is_unfinished,
        -- A character of a script without spaces, which words_of makes a word.
        word ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]'
          as is_letter
      from pieces
      cross join lateral unnest(words) with ordinality as numbered (word, position)
    ),
    -- A phrase is one unit, and so is a run of letters. Every other word is a unit by itself.
    started as (
      select *,
        case
          when position = 1 then 1
          when is_quoted or is_excluded then 0
          when is_letter and lag(is_letter) over (partition by piece order by position) then 0
          else 1
        end as starts,
        -- The same for all letters of one run.
        position - row_number() over (partition by piece, is_letter order by position) as run
      from listed
    ),
    -- The limit counts words, not units: the cost of a phrase grows with its length. Words of such scripts have one to
    -- five letters, so every third letter of a run counts as a word, beginning with the first.
    weighted as (
      select *,
        sum(starts) over (order by piece, position) as number,
        case
          when is_letter and (row_number() over (partition by piece, is_letter, run order by position)) % 3 <> 1 then 0
          else 1
        end as weight
      from started
    ),
    counted as (
      select *, sum(weight) over (partition by is_excluded order by piece, position) as words_so_far
      from weighted
    ),
    kept as (
      -- Names such as New York, New York repeat a word once. More repetitions add no information, and a common word is
      -- the most expensive.
      select *, row_number() over (partition by is_excluded, counted.word order by piece, position) <= 2 as is_new
      from counted
      where words_so_far <= 10
    ),
    placed as (
      -- From the eleventh letter on, a letter only belongs to its run.
      select *,
        is_excluded or is_new and (
          not is_letter
          or count(*) filter (where is_new) over (partition by is_excluded, is_letter order by piece, position) <= 10
        ) as has_place
      from kept
    )
    select
      number::integer,
      case
        when has_place
          then (count(*) filter (where has_place) over (partition by is_excluded order by piece, position))::integer
      end,
      placed.word,
      is_quoted,
      is_excluded,
      is_unfinished and not is_letter,
      (row_number() over (order by piece, position))::integer
    from placed;
end
$$;
comment on function private.parse_query(text) is
  'The words of a query in units: a word, a "phrase", or a run of letters of a script without spaces. -word and
-"phrase" exclude. The last word may be unfinished. The first 10 words count, quoted ones included, and the first 10
excluded ones. Three letters of a run count as a word, and 10 letters at most are scored.';

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  exact boolean,
  entries integer,
  quoted boolean,
  phrase tsquery,
  phrase_ids bigint[]
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for. `place` and `unit` are those of the query word, `entries`
is how many entries contain the term. `phrase` is the phrase that it must stand in, if any; private.resolve_phrases
replaces it by `phrase_ids`, the profiles that contain the phrase.';

create function private.terms_of(words private.query_word[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with parsed as (
      select *, count(*) over (partition by unit) > 1 as in_phrase
      from unnest(words)
      where not excluded
    ),
    phrases as (
      select unit, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
      from parsed
      where in_phrase
      group by unit
    )
    select array_agg(
      row(
        parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, meant.entries, parsed.quoted, phrases.phrase,
        null
      )::private.search_term
    )
    from parsed
    left join phrases using (unit)
    cross join lateral (
      select lexicon.word, 0 as typos, true as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where (parsed.in_phrase or parsed.quoted) and lexicon.word = parsed.word
      union all
      select expanded.word, expanded.typos, expanded.exact, expanded.entries
      from private.expand_word(parsed.word, parsed.unfinished) as expanded
      where not (parsed.in_phrase or parsed.quoted)
    ) as meant
    -- No entry contains a phrase if one of its words is in no entry.
    where parsed.place is not null
      and (not parsed.in_phrase or not exists (
        select
        from parsed as other
        where other.unit = parsed.unit
          and other.word not in (select lexicon.word from private.search_lexicon as lexicon)
      ))
  );
end
$$;
comment on function private.terms_of(private.query_word[]) is 'The words of the index that a query looks for.';
