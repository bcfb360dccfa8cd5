-- What waits and what was run, for admins and the metrics, and which migrations the database has, so that a deployed
-- project can be compared with the repository.
create function public.describe_queues()
returns table (queue text, waiting bigint, oldest_seconds double precision, dead bigint)
language sql stable security definer set search_path = ''
as $$
  select 'reports', count(*), coalesce(extract(epoch from now() - min(created_at)), 0)::float8, null
  from public.reports where resolved_at is null
  union all
  (
    select
      name, count(*) filter (where attempts < 8),
      greatest(0, extract(epoch from max(
        private.present() - case channel when 'person' then due_at else created_at end
      ) filter (where attempts < 8)))::float8,
      count(*) filter (where attempts >= 8)
    from unnest(array['person', 'push', 'mail', 'webhook']) with ordinality as channels (name, place)
    left join private.outbox on channel = name
    group by name, place
    order by place
  )
  union all
  select 'embeddings', counts.waiting, oldest, counts.dead
  from json_to_record(private.describe_search()) as counts (waiting bigint, oldest float8, dead bigint)
$$;
comment on function public.describe_queues() is
  'How many entries of each queue wait, the age of the oldest in seconds, and dead letters. Definer, as find_people.';

create function public.describe_schedule()
returns table (job text, schedule text, last_start timestamptz, last_status text, last_message text, failures bigint)
language plpgsql stable security definer set search_path = ''
as $$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- Dynamic, because there is no pg_cron on one machine.
  return query execute $query$
    select
      jobname::text, schedule::text, latest.start_time, latest.status::text, left(latest.return_message, 200),
      (
        select count(*) from cron.job_run_details as run
        where run.jobid = job.jobid and status = 'failed' and start_time > now() - interval '1 day'
      )
    from cron.job
    left join lateral (
      select * from cron.job_run_details as run where run.jobid = job.jobid order by runid desc limit 1
    ) as latest on true
    order by jobname
  $query$;
end
$$;
comment on function public.describe_schedule() is
  'The jobs of pg_cron, each with its latest run and the number of failures in the last day; nothing without pg_cron.
Definer, because pg_cron shows each role its own jobs.';

create function private.describe_service()
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  migrations json;
begin
  begin
    -- Dynamic, because the CLI creates the table, and a database that was made from the files alone has none. The CLI
    -- splits a file into statements, and takes off what is between them.
    execute $query$
      select json_agg(json_build_object(
        'version', version,
        'sha256', encode(sha256(convert_to(translate(array_to_string(statements, ''), E' \t\r\n;', ''), 'utf8')), 'hex')
      ) order by version)
      from supabase_migrations.schema_migrations
    $query$
    into migrations;
  exception
    when undefined_table or insufficient_privilege then
      null;
  end;
  return json_build_object(
    'search', private.describe_search(), 'migrations', migrations,
    'outbox', (
      select json_object_agg(queue, json_build_object('depth', waiting, 'age', oldest_seconds, 'dead', dead))
      from public.describe_queues()
      where queue in ('person', 'push', 'mail', 'webhook')
    ),
    'data', (select coalesce(json_agg(loaded_data order by name), '[]') from private.loaded_data)
  );
end
$$;
comment on function private.describe_service() is
  'What the metrics say of the database; of migrations their {version, sha256 of the text without white space and
semicolons}, null if unknown. Definer, because edge_functions has no rights on its tables.';
