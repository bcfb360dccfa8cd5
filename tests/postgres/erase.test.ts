// As on Supabase: the owner of our functions is not a superuser and does not own the tables of Auth.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'

const { owner, connect } = await useCopy('erased')
const superuser = connect('supabase_admin')

const createUser = async (): Promise<string> => {
  const id = randomUUID()
  await superuser`
    insert into auth.users (id, email, email_confirmed_at) values (${id}, ${id + '@example.com'}, now())`
  await superuser`insert into auth.sessions (id, user_id) values (${randomUUID()}, ${id})`
  const payload = superuser.json({ actor_id: id })
  await superuser`insert into auth.audit_log_entries (id, payload) values (${randomUUID()}, ${payload})`
  return id
}
const erase = (id: string) =>
  owner.begin(async (sql) => {
    await sql`set local role edge_functions`
    await sql`set local statement_timeout = '5s'`
    await sql`select case when private.act_as(${sql.json({ sub: id })}, true) then api.erase_me() end`
  })
const left = async (id: string): Promise<string[]> => {
  const rows = await superuser`
    select 'log-in' as what from auth.users where id = ${id}
    union all select 'session' from auth.sessions where user_id = ${id}
    union all select 'log' from auth.audit_log_entries where payload ->> 'actor_id' = ${id}
    union all select 'user' from public.users where auth_id = ${id}`
  return rows.map(({ what }) => what).toSorted()
}

test('erasing removes the user, the Auth account, its sessions and its audit log entries', async () => {
  const id = await createUser()
  expect(await left(id)).toEqual(['log', 'log-in', 'session', 'user'])
  await erase(id)
  expect(await left(id)).toEqual([])
})

test('if the audit log cannot be changed, or is locked, everything else is erased', async () => {
  const [first, second] = [await createUser(), await createUser()]
  await superuser`revoke all on auth.audit_log_entries from postgres`
  try {
    await erase(first)
  } finally {
    await superuser`grant all on auth.audit_log_entries to postgres`
  }
  expect(await left(first)).toEqual(['log'])
  await superuser.begin(async (sql) => {
    await sql`lock table auth.audit_log_entries in access exclusive mode`
    await erase(second)
  })
  expect(await left(second)).toEqual(['log'])
})
