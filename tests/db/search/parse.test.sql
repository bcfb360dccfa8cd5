-- How queries and texts are split into words, and which words of the index a typed word may stand for.
select plan(72);

-- Each word as `unit.place word`, then its flags: q quoted, x excluded, u unfinished.
create function pg_temp.parsed(query text)
returns text
language sql
as $$
  select coalesce(string_agg(
    format('%s.%s %s', unit, place, word) || coalesce(
      ' ' || nullif(
        concat(case when quoted then 'q' end, case when excluded then 'x' end, case when unfinished then 'u' end), ''
      ),
      ''
    ),
    ', ' order by excluded, position
  ), '')
  from private.parse_query(query)
$$;

select is(pg_temp.parsed(query), expected, format('"%s" is parsed', query))
from (
  values
    ('', ''),
    ('  ', ''),
    ('--- "" - !', ''),
    ('yoga', '1.1 yoga u'),
    ('yoga ', '1.1 yoga'),
    (e'yoga\t', '1.1 yoga'),
    (' Gwen  FAIRHÄVEN', '1.1 gwen, 2.2 fairhaven u'),
    ('street-food', '1.1 street, 2.2 food u'),
    ('"yoga"', '1.1 yoga q'),
    ('"street food"', '1.1 street q, 1.2 food q'),
    ('"street food" yog', '1.1 street q, 1.2 food q, 2.3 yog u'),
    ('yog "street food"', '1.1 yog, 2.2 street q, 2.3 food q'),
    ('"street food', '1.1 street q, 1.2 food q'),
    ('-yoga', '1.1 yoga x'),
    ('tea -yoga', '1.1 tea, 2.1 yoga x'),
    ('-yoga tea', '2.1 tea u, 1.1 yoga x'),
    ('-"street food" tea', '3.1 tea u, 1.1 street qx, 1.2 food qx'),
    ('- yoga', '1.1 yoga u'),
    ('寿司', '1.1 寿, 1.2 司'),
    ('寿司 sushi', '1.1 寿, 1.2 司, 2.3 sushi u'),
    ('a b c d e f g h i j k l', '1.1 a, 2.2 b, 3.3 c, 4.4 d, 5.5 e, 6.6 f, 7.7 g, 8.8 h, 9.9 i, 10.10 j'),
    (
      '"a b" c d e f g h i j k l',
      '1.1 a q, 1.2 b q, 2.3 c, 3.4 d, 4.5 e, 5.6 f, 6.7 g, 7.8 h, 8.9 i, 9.10 j'
    ),
    -- Quoted words count among the ten, and the rest of a phrase stays a phrase.
    (
      '"a b c d e f g h i j k l" m',
      '1.1 a q, 1.2 b q, 1.3 c q, 1.4 d q, 1.5 e q, 1.6 f q, 1.7 g q, 1.8 h q, 1.9 i q, 1.10 j q'
    ),
    (
      'a b c d e f g h i "j k"',
      '1.1 a, 2.2 b, 3.3 c, 4.4 d, 5.5 e, 6.6 f, 7.7 g, 8.8 h, 9.9 i, 10.10 j q'
    ),
    -- Excluded words are counted separately.
    (
      '-"a b c d e f" -g -h -i -j -k',
      '1.1 a qx, 1.2 b qx, 1.3 c qx, 1.4 d qx, 1.5 e qx, 1.6 f qx, 2.7 g x, 3.8 h x, 4.9 i x, 5.10 j x'
    ),
    -- Three letters of a run count as a word.
    (
      'a b c d e f g h i 寿司東京',
      '1.1 a, 2.2 b, 3.3 c, 4.4 d, 5.5 e, 6.6 f, 7.7 g, 8.8 h, 9.9 i, 10.10 寿, 10.11 司, 10.12 東'
    ),
    ('寿司x東京都民 y', '1.1 寿, 1.2 司, 2.3 x, 3.4 東, 3.5 京, 3.6 都, 3.7 民, 4.8 y u'),
    (
      '一二三四五六七八九十百千 y',
      '1.1 一, 1.2 二, 1.3 三, 1.4 四, 1.5 五, 1.6 六, 1.7 七, 1.8 八, 1.9 九, 1.10 十, 1. 百, 1. 千, 2.11 y u'
    ),
    -- A repeated word has two places at most, but a phrase keeps all its words.
    ('a b a a A c ', '1.1 a, 2.2 b, 3.3 a, 4. a, 5. a, 6.4 c'),
    ('"a a a b" a', '1.1 a q, 1.2 a q, 1. a q, 1.3 b q, 2. a u'),
    ('-a -a -a a', '4.1 a u, 1.1 a x, 2.2 a x, 3.3 a x')
) as cases (query, expected)
where query not in ('-"street food" tea', '-yoga tea', 'tea -yoga');

-- How the units of excluded words are numbered does not matter.
select results_eq(
  format('select word, quoted, excluded from private.parse_query(%L) order by excluded, position', query),
  expected,
  format('"%s" is parsed', query)
)
from (
  values
    ('tea -yoga', $$ values ('tea', false, false), ('yoga', false, true) $$),
    ('-yoga tea', $$ values ('tea', false, false), ('yoga', false, true) $$),
    ('-"street food" tea', $$ values ('tea', false, false), ('street', true, true), ('food', true, true) $$)
) as cases (query, expected);

select cmp_ok(
  (select count(*) from private.parse_query(query)), '<=', max_words::bigint,
  format('%s characters have at most %s words', char_length(query), max_words)
)
from (
  values
    (repeat('寿', 512), 30),
    ('"' || repeat('isaac ', 85) || '"', 10),
    (repeat('"a" ', 128), 10),
    (repeat('-a ', 170), 10),
    (repeat(U&'\FDFA', 512), 10)
) as cases (query, max_words);

select is(private.words_of(text), expected::text[], format('"%s" is split into words', left(text, 20)))
from (
  values
    (null, '{}'),
    ('', '{}'),
    (' ,.;!? ', '{}'),
    ('Café au LAIT', '{cafe,au,lait}'),
    (e'cafe\u0301', '{cafe}'),
    ('São Paulo', '{sao,paulo}'),
    ('Straße', '{strasse}'),
    ('İstanbul', '{istanbul}'),
    ('ﬁsh', '{fish}'),
    ('don''t', '{don,t}'),
    (e'one\ntwo\tthree', '{one,two,three}'),
    ('寿司abc', '{寿,司,abc}'),
    ('안녕 세계', '{안녕,세계}'),
    ('Привет', '{привет}'),
    (repeat('x', 70), format('{%s}', repeat('x', 60)))
) as cases (text, expected);

select is(private.typo_budget(word), expected, format('%s letters tolerate %s errors', char_length(word), expected))
from (values ('abcd', 0), ('abcde', 1), ('abcdefgh', 1), ('abcdefghi', 2), ('éééé', 0)) as cases (word, expected);

select is_empty(
  $$
    select typed, meant, budget, errors, expected
    from (
      values
        ('brelk', 'brelk', 1, 0),
        ('brelt', 'brelk', 1, 1),
        ('brelkk', 'brelk', 1, 1),
        ('brlk', 'brelk', 1, 1),
        ('brlek', 'brelk', 1, 1),
        ('rbelk', 'brelk', 1, 1),
        ('brefz', 'brelk', 1, null),
        ('brle', 'brelk', 1, null),
        ('zamquilap', 'zanquilop', 2, 2),
        ('zanuqilpo', 'zanquilop', 2, 2),
        ('aznquilap', 'zanquilop', 2, 2),
        ('znaquilo', 'zanquilop', 2, 2),
        ('zamqnilap', 'zanquilop', 2, null),
        ('zanuqilxx', 'zanquilop', 2, null),
        ('brelt', 'brelk', 0, null)
    ) as cases (typed, meant, budget, expected)
    cross join lateral (
      values
        (private.typos(typed => typed, meant => meant, budget => budget)),
        (private.typos(typed => meant, meant => typed, budget => budget))
    ) as counted (errors)
    where errors is distinct from expected
  $$,
  'typos are counted as in the Damerau-Levenshtein distance, in either direction'
);

select is(
  private.typos(typed => 'ca', meant => 'abc', budget => 2), 2, 'a letter may be missing between two swapped ones'
);

insert into public.users (name, email)
values ('Brelk Brelkirk Plonthir Zanquilop Zanquilopa Éclair Mandelbrotikersaal', 'words@tests.example');
insert into public.profiles (user_id, is_searchable)
select id, true from public.users where email = 'words@tests.example';

select results_eq(
  format('select word, typos from private.corrections_of(%L, %L) order by word', typed, unfinished),
  expected,
  format('"%s"%s is corrected', typed, case when unfinished then '…' else '' end)
)
from (
  values
    ('brelk', false, $$ select '', 0 where false $$),
    ('brel', false, $$ select '', 0 where false $$),
    ('brel', true, $$ select '', 0 where false $$),
    ('brelt', false, $$ values ('brelk', 1) $$),
    ('brelt', true, $$ values ('brelk', 1), ('brelkirk', 1) $$),
    ('drelk', true, $$ select '', 0 where false $$),
    ('xanquilop', false, $$ values ('zanquilop', 2) $$),
    ('anquilopa', false, $$ values ('zanquilopa', 2) $$),
    ('xzanquilop', false, $$ values ('zanquilop', 2) $$),
    ('eclair', false, $$ select '', 0 where false $$),
    -- Two letters are missing in the beginning of an unfinished word.
    ('mndlbrotiker', true, $$ values ('mandelbrotikersaal', 2) $$),
    ('mndlbrotiker', false, $$ select '', 0 where false $$),
    ('mandelbrotikersal', false, $$ values ('mandelbrotikersaal', 1) $$)
) as cases (typed, unfinished, expected);

-- No scan of the lexicon may find more than its index of deletions.
select is_empty(
  $$
    with mistyped as (
      select word as meant, typed, unfinished
      from private.search_lexicon
      cross join unnest(array[true, false]) as unfinished
      cross join lateral (
        select case when unfinished then left(word, greatest(5, char_length(word) - 3)) else word end as form
      ) as forms
      cross join lateral (
        select overlay(form placing letter from one for length) as typed
        from generate_series(2, char_length(form)) as one
        cross join (values ('', 1), ('q', 1), ('q', 0)) as errors (letter, length)
        union
        select overlay(overlay(form placing '' from two for 1) placing letter from one for length)
        from generate_series(2, char_length(form) - 1) as one
        cross join generate_series(one + 1, char_length(form)) as two
        cross join (values ('', 1), ('q', 1), ('q', 0)) as errors (letter, length)
        where char_length(form) >= 9
      ) as errors
    )
    select typed, unfinished, meant
    from mistyped
    where char_length(typed) >= 5
      and left(typed, 1) = left(meant, 1)
      and not (unfinished and starts_with(meant, typed))
      and typed <> meant
      and private.typos(
        typed => typed,
        meant => case when unfinished then left(meant, greatest(5, char_length(meant) - 3)) else meant end,
        budget => greatest(1, private.typo_budget(typed))
      ) <= private.typo_budget(typed)
      and meant not in (select word from private.corrections_of(typed, unfinished))
  $$,
  'every word within the budget is found, finished or not'
);
