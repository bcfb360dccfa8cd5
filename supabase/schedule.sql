-- What the service does by the clock, on pg_cron and pg_net. Needs two secrets in Vault: project_url and secret_key
-- (docs/deploy.md). On one machine supabase/local/jobs.ts runs the jobs that call a function of schema private.
create extension if not exists pg_cron;
create extension if not exists pg_net with schema extensions;
-- A changed profile is embedded right after the change. This embeds what failed then, and a backlog: one call for each
-- five texts that are due, ten at most.
select cron.schedule('drain the embedding queue', '10 seconds', $$
  select net.http_post(
    url := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url') || '/functions/v1/embed',
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'apikey', (select decrypted_secret from vault.decrypted_secrets where name = 'secret_key')
    ),
    body := '{}'::jsonb,
    timeout_milliseconds := 30000
  )
  from (
    select row_number() over () as place
    from (select from private.embedding_queue where due_at <= now() and attempts < 8 limit 50) as due
  ) as numbered
  where place % 5 = 1
$$);
-- One call for each 50 rows that are due, four at most.
select cron.schedule('send notifications', '10 seconds', $$
  select net.http_post(
    url := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url') || '/functions/v1/notify',
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'apikey', (select decrypted_secret from vault.decrypted_secrets where name = 'secret_key')
    ),
    body := '{}'::jsonb,
    timeout_milliseconds := 30000
  )
  from (
    select row_number() over () as place
    from (
      select
      from private.outbox
      where channel in ('person', 'push', 'mail', 'webhook') and due_at <= now() and attempts < 8
      limit 200
    ) as due
  ) as numbered
  where place % 50 = 1
$$);
-- Rows of the outbox that failed eight times, after a month.
select cron.schedule('forget dead letters', '23 3 * * *', 'select private.forget_dead_letters()');
-- Writes what the clock does: the Data API and the events are as late as it is.
select cron.schedule('settle reservations', '10 seconds', 'select private.settle_reservations()');
select cron.schedule('forget old changes', '47 3 * * *', 'select private.forget_changes()');
-- How rare the words are that a search looks for.
select cron.schedule('count words', '37 * * * *', 'select private.count_words()');
-- What public views say of how soon people answer.
select cron.schedule('measure answers', '7 4 * * *', 'select private.measure_answers()');
-- The evidence of reports, 180 days after an erasure.
select cron.schedule('purge evidence', '29 3 * * *', 'select private.purge_evidence()');
select cron.schedule('forget old runs', '17 3 * * *', $$
  delete from cron.job_run_details where end_time < now() - interval '3 days'
$$);
