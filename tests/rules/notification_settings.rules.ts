/** What people choose for notifications: their devices, the settings, and the link that turns mails off. */
import { devices, endpoint, keys, lisbon, settings, subscribe } from './devices.ts'
import { anonymous, equal, is, iso, type Json, people, refuses, setting, sql, talk, test } from './fixture.ts'

const defaults = { push: true, email: true, delay_minutes: 10, quiet_hours: null, previews: false }

test('a person registers ten devices at most; a browser belongs to whoever logged in there last', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const device = { id: crypto.randomUUID(), endpoint: endpoint(), keys, createdAt: iso }
  await subscribe(ana, { endpoint: device.endpoint, keys: { ...keys, auth: `${keys.auth}==` } }, device.id)
  await ben.delete(`/users/me/devices/${device.id}`)
  equal([await devices(ana), (await ana.get('/users/me/export')).devices], [[device], [device]])
  for (const _ of [1, 2]) await ana.delete(`/users/me/devices/${device.id}`)
  equal(await devices(ana), [])
  const ids = Array.from({ length: 10 }, () => crypto.randomUUID())
  for (const id of ids) await subscribe(ana, { endpoint: `https://push.example/${id}` }, id)
  await subscribe(ana, {}, undefined, 400, 'device: you cannot have more than 10 devices')
  const changed = endpoint()
  await subscribe(ana, { endpoint: changed }, ids[9])
  await subscribe(ben, { endpoint: `https://push.example/${ids[1]}` }, ids[0])
  const left = await devices(ana)
  equal(left.map(({ id }: Json) => id), ids.toReversed().filter((id) => id !== ids[1]))
  is([left[0].endpoint, await devices(ben)], [changed, [{ id: ids[0] }]])
})

test('a wrong subscription is 400 naming the field, and none is kept', async () => {
  const [ben] = await people('ben')
  // deno-fmt-ignore
  const addresses = [
    'http://push.example/1', 'https://127.0.0.1/1', 'https://2130706433/', 'https://[::ffff:10.0.0.1]/',
    'https://[fd00::1]/', 'https://169.254.169.254/latest', 'https://localhost/', 'https://intranet/x',
    'https://db.internal/', 'https://user@push.example/', `https://push.example/${'a'.repeat(2048)}`,
    'https://push.example/ü', undefined,
  ]
  const wrong: Record<string, object[]> = {
    endpoint: addresses.map((endpoint) => ({ endpoint })),
    'keys.p256dh': ['A'.repeat(87), 'B'].map((p256dh) => ({ keys: { ...keys, p256dh } })),
    'keys.auth': [{ keys: { ...keys, auth: 'A'.repeat(21) } }],
    kind: [{ kind: 1 }, { keys: { ...keys, kind: 1 } }],
  }
  for (const [field, all] of Object.entries(wrong)) {
    for (const fields of all) await subscribe(ben, fields, undefined, 400, field)
  }
  await subscribe(ben, {}, '1', 400, 'device: must be a UUID')
  equal(await devices(ben), [])
  const refusesRow = (rule: string, endpoint: string, p256dh = keys.p256dh, auth = keys.auth) =>
    refuses('23514', rule, [`insert into private.devices
      values (${ben.id}, gen_random_uuid(), '${endpoint}', '${p256dh}', '${auth}')`])
  for (const one of ['https://x/ü', 'x'.repeat(2049)]) await refusesRow('endpoint has at most 2,048 visible ASCII', one)
  await refusesRow('p256dh is a public key', 'https://x', 'B')
  await refusesRow('auth is 16 bytes', 'https://x', keys.p256dh, 'A')
})

test('settings are changed field by field, and what waits goes by a new delay', async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  let chosen: object = defaults
  const changes = [{ delay_minutes: 0, quiet_hours: lisbon }, { email: false }, { quiet_hours: null, previews: true }]
  for (const change of [{}, ...changes, {}, { push: false, delay_minutes: 1440 }]) {
    chosen = { ...chosen, ...change }
    equal(await ana.patch(settings, change), chosen)
  }
  const zones = ['Mars/Olympus', '+02:00', 'Etc/GMT+99', ' Europe/Lisbon', 'Europe/Lisbon;', '']
  const wrong: Record<string, object[]> = {
    unknown: [{ unknown: 1 }],
    'quiet_hours.from': [{ quiet_hours: { ...lisbon, from: '24:00' } }],
    'quiet_hours.to': [{ quiet_hours: { from: '22:00', time_zone: 'UTC' } }],
    quiet_hours: [{ quiet_hours: { ...lisbon, to: '22:00' } }],
    'quiet_hours.time_zone': zones.map((time_zone) => ({ quiet_hours: { ...lisbon, time_zone } })),
  }
  for (const [field, all] of Object.entries(wrong)) for (const one of all) await ana.patch(settings, one, 400, field)
  equal([await ana.get(settings), await ben.get(settings)], [chosen, defaults])
  // One that the functions know, and Postgres does not.
  const unknown = JSON.stringify({ quiet_hours: { ...lisbon, time_zone: 'Nowhere/Atlantis' } })
  const call = `private.act_as('{"sub": "${ben.auth}"}', true) then api.update_notification_settings('${unknown}')`
  const refusal = 'quiet_hours.time_zone: must be the name of a time zone'
  await refuses('PT400', refusal, [`select case when ${call} end`], 'edge_functions')
  const ab = await talk(ana, ben)
  await ana.post(`${ab}/messages`, { content: 'Hello' }, 201)
  const delay = () => sql(`select round(extract(epoch from due_at - created_at)) from private.outbox`)
  equal(await delay(), [600])
  await ben.patch(settings, { delay_minutes: 3 })
  await ana.post(`${ab}/messages`, { content: 'Hello' }, 201)
  equal(await delay(), [180, 180])
  // Who has chosen none is shown the general one, in whole minutes.
  await sql('select private.adopt_outbox_settings(delay_seconds => 90, webhooks => false)', [], 'edge_functions')
  equal([await cat.get(settings), (await ben.get(settings)).delay_minutes], [{ ...defaults, delay_minutes: 2 }, 3])
})

test('a link of a mail turns off the mails of its recipient, without log-in; no other link does', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const path = '/users/unsubscribe'
  const [token] = await sql(`select unsubscribe_token from public.users where id = ${ana.id}`)
  const link = `${path}?token=${token}`
  await anonymous.get(link, 200, { email: true })
  const wrong = ['1', crypto.randomUUID(), `${token}0`]
  for (const method of ['GET', 'POST']) {
    await anonymous.expect(method, path, undefined, 400, 'token')
    for (const one of wrong) {
      await anonymous.expect(method, `${path}?token=${one}`, undefined, 404, 'This link is not one of ours')
    }
    for (const [query, status, code] of [['', 400, 'invalid'], ['?token=1', 404, 'not_found']] as const) {
      // Browsers get a page.
      const page = await anonymous.ask(method, path + query, undefined, { Accept: 'text/html,application/xhtml+xml' })
      is(page, { status, text: /<h1>This did not work<\/h1>/ })
      const headers = ['X-Error-Code', 'Content-Type', 'Cache-Control'].map((name) => page.headers.get(name))
      equal(headers, [code, 'text/html; charset=utf-8', 'no-store'])
      is(page.headers.get('Content-Security-Policy'), /default-src 'none'/)
    }
  }
  is(await ana.get(settings), { email: true })
  for (const _ of [1, 2]) await anonymous.post(link, undefined, 200, { email: false })
  await anonymous.get(link, 200, { email: false })
  is([await ana.get(settings), await ben.get(settings)], [{ email: false, push: true }, { email: true }])
  await ana.delete('/users/me')
  await anonymous.post(link, undefined, 200, { email: false })
  equal(await sql('select user_id from private.notification_settings'), [])
})

test('the key for subscriptions is public, where there is one', async () => {
  const names = ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY']
  for (const name of names) setting(name, '')
  await anonymous.get('/users/push-key', 404, 'Web Push is not set up here')
  for (const name of names) setting(name, keys.p256dh)
  const { status, body, headers } = await anonymous.ask('GET', '/users/push-key')
  equal([status, body, headers.get('Cache-Control')], [200, { public_key: keys.p256dh }, 'public, max-age=3600'])
})
