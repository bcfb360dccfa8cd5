/** Every role on every table, column and function of the Data API. */
import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { type Answer, call, dataApi } from '../tools/people.ts'
import type { Subject } from '../tools/example_requests.ts'
import { createFixture, disclosures, type Fixture, roles, type Row, rowsOf, snapshot } from './fixture.ts'

const { origin, publishableKey } = inject('stack')
const types = readFileSync('functions/_shared/database.types.ts', 'utf8')
/** The tables and views, with their columns. */
const tables = [...types.matchAll(/^ {6}(\w+): \{\n {8}Row: \{\n((?: {10}.*\n)+)/gm)].map(([, name, columns]) => ({
  name: name!,
  columns: [...columns!.matchAll(/^ {10}(\w+):/gm)].map(([, column]) => column!),
}))
const exampleOf = (type: string) => type === 'number' ? 1 : type === 'boolean' ? true : 'x'
/** The functions, with arguments of their types. */
const functions = [...types.matchAll(/^ {6}(\w+): \{\s+Args: (?:Record<|\{([^}]*))/gm)].map(([, name, args = '']) => ({
  name: name!,
  args: Object.fromEntries([...args.matchAll(/(\w+)\??: (\w+)/g)].map(([, arg, type]) => [arg, exampleOf(type!)])),
}))
const schema = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.sql'))
  .map((path) => readFileSync(`sql/schema/${path}`, 'utf8')).join('\n')
/** The functions of the other schemas. */
const hidden = [...schema.matchAll(/^create function (?:api|private)\.(\w+)/gm)].map(([, name]) => name!)

const keys: Record<string, string> = {
  profile_interests: 'interest_id',
  hidden_profiles: 'user_id',
  moderation_queue: 'report',
}

/** Not granted, a view, an identity. */
const writeErrors = '42501|55000|428C9'

let fixture: Fixture
let rows: Record<string, Row[]>
let before: Awaited<ReturnType<typeof snapshot>>
beforeAll(async () => {
  fixture = await createFixture()
  rows = await rowsOf(fixture)
  before = await snapshot(fixture)
})

/** The rows that an active user reads; nobody reads any of the tables that are not here. */
const isOfTheirs = ({ conversation_id }: Row, me: Subject): boolean =>
  rows.conversations!.some((row) => row.id === conversation_id && visible.conversations!(row, me))
const visible: Record<string, (row: Row, me: Subject) => boolean> = {
  users: ({ id }, { user }) => id === user,
  profiles: ({ user_id }, { user }) => user_id === user,
  profile_interests: ({ profile_id }, { profile }) => profile_id === profile,
  conversations: ({ voyager_id, local_id }, { user }) => voyager_id === user || local_id === user,
  messages: isOfTheirs,
  reservations: isOfTheirs,
  reservation_history: isOfTheirs,
}
const sorted = (list: unknown[]) => list.map((row) => JSON.stringify(row)).toSorted()

test('the catalogue was read', () => {
  expect(Object.keys(rows).filter((name) => !tables.some((table) => table.name === name))).toEqual([])
  expect([tables.length > 11, functions.length > 7, hidden.length > 150]).toEqual([true, true, true])
})

describe.each(roles)('as %s', (role) => {
  const send = async (method: string, path: string, body?: unknown) => {
    const token = role === 'anonymous' ? undefined : fixture.people[role].token
    const answer = await dataApi(token, method, path, body)
    // PostgREST's own errors name tables and policies.
    const leaks = disclosures(role, answer, fixture).filter((one) => one.startsWith('leaks'))
    expect({ method, path, leaks }).toEqual({ method, path, leaks: [] })
    return answer
  }
  const isUser = role === 'voyager' || role === 'local' || role === 'outsider'
  const isOwn = (name: string, row: Row): boolean => isUser && (visible[name]?.(row, fixture.subjects[role]) ?? false)
  const expectDenied = ({ status, body }: Answer, what: object, codes = '42501') =>
    expect({ ...what, isRefused: status >= 400, code: body?.code })
      .toEqual({ ...what, isRefused: true, code: expect.stringMatching(new RegExp(`^(${codes})$`)) })

  test.each(tables)('reads exactly the permitted rows of $name and writes none', async ({ name, columns }) => {
    const filter = `${keys[name] ?? 'id'}=gt.0`
    const all = rows[name] ?? []
    const own = all.filter((row) => isOwn(name, row))
    const isDenied = role === 'anonymous' || !visible[name]
    const read = await send('GET', `${name}?select=*&limit=1000`)
    if (name === 'interests') expect(read.body.length).toBeGreaterThan(50)
    else if (isDenied) expectDenied(read, { name })
    else expect(sorted(read.body)).toEqual(sorted(own))

    for (const row of all.slice(0, 9)) {
      const { id: _, ...copy } = row
      expectDenied(await send('POST', name, copy), copy, writeErrors)
    }
    expectDenied(await send('DELETE', `${name}?${filter}`), { name }, writeErrors)
    for (const column of columns) {
      const change = await send('PATCH', `${name}?${filter}`, { [column]: (own[0] ?? all[0])?.[column] ?? null })
      expectDenied(change, { column }, writeErrors)
    }
  })

  test('can call no function, neither those for the secret key nor those that are not exposed', async () => {
    for (const { name, args } of functions) {
      expectDenied(await send('POST', `rpc/${name}`, args), { name })
    }
    for (const name of [...new Set(hidden), 'set_config']) {
      const { status, body } = await send('POST', `rpc/${name}`, {})
      expect({ name, status, code: body.code }).toEqual({ name, status: 404, code: 'PGRST202' })
    }
  })

  test('sees no other schema', async () => {
    const token = role === 'anonymous' ? undefined : fixture.people[role].token
    for (
      const schema of ['api', 'private', 'auth', 'storage', 'pg_catalog', 'information_schema', 'supabase_migrations']
    ) {
      for (const [method, path] of [['GET', 'users'], ['POST', 'rpc/get_me']]) {
        const { status, body } = await call(method!, `${origin}/rest/v1/${path}`, method === 'POST' ? {} : undefined, {
          token,
          headers: { apikey: publishableKey, 'Accept-Profile': schema, 'Content-Profile': schema },
        })
        expect({ schema, status, code: body.code }).toEqual({ schema, status: 406, code: 'PGRST106' })
      }
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
  ])('reads only what it may through %s', async (path) => {
    const { text } = await send('GET', path)
    const shown = fixture.secrets.filter((secret) => text.includes(secret.text))
    if (role === 'outsider') expect(shown).not.toEqual([])
  })

  test('has changed nothing by all that', async () => expect(await snapshot(fixture)).toEqual(before))
})
