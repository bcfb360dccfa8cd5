import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import { asAdmin, call, freshEmail } from '../tools/people.ts'
import { assemble, type Cast, rowsOf } from './cast.ts'

// Every column of every table of the Data API.
const columns = [
  ...new Set(
    [...readFileSync('functions/_shared/database.types.ts', 'utf8').matchAll(/^ {10}'(\w+)'\??: /gm)].map(([, name]) =>
      name!
    ),
  ),
]

let cast: Cast
beforeAll(async () => {
  cast = await assemble()
})

/** A body with every column of all tables, at the top level and in objects named after tables. */
const forged = (): Record<string, unknown> => {
  const { stranger, people } = cast
  const values: Record<string, unknown> = {
    id: stranger.id,
    user_id: stranger.id,
    profile_id: stranger.profileId,
    auth_id: '00000000-0000-4000-8000-000000000000',
    role: 'admin',
    is_active: false,
    email: freshEmail(),
    read: true,
    voyager_id: stranger.id,
    local_id: people.outsider.id,
    conversation_id: cast.conversations.outsider.id,
    created_at: '2001-01-01T00:00:00.000Z',
    createdAt: '2001-01-01T00:00:00.000Z',
    status: 'accepted',
    title: 'Forged',
    price: 1,
    date: '2001-01-01T00:00:00.000Z',
    interest_id: cast.interest,
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

/** What each route with a body may change, and the valid fields of its request. */
const takes: Record<
  string,
  { fields: () => object; changes: string[]; makes?: (row: Record<string, unknown>) => object }
> = {
  'PATCH /users/profile': {
    fields: () => ({
      ...{ name: 'Mine', bio: 'mine', location: 'mine', first_name: 'a', last_name: 'b', age: 40, biography: 'c' },
      ...{
        country: 'd',
        city: 'e',
        image_url: 'https://example.com/a.png',
        is_searchable: true,
        interest_ids: [cast.interest],
      },
    }),
    changes: [
      ...['name', 'bio', 'location'].map((column) => `users.${column}`),
      ...['first_name', 'last_name', 'age', 'biography', 'country', 'city', 'image_url', 'is_searchable']
        .map((column) => `profiles.${column}`),
    ],
  },
  'PUT /users/profile/interests': { fields: () => ({ interest_ids: [cast.interest] }), changes: [] },
  'PATCH /users/searchable': { fields: () => ({ is_searchable: false }), changes: ['profiles.is_searchable'] },
  'POST /conversations': {
    fields: () => ({ other_user_id: cast.friend.id }),
    changes: [],
    makes: () => ({ voyager_id: cast.people.voyager.id, local_id: cast.friend.id }),
  },
  'POST /conversations/{id}/messages': {
    fields: () => ({ content: 'Mine', client_id: crypto.randomUUID(), attachment: null }),
    changes: [],
    makes: () => ({
      conversation_id: cast.conversations.voyager.id,
      user_id: cast.people.voyager.id,
      content: 'Mine',
      read: false,
    }),
  },
  'POST /conversations/{id}/read': {
    fields: () => ({ up_to_message_id: cast.conversations.voyager.received }),
    changes: ['messages.read'],
  },
}
// Routes that create accounts are tested below.
const ofAuth = ['POST /auth/signup', 'POST /auth/login', 'POST /auth/refresh', 'POST /auth/recover', 'POST /users']

test('every route with a body is listed', () => {
  const bodied = operations.filter(({ body }) => body).map(({ name }) => name)
  expect(bodied.filter((name) => !(name in takes) && !ofAuth.includes(name))).toEqual([])
  expect(columns).toEqual(expect.arrayContaining(['auth_id', 'role', 'is_active', 'voyager_id', 'read', 'created_at']))
})

test.each(Object.keys(takes))('%s writes only its own fields', async (name) => {
  const { fields, changes, makes } = takes[name]!
  const [method, path] = name.split(' ') as [string, string]
  const me = cast.people.voyager
  const mine = new Set([
    `users ${me.id}`,
    `profiles ${me.profileId}`,
    `messages ${cast.conversations.voyager.received}`,
  ])
  const before = await rowsOf(cast)
  const started = Date.now() - 60_000
  const address = path.replace('{id}', String(cast.conversations.voyager.id))
  const { status, text } = await me.call(method, address, { ...forged(), ...fields() })
  expect(status, text).toBeLessThan(300)

  const after = await rowsOf(cast)
  const changed = new Set<string>()
  for (const [key, row] of Object.entries(after)) {
    const old = before[key]
    if (!old) {
      expect(makes, `${key} was made`).toBeDefined()
      expect(row).toMatchObject(makes!(row))
      expect(Date.parse(String(row.created_at))).toBeGreaterThan(started)
      continue
    }
    for (const column of Object.keys(row)) {
      if (JSON.stringify(row[column]) === JSON.stringify(old[column])) continue
      expect(mine, `${key} is somebody else's`).toContain(key)
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
    const before = await rowsOf(cast)
    const email = freshEmail()
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
    expect([user.id, user.profiles.id]).not.toContain(cast.stranger.id)
    expect(Date.parse(user.created_at)).toBeGreaterThan(Date.parse('2002-01-01'))
    expect(await rowsOf(cast)).toEqual(before)
  },
)
