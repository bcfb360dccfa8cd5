// The jobs, with the secrets of docs/deploy.md, on pg_cron and stand-ins for pg_net and Vault, which Debian does not
// package.
import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { providePgNet, vault } from '../tools/pg_net.ts'
import { platform } from '../tools/supabase.ts'

const standIns = `${vault}
  create schema private;
  create table private.embedding_queue (due_at timestamptz default now(), attempts integer default 0);
  create table private.outbox (channel text, due_at timestamptz default now(), attempts integer default 0);
  grant all on schema private to postgres;
  grant all on all tables in schema private to postgres;
`

test('the schedule calls the functions embed and notify as often as their queues need it, and no oftener', async () => {
  const [, secrets] = /## 6\.[^]*?```sql\n([^]*?)```/.exec(readFileSync('docs/deploy.md', 'utf8'))!
  const owner = postgres(platform('postgres', 'supabase_admin'), { max: 1, onnotice: () => {} })
  const sql = postgres(platform('postgres'), { max: 1, onnotice: () => {} })
  try {
    await owner.unsafe(standIns)
    providePgNet()
    const schedule = readFileSync('sql/schema/90_operations/50_schedule.sql', 'utf8')
      .replaceAll('create function', 'create or replace function')
    // A server of one's own may have pg_cron and no pg_net.
    await sql.unsafe(schedule.replaceAll(' pg_net ', ' pg_missing '))
    await sql`select private.schedule_jobs()`
    expect(await sql`select extname from pg_extension where extname in ('pg_cron', 'pg_net')`).toEqual([])
    await sql.unsafe(schedule)
    await sql`select private.schedule_jobs()`
    // As each migration does.
    await sql`select private.schedule_jobs()`
    // In public the Data API would show it, and the advisors warn.
    expect(await sql`select extnamespace::regnamespace::text as schema from pg_extension where extname = 'pg_net'`)
      .toEqual([{ schema: 'extensions' }])
    const [job] = await sql`select schedule, command from cron.job where jobname = 'drain the embedding queue'`
    expect(job!.schedule).toBe('10 seconds')
    await expect(sql.unsafe(job!.command)).rejects.toThrow('Vault has no secret project_url')
    await sql.unsafe(secrets!)
    await sql.unsafe(job!.command)
    expect(await sql`select from net.sent`).toHaveLength(0)
    await sql`insert into private.embedding_queue default values`
    await sql.unsafe(job!.command)
    expect(await sql`select url, headers ->> 'apikey' as key, body from net.sent`).toEqual([
      { url: 'https://<ref>.supabase.co/functions/v1/embed', key: '<secret key, sb_secret_…>', body: {} },
    ])
    for (const [due, calls] of [[5, 1], [6, 2], [46, 10], [500, 10]] as const) {
      await sql`truncate net.sent, private.embedding_queue`
      await sql`insert into private.embedding_queue select from generate_series(1, ${due})`
      // Neither of these is due.
      await sql`insert into private.embedding_queue values (now() + interval '1 minute', 1), (now(), 8)`
      await sql.unsafe(job!.command)
      expect({ due, calls: (await sql`select from net.sent`).length }).toEqual({ due, calls })
    }
    const [sending] = await sql`select schedule, command from cron.job where jobname = 'send notifications'`
    expect(sending!.schedule).toBe('10 seconds')
    for (const [due, calls] of [[0, 0], [1, 1], [50, 1], [51, 2], [500, 4]] as const) {
      await sql`truncate net.sent, private.outbox`
      await sql`insert into private.outbox (channel) select 'push' from generate_series(1, ${due})`
      await sql`insert into private.outbox values ('mail', now() + interval '1 minute', 1), ('mail', now(), 8)`
      await sql.unsafe(sending!.command)
      const sent = await sql`select url, headers ->> 'apikey' as key from net.sent`
      const call = { url: 'https://<ref>.supabase.co/functions/v1/notify', key: '<secret key, sb_secret_…>' }
      expect({ due, sent }).toEqual({ due, sent: Array(calls).fill(call) })
    }
    // What one machine runs by itself (tests/local/database.checks.ts).
    const own = await sql`
      select schedule, jobname as name from cron.job where command !~ 'call_edge_function|cron[.]' order by name`
    expect(own).toEqual([
      { schedule: '37 * * * *', name: 'count words' },
      { schedule: '23 3 * * *', name: 'forget dead letters' },
      { schedule: '47 3 * * *', name: 'forget old changes' },
      { schedule: '7 4 * * *', name: 'measure answers' },
      { schedule: '29 3 * * *', name: 'purge evidence' },
      { schedule: '10 seconds', name: 'settle reservations' },
    ])
    const [cleaning] = await sql`select command from cron.job where jobname = 'forget old runs'`
    expect(await sql.unsafe(cleaning!.command)).toEqual([])
    // What admins see of it, on the real tables of pg_cron.
    const definition = /create function public\.describe_schedule[^]*?\n\$\$;/
    await sql.unsafe(definition.exec(readFileSync('sql/schema/90_operations/40_describe.sql', 'utf8'))![0])
    expect((await sql`select job from public.describe_schedule()`).map(({ job }) => job))
      .toEqual((await sql`select name from private.list_jobs() order by name`).map(({ name }) => name))
  } finally {
    await sql`select cron.unschedule(jobid) from cron.job`.catch(() => {})
    await sql`drop function if exists public.describe_schedule`.catch(() => {})
    await sql.end()
    await owner.end()
  }
})
