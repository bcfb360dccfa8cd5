-- What a query looks for.

create type private.search_unit as (
  number integer, words text[], exact text[], loose text[], quoted boolean, place text, rarity double precision,
  is_named boolean, exact_query tsquery, corrected text, is_home boolean, query tsquery
);
comment on type private.search_unit is
  'One thing to look for. `words`: a word, or those of a phrase or of a place. `exact` are the words of the index that
mean the same, `loose` those that it may stand for: beginnings, marked with a *, and corrections. `exact_query` finds
who has the first, and of a place who lives there, `query` who has either. `place` is its name, and `is_home`: the query
is about its people only. `is_named`: above all a name of people or places.';

create type private.search_query as (
  units private.search_unit[], excluded tsquery, corrections jsonb, completions jsonb, unknown text[],
  called_so tsquery, home tsquery, lacking tsquery
);
comment on type private.search_query is
  '`excluded` finds whom a query does not want, `lacking` who says to have no such thing, `called_so` whose name it is,
and `home` who lives in its place. `corrections` and `completions` of an unfinished word are [{from, to}]; `unknown` are
words that nobody has and the model does not know.';

create aggregate private.any_of(tsquery) (sfunc = tsquery_or, stype = tsquery);
comment on aggregate private.any_of(tsquery) is 'Ignores null.';

create aggregate private.all_of(tsquery) (sfunc = tsquery_and, stype = tsquery);
comment on aggregate private.all_of(tsquery) is 'Ignores null.';

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
  'The profiles of the index; beyond 2,000 as the latest vacuum counted them, if there was one.';

create function private.phrase(words text[])
returns tsquery
language plpgsql immutable parallel safe set search_path = ''
as $$ begin return (select string_agg(private.lexeme(word), ' <-> ')::tsquery from unnest(words) as word); end $$;
comment on function private.phrase(text[]) is 'Finds the profiles that have these words side by side.';

create function private.any_term(terms text[])
returns tsquery
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select private.any_of((private.lexeme(rtrim(term, '*')) || case when term like '%*' then ':*' else '' end)::tsquery)
    from unnest(terms) as term
  );
end
$$;
comment on function private.any_term(text[]) is
  'Finds who has any of these words, or of one with a * behind it any that begins so.';

create function private.tags_of(places integer[])
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$ begin return array(select '@in ' || place from unnest(places) as place); end $$;
comment on function private.tags_of(integer[]) is 'How the index says that somebody lives in one of these places.';

create function private.word_counts(terms text[], out holders double precision, out named double precision)
language plpgsql stable security invoker set search_path = ''
as $$
begin
  select coalesce(sum(counted.holders), 0), coalesce(sum(counted.named), 0)
  into holders, named
  from (
    select max(found.holders) as holders, max(found.named) as named
    from unnest(terms) as term
    -- With its own limit each term is a range of the index; joined, Postgres read the whole lexicon for each.
    cross join lateral (
      select lexicon.word, lexicon.holders, lexicon.named
      from private.search_lexicon as lexicon
      where lexicon.word >= rtrim(term, '*') collate "C"
        -- The greatest character after a beginning is above all words that have it.
        and lexicon.word <= (case when term like '%*' then rtrim(term, '*') || u&'\+10FFFF' else term end) collate "C"
      limit 1000
    ) as found
    group by found.word
    limit 1000
  ) as counted;
end
$$;
comment on function private.word_counts(text[]) is
  'About how many profiles have any of these terms, and whether these are names (private.naming).';

create type private.query_word as (
  word text, run integer, quoted boolean, excluded boolean, unfinished boolean, is_known boolean, is_where boolean,
  is_near boolean, is_language boolean, is_capital boolean, is_denied boolean, is_light boolean, variants text[]
);
comment on type private.query_word is
  'A word of a query as functions/users/read_query.ts sends it, folded. Words of one `run` are a phrase. `is_known`: the
model knows it; `is_where`, `is_near`, `is_language`: it stands where a place, one after "near" or a language does;
`is_denied`: excluded in words and not by a minus sign; `is_light`: without a meaning of its own; `variants`: other ways
to write it.';

create function private.read_place(words private.query_word[], first integer, places private.place_name[])
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  part constant private.query_word := words[first];
  term constant text := part.word || case when part.unfinished then '*' else '' end;
  named record;
  unit private.search_unit;
begin
  select * into named
  from unnest(places) as place
  cross join lateral (select array_length(string_to_array(candidate, ' '), 1) as size) as sized
  where not is_adjective
    and candidate = array_to_string(array(select word from unnest(words[first:first + size - 1])), ' ')
    and not exists (select from unnest(words[first:first + size - 1]) where run is distinct from part.run or quoted)
    and (size > 1 or not part.is_light)
    -- What is also another word, or may become one while it is typed, is a place where one stands, or if people live
    -- there and it is all that is asked or written like a name.
    and case
      when part.is_where or part.is_near then true
      when exists (
        select from private.search_words as stored where stored.words @@ private.any_term(private.tags_of(ids))
      ) then not is_ambiguous or size > 1 or part.is_capital or cardinality(words) = 1
      else not is_ambiguous and (size > 1 or (private.word_counts(array[term])).holders = 0)
    end
  order by size desc
  limit 1;
  if named.candidate is null then
    return null;
  end if;
  unit.words := array(select word from unnest(words[first:first + named.size - 1]));
  unit.place := named.candidate;
  unit.exact := private.tags_of(named.ids);
  if part.is_near then
    -- Those where somebody lives: of 400 around a large city, a query of all takes 20 ms.
    unit.exact := unit.exact || array(
      select word from private.search_lexicon where word = any (private.tags_of(private.places_within(named.ids, 100)))
    );
  end if;
  unit.loose := unit.words;
  unit.exact_query := private.any_term(unit.exact);
  unit.query := unit.exact_query || private.phrase(unit.words);
  unit.is_named := true;
  -- Where nobody lives, somebody may have the name.
  unit.is_home := part.is_near
    or exists (select from private.search_words as stored where stored.words @@ unit.exact_query)
    or (private.word_counts(unit.words)).named <= 0;
  return unit;
end
$$;
comment on function private.read_place is 'The longest name of a place that begins with this word, as a unit; or null.';

create function private.read_word(
  part private.query_word, others text[], places private.place_name[], names_only boolean
)
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  word constant text := part.word;
  adjective constant text[] :=
    private.tags_of((select ids from unnest(places) as place where candidate = word and is_adjective));
  consonants constant text := private.consonants(word);
  corrections text[];
  is_begun boolean;
  unit private.search_unit;
begin
  unit.words := array[word];
  unit.exact := array[word] || part.variants || others || case when part.is_language then '{}' else adjective end;
  -- Who speaks a language may not say so where everybody does. Short words are not corrected: cat, cats.
  unit.loose := case when part.is_language then adjective else '{}' end
    || case when part.unfinished then array[word || '*'] else '{}' end
    -- Singular for plural, and the other way round.
    || case when char_length(word) > 2 then array[regexp_replace(word || 's', 'ss$', '')] else '{}' end
    || array(
      select spelling
      from unnest(array[
        private.latin_spelling(word),
        case when consonants like '~abjad %' then '~latin' else '~abjad' end || substr(consonants, 7),
        -- Mohammed, Muhammad: names, and not other words with the same consonants.
        case when consonants ~ '^~latin .{4}' and (private.word_counts(array[word])).named > 0 then consonants end
      ]) as spelling
      where private.is_listed(spelling)
    );
  is_begun := (private.word_counts(unit.exact || unit.loose)).holders > 0;
  -- A word that the model knows and somebody has is meant: horse is not house. So is a beginning that goes on.
  if not (is_begun and (part.is_known or part.unfinished)) then
    corrections := array(
      select meant from private.corrections_of(word, part.unfinished) as meant where private.is_listed(meant) limit 5
    );
    unit.loose := unit.loose || corrections;
    if not (part.is_known or is_begun) then
      unit.corrected := corrections[1];
    end if;
  end if;
  unit.is_named := (private.word_counts(unit.exact)).named > case when part.is_known then 2 else 0 end;
  unit.exact_query := private.any_term(unit.exact);
  unit.query := private.any_term(unit.exact || unit.loose);
  if names_only then
    unit.exact_query := (private.lexeme(word) || ':A')::tsquery;
    unit.query := (private.lexeme(word) || case when part.unfinished then ':*A' else ':A' end)::tsquery;
  end if;
  return unit;
end
$$;
comment on function private.read_word(private.query_word, text[], private.place_name[], boolean) is
  'A word of a query. `others` are its neighbours written together with it; `names_only`: in names alone.';

create function private.complete_word(typed text, others private.search_unit[])
returns jsonb
language plpgsql stable security invoker set search_path = ''
as $$
declare
  beginning constant tsquery := private.any_term(array[typed || '*']);
begin
  return (
    select jsonb_build_array(jsonb_build_object('from', typed, 'to', string_agg(lexeme, ' ')))
    from (
      select lexeme
      from (
        select words
        from private.search_words
        where words @@ coalesce(beginning && (select private.all_of(query) from unnest(others)), beginning)
        limit 50
      ) as sample
      cross join lateral unnest(tsvector_to_array(words)) as lexeme
      where starts_with(lexeme, typed)
      group by lexeme
      order by count(*) desc, lexeme
      limit 2
    ) as likeliest
    having string_agg(lexeme, ' ') <> typed
  );
end
$$;
comment on function private.complete_word(text, private.search_unit[]) is
  'The words that an unfinished one most often stands for in fifty profiles that have it and the others, as [{from,
to}]; null if it is the only one. By the lexicon alone, callers with a token lose .006 nDCG on the labelled set.';

create function private.read_exclusion(
  part private.query_word, phrase text[], places private.place_name[], out excluded tsquery, out lacking tsquery
)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  living constant tsquery := (
    select private.any_of(private.any_term(private.tags_of(ids)))
    from unnest(places)
    where candidate = array_to_string(phrase, ' ') and not is_adjective
  );
  -- Singular for plural, and the other way round.
  forms constant text[] :=
    part.variants || phrase[1] || regexp_replace(phrase[1] || 's', '(.)ss$', '\1')
    || ts_lexize('english_stem', phrase[1]);
begin
  if not part.is_denied then
    excluded := private.phrase(phrase);
  elsif living is null or not part.is_where then
    lacking := (select private.all_of(private.any_term(array['~no ' || word])) from unnest(phrase) as word);
    if cardinality(phrase) = 1 then
      lacking := lacking || private.any_term(array(select '~no ' || ltrim(form, '~') from unnest(forms) as form));
      -- Not in names, which look like many a word.
      excluded := (
        select private.any_of((private.lexeme(form) || ':BCD')::tsquery) from unnest(forms) as form where form !~ '^~'
      );
    end if;
    excluded := coalesce(private.phrase(phrase) || excluded, private.phrase(phrase)) && !!lacking;
  end if;
  excluded := coalesce(excluded || living, excluded, living);
end
$$;
comment on function private.read_exclusion(private.query_word, text[], private.place_name[]) is
  'Finds whom a query excludes: who lives in a place, has a phrase, or a denied word in any form without saying to lack
it; and who says so (private.denied_words).';

create function private.holders_of(unit private.search_unit)
returns double precision
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    -- All the words of a phrase, as the rarest of them.
    when unit.place is null and cardinality(unit.words) > 1
      then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
    else coalesce(
      nullif((private.word_counts(unit.exact)).holders, 0),
      (private.word_counts(case when unit.place is null then unit.loose end)).holders
    )
  end;
end
$$;
comment on function private.holders_of(private.search_unit) is 'How many profiles have what a unit looks for, at most.';

create function private.read_query(typed jsonb)
returns private.search_query
language plpgsql stable security invoker set search_path = ''
set enable_seqscan = off set plan_cache_mode = 'force_generic_plan'
as $$
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
          when not part.is_known and (private.word_counts(array[term])).holders = 0
            then coalesce(private.split_of(part.word), private.hangul_name(part.word))
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
        unit.rarity := ln(1 + profiles / greatest(1, least(profiles, private.holders_of(unit))));
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
  where_words := array(select word from unnest(words) where is_where or is_near);
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
    where cardinality(asked.units) > 1 and cardinality(wanted.words) = 1 and wanted.words[1] <> all (where_words)
  ) as named;
  return asked;
end
$$;
comment on function private.read_query(jsonb) is 'What a query looks for, from its private.query_words.';
