-- Where hits have the words of a query, and the part of their biography that shows them, if a search asks for it.

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

create function private.word_places(value text)
returns table (place integer, word text, start integer, length integer)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  combining constant text := private.combining_marks();
  letters constant text := private.unspaced_letters();
  -- Characters that fold into exactly one, so that a run of them needs no places of its own.
  plain constant text := '\u0001-\u007f\u00c0-\u00c5\u00c7-\u00cf\u00d1-\u00d6\u00d8-\u00dd\u00e0-\u00e5\u00e7-\u00ef'
    || '\u00f1-\u00f6\u00f8-\u00fd\u00ff\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3';
  folded constant text := private.fold(value);
  pattern text;
  joined text;
  starts integer[];
  folded_starts integer[];
  are_plain boolean[];
begin
  if value !~ ('[^' || plain || ']') then
    starts := '{0}';
    folded_starts := '{0}';
    are_plain := '{true}';
    joined := folded;
  end if;
  -- Cut into pieces that fold into the same text as the whole does. A mark after a plain character may compose with it;
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
  wanted constant text[] := array(
    select distinct word
    from (
      select term.word from unnest(asked.terms) as term
      union all
      select part.word from unnest(asked.words) as part where not excluded
    ) as words
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
      where not excluded
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
  'Where hits have the words of a query, as typed, completed or corrected, and its phrases. Of each word only the
matches with the fewest typing errors in the hit, as in its score.';

create type private.snippet as (
  text text,
  start integer,
  length integer
);
comment on type private.snippet is
  'A part of a biography. `start` and `length` say which characters, without the ellipses.';

create function private.snippet_of(biography text, matches private.text_match[])
returns private.snippet
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  max_length constant integer := 160;
  -- With an ellipsis at each end.
  room constant integer := max_length - 2;
  size constant integer := char_length(biography);
  part_of_word constant text := '[^[:space:]' || private.unspaced_letters() || ']+';
  combining constant text := '[' || private.combining_marks() || ']';
  first integer := 0;
  last integer := 0;
  start integer;
  ending integer;
  whole integer;
begin
  if biography is null then
    return null;
  elsif size <= max_length then
    return row(biography, 0, size)::private.snippet;
  end if;
  -- From the match after which most words of the query follow, near enough for the last one to be whole. In one pass:
  -- with a join of all pairs, 100 biographies of a thousand matches each took a minute.
  select window_start, window_end
  into first, last
  from (
    select
      match.start as window_start,
      least(match.start + room, max(match.start + match.length) over following) as window_end,
      bit_count((bit_or(1::bigint << match.unit) over following)::bit(64)) as units,
      count(*) over following as matches_found
    from unnest(matches) as match
    window following as (order by match.start range between current row and 100 following)
  ) as windows
  order by units desc, matches_found desc, window_start
  limit 1;
  first := coalesce(first, 0);
  last := coalesce(last, 0);

  start := greatest(0, least(first - (room - (last - first)) / 2, size - room - 1));
  ending := case when start = 0 then room + 1 when start + room + 1 >= size then size else start + room end;
  if start > 0 then
    -- Not from the middle of a word, unless the match begins there.
    if substr(biography, start, 1) ~ part_of_word then
      start := start + coalesce(
        char_length(substring(substr(biography, start + 1, first - start) from '^' || part_of_word)), 0
      );
    end if;
    start := start + coalesce(
      char_length(substring(substr(biography, start + 1, first - start) from '^[[:space:]]+')), 0
    );
    while start < first and substr(biography, start + 1, 1) ~ combining loop
      start := start + 1;
    end loop;
  end if;
  if ending < size then
    whole := ending;
    if substr(biography, ending + 1, 1) ~ part_of_word then
      whole := ending - coalesce(
        char_length(substring(substr(biography, last + 1, ending - last) from part_of_word || '$')), 0
      );
    end if;
    whole := whole - coalesce(
      char_length(substring(substr(biography, last + 1, whole - last) from '[[:space:]]+$')), 0
    );
    -- A word that fills the snippet is cut.
    if whole > start then
      ending := whole;
    end if;
    while ending > start + 1 and substr(biography, ending + 1, 1) ~ combining loop
      ending := ending - 1;
    end loop;
  end if;
  return row(
    case when start > 0 then '…' else '' end || substr(biography, start + 1, ending - start)
      || case when ending < size then '…' else '' end,
    start,
    ending - start
  )::private.snippet;
end
$$;
comment on function private.snippet_of(text, private.text_match[]) is
  'The 160 characters of a biography that have the most words of a query, or its beginning if it has none: cut between
words, with an ellipsis, which counts, where text is left out. Null for no biography.';

create function private.highlight_together(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
    with matches as materialized (
      select * from private.text_matches(hits, asked)
    ),
    snippets as materialized (
      select
        hit, body, (snippet).*,
        -- Characters before the snippet, for which it has an ellipsis.
        greatest(0, (snippet).start - 1) as hidden
      from (
        select
          ordinality::integer as hit, body,
          private.snippet_of(body ->> 'biography', coalesce(in_biography, '{}')) as snippet
        from json_array_elements(hits) with ordinality as listed (body, ordinality)
        left join (
          select hit, array_agg(row(matches.*)::private.text_match) as in_biography
          from matches
          where field = 'biography'
          group by hit
        ) as biographies on hit = ordinality
        offset 0
      ) as cut
    ),
    ranges as (
      select hit, field, element, int4range(matches.start, matches.start + matches.length) as range
      from matches
      union all
      select hit, '_snippet', null, int4range(lower(shown) - hidden, upper(shown) - hidden)
      from matches
      join snippets using (hit)
      cross join lateral (
        select int4range(matches.start, matches.start + matches.length)
          * int4range(snippets.start, snippets.start + snippets.length)
      ) as cut (shown)
      where field = 'biography' and not isempty(shown)
    ),
    fields as (
      select hit, field, jsonb_agg(
        jsonb_strip_nulls(jsonb_build_object(
          'index', element, 'start', lower(range), 'length', upper(range) - lower(range)
        ))
        order by element, range
      ) as places
      from (
        select hit, field, element, unnest(range_agg(range)) as range
        from ranges
        group by hit, field, element
      ) as merged
      group by hit, field
    )
    select coalesce(
      json_agg(
        body::jsonb || jsonb_build_object('_snippet', snippets.text, '_matches', coalesce(places, '{}')) order by hit
      ),
      '[]'
    )
    from snippets
    left join (
      select hit, jsonb_object_agg(field, places) as places from fields group by hit
    ) as found using (hit)
  );
end
$$;
comment on function private.highlight_together(json, private.search_query) is
  'What highlight returns, in one step.';

create function private.highlight(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  step json;
  highlighted json[] := array[]::json[];
begin
  -- A hit whose longest biography is full of matches takes 10 to 50 ms, and a page has up to a hundred. Ordinary pages
  -- are one step or two.
  for step in
    select json_agg(body order by ordinality)
    from (
      select body, ordinality, sum(char_length(body::text)) over (order by ordinality) / 10000 as number
      from json_array_elements(hits) with ordinality as listed (body, ordinality)
    ) as numbered
    group by number
    order by number
  loop
    highlighted := highlighted || array(select json_array_elements(private.highlight_together(step, asked)));
    perform private.check_deadline();
  end loop;
  return array_to_json(highlighted);
end
$$;
comment on function private.highlight(json, private.search_query) is
  'The hits with _matches, {field: [{start, length}]} in characters of the field as printed (for interests also
`index`), and _snippet, which is such a field too. Matches that touch are one.';
