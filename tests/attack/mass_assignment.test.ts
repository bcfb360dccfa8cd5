import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import { asAdmin, call, uniqueEmail } from '../tools/people.ts'
import { createFixture, type Fixture, snapshot } from './fixture.ts'

// Every column of every table of the Data API.
const columns = [
  ...new Set(
    [...readFileSync('functions/_shared/database.types.ts', 'utf8').matchAll(/^ {10}(\w+)\??: /gm)].map(([, name]) =>
      name!
    ),
  ),
]

let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})

const forgedId = 424_242_424

/** A body with every column of all tables, at the top level and in objects named after tables. */
const forged = (): Record<string, unknown> => {
  const { stranger, people } = fixture
  const values: Record<string, unknown> = {
    id: forgedId,
    user_id: stranger.id,
    profile_id: stranger.profileId,
    auth_id: '00000000-0000-4000-8000-000000000000',
    role: 'admin',
    is_active: false,
    email: uniqueEmail(),
    read: true,
    voyager_id: stranger.id,
    local_id: people.outsider.id,
    conversation_id: fixture.conversations.outsider.id,
    created_at: '2001-01-01T00:00:00.000Z',
    createdAt: '2001-01-01T00:00:00.000Z',
    status: 'accepted',
    title: 'Forged',
    price: 1,
    date: '2001-01-01T00:00:00.000Z',
    interest_id: fixture.interest,
  }
  const all = { ...Object.fromEntries(columns.map((name) => [name, 'Forged'])), ...values }
  // Permitted fields get valid values from the table below.
  const nested = [
    'Profile',
    'profile',
    'User',
    'user',
    'data',
    'Sender',
    'Voyager',
    'Local',
    'Messages',
    'Reservations',
  ]
  return { ...all, ...Object.fromEntries(nested.map((name) => [name, values])) }
}

/** As the Data API prints it. */
const offer = {
  title: 'Mine',
  date: '2036-07-01T12:00:00+00:00',
  ends_at: '2036-07-02T12:00:00+00:00',
}

/** What each route with a body may change, and the valid fields of its request. */
const allowed: Record<
  string,
  { fields: () => object; changes: string[]; creates?: (row: Record<string, unknown>) => object }
> = {
  'PATCH /users/profile': {
    fields: () => ({
      ...{ name: 'Mine', bio: 'mine', location: 'mine', first_name: 'a', last_name: 'b', age: 40, biography: 'c' },
      ...{
        country: 'd',
        city: 'e',
        image_url: 'https://example.com/a.png',
        is_searchable: true,
        interest_ids: [fixture.interest],
      },
    }),
    changes: [
      // A copy of the profile's photo.
      ...['name', 'bio', 'location', 'public_image_url'].map((column) => `users.${column}`),
      ...['first_name', 'last_name', 'age', 'biography', 'country', 'city', 'image_url', 'is_searchable']
        .map((column) => `profiles.${column}`),
    ],
  },
  'PUT /users/profile/interests': { fields: () => ({ interest_ids: [fixture.interest] }), changes: [] },
  'PATCH /users/searchable': {
    fields: () => ({ is_searchable: false }),
    changes: [
      'profiles.is_searchable',
      'users.public_profile_id',
      'users.public_image_url',
    ],
  },
  'POST /users/me/reports': {
    fields: () => ({
      ...{ user_id: fixture.friend.id, message_id: null, reason: 'other', note: 'Mine', client_id: null },
      ...{ share_messages: false, block: false },
    }),
    changes: [],
    creates: () => ({
      ...{ reporter_id: fixture.people.voyager.id, user_id: fixture.friend.id, message_id: null, reason: 'other' },
      ...{ note: 'Mine', shares_messages: false, resolution: null, resolved_at: null, purge_at: null },
    }),
  },
  'POST /conversations': {
    fields: () => ({ other_user_id: fixture.friend.id }),
    changes: [],
    creates: () => ({ voyager_id: fixture.people.voyager.id, local_id: fixture.friend.id }),
  },
  'POST /conversations/{id}/messages': {
    fields: () => ({ content: 'Mine', client_id: crypto.randomUUID(), attachment: null }),
    changes: [],
    creates: () => ({
      conversation_id: fixture.conversations.voyager.id,
      user_id: fixture.people.voyager.id,
      content: 'Mine',
      read: false,
    }),
  },
  'POST /conversations/{id}/reservations': {
    fields: () => ({ ...offer, price: 5, host_id: fixture.people.voyager.id, client_id: crypto.randomUUID() }),
    changes: [],
    // The offer and its history.
    creates: ({ reservation_id }) => ({
      ...offer,
      status: 'pending',
      conversation_id: fixture.conversations.voyager.id,
      ...(reservation_id
        ? { by_id: fixture.people.voyager.id, note: null }
        : { host_id: fixture.people.voyager.id, offered_by: fixture.people.voyager.id }),
    }),
  },
  'PATCH /conversations/{id}/reservations/{rid}': {
    fields: () => ({ ...offer, price: 6 }),
    changes: ['title', 'price', 'date', 'ends_at', 'offered_by', 'revision', 'updated_at', 'due_at']
      .map((column) => `reservations.${column}`),
    creates: () => ({ status: 'pending', note: null, by_id: fixture.people.voyager.id }),
  },
  'POST /conversations/{id}/reservations/{rid}/cancel': {
    fields: () => ({ note: 'Mine' }),
    changes: ['reservations.status', 'reservations.updated_at', 'reservations.due_at'],
    creates: () => ({ status: 'cancelled', note: 'Mine', by_id: fixture.people.voyager.id }),
  },
  // What it writes is in no table of the Data API.
  'PUT /conversations/{id}/state': {
    fields: () => ({ archived: true, pinned: true, muted_until: '2036-07-01T12:00:00Z' }),
    changes: [],
  },
  'PUT /users/me/devices/{device}': {
    fields: () => ({
      endpoint: 'https://push.example.com/mine',
      keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
    }),
    changes: [],
  },
  'PATCH /users/me/notifications': {
    fields: () => ({ push: true, email: false, delay_minutes: 5, quiet_hours: null, previews: false }),
    changes: [],
  },
  'POST /conversations/{id}/read': {
    fields: () => ({ up_to_message_id: fixture.conversations.voyager.received }),
    changes: ['messages.read'],
  },
}
// These refuse what they do not know. The others drop it, as the older service did.
const strict = [
  'POST /users/me/reports',
  'POST /conversations/{id}/reservations',
  'PATCH /conversations/{id}/reservations/{rid}',
  'PUT /conversations/{id}/state',
]
// The other steps take the same way as cancel.
const otherSteps = ['accept', 'decline', 'complete'].map((step) =>
  `POST /conversations/{id}/reservations/{rid}/${step}`
)
// Routes that create accounts are tested below.
const accountRoutes = [
  'POST /auth/signup',
  'POST /auth/login',
  'POST /auth/refresh',
  'POST /auth/recover',
  'POST /users',
]

test('every route with a body is listed', () => {
  const routesWithBody = operations.filter(({ body }) => body).map(({ name }) => name)
  expect(routesWithBody.filter((name) => !(name in allowed) && ![...accountRoutes, ...otherSteps].includes(name)))
    .toEqual([])
  expect(columns).toEqual(expect.arrayContaining(['auth_id', 'role', 'is_active', 'voyager_id', 'read', 'created_at']))
})

test.each(Object.keys(allowed))('%s writes only its own fields', async (name) => {
  const { fields, changes, creates } = allowed[name]!
  const [method, path] = name.split(' ') as [string, string]
  const me = fixture.people.voyager
  const own = new Set([
    `users ${me.id}`,
    `profiles ${me.profileId}`,
    `messages ${fixture.conversations.voyager.received}`,
    `reservations ${fixture.conversations.voyager.offer}`,
  ])
  const before = await snapshot(fixture)
  const started = Date.now() - 60_000
  const address = path.replace('{id}', String(fixture.conversations.voyager.id))
    .replace('{rid}', String(fixture.conversations.voyager.offer)).replace('{device}', crypto.randomUUID())
  if (strict.includes(name)) {
    const refused = await me.call(method, address, { ...forged(), ...fields() })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('is not known')
    expect(await snapshot(fixture)).toEqual(before)
  }
  const given = strict.includes(name) ? fields() : { ...forged(), ...fields() }
  const { status, text } = await me.call(method, address, given)
  expect(status, text).toBeLessThan(300)

  const after = await snapshot(fixture)
  const changed = new Set<string>()
  for (const [key, row] of Object.entries(after)) {
    const old = before[key]
    if (!old) {
      expect(creates, `${key} was created`).toBeDefined()
      expect(row).toMatchObject(creates!(row))
      expect(row.id).not.toBe(forgedId)
      expect(Date.parse(String(row.created_at))).toBeGreaterThan(started)
      continue
    }
    for (const column of Object.keys(row)) {
      if (JSON.stringify(row[column]) === JSON.stringify(old[column])) continue
      expect(own, `${key} belongs to another user`).toContain(key)
      changed.add(`${key.split(' ')[0]}.${column}`)
    }
  }
  expect(Object.keys(before).filter((key) => !(key in after))).toEqual([])
  expect([...changed].filter((column) => !changes.includes(column))).toEqual([])
  // The request must have had an effect.
  expect(changes.length === 0 || changed.size > 0).toBe(true)
})

test.each(['POST /auth/signup', 'POST /users'])(
  '%s creates an ordinary user, whatever other fields the request has',
  async (name) => {
    const before = await snapshot(fixture)
    const email = uniqueEmail()
    const profile = {
      name: 'New',
      age: 30,
      image_url: null,
      is_searchable: false,
      interest_ids: [],
      email,
      password: 'correct horse',
    }
    const path = name.split(' ')[1]!
    const { status, text } = await call('POST', path, { ...forged(), ...profile })
    expect(status, text).toBe(201)
    const [user] = (await asAdmin('GET', `users?email=eq.${email}&select=*,profiles(*)`)).body
    expect(user).toMatchObject({ role: 'user', is_active: true, name: 'New' })
    expect(user.auth_id).not.toBe('00000000-0000-4000-8000-000000000000')
    expect([user.id, user.profiles.id]).not.toContain(forgedId)
    expect(Date.parse(user.created_at)).toBeGreaterThan(Date.parse('2002-01-01'))
    expect(await snapshot(fixture)).toEqual(before)
  },
)
