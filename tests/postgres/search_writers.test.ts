// Several connections change profiles at once: the index stays in step, nobody is shown against their will, and changes
// of different profiles do not wait for each other.
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../tools/random.ts'
import { platform } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'

const url = platform('writing')
const connect = () => postgres(url, { max: 1, onnotice: () => {} })
const owner = connect()
const writers = Array.from({ length: 8 }, connect)
afterAll(() => Promise.all([owner, ...writers].map((sql) => sql.end())))

const people = 40
let profiles: number[]
let interests: number[]
beforeAll(async () => {
  const users = await owner`
    insert into public.users (name, email)
    select 'Writer ' || number, 'writer' || number || '@example.com' from generate_series(1, ${people}) as number
    returning id`
  const made = await owner`
    insert into public.profiles (user_id, biography, is_searchable)
    select id, 'I mend nets', true from unnest(${users.map(({ id }) => Number(id))}::bigint[]) as id
    returning id`
  profiles = made.map(({ id }) => Number(id))
  const pastimes = await owner`
    insert into public.interests (name) select 'Pastime ' || number from generate_series(1, 9) as number returning id`
  interests = pastimes.map(({ id }) => Number(id))
})

const findings = async () => {
  const [row] = await owner`select private.audit_search_index() as found`
  return Object.fromEntries(Object.entries(row!.found).filter(([, amount]) => amount !== 0))
}

const seed = Date.now() % 2 ** 31
test(`eight writers with random rollbacks, and sweeps meanwhile, leave the index in step (seed ${seed})`, async () => {
  const random = seededRandom(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const text = () => Array.from({ length: 12 }, () => `word${below(60)}x${below(4) === 0 ? below(1e6) : ''}`).join(' ')
  const changes: ((sql: postgres.TransactionSql, profile: number) => Promise<unknown>)[] = [
    (sql, id) =>
      sql`update public.profiles set biography = ${`${text()} ${text()} ${text()} ${text()}`} where id = ${id}`,
    (sql, id) => sql`update public.profiles set city = ${text().slice(0, 40)} where id = ${id}`,
    (sql, id) => sql`update public.profiles set is_searchable = not is_searchable where id = ${id}`,
    (sql, id) =>
      sql`update public.users set is_active = not is_active
        where id = (select user_id from public.profiles where id = ${id})`,
    (sql, id) =>
      sql`update public.users set name = ${text().slice(0, 40)}
        where id = (select user_id from public.profiles where id = ${id})`,
    (sql, id) =>
      sql`insert into public.profile_interests values (${id}, ${interests[below(9)]!}) on conflict do nothing`,
    (sql, id) =>
      sql`delete from public.profile_interests where profile_id = ${id} and interest_id < ${interests[below(9)]!}`,
  ]
  let [committed, undone, deadlocks] = [0, 0, 0]
  const write = async (sql: postgres.Sql) => {
    for (let step = 0; step < 60; step++) {
      const profile = profiles[below(people)]!
      try {
        await sql.begin(async (sql) => {
          for (let change = 0; change <= below(3); change++) await changes[below(changes.length)]!(sql, profile)
          if (random() < 0.3) throw new Error('undone')
        })
        committed++
      } catch (error) {
        if ((error as { code?: string }).code === '40P01') deadlocks++
        else if ((error as Error).message === 'undone') undone++
        else throw error
      }
    }
  }
  let writing = true
  const sweep = async () => {
    for (; writing; await pause(20)) {
      await owner`select private.drain_lexicon_queue(10)`
      await owner`select private.sweep_lexicon()`
    }
  }
  const sweeping = sweep()
  await Promise.all(writers.map(write)).finally(() => writing = false)
  await sweeping
  await owner`select private.drain_lexicon_queue(null)`
  expect(committed).toBeGreaterThan(200)
  expect(undone).toBeGreaterThan(50)
  // Only of transactions that change one person's profile and user in opposite orders.
  expect(deadlocks).toBeLessThan(committed / 20)
  expect(await findings()).toEqual({})

  await owner`update public.profiles set biography = null, city = null`
  await owner`update public.users set name = 'Nobody'`
  await owner`delete from public.profile_interests`
  await owner`select private.sweep_lexicon()`
  expect(await owner`select word from private.search_lexicon`).toEqual([{ word: 'nobody' }])
  expect(await owner`select from private.search_removed_words`).toHaveLength(0)
}, 120_000)

test.each(['profile', 'user'])('a change of the %s never undoes hiding it at the same time', async (first) => {
  const [one, other] = [writers[0]!, writers[1]!]
  const id = profiles[first === 'user' ? 0 : 1]!
  await owner`update public.users set is_active = true
    where id = (select user_id from public.profiles where id = ${id})`
  await owner`update public.profiles set is_searchable = true where id = ${id}`
  const change = (sql: postgres.Sql | postgres.TransactionSql) =>
    sql`update public.profiles set biography = 'Written meanwhile' where id = ${id}`
  const hide = (sql: postgres.Sql | postgres.TransactionSql) =>
    sql`update public.users set is_active = false
      where id = (select user_id from public.profiles where id = ${id})`
  let second: Promise<unknown> | undefined
  await one.begin(async (sql) => {
    await (first === 'profile' ? change(sql) : hide(sql))
    second = (first === 'profile' ? hide(other) : change(other)).execute()
    await pause(200)
  })
  await second
  expect(await owner`select from private.search_entries where profile_id = ${id}`).toHaveLength(0)
  expect(await findings()).toEqual({})
})

test('a change does not wait for a transaction that has changed another profile, with the same words', async () => {
  const [one, other] = [writers[0]!, writers[1]!]
  // The writers may have hidden them.
  await owner`update public.users set is_active = true`
  await owner`update public.profiles set is_searchable = true`
  await one.begin(async (sql) => {
    await sql`update public.profiles set biography = 'plonthir gribwax' where id = ${profiles[2]!}`
    await other`set lock_timeout = '1s'`
    await other`update public.profiles set biography = 'gribwax plonthir' where id = ${profiles[3]!}`
    await sql`update public.profiles set biography = 'gribwax plonthir' where id = ${profiles[4]!}`
  })
  const copies = await owner`select word from private.search_lexicon where word = 'gribwax'`
  expect(copies).toHaveLength(2)
  await owner`select private.sweep_lexicon()`
  expect(await owner`select word from private.search_lexicon where word = 'gribwax'`).toHaveLength(1)
})
