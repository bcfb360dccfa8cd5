-- The words of a query, and the words of the index that they may stand for. Functions that every search calls are in
-- plpgsql, which keeps their plans; those to be inlined are in SQL without a search_path.

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
        word ~ ('^[' || private.unspaced_letters() || ']') as is_letter
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

create function private.typos(typed text, meant text, budget integer, swaps text[] default null)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
  distance constant integer := extensions.levenshtein_less_equal(typed, meant, 2 * budget);
  -- Two swaps keep the letters.
  has_same_letters constant boolean := char_length(typed) = char_length(meant) and translate(meant, typed, '') = '';
begin
  if distance <= 1 or distance > 2 * budget then
    return case when distance <= budget then distance end;
  end if;
  swaps := coalesce(swaps, private.swaps_of(typed));
  if meant = any (swaps) then
    return 1;
  elsif distance <= budget then
    return distance;
  elsif budget = 1 then
    return null;
  end if;
  return (
    select nullif(min(1 + case
      when rest = 2 and has_same_letters and meant = any (private.swaps_of(swapped)) then 1
      else rest
    end), budget + 1)
    from unnest(swaps) as swapped
    cross join lateral (
      select least(budget, extensions.levenshtein_less_equal(swapped, meant, 2)) as rest
    ) as measured
  );
end
$$;
comment on function private.typos(text, text, integer, text[]) is
  'How many errors turn one word into the other: a wrong, missing or extra letter, or two adjacent letters swapped. Null
above the budget, which is 1 or 2. The swaps of the typed word may be given.';

create function private.corrections_of(typed text, unfinished boolean)
returns table (word text, typos integer)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  budget constant integer := private.typo_budget(typed);
  size constant integer := char_length(typed);
  swaps constant text[] := private.swaps_of(typed);
begin
  if budget = 0 then
    return;
  end if;
  return query
    select lexicon.word, min(cost.errors)
    from private.search_lexicon as lexicon
    -- The beginnings of a word that an unfinished one may stand for.
    cross join lateral unnest(case
      when unfinished and char_length(lexicon.word) > size - budget
        then array(select left(lexicon.word, size + more) from generate_series(-budget, budget) as more)
      else array[lexicon.word]
    end) as form
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget, swaps => swaps)
        -- A wrong first letter counts twice.
        + case when left(form, 1) <> left(typed, 1) then 1 else 0 end as errors
    ) as cost
    where private.deletion_keys(lexicon.word) && private.deletions(left(typed, 4 + budget), budget)
      and cost.errors between 1 and budget
      and lexicon.word <> typed collate "C"
      and not (unfinished and starts_with(lexicon.word, typed))
    group by lexicon.word
    order by 2, 1
    limit 50;
end
$$;
comment on function private.corrections_of(text, boolean) is
  'The words of the index that a typed word may be a mistyping of, each with its errors; those that begin with an
unfinished word are not among them.';
