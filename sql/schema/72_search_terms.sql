-- What a query looks for: its words, and the words of the index that they may stand for. In plpgsql what every search asks, because its plans
-- are kept; in SQL without a search_path what is to be inlined.

create function private.check_deadline()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if clock_timestamp() - statement_timestamp() > nullif(current_setting('api.time_limit', true), '')::interval then
    raise query_canceled using message = 'The search took longer than its time limit';
  end if;
end
$$;
-- A statement_timeout that a statement sets, or one of its functions, comes too late: the timer has started (pg_sleep(1) slept its second
-- under 200 ms either way), and PGlite has none. Of what Postgres could do instead,
--   a connection's own statement_timeout is an option that poolers refuse, and needs connections for nothing else;
--   `begin` and `set local` before each search are two more round trips, or one message whose parameters are quoted into its text;
--   transaction_timeout does take effect at once, but closes the connection: it is the limit of whoever is anonymous (private.act_as).
comment on function private.check_deadline() is
  'Ends a search that takes longer than api.time_limit, as Postgres ends a statement. Called between its steps, each of which is bounded; what
goes wrong within one is ended by the statement_timeout of edge_functions.';

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is 'How many errors a word of this length may hold: as in Meilisearch, none below 5 letters, one below 9, else two.';

create function private.swaps_of(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select array_agg(distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2))
    from generate_series(1, char_length(word) - 1) as place
  );
end
$$;
comment on function private.swaps_of(text) is 'The word with two neighbours changed about, in every place.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select case
      when typed = meant then 0
      -- A swap of neighbours is one error, and two to Levenshtein; so this many mistakes of his cannot be within the budget.
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
  'How many errors (a letter wrong, missing or too many, or two neighbours swapped) make one word of the other; null above the budget.';

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
    with found as (
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
        -- The first letter is right: a wrong one costs two, which below 9 letters is too much.
        select lexicon.word, cost.typos, false, lexicon.entries
        from private.search_lexicon as lexicon
        cross join lateral (
          select min(case
            when distance <= 1 then distance
            when form = any (swaps) then 1
            when distance <= budget then distance
            when budget > 1 then private.typos(typed, form, budget)
          end) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- A swap of neighbours is one error, and two to Levenshtein.
          cross join lateral (select extensions.levenshtein_less_equal(typed, form, 2 * budget) as distance) as measured
          where distance <= 2 * budget
        ) as cost
        where budget > 0
          and left(lexicon.word, 1) = left(typed, 1) collate "C"
          and char_length(lexicon.word) between size - budget and case when unfinished then 60 else size + budget end
          -- Leaves few for the lateral, which takes ten times as long: its forms of a word are within one letter of this.
          and extensions.levenshtein_less_equal(
            typed, case when unfinished then left(lexicon.word, size) else lexicon.word end, 2 * budget + 1
          ) <= 2 * budget + 1
          and cost.typos > 0
        order by cost.typos, lexicon.entries desc, lexicon.word
        limit 100
      )
      union all
      (
        -- The first letter is the error: wrong, missing, too many, or swapped with the second.
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
    select found.word, min(found.typos), bool_or(found.exact), max(found.entries)
    from found
    group by found.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, with their errors.';

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
  'A word of a query: the unit and the place it stands in, both counted for themselves among the excluded. The third time that it is said it
has no place: it belongs to its phrase, and scores nothing more. `position` counts all words.';

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
        -- One character can stand for eighteen, which 512 of them would take 40 ms to read.
        private.words_of(left(normalize(coalesce(part[2], part[5]), nfkc), 512)) as words,
        max(ordinality) over () = ordinality and query !~ '[[:space:]"]$' as is_last
      from regexp_matches(query, '(-?)"([^"]*)("|$)|(-?)([^[:space:]"]+)', 'g') with ordinality as found (part, ordinality)
    ),
    listed as (
      select
        piece, is_quoted, is_excluded, position, word,
        is_last and position = cardinality(words) and not is_quoted and not is_excluded as is_unfinished,
        word ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]' as is_letter
      from pieces
      cross join lateral unnest(words) with ordinality as numbered (word, position)
    ),
    -- A phrase is one unit, and so is a run of letters of a script without spaces; every other word is one by itself.
    started as (
      select *,
        case
          when position = 1 then 1
          when is_quoted or is_excluded then 0
          when is_letter and lag(is_letter) over (partition by piece order by position) then 0
          else 1
        end as starts,
        -- Consecutive letters of one run have this in common.
        position - row_number() over (partition by piece, is_letter order by position) as run
      from listed
    ),
    -- What is paid for is words, not units, or one phrase would be as dear as it is long. Such a script's words have one to five letters;
    -- of a run every first, fourth, seventh … counts as a word.
    paid as (
      select *,
        sum(starts) over (order by piece, position) as number,
        case
          when is_letter and (row_number() over (partition by piece, is_letter, run order by position)) % 3 <> 1 then 0
          else 1
        end as price
      from started
    ),
    counted as (
      select *, sum(price) over (partition by is_excluded order by piece, position) as spent
      from paid
    ),
    kept as (
      -- Names are doubled, and so is New York, New York. Said ten times, a word that everybody has is the dearest of all, and tells no more.
      select *, row_number() over (partition by is_excluded, counted.word order by piece, position) <= 2 as is_new
      from counted
      where spent <= 10
    ),
    placed as (
      -- Letters after the first ten only belong to their run.
      select *,
        is_excluded or is_new and (
          not is_letter or count(*) filter (where is_new) over (partition by is_excluded, is_letter order by piece, position) <= 10
        ) as has_place
      from kept
    )
    select
      number::integer,
      case when has_place then (count(*) filter (where has_place) over (partition by is_excluded order by piece, position))::integer end,
      placed.word, is_quoted, is_excluded, is_unfinished and not is_letter, (row_number() over (order by piece, position))::integer
    from placed;
end
$$;
comment on function private.parse_query(text) is
  'The words of a query in units, a unit being a word, a "phrase", or a run of letters of a script without spaces; -word and -"phrase"
exclude; the last word may be unfinished. The first 10 words count, those within quotes included, and the first 10 of the excluded; three
letters of a run are a word, and of all letters 10 have a place.';
