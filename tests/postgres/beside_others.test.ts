// Several stacks that start on one server at the same time.
import { expect, onTestFinished, test } from 'vitest'
import { connected } from '../tools/postgres.ts'
import { platform, run } from '../tools/supabase.ts'

const url = platform('bare', 'supabase_admin')
const alterings = (how: string, stacks: number) => `
  import postgres from 'postgres'
  import { retryOnConflict } from './supabase/local/database.ts'
  const alter = async () => {
    const sql = postgres(Deno.env.get('DATABASE_URL'), { max: 1 })
    const change = async () => void await sql.unsafe("alter role altered password 'x'")
    for (let time = 0; time < 25; time++) await ${how}(change)
    await sql.end()
  }
  const ended = await Promise.allSettled(Array.from({ length: ${stacks} }, alter))
  console.log(ended.map(({ status, reason }) => reason?.message ?? status).toSorted().at(-1))
  Deno.exit()`

test('altering a role succeeds while other stacks alter it', async () => {
  await connected(url, (sql) => sql.unsafe('create role altered'))
  onTestFinished(() => connected(url, async (sql) => void await sql.unsafe('drop role altered')))
  const alter = async (how: string, stacks: number) => {
    const { stdout } = await run('deno', ['eval', '--ext=ts', alterings(how, stacks)], { DATABASE_URL: url })
    return stdout.trim()
  }
  expect(await alter('((change) => change())', 6)).toBe('tuple concurrently updated')
  expect(await alter('retryOnConflict', 2)).toBe('fulfilled')
})
