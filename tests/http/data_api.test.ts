import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import ws from 'ws'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import {
  asAdmin,
  call,
  dataApi,
  openConversation,
  type Person,
  seededInterests,
  sendMessage,
  signUp,
  uniqueEmail,
} from '../tools/people.ts'

const { origin, publishableKey, secretKey } = inject('stack')
const password = 'correct horse'

/** What a client app has: supabase-js with the publishable key, and a session of this user. */
const connect = async (person?: Person): Promise<SupabaseClient> => {
  const client = createClient(origin, publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
  })
  if (person) {
    const { error } = await client.auth.signInWithPassword({ email: person.email, password: person.password })
    if (error) throw error
  }
  return client
}

/** All conversations, messages and reservations of this file's users. */
const everyRow = async () => {
  const people = `in.(${[ana.id, ben.id, cat.id]})`
  const { body: conversations } = await asAdmin(
    'GET',
    `conversations?or=(voyager_id.${people},local_id.${people})&order=id`,
  )
  const theirs = `conversation_id=in.(${ids(conversations)})&order=id`
  return [
    conversations,
    (await asAdmin('GET', `messages?${theirs}`)).body,
    (await asAdmin('GET', `reservations?${theirs}`)).body,
    (await asAdmin('GET', `reservation_history?${theirs}`)).body,
  ]
}
const rowOf = async (table: string, id: number) => (await asAdmin('GET', `${table}?id=eq.${id}`)).body[0]
const ids = (rows: { id: number }[] | null): number[] => (rows ?? []).map(({ id }) => id)

let ana: Person
let ben: Person
let cat: Person
let clients: Record<'participant' | 'outsider' | 'anonymous', SupabaseClient>
let conversation: number
let message: number
let reservation: number
let history: number
let ownConversation: number
let ownMessage: number
let interest: number

beforeAll(async () => {
  ana = await signUp('Ana', { bio: 'Potter', city: 'Alcoutim', is_searchable: true })
  ben = await signUp('Ben')
  cat = await signUp('Cat')
  interest = (await seededInterests())[0]!.id
  await ana.call('PUT', '/users/profile/interests', { interest_ids: [interest] })
  conversation = await openConversation(ana, ben)
  message = (await sendMessage(ana, conversation, 'Is the room free?')).id
  const stay = {
    conversation_id: conversation,
    title: 'Stone room',
    price: 40,
    date: '2036-06-01T12:00:00Z',
    status: 'pending',
  }
  reservation = (await asAdmin('POST', 'reservations', stay)).body[0].id
  history = (await asAdmin('GET', `reservation_history?reservation_id=eq.${reservation}`)).body[0].id
  ownConversation = await openConversation(cat, await signUp('Dan'))
  ownMessage = (await sendMessage(cat, ownConversation, 'Another talk')).id
  clients = { participant: await connect(ana), outsider: await connect(cat), anonymous: await connect() }
})

describe('reading', () => {
  test('a user signs up with supabase-js and reads their own user and profile', async () => {
    const newcomer = await connect()
    const profile = { city: 'Faro', id: ana.profileId, user_id: ana.id, is_searchable: true }
    const data = { name: 'New', role: 'admin', is_active: false, id: ana.id, profile }
    const { error } = await newcomer.auth.signUp({ email: uniqueEmail(), password, options: { data } })
    expect(error).toBeNull()
    const { data: users } = await newcomer.from('users').select('*')
    expect(users).toMatchObject([{ name: 'New', role: 'user', is_active: true }])
    const { data: profiles } = await newcomer.from('profiles').select('*')
    expect(profiles).toMatchObject([{ user_id: users![0].id, city: null, is_searchable: false }])
    expect([users![0].id, profiles![0].id]).not.toEqual([ana.id, ana.profileId])
  })

  test('participants read their conversation, its messages and its reservations', async () => {
    for (const person of [ana, ben]) {
      const client = await connect(person)
      expect(ids((await client.from('conversations').select('*')).data)).toEqual([conversation])
      expect(ids((await client.from('messages').select('*')).data)).toEqual([message])
      expect(ids((await client.from('reservations').select('*')).data)).toEqual([reservation])
      expect(ids((await client.from('reservation_history').select('*')).data)).toEqual([history])
    }
  })

  test('users read only their own user and profile, not those of partners or of searchable users', async () => {
    for (const person of [ana, ben, cat]) {
      const client = await connect(person)
      expect(ids((await client.from('users').select('*')).data)).toEqual([person.id])
      expect(ids((await client.from('profiles').select('*')).data)).toEqual([person.profileId])
      const liked = (await client.from('profile_interests').select('*')).data
      expect(liked).toEqual(person === ana ? [{ profile_id: ana.profileId, interest_id: interest }] : [])
    }
  })

  test('an outsider cannot see that a conversation exists', async () => {
    const { outsider } = clients
    expect(ids((await outsider.from('conversations').select('*')).data)).toEqual([ownConversation])
    expect(ids((await outsider.from('messages').select('*')).data)).toEqual([ownMessage])
    expect((await outsider.from('reservations').select('*')).data).toEqual([])
    expect((await outsider.from('reservation_history').select('*')).data).toEqual([])
    const tables = { messages: conversation, reservations: conversation, conversations: conversation, users: ana.id }
    for (const [table, id] of Object.entries(tables)) {
      const column = table === 'messages' || table === 'reservations' ? 'conversation_id' : 'id'
      const { data, count, error } = await outsider.from(table).select('*', { count: 'exact' }).eq(column, id)
      expect({ table, data, count, error }).toEqual({ table, data: [], count: 0, error: null })
    }
  })

  test.each([
    'messages?select=*,conversations(*)',
    'messages?select=*,conversations!inner(*,messages(*),reservations(*))',
    'messages?select=*,users(id,name,email)',
    'messages?or=(id.gt.0,content.neq.x)',
    'conversations?select=*,messages(*),reservations(*)',
    'conversations?select=*,users!conversations_voyager_id_fkey(id,email,profiles(*))',
    'reservations?select=*,conversations(*,messages(*))',
    'profiles?select=*,profile_interests(*,interests(*))',
    'interests?select=*,profile_interests(*,profiles(*))',
    'interests?select=*,profiles(*)',
    'users?select=name,bio,email&order=email',
  ])('%s returns only what the caller may see', async (path) => {
    const seenBy = async ({ token }: Person) => (await dataApi(token, 'GET', path)).text
    const personal = [ana.email, 'Potter', 'Alcoutim', `"profile_id":${ana.profileId},`]
    const shared = ['Is the room free?', 'Stone room', `"local_id":${ben.id},`]
    const shown = (text: string, secrets: string[]) => secrets.filter((secret) => text.includes(secret))
    expect(shown(await seenBy(ana), [...personal, ...shared])).not.toEqual([])
    expect(shown(await seenBy(ben), personal)).toEqual([])
    expect(shown(await seenBy(cat), [...personal, ...shared])).toEqual([])
  })

  test('a participant reads a message with its conversation', async () => {
    const { data } = await clients.participant.from('messages').select('*,conversations(*)')
    const pair = { id: conversation, voyager_id: ana.id, local_id: ben.id }
    expect(data).toMatchObject([{ id: message, conversations: pair }])
  })

  test('anyone can read interests; the anonymous role reads nothing else', async () => {
    const { data } = await clients.anonymous.from('interests').select('*')
    expect(data!.length).toBeGreaterThan(50)
    const tables = [
      ...['users', 'profiles', 'profile_interests', 'conversations', 'messages', 'reservations'],
      'reservation_history',
    ]
    for (const table of tables) {
      const { data, error } = await clients.anonymous.from(table).select('*')
      expect({ table, data }).toEqual({ table, data: null })
      expect(error).not.toBeNull()
    }
  })
})

describe.each(['participant', 'outsider', 'anonymous'] as const)('as %s, the Data API does not', (who) => {
  const rows = (): Record<string, [id: number, row: object]> => ({
    conversations: [conversation, { voyager_id: cat.id, local_id: ben.id }],
    messages: [message, { conversation_id: conversation, user_id: ana.id, content: 'Forged', read: true }],
    reservations: [reservation, {
      conversation_id: conversation,
      title: 'F',
      price: 0,
      date: '2026-06-01',
      status: 'accepted',
    }],
    reservation_history: [history, { reservation_id: reservation, conversation_id: conversation, note: 'Forged' }],
  })

  test.each(['conversations', 'messages', 'reservations', 'reservation_history'])('write %s', async (table) => {
    const before = await everyRow()
    const [id, row] = rows()[table]!
    const attempts = () => [
      clients[who].from(table).insert(row),
      clients[who].from(table).insert(row).select(),
      clients[who].from(table).upsert(row).select(),
      clients[who].from(table).update(row).eq('id', id).select(),
      clients[who].from(table).delete().eq('id', id).select(),
      ...Object.entries(row).map(([column, value]) =>
        clients[who].from(table).update({ [column]: value }).eq('id', id)
      ),
    ]
    for (const attempt of attempts()) expect((await attempt).error).not.toBeNull()
    expect(await everyRow()).toEqual(before)
  })

  test.each([
    ['users', 'role', 'admin'],
    ['users', 'is_active', false],
    ['users', 'email', 'other@example.com'],
    ['users', 'auth_id', null],
    ['users', 'id', 1_000_000],
    ['users', 'created_at', '2020-01-01T00:00:00Z'],
    ['profiles', 'user_id', 1_000_000],
    ['profiles', 'id', 1_000_000],
  ])('change %s.%s, alone or beside a permitted column', async (table, column, value) => {
    const id = table === 'users' ? ana.id : ana.profileId
    const before = await rowOf(table, id)
    const allowed = table === 'users' ? { bio: 'Forged' } : { city: 'Forged' }
    for (const change of [{ [column]: value }, { ...allowed, [column]: value }]) {
      expect((await clients[who].from(table).update(change).eq('id', id).select()).error).not.toBeNull()
    }
    expect(await rowOf(table, id)).toEqual(before)
  })

  test('create or delete users and profiles', async () => {
    const client = clients[who]
    const user = { name: 'Forged', email: uniqueEmail(), role: 'admin' }
    expect((await client.from('users').insert(user)).error).not.toBeNull()
    expect((await client.from('profiles').insert({ user_id: ana.id })).error).not.toBeNull()
    expect((await client.from('profiles').upsert({ user_id: ana.id, city: 'Forged' })).error).not.toBeNull()
    expect((await client.from('users').delete().eq('id', ana.id)).error).not.toBeNull()
    expect((await client.from('profiles').delete().eq('id', ana.profileId)).error).not.toBeNull()
    expect((await client.from('interests').insert({ name: 'Forgery' })).error).not.toBeNull()
    expect((await asAdmin('GET', `users?email=eq.${user.email}`)).body).toEqual([])
    expect(await rowOf('profiles', ana.profileId)).toMatchObject({ user_id: ana.id, city: 'Alcoutim' })
  })

  test.each(['api', 'private', 'auth', 'pg_catalog', 'information_schema', 'supabase_migrations'])(
    'expose the schema %s',
    async (schema) => {
      const tables = {
        auth: 'users',
        private: 'idempotent_replies',
        pg_catalog: 'pg_roles',
        information_schema: 'tables',
      }
      const table = tables[schema as keyof typeof tables] ?? 'schema_migrations'
      expect(await clients[who].schema(schema).from(table).select('*')).toMatchObject({ data: null, status: 406 })
      const { error, data } = await clients[who].schema(schema).rpc('get_me')
      expect({ data, failed: error !== null }).toEqual({ data: null, failed: true })
    },
  )

  test.each([
    ['get_me', {}],
    ['get_public_profile', { profile: 1 }],
    ['update_profile', { changes: {} }],
    ['open_conversation', { other_user: 1 }],
    ['send_message', { conversation: 1, draft: {} }],
    ['act_as', { claims: {}, strict: false }],
    ['my_id', {}],
    ['find_me', {}],
    ['set_config', { setting_name: 'role', new_value: 'postgres', is_local: false }],
    ['set_config', { setting_name: 'api.caller', new_value: '1', is_local: false }],
  ])('call the function %s', async (name, parameters) => {
    expect(await clients[who].rpc(name, parameters)).toMatchObject({ data: null, status: 404 })
    expect((await clients[who].schema('api').rpc(name, parameters)).status).toBe(406)
  })
})

describe('writing', () => {
  test('users change permitted columns, and no filter reaches the rows of others', async () => {
    const client = clients.outsider
    const before = await rowOf('users', ana.id)
    const user = { name: 'Catherine', bio: 'Sailor', location: 'Harbour' }
    expect((await client.from('users').update(user).gt('id', 0).select()).data).toMatchObject([{ id: cat.id, ...user }])
    const person = { first_name: 'Cat', last_name: 'L', age: 30, biography: 'Sails', country: 'Malta', city: 'Sliema' }
    const profile = { ...person, image_url: 'https://example.com/cat.png', is_searchable: true }
    const { data } = await client.from('profiles').update(profile).gt('id', 0).select()
    expect(data).toEqual([{ id: cat.profileId, user_id: cat.id, ...profile }])
    expect((await client.from('users').update(user).eq('id', ana.id).select()).data).toEqual([])
    expect(await rowOf('users', ana.id)).toEqual(before)
    expect((await cat.call('GET', '/users/me')).body).toMatchObject({ ...user, Profile: profile })
  })

  test.each([
    ['users', { name: '' }],
    ['users', { bio: 'x'.repeat(501) }],
    ['profiles', { age: 17 }],
    ['profiles', { image_url: 'http://example.com/a.png' }],
    ['profiles', { image_url: 'https://x"onerror=alert(1)' }],
    ['profiles', { image_url: 'https://user:secret@example.com/a.png' }],
    ['profiles', { biography: 'x'.repeat(5001) }],
  ])('the constraints of %s apply: %j', async (table, change) => {
    expect((await clients.outsider.from(table).update(change).gt('id', 0)).error).not.toBeNull()
  })

  test('users add and remove up to 50 interests of their own, and none of others', async () => {
    const { data: interests } = await clients.outsider.from('interests').select('id').limit(51)
    const mine = interests!.map(({ id }) => ({ profile_id: cat.profileId, interest_id: id }))
    const own = clients.outsider.from('profile_interests')
    expect((await own.insert(mine)).error).not.toBeNull()
    expect((await own.insert(mine.slice(0, 50))).error).toBeNull()
    expect((await own.insert(mine[50]!)).error).not.toBeNull()
    expect((await own.delete().gt('interest_id', 0).select()).data).toHaveLength(50)
    expect((await own.insert({ profile_id: ana.profileId, interest_id: interests![5]!.id })).error).not.toBeNull()
    const { body } = await ana.call('GET', '/users/me')
    expect(body.Profile.Interests).toMatchObject([{ id: interest }])
  })
})

describe('as on the platform', () => {
  const everyone = (): [string, Record<string, string>][] => [
    ['a participant', { apikey: publishableKey, Authorization: `Bearer ${ana.token}` }],
    ['an anonymous caller', { apikey: publishableKey }],
    ['an admin', { apikey: secretKey }],
  ]
  const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    call(method, `${origin}/rest/v1/${path}`, body, { headers })

  test('nobody changes or deletes rows without a filter', async () => {
    for (const [who, headers] of everyone()) {
      for (const [method, statement] of [['PATCH', 'UPDATE'], ['DELETE', 'DELETE']] as const) {
        for (const path of ['users', 'users?select=id', 'users?limit=1&order=id', `users?apikey=${publishableKey}`]) {
          const body = method === 'PATCH' ? { bio: 'Everybody' } : undefined
          const answer = await send(method, path, headers, body)
          expect({ who, path, status: answer.status, body: answer.body }).toEqual({
            who,
            path,
            status: 400,
            body: { code: '21000', details: null, hint: null, message: `${statement} requires a WHERE clause` },
          })
        }
      }
    }
    expect((await rowOf('users', ana.id)).bio).toBe('Potter')
  })

  test('a change with a filter is made', async () => {
    const { status } = await send('PATCH', `users?id=eq.${ben.id}`, { apikey: secretKey }, { bio: 'Baker' })
    expect([status, (await rowOf('users', ben.id)).bio]).toEqual([204, 'Baker'])
  })

  test('timestamps are ISO 8601 with an offset, also embedded; texts that look like them stay', async () => {
    const iso = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$/)
    const text = '2026-11-22 04:17:56.931623+00'
    await asAdmin('PATCH', `users?id=eq.${ben.id}`, { location: text })
    const path = `conversations?id=eq.${conversation}&select=created_at,messages(created_at)`
    const { body } = await send('GET', path, { apikey: secretKey })
    expect(body).toEqual([{ created_at: iso, messages: [{ created_at: iso }] }])
    expect(await rowOf('users', ben.id)).toMatchObject({ location: text, created_at: iso })
    const reservations = await asAdmin('GET', `reservations?id=eq.${reservation}&select=date`)
    expect(reservations.body).toEqual([{ date: '2036-06-01T12:00:00+00:00' }])
    // Filters take what answers print.
    const { created_at } = await rowOf('users', ben.id)
    const found = await asAdmin(
      'GET',
      `users?created_at=eq.${encodeURIComponent(created_at)}&id=eq.${ben.id}&select=id`,
    )
    expect(found.body).toEqual([{ id: ben.id }])
  })
})
