// Nobody is starved: 25 accounts write as much of each kind as the hosted limits allow, at once and then as these
// refill. Another person's GET /users/me stays quick meanwhile. It is asked at fixed times, so that slow answers are
// not counted less often than quick ones.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseRate, rateNames } from '../../functions/_shared/rates.ts'
import { useStack } from '../tools/own_stack.ts'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { pause } from '../tools/wait.ts'

const seconds = 5

const median = (numbers: number[]): number => numbers.toSorted((one, other) => one - other)[numbers.length >> 1]!

const hosted = Object.fromEntries(rateNames.map((name) => {
  const { count, seconds, burst } = parseRate(name, undefined)!
  return [name, `${count}/${seconds}/${burst}`]
}))
const database = await makeDatabase('starvation')
const stack = useStack({
  ...hosted,
  // Before the writes; the senders act as people who have answered each other.
  RATE_LIMIT_SIGNUP: 'off',
  FIRST_CONTACT_LIMIT: 'off',
  DATABASE_URL: database,
  SEED: 'demo',
})

interface Writer extends Person {
  conversation: number
  partner: Person
  /** Who has no conversation with this person. */
  strangers: Person[]
}
let watcher: Person
let writers: Writer[] = []
let interests: number[] = []

beforeAll(async () => {
  watcher = await signUp('Watcher', { biography: 'Watches.' }, stack.base)
  const people: Person[] = []
  for (let place = 0; place < 25; place++) {
    people.push(await signUp(`Writer ${place}`, { is_searchable: true }, stack.base))
  }
  writers = await Promise.all(people.map(async (person, place) => {
    const partner = people[(place + 1) % people.length]!
    const conversation = await openConversation(person, partner)
    const strangers = people.filter((_, other) => ![0, 1, 24].includes((other - place + 25) % 25))
    return { ...person, conversation, partner, strangers }
  }))
  interests = (await call('GET', `${stack.base}/users/interests`)).body.map(({ id }: { id: number }) => id)
}, 120_000)

/** The time of GET /users/me each 25 ms, while the work goes on. */
const times = async (work: Promise<unknown> | number): Promise<number[]> => {
  let isDone = false
  void (typeof work === 'number' ? pause(work) : work).then(() => isDone = true)
  const asked: Promise<number>[] = []
  while (!isDone) {
    const from = performance.now()
    asked.push(
      watcher.call('GET', '/users/me').then(({ status }) => {
        expect(status).toBe(200)
        return performance.now() - from
      }),
    )
    await pause(25)
  }
  return await Promise.all(asked)
}

const letters = (number: number): string => String(number).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)
let changes = 0
/** A biography of 550 words that nobody else has. */
const longBiography = (): string => {
  const from = 550 * changes++
  return Array.from({ length: 550 }, (_, word) => `q${letters(from + word)}`).join(' ')
}
const device = () => ({
  endpoint: `https://push.example.com/${randomUUID()}`,
  keys: {
    p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
    auth: 'tBHItJI5svbpez7KI4CCXg',
  },
})

type Write = (writer: Writer, turn: number) => ReturnType<Person['call']>
const kinds: Record<string, Write> = {
  'biographies of 550 new words': ({ call }) => call('PATCH', '/users/profile', { biography: longBiography() }),
  'sets of 50 interests': ({ call }, turn) =>
    call('PUT', '/users/profile/interests', { interest_ids: interests.slice(turn % 2 * 13).slice(0, 50) }),
  'profiles that become searchable': ({ call }, turn) =>
    call('PATCH', '/users/searchable', { is_searchable: turn % 2 === 0 }),
  'messages': ({ call, conversation }) =>
    call('POST', `/conversations/${conversation}/messages`, { content: 'word '.repeat(1000) }),
  'used client_ids': ({ call, conversation, id }, turn) =>
    call('POST', `/conversations/${conversation}/messages`, {
      content: `${turn}`,
      client_id: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
    }),
  'messages that are read': async ({ call, partner, conversation }) => {
    const sent = await call('POST', `/conversations/${conversation}/messages`, { content: 'Hello' })
    if (sent.status !== 201) return sent
    return await partner.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: sent.body.id })
  },
  'states': ({ call, conversation }, turn) =>
    call('PUT', `/conversations/${conversation}/state`, { pinned: turn % 2 === 0 }),
  'conversations': ({ call, strangers }, turn) =>
    call('POST', '/conversations', { other_user_id: strangers[turn % strangers.length]!.id }),
  'offers': ({ call, conversation }) =>
    call('POST', `/conversations/${conversation}/reservations`, {
      title: 'Sailing',
      price: 5,
      date: '2036-06-01T12:00:00Z',
    }),
  'reports with evidence': ({ call, partner }, turn) =>
    call('POST', '/users/me/reports', {
      user_id: partner.id,
      reason: 'spam',
      note: `${turn} ${'word '.repeat(300)}`,
      share_messages: true,
    }),
  'blocks': ({ call, strangers }, turn) =>
    call(turn % 2 ? 'DELETE' : 'PUT', `/users/me/blocks/${strangers[(turn >> 1) % strangers.length]!.id}`),
  'devices': ({ call }, turn) =>
    call('PUT', `/users/me/devices/00000000-0000-4000-8000-00000000000${turn % 10}`, device()),
  'exports': ({ call }) => call('GET', '/users/me/export'),
}

describe('25 accounts within their hosted limits leave others their time', () => {
  test.each(Object.entries(kinds))('%s', { retry: 2 }, async (kind, write) => {
    await connected(database, (sql) => sql`truncate private.rate_limits`)
    // What the last kind has left to the queues.
    for (let pending = 1; pending > 0; await pause(200)) {
      pending = (await (await fetch(`${stack.base}/health`)).json()).embeddings.pending
    }
    const quiet = median(await times(1000))
    const until = performance.now() + 1000 * seconds
    const statuses = new Map<number, number>()
    const repeat = async (writer: Writer): Promise<void> => {
      for (let turn = 0; performance.now() < until; turn++) {
        const { status, headers } = await write(writer, turn)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 429) await pause(Math.min(1000 * Number(headers.get('Retry-After')), until - performance.now()))
      }
    }
    const busy = await times(Promise.all(writers.map(repeat)))
    const summary = `${kind}: ${quiet.toFixed(1)} ms, then ${median(busy).toFixed(1)} ms; ${
      JSON.stringify([...statuses])
    }`
    expect([...statuses.keys()].filter((status) => status >= 500), summary).toEqual([])
    expect(median(busy), summary).toBeLessThan(5 * quiet)
  })
})
