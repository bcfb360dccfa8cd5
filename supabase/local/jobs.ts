import type { Database } from './database.ts'
import { log } from '../../functions/_shared/log.ts'

const schedule = Deno.readTextFileSync(new URL('../schedule.sql', import.meta.url))
const jobs = [...schedule.matchAll(/cron\.schedule\('[^']+', '([^']+)', 'select private\.(\w+)\(\)'\)/g)]
  .map(([, when, name]) => ({ name: name!, isDaily: !when!.endsWith('seconds') }))

const day = 86_400_000

/**
 * Runs the jobs of supabase/schedule.sql that are SQL alone, as pg_cron does on Supabase: the daily ones now and once a
 * day, the others every five seconds. If one run fails, the next one catches up. Returns what stops them.
 */
export const startJobs = (database: Database, beside: () => void): () => void => {
  const run = (isDaily: boolean) => () => {
    for (const { name } of jobs.filter((job) => job.isDaily === isDaily)) {
      database.query(`select private.${name}()`, []).catch(({ code }) =>
        log('warn', 'A job failed', { job: name, code })
      )
    }
    if (!isDaily) beside()
  }
  const timers = [setInterval(run(false), 5000), setInterval(run(true), day)]
  for (const isDaily of [false, true]) run(isDaily)()
  return () => timers.forEach(clearInterval)
}
