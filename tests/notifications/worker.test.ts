// The worker, with a real mail server, push service and webhook.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { useStack } from '../tools/own_stack.ts'
import { type Answer, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { openMailServer, openPushService, openWebhook, subscribe, type Subscriber } from './receivers.ts'

const [mailServer, pushService, webhook] = await Promise.all([openMailServer(), openPushService(), openWebhook()])
const stack = useStack({
  NOTIFY_DELAY_SECONDS: '0',
  SMTP_URL: mailServer.url,
  MAIL_FROM: 'Voyagers <hello@voyagers.example>',
  APP_URL: 'https://voyagers.example/app',
  WEBHOOK_URL: webhook.url,
  WEBHOOK_SECRET: webhook.secret,
  LOOPBACK_TARGETS: 'all',
})
afterAll(() => [mailServer, pushService, webhook].forEach(({ close }) => close()))

const run = async (): Promise<Answer['body']> =>
  (await call('POST', `${stack.base}/notify`, undefined, { headers: { apikey: testKeys.secretKey } })).body
const metrics = async (): Promise<string> =>
  (await call('GET', `${stack.base}/health/metrics`, undefined, { headers: { apikey: testKeys.secretKey } })).text
const join = (name: string): Promise<Person> => signUp(name, {}, stack.base)
const withDevice = async (who: Person): Promise<Subscriber> => {
  const device = subscribe(pushService.base)
  const { status } = await who.call('PUT', `/users/me/devices/${device.id}`, device.subscription)
  expect(status).toBe(204)
  return device
}
const mailsTo = ({ email }: Person) => mailServer.mails.filter(({ recipients }) => recipients.includes(email))
const pushesTo = ({ name, decrypt }: Subscriber) =>
  pushService.pushes.filter((push) => push.name === name).map(({ body, headers }) => ({ headers, data: decrypt(body) }))
/** Waits until this is so; each look at it may start the worker. */
const eventually = (holds: () => Promise<boolean>) => vi.waitUntil(holds, { timeout: 20_000, interval: 100 })
const settle = (who: Person, changes: object) => who.call('PATCH', '/users/me/notifications', changes)

let ana: Person, ben: Person, conversation: number
beforeAll(async () => {
  // The schedule of the stack may have begun before this, so it may send first.
  await run()
  ;[ana, ben] = await Promise.all([join('Ana <b>&'), join('Ben')])
  conversation = await openConversation(ana, ben)
})

test('a message is pushed and mailed, and a second one in the same silence is pushed alone', async () => {
  const device = await withDevice(ben)
  const first = await sendMessage(ana, conversation, 'A secret')
  await eventually(async () => (await run(), pushesTo(device).length > 0 && mailsTo(ben).length > 0))
  const [{ headers, data }] = pushesTo(device) as [ReturnType<typeof pushesTo>[number]]
  expect(data).toEqual({
    ...{ type: 'message.created', conversation_id: conversation, id: first.id, name: 'Ana <b>&', unread: 1 },
    ...{ status: null, text: null },
  })
  expect(headers).toMatchObject({
    authorization: expect.stringMatching(/^vapid t=[\w-]+\.[\w-]+\.[\w-]+, k=B[\w-]{86}$/),
    'content-encoding': 'aes128gcm',
    ttl: '86400',
    topic: expect.stringMatching(/^[\w-]{32}$/),
  })
  const [mail] = mailsTo(ben)
  expect(mail).toMatchObject({ subject: '1 unread message from Ana <b>&', from: { address: 'hello@voyagers.example' } })
  expect(mail!.messageId).toMatch(/^<[\da-f-]{36}@voyagers\.example>$/)
  expect(mail!.text).toContain('* Ana <b>&: 1 unread message')
  expect(mail!.text).toContain('https://voyagers.example/app')
  expect(mail!.html).toContain('<strong>Ana &lt;b&gt;&amp;</strong>: 1 unread message')
  expect(`${mail!.text}${mail!.html}${mail!.subject}`).not.toContain('secret')
  expect(mail!.header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')

  const second = await sendMessage(ana, conversation, 'Another')
  await eventually(async () => (await run(), pushesTo(device).length > 1))
  expect(pushesTo(device)[1]!.data).toMatchObject({ id: second.id, unread: 2 })
  expect(pushesTo(device)[1]!.headers.topic).toBe(headers.topic)
  expect(mailsTo(ben)).toHaveLength(1)
})

test('after reading a new silence begins, and previews quote the message', async () => {
  const cleo = await join('Cleo')
  const device = await withDevice(cleo)
  await settle(cleo, { previews: true })
  const with_cleo = await openConversation(ana, cleo)
  for (const [number, text] of ['One', `Two ${'x'.repeat(200)}`].entries()) {
    const { id } = await sendMessage(ana, with_cleo, text)
    await eventually(async () => (await run(), mailsTo(cleo).length > number))
    expect(mailsTo(cleo)[number]!.text).toContain(text.slice(0, 150))
    expect(mailsTo(cleo)[number]!.text).not.toContain(text.slice(0, 170).padEnd(170))
    expect(pushesTo(device).at(-1)!.data.text).toBe(text.length > 160 ? `${text.slice(0, 159)}…` : text)
    await cleo.call('POST', `/conversations/${with_cleo}/read`, { up_to_message_id: id })
  }
})

test('one click unsubscribes; looking at the link does not', async () => {
  const dora = await join('Dora')
  const with_dora = await openConversation(ana, dora)
  const { id } = await sendMessage(ana, with_dora, 'Hello')
  await eventually(async () => (await run(), mailsTo(dora).length > 0))
  const link = /<(.+)>/.exec(mailsTo(dora)[0]!.header('list-unsubscribe')!)![1]!
  expect(mailsTo(dora)[0]!.text).toContain(link)
  const seen = await call('GET', link, undefined, { headers: { Accept: 'text/html' } })
  expect(seen.text).toContain('<form method="post">')
  expect(seen.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
  expect((await call('GET', link)).body).toEqual({ email: true })
  expect((await dora.call('GET', '/users/me/notifications')).body.email).toBe(true)
  // As RFC 8058 has it.
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  expect((await call('POST', link, undefined, { raw: 'List-Unsubscribe=One-Click', headers })).body)
    .toEqual({ email: false })
  expect((await dora.call('GET', '/users/me/notifications')).body.email).toBe(false)
  await dora.call('POST', `/conversations/${with_dora}/read`, { up_to_message_id: id })
  await sendMessage(ana, with_dora, 'Still there?')
  await eventually(async () => (await run()).planned > 0 || /outbox_depth\{channel="person"\} 0/.test(await metrics()))
  await run()
  expect(mailsTo(dora)).toHaveLength(1)
})

test('a device that the push service has forgotten is removed, and failures wait', async () => {
  const emil = await join('Emil')
  await settle(emil, { email: false })
  const [gone, failing, well] = [await withDevice(emil), await withDevice(emil), await withDevice(emil)]
  const unusable = {
    ...subscribe(pushService.base).subscription,
    keys: { ...well.subscription.keys, p256dh: `B${'A'.repeat(86)}` },
  }
  await emil.call('PUT', `/users/me/devices/${crypto.randomUUID()}`, unusable)
  pushService.control.answer = (name) =>
    name === gone.name ? [410] : name === failing.name ? [429, { 'retry-after': '900' }] : null
  await sendMessage(ana, await openConversation(ana, emil), 'Hello')
  await eventually(async () => (await run(), pushesTo(well).length > 0))
  await eventually(async () => (await emil.call('GET', '/users/me/devices')).body.length === 2)
  const left = (await emil.call('GET', '/users/me/devices')).body.map(({ id }: { id: string }) => id)
  expect(left.sort()).toEqual([failing.id, well.id].sort())
  pushService.control.answer = null
  await run()
  expect(pushesTo(failing)).toEqual([])
  expect(await metrics()).toMatch(/outbox_depth\{channel="push"\} [1-9]/)
  // Erasing takes it along.
  expect((await emil.call('DELETE', '/users/me')).status).toBe(204)
  expect(await metrics()).toMatch(/outbox_depth\{channel="push"\} 0/)
})

test('a refused mail keeps no other one, and no message waits for a mail server that hangs', async () => {
  const [fay, gil] = await Promise.all([join('Fay'), join('Gil')])
  mailServer.control.reject = (address) => address === fay.email ? 550 : null
  await sendMessage(ana, await openConversation(ana, fay), 'Hello')
  await sendMessage(ana, await openConversation(ana, gil), 'Hello')
  await eventually(async () => (await run(), mailsTo(gil).length > 0))
  expect(mailsTo(fay)).toEqual([])
  mailServer.control.reject = null
  mailServer.control.hang = true
  const hugo = await join('Hugo')
  const with_hugo = await openConversation(ana, hugo)
  await sendMessage(ana, with_hugo, 'Hello')
  const hanging = run()
  let isHanging = true
  hanging.finally(() => isHanging = false)
  for (let number = 0; number < 5; number++) await sendMessage(ana, with_hugo, 'Still there?')
  expect(isHanging).toBe(true)
  mailServer.control.hang = false
  await eventually(async () => (await run(), mailsTo(hugo).length > 0))
  expect(stack.output).not.toContain(fay.email)
})

test('thirty devices that never answer delay no other device and no webhook', async () => {
  const slow = await Promise.all(['Kim', 'Lea', 'Mia'].map(join))
  const victim = await join('Nia')
  for (const person of [...slow, victim]) await settle(person, { email: false })
  const hanging = new Set<string>()
  for (const person of slow) for (let count = 0; count < 10; count++) hanging.add((await withDevice(person)).name)
  const device = await withDevice(victim)
  const [with_victim, ...others] = [
    await openConversation(ana, victim),
    ...await Promise.all(slow.map((person) => openConversation(ana, person))),
  ]
  pushService.control.hangs = (name) => hanging.has(name)
  for (const id of others) await sendMessage(ana, id, 'Hello')
  await eventually(() => (run(), Promise.resolve(pushService.control.hanging === 30)))
  const sent = await sendMessage(ana, with_victim!, 'Hello')
  run()
  await vi.waitUntil(
    () => pushesTo(device).length > 0 && webhook.events.some(({ data }) => data.id === sent.id),
    10_000,
  )
  // None of them has been given up yet.
  expect(pushService.control.hanging).toBe(30)
  pushService.control.hangs = null
})

test('a refused recipient ends the mail to them alone', async () => {
  const refused = await Promise.all(Array.from({ length: 12 }, (_, index) => join(`Refused ${index}`)))
  const other = await join('Ole')
  mailServer.control.reject = (address) => refused.some(({ email }) => email === address) ? 550 : null
  for (const person of [...refused, other]) await sendMessage(ana, await openConversation(ana, person), 'Hello')
  await eventually(async () => (await run(), mailsTo(other).length > 0))
  expect(Math.max(...mailServer.refusals.values())).toBeGreaterThan(1)
  expect(Number(/dead_letters\{channel="mail"\} (\d+)/.exec(await metrics())![1])).toBeGreaterThanOrEqual(12)
  mailServer.control.reject = null
})

test('the webhook gets every event, in order for each conversation, and no names or texts', async () => {
  const [ida, jon] = await Promise.all([join('Ida'), join('Jon')])
  const id = await openConversation(ida, jon)
  const messages = [await sendMessage(ida, id, 'One'), await sendMessage(jon, id, 'Two')]
  const date = new Date(Date.now() + 864e5).toISOString()
  const { body } = await ida.call('POST', `/conversations/${id}/reservations`, { title: 'Walk', price: 1, date })
  await ida.call('DELETE', '/users/me')
  const ours = () =>
    webhook.events.filter(({ data }) =>
      data.conversation_id === id || data.local_id === jon.id || data.user_id === ida.id
    )
  await eventually(async () => (await run(), ours().length >= 6))
  expect(ours().filter(({ type }) => type !== 'user.erased').map(({ type, data }) => [type, data.id])).toEqual([
    ['conversation.created', id],
    ...messages.map((message) => ['message.created', message.id]),
    ['reservation.changed', body.id],
    ['reservation.changed', body.id],
  ])
  expect(ours().filter(({ type }) => type === 'user.erased').map(({ data }) => data)).toEqual([{ user_id: ida.id }])
  expect(new Set(ours().map((event) => event.id)).size).toBe(6)
  expect(JSON.stringify(ours())).not.toMatch(/One|Two|Ida|Walk/)
})

test('metrics name every channel', async () => {
  const text = await metrics()
  for (const name of ['depth', 'age_seconds', 'dead_letters']) {
    for (const channel of ['person', 'push', 'mail', 'webhook']) {
      expect(text).toMatch(new RegExp(`^outbox_${name}\\{channel="${channel}"\\} \\d`, 'm'))
    }
  }
})
