/** Requests with every column of every table besides their own fields. */
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { exampleRequest } from '../tools/example_requests.ts'
import { operations, resolved } from '../tools/openapi.ts'
import { asAdmin, call, uniqueEmail } from '../tools/people.ts'
import { createFixture, type Fixture, type Row, snapshot } from './fixture.ts'

const types = readFileSync('functions/_shared/database.types.ts', 'utf8')
const columns = [...new Set([...types.matchAll(/^ {10}(\w+)\??: /gm)].map(([, name]) => name!))]

let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})

/** A value for every column of all tables, at the top level and in objects named after what answers call them. */
const forged = (): Row => {
  const { stranger, subjects } = fixture
  const [stay, talk] = ['2001-01-01T00:00:00.000Z', subjects.outsider]
  const values = {
    ...Object.fromEntries(columns.map((name) => [name, 'Forged'])),
    ...{ id: 424_242_424, user_id: stranger.id, profile_id: stranger.profileId, interest_id: fixture.interest },
    ...{ auth_id: '00000000-0000-4000-8000-000000000000', role: 'admin', is_active: false, email: uniqueEmail() },
    ...{ read: true, voyager_id: stranger.id, local_id: talk.user, conversation_id: talk.conversation },
    ...{ host_id: stranger.id, offered_by: stranger.id, by_id: stranger.id, reporter_id: stranger.id },
    // No step leads to this status here.
    ...{ created_at: stay, createdAt: stay, status: 'completed', price: 1, date: stay },
  }
  const parts = ['Profile', 'profile', 'User', 'user', 'data', 'Sender', 'Voyager', 'Local', 'Messages', 'Reservations']
  return { ...values, ...Object.fromEntries(parts.map((name) => [name, values])) }
}

const isSame = (one: unknown, other: unknown): boolean => {
  const isDate = /^\d{4}-\d\d-\d\dT/.test(`${other}`)
  return isDate ? Date.parse(`${one}`) === Date.parse(`${other}`) : JSON.stringify(one) === JSON.stringify(other)
}

test('the columns are those of the tables', () => {
  expect(columns).toEqual(expect.arrayContaining(['auth_id', 'role', 'is_active', 'voyager_id', 'read', 'created_at']))
})

const withBody = operations.filter(({ body, token }) => body && token === 'needed')
test.each(withBody)("$name writes its own fields, of one's own rows, and no others", async (operation) => {
  const { name, method, body: schema } = operation
  // Some refuse what they do not know. The others drop it, as the older service did.
  const { properties, additionalProperties } = resolved(schema!)
  const isStrict = additionalProperties === false
  const { voyager: mine, local: partner } = fixture.subjects
  const subject = {
    ...mine,
    ...name === 'POST /conversations' && { user: fixture.stranger.id },
    // One corrects what one has sent, which is what the partner received.
    ...name.endsWith('/messages/{messageId}') && { message: partner.message },
  }
  const { path, body } = exampleRequest(operation, subject)
  const fields = [...Object.keys(properties!), ...path.endsWith('/read') ? ['read'] : []]
  const others = Object.fromEntries(Object.entries(forged()).filter(([field]) => !fields.includes(field)))
  const before = await snapshot(fixture)
  const send = (given?: object) => fixture.people.voyager.call(method, path, given)
  if (isStrict) {
    const refused = await send({ ...others, ...body })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('is not known')])
    expect(await snapshot(fixture)).toEqual(before)
  }
  const { status, text } = await send(isStrict ? body : { ...others, ...body })
  // What has been accepted cannot be declined, and what was cancelled not completed.
  const success = Object.keys(operation.answers).filter((status) => status < '300')
  expect(/decline|complete/.test(name) ? ['409'] : success, text).toContain(`${status}`)
  const after = await snapshot(fixture)
  const own = [
    ...[`users ${mine.user}`, `profiles ${mine.profile}`],
    ...[`messages ${subject.message}`, `reservations ${mine.reservation}`],
  ]
  for (const [key, row] of Object.entries(after)) {
    const old = before[key]
    const changed = Object.keys(row).filter((column) => !old || !isSame(row[column], old[column]))
    if (old && changed.length > 0) expect(own).toContain(key)
    expect(changed.filter((column) => column in others && isSame(row[column], others[column])), key).toEqual([])
  }
  const removed = Object.keys(before).filter((key) => !(key in after))
  expect(removed.filter((key) => !key.startsWith(`profile_interests ${mine.profile}-`))).toEqual([])
})

test.each(['/auth/signup', '/users'])(
  'POST %s creates an ordinary user, whatever else the request has',
  async (path) => {
    const before = await snapshot(fixture)
    const email = uniqueEmail()
    const shown = { is_searchable: false, show_answers: false }
    const valid = { name: 'New', age: 30, image_url: null, ...shown, interest_ids: [] }
    const { status, text } = await call('POST', path, { ...forged(), ...valid, email, password: 'correct horse' })
    expect(status, text).toBe(201)
    const [user] = (await asAdmin('GET', `users?email=eq.${email}&select=*,profiles(*)`)).body
    expect(user).toMatchObject({ role: 'user', is_active: true, name: 'New' })
    expect(user.auth_id).not.toBe(forged().auth_id)
    expect([user.id, user.profiles.id]).not.toContain(forged().id)
    expect(Date.parse(user.created_at)).toBeGreaterThan(Date.parse('2002-01-01'))
    expect(await snapshot(fixture)).toEqual(before)
  },
)
