-- A search ends when its time is up, wherever it spends it. A file is one statement to PGlite, so limits count from where it begins.
select plan(6);

insert into public.users (name, email)
values ('Quorbin Vashti', 'deadline@tests.example');
insert into public.profiles (user_id, biography, is_searchable)
select id, 'A quorbin among quorbins', true from public.users where email = 'deadline@tests.example';

create function pg_temp.search(timeout integer)
returns text
language plpgsql
as $$
begin
  return api.search_profiles(jsonb_build_object('q', 'quorbin ', 'limit', 1, 'offset', 0, 'timeout', timeout)) ->> 'estimatedTotalHits';
exception
  when query_canceled then
    return sqlerrm;
end
$$;
create temp table ended as select 'The search took longer than its time limit' as message;

select is(pg_temp.search(600000), '1', 'in its time a search is done');
select is(pg_temp.search(null), '1', 'and it takes what it needs where nobody limits it');
select is(pg_temp.search(0), message, 'without any it is ended as Postgres ends a statement') from ended;
select is(pg_temp.search(null), '1', 'the limit of one search is not the next one''s');

-- What lasts
create function pg_temp.search_within(spare interval)
returns text
language sql
as $$
  select pg_temp.search((extract(epoch from clock_timestamp() - statement_timestamp() + spare) * 1000)::integer)
$$;
alter function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) rename to quick_scores;
create function private.keyword_scores(
  ids bigint[], terms private.search_term[], asked integer, allowed integer[], weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, ranks integer[])
language plpgsql
as $$
begin
  perform pg_sleep(2);
  return query select * from private.quick_scores(ids, terms, asked, allowed, weights);
end
$$;
select is(pg_temp.search_within('1 s'), message, 'it is ended where it takes too long before its scores') from ended;

create or replace function private.selective_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql
as $$
begin
  perform pg_sleep(2);
  return terms;
end
$$;
select is(pg_temp.search_within('1 s'), message, 'and where it takes too long over what its words stand for') from ended;
