/** What the webhook is told of, and in which order. */
import { equal, idOf, iso, type Json, passTime, refuses, runJob, sql, talk, test } from './fixture.ts'
import { claimWebhooks, clear, dead, finish, meet, offer, outbox, waiting } from './outbox.ts'

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
  await cleo.post('/users/me/reports', { user_id: ben.id, reason: 'spam' }, 201)
  await clear('outbox')
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

test('an event of an unknown kind is told to nobody', async () => {
  const { ana, ab } = await meet()
  const unknown = `select private.notify('guide.published', null, 1, people => array[${ana.id}])`
  await refuses('23514', 'outbox_event', [unknown])
  await refuses('20000', 'case not found', [`select private.notice_of(${ana.id}, 'user.erased', ${idOf(ab)}, 1, 1)`])
})
