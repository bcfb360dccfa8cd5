/** Whom the worker tells of what and when, and what becomes of the outbox. */
import { devices, keys, lisbon, settings, subscribe, work } from './devices.ts'
import { asAdmin, equal, idOf, inDays, is, iso, type Json } from './fixture.ts'
import { passTime, people, type Person, refuses, runJob, sql, talk, test } from './fixture.ts'

const offer = { title: 'A walk', price: 20, date: inDays(9) }

const plan = (push = true, mail = true) => work(`plan_notifications(max_rows => 100, push => ${push}, mail => ${mail})`)
const planAfter = async (time: string, push?: boolean, mail?: boolean) => {
  await passTime(time)
  return await plan(push, mail)
}
/** All that are due, one by one. */
const claimPushes = async (busy: string[] = []): Promise<Json[]> => {
  const pushes = await work(`claim_pushes(1, '${JSON.stringify(busy)}')`)
  return pushes.length === 0 ? [] : [...pushes, ...await claimPushes(busy)]
}
const claimMail = (busy: string[] = []) => work(`claim_mail('${JSON.stringify(busy)}')`)
const claimWebhooks = () => work('claim_webhooks(100)')
const finish = (...outcomes: object[]) =>
  sql('select private.finish_outbox($1)', [JSON.stringify(outcomes)], 'edge_functions')
/** How many rows of each channel wait, dead letters included. */
const waiting = async (): Promise<Json> =>
  Object.fromEntries(await sql('select channel, count(*) from private.outbox group by 1'))
const dead = async (channel: string) =>
  (await sql(`select dead from public.describe_queues() where queue = '${channel}'`))[0]
const outbox = (columns: string, channel: string) =>
  sql(`select ${columns} from private.outbox where channel = '${channel}' order by id`)
const clear = (...tables: string[]) => Promise.all(tables.map((table) => sql(`delete from private.${table}`)))
const dataOf = (pushes: Json[]) => pushes.map(({ data }) => data)

/** Ana and Cleo, who write to Ben; he has two devices. */
const meet = async () => {
  const [ana, ben, cleo] = await people('ana', 'ben', 'cleo')
  for (const _ of [1, 2]) await subscribe(ben)
  const [ab, cb] = [await talk(ana, ben), await talk(cleo, ben)]
  const write = async (who: Person): Promise<number> =>
    (await who.post(`${who === cleo ? cb : ab}/messages`, { content: 'Hello' }, 201)).id
  let minutes = 0
  /** Writes, and plans when the delay has passed. */
  const tell = async (who = ana, push = true, mail = true) => {
    await write(who)
    await planAfter(`${minutes += 11} minutes`, push, mail)
  }
  const reset = async () => {
    await clear('outbox', 'silences', 'notification_settings')
    await sql('update public.messages set read = true where not read')
    await passTime(`${minutes = 0} minutes`)
  }
  return { ana, ben, cleo, ab, cb, write, tell, reset }
}
const told = { mail: 1, push: 2 }

test('after a delay a message is pushed to every device and mailed; in one silence there is one mail', async () => {
  const { ana, ben, cleo, ab, cb, write, tell } = await meet()
  await write(ana)
  equal(await outbox('user_id, round(extract(epoch from due_at - created_at))', 'person'), [[ben.id, 600]])
  equal([await plan(), await waiting()], [0, { person: 1 }])
  equal([await planAfter('11 minutes'), await waiting()], [1, told])
  for (const who of [ana, cleo]) await write(who)
  await planAfter('22 minutes')
  // What waits for a conversation is told by one push.
  equal(await waiting(), { mail: 1, push: 4 })
  const mail = await claimMail()
  const [token] = await sql(`select unsubscribe_token from public.users where id = ${ben.id}`)
  is(mail, { to: 'ben@tests.example', name: 'ben', token })
  const unread = (name: string, unread: number) => ({ name, unread, status: null, title: null, date: null, text: null })
  const inMail = [[cb, unread('cleo', 1)], [ab, unread('ana', 2)]] as const
  const listed = inMail.map(([path, of]) => ({ conversation_id: idOf(path), ...of }))
  equal([mail.conversations, await claimMail()], [listed, null])
  const pushes = await claimPushes()
  const said = ([[ab, unread('ana', 2)], [cb, unread('cleo', 1)]] as const)
    .map(([path, of]) => ({ type: 'message.created', conversation_id: idOf(path), ...of }))
  is(dataOf(pushes), said.flatMap((data) => [data, data]))
  equal([pushes[0].keys, new Set(pushes.map(({ receivers }) => receivers[0])).size], [keys, 2])
  // Previews quote the latest message.
  await ben.patch(settings, { previews: true })
  await tell(ana)
  await passTime('50 hours')
  const text = 'Hello'
  is([dataOf(await claimPushes()), (await claimMail()).conversations], [Array(4).fill({ text }), [{ text }, { text }]])
})

test('pushes and the mail name the newest request when they are planned', async () => {
  const { ana, ab } = await meet()
  const told = async (...ids: string[]) => {
    for (const id of ids) await ana.post(`${ab}/messages`, { content: id }, 201, undefined, { 'X-Request-Id': id })
    await planAfter(`${ids.length * 11} minutes`)
    return await sql("select distinct channel || ' ' || (request ->> 'x-request-id') from private.outbox order by 1")
  }
  const five = { 'x-request-id': 'five' }
  equal(await told('one', 'two'), ['mail two', 'push two'])
  equal(await told('three', 'four', 'five'), ['mail two', 'push five'])
  equal([await claimMail(), ...await claimPushes()].map(({ request }) => request), [
    { 'x-request-id': 'two' },
    five,
    five,
  ])
})

test('who has seen it, or does not want to hear of it, is told nothing, whenever that happens', async () => {
  const { ana, ben, ab, tell, write, reset } = await meet()
  type Case = [change: () => Promise<unknown>, undo?: () => Promise<unknown>]
  const state = (fields: object) => () => ben.put(`${ab}/state`, fields, 200)
  const block = (one: Person, other: Person): Case => {
    const path = `/users/me/blocks/${other.id}`
    return [() => one.put(path, undefined, 204), () => one.delete(path)]
  }
  const suspend = (who: Person): Case => {
    const set = (isActive: boolean) => () =>
      asAdmin(`update public.users set is_active = ${isActive} where id = ${who.id}`)
    return [set(false), set(true)]
  }
  // deno-fmt-ignore
  const cases: Case[] = [
    [() => sql('update public.messages set read = true')], [() => sql('delete from public.messages')],
    block(ana, ben), block(ben, ana), suspend(ben), suspend(ana),
    [state({ muted_until: inDays(1) }), state({ muted_until: null })],
    [state({ archived: true }), state({ archived: false })], [() => ben.patch(settings, { push: false, email: false })],
  ]
  for (const [place, [change, undo]] of cases.entries()) {
    await reset()
    await write(ana)
    await change()
    await planAfter('11 minutes')
    equal(await waiting(), {}, `case ${place}`)
    await undo?.()
    // And if it happens between the planning and the sending.
    await reset()
    await tell()
    equal(await waiting(), told)
    await change()
    equal([await claimPushes(), await claimMail(), await waiting()], [[], null, {}], `case ${place}`)
    equal(await sql('select user_id from private.silences'), [], `case ${place}`)
    await undo?.()
  }
  // Archived before it: the message brings the conversation back. A mute that is over counts no more.
  await reset()
  await ben.put(`${ab}/state`, { archived: true }, 200)
  await sql(`update private.inbox_entries set muted_until = now() - interval '1 second'`)
  await tell()
  equal(await waiting(), told)
})

test('without the keys of Web Push there is a mail, without a mail server a push and no silence', async () => {
  const { ana, tell, reset } = await meet()
  await tell(ana, false)
  equal(await waiting(), { mail: 1 })
  await reset()
  await tell(ana, true, false)
  equal([await waiting(), await sql('select user_id from private.silences')], [{ push: 2 }, []])
})

test('a silence ends when its person reads or writes, and then the next message is mailed again', async () => {
  const { ana, ben, ab, cb, tell, write } = await meet()
  const silent = () => sql('select user_id from private.silences')
  const ends: (() => Promise<unknown>)[] = [
    async () => ben.post(`${ab}/read`, { up_to_message_id: (await ben.get(`${ab}/messages`))[0].id }, 200),
    () => ben.post(`${cb}/messages`, { content: 'Here I am' }, 201),
    () => ben.post(`${ab}/reservations`, offer, 201),
  ]
  for (const end of ends) {
    await tell(ana)
    is(await claimMail(), { to: 'ben@tests.example' })
    await write(ana)
    equal(await silent(), [ben.id])
    await end()
    equal(await silent(), [])
    await clear('outbox')
  }
})

/** A trigger that runs this statement, in one that is undone. */
const trigger = async (when: string, statement: string, answer = 'null') => {
  await sql(`create function pg_temp.act() returns trigger language plpgsql as
    $$ begin ${statement}; return ${answer}; end $$`)
  await sql(`create trigger act ${when} execute function pg_temp.act()`)
}
test('a push says what was unread when it was claimed: of the other person, in this conversation', async () => {
  const { ben, cleo, ab, write, tell } = await meet()
  await ben.post(`${ab}/messages`, { content: 'Hello' }, 201)
  await write(cleo)
  await clear('outbox')
  await tell()
  const read = 'update public.messages set read = true where not read'
  await trigger('after delete on private.outbox for each statement', read)
  is(dataOf(await claimPushes()), [{ unread: 1 }])
})

// By the wall clock of the person's time zone, also on the days on which it changes: from, to, zone, and of moments
// (UTC) until when it is quiet.
type Text = string | null
// deno-fmt-ignore
const nights: [from: Text, to: Text, zone: Text, ...moments: [at: string, until: Text][]][] = [
  ['22:00', '07:00', 'Europe/Lisbon', ['2026-01-10 21:59:59', null], ['2026-01-10 22:00', '2026-01-11 07:00'],
    ['2026-01-11 03:00', '2026-01-11 07:00'], ['2026-01-11 07:00', null],
    // In summer 22:00 is an hour earlier.
    ['2026-07-10 20:59', null], ['2026-07-10 21:00', '2026-07-11 06:00']],
  // Within one day, half an hour off.
  ['13:00', '15:00', 'Asia/Kolkata', ['2026-07-10 08:00', '2026-07-10 09:30'], ['2026-07-10 09:30', null]],
  // 29 March 2026: 02:00 becomes 03:00, so this night has eight hours, and no 02:30.
  ['22:00', '07:00', 'Europe/Berlin', ['2026-03-28 21:00', '2026-03-29 05:00'],
    ['2026-03-29 04:59', '2026-03-29 05:00'], ['2026-03-29 05:00', null],
    // 25 October 2026: 03:00 becomes 02:00, so this night has ten hours.
    ['2026-10-24 20:00', '2026-10-25 06:00'], ['2026-10-25 05:30', '2026-10-25 06:00']],
  ['02:30', '06:00', 'Europe/Berlin', ['2026-03-29 01:30', '2026-03-29 04:00'], ['2026-03-29 01:29', null]],
  // Of two ends the later counts.
  ['22:00', '02:30', 'Europe/Berlin', ['2026-10-25 00:45', '2026-10-25 01:30'], ['2026-10-25 01:30', null]],
  // Spring comes in September there.
  ['22:00', '07:00', 'Pacific/Auckland', ['2026-09-26 17:30', '2026-09-26 18:00']],
  // A time zone that is forgotten is never quiet.
  ['22:00', '07:00', 'Nowhere/Atlantis', ['2026-01-10 23:00', null]],
  [null, null, null, ['2026-01-10 23:00', null]],
]
const minute = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI')`
test('in quiet hours nothing is planned or sent before they end', async () => {
  for (const [from, to, zone, ...moments] of nights) {
    for (const [at, until] of moments) {
      const ends = `select ${minute('private.quiet_until($1, $2, $3, $4)')}`
      equal(await sql(ends, [from, to, zone, `${at}Z`]), [until], `${from} to ${to} ${zone}, ${at}`)
    }
  }
  const { ana, ben, write } = await meet()
  const setClock = (moment: string) => sql(`select tests.pass_time('${moment}Z'::timestamptz - clock_timestamp())`)
  const due = () => sql(`select distinct attempts, ${minute('due_at')} from private.outbox`)
  await ben.patch(settings, { delay_minutes: 0, quiet_hours: lisbon })
  await write(ana)
  await setClock('2027-01-10 23:30')
  equal([await plan(), await waiting(), await due()], [1, { person: 1 }, [[0, '2027-01-11 07:00']]])
  await setClock('2027-01-11 07:00:01')
  await plan()
  equal(await waiting(), told)
  // A late attempt waits again, and was none.
  await sql(`update private.outbox set attempts = 1, due_at = '2027-01-11 22:30Z'`)
  await setClock('2027-01-11 22:30:01')
  equal([await claimPushes(), await claimMail(), await due()], [[], null, [[1, '2027-01-12 07:00']]])
})

test('a person whose rows make the worker fail stops no others, and is given up after eight tries', async () => {
  const { ana, ben, cleo, ab, write } = await meet()
  const poison = `if new.user_id = ${ana.id} then raise 'poison'; end if`
  await trigger('before insert on private.silences for each row', poison, 'new')
  await ben.post(`${ab}/messages`, { content: 'To Ana' }, 201)
  await write(cleo)
  await planAfter('11 minutes')
  equal([await waiting(), await outbox('attempts, last_error', 'person')], [{ ...told, person: 1 }, [[1, 'P0001']]])
  for (let attempt = 1; attempt <= 8; attempt++) {
    equal(await dead('person'), attempt === 8 ? 1 : 0)
    await planAfter(`${attempt * 5} hours`)
  }
})

test('nothing is claimed for a receiver that is busy, and everything for the others', async () => {
  const { ben, tell } = await meet()
  // Whoever has a name has any number of hosts and ports.
  await subscribe(ben, { endpoint: 'https://a.b.Push.example.:8443/1' }, (await devices(ben))[1].id)
  await tell()
  equal([await claimPushes(['push.example']), await claimPushes([`user ${ben.id}`])], [[], []])
  equal(await claimMail(['tests.example']), null)
  const [first, second] = await devices(ben)
  is(await claimPushes([first.id]), [{ endpoint: second.endpoint }])
  is(await claimMail(['elsewhere.example']), { to: 'ben@tests.example' })
})

test('a device that is silent waits longer each time, of every conversation, and after those that answer', async () => {
  const { ana, ben, cleo, write } = await meet()
  for (const one of [ana, ben]) await one.patch(settings, { delay_minutes: 0, email: false })
  const [, first] = await devices(ben)
  /** Sends what is due after this time; the first device gives no answer if it hangs. */
  const sendAfter = async (time: string, hangs: boolean, expected: RegExp) => {
    await passTime(time)
    await plan()
    const receivers: string[] = []
    for (const { id, subject, receivers: [device] } of await claimPushes()) {
      receivers.push(device === first.id ? 'first' : 'other')
      const isSilent = hangs && device === first.id
      await finish({ id, subject, ...isSilent ? { outcome: 'failed', silent: true } : { outcome: 'sent' } })
    }
    is(receivers.join(' '), expected, time)
  }
  const both = /^(first other|other first)$/
  await write(ana)
  await sendAfter('0 s', true, both)
  await write(cleo)
  await sendAfter('1 s', true, /^other$/)
  await write(ana)
  await sendAfter('30 s', true, /^other first first$/)
  await write(ana)
  await sendAfter('100 s', true, /^other$/)
  await subscribe(ana)
  await write(ben)
  await sendAfter('10 minutes', false, /^other first first$/)
  await write(ana)
  await sendAfter('11 minutes', true, both)
  // A new subscription is not to blame.
  await write(cleo)
  await subscribe(ben, {}, first.id)
  await sendAfter('11 minutes 1 s', false, both)
})

test('a dead letter is revived: a push by its conversation, a mail by the next silence', async () => {
  const { ana, tell, write } = await meet()
  await tell()
  await sql(`update private.outbox set attempts = 8, due_at = private.present() + '1 hour'`)
  await tell()
  // The last attempt may still be under way.
  equal(await claimPushes(), [])
  await passTime('80 minutes')
  is([dataOf(await claimPushes()), await claimMail()], [[{ unread: 2 }, { unread: 2 }], null])
  await clear('silences')
  await write(ana)
  await planAfter('100 minutes')
  // What a server refuses for good is a dead letter at once.
  await finish({ id: (await claimMail()).id, outcome: 'refused', reason: 'EENVELOPE 550' })
  equal(await outbox('attempts, last_error', 'mail'), [[8, 'EENVELOPE 550']])
})

test('a push with more to tell meanwhile is sent again, and one to a device that is gone removes it', async () => {
  const { ana, ben, tell } = await meet()
  await ben.delete(`/users/me/devices/${(await devices(ben))[0].id}`)
  await tell(ana, true, false)
  const [{ id, subject }] = await claimPushes()
  await tell(ana, true, false)
  await finish({ id, outcome: 'sent', subject })
  equal(await outbox(`id, attempts, first_id = ${subject + 1}`, 'push'), [[id, 0, true]])
  const [again] = await claimPushes()
  await finish({ id, outcome: 'failed', reason: 'x'.repeat(300), retry_after: 900 })
  const wait = `extract(epoch from due_at - private.present()) between 600 and 900`
  equal(await outbox(`attempts, length(last_error), ${wait}`, 'push'), [[1, 200, true]])
  await sql(`insert into private.outbox (channel, event, due_at) values ('webhook', 'message.created', now())`)
  await finish({ id, outcome: 'gone', subject: again.subject })
  equal([await waiting(), await devices(ben)], [{ webhook: 1 }, []])
  await subscribe(ben)
  await tell(ana, true, false)
  const [last] = await claimPushes()
  await finish({ ...last, outcome: 'sent' }, { id: 0, outcome: 'sent' })
  equal(await waiting(), { webhook: 1 })
})

// deno-fmt-ignore
const quotes: [text: string, quoted: string, longest: number][] = [
  [' Voyagers\r\n\r\nYour account\u2028is\u202esuspended\u0085\t! ', 'Voyagers Your account is suspended !', 60],
  ['é'.repeat(61), `${'é'.repeat(59)}…`, 60], ['x'.repeat(160), 'x'.repeat(160), 160],
  ['Ana 👩‍👩‍👧 نسرین‌خانم', 'Ana 👩‍👩‍👧 نسرین‌خانم', 60],
]
test('what somebody else has written is quoted in one line of at most 60 characters', async () => {
  for (const [text, quoted, longest] of quotes) {
    equal(await sql('select private.quote($1, $2)', [text, longest]), [quoted])
  }
})

test('an event of an unknown kind is told to nobody', async () => {
  const { ana, ab } = await meet()
  const unknown = `select private.notify('guide.published', null, 1, people => array[${ana.id}])`
  await refuses('23514', 'outbox_event', [unknown])
  await refuses('20000', 'case not found', [`select private.notice_of(${ana.id}, 'user.erased', ${idOf(ab)}, 1, 1)`])
})

/** As meet, with a webhook that is told of events. */
const watch = async () => {
  const setWebhook = (on: boolean) =>
    sql(`select private.adopt_outbox_settings(delay_seconds => 600, webhooks => ${on})`, [], 'edge_functions')
  await setWebhook(true)
  return { ...await meet(), setWebhook }
}
const types = (events: Json[]) => events.map(({ type, data }) => [type, data.conversation_id ?? data.id])

test('the webhook gets the events of a conversation one by one, and a dead letter holds up none', async () => {
  const { ana, cleo, ab, cb, write } = await watch()
  for (const who of [ana, ana, cleo]) await write(who)
  equal((await waiting()).webhook, 5)
  const first = await claimWebhooks()
  equal(types(first), [['conversation.created', idOf(ab)], ['conversation.created', idOf(cb)]])
  equal(await claimWebhooks(), [])
  await finish(...first.map(({ id }: Json) => ({ id, outcome: 'sent' })))
  const second = await claimWebhooks()
  equal(types(second), [['message.created', idOf(ab)], ['message.created', idOf(cb)]])
  await finish(...second.map(({ id }: Json) => ({ id, outcome: 'failed', reason: 'why' })))
  const rows = [[1, 'why'], [0, null], [1, 'why']]
  equal([await claimWebhooks(), await outbox('attempts, last_error', 'webhook')], [[], rows])
  for (let attempt = 2; attempt <= 8; attempt++) {
    await passTime(`${attempt * 5} hours`)
    // At every attempt the receiver can tell that it is the same.
    const keysOf = (events: Json[]) => events.map(({ id, key }) => [id, key])
    equal(keysOf(await claimWebhooks()), keysOf(second))
  }
  // They hold the later one up while the last attempt is under way.
  equal([await dead('webhook'), await claimWebhooks()], [2, []])
  await passTime('50 hours')
  equal([types(await claimWebhooks()), await claimWebhooks()], [[['message.created', idOf(ab)]], []])
  for (const [time, left] of [['31 days', 2], ['33 days', 0]] as const) {
    await passTime(time)
    await runJob('forget dead letters')
    equal(await dead('webhook'), left)
  }
})

test('the webhook is told ids and no texts, of what still exists, and only if there is one', async () => {
  const { ana, ben, cleo, ab, write, setWebhook } = await watch()
  await clear('outbox')
  const event = async (type: string, expected: object) => {
    const told = (await claimWebhooks()).map(({ type, timestamp, data }: Json) => ({ type, timestamp, data }))
    equal(told, [{ type, timestamp: iso, data: expected }])
    await clear('outbox')
  }
  const ac = await talk(ana, cleo)
  await event('conversation.created', { id: idOf(ac), voyager_id: ana.id, local_id: cleo.id })
  const conversation_id = idOf(ab)
  for (const [user, recipient] of [[ana, ben], [ben, ana]] as const) {
    const id = await write(user)
    const data = { conversation_id, id, user_id: user.id, recipient_id: recipient.id }
    await event('message.created', data)
    await user.patch(`${ab}/messages/${id}`, { content: 'Hi' })
    await event('message.changed', data)
    await user.delete(`${ab}/messages/${id}`)
    await event('message.changed', data)
  }
  const report = { user_id: ben.id, reason: 'scam' }
  const { id } = await ana.post('/users/me/reports', { ...report, note: 'Secret' }, 201)
  await event('report.created', { ...report, id, reporter_id: ana.id })
  const offered = await ana.post(`${ab}/reservations`, offer, 201)
  const changed = { conversation_id, id: offered.id, user_id: ana.id }
  await event('reservation.changed', { ...changed, status: 'pending' })
  await ana.post(`${ab}/reservations/${offered.id}/cancel`, {}, 200)
  await event('reservation.changed', { ...changed, status: 'cancelled' })
  await cleo.delete('/users/me')
  await event('user.erased', { user_id: cleo.id })
  await write(ana)
  await sql('delete from public.messages')
  equal([await claimWebhooks(), await waiting()], [[], { person: 1 }])
  await setWebhook(false)
  await write(ana)
  equal(await waiting(), { person: 2 })
})

test('an offer is told to the other one, what an admin does to both, unless they have been there since', async () => {
  const { ana, ben, ab } = await watch()
  await clear('outbox')
  const { id } = await ana.post(`${ab}/reservations`, offer, 201)
  await ana.post(`${ab}/reservations/${id}/cancel`, {}, 200)
  equal(await outbox('user_id', 'person'), [ben.id, ben.id])
  await planAfter('11 minutes')
  // What it has come to.
  const { title } = offer
  const conversation_id = idOf(ab)
  is((await claimMail()).conversations, [{ conversation_id, name: 'ana', unread: 0, status: 'cancelled', title }])
  is((await claimPushes())[0].data, { type: 'reservation.changed', id, status: 'cancelled', title: null, unread: 0 })
  await clear('outbox', 'silences')
  await passTime('0')
  await asAdmin(`update public.reservations set title = 'A long walk'`)
  equal(new Set(await outbox('user_id', 'person')).symmetricDifference(new Set([ana.id, ben.id])).size, 0)
  await ben.post(`${ab}/messages`, { content: 'Nice' }, 201)
  await sql(`delete from private.outbox where event = 'message.created'`)
  await planAfter('22 minutes')
  equal(await sql(`select distinct user_id from private.outbox where channel in ('mail', 'push')`), [ana.id])
  await ben.patch('/users/me/notifications', { previews: true })
  await ana.post(`${ab}/reservations`, offer, 201)
  await planAfter('33 minutes')
  is((await claimPushes())[0].data, { type: 'reservation.changed', status: 'pending', title })
  await clear('outbox', 'silences')
  await ben.put(`${ab}/state`, { archived: true }, 200)
  await ana.post(`${ab}/reservations`, offer, 201)
  await planAfter('44 minutes')
  equal([await outbox('user_id', 'push'), await outbox('user_id', 'mail')], [[], []], 'it is archived')
})
