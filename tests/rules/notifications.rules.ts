/** Whom the worker tells of what, by push and mail. */
import { keys, settings } from './devices.ts'
import { asAdmin, equal, idOf, inDays, is, passTime, type Person, sql, talk, test } from './fixture.ts'
import { claimMail, claimPushes, clear, dataOf, meet, offer, outbox, plan, planAfter, told, trigger } from './outbox.ts'
import { waiting } from './outbox.ts'

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
  // Not the reader's.
  await cleo.post(`${await talk(ana, cleo)}/messages`, { content: 'For Ana' }, 201)
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
  const [two, five] = ['two', 'five'].map((id) => ({ 'x-request-id': id }))
  equal(await told('one', 'two'), ['mail two', 'push two'])
  equal(await told('three', 'four', 'five'), ['mail two', 'push five'])
  equal([await claimMail(), ...await claimPushes()].map(({ request }) => request), [two, five, five])
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

test('an offer is told to the other one, what an admin does to both, unless they have been there since', async () => {
  const { ana, ben, ab, write } = await meet()
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
  await write(ana)
  await planAfter('55 minutes')
  is((await claimMail()).conversations, [{ unread: 1, status: null }], 'the offers are of no silence')
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
