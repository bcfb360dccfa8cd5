import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asAdmin,
  call,
  dataApi,
  openConversation,
  type Person,
  sendMessage,
  signUp,
  uniqueEmail,
} from '../tools/people.ts'
import { errorOf, expectError, resultOf } from '../tools/responses.ts'
import { runScript } from '../tools/run_script.ts'
import { namesOf, searchIn, uniqueCity } from '../tools/search.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'

const erase = (who: Person) => who.call('DELETE', '/users/me')

let ana: Person, ben: Person
let conversation: number
beforeEach(async () => {
  ;[ana, ben] = await Promise.all([signUp('Ana', { bio: 'Sea', is_searchable: true }), signUp('Ben')])
  conversation = await openConversation(ana, ben)
  await sendMessage(ana, conversation, 'From Ana')
  await sendMessage(ben, conversation, 'From Ben')
})

test('erasing ends tokens, log-in and the public profile', async () => {
  const { body: session } = await call('POST', '/auth/login', { email: ana.email, password: ana.password })
  const publicView = await call('GET', `/users/${ana.profileId}`)
  expect({ status: publicView.status, cached: publicView.headers.get('Cache-Control') })
    .toEqual({ status: 200, cached: 'public, max-age=3600' })

  const { status, text } = await erase(ana)
  expect({ status, text }).toEqual({ status: 204, text: '' })
  expectError(await erase(ana), 401)
  // tests/attack/matrix.test.ts calls every route.
  for (
    const [method, path, body] of [['GET', '/conversations'], ['PATCH', '/users/profile', { name: 'Back' }]] as const
  ) {
    for (const token of [ana.token, session.access_token]) {
      const answer = await call(method, path, body, { token })
      expect({ path, ...resultOf(answer) }).toEqual({ path, ...errorOf(401) })
      expect(answer.headers.get('WWW-Authenticate')).toContain('invalid_token')
    }
  }
  expectError(await call('POST', '/auth/refresh', { refresh_token: session.refresh_token }), 401)
  expectError(await call('POST', '/auth/login', { email: ana.email, password: ana.password }), 401)
  for (const table of ['users', 'profiles', 'conversations', 'messages']) {
    expect((await dataApi(ana.token, 'GET', table)).body ?? []).not.toContainEqual(expect.anything())
  }

  const tag = publicView.headers.get('ETag')!
  for (const headers of [{}, { 'If-None-Match': tag }] as Record<string, string>[]) {
    const after = await call('GET', `/users/${ana.profileId}`, undefined, { headers })
    expectError(after, 404)
    expect(after.headers.get('Cache-Control')).toBe('no-store')
  }
})

test('the partner keeps the conversation and its messages, from "Deleted user"', async () => {
  await erase(ana)
  const [listed] = (await ben.call('GET', '/conversations')).body
  expect(listed).toMatchObject({ id: conversation, Voyager: { id: ana.id, name: 'Deleted user', email: '' } })
  const { body } = await ben.call('GET', `/conversations/${conversation}/messages?order=asc`)
  expect(body).toMatchObject([
    { content: 'From Ana', Sender: { id: ana.id, name: 'Deleted user' } },
    { content: 'From Ben', Sender: { id: ben.id, name: 'Ben' } },
  ])
  expect((await ben.call('GET', `/conversations/${conversation}`)).body.Voyager.name).toBe('Deleted user')
  expect((await ben.call('GET', '/users/me/export')).text).not.toContain(ana.email)
  expectError(await (await signUp('Cleo')).call('POST', '/conversations', { other_user_id: ana.id }), 404)
})

test('an erased user is in no search results', async () => {
  const city = uniqueCity('Goneville')
  await ana.call('PATCH', '/users/profile', { city, name: 'Findable', biography: 'I climb mountains' })
  const find = searchIn(city)
  const ways: Record<string, string>[] = [{}, { q: 'Findable' }, { q: 'climb mountains' }]
  for (const parameters of ways) expect(namesOf(await find(parameters))).toEqual(['Findable'])
  await erase(ana)
  for (const parameters of ways) {
    expect((await find(parameters)).body.estimatedTotalHits).toBe(0)
  }
  // A search treats their token as no token.
  expect((await find({}, ana.token)).status).toBe(200)
})

test('other users are unchanged, and the erased user leaves all block lists', async () => {
  const cleo = await signUp('Cleo')
  await cleo.call('PUT', `/users/me/blocks/${ana.id}`)
  await cleo.call('PUT', `/users/me/blocks/${ben.id}`)
  const before = await ben.call('GET', '/users/me')
  await erase(ana)
  expect(resultOf(await ben.call('GET', '/users/me'))).toEqual(resultOf(before))
  expect((await cleo.call('GET', '/users/me/blocks')).body).toMatchObject([{ user_id: ben.id }])
  expectError(await cleo.call('PUT', `/users/me/blocks/${ana.id}`), 404)
})

test('the e-mail address can sign up again as a new account', async () => {
  await erase(ana)
  const { status, body } = await call('POST', '/auth/signup', {
    email: ana.email,
    password: 'another horse',
    name: 'New',
  })
  expect({ status, name: body.user.name }).toEqual({ status: 201, name: 'New' })
  expect(body.user.id).not.toBe(ana.id)
  expect((await call('GET', '/conversations', undefined, { token: body.access_token })).body).toEqual([])
  expect((await call('GET', '/users/me', undefined, { token: ana.token })).status).toBe(401)
})

test('of concurrent requests to erase one account, one succeeds', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => erase(ana)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, ...Array<number>(7).fill(401)])
})

test('sending to an erased user fails as after a block; retries of earlier messages are replayed', async () => {
  const path = `/conversations/${conversation}/messages`
  const draft = { content: 'Bye', client_id: crypto.randomUUID() }
  const sent = await ben.call('POST', path, draft)
  await erase(ana)
  expect(resultOf(await ben.call('POST', path, { content: 'Still there?' })))
    .toEqual({ status: 403, body: { error: 'You cannot write to this person' } })
  expect((await ben.call('POST', path, draft)).text).toBe(sent.text)
  expect((await ben.call('GET', path)).body).toHaveLength(3)
  expect(resultOf(await ben.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: sent.body.id })))
    .toEqual({ status: 200, body: { success: true } })
})

test('a deactivated user still receives messages', async () => {
  await asAdmin('PATCH', `users?id=eq.${ana.id}`, { is_active: false })
  const { status } = await ben.call('POST', `/conversations/${conversation}/messages`, { content: 'Until then' })
  expect(status).toBe(201)
  await asAdmin('PATCH', `users?id=eq.${ana.id}`, { is_active: true })
  expect((await ana.call('GET', `/conversations/${conversation}/messages?limit=1`)).body)
    .toMatchObject([{ content: 'Until then' }])
})

test('not even an admin can restore the fields of an erased account', async () => {
  await erase(ana)
  for (
    const fields of [{ name: 'Ana' }, { email: ana.email }, { bio: 'Sea' }, { location: 'Sea' }, { is_active: true }]
  ) {
    await expect(asAdmin('PATCH', `users?id=eq.${ana.id}`, fields)).rejects.toThrow('an erased account holds nothing')
  }
})

test('hiding a profile takes effect at once, also for clients with its ETag', async () => {
  const tag = (await call('GET', `/users/${ana.profileId}`)).headers.get('ETag')!
  const again = () => call('GET', `/users/${ana.profileId}`, undefined, { headers: { 'If-None-Match': tag } })
  expect((await again()).status).toBe(304)
  await ana.call('PATCH', '/users/profile', { city: 'Elsewhere' })
  expect((await again()).status).toBe(200)
  await ana.call('PATCH', '/users/searchable', { is_searchable: false })
  const hidden = await again()
  expect({ ...resultOf(hidden), cached: hidden.headers.get('Cache-Control') })
    .toEqual({ ...errorOf(403), cached: 'no-store' })
})

describe('the data of an erased user', () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'stack-'))
  afterAll(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const databaseUrl = process.env.TEST_DATABASE_URL
  const env: Record<string, string> = databaseUrl ? { DATABASE_URL: databaseUrl } : { DATA_DIR }
  const mark = `${process.pid}x${Date.now()}`
  const canary = (word: string) => `${word}${mark}`

  const within = async <Result>(work: (base: string) => Promise<Result>): Promise<Result> => {
    const { base, process: stack } = await startStack(env)
    try {
      return await work(base)
    } finally {
      await stopStack(stack)
    }
  }
  const scan = (words: string[]): Promise<{ table: string; column: string; word: string }[]> =>
    runScript('tests/tools/scan.ts', words, env)

  test(
    'is in no column of any table, of ours or of Auth, except messages to others, reservations and evidence',
    async () => {
      const mail = (word: string) => `${canary(word)}@example.com`
      const given = {
        name: canary('name'),
        bio: `A ${canary('bio')}`,
        location: canary('location'),
        first_name: canary('first'),
        last_name: canary('last'),
        biography: `Likes ${canary('biography')} and ${canary('more')}, "${canary('quoted')}".`,
        city: canary('city'),
        country: canary('country'),
        image_url: `https://${canary('host')}.example.com/${canary('path')}?${canary('query')}`,
      }
      const kept = canary('written')
      const [title, note] = [canary('offered'), canary('noted')]
      const accusation = canary('accused')
      const account = { email: mail('first-address'), password: canary('password') }
      let token = ''
      let conversationId = 0
      await within(async (base) => {
        const origin = new URL(base).origin
        const request = async (method: string, path: string, body?: unknown, headers = {}) => {
          const answer = await call(method, path.startsWith('/auth/v1') ? origin + path : base + path, body, {
            headers: { apikey: testKeys.publishableKey, ...headers },
            token,
          })
          expect({ path, ok: answer.status < 300 }).toEqual({ path, ok: true })
          return answer.body
        }
        // Directly to Auth, as supabase-js does, which accepts more fields than POST /auth/signup.
        const data = { name: canary('old-name'), nickname: canary('nickname'), profile: { bio: canary('old-bio') } }
        token = (await request('POST', '/auth/v1/signup', { ...account, data })).access_token
        const { body: partner } = await call('POST', `${base}/auth/signup`, {
          email: uniqueEmail(),
          password: account.password,
          name: 'Partner',
        })
        const { id } = await request('POST', '/conversations', { other_user_id: partner.user.id })
        conversationId = id
        // Sent under a name that changes later; the stored first response contains the old one.
        await request('POST', `/conversations/${id}/messages`, { content: kept, client_id: crypto.randomUUID() })
        const draft = { title, price: 5, date: '2036-01-01T10:00:00Z', client_id: crypto.randomUUID() }
        const reservation = await request('POST', `/conversations/${id}/reservations`, draft)
        await request('POST', `/conversations/${id}/reservations/${reservation.id}/cancel`, { note })
        await request('POST', '/users/me/reports', {
          user_id: partner.user.id,
          reason: 'other',
          note: accusation,
          share_messages: true,
          client_id: crypto.randomUUID(),
        })
        await request('PATCH', '/users/profile', { ...given, is_searchable: true, interest_ids: [1, 2] })
        const { body: other } = await call('POST', `${base}/users`, { email: uniqueEmail(), name: 'Other' })
        await request('PUT', `/users/me/blocks/${other.id}`)
        await request('POST', '/auth/login', account, { 'User-Agent': canary('browser') })
        await request('PUT', '/auth/v1/user', { data: { motto: canary('motto') } })
        await request('PUT', '/auth/v1/user', { email: mail('second-address') })
        await request('POST', '/auth/recover', { email: account.email })
        await request('GET', `/users/search?q=${canary('searched')}`, undefined, { 'X-Forwarded-For': canary('from') })
      })

      const words = [
        ...['name', 'old-name', 'bio', 'old-bio', 'location', 'first', 'last', 'biography', 'more', 'quoted', 'city'],
        ...['country', 'host', 'path', 'query', 'first-address', 'second-address', 'nickname', 'motto', 'password'],
        ...['browser', 'searched', 'from'],
      ].map(canary)
      const before = await scan([...words, kept, title, note, accusation])
      const found = new Set(before.map(({ word }) => word))
      // Some are never stored; finding the others proves that the scan works, and where.
      const nowhere = ['password', 'browser', 'searched', 'from'].map(canary)
      expect(words.filter((word) => !found.has(word)).toSorted()).toEqual(nowhere.toSorted())
      const tables = new Set(before.map(({ table }) => table))
      for (
        const table of [
          ...['public.users', 'public.profiles', 'public.messages', 'private.idempotent_replies'],
          ...['private.search_entries', 'private.search_words', 'private.search_lexicon', 'auth.users'],
          ...['auth.audit_log_entries', 'private.stored_replies', 'public.reports', 'private.report_evidence'],
        ]
      ) expect(tables).toContain(table)

      await within(async (base) => {
        // Messages sent concurrently must not leave the name behind either.
        const sends = Array.from(
          { length: 10 },
          () =>
            call('POST', `${base}/conversations/${conversationId}/messages`, {
              content: 'Bye',
              client_id: crypto.randomUUID(),
            }, {
              token,
            }),
        )
        const erasing = call('DELETE', `${base}/users/me`, undefined, { token })
        const [erased, ...sent] = await Promise.all([erasing, ...sends])
        expect(erased!.status).toBe(204)
        for (const { status } of sent) expect([201, 401, 404]).toContain(status)
      })
      expect(await scan(words)).toEqual([])
      // The local Realtime keeps followed rows for an hour, as they were broadcast.
      const left = (await scan([kept])).filter(({ table }) => table !== 'local_realtime.changes')
      expect(left.toSorted((one, other) => one.table < other.table ? -1 : 1)).toEqual([
        // For 180 days (tests/db/reports/retention.test.sql).
        { table: 'private.report_evidence', column: 'content', word: kept },
        { table: 'public.messages', column: 'content', word: kept },
      ])
      expect(await scan([accusation])).toEqual([{ table: 'public.reports', column: 'note', word: accusation }])
      const agreed = await scan([title, note])
      expect(new Set(agreed.map(({ table, column, word }) => `${table}.${column} ${word}`))).toEqual(
        new Set([
          `public.reservations.title ${title}`,
          `public.reservation_history.title ${title}`,
          `public.reservation_history.note ${note}`,
        ]),
      )
    },
    240_000,
  )
})
