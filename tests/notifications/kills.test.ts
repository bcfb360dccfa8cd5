// Kills of the database, the workers, the mail server and the push service while people send and read: each message is
// read, or told in time; nothing is told after it was read, blocked or erased; nobody is mailed twice in a silence.
import type pg from 'pg'
import { expect, test } from 'vitest'
import { pause } from '../tools/wait.ts'
import { startAll } from './kill_load.ts'
import { subscribe } from './receivers.ts'

/** `npm run test:notify` has many of both. */
const messages = Number(process.env.NOTIFY_SENDS || 200)
const rounds = Number(process.env.NOTIFY_KILLS || 4)
const delay = 1
const speedup = process.env.NOTIFY_SENDS ? 1 : 10
/** What was claimed may be under way for as long as a worker waits for an answer. In milliseconds. */
const underWay = 10_000

type Sent = { id: number; conversation: number; at: number }
type Told = { user: number; at: number; conversation_id: number; id: number }

test('what kills leave of the outbox is told once, in time, and to whom it still concerns', async () => {
  const { pool, mail, push, kills } = await startAll({ delay, speedup })
  const query = async (statement: string): Promise<pg.QueryResultRow[]> => (await pool.query(statement)).rows
  /** Calls a function as a user, in one transaction, until it is acknowledged; null if it is refused. */
  const act = async (user: number, call: string) => {
    while (true) {
      try {
        const text = `select set_config('api.caller', '${user}', true); select ${call} as body`
        return (await pool.query(text) as unknown as pg.QueryResult[])[1]!.rows[0]
      } catch (error) {
        if (/PT4/.test((error as { code?: string }).code ?? '')) return null
        await pause(20)
      }
    }
  }
  const insert = async (statement: string): Promise<number[]> => (await query(statement)).map(({ id }) => Number(id))

  const people = await insert(`
    insert into public.users (name, email)
    select 'Person ' || number, 'p' || number || '@kills.example' from generate_series(1, 24) as number
    returning id`)
  const [recipients, senders] = [people.slice(0, 6), people.slice(6)]
  const pairs = senders.map((sender, index) => ({ id: 0, sender, recipient: recipients[index % 6]! }))
  for (const pair of pairs) {
    ;[pair.id] = await insert(`
      insert into public.conversations (voyager_id, local_id) values (${pair.sender}, ${pair.recipient}) returning id
    `) as [number]
  }
  const devices = recipients.map((user) => ({ user, ...subscribe(`http://127.0.0.1:${push.port}`) }))
  for (const { user, id, subscription: { endpoint, keys } } of devices) {
    await query(`
      insert into private.devices (user_id, id, endpoint, p256dh, auth)
      values (${user}, '${id}', '${endpoint}', '${keys.p256dh}', '${keys.auth}')`)
  }

  const sent: Sent[] = []
  const reads: (Sent & { user: number })[] = []
  /** When somebody was blocked or erased, by the conversation. */
  const closed = new Map<number, number>()
  let started = 0
  const write = async () => {
    while (started < messages) {
      const { id: conversation, sender, recipient } = pairs[started++ % pairs.length]!
      const draft = JSON.stringify({ content: 'Hello', client_id: crypto.randomUUID() })
      const row = await act(sender, `api.send_message(${conversation}, '${draft}')`)
      if (!row) continue
      const message = { id: row.body.id as number, conversation, at: Date.now() }
      sent.push(message)
      if (Math.random() < 0.2) {
        await pause(Math.random() * 1500)
        await act(recipient, `api.mark_read(${conversation}, ${message.id}, true)`)
        reads.push({ ...message, user: recipient, at: Date.now() })
      }
      await pause(Math.random() * 20)
    }
  }
  // Half-way one person blocks a sender, and another sender is erased.
  const close = async () => {
    while (started < messages / 2) await pause(20)
    const [blocked, erased] = [pairs[0]!, pairs[1]!]
    await act(blocked.recipient, `api.block_person(${blocked.sender})`)
    closed.set(blocked.id, Date.now())
    await act(erased.sender, `private.erase_person(${erased.sender})`)
    closed.set(erased.id, Date.now())
  }
  const killAll = async () => {
    const parts = Object.values(kills)
    for (let number = 0; number < rounds; number++) {
      while (started < messages * (number + 0.5) / rounds) await pause(10)
      await parts[number % parts.length]!.kill()
    }
  }
  await Promise.all([write(), write(), write(), write(), close(), killAll()])

  const pushes: Told[] = []
  const findMissing = (): Sent[] => {
    const lines = push.lines() as { name: string; body: string; at: number }[]
    for (const { name, body, at } of lines.slice(pushes.length)) {
      const device = devices.find((one) => one.name === name)!
      pushes.push({ user: device.user, at, ...device.decrypt(Buffer.from(body, 'base64')) })
    }
    return sent.filter((one) => endsOf(one).length === 0)
  }
  const readsOf = ({ conversation, id }: { conversation: number; id: number }) =>
    reads.filter((one) => one.conversation === conversation && one.id >= id).map(({ at }) => at)
  /** When a message was told, read or closed. */
  const endsOf = ({ conversation, id }: Sent): number[] => [
    ...pushes.filter((one) => one.conversation_id === conversation && one.id >= id).slice(0, 1).map(({ at }) => at),
    ...readsOf({ conversation, id }),
    ...closed.has(conversation) ? [closed.get(conversation)!] : [],
  ]
  const deadline = (delay + 60) * 1000
  const end = Date.now() + deadline
  while (findMissing().length > 0 && Date.now() < end) await pause(200)
  expect(findMissing()).toEqual([])
  const late = Math.max(...sent.map((one) => Math.min(...endsOf(one)) - one.at))
  expect(late).toBeLessThan(deadline)

  const isTooLate = ({ conversation_id: conversation, id, at }: Told) =>
    [closed.get(conversation) ?? Infinity, ...readsOf({ conversation, id })].some((over) => at > over + underWay)
  expect(pushes.filter(isTooLate)).toEqual([])

  // The same mail may arrive twice, under the same Message-ID. Two mails have something read between them.
  const mails = mail.lines() as { recipients: string[]; messageId: string; at: number }[]
  const twice = recipients.flatMap((id, index) => {
    const mine = mails.filter(({ recipients }) => recipients.includes(`p${index + 1}@kills.example`))
    const first = mine.filter(({ messageId }, index) => mine.findIndex((one) => one.messageId === messageId) === index)
    return first.slice(1).filter((one, index) =>
      !reads.some(({ user, at }) => user === id && at >= first[index]!.at - underWay && at <= one.at + underWay)
    )
  })
  expect(twice).toEqual([])
  expect(new Set(mails.flatMap((one) => one.recipients)).size).toBe(recipients.length)
  expect(await query('select * from private.outbox where attempts >= 8')).toEqual([])
  console.log(JSON.stringify({
    ...{ sent: sent.length, kills: rounds, reads: reads.length, pushes: pushes.length, mails: mails.length },
    worstMs: late,
  }))
}, 3_600_000)
