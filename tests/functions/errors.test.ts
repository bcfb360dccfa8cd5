import { Hono } from 'hono'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { codeOf, errorCodes, statuses } from '../../functions/_shared/error_codes.ts'
import { ConnectionLoss, onError } from '../../functions/_shared/errors.ts'

/** The answer of a function in which this is thrown: status, code and body, and what it logs. */
const answerTo = async (error: Error) => {
  const log = (['warn', 'error'] as const).map((level) => vi.spyOn(console, level).mockImplementation(() => {}))
  const app = new Hono().onError(onError).get('/', () => {
    throw error
  })
  const answer = await app.request('/')
  const body = await answer.json()
  const logged = log.flatMap(({ mock }) => mock.calls).join()
  vi.restoreAllMocks()
  return { answer: [answer.status, answer.headers.get('X-Error-Code'), body], logged }
}

const closed = { error: 'Closed on Sundays' }
type Row = [what: string, fields: Record<string, string>, status: number, code: string, more?: object]
// deno-fmt-ignore
const answers: Row[] = [
  ['a code in the hint', { code: 'PT409', hint: 'overlap' }, 409, 'overlap'],
  ['a hint that is the code of another status', { code: 'PT403', hint: 'overlap' }, 403, 'forbidden'],
  ['a hint that is no code', { code: 'PT403', hint: 'Ask us' }, 403, 'forbidden'],
  ['no hint', { code: 'PT404' }, 404, 'not_found'],
  ['JSON as its detail', { code: 'PT409', detail: '{"conversation_id": 7}' }, 409, 'conflict', { conversation_id: 7 }],
  // A trigger of the operator may have any text there.
  ...['no JSON', '[1]', '7', 'null', '', '{"error": "another"}'].map((detail) =>
    [`the detail ${detail}`, { code: 'PT403', detail }, 403, 'forbidden'] as Row
  ),
  ['a constraint', { code: '23514', constraint: closed.error }, 400, 'invalid'],
]
test.each(answers)('what the SQL raises is the answer, with %s', async (_, fields, status, code, more = {}) => {
  const { answer, logged } = await answerTo(Object.assign(new Error(closed.error), fields))
  expect([answer, logged]).toEqual([[status, code, { ...closed, ...more }], ''])
})

test.each(['PT200', 'PT99', 'PT600', 'P0001'])('a code %s is no status: its text is not passed on', async (code) => {
  const { answer, logged } = await answerTo(Object.assign(new Error('secret'), { code }))
  expect(answer).toEqual([500, 'internal', { error: 'Internal server error' }])
  expect(logged).toContain('Unhandled error')
})

test('a statement that took too long or lost its connection is 503; the loss is logged with its reason', async () => {
  const busy = [503, 'unavailable', { error: 'The service is busy, please try again' }]
  expect((await answerTo(Object.assign(new Error('x'), { code: '57014' }))).answer).toEqual(busy)
  const { answer, logged } = await answerTo(new ConnectionLoss('invalid peer certificate: UnknownIssuer'))
  expect(answer).toEqual(busy)
  expect(logged).toMatch(/Database connection failed.*UnknownIssuer/)
})

// A status with several codes says too little: these refusals have the first of them.
const general = [
  /^PT400 using message = (?!.*you cannot (have|pin|block) more than)/,
  /^PT401 using message = 'This account no longer exists'/,
  /^PT409 using\s+message = (format\('This reservation is|case\s+when step = 'complete'|'Only the other participant)/,
  /^PT40[39] using message = 'This message (was taken back|cannot be)/,
  // Only admins read these.
  /^PT409 using message = (case|format\( ?'This report|'This account was erased before')/,
]

test('every refusal of the SQL names a code of its status, where that has several', () => {
  const files = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'))
  const refusals = files.flatMap((file) => {
    const raised = readFileSync(`sql/schema/${file}`, 'utf8').matchAll(/raise sqlstate '(PT\d+)'( using\s[^;]*)/g)
    return [...raised].map(([, state, rest]) => ({ file, text: `${state}${rest}`.replaceAll(/\n\s+/g, ' ') }))
  })
  expect(refusals.length).toBeGreaterThan(60)
  const unclear = refusals.filter(({ text }) => {
    const status = Number(text.slice(2, 5))
    const codes: string[] = errorCodes.filter((code) => statuses[code] === status)
    const hints = [.../hint = (.*)$/.exec(text)?.[1]?.matchAll(/'(\w+)'/g) ?? []].map(([, hint]) => hint!)
    if (statuses[codeOf(status)] !== status || hints.some((hint) => !codes.includes(hint))) return true
    return codes.length > 1 && !/hint = /.test(text) && !general.some((pattern) => pattern.test(text))
  })
  expect(unclear).toEqual([])
})
