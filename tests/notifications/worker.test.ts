// The worker, with a real mail server, push service and webhook. Whom it tells of what, and when, is in tests/rules.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useStack } from '../tools/own_stack.ts'
import { type Answer, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { until } from '../tools/wait.ts'
import { openMailServer, openPushService, openWebhook, subscribe, type Subscriber } from './receivers.ts'

const [mailServer, pushService, webhook] = await Promise.all([openMailServer(), openPushService(), openWebhook()])
const stack = useStack({
  ACCESS_LOG: 'all',
  NOTIFY_DELAY_SECONDS: '0',
  SMTP_URL: mailServer.url,
  MAIL_FROM: 'Voyagers <hello@voyagers.example>',
  APP_URL: 'https://voyagers.example/app/{conversation}',
  WEBHOOK_URL: webhook.url,
  WEBHOOK_SECRET: webhook.secret,
  LOOPBACK_TARGETS: 'all',
})
afterAll(() => [mailServer, pushService, webhook].forEach(({ close }) => close()))

const asOperator = { headers: { apikey: testKeys.secretKey } }
const run = async (): Promise<Answer['body']> =>
  (await call('POST', `${stack.base}/notify`, undefined, asOperator)).body
/** Begins runs that may last as long as a receiver hangs; the stack ends after them. */
const runs: Promise<unknown>[] = []
const beginRun = () => void runs.push(run())
afterAll(() => Promise.all(runs))
const metrics = async () => (await call('GET', `${stack.base}/health/metrics`, undefined, asOperator)).text
const join = (name: string): Promise<Person> => signUp(name, {}, stack.base)
const withDevice = async (who: Person): Promise<Subscriber> => {
  const device = subscribe(pushService.base)
  expect((await who.call('PUT', `/users/me/devices/${device.id}`, device.subscription)).status).toBe(204)
  return device
}
const mailsTo = ({ email }: Person) => mailServer.mails.filter(({ recipients }) => recipients.includes(email))
const pushesTo = ({ name, decrypt }: Subscriber) =>
  pushService.pushes.filter((push) => push.name === name).map(({ body, headers }) => ({ headers, data: decrypt(body) }))
const runUntil = (holds: () => boolean) => until(async () => (await run(), holds()))
const settle = (who: Person, changes: object) => who.call('PATCH', '/users/me/notifications', changes)
/** Opens conversations of Ana with these people and writes to each. */
const writeTo = async (...people: Person[]) => {
  for (const person of people) await sendMessage(ana, await openConversation(ana, person), 'Hello')
}

let ana: Person
beforeAll(async () => {
  // The schedule of the stack may have begun before this, so it may send first.
  await run()
  ana = await join('Ana <b>&')
})

test('a message is pushed and mailed, and a second one in the same silence is pushed alone', async () => {
  const ben = await join('Ben')
  const device = await withDevice(ben)
  await settle(ben, { previews: true })
  const conversation = await openConversation(ana, ben)
  const first = await sendMessage(ana, conversation, `A secret ${'x'.repeat(200)}`)
  await runUntil(() => pushesTo(device).length > 0 && mailsTo(ben).length > 0)
  const [{ headers, data }] = pushesTo(device) as [ReturnType<typeof pushesTo>[number]]
  const text = `${first.content.slice(0, 159)}…`
  expect(data).toEqual({
    ...{ type: 'message.created', conversation_id: conversation, id: first.id, name: 'Ana <b>&', unread: 1 },
    ...{ status: null, title: null, date: null, text },
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
  const link = `https://voyagers.example/app/${conversation}`
  for (const part of ['* Ana <b>&: 1 unread message', link, text]) expect(mail!.text).toContain(part)
  expect(mail!.html).toContain(`<strong><a href="${link}">Ana &lt;b&gt;&amp;</a></strong>: 1 unread message`)

  const second = await sendMessage(ana, conversation, 'Another')
  await runUntil(() => pushesTo(device).length > 1)
  expect(pushesTo(device)[1]).toMatchObject({ data: { id: second.id, unread: 2 }, headers: { topic: headers.topic } })
  expect(mailsTo(ben)).toHaveLength(1)
})

test('a mail quotes nothing by itself, and its header unsubscribes by one click', async () => {
  const [dora, eve] = await Promise.all([join('Dora'), join('Eve')])
  const conversation = await openConversation(ana, dora)
  const { id } = await sendMessage(ana, conversation, 'A secret')
  await runUntil(() => mailsTo(dora).length > 0)
  const [{ text, html, subject, header }] = mailsTo(dora) as [ReturnType<typeof mailsTo>[number]]
  expect(`${text}${html}${subject}`).not.toContain('secret')
  expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  const link = /<(.+)>/.exec(header('list-unsubscribe')!)![1]!
  expect(text).toContain(link)
  const seen = await call('GET', link, undefined, { headers: { Accept: 'text/html' } })
  expect(seen.text).toContain('<form method="post">')
  // As RFC 8058 has it.
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const answer = await call('POST', link, undefined, { raw: 'List-Unsubscribe=One-Click', headers })
  expect(answer.body).toEqual({ email: false })
  await dora.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: id })
  await sendMessage(ana, conversation, 'Still there?')
  await writeTo(eve)
  await runUntil(() => mailsTo(eve).length > 0)
  expect(mailsTo(dora)).toHaveLength(1)
})

test('a device that the push service has forgotten is removed, and failures wait', async () => {
  const emil = await join('Emil')
  await settle(emil, { email: false })
  const [gone, failing, well] = [await withDevice(emil), await withDevice(emil), await withDevice(emil)]
  const { endpoint, keys } = subscribe(pushService.base).subscription
  const unusable = { endpoint, keys: { ...keys, p256dh: `B${'A'.repeat(86)}` } }
  await emil.call('PUT', `/users/me/devices/${crypto.randomUUID()}`, unusable)
  pushService.control.answer = (name) =>
    name === gone.name ? [410] : name === failing.name ? [429, { 'retry-after': '900' }] : null
  await writeTo(emil)
  await runUntil(() => pushesTo(well).length > 0)
  const devices = async (): Promise<string[]> =>
    (await emil.call('GET', '/users/me/devices')).body.map(({ id }: { id: string }) => id)
  await until(async () => (await devices()).length === 2)
  expect((await devices()).sort()).toEqual([failing.id, well.id].sort())
  pushService.control.answer = null
  await run()
  expect(pushesTo(failing)).toEqual([])
  expect(await metrics()).toMatch(/outbox_depth\{channel="push"\} [1-9]/)
  // Erasing takes it along.
  expect((await emil.call('DELETE', '/users/me')).status).toBe(204)
  expect(await metrics()).toMatch(/outbox_depth\{channel="push"\} 0/)
})

test('a refused recipient ends the mail to them alone, and no message waits for a mail server that hangs', async () => {
  const refused = await Promise.all(Array.from({ length: 12 }, (_, index) => join(`Refused ${index}`)))
  const [gil, hugo] = await Promise.all([join('Gil'), join('Hugo')])
  mailServer.control.reject = (address) => refused.some(({ email }) => email === address) ? 550 : null
  await writeTo(...refused, gil)
  await runUntil(() => mailsTo(gil).length > 0)
  // Not each on a connection of its own.
  expect(Math.max(...mailServer.refusals.values())).toBeGreaterThan(1)
  expect(Number(/dead_letters\{channel="mail"\} (\d+)/.exec(await metrics())![1])).toBe(refused.length)
  expect(stack.output).not.toContain(refused[0]!.email)
  expect(stack.output).toMatch(/"reason":"EENVELOPE 550","caused_by":"[\w-]{36}"/)
  Object.assign(mailServer.control, { reject: null, hang: true })
  await writeTo(hugo)
  let isHanging = true
  const hanging = run().finally(() => isHanging = false)
  let sentMeanwhile = 0
  for (let number = 0; number < 5; number++) {
    await sendMessage(ana, await openConversation(ana, await join('Ida')), 'Hi')
    if (isHanging) sentMeanwhile++
  }
  expect(sentMeanwhile).toBeGreaterThan(0)
  mailServer.control.hang = false
  await hanging
  await runUntil(() => mailsTo(hugo).length > 0)
})

test("five accounts whose ten devices never answer delay nobody else's pushes and no webhook", async () => {
  const victim = await join('Nia')
  await settle(victim, { email: false })
  const device = await withDevice(victim)
  const conversation = await openConversation(ana, victim)
  const hanging = new Set<string>()
  pushService.control.hangs = (name) => hanging.has(name)
  const [ben, ...slow] = await Promise.all(Array.from({ length: 6 }, (_, number) => join(`Kim ${number}`)))
  for (const person of slow) {
    await settle(person, { email: false })
    for (let count = 0; count < 10; count++) hanging.add((await withDevice(person)).name)
  }
  for (const writer of [ana, ben!]) {
    for (const person of slow) await sendMessage(writer, await openConversation(writer, person), 'Hello')
  }
  beginRun()
  await until(() => pushService.control.hanging >= 10)
  const { length } = pushesTo(device)
  const sent = await sendMessage(ana, conversation, 'Hello')
  beginRun()
  await until(() => pushesTo(device).length > length && webhook.events.some(({ data }) => data.id === sent.id))
  expect(pushService.control.hanging).toBeGreaterThan(0)
  pushService.control.hangs = null
  // Two of each account; all would take the 48 places that their host has, for as long as they hang.
  expect(pushService.control.mostHanging).toBe(10)
})

test('webhooks and mails carry the id and the trace of the request that caused them, as its log lines do', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${trace}-00f067aa0ba902b7-00`
  const uma = await join('Uma')
  const conversation = await openConversation(ana, uma)
  // The second one looks like a trace, and is none.
  const cases: Record<string, string>[] = [{ 'X-Request-Id': 'own', traceparent }, { 'X-Request-Id': 'f'.repeat(32) }]
  for (const ids of cases) {
    const path = `/conversations/${conversation}/messages`
    const { body } = await ana.call('POST', path, { content: 'Hi' }, { headers: ids })
    const told = () => webhook.events.find(({ type, data }) => type === 'message.created' && data.id === body.id)
    await runUntil(() => told() !== undefined && mailsTo(uma).length > 0)
    expect(told()!.request.filter(Boolean)).toEqual(Object.values(ids))
  }
  expect(['x-request-id', 'traceparent'].map(mailsTo(uma)[0]!.header)).toEqual([undefined, traceparent])
  expect(stack.output).toContain(`"request":"own","trace_id":"${trace}"`)
})
