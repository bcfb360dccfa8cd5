-- Whatever changes a profile, the index is in step before the change is committed.
select plan(69);

create temp view should_be as
select
  profiles.id as profile_id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
  coalesce((
    select array_agg(interests.name order by interests.name)
    from public.profile_interests
    join public.interests on interests.id = profile_interests.interest_id
    where profile_interests.profile_id = profiles.id
  ), '{}') as interests,
  profiles.image_url, profiles.first_name, profiles.last_name
from public.profiles
join public.users on users.id = profiles.user_id
where profiles.is_searchable and users.is_active;

create temp view drift as
with wanted as (
  select profile_id, user_id, name, biography, city, country, interests, image_url from should_be
),
kept as (
  select profile_id, user_id, name, biography, city, country, interests, image_url from private.search_entries
)
(table wanted except table kept)
union all
(table kept except table wanted);

create temp view lexicon_drift as
with wanted as (
  select word, count(distinct profile_id)::integer as entries
  from should_be
  cross join lateral unnest(
    private.words_of(concat_ws(' ', name, array_to_string(interests, ' '), city, country, biography, first_name, last_name))
  ) as word
  group by word
)
(table wanted except select word, entries from private.search_lexicon)
union all
(select word, entries from private.search_lexicon except table wanted);

create temp view context_drift as
with wanted as (
  select id as user_id, md5(private.context_text(id)) as content_hash
  from public.users
  where private.context_text(id) <> ''
)
(table wanted except select user_id, content_hash from private.search_contexts)
union all
(select user_id, content_hash from private.search_contexts except table wanted);

create function pg_temp.in_step(change text)
returns setof text
language plpgsql
as $$
begin
  perform tests.become_owner();
  return next is_empty('table pg_temp.drift', 'the index is in step when ' || change);
  return next is_empty('table pg_temp.lexicon_drift', 'and so is the lexicon when ' || change);
  return next is_empty('table pg_temp.context_drift', 'and so are the contexts of searchers when ' || change);
end
$$;
grant execute on function pg_temp.in_step to public;

select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');
select is((select count(*) from private.search_entries), 0::bigint, 'nobody is in the search who has not said so');

update public.profiles
set is_searchable = true, city = 'Qwxburg', biography = 'Zorbing quokkas';
select is((select count(*) from private.search_entries), 3::bigint, 'three people come into the search by one statement');
select pg_temp.in_step('three are shown at once');

select tests.become('ana');
update public.profiles
set is_searchable = false;
select pg_temp.in_step('ana hides herself through the Data API');
select isnt_empty('select from private.search_entries', 'others are still there');
select ok(not exists (select from private.search_entries where user_id = tests.id_of('ana')), 'and ana is not');

select tests.become('ana');
update public.profiles
set is_searchable = true, country = 'Plonthia', first_name = 'Hesperin', last_name = 'Zorbing';
select pg_temp.in_step('ana shows herself with new words');

select tests.become('ana');
update public.users
set name = 'Quorlith Zorbing', bio = 'Snorkwump', location = 'Farnquist';
select pg_temp.in_step('ana takes another name');

insert into public.profile_interests (profile_id, interest_id)
select tests.profile_of(person), interests.id
from public.interests
cross join unnest(array['ana', 'ben']) as person
where interests.name in ('Opera', 'Street food', 'Street art');
select pg_temp.in_step('two people like three things');

update public.interests
set name = 'Opera gromphia'
where name = 'Opera';
select pg_temp.in_step('an interest is renamed');
select isnt_empty($$ select from private.search_lexicon where word = 'gromphia' and entries = 2 $$, 'two entries have its new word');

delete from public.interests
where name = 'Street art';
select pg_temp.in_step('an interest is deleted');

delete from public.profile_interests
where profile_id = tests.profile_of('ben');
select pg_temp.in_step('ben likes nothing any more');

update public.profile_interests
set interest_id = (select id from public.interests where name = 'Yoga')
where profile_id = tests.profile_of('ana') and interest_id = (select id from public.interests where name = 'Street food');
select pg_temp.in_step('an admin puts one interest for another');

update public.users
set is_active = false
where id in (tests.id_of('ana'), tests.id_of('ben'));
select pg_temp.in_step('two are deactivated');
select is(
  (select array_agg(user_id) from private.search_entries),
  array[tests.id_of('cat')],
  'cat alone is left'
);

update public.profiles
set city = 'Elsewhere', is_searchable = not is_searchable
where user_id = tests.id_of('ana');
select pg_temp.in_step('a deactivated profile changes');
update public.users
set is_active = true
where id in (tests.id_of('ana'), tests.id_of('ben'));
select pg_temp.in_step('they are activated again, one of them hidden');
select tests.ask('ana', $$update_profile('{"is_searchable": true, "interest_ids": [1, 2], "city": "Qwxburg"}')$$);
select pg_temp.in_step('ana shows herself through the verb');
select tests.ask('ben', $$set_searchable(false)$$);
select pg_temp.in_step('ben hides himself through the verb');

do $$
begin
  update public.profiles set is_searchable = false, city = 'Undone';
  raise exception 'no';
exception
  when raise_exception then null;
end
$$;
select pg_temp.in_step('a change is undone');

update public.profiles
set biography = (select string_agg('word' || number || ' zorbing', ' ') from generate_series(1, 300) as number)
where user_id = tests.id_of('cat');
select pg_temp.in_step('somebody writes 600 words');

-- Vectors
update private.search_entries
set model = 'offline-wordnet-v1', embedding = array_fill(0.1, array[384])::extensions.halfvec;
delete from private.embedding_queue;
update public.profiles
set image_url = 'https://example.com/a.png', first_name = 'Another'
where user_id in (tests.id_of('ana'), tests.id_of('cat'));
select is_empty('select from private.embedding_queue', 'a new picture and name need no new vector');
select is_empty('select from private.search_entries where embedding is null', 'and the one there was stays');
update public.profiles
set biography = 'Blistrovaq'
where user_id = tests.id_of('cat');
select results_eq(
  'select kind, id, attempts from private.embedding_queue',
  $$ select 'profile', tests.profile_of('cat'), 0 $$,
  'a new text needs a new vector'
);
select is_empty(
  $$ select from private.search_entries where user_id = tests.id_of('cat') and (embedding is not null or model is not null) $$,
  'and the vector of the old text is gone at once'
);

-- Leaving
update public.profiles
set is_searchable = true;
delete from auth.users
where id = (select auth_id from public.users where id = tests.id_of('ana'));
select pg_temp.in_step('ana''s account is deleted');
delete from public.profiles
where user_id = tests.id_of('ben');
select pg_temp.in_step('a profile is deleted');
delete from public.users
where id = tests.id_of('cat');
select pg_temp.in_step('a user is deleted');
select is_empty('select from private.search_lexicon', 'of those who left, not a word is kept');
select is_empty('select from private.search_entries', 'and no entry');
