// As on Supabase: the owner of our functions is not a superuser and does not own the tables of Auth.
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { platform, run } from '../tools/supabase.ts'

const sql = postgres(platform('erased'), { max: 1, onnotice: () => {} })
const superuser = postgres(platform('erased', 'supabase_admin'), { max: 1, onnotice: () => {} })
afterAll(() => Promise.all([sql.end(), superuser.end()]))

const createUser = async (): Promise<string> => {
  const id = randomUUID()
  await superuser`
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    values (${id}, ${id + '@example.com'}, now(), '{"name": "Ana"}')
  `
  await superuser`insert into auth.sessions (id, user_id) values (${randomUUID()}, ${id})`
  await superuser`insert into auth.audit_log_entries (id, payload) values (${randomUUID()}, ${
    superuser.json({ actor_id: id })
  })`
  return id
}
const erase = (id: string) =>
  sql.begin(async (transaction) => {
    await transaction`set local role edge_functions`
    await transaction`set local statement_timeout = '5s'`
    await transaction`select case when private.act_as(${transaction.json({ sub: id })}, true) then api.erase_me() end`
  })
const left = async (id: string): Promise<string[]> => {
  const rows = await superuser`
    select 'log-in' as what from auth.users where id = ${id}
    union all select 'session' from auth.sessions where user_id = ${id}
    union all select 'log' from auth.audit_log_entries where payload ->> 'actor_id' = ${id}
    union all select 'user' from public.users where auth_id = ${id}`
  return rows.map(({ what }) => what)
}

test('erasing removes the user, the Auth account, its sessions and its audit log entries', async () => {
  const id = await createUser()
  expect((await left(id)).toSorted()).toEqual(['log', 'log-in', 'session', 'user'])
  await erase(id)
  expect(await left(id)).toEqual([])
})

test('if the audit log cannot be changed, everything else is erased', async () => {
  const id = await createUser()
  await superuser`revoke all on auth.audit_log_entries from postgres`
  try {
    await erase(id)
  } finally {
    await superuser`grant all on auth.audit_log_entries to postgres`
  }
  expect(await left(id)).toEqual(['log'])
})

test('if the audit log is locked, everything else is erased', async () => {
  const id = await createUser()
  await superuser.begin(async (transaction) => {
    await transaction`lock table auth.audit_log_entries in access exclusive mode`
    await erase(id)
  })
  expect(await left(id)).toEqual(['log'])
})

test('with another login, statements still have a time limit', async () => {
  const script = `import { asService } from './functions/_shared/rpc.ts'
    console.log(await asService\`count_pending_embeddings()\`.catch(({ code }) => code)); Deno.exit()`
  const countPending = async () => {
    const { stdout } = await run('deno', ['eval', '--ext=ts', script], { EDGE_DATABASE_URL: platform('erased') })
    return stdout.trim()
  }
  expect(await countPending()).toMatch(/^\d{1,3}$/)
  const whileLocked = superuser.begin(async (transaction) => {
    await transaction`lock table private.embedding_queue in access exclusive mode`
    return await countPending()
  })
  expect(await whileLocked).toBe('57014')
})

test('role edge_functions has a time limit', async () => {
  const [role] = await sql`select rolconfig from pg_roles where rolname = 'edge_functions'`
  expect(role!.rolconfig).toEqual(['statement_timeout=5s'])
})
