-- The words of the index: a change adds the new ones, the hourly count does the rest, and an erasure does not wait for
-- it.
select plan(7);
select tests.make_person(name) from unnest('{ana,ben}'::text[]) as name;
create function pg_temp.write(person text, biography text) returns void language sql as $$
  update public.profiles set is_searchable = true, biography = write.biography where id = tests.profile_of(person)
$$;
create function pg_temp.listed() returns text[] language sql as $$
  select array_agg(concat_ws(' ', word, holders, named) order by word, holders)
  from private.search_lexicon
  where word in ('ana', 'quokkas', 'zorbing', 'wombats')
$$;

select pg_temp.write('ana', 'Zorbing quokkas, zorbing wombats');
select is(
  pg_temp.listed(), '{ana 1 1,quokkas 1 -0.5,wombats 1 -0.5,zorbing 1 -0.5}',
  'new words are listed at once, with what they are: names or not'
);
select pg_temp.write('ben', 'Ana and her quokkas');
select is(
  pg_temp.listed(), '{ana 1 1,quokkas 1 -0.5,wombats 1 -0.5,zorbing 1 -0.5}', 'who else has a word is not counted yet'
);
select private.count_words();
select is(
  pg_temp.listed(), '{ana 2 0.5,quokkas 2 -1,wombats 1 -0.5,zorbing 1 -0.5}',
  'the count counts each profile once, whether it has the word as a name or not'
);
insert into private.search_lexicon values ('quokkas', 1, 7), ('nobodys', 1, 0);
delete from private.search_lexicon where word = 'wombats';
select pg_temp.write('ana', 'Quokkas and wombats');
select is(
  pg_temp.listed(), '{ana 2 0.5,quokkas 1 7,quokkas 2 -1,wombats 1 -0.5,zorbing 1 -0.5}',
  'a word that nobody has any more is listed until the count'
);
select private.count_words();
select is(pg_temp.listed(), '{ana 2 0.5,quokkas 2 -1,wombats 1 -0.5}', 'which deletes it, and merges copies');
select set_eq(
  'select word, holders from private.search_lexicon',
  $$ select word, ndoc from ts_stat('select words from private.search_words') $$,
  'then the lexicon has the words of the index, facets and places included, and no others'
);

select tests.ask('ana', 'erase_me()');
select tests.become_owner();
select is(pg_temp.listed(), '{ana 2 0.5,quokkas 2 -1}', 'an erasure takes out at once the words that nobody else has');
