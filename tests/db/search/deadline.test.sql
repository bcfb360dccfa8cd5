-- A search is cancelled at its time limit, between its steps. PGlite runs this file as one statement, so the limits
-- count from its start.
select plan(7);
select tests.make_person('ana');
update public.profiles set is_searchable = true, biography = 'Quorbins';

create function pg_temp.search(timeout integer) returns text language plpgsql as $$
begin
  return api.search_profiles(jsonb_build_object(
    'words', tests.words('quorbins'), 'vector', array_fill(0.05, array[384]), 'model', 'offline-wordnet-v3',
    'limit', 1, 'offset', 0, 'timeout', timeout
  )) -> 'answer' ->> 'estimatedTotalHits';
exception
  when query_canceled then
    return sqlerrm;
end
$$;
create temp table expected as select 'The search took longer than its time limit' as error;

select is(pg_temp.search(600000), '1', 'a search within its time limit succeeds');
select is(pg_temp.search(0), error, 'a search with a limit of 0 is cancelled as Postgres cancels a statement')
from expected;
select is(pg_temp.search(null), '1', 'the time limit of one search does not apply to the next, which has none');

-- Makes a step slow, and restores it.
create function pg_temp.search_with_slow(step regproc) returns text language plpgsql as $$
declare
  definition text := pg_get_functiondef(step);
  outcome text;
begin
  execute regexp_replace(definition, '\nbegin\n', E'\nbegin\n  perform pg_sleep(0.3);\n');
  outcome := pg_temp.search((extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::integer + 200);
  execute definition;
  return outcome;
end
$$;
select is(
  pg_temp.search_with_slow(format('private.%I', step)::regproc), error,
  format('a search is cancelled after %s if that takes too long', step)
)
from expected
cross join unnest('{read_query,read_filter,nearest_profiles,keyword_candidates}'::text[]) as step;
