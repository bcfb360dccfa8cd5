-- Keyword scores are Meilisearch's, worked out by hand: 1 - sum of what each rule lacks / product of the maxima up to it, in the order
-- words, errors, neighbours, attribute, position, whole attribute, exact words. A query that ends in a space has no unfinished word.
select plan(62);

create temp table people (nick text primary key, id bigint);
create function pg_temp.make(nick text, fields jsonb, likes text[] default '{}')
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
    person, fields ->> 'first_name', fields ->> 'last_name', fields ->> 'biography', fields ->> 'city', fields ->> 'country', true
  )
  returning id into profile;
  insert into public.profile_interests (profile_id, interest_id)
  select profile, id from public.interests where name = any (likes);
  insert into people values (nick, profile);
end
$$;

-- Of the terms, those up to a place alone: Meilisearch's strategy "last" drops what follows the first word that is missing.
create function pg_temp.look_up(nick text, query text, up_to integer default 10, weights integer[] default '{0, 1, 2, 3, 4, 5}')
returns table (score double precision, named boolean, details json)
language sql
as $$
  select found.score, found.named, private.keyword_details(found.ranks)
  from private.keyword_scores(
    (select array_agg(people.id) from people where people.nick = look_up.nick),
    (select array_agg(term) from unnest(private.terms_of(array(select part from private.parse_query(query) as part))) as term where term.place <= up_to),
    (select max(place) from private.parse_query(query) where not excluded),
    (select array_agg(private.typo_budget(word) order by place) from private.parse_query(query) where not excluded),
    weights
  ) as found
$$;

-- Meilisearch's own
select pg_temp.make('dark 1', '{"name": "Batman the dark knight returns: Part 1"}');
select pg_temp.make('dark 2', '{"name": "Batman the dark knight returns: Part 2"}');
select pg_temp.make('badman', '{"name": "Badman"}');
select pg_temp.make('returns', '{"name": "Batman Returns"}');
select pg_temp.make('batman', '{"name": "Batman"}');
select pg_temp.make('shazam', '{"name": "Shazam!", "biography": "a Captain Marvel ersatz"}');
select pg_temp.make('planet', '{"name": "Captain Planet", "biography": "He''s not part of the Marvel Cinematic Universe"}');
select pg_temp.make('marvel', '{"name": "Captain Marvel", "biography": "a Shazam ersatz"}');

select is(
  (select round(score::numeric, 6) from pg_temp.look_up(nick, query, up_to, '{0, 0, 0, 0, 0, 0}')),
  golden,
  format('Meilisearch finds %s for %s at %s', nick, query, golden)
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

-- By hand
select pg_temp.make(
  'gwen',
  '{
    "name": "Gwen Fairhaven", "first_name": "Gwendolyn", "last_name": "Harrow", "city": "Lisboa", "country": "Portugal",
    "biography": "Potter who bakes bread and sails at dawn"
  }',
  '{Street food, Hiking}'
);
select pg_temp.make('lover', '{"name": "Lisboa Lover", "city": "Lisboa"}');
select pg_temp.make('sushi', '{"name": "Aki", "biography": "東京で寿司"}');
select pg_temp.make('far', jsonb_build_object('name', 'Far', 'biography', repeat('a ', 30) || 'xylo ' || repeat('a ', 269) || 'kazo'));

create temp table worked as
select *
from (
  values
    -- Everything right.
    ('gwen', 'Gwen Fairhaven ', 1.0),
    ('gwen', 'GWÉN fairhäven', 1.0),
    -- One word of 4 letters: errors max 1, attribute max 6, position max 11. The name begins with it: 1 of 3 lacks.
    ('gwen', 'gwen ', 1 - 1.0 / (6 * 11 * 3)),
    -- 9 letters: errors max 3. One place off, the attribute is more than the word.
    ('gwen', 'fairhaven ', 1 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3)),
    -- 6 letters: errors max 2. Interests are attribute 1; this one is the word and nothing else.
    ('gwen', 'hiking ', 1 - 1.0 / (2 * 6)),
    -- The second interest begins with it.
    ('gwen', 'street ', 1 - 1.0 / (2 * 6) - 1.0 / (2 * 6 * 11 * 3)),
    -- And has this second.
    ('gwen', 'food ', 1 - 1.0 / 6 - 1.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    -- The city is attribute 2, the country 3, first and last name 5; each is just the word.
    ('gwen', 'lisboa ', 1 - 2.0 / (2 * 6)),
    ('gwen', 'portugal ', 1 - 3.0 / (2 * 6)),
    ('gwen', 'gwendolyn ', 1 - 5.0 / (3 * 6)),
    ('gwen', 'harrow ', 1 - 5.0 / (2 * 6)),
    -- The biography is attribute 4; distance 2 costs 2, distance 7 costs 3, 30 costs 7, 300 costs 9.
    ('gwen', 'bakes ', 1 - 4.0 / (2 * 6) - 2.0 / (2 * 6 * 11) - 2.0 / (2 * 6 * 11 * 3)),
    ('gwen', 'dawn ', 1 - 4.0 / 6 - 3.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    ('far', 'xylo ', 1 - 4.0 / 6 - 7.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    ('far', 'kazo ', 1 - 4.0 / 6 - 9.0 / (6 * 11) - 2.0 / (6 * 11 * 3)),
    -- One error of 2, and 1 of 2 ranks of exactness lacks: two neighbours swapped, then two letters wrong, then the first one.
    ('gwen', 'fairhavne ', 1 - 1.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    ('gwen', 'fairhxvyn ', 1 - 2.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    ('gwen', 'xairhaven ', 1 - 2.0 / 3 - 1.0 / (3 * 6 * 11) - 2.0 / (3 * 6 * 11 * 3) - 1.0 / (3 * 6 * 11 * 3 * 2)),
    -- A beginning is no error, and not exact either.
    ('gwen', 'fairh', 1 - 1.0 / (2 * 6 * 11) - 2.0 / (2 * 6 * 11 * 3) - 1.0 / (2 * 6 * 11 * 3 * 2)),
    ('gwen', 'gwen fair', 1 - 2.0 / (2 * 3 * 4 * 11 * 21 * 3) - 1.0 / (2 * 3 * 4 * 11 * 21 * 3 * 3)),
    -- Two words: errors max 1 + greatest(allowed, 2), neighbours max 4, attribute max 11, position max 21. In two attributes: 3 apart.
    ('gwen', 'gwen hiking ', 1 - 3.0 / 24 - 1.0 / (24 * 11) - 1.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- The wrong way round is 1 apart.
    ('gwen', 'fairhaven gwen ', 1 - 1.0 / 24 - 2.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'bread bakes ', 1 - 1.0 / 24 - 8.0 / (24 * 11) - 3.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Two words between are 2 apart; four are 3, as any more.
    ('gwen', 'bakes sails ', 1 - 2.0 / 24 - 8.0 / (24 * 11) - 4.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'potter sails ', 1 - 3.0 / 24 - 8.0 / (24 * 11) - 2.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3)),
    -- Neighbours that begin the biography; an interest word for word; the same as a phrase.
    ('gwen', 'potter who ', 1 - 8.0 / (24 * 11) - 1.0 / (24 * 11 * 21 * 3)),
    ('gwen', 'street food ', 1 - 2.0 / (24 * 11)),
    ('gwen', '"street food"', 1 - 2.0 / (24 * 11)),
    -- One of two words: half lacks, and the rest is as if the other had not been asked.
    ('gwen', 'gwen zzzz ', 1 - 1.0 / 2 - 1.0 / (2 * 6 * 11 * 3)),
    ('gwen', 'zzzz lisboa ', 1 - 1.0 / 2 - 2.0 / (2 * 2 * 6) - 1.0 / (2 * 2 * 6 * 11)),
    -- Three: errors max 4, neighbours 7, attribute 16, position 31.
    (
      'gwen', 'gwen fairhaven lisboa ',
      1 - 3.0 / (3 * 4 * 7) - 2.0 / (84 * 16) - 2.0 / (84 * 16 * 31) - 2.0 / (84 * 16 * 31 * 3)
    ),
    -- In the name and in the city: the name counts, and the city is the word alone.
    ('lover', 'lisboa ', 1.0),
    -- Letters of a script without spaces are a phrase in the middle of a sentence: distance 3 costs 2, twice.
    ('sushi', '寿司', 1 - 8.0 / (24 * 11) - 4.0 / (24 * 11 * 21) - 2.0 / (24 * 11 * 21 * 3))
) as worked (nick, query, expected);

select is(
  (select round(score::numeric, 12) from pg_temp.look_up(nick, query)),
  round(expected, 12),
  format('%s is found for "%s" as reckoned by hand', nick, query)
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
    select nick, query, score, sum(lacks / product)
    from worked
    cross join lateral pg_temp.look_up(nick, query)
    cross join lateral (
      select
        (details -> rule ->> 1)::numeric - (details -> rule ->> 0)::numeric as lacks,
        round(exp(sum(ln((details -> rule ->> 1)::numeric)) over (order by ordinality))) as product
      from unnest(array['words', 'typo', 'proximity', 'attribute', 'position', 'exactness', 'exactWords'])
        with ordinality as rules (rule, ordinality)
      where details ->> rule is not null
    ) as ruled
    group by nick, query, score
    having abs(1 - sum(lacks / product) - score) > 1e-9
  $$,
  'every score is what its details make'
);

-- Bounds
create temp view bounded as
  select nick, query, at_least, at_most, scores.score, bounds.named as guessed, scores.named
  from (values ('batman '), ('badman the dark knight returns 1'), ('captain marvel '), ('gwen hiking '), ('gwenn fairhaven'), ('food str'))
    as queries (query)
  cross join people
  cross join lateral pg_temp.look_up(nick, query) as scores
  cross join lateral private.keyword_bounds(
    array[people.id],
    private.terms_of(array(select part from private.parse_query(query) as part)),
    (select max(place) from private.parse_query(query)),
    (select array_agg(private.typo_budget(word) order by place) from private.parse_query(query))
  ) as bounds;
select is_empty(
  'select * from bounded where score not between at_least - 1e-12 and at_most + 1e-12 or named <> guessed',
  'every score lies within its bounds'
);
select ok(
  count(*) > 15 and bool_or(at_most - at_least < .1) and bool_or(score - at_least < .01) and bool_or(at_most - score < .01),
  'which are close, and touched from both sides'
)
from bounded;

-- The name
select is(
  (select named from pg_temp.look_up('gwen', query)),
  expected,
  format('"%s" %s look-up by name', query, case when expected then 'is a' else 'is no' end)
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
select is((select named from pg_temp.look_up('lover', 'lisboa ')), true, 'nor does the word in another attribute, too, take that away');

-- Nothing
select is_empty($$ select * from pg_temp.look_up('gwen', 'zzzz ') $$, 'who has none of the words has no score');
select is_empty($$ select * from pg_temp.look_up('gwen', '"food street"') $$, 'nor has who has the words of a phrase and not the phrase');
select is_empty($$ select * from pg_temp.look_up('gwen', '"hiking street"') $$, 'no phrase reaches from one interest into the next');
select is_empty($$ select * from pg_temp.look_up('gwen', '"fairhaven hiking"') $$, 'nor from one attribute into the next');
select is_empty($$ select * from pg_temp.look_up('gwen', '"lisboa portugal"') $$, 'nor from the city into the country');

-- Other people
select results_eq(
  $$ select round(score::numeric, 12) from pg_temp.look_up('gwen', 'gwen hiking ') $$,
  $$ select round(expected, 12) from worked where query = 'gwen hiking ' $$,
  'a score before others come'
);
select pg_temp.make('other', '{"name": "Gwen Hiking", "biography": "gwen hiking"}');
select results_eq(
  $$ select round(score::numeric, 12) from pg_temp.look_up('gwen', 'gwen hiking ') $$,
  $$ select round(expected, 12) from worked where query = 'gwen hiking ' $$,
  'is the same when they have come'
);
select results_eq(
  $$
    select distance
    from unnest(array[0, 1, 2, 4, 5, 7, 8, 11, 12, 16, 17, 24, 25, 64, 65, 256, 257, 1024, 1025, 9999])
      with ordinality as listed (distance, nth)
    where private.position_cost(distance)
      <> (array[0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10])[nth]
  $$,
  $$ select 0 where false $$,
  'distances cost what they cost in Meilisearch'
);
