-- The lexicon: how its words are counted, and what a word that nobody has may stand for.

create function private.deletions(letters text, depth integer)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  found text[] := array[letters];
begin
  -- Every new word of the lexicon pays this: 5 µs, where one statement for each depth takes 60.
  for one in 1..char_length(letters) loop
    found := found || overlay(letters placing '' from one for 1);
    if depth = 2 then
      for two in one + 1..char_length(letters) loop
        found := found || overlay(overlay(letters placing '' from two for 1) placing '' from one for 1);
      end loop;
    end if;
  end loop;
  return found;
end
$$;
comment on function private.deletions(text, integer) is 'The letters without up to `depth` of them, which is 1 or 2.';

create function private.deletion_keys(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  depth constant integer := case when char_length(word) < 7 then 1 else 2 end;
begin
  return private.deletions(left(word, 4 + depth), depth);
end
$$;
comment on function private.deletion_keys(text) is
  'What a mistyped word may be found by. If two words are at most n errors apart, or one and the beginning of the other,
deleting up to n of the first letters of each makes them equal (as in SymSpell). One error is forgiven from 5 letters on
and two from 9, so the first 5 and 6 letters suffice.';
create index search_lexicon_deletions_idx
  on private.search_lexicon using gin (private.deletion_keys(word)) with (fastupdate = off)
  where word !~ '^[@~]';
comment on index private.search_lexicon_deletions_idx is
  'To compare a mistyped word with each of 80,000 that has its first letter took 5.5 ms.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
  distance constant integer := extensions.levenshtein_less_equal(typed, meant, 2 * budget);
begin
  if distance <= 1 or distance > 2 * budget then
    return case when distance <= budget then distance end;
  end if;
  return (
    select least(case when distance <= budget then distance end, 1 + min(private.typos(swapped, meant, budget - 1)))
    from generate_series(1, char_length(typed) - 1) as place
    cross join lateral overlay(
      typed placing substr(typed, place + 1, 1) || substr(typed, place, 1) from place for 2
    ) as swapped
  );
end
$$;
comment on function private.typos(text, text, integer) is
  'How many letters are wrong, missing, too many, or swapped. Null above the budget.';

create function private.corrections_of(typed text, unfinished boolean)
returns setof text
language plpgsql stable security invoker set search_path = ''
as $$
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
$$;
comment on function private.corrections_of(text, boolean) is
  'The words of the index that a typed word may be meant for, the likeliest first.';

create function private.is_listed(word text)
returns boolean
language plpgsql stable strict security invoker set search_path = ''
as $$
begin
  -- The lexicon may still have words that nobody has any more. It is asked first, because it is quicker.
  return exists (select from private.search_lexicon as lexicon where lexicon.word = is_listed.word)
    and exists (select from private.search_words where words @@ private.lexeme(is_listed.word)::tsquery);
end
$$;
comment on function private.is_listed(text) is 'Whether somebody has a word.';

create function private.hangul_name(typed text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  parts constant text[] := string_to_array(private.hangul_spelling(typed), ' ');
  -- A given name is written together, apart or with a hyphen.
  asked constant tsquery := (
    select private.all_of((
      select private.any_of(private.phrase(array_remove(array[left(part, cut), substr(part, cut + 1)], '')))
      from generate_series(1, char_length(part)) as cut
    ))
    from unnest(parts) as part
  );
begin
  return (select parts where exists (select from private.search_words where words @@ asked));
end
$$;
comment on function private.hangul_name(text) is
  'A Korean name in Latin letters, as hangul_spelling, if somebody has all of it: else 강아지, a puppy, would be everybody
called Kang.';

create function private.split_of(typed text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select parts
    from (
      select parts
      from generate_series(1, char_length(typed) - 1) as one
      cross join generate_series(one + 1, char_length(typed)) as two
      cross join lateral (
        select array_remove(array[left(typed, one), substr(typed, one + 1, two - one), substr(typed, two + 1)], '')
      ) as cut (parts)
      -- No word that is written together is longer.
      where char_length(typed) <= 40
        -- O'Brien, d'Angelo and l'Aquila are two words.
        and (one > 2 or left(typed, one) in ('d', 'l', 'o'))
        and two - one > 2
        and char_length(typed) - two not in (1, 2)
        and not exists (
          select
          from unnest(parts) as part
          where not exists (select from private.search_lexicon as lexicon where lexicon.word = part)
        )
      order by cardinality(parts), abs(2 * one - char_length(typed))
      -- Where all of aa, aaa, aaaa … are words, aaaaaaaaaa is many, and the index has to look for each.
      limit 20
    ) as likeliest
    where exists (select from private.search_words where words @@ private.phrase(parts))
    limit 1
  );
end
$$;
comment on function private.split_of(text) is
  'The two or three words that are written together in one, if somebody has them side by side.';

create function private.count_words()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.search_lexicon as lexicon
  where exists (select from private.search_lexicon as copy where copy.word = lexicon.word and copy.ctid < lexicon.ctid);
  merge into private.search_lexicon as lexicon
  using (
    select lexeme as word, count(*)::integer as holders, sum(private.naming(weights))::real as named
    from private.search_words
    cross join lateral unnest(words)
    group by lexeme
  ) as counted
  on counted.word = lexicon.word
  when matched and (lexicon.holders, lexicon.named) <> (counted.holders, counted.named) then
    update set holders = counted.holders, named = counted.named
  when not matched then
    insert (word, holders, named) values (counted.word, counted.holders, counted.named)
  -- A transaction under way may have found it here: then it is there again after the next count.
  when not matched by source then
    delete;
end
$$;
comment on function private.count_words() is
  'Counts who has each word of the lexicon, each hour, and deletes those that nobody has.';

create function private.forget_words(words tsvector)
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.search_lexicon
  where ctid in (
    select ctid
    from private.search_lexicon
    where word = any (tsvector_to_array(words))
      and not exists (select from private.search_words as stored where stored.words @@ private.lexeme(word)::tsquery)
    -- A count under way may lock them in another order; the next one deletes them.
    for update skip locked
  )
$$;
comment on function private.forget_words(tsvector) is
  'Deletes those of the words that nobody has. An erasure does not wait for the count.';
