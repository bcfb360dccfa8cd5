// Nobody is starved: 25 accounts write as much of a kind as the hosted limits allow. Another person's GET /users/me
// stays quick meanwhile. It is asked at fixed times, so that slow answers are not counted less often than quick ones.
// The commit chooses three kinds, each for 2 s as the limits refill; STARVATION=5 tries all, for 5 s and with bursts.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { rateNames, readSettings } from '../../functions/_shared/setting_rules.ts'
import { seed } from '../tools/changed.ts'
import { useStack } from '../tools/own_stack.ts'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { pause } from '../tools/wait.ts'

const seconds = Number(process.env.STARVATION ?? 2)
const sorted = (numbers: number[]): number[] => numbers.toSorted((one, other) => one - other)
const median = (numbers: number[]): number => sorted(numbers)[numbers.length >> 1]!
// Whoever is starved is slow all the time, and not as long as everybody's first write takes.
const quartile = (numbers: number[]): number => sorted(numbers)[numbers.length >> 2]!
const hosted = Object.fromEntries(rateNames.map((name) => {
  const { count, seconds, burst } = readSettings(() => undefined)[name]!
  return [name, `${count}/${seconds}/${process.env.STARVATION ? burst : 1}`]
}))
const database = await makeDatabase('starvation')
// People sign up before the writes, and the senders act as if they had answered each other.
const settings = { RATE_LIMIT_SIGNUP: 'off', FIRST_CONTACT_LIMIT: 'off', DATABASE_URL: database, SEED: 'demo' }
const stack = useStack({ ...hosted, ...settings })

interface Writer extends Person {
  /** With the next one. */
  path: string
  partner: Person
  /** Who has no conversation with this person. */
  strangers: number[]
}
let watcher: Person
let writers: Writer[] = []
let interests: number[] = []
beforeAll(async () => {
  watcher = await signUp('Watcher', { biography: 'Watches.' }, stack.base)
  const people: Person[] = []
  while (people.length < 25) people.push(await signUp('Writer', { is_searchable: true }, stack.base))
  writers = await Promise.all(people.map(async (person, place) => {
    const partner = people[(place + 1) % 25]!
    const path = `/conversations/${await openConversation(person, partner)}`
    const strangers = people.filter((_, other) => ![0, 1, 24].includes((other - place + 25) % 25)).map(({ id }) => id)
    return { ...person, path, partner, strangers }
  }))
  interests = (await call('GET', `${stack.base}/users/interests`)).body.map(({ id }: { id: number }) => id)
})

const letters = (number: number): string => String(number).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)
let words = 0
const newWords = (): string => Array.from({ length: 550 }, () => `q${letters(words++)}`).join(' ')
const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const device = () => ({
  endpoint: `https://push.example.com/${randomUUID()}`,
  keys: {
    p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
    auth: 'tBHItJI5svbpez7KI4CCXg',
  },
})
const offer = { title: 'Sailing', price: 5, date: '2036-06-01T12:00:00Z' }
type Write = (writer: Writer, turn: number) => ReturnType<Person['call']>
// deno-fmt-ignore
const kinds: Record<string, Write> = {
  'biographies of 550 new words': ({ call }) => call('PATCH', '/users/profile', { biography: newWords() }),
  'sets of 50 interests': ({ call }, turn) =>
    call('PUT', '/users/profile/interests', { interest_ids: interests.slice(turn % 2 * 13).slice(0, 50) }),
  'profiles that become searchable': ({ call }, turn) =>
    call('PATCH', '/users/searchable', { is_searchable: turn % 2 === 0 }),
  'messages': ({ call, path }) => call('POST', `${path}/messages`, { content: 'word '.repeat(1000) }),
  'used client_ids': ({ call, path, id }, turn) =>
    call('POST', `${path}/messages`, { content: `${turn}`, client_id: uuid(id) }),
  'messages that are read': async ({ call, partner, path }) => {
    const sent = await call('POST', `${path}/messages`, { content: 'Hello' })
    return sent.status === 201 ? await partner.call('POST', `${path}/read`, { up_to_message_id: sent.body.id }) : sent
  },
  'states': ({ call, path }, turn) => call('PUT', `${path}/state`, { pinned: turn % 2 === 0 }),
  'conversations': ({ call, strangers }, turn) =>
    call('POST', '/conversations', { other_user_id: strangers[turn % strangers.length] }),
  'offers': ({ call, path }) => call('POST', `${path}/reservations`, offer),
  'reports with evidence': ({ call, partner }, turn) => {
    const note = `${turn} ${'word '.repeat(300)}`
    return call('POST', '/users/me/reports', { user_id: partner.id, reason: 'spam', note, share_messages: true })
  },
  'blocks': ({ call, strangers }, turn) =>
    call(turn % 2 ? 'DELETE' : 'PUT', `/users/me/blocks/${strangers[(turn >> 1) % strangers.length]}`),
  'devices': ({ call }, turn) => call('PUT', `/users/me/devices/${uuid(turn % 10)}`, device()),
  'exports': ({ call }) => call('GET', '/users/me/export'),
}

/** The times of GET /users/me each 25 ms, while the work goes on. */
const timesDuring = async (work: Promise<unknown>): Promise<number[]> => {
  let isDone = false
  void work.then(() => isDone = true)
  const asked: Promise<number>[] = []
  for (; !isDone; await pause(25)) {
    const from = performance.now()
    asked.push(
      watcher.call('GET', '/users/me').then(({ status }) => {
        expect(status).toBe(200)
        return performance.now() - from
      }),
    )
  }
  return await Promise.all(asked)
}

const all = Object.entries(kinds)
const chosen = process.env.STARVATION ? all : [0, 4, 8].map((place) => all[(seed + place) % all.length]!)
test.each(chosen)('25 accounts within their hosted limits leave others their time: %s', async (_, write) => {
  await connected(database, (sql) => sql`truncate private.rate_limits`)
  // What the last kind has left to the queues.
  for (let pending = 1; pending > 0; await pause(200)) {
    pending = (await (await fetch(`${stack.base}/health`)).json()).embeddings.pending
  }
  const quiet = median(await timesDuring(pause(1000)))
  const until = performance.now() + 1000 * seconds
  const statuses: Record<number, number> = {}
  const busy = await timesDuring(Promise.all(writers.map(async (writer) => {
    for (let turn = 0; performance.now() < until; turn++) {
      const { status, headers } = await write(writer, turn)
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === 429) await pause(Math.min(1000 * Number(headers.get('Retry-After')), until - performance.now()))
    }
  })))
  const summary = `${quiet.toFixed(1)} ms, then ${quartile(busy).toFixed(1)} ms; ${JSON.stringify(statuses)}`
  expect(Object.keys(statuses).filter((status) => Number(status) >= 500), summary).toEqual([])
  expect(quartile(busy), summary).toBeLessThan(30 * quiet)
})
