// What one person still receives of another after a block, and after the other was hidden, suspended or erased: each
// cell of the table in docs/security.md.
import { readFileSync } from 'node:fs'
import { afterAll, expect, test, vi } from 'vitest'
import { type Answer, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, join as joinChannel, listen } from '../tools/realtime.ts'
import { useStack } from '../tools/own_stack.ts'
import { testKeys } from '../tools/stack.ts'
import { aWhile } from '../tools/wait.ts'
import { openMailServer, openPushService, openWebhook, subscribe } from './receivers.ts'

const [mailServer, pushService, webhook] = await Promise.all([openMailServer(), openPushService(), openWebhook()])
const stack = useStack({
  NOTIFY_DELAY_SECONDS: '1',
  SMTP_URL: mailServer.url,
  WEBHOOK_URL: webhook.url,
  WEBHOOK_SECRET: webhook.secret,
  LOOPBACK_TARGETS: 'all',
})
afterAll(() => [mailServer, pushService, webhook].forEach(({ close }) => close()))

const asAdmin = (path: string, body: object): Promise<Answer> =>
  call('POST', `${new URL(stack.base).origin}/rest/v1/${path}`, body, { headers: { apikey: testKeys.secretKey } })
const restrict = (person: Person, restriction: string) =>
  asAdmin('rpc/restrict_person', { person: person.id, restriction, note: 'Test' })
const notify = () => call('POST', `${stack.base}/notify`, undefined, { headers: { apikey: testKeys.secretKey } })

const table = readFileSync('docs/security.md', 'utf8')
  .split('| what the other receives')[1]!.split('\n\n')[0]!.split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()).filter((cell) => cell !== ''))
const [head, , ...rows] = table as [string[], string[], ...string[][]]

/** What cuts `subject` off from `viewer`, by the column's heading; a block in both directions. */
const cuts: Record<string, ((viewer: Person, subject: Person) => Promise<Answer>)[]> = {
  block: [
    (viewer, subject) => viewer.call('PUT', `/users/me/blocks/${subject.id}`),
    (viewer, subject) => subject.call('PUT', `/users/me/blocks/${viewer.id}`),
  ],
  hide: [(_, subject) => restrict(subject, 'hide')],
  suspend: [(_, subject) => restrict(subject, 'suspend')],
  erase: [(_, subject) => subject.call('DELETE', '/users/me')],
}

let count = 0
/** Two people who know each other; everything that one does is told to the other. */
const meet = async () => {
  const [city, name] = [`Town ${process.pid} ${count}`, `Xaverine${'abcdefgh'[count++ % 8]}`]
  const viewer = await signUp('Viewer', {}, stack.base)
  const subject = await signUp(name, { city, is_searchable: true, biography: 'Walks along rivers' }, stack.base)
  const conversation = await openConversation(viewer, subject)
  const own = await sendMessage(viewer, conversation, 'Hello')
  await sendMessage(subject, conversation, 'Hello back')
  const device = subscribe(pushService.base)
  await viewer.call('PUT', `/users/me/devices/${device.id}`, device.subscription)
  const date = new Date(Date.now() + 864e5).toISOString()
  const path = `/conversations/${conversation}/reservations`
  const { body: offer } = await viewer.call('POST', path, { title: 'Walk', price: 1, date })
  await subject.call('POST', `${path}/${offer.id}/accept`, { revision: 1 })
  return { viewer, subject, city, name, conversation, own, device, reservation: `${path}/${offer.id}` }
}

/** What the viewer receives of the subject after the cut, by the row's name. */
const observe = async (cut: (viewer: Person, subject: Person) => Promise<Answer>): Promise<Record<string, string>> => {
  const { viewer, subject, city, name, conversation, own, device, reservation } = await meet()
  const options = { origin: new URL(stack.base).origin, key: testKeys.publishableKey }
  const [viewers, subjects] = [await connect(viewer.token, options), await connect(subject.token, options)]
  const events = await listen(viewers, `user:${viewer.id}`)
  const typed: unknown[] = []
  const [receiving, sending] = [viewers, subjects].map((client) =>
    client.channel(`typing:${conversation}`, { config: { private: true } })
  ) as [ReturnType<typeof viewers.channel>, ReturnType<typeof viewers.channel>]
  receiving.on('broadcast', { event: 'typing' }, ({ payload }) => typed.push(payload))
  for (const channel of [receiving, sending]) expect((await joinChannel(channel)).status).toBe('SUBSCRIBED')
  await vi.waitUntil(async () => {
    await notify()
    return mailServer.mails.some(({ recipients }) => recipients.includes(viewer.email))
  }, { timeout: 20_000, interval: 200 })
  // A new silence, so that another mail is possible.
  const { body: shown } = await viewer.call('GET', `/conversations/${conversation}/messages`)
  await viewer.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: shown[0].id })
  // Of messages: an erasure cancels reservations, which is told.
  const told = () => ({
    pushes:
      pushService.pushes.filter(({ name, body }) =>
        name === device.name && device.decrypt(body).type === 'message.created'
      ).length,
    mails:
      mailServer.mails.filter(({ recipients, text }) =>
        recipients.includes(viewer.email) && text!.includes('unread message')
      ).length,
  })
  await notify()
  const before = told()
  const { body: { cursor } } = await viewer.call('GET', '/conversations/changes')

  const waiting = await sendMessage(subject, conversation, 'Not read yet')
  expect((await cut(viewer, subject)).status).toBeLessThan(300)
  await aWhile()
  events.broadcasts.length = 0
  const { body: { cursor: afterCut } } = await viewer.call('GET', `/conversations/changes?after=${cursor}`)

  await sending.send({ type: 'broadcast', event: 'typing', payload: {} })
  await subject.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: own.id })
  await subject.call('PATCH', '/users/profile', { name: `${name} the second` })
  await subject.call('POST', `${reservation}/cancel`, { note: 'Sorry' })
  await new Promise((resolve) => setTimeout(resolve, 1500))
  for (let time = 0; time < 3; time++) await notify()
  await aWhile()

  const changes = async (after: string): Promise<string[]> =>
    (await viewer.call('GET', `/conversations/changes?after=${after}`)).body.changes
      .map(({ kind }: { kind: string }) => kind)
  // An erasure is the cut and what is told of it.
  const isErased = cut === cuts.erase![0]
  const kinds = await changes(isErased ? cursor : afterCut)
  const named = events.broadcasts.map(({ event }) => event)
  const either = (is: boolean) => is ? 'as before' : 'nothing'
  const person = (shown: { name: string; email?: string }) =>
    shown.name === 'Deleted user' && !shown.email
      ? '“Deleted user”'
      : shown.email === ''
      ? 'the name alone'
      : either(shown.name.startsWith(name))
  const { body: detail } = await viewer.call('GET', `/conversations/${conversation}`)
  const { body: [listed] } = await viewer.call('GET', '/conversations')
  const { body: { conversations: [exported] } } = await viewer.call('GET', '/users/me/export')
  const { body: after } = await viewer.call('GET', reservation)
  const found = async (query: string) => (await viewer.call('GET', `/users/search?${query}`)).body
  const hits = await found(`q=${name}`)
  const facets = (await found('facets=city')).facetDistribution.city
  const completed = await viewer.call('GET', `/users/search/complete?q=${name.slice(0, -1)}`)
  const cancelled = after.status === 'cancelled'
  const note = after.history.at(-1).note
  return {
    'typing, presence (event)': either(typed.length > 0),
    'read marks (event, change)': either(named.includes('message.read') || kinds.includes('read')),
    'a new name (change)': either(kinds.includes('conversation')),
    'a cancelled reservation (event, change)': !cancelled
      ? 'nothing'
      : !isErased && !named.includes('reservation.changed') || !kinds.includes('reservation')
      ? 'not told'
      : note
      ? 'as before'
      : 'its status',
    'push of what was sent before': either(told().pushes > before.pushes),
    'e-mail of what was sent before': either(told().mails > before.mails),
    'webhook, to the operator': either(
      webhook.events.some(({ type, data }) => type === 'message.created' && data.id === waiting.id),
    ),
    'list': person(listed.Local),
    'conversation, messages': person(detail.Local),
    'export': person(exported.Local),
    'search': either(hits.hits.some((hit: { user_id: number }) => hit.user_id === subject.id)),
    'completion': either(completed.body.names.some((one: string) => one.startsWith(name))),
    'facet': either(Boolean(facets[city])),
    'public profile': either((await viewer.call('GET', `/users/${subject.profileId}`)).status === 200),
  }
}

test('the table of docs/security.md holds', async () => {
  expect(head).toEqual(Object.keys(cuts))
  const results = await Promise.all(
    Object.entries(cuts).flatMap(([cut, ways]) => ways.map(async (way) => [cut, await observe(way)] as const)),
  )
  for (const [index, [cut, received]] of results.entries()) {
    const written = rows.map((row) => [row[0]!, row[1 + head.indexOf(cut)]!])
    expect({ index, cut, ...received }).toEqual({ index, cut, ...Object.fromEntries(written) })
  }
}, 60_000)
