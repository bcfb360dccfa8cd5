import { beforeAll, expect, inject, test } from 'vitest'
import { call, type Person, signUp } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'

let ana: Person
beforeAll(async () => {
  ana = await signUp('Ana')
})

const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
const endpoint = () => `https://push.example/${crypto.randomUUID()}`
const register = (who: Person, fields: object = {}, id: string = crypto.randomUUID()) =>
  who.call('PUT', `/users/me/devices/${id}`, { endpoint: endpoint(), keys, ...fields })

test('a device is registered, listed, exported and removed', async () => {
  const [id, address] = [crypto.randomUUID(), endpoint()]
  const { status, text } = await register(ana, { endpoint: address, keys: { ...keys, auth: `${keys.auth}==` } }, id)
  expect({ status, text }).toEqual({ status: 204, text: '' })
  const device = { id, endpoint: address, keys, createdAt: expect.any(String) }
  expect((await ana.call('GET', '/users/me/devices')).body).toEqual([device])
  expect((await ana.call('GET', '/users/me/export')).body.devices).toEqual([device])
  for (let time = 0; time < 2; time++) expect((await ana.call('DELETE', `/users/me/devices/${id}`)).status).toBe(204)
  expect((await ana.call('GET', '/users/me/devices')).body).toEqual([])
})

const wrong: [string, object][] = [
  ['endpoint', { endpoint: 'http://push.example/1' }],
  ['endpoint', { endpoint: 'https://127.0.0.1/1' }],
  ['endpoint', { endpoint: 'https://2130706433/' }],
  ['endpoint', { endpoint: 'https://[::ffff:10.0.0.1]/' }],
  ['endpoint', { endpoint: 'https://[fd00::1]/' }],
  ['endpoint', { endpoint: 'https://169.254.169.254/latest' }],
  ['endpoint', { endpoint: 'https://localhost/' }],
  ['endpoint', { endpoint: 'https://intranet/x' }],
  ['endpoint', { endpoint: 'https://db.internal/' }],
  ['endpoint', { endpoint: 'https://user@push.example/' }],
  ['endpoint', { endpoint: `https://push.example/${'a'.repeat(2048)}` }],
  ['endpoint', { endpoint: 'https://push.example/ü' }],
  ['endpoint', { endpoint: undefined }],
  ['keys.p256dh', { keys: { ...keys, p256dh: 'A'.repeat(87) } }],
  ['keys.p256dh', { keys: { ...keys, p256dh: 'B' } }],
  ['keys.auth', { keys: { ...keys, auth: 'A'.repeat(21) } }],
  ['keys.auth', { keys: { ...keys, auth: `${'A'.repeat(21)}.` } }],
  ['keys', { keys: undefined }],
]
test('a wrong subscription is 400 naming the field, and none is kept', async () => {
  const ben = await signUp('Ben')
  for (const [field, fields] of wrong) expectError(await register(ben, fields), 400, field)
  expectError(await ben.call('PUT', '/users/me/devices/1', { endpoint: endpoint(), keys }), 400, 'device')
  expect((await ben.call('GET', '/users/me/devices')).body).toEqual([])
})

test('the key for subscriptions is public, and settings are changed field by field', async () => {
  const { status, body, headers } = await call('GET', '/users/push-key')
  expect({ status, key: body.public_key }).toEqual({ status: 200, key: expect.stringMatching(/^B[\w-]{86}$/) })
  expect(headers.get('Cache-Control')).toContain('public')
  const path = '/users/me/notifications'
  const defaults = { push: true, email: true, delay_minutes: 10, quiet_hours: null, previews: false }
  const cleo = await signUp('Cleo')
  expect((await cleo.call('GET', path)).body).toEqual(defaults)
  const quiet_hours = { from: '22:00', to: '07:30', time_zone: 'Europe/Lisbon' }
  expect((await cleo.call('PATCH', path, { delay_minutes: 0, quiet_hours, unknown: 1 })).body)
    .toEqual({ ...defaults, delay_minutes: 0, quiet_hours })
  expect((await cleo.call('PATCH', path, {})).body).toEqual({ ...defaults, delay_minutes: 0, quiet_hours })
  expect((await cleo.call('PATCH', path, { delay_minutes: 1440, quiet_hours: null, push: false })).body)
    .toEqual({ ...defaults, delay_minutes: 1440, push: false })
  const bad: [string, object][] = [
    ['push', { push: 1 }],
    ['push', { push: null }],
    ['delay_minutes', { delay_minutes: -1 }],
    ['delay_minutes', { delay_minutes: 1441 }],
    ['delay_minutes', { delay_minutes: 1.5 }],
    ['quiet_hours.from', { quiet_hours: { ...quiet_hours, from: '24:00' } }],
    ['quiet_hours.to', { quiet_hours: { from: '22:00', time_zone: 'UTC' } }],
    ['quiet_hours', { quiet_hours: { ...quiet_hours, to: '22:00' } }],
    ...['Mars/Olympus', '+02:00', 'Etc/GMT+99', ' Europe/Lisbon', 'Europe/Lisbon;', ''].map((time_zone) =>
      ['quiet_hours.time_zone', { quiet_hours: { ...quiet_hours, time_zone } }] as [string, object]
    ),
  ]
  for (const [field, changes] of bad) expectError(await cleo.call('PATCH', path, changes), 400, field)
  expect((await cleo.call('GET', path)).body).toEqual({ ...defaults, delay_minutes: 1440, push: false })
})

test('a link that is not ours unsubscribes nobody', async () => {
  for (const method of ['GET', 'POST']) {
    expectError(await call(method, '/users/unsubscribe'), 400, 'token')
    for (const token of ['1', `1.${'0'.repeat(64)}`, `${'9'.repeat(30)}.${'0'.repeat(64)}`]) {
      expectError(await call(method, `/users/unsubscribe?token=${token}`), 404)
    }
  }
  expect((await ana.call('GET', '/users/me/notifications')).body.email).toBe(true)
})

test('browsers get a page for a link that is not ours', async () => {
  const headers = { Accept: 'text/html,application/xhtml+xml' }
  for (const [query, status, code] of [['', 400, 'invalid'], ['?token=1', 404, 'not_found']] as const) {
    const answer = await call('GET', `/users/unsubscribe${query}`, undefined, { headers })
    expect({ status: answer.status, code: answer.headers.get('X-Error-Code') }).toEqual({ status, code })
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
    expect(answer.headers.get('Cache-Control')).toBe('no-store')
    expect(answer.text).toContain('<h1>This did not work</h1>')
  }
})

test('only the secret key may start the sending', async () => {
  const stack = inject('stack')
  const start = (headers: Record<string, string>) => call('POST', `${stack.base}/notify`, undefined, { headers })
  expectError(await start({}), 401)
  expectError(await start({ apikey: stack.publishableKey }), 401)
  expect((await start({ apikey: stack.secretKey })).body).toMatchObject({ mails: expect.any(Number) })
})
