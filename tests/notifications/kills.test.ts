// Kills of the database, the workers, the mail server and the push service while people send and read: each message is
// read, or told in time; nothing is told after it was read, blocked or erased; nobody is mailed twice in a silence.
import { expect, test } from 'vitest'
import { pause } from '../tools/wait.ts'
import { startAll } from './kill_load.ts'
import { subscribe } from './receivers.ts'

/** `npm run test:notify` has many of both. */
const messages = Number(process.env.NOTIFY_SENDS || 200)
const rounds = Number(process.env.NOTIFY_KILLS || 3)
const isLong = Boolean(process.env.NOTIFY_SENDS)
const delay = 1
const speedup = isLong ? 1 : 10
/** What was claimed may be under way for as long as a worker waits for an answer. In milliseconds. */
const underWay = 10_000

interface Sent {
  id: number
  conversation: number
  recipient: number
  at: number
}
/** Somebody has read up to this message, or was blocked or erased. */
interface Quiet {
  conversation: number
  upTo: number
  at: number
}

test('what kills leave of the outbox is told once, in time, and to whom it still concerns', async () => {
  const { sql, mail, push, kills } = await startAll({ delay, speedup })
  /** Runs a statement as a user until it is acknowledged. */
  const act = async (user: number, statement: string, values: (string | number)[]) => {
    while (true) {
      try {
        const [, rows] = await sql.begin(async (one) => [
          await one`select set_config('api.caller', ${String(user)}, true)`,
          await one.unsafe(statement, values as never[]),
        ])
        return rows![0]!
      } catch (error) {
        if (/PT4/.test((error as { code?: string }).code ?? '')) return null
        await pause(20)
      }
    }
  }

  const people = (await sql`
    insert into public.users (name, email)
    select 'Person ' || number, 'p' || number || '@kills.example' from generate_series(1, 24) as number
    returning id, email
  `).map(({ id, email }) => ({ id: Number(id), email: String(email) }))
  const [recipients, senders] = [people.slice(0, 6), people.slice(6)]
  const pairs = (await sql`
    insert into public.conversations (voyager_id, local_id)
    select sender, recipient
    from unnest(${sql.array(senders.map(({ id }) => id))}::bigint[]) with ordinality as senders (sender, number)
    join unnest(${sql.array(recipients.map(({ id }) => id))}::bigint[]) with ordinality as hosts (recipient, place)
      on number % 6 = place - 1
    returning id, voyager_id, local_id
  `).map(({ id, voyager_id, local_id }) => ({
    id: Number(id),
    sender: Number(voyager_id),
    recipient: Number(local_id),
  }))
  const devices = recipients.map(({ id }) => ({ user: id, ...subscribe(`http://127.0.0.1:${push.port}`) }))
  for (const { user, id, subscription: { endpoint, keys } } of devices) {
    await sql`
      insert into private.devices (user_id, id, endpoint, p256dh, auth)
      values (${user}, ${id}, ${endpoint}, ${keys.p256dh}, ${keys.auth})
    `
  }

  const sent: Sent[] = []
  const quiet: Quiet[] = []
  const reads: { user: number; at: number }[] = []
  const closed = new Map<number, number>()
  let started = 0
  const write = async () => {
    while (started < messages) {
      const pair = pairs[started++ % pairs.length]!
      const draft = JSON.stringify({ content: 'Hello', client_id: crypto.randomUUID() })
      const row = await act(pair.sender, 'select api.send_message($1, $2::text::jsonb) as body', [pair.id, draft])
      if (!row) continue
      const message = { id: row.body.id as number, conversation: pair.id, recipient: pair.recipient, at: Date.now() }
      sent.push(message)
      if (Math.random() < 0.2) {
        await pause(Math.random() * 1500)
        await act(pair.recipient, 'select api.mark_read($1, $2, true)', [pair.id, message.id])
        const at = Date.now()
        quiet.push({ conversation: pair.id, upTo: message.id, at })
        reads.push({ user: pair.recipient, at })
      }
      await pause(Math.random() * 20)
    }
  }
  // Half-way one person blocks a sender, and another sender is erased.
  const close = async () => {
    while (started < messages / 2) await pause(20)
    const [blocked, erased] = [pairs[0]!, pairs[1]!]
    await act(blocked.recipient, 'select api.block_person($1)', [blocked.sender])
    closed.set(blocked.id, Date.now())
    await act(erased.sender, 'select private.erase_person($1)', [erased.sender])
    closed.set(erased.id, Date.now())
  }
  const parts = Object.values(kills)
  const counts: Record<string, number> = {}
  const killAll = async () => {
    for (let number = 0; number < rounds; number++) {
      while (started < messages * (number + 0.5) / rounds) await pause(10)
      const index = number % parts.length
      await parts[index]!.kill()
      const name = Object.keys(kills)[index]!
      counts[name] = (counts[name] ?? 0) + 1
    }
  }
  await Promise.all([write(), write(), write(), write(), close(), killAll()])

  type Told = { user: number; at: number; conversation_id: number; id: number }
  const decrypted: Told[] = []
  const told = (): Told[] => {
    const lines = push.lines() as { name: string; body: string; at: number }[]
    for (const { name, body, at } of lines.slice(decrypted.length)) {
      const device = devices.find((one) => one.name === name)!
      decrypted.push({ user: device.user, at, ...device.decrypt(Buffer.from(body, 'base64')) })
    }
    return decrypted
  }
  const deadline = (delay + 60) * 1000
  const isOver = ({ conversation, id }: Sent) =>
    closed.has(conversation) || quiet.some((one) => one.conversation === conversation && one.upTo >= id)
  const missing = () => {
    const pushes = told()
    const latest = new Map<number, number>()
    for (const { conversation_id, id } of pushes) {
      latest.set(conversation_id, Math.max(id, latest.get(conversation_id) ?? 0))
    }
    return sent.filter((one) => !isOver(one) && (latest.get(one.conversation) ?? 0) < one.id)
  }
  const end = Date.now() + deadline
  while (missing().length > 0 && Date.now() < end) await pause(200)
  expect(missing()).toEqual([])

  const pushes = told()
  const late = sent.map((one) => {
    const first = pushes.find((push) => push.conversation_id === one.conversation && push.id >= one.id)
    return isOver(one) || !first ? 0 : first.at - one.at
  })
  expect(Math.max(...late)).toBeLessThan(deadline)

  expect(pushes.filter(({ conversation_id, at }) => at > (closed.get(conversation_id) ?? Infinity) + underWay)).toEqual(
    [],
  )
  expect(
    pushes.filter(({ conversation_id, id, at }) =>
      quiet.some((one) => one.conversation === conversation_id && one.upTo >= id && at > one.at + underWay)
    ),
  ).toEqual([])

  // The same mail may arrive twice, under the same Message-ID. Two mails have something read between them.
  const mails = mail.lines() as { recipients: string[]; messageId: string; at: number }[]
  const twice = recipients.flatMap(({ id, email }) => {
    const mine = mails.filter(({ recipients }) => recipients.includes(email))
    const first = mine.filter(({ messageId }, index) => mine.findIndex((one) => one.messageId === messageId) === index)
    return first.slice(1).filter((one, index) =>
      !reads.some(({ user, at }) => user === id && at >= first[index]!.at - underWay && at <= one.at + underWay)
    )
  })
  expect(twice).toEqual([])
  expect(new Set(mails.flatMap((one) => one.recipients)).size).toBe(recipients.length)
  const [{ left, dead }] = (await sql`
    select
      (count(*) filter (where channel = 'push' and attempts < 8))::integer as left,
      (count(*) filter (where attempts >= 8))::integer as dead
    from private.outbox
  `) as unknown as [{ left: number; dead: number }]
  expect(dead).toBe(0)
  console.log(
    JSON.stringify({
      sent: sent.length,
      kills: counts,
      readOrClosed: sent.filter(isOver).length,
      told: sent.filter((one) => !isOver(one)).length,
      pushes: pushes.length,
      mails: mails.length,
      left,
      worstMs: Math.max(...late),
    }),
  )
}, 3_600_000)
