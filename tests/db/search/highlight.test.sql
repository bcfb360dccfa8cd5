-- Where the words of a query stand in a text as written. Columns: the word, folded; what it covers.
select plan(17);

create function pg_temp.words(value text)
returns text[]
language sql
as $$
  select coalesce(array_agg(word || '=' || substr(value, start + 1, length) order by place), '{}')
  from private.word_places(value)
$$;

select is(
  pg_temp.words(E'Straße ﬁnd cafe\u0301s, “Ünï” ½ Ångström'),
  array['strasse=Straße', 'find=ﬁnd', E'cafes=cafe\u0301s', 'uni=Ünï', '1=½', '2=½', 'angstrom=Ångström'],
  'a word covers what it is written with, also where folding changes the length'
);
select is(
  pg_temp.words(E'か\u3099く 東京でラーメン, ภาษา x'),
  array[
    E'が=か\u3099', 'く=く', '東=東', '京=京', 'で=で', 'ラ=ラ', 'ー=ー', 'メ=メ', 'ン=ン', 'ภ=ภ', 'า=า', 'ษ=ษ', 'า=า', 'x=x'
  ],
  'in scripts without spaces each letter is a word, with its marks'
);
select is(
  pg_temp.words(E'\u0438\u0306\u043e\u0434 \u1100\u1161\u11a8 z\u0301\u0316z'),
  array[E'йод=\u0438\u0306од', E'각=\u1100\u1161\u11a8', E'zz=z\u0301\u0316z'],
  'marks that compose with a letter belong to it'
);
select is(pg_temp.words(''), '{}', 'an empty text has no words');
select is(pg_temp.words(E' \u0301 … —'), '{}', 'and neither has one of signs');
select is(pg_temp.words(E'a\u0301'), array[E'a=a\u0301'], 'a mark at the end belongs to the last word');

-- Texts of pieces that are hard to fold, drawn at random, the same each time.
create function pg_temp.texts()
returns setof text
language sql
as $$
  select (
    select string_agg(piece, '' order by at)
    from generate_series(1, 12) as at
    cross join lateral (
      select (array[
        'a', 'e', 'ß', 'ﬁ', E'\u0301', E'\u0308', ' ', '-', '京', 'か', E'か\u3099', 'ไ', E'\u0e34', '½', 'ŉ', 'İ', 'é',
        E'\n', E'\u200d', '🎷', E'\ufe0f', E'\u1100', E'\u1161', 'ﷺ', 'й', E'\u0438', E'\u0306', '_', '.', '㍿',
        E'\u00ad', E'\uff76', E'\uff9e', '''', E'\u0939', E'\u093f', '×'
      ])[1 + (hashint8(number * 100 + at)::bigint & 2147483647) % 37] as piece
    ) as drawn
  )
  from generate_series(1, 400) as number
$$;
select is_empty(
  $$
    select value, words, private.words_of(value)
    from pg_temp.texts() as value
    cross join lateral (select array_agg(word order by place) as words from private.word_places(value)) as places
    where coalesce(words, '{}') <> private.words_of(value)
  $$,
  'of any text the words are those that the search looks for'
);
select is_empty(
  $$
    select value, word, covered
    from pg_temp.texts() as value
    cross join lateral private.word_places(value)
    cross join lateral (select substr(value, start + 1, length) as covered) as cut
    where start < 0 or length < 1 or start + length > char_length(value)
      or private.words_of(covered) @> array[word] is not true
  $$,
  'and what a word covers has that word'
);
create function pg_temp.snippet(biography text, start integer, length integer)
returns text
language sql
as $$
  select text
  from private.snippet_of(biography, array[row(1, 'biography', null, 1, start, length)::private.text_match])
$$;
select is(
  pg_temp.snippet(repeat('word ', 60), 150, 4),
  '…' || trim(repeat('word ', 31)) || '…',
  'a snippet is cut between words, around the match'
);
select is(
  pg_temp.snippet(repeat('東', 400), 200, 2),
  '…' || repeat('東', 158) || '…',
  'in scripts without spaces, between letters'
);
select is(
  pg_temp.snippet(repeat('x', 400), 0, 400), repeat('x', 158) || '…', 'and within a word only if nothing else is left'
);

-- The words of “the jazz” that are marked in a biography, if so many of 100 profiles have them.
create function pg_temp.marked(the integer, jazz integer, is_quoted boolean default false)
returns text[]
language sql
as $$
  select array_agg(substr('the jazz of the hills', start + 1, length) order by start)
  from private.text_matches(
    '[{"name": "Ada", "biography": "the jazz of the hills", "interests": []}]',
    row(
      array[
        jsonb_populate_record(null::private.query_word, '{"word": "the", "unit": 1, "position": 1, "excluded": false}'),
        jsonb_populate_record(null::private.query_word, '{"word": "jazz", "unit": 2, "position": 2, "excluded": false}')
      ],
      array[row(1, 1, 'the', 0, false), row(2, 2, 'jazz', 0, false)]::private.search_term[],
      array(
        select jsonb_populate_record(null::private.search_unit, jsonb_build_object(
          'unit', unit, 'quoted', is_quoted, 'holders', holders, 'rarity', ln(1 + 100.0 / holders)
        ))
        from unnest(array[the, jazz]) with ordinality as listed (holders, unit)
      ),
      '{}'
    )::private.search_query
  )
$$;
select is(pg_temp.marked(100, 5), array['jazz'], 'what all profiles have is not marked beside rarer words');
select is(pg_temp.marked(50, 5), array['jazz'], 'nor what half of them have');
select is(pg_temp.marked(49, 5), array['the', 'jazz', 'the'], 'words that fewer have are all marked');
select is(pg_temp.marked(100, 60), array['the', 'jazz', 'the'], 'as they are if all words are such');
select is(pg_temp.marked(100, 5, is_quoted => true), array['the', 'jazz', 'the'], 'or quoted');
select is(pg_temp.marked(25, 1), array['the', 'jazz', 'the'], 'a word that 25 have is marked in any case');
