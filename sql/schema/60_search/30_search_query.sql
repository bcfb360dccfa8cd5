-- What a query looks for: words, phrases and places, as queries of the index, and how much each of them says.

create type private.search_unit as (
  number integer,
  words text[],
  exact text[],
  loose text[],
  is_phrase boolean,
  quoted boolean,
  place text,
  lives tsquery,
  rarity double precision,
  is_named boolean,
  is_common boolean,
  exact_query tsquery,
  loose_query tsquery,
  corrected text
);
comment on type private.search_unit is
  'One thing to look for. `words`: a word, or those of a phrase or of the name of a place. `exact` are the words of the
index that mean the same, `loose` those that it may stand for: beginnings, marked with a *, and corrections; the queries
find who has them. `place` is the name of a place; `lives` finds its people if the query is about those only.
`rarity`: ln(1 + profiles / who has it). `is_named`: above all a name of people or places. `is_common`: half of the
profiles have it. `corrected`: the likeliest word that it is a mistyping of.';

create function private.either(unit private.search_unit)
returns tsquery
language sql immutable parallel safe
as $$
  select coalesce((unit).exact_query || (unit).loose_query, (unit).exact_query)
$$;
comment on function private.either(private.search_unit) is 'Finds who has a unit, or what it may stand for.';

create type private.search_query as (
  units private.search_unit[],
  excluded tsquery,
  corrections jsonb,
  completions jsonb,
  unknown text[]
);
comment on type private.search_query is
  'A query as private.read_query returns it. `excluded` finds whom it does not want; `corrections` are the likeliest of
mistyped words, and `completions` those that an unfinished one most often stands for: [{from, to}]; `unknown` are words
that nobody has and the model does not know.';

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

create function private.phrase(words text[])
returns tsquery
language sql immutable parallel safe
as $$
  select string_agg(private.lexeme(word), ' <-> ' order by place)::tsquery
  from unnest(words) with ordinality as listed (word, place)
$$;
comment on function private.phrase(text[]) is 'Finds the profiles that have these words side by side.';

create function private.term_query(term text)
returns tsquery
language sql immutable parallel safe
as $$
  select case
    when term like '%*' then (private.lexeme(left(term, -1)) || ':*')::tsquery
    else private.lexeme(term)::tsquery
  end
$$;
comment on function private.term_query(text) is
  'Finds the profiles that have a word, or with a * behind it one that begins so.';

create function private.any_term(terms text[])
returns tsquery
language sql immutable parallel safe
as $$
  select private.any_of(private.term_query(term)) from unnest(terms) as term
$$;
comment on function private.any_term(text[]) is 'Finds the profiles that have any of these terms (private.term_query).';

create function private.tags_of(places integer[])
returns text[]
language sql immutable parallel safe
as $$
  select coalesce(array_agg('@in ' || place), '{}') from unnest(places) as place
$$;
comment on function private.tags_of(integer[]) is 'How the index says that somebody lives in one of these places.';

create function private.word_counts(terms text[], out holders double precision, out named double precision)
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
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
  'About how many profiles have any of these words, as the lexicon last counted them, and whether these are names
(private.naming).';

create type private.search_token as (
  text text,
  quoted boolean,
  excluded boolean,
  unfinished boolean,
  is_where boolean,
  is_near boolean,
  is_language boolean,
  is_capital boolean,
  is_denied boolean,
  is_light boolean,
  variants text[]
);
comment on type private.search_token is
  'A token of a query as functions/users/read_query.ts sends it. `is_where`: after "in" or "outside", where a place
stands; `is_near`: after "near"; `is_language`: where a language stands; `is_denied`: excluded in words and not by a
minus sign; `is_light`: without a meaning of its own; `variants`: other ways to write it.';

create type private.query_word as (
  token private.search_token,
  number integer,
  word text,
  run integer
);
comment on type private.query_word is
  'A word of a token. `number` is that of the token; words of one `run` are a phrase: a quoted or excluded token, or
letters of a script without spaces.';

create function private.words_of_tokens(tokens private.search_token[])
returns private.query_word[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select row(token, number, word, run)::private.query_word
    from (
      select *, sum(weight) over (partition by (token).excluded order by number, position) as words_so_far
      from (
        select
          token, number, word, position,
          case when is_phrase or is_letter then number * 1000 + case when is_phrase then 0 else run end end as run,
          -- The first ten words rank. Words of such scripts have one to five letters: three are taken for a word.
          case when is_letter then 1 / 3.0 else 1 end as weight
        from generate_subscripts(tokens, 1) as number
        cross join lateral (
          select
            tokens[number] as token,
            tokens[number].quoted or tokens[number].excluded as is_phrase
        ) as kind
        cross join lateral (
          select
            word, position, is_letter,
            position - row_number() over (partition by is_letter order by position) as run
          -- One character can expand to eighteen. To parse 512 of those takes 40 ms.
          from unnest(private.words_of(left(normalize((token).text, nfkc), 512)))
            with ordinality as listed (word, position)
          cross join lateral (select word ~ ('^[' || private.unspaced_letters() || ']') as is_letter) as script
        ) as words
      ) as weighed
    ) as counted
    where words_so_far <= 10.01
    order by number, run nulls last, words_so_far
  );
end
$$;
comment on function private.words_of_tokens(private.search_token[]) is
  'The words of a query''s tokens: the first ten, and the first ten excluded ones.';

create type private.place_name as (
  candidate text,
  ids integer[],
  is_adjective boolean,
  is_ambiguous boolean
);
comment on type private.place_name is 'A name or an adjective of places in a query (private.places_named).';

create function private.place_names_in(words private.query_word[])
returns private.place_name[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select row(found.*)::private.place_name
    from private.places_named(array(
      select array_to_string(array(select (part).word from unnest(words[first:last]) as part), ' ')
      from generate_subscripts(words, 1) as first
      cross join generate_subscripts(words, 1) as last
      where last between first and first + 7
    )) as found
  );
end
$$;
comment on function private.place_names_in(private.query_word[]) is 'The names of places among the words of a query.';

create function private.either_number(word text)
returns text
language sql immutable parallel safe
as $$
  select case when word like '%s' then left(word, -1) else word || 's' end where char_length(word) > 2
$$;
comment on function private.either_number(text) is
  'A word in singular for plural, and the other way round, as most languages of the profiles have it.';

create function private.denied(words text[])
returns tsquery
language sql immutable parallel safe
as $$
  select private.any_of(form && !!lacking)
  from (
    select private.phrase(words) as form
    union all
    select private.lexeme(private.either_number(words[1]))::tsquery where cardinality(words) = 1
  ) as forms
  -- "no meat", "I don't eat meat".
  cross join lateral (
    select private.any_of(
      tsquery_phrase(private.lexeme(denier)::tsquery, form)
        || tsquery_phrase(private.lexeme(denier)::tsquery, form, 2)
    ) as lacking
    from unnest(
      '{no,not,t,without,never,non,kein,keine,keinen,ohne,sin,sans,pas,senza,sem,nao,geen,zonder,bez}'::text[]
    ) as denier
  ) as deniers
$$;
comment on function private.denied(text[]) is
  'Finds whoever has what a query denies, and does not say of themselves that they have no such thing.';

create function private.read_place(
  words private.query_word[],
  first integer,
  places private.place_name[]
)
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  part constant private.query_word := words[first];
  named private.place_name;
  ids integer[];
  phrase text;
  size integer;
  is_inhabited boolean;
  unit private.search_unit;
begin
  for final in reverse least(first + 7, cardinality(words))..first loop
    continue when exists (
      select from unnest(words[first:final]) as one where one.run is distinct from part.run or (one.token).quoted
    );
    size := final - first + 1;
    continue when size = 1 and (part.token).is_light;
    phrase := array_to_string(array(select (one).word from unnest(words[first:final]) as one), ' ');
    select * into named from unnest(places) as place where not is_adjective and candidate = phrase;
    continue when named.candidate is null;
    if phrase ~ '^[a-z]{1,2}$' and named.is_ambiguous and not (part.token).is_capital then
      -- Two letters are an abbreviation, or a word: LA, la.
      named := null;
      continue;
    end if;
    is_inhabited := exists (
      select
      from private.search_words as stored
      where stored.words @@ private.any_term(private.tags_of(named.ids))
    );
    -- What is also another word, or may become one while it is typed, is a place where one stands, or if people live
    -- there and it is all that is asked or written like a name.
    exit when (part.token).is_where or (part.token).is_near
      or is_inhabited and (
        not named.is_ambiguous or size > 1 or (part.token).is_capital or cardinality(words) = 1
      )
      or not is_inhabited and not named.is_ambiguous and (size > 1 or not private.is_begun(part));
    named := null;
  end loop;
  if named.candidate is null then
    return null;
  end if;
  ids := named.ids;
  if (part.token).is_near then
    -- Those where somebody lives: of 400 around a large city, a query of all takes 20 ms.
    ids := array(
      select unnest(named.ids)
      union
      select place
      from unnest(private.places_within(named.ids, 100)) as place
      join private.search_lexicon as lexicon on lexicon.word = any (private.tags_of(array[place]))
    );
  end if;
  unit.words := array(select (one).word from unnest(words[first:first + size - 1]) as one);
  unit.is_phrase := size > 1;
  unit.place := named.candidate;
  unit.exact := private.tags_of(ids);
  unit.loose := unit.words;
  unit.exact_query := private.any_term(unit.exact);
  unit.loose_query := private.phrase(unit.words);
  unit.is_named := true;
  -- Where nobody lives, somebody may have the name.
  if is_inhabited or (part.token).is_near or (private.word_counts(unit.words)).named <= 0 then
    unit.lives := unit.exact_query;
  end if;
  return unit;
end
$$;
comment on function private.read_place(private.query_word[], integer, private.place_name[]) is
  'The longest name of a place that begins with this word, as a unit; null if there is none.';

create function private.is_begun(part private.query_word)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (private.word_counts(array[part.word || case when (part.token).unfinished then '*' else '' end])).holders > 0;
end
$$;
comment on function private.is_begun(private.query_word) is
  'Whether somebody has a word of a query, or one that begins with it if it is unfinished.';

create function private.read_word(
  part private.query_word,
  others text[],
  known text[],
  places private.place_name[],
  names_only boolean
)
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  word constant text := part.word;
  is_known constant boolean := word = any (known);
  adjective constant integer[] := (
    select ids from unnest(places) as place where candidate = word and is_adjective
  );
  spelling constant text := private.consonants(word);
  corrections text[];
  is_begun boolean;
  unit private.search_unit;
begin
  unit.words := array[word];
  unit.is_phrase := false;
  unit.exact := array[word] || (part.token).variants || others
    || case when not (part.token).is_language then private.tags_of(adjective) else '{}' end;
  unit.loose :=
    -- Who speaks a language may not say so where everybody does.
    case when (part.token).is_language then private.tags_of(adjective) else '{}' end
    || case when (part.token).unfinished then array[word || '*'] else '{}' end
    -- Short words are not corrected: cat, cats.
    || case when char_length(word) > 2 then array[private.either_number(word)] end
    || array(
    select spelt
    from unnest(array[
      private.romaji(word), case when spelling like '~abjad %' then replace(spelling, '~abjad', '~latin')
        else replace(spelling, '~latin', '~abjad') end
    ]) as spelt
    where private.is_listed(spelt)
  );
  is_begun := (private.word_counts(unit.exact || unit.loose)).holders > 0;
  -- A word that the model knows and somebody has is meant: horse is not house. So is a beginning that goes on.
  if not (is_begun and (is_known or (part.token).unfinished)) then
    corrections := array(
      select listed.word
      from private.corrections_of(word, (part.token).unfinished) as listed
      where private.is_listed(listed.word)
      limit 5
    );
    unit.loose := unit.loose || corrections;
    if not (is_known or is_begun) then
      unit.corrected := corrections[1];
    end if;
  end if;
  select word_counts.named > case when is_known then 2 else 0 end into unit.is_named
  from private.word_counts(case when (part.token).unfinished or is_begun then unit.exact else unit.loose end);
  unit.exact_query := private.any_term(unit.exact);
  unit.loose_query := private.any_term(unit.loose);
  if names_only then
    unit.exact_query := (private.lexeme(word) || ':A')::tsquery;
    unit.loose_query := case when (part.token).unfinished then (private.lexeme(word) || ':*A')::tsquery end;
  end if;
  return unit;
end
$$;
comment on function private.read_word(private.query_word, text[], text[], private.place_name[], boolean) is
  'A word of a query as a unit: as typed or as an adjective of a place, else what it may be the beginning of, else a
correction, unless the model knows it (`known`). `others` are its neighbours written together with it; `names_only`: it
counts in names alone.';

create function private.complete_word(typed text, others private.search_unit[])
returns text
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  beginning constant tsquery := private.term_query(typed || '*');
  context tsquery;
  completed text;
begin
  foreach context in array array[
    beginning && (select private.all_of(private.either(other)) from unnest(others) as other), beginning
  ] loop
    select string_agg(lexeme, ' ')
    into completed
    from (
      select lexeme
      from (select words from private.search_words where words @@ context limit 50) as sample
      cross join lateral unnest(words)
      where starts_with(lexeme, typed)
      group by lexeme
      order by count(*) desc, lexeme
      limit 2
    ) as likeliest;
    exit when completed is not null;
  end loop;
  return completed;
end
$$;
comment on function private.complete_word(text, private.search_unit[]) is
  'The words that an unfinished word most often stands for, in fifty profiles that have the other words if there are
any, else in fifty that have it.';

create function private.read_query(tokens jsonb, known text[] default '{}')
returns private.search_query
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  words private.query_word[] := private.words_of_tokens(array(
    select jsonb_populate_record(
      row(null, false, false, false, false, false, false, false, false, false, '{}')::private.search_token, token
    )
    from jsonb_array_elements(tokens) as token
  ));
  places constant private.place_name[] := private.place_names_in(words);
  -- "the and of" asks for nobody, unless it is a name: An Will.
  are_light constant boolean := cardinality(words) > 1 and not exists (
    select from unnest(words) as one where not (one.token).is_light
  );
  part private.query_word;
  unit private.search_unit;
  place private.search_unit;
  phrase text[];
  pieces text[];
  size integer;
  holders double precision;
  at integer := 1;
  asked private.search_query;
begin
  asked.units := '{}';
  asked.corrections := '[]';
  asked.completions := '[]';
  asked.unknown := '{}';
  while at <= cardinality(words) loop
    part := words[at];
    phrase := array(select word from unnest(words[at:]) as one where run = part.run and one.number = part.number);
    if (part.token).excluded then
      size := cardinality(phrase);
      -- Whoever has it, or lives in the place of that name.
      asked.excluded := (
        select private.any_of(query)
        from (
          values (asked.excluded), (case
            when not (part.token).is_denied then private.phrase(phrase)
            when not (part.token).is_where then private.denied(phrase)
          end)
          union all
          select private.any_term(private.tags_of(ids))
          from unnest(places)
          where candidate = array_to_string(phrase, ' ') and not is_adjective
        ) as exclusions (query)
      );
    else
      unit := private.read_place(words, at, places);
      size := cardinality(unit.words);
      if size is null and part.run is not null then
        size := cardinality(phrase);
        unit := null;
        unit.words := phrase;
        unit.exact := phrase;
        unit.is_phrase := true;
        unit.exact_query := private.phrase(phrase);
        unit.loose := array_remove(array[private.romaji(array_to_string(phrase, ''))], null);
        unit.loose_query := private.any_term(unit.loose);
      elsif size is null then
        pieces := case
          when part.word <> all (known) and not private.is_begun(part) then private.split_of(part.word)
        end;
        if pieces is not null then
          words := words[:at - 1] || array(
            select row(part.token, part.number, piece, null)::private.query_word from unnest(pieces) as piece
          ) || words[at + 1:];
          continue;
        end if;
        size := 1;
        unit := private.read_word(
          part => part, known => known, places => places, names_only => are_light,
          others => array(
            select joined
            from unnest(array[(words[at - 1]).word || part.word, part.word || (words[at + 1]).word]) as joined
            where private.is_listed(joined)
          )
        );
        if unit.corrected is null and part.word <> all (known) and not private.is_begun(part)
          and (private.word_counts(unit.exact || unit.loose)).holders = 0 then
          asked.unknown := asked.unknown || part.word;
        end if;
        if unit.corrected is not null then
          asked.corrections := asked.corrections || jsonb_build_object('from', part.word, 'to', unit.corrected);
          -- in Madrdi
          words[at].word := unit.corrected;
          place := private.read_place(words, at, private.place_names_in(words[at:at]));
          if place.words is not null then
            unit := place;
          end if;
        end if;
      end if;
      unit.number := cardinality(asked.units) + 1;
      unit.quoted := (part.token).quoted;
      if not exists (select from unnest(asked.units) as other where other.words = unit.words) then
        holders := least(profiles, case
          -- All the words of a phrase, as the rarest of them.
          when unit.is_phrase and unit.place is null
            then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
          else coalesce(
            nullif((private.word_counts(unit.exact)).holders, 0),
            (private.word_counts(case when unit.place is null then unit.loose end)).holders
          )
        end);
        unit.rarity := ln(1 + profiles / greatest(1, holders));
        unit.is_common := holders > 25 and holders >= profiles / 2;
        unit.is_named := coalesce(unit.is_named, false);
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
  part := words[cardinality(words)];
  unit := asked.units[cardinality(asked.units)];
  -- Of a word with up to three letters, nobody knows whether it is one already, unless somebody has it.
  if (part.token).unfinished and part.word || '*' = any (unit.loose) and unit.corrected is null and (
    (part.token).is_light or part.word <> all (known)
    or char_length(part.word) <= 3 and not private.is_listed(part.word)
  ) then
    asked.completions := asked.completions || (
      select coalesce(jsonb_agg(jsonb_build_object('from', part.word, 'to', meant)), '[]')
      from private.complete_word(part.word, asked.units[:cardinality(asked.units) - 1]) as meant
      where meant <> part.word
    );
  end if;
  return asked;
end
$$;
comment on function private.read_query(jsonb, text[]) is
  'What a query looks for, from its tokens (private.search_token) and the words of it that the model knows.';
