// Changes of the embedding queue while a worker has its snapshot but not yet its row lock.
import postgres from 'postgres'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { platform } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'

// A statement trigger runs after the snapshot was taken and before any row is locked. There it waits for the lock.
const halting = `
  create or replace function private.halt() returns trigger language plpgsql set search_path = '' as $$
    begin
      if current_setting('test.halts', true) = 'yes' then perform pg_advisory_xact_lock(1); end if;
      return null;
    end
  $$;
  create or replace trigger halt before update on private.embedding_queue
    for each statement execute function private.halt();
`

const url = platform('queued')
const connect = () => postgres(url, { max: 1, onnotice: () => {} })
const [owner, worker, person] = [connect(), connect(), connect()]
afterAll(() => Promise.all([owner, worker, person].map((sql) => sql.end())))

let profile: number
let count = 0
beforeEach(async () => {
  await owner.unsafe(halting)
  const email = `queued${count++}@example.com`
  const [user] = await owner`insert into public.users (name, email) values ('Ana', ${email}) returning id`
  const [made] = await owner`
    insert into public.profiles (user_id, biography, is_searchable)
    values (${user!.id}, 'I mend nets', true)
    returning id
  `
  profile = Number(made!.id)
  await owner`delete from private.embedding_queue where (kind, id) <> ('profile', ${profile})`
})

const show = (sql: postgres.Sql | postgres.TransactionSql, is_searchable: boolean) =>
  sql`update public.profiles set is_searchable = ${is_searchable} where id = ${profile}`
const queued = () => owner`select kind, id::int, attempts from private.embedding_queue`
const claim = async (): Promise<{ id: number; text: string }[]> => {
  const [row] = await worker`select private.claim_embeddings('a model', 10) as jobs`
  return row!.jobs
}

/** Runs something while a claim has its snapshot and no row yet. */
const claimDuring = async (change: () => Promise<void>) => {
  const [{ pid }] = await worker`select pg_backend_pid() as pid` as unknown as [{ pid: number }]
  await worker`set test.halts = 'yes'`
  const claimed = await owner.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(1)`
    const claiming = claim()
    const halted = async () =>
      (await transaction`select from pg_locks where pid = ${pid} and locktype = 'advisory' and not granted`).length > 0
    while (!await halted()) await pause(10)
    await change()
    return { claiming }
  })
  const jobs = await claimed.claiming
  await worker`reset test.halts`
  return jobs
}

test('claiming removes a profile that was hidden after it was queued', async () => {
  await show(owner, false)
  expect(await claim()).toEqual([])
  expect(await queued()).toEqual([])
})

test('a profile that is shown again during the claim is embedded or stays queued', async () => {
  await show(owner, false)
  // This transaction starts before the worker's, so that its job is due for the worker.
  const showing = await person.reserve()
  await showing`begin`
  await showing`select now()`
  const jobs = await claimDuring(async () => {
    await show(showing, true)
    await showing`commit`
  })
  showing.release()
  expect(jobs).toMatchObject([{ id: profile, text: expect.stringContaining('I mend nets') }])
  expect(await queued()).toEqual([{ kind: 'profile', id: profile, attempts: 1 }])
})

test('a profile that is hidden during the claim is not embedded', async () => {
  const jobs = await claimDuring(async () => void await show(person, false))
  expect(jobs).toEqual([])
  expect(await queued()).toEqual([])
})
