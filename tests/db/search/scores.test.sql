-- Keyword scores are Meilisearch's, computed by hand: 1 - sum of each rule's cost / product of the maxima up to it. The
-- rules are words, typos, proximity, attribute, position, whole attribute, exact words. A query that ends in a space
-- has no unfinished word.
select plan(62);

create temp table people (nick text primary key, id bigint);
create function pg_temp.make(nick text, fields jsonb, interests text[] default '{}')
returns void
language plpgsql
as $$
declare
  person bigint;
  profile bigint;
begin
  insert into public.users (name, email)
  values (fields ->> 'name', nick || '@tests.example')
  returning id into person;
  insert into public.profiles (user_id, first_name, last_name, biography, city, country, is_searchable)
  values (
    person, fields ->> 'first_name', fields ->> 'last_name', fields ->> 'biography', fields ->> 'city',
    fields ->> 'country', true
  )
  returning id into profile;
  insert into public.profile_interests (profile_id, interest_id)
  select profile, id from public.interests where name = any (make.interests);
  insert into people values (nick, profile);
end
$$;

-- Only the terms up to a place: Meilisearch's strategy "last" ignores all words after the first missing one.
create function pg_temp.look_up(
  nick text,
  query text,
  up_to integer default 10,
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (score double precision, in_name boolean, details json)
language plpgsql
as $$
declare
  asked private.search_query := private.read_query(query);
begin
  return query
    select result.score, result.in_name, private.keyword_details(result.ranks)
    from (select people.id from people where people.nick = look_up.nick) as person
    cross join lateral private.keyword_scores(
      ids => array[person.id],
      asked => row(
        asked.words,
        array(select term from unnest(asked.terms) as term where place <= up_to),
        asked.units,
        asked.places
      )::private.search_query,
      words_asked => (select max(place) from unnest(asked.terms)),
      attribute_weights => weights
    ) as result;
end
$$;

-- Computed by Meilisearch
select pg_temp.make('dark 1', '{"name": "Batman the dark knight returns: Part 1"}');
select pg_temp.make('dark 2', '{"name": "Batman the dark knight returns: Part 2"}');
select pg_temp.make('badman', '{"name": "Badman"}');
select pg_temp.make('returns', '{"name": "Batman Returns"}');
select pg_temp.make('batman', '{"name": "Batman"}');
select pg_temp.make('shazam', '{"name": "Shazam!", "biography": "a Captain Marvel ersatz"}');
select pg_temp.make(
  'planet', '{"name": "Captain Planet", "biography": "He''s not part of the Marvel Cinematic Universe"}'
);
select pg_temp.make('marvel', '{"name": "Captain Marvel", "biography": "a Shazam ersatz"}');

select is(
  (
    select round(score::numeric, 6)
    from pg_temp.look_up(nick => nick, query => query, up_to => up_to, weights => '{0, 0, 0, 0, 0, 0}')
  ),
  golden,
  format('%s has Meilisearch''s score for %s: %s', nick, query, golden)
)
from (
  values
    ('dark 1', 'Badman the dark knight returns 1', 10, .974661),
    ('dark 2', 'Badman the dark knight returns 1', 10, .805525),
    ('badman', 'Badman the dark knight returns 1', 10, .166667),
    ('returns', 'Badman the dark knight returns 1', 1, .077020),
    ('batman', 'Badman the dark knight returns 1', 10, .077020),
    ('shazam', 'Captain', 10, .924242),
    ('planet', 'Captain', 10, .984848),
    ('marvel', 'Captain', 10, .984848)
) as known (nick, query, up_to, golden);

-- Computed by hand
select pg_temp.make(
  nick => 'gwen',
  fields => '{
    "name": "Gwen Fairhaven", "first_name": "Gwendolyn", "last_name": "Harrow", "city": "Lisboa", "country": "Portugal",
    "biography": "Potter who bakes bread and sails at dawn"
  }',
  interests => '{Street food, Hiking}'
);
select pg_temp.make('lover', '{"name": "Lisboa Lover", "city": "Lisboa"}');
select pg_temp.make('sushi', '{"name": "Aki", "biography": "東京で寿司"}');
select pg_temp.make(
  'far',
  jsonb_build_object('name', 'Far', 'biography', repeat('a ', 30) || 'xylo ' || repeat('a ', 269) || 'kazo')
);
select pg_temp.make(
  'tides', jsonb_build_object('name', 'Tom', 'biography', repeat('tide on far away ', 11) || 'zan tide')
);
select pg_temp.make('crowd', jsonb_build_object('name', 'Ann', 'biography', 'zan and her late tide'));

create temp table worked as
select *
from (
  values
    -- A perfect match.
    ('gwen', 'Gwen Fairhaven ', 1.0),
    ('gwen', 'GWÉN fairhäven', 1.0),
    -- One word of 4 letters: typos max 1, attribute max 6, position max 11. The name begins with it, which costs 1 of
    -- 3.
    ('gwen', 'gwen ', 1 - 1.0 / (6 * 11 * 3)),
    -- 9 letters: typos max 3. It is one place off, and not the whole attribute.
    ('gwen', 'fairhaven ', 1 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3)),
    -- 6 letters: typos max 2. Interests are attribute 1, and the word is a whole interest.
    ('gwen', 'hiking ', 1 - 1.0 / (2 * 6)),
    -- The second interest begins with it.
    ('gwen', 'street ', 1 - 1.0 / (2 * 6) - 1.0 / (2 * 6 * 11 * 3)),
    -- It is the second word of that interest.
    ('gwen', 'food ', 1 - 1.0 / 6 - 1.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    -- The city is attribute 2, the country 3, first and last name 5. The word is the whole text.
    ('gwen', 'lisboa ', 1 - 2.0 / (2 * 6)),
    ('gwen', 'portugal ', 1 - 3.0 / (2 * 6)),
    ('gwen', 'gwendolyn ', 1 - 5.0 / (3 * 6)),
    ('gwen', 'harrow ', 1 - 5.0 / (2 * 6)),
    -- The biography is attribute 4; distance 2 costs 2, distance 7 costs 3, 30 costs 7, 300 costs 9.
    ('gwen', 'bakes ', 1 - 4.0 / (2 * 6) - 2.0 / (2 * 6 * 11) - 2.0 / (2 * 6 * 11 * 3)),
    ('gwen', 'dawn ', 1 - 4.0 / 6 - 3.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    ('far', 'xylo ', 1 - 4.0 / 6 - 7.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    ('far', 'kazo ', 1 - 4.0 / 6 - 9.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    -- One typo of 2 (two letters swapped), then two (two wrong letters, then the first letter). Each costs 1 of the 2
    -- ranks of exact words.
    ('gwen', 'fairhavne ', 1 - 1.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    ('gwen', 'fairhxvyn ', 1 - 2.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    ('gwen', 'xairhaven ', 1 - 2.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    -- An unfinished word is not a typo, and not exact either.
    ('gwen', 'fairh', 1 - 1.0 / (2 * 6 * 11) - 2.0 / (2 * 6 * 11 * 3) - 1.0 / (2 * 6 * 11 * 3 * 2)),
    ('gwen', 'gwen fair', 1 - 2.0 / (2 * 3 * 4 * 11 * 21 * 3) - 1.0 / (2 * 3 * 4 * 11 * 21 * 3 * 3)),
    -- Two words: typos max 1 + greatest(budgets, 2), proximity max 4, attribute max 11, position max 21. Words in two
    -- attributes cost 3 of proximity.
    ('gwen', 'gwen hiking ', 1 - 3.0 / 24 - 1.0 / (24 * 11) - 1.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Reverse order costs 1.
    ('gwen', 'fairhaven gwen ', 1 - 1.0 / 24 - 2.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'bread bakes ', 1 - 1.0 / 24 - 8.0 / (24 * 11) - 3.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Two words between cost 2; four or more cost 3.
    ('gwen', 'bakes sails ', 1 - 2.0 / 24 - 8.0 / (24 * 11) - 4.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'potter sails ', 1 - 3.0 / 24 - 8.0 / (24 * 11) - 2.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Neighbours count wherever they stand, the best places wherever they are: tide is one place off.
    ('tides', 'zan tide ', 1 - 8.0 / (24 * 11) - (7.0 + 1.0) / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Three words between them are as bad as any.
    ('crowd', 'zan tide ', 1 - 3.0 / 24 - 8.0 / (24 * 11) - 2.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Adjacent words at the start of the biography; a whole interest; the same as a phrase.
    ('gwen', 'potter who ', 1 - 8.0 / (24 * 11) - 1.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'street food ', 1 - 2.0 / (24 * 11)),
    ('gwen', '"street food"', 1 - 2.0 / (24 * 11)),
    -- One of two words matches: half the score is lost, and the other half is as for that word alone.
    ('gwen', 'gwen zzzz ', 1 - 1.0 / 2 - 1.0 / (2 * 6 * 11 * 3)),
    ('gwen', 'zzzz lisboa ', 1 - 1.0 / 2 - 2.0 / (2 * 2 * 6) - 1.0 / (2 * 2 * 6 * 11)),
    -- Three words: typos max 4, proximity 7, attribute 16, position 31.
    (
      'gwen', 'gwen fairhaven lisboa ',
      1 - 3.0 / (3 * 4 * 7) - 2.0 / (84 * 16) - 2.0 / (84 * 16 * 31) - 2.0 / (84 * 16 * 31 * 3)
    ),
    -- In the name and in the city: the name counts, and the city is the whole text.
    ('lover', 'lisboa ', 1.0),
    -- Letters of a script without spaces are a phrase within the sentence: distance 3 costs 2, twice.
    ('sushi', '寿司', 1 - 8.0 / (24 * 11) - 4.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3))
) as worked (nick, query, expected);

select is(
  (select round(score::numeric, 12) from pg_temp.look_up(nick, query)),
  round(expected, 12),
  format('%s has the score for "%s" that is computed by hand', nick, query)
)
from worked;

select is_empty(
  $$
    select nick, query, score
    from worked
    cross join lateral pg_temp.look_up(nick, query)
    where score not between 0 and 1
  $$,
  'every score is from 0 to 1'
);
select is_empty(
  $$
    select nick, query, score, sum(cost / product)
    from worked
    cross join lateral pg_temp.look_up(nick, query)
    cross join lateral (
      select
        (details -> rule ->> 1)::numeric - (details -> rule ->> 0)::numeric as cost,
        round(exp(sum(ln((details -> rule ->> 1)::numeric)) over (order by ordinality))) as product
      from unnest(array['words', 'typo', 'proximity', 'attribute', 'position', 'exactness', 'exactWords'])
        with ordinality as rules (rule, ordinality)
      where details ->> rule is not null
    ) as ruled
    group by nick, query, score
    having abs(1 - sum(cost / product) - score) > 1e-9
  $$,
  'every score follows from its details'
);

-- The name
select is(
  (select in_name from pg_temp.look_up('gwen', query)),
  expected,
  format('the name %s all words of "%s"', case when expected then 'contains' else 'does not contain' end, query)
)
from (
  values
    ('gwen fairhaven ', true),
    ('fairhaven gwen ', true),
    ('gwen fair', true),
    ('gwen', true),
    ('gwen fairhavne ', false),
    ('gwen hiking ', false),
    ('gwen zzzz ', false),
    ('gwendolyn ', false)
) as cases (query, expected);
select is(
  (select in_name from pg_temp.look_up('lover', 'lisboa ')), true, 'a match in another attribute does not change that'
);

-- No match
select is_empty(
  format('select * from pg_temp.look_up(''gwen'', %L)', query), format('gwen has no score for %s: %s', query, reason)
)
from (
  values
    ('zzzz ', 'no word matches'),
    ('"food street"', 'the words of the phrase are in another order'),
    ('"hiking street"', 'a phrase does not match across interests'),
    ('"fairhaven hiking"', 'a phrase does not match across attributes'),
    ('"lisboa portugal"', 'a phrase does not match across city and country')
) as cases (query, reason);

-- Other profiles
create function pg_temp.score_of_gwen(moment text)
returns setof text
language sql
as $$
  select is(round(score::numeric, 12), round(expected, 12), moment)
  from worked
  cross join lateral pg_temp.look_up('gwen', query)
  where query = 'gwen hiking '
$$;
select pg_temp.score_of_gwen('a score before other profiles match');
select pg_temp.make('other', '{"name": "Gwen Hiking", "biography": "gwen hiking"}');
select pg_temp.score_of_gwen('the score is the same after other profiles match');
select is_empty(
  $$
    select distance
    from unnest(array[0, 1, 2, 4, 5, 7, 8, 11, 12, 16, 17, 24, 25, 64, 65, 256, 257, 1024, 1025, 9999])
      with ordinality as listed (distance, nth)
    where private.position_cost(distance)
      <> (array[0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10])[nth]
  $$,
  'distances have the costs of Meilisearch''s buckets'
);
