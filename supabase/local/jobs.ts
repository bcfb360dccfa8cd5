import type { Database } from './database.ts'
import { log } from '../../functions/_shared/log.ts'

const [hour, day] = [3_600_000, 86_400_000]

/** Milliseconds between two runs of a job. What pg_cron does every ten seconds is done every five here. */
export const intervalOf = (when: string): number =>
  when.endsWith('seconds') ? 5000 : / \* \* \* \*$/.test(when) ? hour : day

/**
 * Runs the jobs that the database can do alone, as pg_cron does on Supabase: all of them now, and then in their rhythm;
 * `beside` every five seconds. If one run fails, the next one catches up. Returns what stops them.
 */
export const startJobs = async (database: Database, beside: () => void): Promise<() => void> => {
  const run = (command: string, job: string): void => {
    database.query(command, []).catch(({ code }) => log('warn', 'A job failed', { job, code }))
  }
  const jobs = await database.query(
    `select name, schedule, command from private.list_jobs() where command !~ 'call_edge_function|cron[.]'`,
    [],
  )
  const timers = [setInterval(beside, 5000)]
  for (const job of jobs) {
    const [name, schedule, command] = [job.name, job.schedule, job.command].map(String) as [string, string, string]
    timers.push(setInterval(run, intervalOf(schedule), command, name))
    run(command, name)
  }
  beside()
  return () => timers.forEach(clearInterval)
}
