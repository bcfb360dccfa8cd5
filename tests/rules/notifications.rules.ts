/** Notifications: devices and settings, whom the worker tells of what and when, and what becomes of the outbox. */
import {
  anonymous,
  asAdmin,
  equal,
  idOf,
  inDays,
  is,
  iso,
  type Json,
  passTime,
  people,
  type Person,
} from './fixture.ts'
import { refuses, setting, sql, talk, test } from './fixture.ts'

const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
const endpoint = () => `https://push.example/${crypto.randomUUID()}`
const register = (
  who: Person,
  fields: object = {},
  id: string = crypto.randomUUID(),
  status = 204,
  expected?: string,
) => who.put(`/users/me/devices/${id}`, { endpoint: endpoint(), keys, ...fields }, status, expected)
const devices = (who: Person) => who.get('/users/me/devices')
const settings = '/users/me/notifications'
const defaults = { push: true, email: true, delay_minutes: 10, quiet_hours: null, previews: false }

test('a device is registered, listed, exported and removed, by its owner alone', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const [id, address] = [crypto.randomUUID(), endpoint()]
  await register(ana, { endpoint: address, keys: { ...keys, auth: `${keys.auth}==` } }, id)
  const device = { id, endpoint: address, keys, createdAt: iso }
  equal([await devices(ana), (await ana.get('/users/me/export')).devices], [[device], [device]])
  await ben.delete(`/users/me/devices/${id}`)
  equal(await devices(ana), [device])
  for (let time = 0; time < 2; time++) await ana.delete(`/users/me/devices/${id}`)
  equal(await devices(ana), [])
})

test('a person has ten devices at most, and a browser belongs to whoever logged in there last', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ids = Array.from({ length: 10 }, () => crypto.randomUUID())
  for (const id of ids) await register(ana, { endpoint: `https://push.example/${id}` }, id)
  await register(ana, {}, crypto.randomUUID(), 400, 'device: you cannot have more than 10 devices')
  const changed = endpoint()
  await register(ana, { endpoint: changed }, ids[9])
  equal([(await devices(ana)).length, (await devices(ana))[0].endpoint], [10, changed])
  await register(ben, { endpoint: `https://push.example/${ids[1]}` }, ids[0])
  equal((await devices(ana)).map(({ id }: Json) => id), ids.toReversed().filter((id) => id !== ids[1]))
  is(await devices(ben), [{ id: ids[0] }])
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
  for (const endpoint of addresses) await register(ben, { endpoint }, undefined, 400, 'endpoint')
  for (const p256dh of ['A'.repeat(87), 'B']) {
    await register(ben, { keys: { ...keys, p256dh } }, undefined, 400, 'keys.p256dh')
  }
  for (const auth of ['A'.repeat(21), `${'A'.repeat(21)}.`]) {
    await register(ben, { keys: { ...keys, auth } }, undefined, 400, 'keys.auth')
  }
  await register(ben, { keys: undefined }, undefined, 400, 'keys')
  await register(ben, {}, '1', 400, 'device: must be a UUID')
  equal(await devices(ben), [])
  const insert = (endpoint: string, p256dh = keys.p256dh, auth = keys.auth) =>
    `insert into private.devices values (${ben.id}, gen_random_uuid(), '${endpoint}', '${p256dh}', '${auth}')`
  const visible = 'endpoint has at most 2,048 visible ASCII characters'
  await refuses('23514', visible, [insert('https://push.example/ü'), insert('x'.repeat(2049))])
  await refuses('23514', 'p256dh is a public key', [insert('https://x', 'B')])
  await refuses('23514', 'auth is 16 bytes', [insert('https://x', keys.p256dh, 'A')])
})

test('settings are changed field by field, and what waits goes by a new delay', async () => {
  const [ana, ben] = await people('ana', 'ben')
  equal(await ana.get(settings), defaults)
  const quiet_hours = { from: '22:00', to: '07:30', time_zone: 'Europe/Lisbon' }
  let chosen: object = defaults
  for (
    const change of [{ delay_minutes: 0, quiet_hours }, {}, { email: false }, { quiet_hours: null, previews: true }, {
      push: false,
      delay_minutes: 1440,
    }]
  ) {
    chosen = { ...chosen, ...change }
    equal(await ana.patch(settings, { ...change, unknown: 1 }), chosen)
  }
  const zones = ['Mars/Olympus', '+02:00', 'Etc/GMT+99', ' Europe/Lisbon', 'Europe/Lisbon;', '']
  const wrong: Record<string, object[]> = {
    push: [1, null].map((push) => ({ push })),
    delay_minutes: [-1, 1441, 1.5].map((delay_minutes) => ({ delay_minutes })),
    'quiet_hours.from': [{ quiet_hours: { ...quiet_hours, from: '24:00' } }],
    'quiet_hours.to': [{ quiet_hours: { from: '22:00', time_zone: 'UTC' } }],
    quiet_hours: [{ quiet_hours: { ...quiet_hours, to: '22:00' } }],
    'quiet_hours.time_zone': zones.map((time_zone) => ({ quiet_hours: { ...quiet_hours, time_zone } })),
  }
  for (const [field, changes] of Object.entries(wrong)) {
    for (const change of changes) await ana.patch(settings, change, 400, field)
  }
  equal([await ana.get(settings), await ben.get(settings)], [chosen, defaults])
  // One that the functions know, and Postgres does not.
  const unknown =
    `select case when private.act_as('{"sub": "${ben.auth}"}', true) then api.update_notification_settings(
    '{"quiet_hours": {"from": "22:00", "to": "07:30", "time_zone": "Nowhere/Atlantis"}}') end`
  await refuses('PT400', 'quiet_hours.time_zone: must be the name of a time zone', [unknown], 'edge_functions')
  await talk(ana, ben).then((ab) => ana.post(`${ab}/messages`, { content: 'Hello' }, 201))
  const delay = () =>
    sql(`select round(extract(epoch from due_at - created_at)) from private.outbox where channel = 'person'`)
  equal(await delay(), [600])
  await ben.patch(settings, { delay_minutes: 3 })
  equal(await delay(), [180])
  // Who has chosen none is shown the general one, in whole minutes.
  await sql('select private.adopt_outbox_settings(delay_seconds => 90, webhooks => false)', [], 'edge_functions')
  const [cat] = await people('cat')
  equal([await cat.get(settings), (await ben.get(settings)).delay_minutes], [{ ...defaults, delay_minutes: 2 }, 3])
})

test('a link of a mail turns off the mails of its recipient, without log-in; no other link does', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const [token] = await sql('select private.sign_unsubscribing($1)', [ana.id])
  const path = '/users/unsubscribe'
  await anonymous.get(`${path}?token=${token}`, 200, { email: true })
  is(await ana.get(settings), { email: true })
  const page = { Accept: 'text/html,application/xhtml+xml' }
  for (const method of ['GET', 'POST']) {
    await anonymous.expect(method, path, undefined, 400, 'token')
    const wrong = ['1', `1.${'0'.repeat(64)}`, `${'9'.repeat(30)}.${'0'.repeat(64)}`, token.replace('.', '0.')]
    for (const one of wrong) {
      await anonymous.expect(method, `${path}?token=${one}`, undefined, 404, 'This link is not one of ours')
    }
    for (const [query, status, code] of [['', 400, 'invalid'], ['?token=1', 404, 'not_found']] as const) {
      const answer = await anonymous.ask(method, path + query, undefined, page)
      equal([answer.status, answer.headers.get('X-Error-Code')], [status, code])
      is([answer.headers.get('Content-Type'), answer.headers.get('Cache-Control')], [
        'text/html; charset=utf-8',
        'no-store',
      ])
      is([answer.headers.get('Content-Security-Policy'), answer.text], [
        /default-src 'none'/,
        /<h1>This did not work<\/h1>/,
      ])
    }
  }
  is(await ana.get(settings), { email: true })
  for (let time = 0; time < 2; time++) await anonymous.post(`${path}?token=${token}`, undefined, 200, { email: false })
  await anonymous.get(`${path}?token=${token}`, 200, { email: false })
  is([await ana.get(settings), await ben.get(settings)], [{ email: false, push: true }, { email: true }])
  await ana.delete('/users/me')
  await anonymous.post(`${path}?token=${token}`, undefined, 200, { email: false })
  equal(await sql('select user_id from private.notification_settings'), [])
})

test('the key for subscriptions is public, where there is one', async () => {
  for (const name of ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY']) setting(name, '')
  await anonymous.get('/users/push-key', 404, 'Web Push is not set up here')
  for (const name of ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY']) setting(name, keys.p256dh)
  const { status, body, headers } = await anonymous.ask('GET', '/users/push-key')
  equal([status, body, headers.get('Cache-Control')], [200, { public_key: keys.p256dh }, 'public, max-age=3600'])
})

/** What the worker calls. */
const work = async (call: string): Promise<Json> =>
  JSON.parse((await sql(`select private.${call}::text`, [], 'edge_functions'))[0])
const plan = (push = true, mail = true) => work(`plan_notifications(max_rows => 100, push => ${push}, mail => ${mail})`)
const claimPushes = (busy: string[] = []) => work(`claim_pushes(100, '${JSON.stringify(busy)}')`)
const claimMail = (busy: string[] = []) => work(`claim_mail('${JSON.stringify(busy)}')`)
const claimWebhooks = () => work('claim_webhooks(100)')
const finish = (outcomes: object[]) =>
  sql('select private.finish_outbox($1)', [JSON.stringify(outcomes)], 'edge_functions')
/** How many rows of each channel wait, dead letters included. */
const waiting = async (): Promise<Json> =>
  Object.fromEntries(await sql('select channel, count(*) from private.outbox group by 1'))
const dead = async (channel: string) => (await work('describe_outbox()'))[channel].dead
const unread = (pushes: Json[]) => pushes.map(({ data }) => data.unread)

/** Ana and Cleo, who write to Ben; he has two devices. */
const meet = async () => {
  const [ana, ben, cleo] = await people('ana', 'ben', 'cleo')
  for (const _ of [1, 2]) await register(ben)
  const [ab, cb] = [await talk(ana, ben), await talk(cleo, ben)]
  const write = async (who: Person): Promise<number> =>
    (await who.post(`${who === cleo ? cb : ab}/messages`, { content: 'Hello' }, 201)).id
  let minutes = 0
  /** Writes, and plans when the delay has passed. */
  const tell = async (who = ana, push = true, mail = true) => {
    await write(who)
    await passTime(`${minutes += 11} minutes`)
    await plan(push, mail)
  }
  const read = () => sql('update public.messages set read = true where not read')
  /** As if nothing had happened. */
  const reset = async () => {
    for (const table of ['outbox', 'silences', 'notification_settings']) await sql(`delete from private.${table}`)
    await read()
    await passTime(`${minutes = 0} minutes`)
  }
  return { ana, ben, cleo, ab, cb, write, tell, read, reset }
}
const told = { mail: 1, push: 2 }

test('after a delay a message is pushed to every device and mailed; in one silence there is one mail', async () => {
  const { ana, ben, cleo, ab, cb, write, tell } = await meet()
  await write(ana)
  equal(await sql('select channel, user_id, round(extract(epoch from due_at - created_at)) from private.outbox'), [
    ['person', ben.id, 600],
  ])
  equal(await plan(), 0)
  await passTime('11 minutes')
  equal([await plan(), await waiting()], [1, told])
  await write(ana)
  await write(cleo)
  await passTime('22 minutes')
  await plan()
  // What waits for a conversation is told by one push.
  equal(await waiting(), { mail: 1, push: 4 })
  const mail = await claimMail()
  is(mail, {
    to: 'ben@tests.example',
    name: 'ben',
    token: (await sql('select private.sign_unsubscribing($1)', [ben.id]))[0],
  })
  equal(mail.conversations, [
    { name: 'cleo', unread: 1, status: null, text: null },
    { name: 'ana', unread: 2, status: null, text: null },
  ])
  equal(await claimMail(), null)
  // A device has one at a time.
  const pushes = await claimPushes()
  const data = { type: 'message.created', status: null, text: null }
  is(
    pushes.map(({ data }: Json) => data),
    Array(2).fill({ ...data, conversation_id: idOf(ab), name: 'ana', unread: 2 }),
  )
  is(pushes[0].keys, keys)
  const others = await claimPushes()
  is(
    others.map(({ data }: Json) => data),
    Array(2).fill({ ...data, conversation_id: idOf(cb), name: 'cleo', unread: 1 }),
  )
  equal(new Set(others.map(({ receivers }: Json) => receivers[0])).size, 2)
  equal(await claimPushes(), [])
  // Previews quote the latest message.
  await ben.patch(settings, { previews: true })
  await tell(ana)
  await passTime('50 hours')
  is([(await claimPushes()).map(({ data }: Json) => data.text), (await claimMail()).conversations], [
    ['Hello', 'Hello'],
    [{ name: 'ana', text: 'Hello' }, { name: 'cleo', text: 'Hello' }],
  ])
})

test('whoever has seen it, or does not want to hear of it, is told nothing, at whichever moment that happens', async () => {
  const { ana, ben, ab, tell, write, reset } = await meet()
  const block = (one: Person, other: Person) =>
    `insert into private.blocks (blocker_id, blocked_id) values (${one.id}, ${other.id})`
  const deactivate = (who: Person) => `update public.users set is_active = false where id = ${who.id}`
  const [unblock, activate] = ['delete from private.blocks', 'update public.users set is_active = true']
  // deno-fmt-ignore
  const cases: [change: string, undo: string][] = [
    ['update public.messages set read = true', 'select'],
    [block(ana, ben), unblock], [block(ben, ana), unblock], [deactivate(ben), activate], [deactivate(ana), activate],
    [
      `insert into private.conversation_states (user_id, conversation_id, muted_until)
       values (${ben.id}, ${idOf(ab)}, now() + interval '1 day')`,
      'delete from private.conversation_states',
    ],
    [
      `update private.conversation_activity set local_archived_id = last_message_id where conversation_id = ${idOf(ab)}`,
      'update private.conversation_activity set local_archived_id = null',
    ],
    ['delete from public.messages', 'select'],
    [
      `insert into private.notification_settings (user_id, push, email) values (${ben.id}, false, false)`,
      'delete from private.notification_settings',
    ],
  ]
  for (const [change, undo] of cases) {
    await reset()
    await write(ana)
    await sql(change)
    await passTime('11 minutes')
    await plan()
    equal(await waiting(), {}, change)
    await sql(undo)
    // And if it happens between the planning and the sending.
    await reset()
    await tell()
    equal(await waiting(), told)
    await sql(change)
    equal([await claimPushes(), await claimMail(), await waiting()], [[], null, {}], change)
    await sql(undo)
  }
  // Archived before it: the message brings the conversation back.
  await reset()
  await ben.put(`${ab}/state`, { archived: true }, 200)
  await tell()
  equal(await waiting(), told)
})

test('without the keys of Web Push there is a mail, and without a mail server there are pushes and no silence', async () => {
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
    () => ben.post(`${ab}/reservations`, { title: 'A walk', price: 1, date: inDays(9) }, 201),
  ]
  for (const end of ends) {
    await tell(ana)
    equal([(await claimMail()).to, await silent()], ['ben@tests.example', [ben.id]])
    await write(ana)
    equal(await silent(), [ben.id])
    await end()
    equal(await silent(), [])
    await sql('delete from private.outbox')
  }
})

test('a push says what was unread when it was claimed', async () => {
  const { tell } = await meet()
  await tell()
  await sql(
    `create function pg_temp.read_all() returns trigger language plpgsql as $$
     begin update public.messages set read = true where not read; return null; end $$`,
  )
  await sql(
    'create trigger read_all after delete on private.outbox for each statement execute function pg_temp.read_all()',
  )
  equal(unread(await claimPushes()), [1, 1])
})

// By the wall clock of the person's time zone, also on the days on which it changes.
// deno-fmt-ignore
const nights: [from: string | null, to: string | null, zone: string | null, at: string, until: string | null][] = [
  ['22:00', '07:00', 'Europe/Lisbon', '2026-01-10 21:59:59Z', null],
  ['22:00', '07:00', 'Europe/Lisbon', '2026-01-10 22:00Z', '2026-01-11 07:00'],
  ['22:00', '07:00', 'Europe/Lisbon', '2026-01-11 03:00Z', '2026-01-11 07:00'],
  ['22:00', '07:00', 'Europe/Lisbon', '2026-01-11 07:00Z', null],
  // In summer 22:00 is an hour earlier.
  ['22:00', '07:00', 'Europe/Lisbon', '2026-07-10 20:59Z', null],
  ['22:00', '07:00', 'Europe/Lisbon', '2026-07-10 21:00Z', '2026-07-11 06:00'],
  // Within one day, half an hour off.
  ['13:00', '15:00', 'Asia/Kolkata', '2026-07-10 08:00Z', '2026-07-10 09:30'],
  ['13:00', '15:00', 'Asia/Kolkata', '2026-07-10 09:30Z', null],
  // Berlin, 29 March 2026: 02:00 becomes 03:00, so this night has eight hours, and no 02:30.
  ['22:00', '07:00', 'Europe/Berlin', '2026-03-28 21:00Z', '2026-03-29 05:00'],
  ['22:00', '07:00', 'Europe/Berlin', '2026-03-29 04:59Z', '2026-03-29 05:00'],
  ['22:00', '07:00', 'Europe/Berlin', '2026-03-29 05:00Z', null],
  ['02:30', '06:00', 'Europe/Berlin', '2026-03-29 01:30Z', '2026-03-29 04:00'],
  ['02:30', '06:00', 'Europe/Berlin', '2026-03-29 01:29Z', null],
  // Berlin, 25 October 2026: 03:00 becomes 02:00, so this night has ten hours, and of two ends the later counts.
  ['22:00', '07:00', 'Europe/Berlin', '2026-10-24 20:00Z', '2026-10-25 06:00'],
  ['22:00', '07:00', 'Europe/Berlin', '2026-10-25 05:30Z', '2026-10-25 06:00'],
  ['22:00', '02:30', 'Europe/Berlin', '2026-10-25 00:45Z', '2026-10-25 01:30'],
  ['22:00', '02:30', 'Europe/Berlin', '2026-10-25 01:30Z', null],
  // Spring comes in September there.
  ['22:00', '07:00', 'Pacific/Auckland', '2026-09-26 17:30Z', '2026-09-26 18:00'],
  // A time zone that is forgotten is never quiet.
  ['22:00', '07:00', 'Nowhere/Atlantis', '2026-01-10 23:00Z', null],
  [null, null, null, '2026-01-10 23:00Z', null],
]
test('in quiet hours nothing is planned or sent before they end', async () => {
  for (const [from, to, zone, at, until] of nights) {
    const [ends] = await sql(
      `select to_char(private.quiet_until($1, $2, $3, $4) at time zone 'UTC', 'YYYY-MM-DD HH24:MI')`,
      [from, to, zone, at],
    )
    equal(ends, until, `${from} to ${to} ${zone}, ${at}`)
  }
  const { ana, ben, write } = await meet()
  const setClock = (moment: string) => sql(`select tests.pass_time($1::timestamptz - clock_timestamp())`, [moment])
  const due = () =>
    sql(`select distinct attempts, to_char(due_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from private.outbox`)
  await ben.patch(settings, {
    delay_minutes: 0,
    quiet_hours: { from: '22:00', to: '07:00', time_zone: 'Europe/Lisbon' },
  })
  await write(ana)
  await setClock('2027-01-10 23:30Z')
  equal([await plan(), await waiting(), await due()], [1, { person: 1 }, [[0, '2027-01-11 07:00']]])
  await setClock('2027-01-11 07:00:01Z')
  await plan()
  equal(await waiting(), told)
  // A late attempt waits again, and was none.
  await sql(`update private.outbox set due_at = '2027-01-11 22:30Z'`)
  await setClock('2027-01-11 22:30:01Z')
  equal([await claimPushes(), await claimMail(), await due()], [[], null, [[0, '2027-01-12 07:00']]])
})

test('a person whose rows make the worker fail does not stop the others, and is given up after eight tries', async () => {
  const { ana, ben, cleo, ab, write } = await meet()
  await sql(
    `create function pg_temp.fail() returns trigger language plpgsql as $$
     begin if new.user_id = ${ana.id} then raise 'poison'; end if; return new; end $$`,
  )
  await sql('create trigger fail before insert on private.silences for each row execute function pg_temp.fail()')
  await ben.post(`${ab}/messages`, { content: 'To Ana' }, 201)
  await write(cleo)
  await passTime('11 minutes')
  await plan()
  equal(await waiting(), { ...told, person: 1 })
  equal(await sql(`select attempts, last_error from private.outbox where channel = 'person'`), [[1, 'P0001']])
  for (let attempt = 1; attempt <= 8; attempt++) {
    equal(await dead('person'), attempt === 8 ? 1 : 0)
    await passTime(`${attempt * 5} hours`)
    await plan()
  }
})

test('nothing is claimed for a receiver that is busy, and everything for the others', async () => {
  const { ben, tell } = await meet()
  await tell()
  equal([await claimPushes(['push.example']), await claimMail(['tests.example'])], [[], null])
  equal((await claimPushes([(await devices(ben))[0].id])).length, 1)
  is(await claimMail(['elsewhere.example']), { to: 'ben@tests.example' })
})

test('a dead letter is revived by what comes next: a push by its conversation, a mail by the next silence', async () => {
  const { ana, tell, read, write } = await meet()
  await tell()
  await sql(`update private.outbox set attempts = 8, due_at = private.present() + '1 hour'`)
  await write(ana)
  await passTime('22 minutes')
  await plan()
  // The last attempt may still be under way.
  equal(await claimPushes(), [])
  await passTime('80 minutes')
  equal([unread(await claimPushes()), await claimMail()], [[2, 2], null])
  await read()
  await sql('delete from private.silences')
  await write(ana)
  await passTime('100 minutes')
  await plan()
  const { id } = await claimMail()
  // What a server refuses for good is a dead letter at once.
  await finish([{ id, outcome: 'refused', reason: 'EENVELOPE 550' }])
  equal(await sql(`select attempts, last_error from private.outbox where channel = 'mail'`), [[8, 'EENVELOPE 550']])
})

test('a push that gets more to tell while it is under way is sent again; one to a device that is gone removes it', async () => {
  const { ana, ben, tell } = await meet()
  await ben.delete(`/users/me/devices/${(await devices(ben))[0].id}`)
  await tell(ana, true, false)
  const [{ id, subject }] = await claimPushes()
  const [more] = await sql('select max(id) + 1 from public.messages')
  await tell(ana, true, false)
  await finish([{ id, outcome: 'sent', subject }])
  equal(await sql('select id, attempts, first_id from private.outbox'), [[id, 0, more]])
  const [again] = await claimPushes()
  await finish([{ id, outcome: 'failed', reason: 'x'.repeat(300), retry_after: 900 }])
  const wait = `extract(epoch from due_at - private.present()) between 600 and 900`
  equal(await sql(`select attempts, length(last_error), ${wait} from private.outbox`), [[1, 200, true]])
  await finish([{ id, outcome: 'gone', subject: again.subject }])
  equal([await waiting(), await devices(ben)], [{}, []])
  await register(ben)
  await tell(ana, true, false)
  const [last] = await claimPushes()
  await finish([{ id: last.id, outcome: 'sent', subject: last.subject }, { id: 0, outcome: 'sent' }])
  equal(await waiting(), {})
})

test('what somebody else has written is quoted in one line of at most 60 characters', async () => {
  for (
    const [text, quoted, longest = 60] of [
      [' Voyagers\r\n\r\nYour account\u2028is\u202esuspended\u0085\t! ', 'Voyagers Your account is suspended !'],
      ['é'.repeat(61), `${'é'.repeat(59)}…`],
      ['x'.repeat(160), 'x'.repeat(160), 160],
      ['Ana 👩‍👩‍👧 نسرین‌خانم', 'Ana 👩‍👩‍👧 نسرین‌خانم'],
    ] as const
  ) equal(await sql('select private.quote($1, $2)', [text, longest]), [quoted])
})

test('an event of an unknown kind is told to nobody', async () => {
  const { ana, ab } = await meet()
  await refuses('23514', 'outbox_event', [
    `select private.notify('guide.published', null, 1, people => array[${ana.id}])`,
  ])
  await refuses('20000', 'case not found', [`select private.notice_of(${ana.id}, 'user.erased', ${idOf(ab)}, 1, 1)`])
})

/** People of whom the operator's webhook is told. */
const watch = async () => {
  const [ana, ben, cleo] = await people('ana', 'ben', 'cleo')
  await sql('select private.adopt_outbox_settings(delay_seconds => 600, webhooks => true)', [], 'edge_functions')
  const [ab, cb] = [await talk(ana, ben), await talk(cleo, ben)]
  const write = async (who: Person, path = ab): Promise<number> =>
    (await who.post(`${path}/messages`, { content: 'Hello' }, 201)).id
  const reset = () => sql('delete from private.outbox')
  return { ana, ben, cleo, ab, cb, write, reset }
}
const types = (events: Json[]) => events.map(({ type, data }) => [type, data.conversation_id ?? data.id])

test('the webhook gets the events of a conversation one after the other, and a dead letter holds up none', async () => {
  const { ana, cleo, ab, cb, write } = await watch()
  for (const [who, path] of [[ana, ab], [ana, ab], [cleo, cb]] as const) await write(who, path)
  equal((await waiting()).webhook, 5)
  const first = await claimWebhooks()
  equal(types(first), [['conversation.created', idOf(ab)], ['conversation.created', idOf(cb)]])
  equal(await claimWebhooks(), [])
  await finish(first.map(({ id }: Json) => ({ id, outcome: 'sent' })))
  const second = await claimWebhooks()
  equal(types(second), [['message.created', idOf(ab)], ['message.created', idOf(cb)]])
  await finish(second.map(({ id }: Json) => ({ id, outcome: 'failed', reason: 'why' })))
  const rows = () => sql(`select attempts, last_error from private.outbox where channel = 'webhook' order by id`)
  equal([await claimWebhooks(), await rows()], [[], [[1, 'why'], [0, null], [1, 'why']]])
  for (let attempt = 2; attempt <= 8; attempt++) {
    await passTime(`${attempt * 5} hours`)
    const tried = await claimWebhooks()
    // At every attempt the receiver can tell that it is the same.
    equal(tried.map(({ id, key }: Json) => [id, key]), second.map(({ id, key }: Json) => [id, key]))
  }
  // They hold the later one up while the last attempt is under way.
  equal([await dead('webhook'), await claimWebhooks()], [2, []])
  await passTime('50 hours')
  equal([types(await claimWebhooks()), await claimWebhooks()], [[['message.created', idOf(ab)]], []])
  for (const [time, left] of [['31 days', 2], ['33 days', 0]] as const) {
    await passTime(time)
    await sql('select private.forget_dead_letters()')
    equal(await dead('webhook'), left)
  }
})

test('the webhook is told ids and no texts, of what still exists, and only if there is one', async () => {
  const { ana, ben, cleo, ab, write, reset } = await watch()
  const event = async (type: string, data: object) => {
    equal((await claimWebhooks()).map(({ type, timestamp, data }: Json) => ({ type, timestamp, data })), [{
      type,
      timestamp: iso,
      data,
    }])
    await reset()
  }
  await reset()
  const ac = await talk(ana, cleo)
  await event('conversation.created', { id: idOf(ac), voyager_id: ana.id, local_id: cleo.id })
  const id = await write(ana)
  await event('message.created', { conversation_id: idOf(ab), id, user_id: ana.id, recipient_id: ben.id })
  const received = await write(ben)
  await event('message.created', { conversation_id: idOf(ab), id: received, user_id: ben.id, recipient_id: ana.id })
  const report = await ana.post('/users/me/reports', { user_id: ben.id, reason: 'scam', note: 'Secret' }, 201)
  await event('report.created', { id: report.id, reason: 'scam', reporter_id: ana.id, user_id: ben.id })
  const offer = await ana.post(`${ab}/reservations`, { title: 'A walk', price: 20, date: inDays(7) }, 201)
  await event('reservation.changed', { conversation_id: idOf(ab), id: offer.id, status: 'pending', user_id: ana.id })
  await cleo.delete('/users/me')
  await event('user.erased', { user_id: cleo.id })
  await write(ana)
  await sql('delete from public.messages')
  equal([await claimWebhooks(), (await waiting()).webhook], [[], undefined])
  await sql('select private.adopt_outbox_settings(delay_seconds => 600, webhooks => false)', [], 'edge_functions')
  await reset()
  await write(ana)
  equal(await waiting(), { person: 1 })
})

test('an offer is told to the other one with its status, and what an admin does to both, unless they have been there', async () => {
  const { ana, ben, ab, reset } = await watch()
  await register(ben)
  await reset()
  const { id } = await ana.post(`${ab}/reservations`, { title: 'A walk', price: 20, date: inDays(7) }, 201)
  const people = () => sql(`select user_id from private.outbox where channel = 'person' order by 1`)
  equal(await people(), [ben.id])
  await passTime('11 minutes')
  await plan()
  is([(await claimMail()).conversations, (await claimPushes())[0].data], [
    [{ name: 'ana', unread: 0, status: 'pending' }],
    { type: 'reservation.changed', id, status: 'pending', unread: 0 },
  ])
  await reset()
  await sql('delete from private.silences')
  await passTime('0')
  await asAdmin(`update public.reservations set title = 'A long walk'`)
  equal(await people(), [ana.id, ben.id].sort((one, other) => one - other))
  await ben.post(`${ab}/messages`, { content: 'Nice' }, 201)
  await sql(`delete from private.outbox where event = 'message.created'`)
  await passTime('22 minutes')
  await plan()
  equal(await sql(`select distinct user_id from private.outbox where channel in ('mail', 'push')`), [ana.id])
})
