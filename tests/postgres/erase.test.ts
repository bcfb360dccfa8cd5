// As on Supabase: the owner of our functions is not a superuser and does not own the tables of Auth.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'

const { owner, connect } = await useCopy('erased')
const superuser = connect('supabase_admin')

const createUser = async (): Promise<string> => {
  const id = randomUUID()
  await superuser`insert into auth.users (id, email, email_confirmed_at) values (${id}, ${id + '@example.com'}, now())`
  await superuser`insert into auth.sessions (id, user_id) values (${randomUUID()}, ${id})`
  const payload = superuser.json({ actor_id: id })
  await superuser`insert into auth.audit_log_entries (id, payload) values (${randomUUID()}, ${payload})`
  await superuser`insert into auth.flow_state (id, user_id, auth_code) values (${randomUUID()}, ${id}, 'code')`
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
    union all select 'flow' from auth.flow_state where user_id = ${id}
    union all select 'log' from auth.audit_log_entries where payload ->> 'actor_id' = ${id}
    union all select 'user' from public.users where auth_id = ${id}`
  return rows.map(({ what }) => what).toSorted()
}

test('the user, the account, its sessions and its log go, the log not if it is locked or not ours', async () => {
  const [first, second, third] = [await createUser(), await createUser(), await createUser()]
  await erase(first)
  expect(await left(second)).toEqual(['flow', 'log', 'log-in', 'session', 'user'])
  await superuser.begin(async (sql) => {
    await sql`lock table auth.audit_log_entries in access exclusive mode`
    await erase(second)
  })
  await superuser`revoke all on auth.audit_log_entries from postgres`
  await erase(third)
  expect([await left(first), await left(second), await left(third)]).toEqual([[], ['log'], ['log']])
})
