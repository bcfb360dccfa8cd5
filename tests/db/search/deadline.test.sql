-- A search is cancelled at its time limit, in whichever step. PGlite runs this file as one statement, so the limits
-- count from its start.
select plan(8);

insert into public.users (name, email)
values ('Quorbin Vashti', 'deadline@tests.example');
insert into public.profiles (user_id, biography, is_searchable)
select id, 'A quorbin among quorbins', true from public.users where email = 'deadline@tests.example';

with users as (
  insert into public.users (name, email)
  select 'Vashti', format('deadline%s@tests.example', number) from generate_series(1, 6) as number
  returning id, email
)
insert into public.profiles (user_id, biography, is_searchable)
select id, email || repeat(' zubrin', 700), true from users;

create function pg_temp.search(timeout integer)
returns text
language plpgsql
as $$
begin
  return api.search_profiles(
    jsonb_build_object('q', 'quorbin ', 'limit', 1, 'offset', 0, 'timeout', timeout)
  ) ->> 'estimatedTotalHits';
exception
  when query_canceled then
    return sqlerrm;
end
$$;
create temp table expected as select 'The search took longer than its time limit' as error;

select is(pg_temp.search(600000), '1', 'a search within its time limit succeeds');
select is(pg_temp.search(null), '1', 'a search without a time limit succeeds');
select is(pg_temp.search(0), error, 'a search with a limit of 0 is cancelled as Postgres cancels a statement')
from expected;
select is(pg_temp.search(null), '1', 'the time limit of one search does not apply to the next');

-- Slow steps
create temp sequence texts_read;
alter function private.word_places(text) rename to quick_places;
create function private.word_places(value text)
returns table (place integer, word text, start integer, length integer)
language plpgsql
as $$
begin
  perform nextval('pg_temp.texts_read'), pg_sleep(.2);
  return query select * from private.quick_places(value);
end
$$;
create function pg_temp.highlight_within(spare interval)
returns text
language plpgsql
as $$
begin
  return api.search_profiles(jsonb_build_object(
    'q', 'zubrin ', 'limit', 20, 'offset', 0, 'highlight', true, 'timeout',
    (extract(epoch from clock_timestamp() - statement_timestamp() + spare) * 1000)::integer
  )) ->> 'estimatedTotalHits';
exception
  when query_canceled then
    return sqlerrm;
end
$$;
select is(pg_temp.highlight_within('300 ms'), error, 'a search is cancelled if highlighting takes too long')
from expected;
select cmp_ok(nextval('pg_temp.texts_read'), '<', 6::bigint, 'and does not highlight the other hits first');

create function pg_temp.search_within(spare interval)
returns text
language sql
as $$
  select pg_temp.search((extract(epoch from clock_timestamp() - statement_timestamp() + spare) * 1000)::integer)
$$;
alter function private.keyword_scores(bigint[], private.search_query, integer, integer[]) rename to quick_scores;
create function private.keyword_scores(
  ids bigint[],
  asked private.search_query,
  words_asked integer,
  attribute_weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (
  profile_id bigint, score double precision, ranks private.keyword_ranks, coverage double precision,
  names_found double precision, in_name boolean
)
language plpgsql
as $$
begin
  perform pg_sleep(1.2);
  return query
    select *
    from private.quick_scores(
      ids => ids, asked => asked, words_asked => words_asked, attribute_weights => attribute_weights
    );
end
$$;
select is(pg_temp.search_within('1 s'), error, 'a search is cancelled if scoring takes too long') from expected;

alter function private.read_query(text, text[], jsonb) rename to read_quickly;
create function private.read_query(query text, known text[] default '{}', reading jsonb default '{}')
returns private.search_query
language plpgsql
as $$
begin
  perform pg_sleep(1.2);
  return private.read_quickly(query, known, reading);
end
$$;
select is(pg_temp.search_within('1 s'), error, 'a search is cancelled if reading its query takes too long')
from expected;
