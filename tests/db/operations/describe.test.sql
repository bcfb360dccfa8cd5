-- What admins see of the queues and of the schedule.
select plan(6);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
delete from private.embedding_queue;
delete from private.outbox;
select is(
  array(select concat_ws(' ', queue, waiting, oldest_seconds, dead) from public.describe_queues()),
  array['reports 0 0', 'person 0 0 0', 'push 0 0 0', 'mail 0 0 0', 'webhook 0 0 0', 'embeddings 0 0 0'],
  'at first every queue is empty'
);
insert into public.reports (reporter_id, user_id, message_id, reason, created_at, resolution, resolved_at)
values
  (tests.id_of('ana'), tests.id_of('ben'), 1, 'spam', now() - interval '2 hours', null, null),
  (tests.id_of('ana'), tests.id_of('ben'), 2, 'spam', now() - interval '9 hours', 'warn', now());
insert into private.outbox (channel, event, user_id, created_at, due_at, attempts)
select 'webhook', 'message.created', null, now() - age * interval '1 minute', now(), attempts
from (values (5, 0), (3, 7), (9, 8)) as rows (age, attempts);
update private.embedding_queue set queued_at = now();
select is(
  (select concat_ws(' ', waiting, oldest_seconds, dead) from public.describe_queues() where queue = 'reports'),
  '1 7200',
  'only open reports wait'
);
select is(
  (
    select concat_ws(' ', waiting, round(oldest_seconds / 60), dead)
    from public.describe_queues()
    where queue = 'webhook'
  ),
  '2 5 1',
  'what failed eight times does not wait: it is dead'
);
select is(
  (select waiting from public.describe_queues() where queue = 'push'), 0::bigint, 'the other channels are empty'
);

-- PGlite has no pg_cron, and the test database none of its jobs.
select is_empty('select from public.describe_schedule()', 'without jobs nothing is listed');
create schema if not exists cron;
create table if not exists cron.job (jobid bigint, schedule text, jobname text);
create table if not exists cron.job_run_details (
  jobid bigint, runid bigint, status text, return_message text, start_time timestamptz
);
insert into cron.job (jobid, schedule, jobname) values (1, '* * * * *', 'send'), (2, '0 3 * * *', 'forget');
insert into cron.job_run_details (jobid, runid, status, return_message, start_time)
values
  (1, 1, 'failed', 'long ago', now() - interval '2 days'),
  (1, 2, 'failed', 'division by zero', now() - interval '1 hour'),
  (1, 3, 'succeeded', '1 row', now());
select is(
  array(select concat_ws(' ', job, last_status, last_message, failures) from public.describe_schedule()),
  array['forget 0', 'send succeeded 1 row 1'],
  'with pg_cron each job has its latest run and the failures of a day'
);
