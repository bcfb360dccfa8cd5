-- What the service does by the clock: on Supabase by pg_cron and pg_net, on one machine by supabase/local/jobs.ts.
create function private.list_jobs()
returns table (name text, schedule text, command text)
language sql immutable security invoker set search_path = ''
as $$
  values
    ('settle reservations', '10 seconds', 'select private.settle_reservations()'),
    -- A changed profile is embedded right after the change. This embeds what failed then, and a backlog.
    ('drain the embedding queue', '10 seconds', $job$
      select private.call_edge_function('embed', calls => (count(*) + 4) / 5)
      from (select from private.embedding_queue where due_at <= now() and attempts < 8 limit 50) as due
    $job$),
    ('send notifications', '10 seconds', $job$
      select private.call_edge_function('notify', calls => (count(*) + 49) / 50)
      from (
        select from private.outbox
        where channel in ('person', 'push', 'mail', 'webhook') and due_at <= now() and attempts < 8
        limit 200
      ) as due
    $job$),
    ('count words', '37 * * * *', 'select private.count_words()'),
    ('forget dead letters', '23 3 * * *', $job$
      delete from private.outbox where attempts >= 8 and due_at < private.present() - interval '30 days'
    $job$),
    -- A day after the last cursor. Reads the whole log.
    ('forget old changes', '47 3 * * *', $job$
      delete from private.changes where created_at < (select private.present()) - interval '31 days'
    $job$),
    ('measure answers', '7 4 * * *', 'select private.measure_answers()'),
    ('purge evidence', '29 3 * * *', $job$
      with due as (
        update public.reports set note = null, purge_at = null where purge_at <= (select private.present()) returning id
      )
      delete from private.report_evidence where report_id in (select id from due)
    $job$),
    ('forget old runs', '17 3 * * *', 'delete from cron.job_run_details where end_time < now() - interval ''3 days''')
$$;
comment on function private.list_jobs() is
  'The jobs, each with its time as pg_cron reads it. One machine runs those that need no Edge Function and no pg_cron.';

create function private.call_edge_function(function_name text, calls bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  url constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url');
  key constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'secret_key');
begin
  if url is null or key is null then
    raise 'Vault has no secret project_url, or no secret_key (docs/deploy.md, The schedule)';
  end if;
  perform net.http_post(
    url => url || '/functions/v1/' || function_name, body => '{}'::jsonb, timeout_milliseconds => 30000,
    headers => jsonb_build_object('Content-Type', 'application/json', 'apikey', key)
  )
  from generate_series(1, calls);
end
$$;
comment on function private.call_edge_function(text, bigint) is
  'Calls an Edge Function that often, after the commit, with the secret key that Vault keeps.';

create function private.schedule_jobs()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  begin
    create extension if not exists pg_cron with schema pg_catalog;
    -- In public the Data API would show it, and the advisors warn.
    create extension if not exists pg_net with schema extensions;
  exception
    -- One of them is missing, the server has not loaded pg_cron, or has it for another database.
    when feature_not_supported or undefined_file or undefined_object or raise_exception then
      return;
  end;
  perform cron.schedule(name, schedule, command) from private.list_jobs();
end
$$;
comment on function private.schedule_jobs() is
  'Gives all jobs to pg_cron, which replaces those that it has by name; nothing on a server without it or pg_net. Each
migration ends with it, since a comparison of schemas does not see the rows of cron.job.';
