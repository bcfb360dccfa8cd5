set local lock_timeout = '500ms';
select '[1]'::extensions.vector;


SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.corrections_of (
  typed      text,
  unfinished boolean
)
  RETURNS SETOF text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  size constant integer := char_length(typed);
  budget constant integer := case when size < 5 then 0 when size < 9 then 1 else 2 end;
  double constant text := '(.)\1';
  undoubled constant text := regexp_replace(typed, double, '\1', 'g');
begin
  return query
    select lexicon.word
    from (
      select *
      from private.search_lexicon as listed
      where budget > 0
        and listed.word !~ '^[@~]'
        and private.deletion_keys(listed.word) && private.deletions(left(typed, 4 + budget), budget)
      -- Among 13,000 words at most 77 are as near. Fifty profiles can hold 20,000 that begin alike: a second.
      limit 200
    ) as lexicon
    -- The beginnings of a word that an unfinished one may stand for.
    cross join lateral unnest(case
      when unfinished and char_length(lexicon.word) > size - budget
        then array(select left(lexicon.word, size + more) from generate_series(-budget, budget) as more)
      else array[lexicon.word]
    end) as form
    -- In a short word, a wrong first letter counts twice.
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget)
        + (left(form, 1) <> left(typed, 1) and budget < 2)::integer
    ) as cost (errors)
    where cost.errors between 1 and budget
      and lexicon.word <> typed collate "C"
      and not (unfinished and starts_with(lexicon.word, typed))
    group by lexicon.word
    -- Of as many errors, a letter that should be double is the likeliest: chese is cheese and not chess.
    order by min(cost.errors), regexp_replace(lexicon.word, double, '\1', 'g') = undoubled desc, max(holders) desc, 1
    limit 20;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_query (
  typed jsonb
)
  RETURNS private.search_query
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  profiles constant double precision := private.count_profiles();
  unsaid constant private.query_word :=
    row(null, null, false, false, false, false, false, false, false, false, false, false, '{}')::private.query_word;
  words private.query_word[] :=
    array(select jsonb_populate_record(unsaid, word) from jsonb_array_elements(typed) as word);
  places constant private.place_name[] := array(
    select place
    from private.places_named(array(
      select array_to_string(array(select word from unnest(words[first:final])), ' ')
      from generate_subscripts(words, 1) as first
      cross join generate_series(first, least(first + 7, cardinality(words))) as final
    )) as place
  );
  -- "the and of" asks for nobody, unless it is a name: An Will.
  are_light constant boolean := cardinality(words) > 1 and not exists (select from unnest(words) where not is_light);
  part private.query_word;
  unit private.search_unit;
  place private.search_unit;
  term text;
  phrase text[];
  pieces text[];
  where_words text[];
  exclusion record;
  holders double precision;
  size integer;
  at integer := 1;
  asked private.search_query := row('{}', null, '[]', '[]', '{}', null, null, null);
begin
  while at <= cardinality(words) loop
    part := words[at];
    phrase := array(select word from unnest(words[at:]) where run = part.run);
    if part.excluded then
      size := cardinality(phrase);
      exclusion := private.read_exclusion(part => part, phrase => phrase, places => places);
      asked.excluded := (select private.any_of(query) from unnest(array[asked.excluded, exclusion.excluded]) as query);
      asked.lacking := (select private.any_of(query) from unnest(array[asked.lacking, exclusion.lacking]) as query);
    else
      unit := private.read_place(words, at, places);
      size := cardinality(unit.words);
      if size is null and part.run is not null then
        size := cardinality(phrase);
        unit := null;
        unit.words := phrase;
        unit.exact := phrase;
        unit.loose := array_remove(array[private.latin_spelling(array_to_string(phrase, ''))], null);
        unit.exact_query := private.phrase(phrase);
        unit.query := coalesce(unit.exact_query || private.any_term(unit.loose), unit.exact_query);
      elsif size is null then
        term := part.word || case when part.unfinished then '*' else '' end;
        pieces := case
          when not part.is_known and (private.word_counts(array[term])).holders = 0 then private.split_of(part.word)
        end;
        if pieces is not null then
          part.is_known := true;
          words := words[:at - 1] || array(
            select jsonb_populate_record(part, jsonb_build_object('word', piece)) from unnest(pieces) as piece
          ) || words[at + 1:];
          continue;
        end if;
        size := 1;
        unit := private.read_word(
          part => part, places => places, names_only => are_light,
          others => array(
            select joined
            from unnest(array[(words[at - 1]).word || part.word, part.word || (words[at + 1]).word]) as joined
            where private.is_listed(joined)
          )
        );
        if unit.corrected is not null then
          asked.corrections := asked.corrections || jsonb_build_object('from', part.word, 'to', unit.corrected);
          -- in Madrdi
          words[at].word := unit.corrected;
          place := private.read_place(
            words, at, array(select named from private.places_named(array[unit.corrected]) as named)
          );
          if place.words is not null then
            unit := place;
          end if;
        elsif not part.is_known and (private.word_counts(unit.exact || unit.loose)).holders = 0 then
          asked.unknown := asked.unknown || part.word;
        end if;
      end if;
      unit.number := cardinality(asked.units) + 1;
      unit.quoted := part.quoted;
      if not exists (select from unnest(asked.units) as other where other.words = unit.words) then
        holders := case
          -- All the words of a phrase, as the rarest of them.
          when unit.place is null and cardinality(unit.words) > 1
            then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
          else coalesce(
            nullif((private.word_counts(unit.exact)).holders, 0),
            (private.word_counts(case when unit.place is null then unit.loose end)).holders
          )
        end;
        unit.rarity := ln(1 + profiles / greatest(1, least(profiles, holders)));
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
  where_words := array(select word from unnest(words) where is_where);
  part := words[cardinality(words)];
  unit := asked.units[cardinality(asked.units)];
  -- Of a word with up to three letters, nobody knows whether it is one already, unless somebody has it.
  if part.unfinished and part.word || '*' = any (unit.loose) and unit.corrected is null
    and (part.is_light or not part.is_known or char_length(part.word) <= 3 and not private.is_listed(part.word)) then
    asked.completions :=
      coalesce(private.complete_word(part.word, asked.units[:cardinality(asked.units) - 1]), asked.completions);
  end if;
  select
    private.lexeme(private.facet('name', string_agg(array_to_string(wanted.words, ' '), ' ')))::tsquery,
    private.any_of(coalesce(wanted.exact_query || namesakes, wanted.exact_query)) filter (where wanted.is_home)
  into asked.called_so, asked.home
  from unnest(asked.units) as wanted
  -- "Florence midwife": one of that name with all the rest is as good as who lives there.
  cross join lateral (
    select private.all_of(query) && (private.lexeme(wanted.words[1]) || ':A')::tsquery as namesakes
    from unnest(asked.units)
    where cardinality(asked.units) > 1 and wanted.words[1] <> all (where_words)
  ) as named;
  return asked;
end
$function$;

select private.schedule_jobs();
