/**
 * The Edge Functions' own apps in this process, on one connection whose transaction is rolled back after each test. A
 * line of a test is a request as a client sends it, through routing, token, validation, SQL and row level security, and
 * costs a millisecond or two. Tests can move the clock, write what admins write, and see what nobody may ask for.
 *
 * The database is PGlite, or the Postgres of DATABASE_URL. A test cannot commit, and its requests wait for each other:
 * what needs a second transaction belongs to tests/postgres, what needs Auth, Storage or Realtime to their own folders.
 */
import { SignJWT } from 'jose'
import pg from 'pg'
import { codeOf } from '../../functions/_shared/error_codes.ts'
import { openTestDatabase } from '../db/database.ts'

// Tests assert the shape.
// deno-lint-ignore no-explicit-any
export type Json = any

const secret = 'test-secret-of-at-least-32-characters'
const { rateNames } = await import('../../functions/_shared/setting_rules.ts')
const defaults: Record<string, string> = {
  JWT_SECRET: secret,
  SUPABASE_SECRET_KEY: 'sb_secret_test',
  FIRST_CONTACT_LIMIT: 'off',
  SEARCH_TIMEOUT: '5000',
  ...Object.fromEntries(rateNames.map((name) => [name, 'off'])),
}
for (const [name, value] of Object.entries(defaults)) Deno.env.set(name, value)

/** A setting of the functions for the rest of the test. */
export const setting = (name: string, value: string): void => Deno.env.set(name, value)
const environment = Deno.env.toObject()
const resetSettings = (): void => {
  for (const name of Object.keys(Deno.env.toObject())) if (!(name in environment)) Deno.env.delete(name)
  for (const [name, value] of Object.entries(environment)) if (Deno.env.get(name) !== value) Deno.env.set(name, value)
}

type Row = Record<string, unknown>
interface Connection {
  query: (text: string, values: unknown[]) => Promise<Row[]>
  run: (script: string) => Promise<unknown>
  /** Opens it again; on PGlite it cannot be lost. */
  open?: () => Promise<void>
}

const openConnection = async (): Promise<Connection> => {
  const database = await openTestDatabase()
  const url = Deno.env.get('DATABASE_URL')
  if (!url) return database
  await database.close()
  let client: pg.Client
  const open = async () => {
    client = new pg.Client(url)
    // Whoever asks next is told.
    client.on('error', () => {})
    await client.connect()
  }
  await open()
  // As functions/_shared/postgres.ts does.
  const types = { getTypeParser: () => (text: string) => text }
  const asText = (value: unknown) => value !== null && typeof value === 'object' ? JSON.stringify(value) : value
  return {
    query: async (text, values) => (await client.query({ text, values: values.map(asText), types })).rows,
    run: (script) => client.query(script),
    open,
  }
}

/** For the mutants; tests use `sql`. */
export const connection = await openConnection()

// What ends with a request's transaction must end with the request here: what SQL sets.
const ownSettings = await connection.query(
  `select distinct found[1] as name
   from pg_proc cross join regexp_matches(prosrc, 'set_config\\(''(api\\.\\w+)''', 'g') as found
   where pronamespace in ('api'::regnamespace, 'private'::regnamespace, 'public'::regnamespace)`,
  [],
)
const reset = `select ${ownSettings.map(({ name }) => `set_config('${name}', '', true)`)}`

let turn: Promise<unknown> = Promise.resolve()
let isOpen = false
/** Runs a statement as this role; one that fails leaves the transaction as it was. */
const runAs = (role: string, text: string, values: unknown[] = []): Promise<Row[]> => {
  const run = async (): Promise<Row[]> => {
    if (!isOpen) throw new Error('No test is running')
    await connection.run(`savepoint statement; ${reset}; select tests.become_role('${role}')`)
    try {
      return await connection.query(text, values)
    } catch (error) {
      await connection.run('rollback to statement')
      throw error
    } finally {
      // The time limit of anonymous callers would end the test.
      await connection.run(`release statement; set local transaction_timeout = 0; select tests.become_role('none')`)
    }
  }
  const result = turn.then(run)
  turn = result.catch(() => {})
  return result
}

const { provideQuery } = await import('../../functions/_shared/rpc.ts')
provideQuery((text, values) => runAs('edge_functions', text, values))
/** The functions continue some work after the answer; a request of a test waits for it. */
const background: Promise<unknown>[] = []
Object.assign(globalThis, { EdgeRuntime: { waitUntil: (work: Promise<unknown>) => background.push(work) } })

const apps: Record<string, { fetch: (request: Request) => Response | Promise<Response> }> = {}
for (const name of ['conversations', 'users', 'embed', 'health']) {
  apps[name] = (await import(`../../functions/${name}/index.ts`)).default
}

export class Failure extends Error {}
const show = (value: unknown): string => JSON.stringify(value) ?? 'undefined'
/** Where a value is not as expected. Objects may have further fields; lists and, with `isExact`, objects may not. */
const difference = (actual: Json, expected: Json, isExact: boolean, path = ''): string | null => {
  if (expected instanceof RegExp) return expected.test(actual) ? null : `${path}: ${show(actual)} is not ${expected}`
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
    return Object.is(actual, expected) ? null : `${path}: ${show(actual)} is not ${show(expected)}`
  }
  const [own, wanted] = [Object.keys(actual), Object.keys(expected)]
  if ((isExact || Array.isArray(expected)) && own.length !== wanted.length) {
    return `${path}: ${show(actual)} has not just ${show(expected)}`
  }
  for (const key of wanted) {
    if (!Object.hasOwn(actual, key)) return `${path}: ${show(actual)} has no ${key}`
    const found = difference(actual[key], expected[key], isExact, `${path}.${key}`)
    if (found) return found
  }
  return null
}

let assertions = 0
const assert = (found: string | null, what: string): void => {
  assertions++
  if (found) throw new Failure(`${what}${found}`)
}
/** Objects may have more fields than are expected; a list has just what is expected; a pattern matches text. */
export const is = (actual: Json, expected: Json, what = ''): void => assert(difference(actual, expected, false), what)
/** As is, and no object has another field. */
export const equal = (actual: Json, expected: Json, what = ''): void => assert(difference(actual, expected, true), what)

export const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()

export type Answer = { status: number; body: Json; text: string; headers: Headers }
/** A part of the body, or a part of the error's text. */
type Expected = Json | string
type HeaderFields = Record<string, string>

/** A request with this token. Waits for what the function does after its answer. */
const send = async (token: string | null, method: string, path: string, body?: unknown, headers: HeaderFields = {}) => {
  const request = new Request(`http://127.0.0.1:54321${path}`, {
    method,
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const answer = await apps[/\w+/.exec(path)![0]]!.fetch(request)
  const text = await answer.text()
  while (background.length > 0) await background.pop()
  const isJson = answer.headers.get('Content-Type')?.includes('json') && text !== ''
  return { status: answer.status, body: isJson ? JSON.parse(text) : null, text, headers: answer.headers } as Answer
}

/** Refusals whose code is not the general one of their status. Only who has blocked the other reads that. */
const ownCodes: [text: RegExp, code: string | RegExp][] = [
  [/you cannot (have|pin|block) more than/, 'too_many'],
  [/^This account is deactivated/, 'deactivated'],
  [/^You cannot write to this person/, /^(blocked|forbidden)$/],
  [/until this person has answered$/, 'first_contact_limit'],
  [/^This profile is not public/, 'not_public'],
  [/^An administrator has hidden this profile/, 'hidden'],
  [/^A conversation with this user already exists/, 'already_open'],
  [/^An account with this/, 'email_taken'],
  [/^This offer has changed/, 'stale_revision'],
  [/^The host has another reservation/, 'overlap'],
]

/**
 * A caller. Each method sends a request and checks its answer: the status, then a part of the body or of the error, and
 * the code that belongs to that error.
 */
export class Caller {
  constructor(readonly name: string, readonly token: string | null) {}
  ask = (method: string, path: string, body?: unknown, headers?: HeaderFields): Promise<Answer> =>
    send(this.token, method, path, body, headers)
  async expect(
    method: string,
    path: string,
    body: unknown,
    status: number,
    expected?: Expected,
    headers?: HeaderFields,
  ) {
    const answer = await this.ask(method, path, body, headers)
    const what = `${this.name} ${method} ${path} ${show(body)} → ${answer.status} ${answer.text.slice(0, 300)}: `
    is(answer.status, status, what)
    if (status >= 400) {
      is(typeof answer.body?.error, 'string', what)
      const [, code] = ownCodes.find(([text]) => text.test(answer.body.error)) ?? [null, codeOf(status)]
      is(answer.headers.get('X-Error-Code'), code, what)
    }
    if (typeof expected === 'string') {
      is(String(answer.body?.error).includes(expected), true, `${what}not “${expected}” `)
    } else if (expected !== undefined) is(answer.body, expected, what)
    return answer.body
  }
  get = (path: string, status = 200, expected?: Expected, headers?: HeaderFields): Promise<Json> =>
    this.expect('GET', path, undefined, status, expected, headers)
  post = (path: string, body: unknown, status: number, expected?: Expected, headers?: HeaderFields): Promise<Json> =>
    this.expect('POST', path, body, status, expected, headers)
  patch = (path: string, body: unknown, status = 200, expected?: Expected): Promise<Json> =>
    this.expect('PATCH', path, body, status, expected)
  put = (path: string, body: unknown, status: number, expected?: Expected): Promise<Json> =>
    this.expect('PUT', path, body, status, expected)
  delete = (path: string, status = 204, expected?: Expected): Promise<Json> =>
    this.expect('DELETE', path, undefined, status, expected)
}
export class Person extends Caller {
  constructor(name: string, token: string, readonly id: number, readonly profileId: number, readonly auth: string) {
    super(name, token)
  }
}
export const anonymous = new Caller('anonymous', null)

/** Rows of a statement of the owner, or of another role; integers as numbers, a row of one column as its value. */
export const sql = async (statement: string, values: unknown[] = [], role = 'none'): Promise<Json[]> =>
  (await runAs(role, statement, values)).map((row) => {
    const list = Object.values(row).map((value) => {
      const isInteger = typeof value === 'bigint' || (typeof value === 'string' && /^-?\d{1,15}$/.test(value))
      return isInteger ? Number(value) : value === 't' ? true : value === 'f' ? false : value
    })
    return list.length === 1 ? list[0] : list
  })
/** As an admin in the dashboard. */
export const asAdmin = (statement: string, values: unknown[] = []): Promise<Json[]> =>
  sql(statement, values, 'service_role')
/** Every one of these statements is refused, with this SQLSTATE and part of the message. */
export const refuses = async (code: string, text: string, statements: string[], role = 'none'): Promise<void> => {
  for (const statement of statements) {
    const error = await runAs(role, statement).then(() => null, (error) => error)
    const found = `${error?.code} ${error?.message}`
    is(found.startsWith(code) && found.includes(text), true, `${statement} → ${found}: `)
  }
}
export const allows = async (statements: string[], role = 'none'): Promise<void> => {
  for (const statement of statements) is(await sql(statement, [], role).then(() => 'done', String), 'done', statement)
}
/** Moves the clock of reservations and reports for the rest of the test; '2 days'. */
export const passTime = (ahead: string): Promise<Json[]> => sql(`select tests.pass_time('${ahead}')`)
/** Runs a job of the schedule. */
export const runJob = async (name: string): Promise<Json[]> =>
  sql((await sql('select command from private.list_jobs() where name = $1', [name]))[0])

/** A token as Auth signs it, for the account with this id. */
export const tokenOf = (sub: string): Promise<string> =>
  new SignJWT({ sub, role: 'authenticated' }).setProtectedHeader({ alg: 'HS256' }).setAudience('authenticated')
    .setExpirationTime('1h').sign(new TextEncoder().encode(secret))
/** A new user with this name and fields of PATCH /users/profile. */
export const person = async (name: string, fields?: Record<string, unknown>): Promise<Person> => {
  const [id] = await sql('select tests.make_person($1)', [name])
  const [[auth, profileId]] = await sql(
    `select users.auth_id, profiles.id from public.users join public.profiles on user_id = users.id
     where users.id = $1`,
    [id],
  )
  const made = new Person(name, await tokenOf(auth), id, profileId, auth)
  if (fields) await made.patch('/users/profile', fields)
  return made
}
export const people = async <Names extends string[]>(...names: Names): Promise<{ [K in keyof Names]: Person }> => {
  const made: Person[] = []
  for (const name of names) made.push(await person(name))
  return made as { [K in keyof Names]: Person }
}
/** Opens a conversation, of which the first is the voyager, and returns its path. */
export const talk = async (voyager: Person, local: Person): Promise<string> =>
  `/conversations/${(await voyager.post('/conversations', { other_user_id: local.id }, 201)).id}`
export const idOf = (path: string): number => Number(path.split('/').at(-1))

export type Result = { file: string; name: string; error: string | null; assertions: number }
type Test = { file: string; name: string; run: () => void | Promise<void> }
const tests: Test[] = []
let file = ''
/** A rule: a sentence about people, and what they ask for. */
export const test = (name: string, run: Test['run']): void => void tests.push({ file, name, run })
interface Options {
  isWanted?: (test: Test) => boolean
  /** In a savepoint of the transaction that is open, until the first failure: for mutants. */
  isInside?: boolean
  /** Fails a test that takes longer: for mutants that never end. */
  milliseconds?: number
  /** Called after each test, to look at its transaction. */
  inspect?: (test: Test) => Promise<void>
}

/** Runs the tests, each in a transaction that is rolled back. */
export const runTests = async (options: Options = {}): Promise<Result[]> => {
  const { isWanted = () => true, isInside = false, milliseconds, inspect } = options
  const results: Result[] = []
  for (const one of tests.filter(isWanted)) {
    const before = assertions
    await connection.run(isInside ? 'savepoint test' : 'begin')
    isOpen = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const limit = new Promise<never>((_, reject) => {
      if (milliseconds) timer = setTimeout(() => reject(new Failure('does not end')), milliseconds)
    })
    const error = await Promise.race([Promise.resolve().then(one.run), limit]).then(
      () => null,
      (error) => error instanceof Failure ? error.message : String(error?.stack ?? error),
    )
    clearTimeout(timer)
    while (background.length > 0) await background.pop()
    isOpen = false
    await turn
    if (!error) await inspect?.(one)
    await connection.run(isInside ? 'rollback to test' : 'rollback')
    resetSettings()
    // A test without an assertion cannot fail.
    results.push({
      file: one.file,
      name: one.name,
      error: error ?? (assertions === before ? 'asserts nothing' : null),
      assertions: assertions - before,
    })
    if (error && isInside) break
  }
  return results
}
/** The files of rules, loaded in the order of their names. */
export const loadRules = async (files?: string[]): Promise<void> => {
  const here = new URL('./', import.meta.url)
  const all = [...Deno.readDirSync(here)].map(({ name }) => name).filter((name) => name.endsWith('.rules.ts')).sort()
  for (const name of all.filter((name) => !files?.length || files.some((one) => name.startsWith(one)))) {
    file = name.replace('.rules.ts', '')
    await import(new URL(name, here).href)
  }
}
