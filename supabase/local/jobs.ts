import type { Database } from './database.ts'
import { log } from '../../functions/_shared/log.ts'

const schedule = Deno.readTextFileSync(new URL('../schedule.sql', import.meta.url))
const [hour, day] = [3_600_000, 86_400_000]

/** Milliseconds between two runs of a job of schedule.sql. What is due every ten seconds there is every five here. */
export const intervalOf = (when: string): number =>
  when.endsWith('seconds') ? 5000 : / \* \* \* \*$/.test(when) ? hour : day

const jobs = [...schedule.matchAll(/cron\.schedule\('[^']+', '([^']+)', 'select private\.(\w+)\(\)'\)/g)]
  .map(([, when, name]) => ({ name: name!, interval: intervalOf(when!) }))

/**
 * Runs the jobs of supabase/schedule.sql that are SQL alone, as pg_cron does on Supabase: all of them now, and then
 * each in its rhythm; `beside` every five seconds. If one run fails, the next one catches up. Returns what stops them.
 */
export const startJobs = (database: Database, beside: () => void): () => void => {
  const run = (name: string): void => {
    database.query(`select private.${name}()`, []).catch(({ code }) => log('warn', 'A job failed', { job: name, code }))
  }
  const timers = [...jobs.map(({ name, interval }) => setInterval(run, interval, name)), setInterval(beside, 5000)]
  for (const { name } of jobs) run(name)
  beside()
  return () => timers.forEach(clearInterval)
}
