-- What the words of a query mean, before any of it is embedded: as typed, completed, corrected, a name, or nothing.

create function private.completions_of(typed text, context tsquery)
returns text[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return array(
    select lexeme
    from (select words from private.search_words where words @@ context limit 50) as sample
    cross join lateral unnest(words)
    where starts_with(lexeme, typed)
    group by lexeme
    order by count(*) desc, lexeme
    limit 2
  );
end
$$;
comment on function private.completions_of(text, tsquery) is
  'The words that an unfinished word most often stands for, in fifty profiles that a query finds.';

create type private.understood_word as (
  typed text,
  meant text[],
  before text,
  is_corrected boolean,
  is_embedded boolean
);
comment on type private.understood_word is
  'What a word of a query means: the words that it stands for, none if it means nothing. `before` is what separates it
from the word before it: nothing within a run of letters, else a space.';

create function private.understand(asked private.search_query, known text[])
returns setof private.understood_word
language plpgsql stable security invoker set search_path = ''
as $$
declare
  part private.query_word;
  run integer;
  is_listed boolean;
  is_word boolean;
  understood private.understood_word;
begin
  foreach part in array asked.words loop
    continue when part.excluded;
    understood := row(
      part.word, array[part.word],
      case
        when part.unit = run and not part.quoted and part.word ~ ('^[' || private.unspaced_letters() || ']') then ''
        else ' '
      end,
      false, false
    );
    run := part.unit;
    is_listed := exists (select from private.search_lexicon as lexicon where lexicon.word = part.word)
      -- The lexicon may not have it yet.
      or exists (select from private.search_words where words @@ private.lexeme(part.word)::tsquery);
    is_word := part.quoted or part.word = any (known) or is_listed;
    -- Of an unfinished word with up to three letters, nobody knows whether it is one already, unless the model knows it
    -- and somebody has it.
    if part.unfinished
      and (not is_word or char_length(part.word) <= 3 and not (part.word = any (known) and is_listed)) then
      understood.meant := private.completions_of(
        part.word, (select private.all_of(query) from unnest(asked.units))
      );
      if understood.meant = '{}' then
        understood.meant := private.completions_of(part.word, (private.lexeme(part.word) || ':*')::tsquery);
      end if;
    end if;
    if not is_word and (not part.unfinished or understood.meant = '{}') then
      understood.meant := array(
        select closest.word
        from (
          select term.word, term.typos
          from unnest(asked.terms) as term
          where term.place = part.place and term.typos > 0
          order by term.typos, term.word
          limit 5
        ) as closest
        cross join lateral private.measure_word(
          query => private.lexeme(closest.word)::tsquery, is_known => false, profiles => 0, sample => null
        ) as measured
        -- The lexicon may still have words of profiles that are hidden by now.
        where holders > 0
        order by closest.typos, holders desc, closest.word
        limit 1
      );
      understood.is_corrected := understood.meant <> '{}';
    elsif understood.meant = '{}' then
      understood.meant := array[part.word];
    end if;
    understood.is_embedded := understood.meant <> '{}' and not exists (
      select from unnest(asked.units) as asked_unit where asked_unit.unit = part.unit and is_named
    );
    return next understood;
  end loop;
end
$$;
comment on function private.understand(private.search_query, text[]) is
  'What each word of a query means. A word that the model knows or a profile has is meant as typed. Any other is
completed if it is the last one, from profiles that have the other words if there are any, or else corrected by the
words that profiles have. Names, places and words that mean nothing are not embedded: nearest to them would be
strangers.';

create function api.understand_query(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  known constant text[] := private.words_of(request ->> 'known');
  asked constant private.search_query := private.read_query(
    coalesce(request ->> 'words', request ->> 'q', ''), known, request
  );
  suggestion text := coalesce(request ->> 'q', '');
  understood private.understood_word;
  embedded text := '';
  is_as_typed boolean := true;
  corrections jsonb := jsonb_build_array();
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  for understood in select * from private.understand(asked, known) loop
    is_as_typed := is_as_typed and understood.is_embedded and understood.meant = array[understood.typed];
    if understood.is_embedded then
      embedded := embedded || understood.before || array_to_string(understood.meant, ' ');
    end if;
    if understood.is_corrected then
      corrections := corrections || jsonb_build_object('from', understood.typed, 'to', understood.meant[1]);
      suggestion := regexp_replace(
        suggestion, '\m' || regexp_replace(understood.typed, '(\W)', '\\\1', 'g') || '\M', understood.meant[1], 'i'
      );
    end if;
  end loop;
  return json_build_object(
    'text', case when not is_as_typed then trim(embedded) end,
    'suggestion', case when corrections <> '[]' then jsonb_build_object('query', suggestion, 'words', corrections) end,
    'asked', asked
  );
end
$$;
comment on function api.understand_query(jsonb) is
  'What a query means, before it is embedded, from {q, words, known, spoken, variants, timeout}: {text, suggestion,
asked}. `words` are those of q to look for, `known` those that the model knows, `spoken` names of languages, `variants`
other ways to write a word; `text` is to be embedded: null for the query as typed, empty for nothing; `asked`
saves api.search_profiles from reading the query again. Definer, as api.search_profiles.';
grant execute on function api.understand_query(jsonb) to edge_functions;
