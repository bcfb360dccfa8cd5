import { afterAll, beforeAll, expect, test } from 'vitest'
import { queryNestingError } from '../../supabase/local/nesting.ts'
import { call, openConversation, type Person, sendMessage, signUp, uniqueEmail } from '../tools/people.ts'
import { connect, join } from '../tools/realtime.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { eventually } from '../tools/wait.ts'

const headers = { apikey: testKeys.publishableKey }

// A stack of its own: always PGlite, and no other test fails when it breaks.
let stack: Awaited<ReturnType<typeof startStack>>
let origin: string
beforeAll(async () => {
  stack = await startStack()
  origin = new URL(stack.base).origin
}, 120_000)
afterAll(() => stopStack(stack.process))

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** The database still answers errors as errors, three times, and a valid query with rows. */
const expectHealthy = async (): Promise<void> => {
  for (let time = 0; time < 3; time++) {
    const refused = await call('GET', `${origin}/rest/v1/interests?select=cast:name::int`, undefined, { headers })
    expect([refused.status, refused.body.code]).toEqual([400, '22P02'])
  }
  const answered = await call('GET', `${origin}/rest/v1/interests?select=id&limit=1`, undefined, { headers })
  expect(answered.body).toHaveLength(1)
}

const signUpWithMessage = async (): Promise<Person> => {
  const ana = await signUp('Ana', {}, stack.base)
  await sendMessage(ana, await openConversation(ana, await signUp('Ben', {}, stack.base)), 'Hello')
  return ana
}

const read = (person: Person, query: string) =>
  person.call('GET', `${origin}/rest/v1/messages?${query}`, undefined, { headers })

test('queries that are nested too deep are refused, and the database stays healthy', async () => {
  const ana = await signUpWithMessage()
  const arrows = 'attachment' + '->a'.repeat(2000)
  for (const query of [`select=x:${arrows}`, `select=id&${arrows}=eq.1`, `order=${arrows}`]) {
    expect((await read(ana, query)).body).toMatchObject({ code: 'PGRST100', message: expect.stringMatching(/arrows/) })
  }
  expect((await read(ana, `select=id&attachment=eq.${nested(2000)}`)).status).toBe(400)
  expect(queryNestingError(new URL(`${origin}/rest/v1/interests?or=(${Array(7000).fill('id.eq.1').join()})`))).toMatch(
    /longer/,
  )
  await expectHealthy()
})

test('a body that is nested too deep is refused by the Data API and by Auth', async () => {
  const ana = await signUpWithMessage()
  const options = (raw: string) => ({ raw, headers })
  const { status, body } = await ana.call(
    'PATCH',
    `${origin}/rest/v1/users?id=eq.${ana.id}`,
    undefined,
    options(`{"bio": ${nested(20_000)}}`),
  )
  expect([status, body]).toEqual([400, { message: 'The body is nested too deep' }])
  const metadata = `{"email": "${uniqueEmail()}", "password": "correct horse", "data": {"name": "Deep", "x": ${
    nested(20_000)
  }}}`
  expect((await call('POST', `${origin}/auth/v1/signup`, undefined, options(metadata))).status).toBe(400)
  expect(
    (await ana.call('PUT', `${origin}/auth/v1/user`, undefined, options(`{"data": {"x": ${nested(20_000)}}}`))).status,
  )
    .toBe(400)
  await expectHealthy()
})

test('a Realtime filter that is nested too deep is refused', async () => {
  const ana = await signUpWithMessage()
  const channel = (await connect(ana.token, { origin })).channel(`user:${ana.id}`, { config: { private: true } })
  const answers: { status: string }[] = []
  channel.on('system', {}, (answer) => answers.push(answer))
  const filter = `attachment=eq.${nested(100_000)}`
  channel.on('postgres_changes', { event: '*', schema: 'public', table: 'messages', filter }, () => {})
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  await eventually(() => answers.length > 0)
  expect(answers[0]).toMatchObject({ status: 'error' })
  await expectHealthy()
})

test('brackets inside strings do not count as nesting', async () => {
  const ana = await signUpWithMessage()
  const bio = `${'('.repeat(200)} \\" ${'['.repeat(200)}`
  const path = `${origin}/rest/v1/users?id=eq.${ana.id}`
  expect((await ana.call('PATCH', path, { bio }, { headers })).status).toBeLessThan(300)
  expect((await ana.call('GET', `${path}&select=bio`, undefined, { headers })).body).toEqual([{ bio }])
  expect((await read(ana, 'select=x:attachment->a->b->>c')).body).toEqual([{ x: null }])
})

test('an insert with more parameters than PGlite can read is refused, and the database stays healthy', async () => {
  const rows = Array(33_000).fill({ name: 'x' })
  const { status } = await call('POST', `${origin}/rest/v1/interests`, rows, { headers })
  expect(status).toBeGreaterThanOrEqual(400)
  await expectHealthy()
  expect((await call('GET', `${stack.base}/users/interests`)).body.length).toBeGreaterThan(0)
})
