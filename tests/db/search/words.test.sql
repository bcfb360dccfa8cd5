-- What the words of a query may stand for. That a request finds so is in tests/rules/search*.rules.ts; here is how far
-- it goes.
select plan(31);

select is(
  private.typos(typed => 'ca', meant => 'abc', budget => 2), 2, 'a letter may be missing between two swapped ones'
);

-- What the people below have in their profiles, one text each.
create function pg_temp.write(variadic texts text[]) returns void language sql as $$
  with users as (
    insert into public.users (name, email)
    select 'Ulf', md5(text) || '@tests.example' from unnest(texts) as text
    returning id, email
  )
  insert into public.profiles (user_id, biography, is_searchable)
  select id, text, true from users join unnest(texts) as text on email = md5(text) || '@tests.example';
  select private.count_words();
$$;
-- Who is found by a query as it is typed, or by what it may stand for.
create function pg_temp.found(query text, unfinished boolean default false) returns text[] language sql as $$
  select array_agg(coalesce(biography, entry.name) order by 1)
  from private.read_query(
    jsonb_set(tests.words(query), '{-1,unfinished}', to_jsonb(unfinished))
  ) as asked
  cross join unnest(asked.units) as unit
  join private.search_words as stored on stored.words @@ unit.query
  join private.search_entries as entry using (profile_id)
$$;

select pg_temp.write(
  'Cheese', 'Chess', 'More chess', 'Brelk brelkirk plonthir zanquilop zanquilopa éclair mandelbrotikersaal',
  'Rock climbing gear', 'O’Brien', 'X Brien'
);
select is(
  array(select private.corrections_of(typed, unfinished)), corrections::text[],
  format('"%s"%s may be %s', typed, case when unfinished then '…' else '' end, corrections)
)
from (
  values
    ('chese', false, '{cheese,chess}'),
    ('chesss', false, '{chess}'),
    ('brelk', false, '{}'),
    ('brel', true, '{}'),
    ('brelt', false, '{brelk}'),
    ('brelt', true, '{brelk,brelkirk}'),
    ('drelk', true, '{}'),
    ('xanquilop', false, '{zanquilop,zanquilopa}'),
    ('eclair', false, '{}'),
    -- Two letters are missing in the beginning of an unfinished word.
    ('mndlbrotiker', true, '{mandelbrotikersaal}'),
    ('mndlbrotiker', false, '{}')
) as cases (typed, unfinished, corrections);
select is(pg_temp.found('chese'), '{Cheese,Chess,More chess}', 'a mistyped word finds all that it may be');
select is(pg_temp.found('cheese'), '{Cheese}', 'one that somebody has only itself');

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
      where word !~ '^[@~]'
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
        budget => case when char_length(typed) < 9 then 1 else 2 end
      ) is not null
      and meant not in (select private.corrections_of(typed, unfinished))
  $$,
  'every word within the budget is found, finished or not'
);

select is(private.split_of(typed), parts::text[], format('"%s" is split into %s', typed, parts))
from (
  values
    ('rockclimbing', '{rock,climbing}'), ('rockclimbinggear', '{rock,climbing,gear}'), ('rockgear', null),
    ('obrien', '{o,brien}'), ('xbrien', null)
) as cases (typed, parts);

-- Names in other scripts
select is_empty(
  $$
    select one, other, private.consonants(one), private.consonants(other)
    from (
      values
        ('محمد', 'mohammed', true), ('محمد', 'muhammad', true), ('فاطمة', 'fatima', true), ('יצחק', 'yitzhak', true),
        ('שרה', 'sarah', true), ('محمد', 'mahmoud', true), ('محمد', 'ahmed', false), ('فاطمة', 'samira', false)
    ) as names (one, other, are_same)
    where (split_part(private.consonants(one), ' ', 2) = split_part(private.consonants(other), ' ', 2)) <> are_same
      or private.consonants(one) not like '~abjad %' or private.consonants(other) not like '~latin %'
  $$,
  'the consonants of names in Arabic and Hebrew are those of their Latin spellings'
);
select is(
  array(
    select private.latin_spelling(name) from unnest('{さくら,ユウコ,きょうこ,ホッタ,გიორგი,अर्जुन,शर्मा,लक्ष्मी,サ-,sakura}'::text[]) as name
  ),
  '{sakura,yuko,kyoko,hotta,giorgi,arjun,sharma,lakshmi,null,null}', 'kana, Georgian, Devanagari are spelt in Latin'
);
select is(
  array(select private.hangul_spelling(name) from unnest('{김민준,지호,박,이서연,한지민,독고영재,kim}'::text[]) as name),
  '{kim minjun,jiho,park,lee seoyeon,han jimin,dokgoyeongjae,null}', 'Korean names are spelt as families do'
);
update public.users set name = case email
  when md5('Chess') || '@tests.example' then 'محمد الخطيب' when md5('Cheese') || '@tests.example' then 'さくら'
  else 'Mohammed'
end
where email in (select md5(text) || '@tests.example' from unnest('{Cheese,Chess,More chess}'::text[]) as text);
select is(pg_temp.found('Muhammad'), '{Chess}', 'a Latin name finds whoever writes it in Arabic');
select is(pg_temp.found('محمد'), '{Chess,More chess}', 'and the other way round');
select is(pg_temp.found('Khatib'), '{Chess}', 'without the article that Arabic writes together with it');
select is(pg_temp.found('sakura'), '{Cheese}', 'also a Japanese one');

-- What a biography denies
select is_empty(
  $$
    select biography, '~no ' || word, expected
    from (
      values
        ('No dogs, please', 'dogs', true), ('I don’t want any dogs', 'dogs', true), ('I gave up dogs', 'dogs', true),
        ('Haustiere haben wir nicht', 'haustiere', true), ('Dogs are not my thing', 'dogs', true),
        ('No meat, fish or eggs', 'eggs', true), ('A smoke-free house', 'smoke', true), ('Vegan', 'meat', true),
        ('Never without dogs', 'dogs', false), ('I don''t drive. Dogs are my life', 'dogs', false),
        ('No cats but dogs', 'dogs', false), ('I can''t live without my dogs', 'dogs', false),
        ('I don''t mind dogs', 'dogs', false), ('No car and I love dogs', 'dogs', false),
        ('Sou vegana. Moro no Porto', 'meat', true), (e'No pets\nI live without haste', 'pets', true),
        ('Не курю', 'kuryu', true), ('Je ne suis pas loin de la mer', 'mer', false),
        ('Mornings do not exist', 'mornings', true), ('吃素', 'meat', true),
        ('I don''t smoke and love dogs', 'dogs', false), ('Seit Mai zwei Katzen', 'katzen', false)
    ) as cases (biography, word, expected)
    where ('~no ' || word = any (private.denied_words(biography))) <> expected
  $$,
  'a biography denies what stands behind a denier in its clause, and nothing else'
);

-- What profiles can be filled with so that a query costs more: words that begin alike, or that are of one letter.
insert into private.search_lexicon (word, holders, named)
select 'zanquil' || chr(97 + number / 26) || chr(97 + number % 26) || 'xxxx', 1, 0
from generate_series(0, 599) as number;
select pg_temp.write(string_agg(repeat('u', size), ' ' order by size desc)) from generate_series(3, 25) as size;
select is(
  array(select private.corrections_of('zanquilpo', false)), '{zanquilop,zanquilopa}',
  'a word is corrected although 600 others begin like it'
);
select is(private.split_of(repeat('u', 7)), '{uuuu,uuu}', 'one letter, again and again, may be two words');
select is(private.split_of(repeat('u', 49)), null, 'but nothing is written together to more than 40 letters');
