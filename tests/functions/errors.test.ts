import { Hono } from 'hono'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { codeOf, errorCodes, statuses } from '../../functions/_shared/error_codes.ts'
import { ConnectionLoss, onError } from '../../functions/_shared/errors.ts'

const answerTo = async (fields: Record<string, string>) => {
  const app = new Hono().onError(onError)
  app.get('/', () => {
    throw Object.assign(new Error(fields.message), fields)
  })
  const answer = await app.request('/')
  return { status: answer.status, body: await answer.json() }
}

const codeOfError = async (fields: Record<string, string>): Promise<string | null> => {
  const app = new Hono().onError(onError)
  app.get('/', () => {
    throw Object.assign(new Error('x'), fields)
  })
  return (await app.request('/')).headers.get('X-Error-Code')
}

test('an error of the SQL has the code of its hint, or that of its status', async () => {
  expect(await codeOfError({ code: 'PT409', hint: 'overlap' })).toBe('overlap')
  expect(await codeOfError({ code: 'PT403', hint: 'overlap' })).toBe('forbidden')
  expect(await codeOfError({ code: 'PT403', hint: 'Ask us' })).toBe('forbidden')
  expect(await codeOfError({ code: 'PT404' })).toBe('not_found')
  expect(await codeOfError({ code: '23514', constraint: 'no' })).toBe('invalid')
  expect(await codeOfError({ code: '57014' })).toBe('unavailable')
})

// A status with several codes says too little: these refusals have the first of them.
const general = [
  /^PT400 using message = (?!.*you cannot (have|pin|block) more than)/,
  /^PT401 using message = 'This account no longer exists'/,
  /^PT409 using\s+message = (format\('This reservation is|case\s+when step = 'complete'|'Only the other participant)/,
  // Only admins read these.
  /^PT409 using message = (case|format\( ?'This report|'This account was erased before')/,
]

test('every refusal of the SQL names a code of its status, where that has several', () => {
  const files = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'))
  const refusals = files.flatMap((file) =>
    [...readFileSync(`sql/schema/${file}`, 'utf8').matchAll(/raise sqlstate '(PT\d+)'( using\s[^;]*)/g)].map((
      [, state, rest],
    ) => ({
      file,
      state: state!,
      text: `${state}${rest}`.replaceAll(/\n\s+/g, ' '),
    }))
  )
  expect(refusals.length).toBeGreaterThan(60)
  const unclear = refusals.filter(({ state, text }) => {
    const status = Number(state.slice(2))
    if (!errorCodes.includes(codeOf(status)) || statuses[codeOf(status)] !== status) return true
    const hints = [.../hint = (.*)$/.exec(text)?.[1]?.matchAll(/'(\w+)'/g) ?? []].map(([, hint]) => hint)
    if (hints.some((hint) => !errorCodes.some((code) => code === hint && statuses[code] === status))) return true
    const isSingle = errorCodes.filter((code) => statuses[code] === status).length === 1
    return !isSingle && !/hint = /.test(text) && !general.some((pattern) => pattern.test(text))
  })
  expect(unclear).toEqual([])
})

test('what the SQL raises is the answer, with the JSON of its detail', async () => {
  expect(await answerTo({ code: 'PT409', message: 'There is one', detail: '{"conversation_id": 7}' }))
    .toEqual({ status: 409, body: { error: 'There is one', conversation_id: 7 } })
  expect(await answerTo({ code: 'PT404', message: 'Not found' })).toEqual({ status: 404, body: { error: 'Not found' } })
})

test.each(['no JSON', '[1]', '7', 'null', '', '{"error": "another"}'])(
  'any other detail, as a trigger of the operator may have, changes nothing: %j',
  async (detail) => {
    expect(await answerTo({ code: 'PT403', message: 'Closed on Sundays', detail }))
      .toEqual({ status: 403, body: { error: 'Closed on Sundays' } })
  },
)

test.each(['PT200', 'PT99', 'PT600', 'P0001'])(
  'a code %s is no status, and its text is not passed on',
  async (code) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await answerTo({ code, message: 'secret' })).toEqual({
      status: 500,
      body: { error: 'Internal server error' },
    })
    expect(log).toHaveBeenCalled()
    log.mockRestore()
  },
)

test('a connection to the database that cannot be opened, or is lost, is in the log with its reason', async () => {
  const log = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const app = new Hono().onError(onError)
  app.get('/', () => {
    throw new ConnectionLoss('invalid peer certificate: UnknownIssuer')
  })
  expect((await app.request('/')).status).toBe(503)
  expect(String(log.mock.calls)).toMatch(/Database connection failed.*UnknownIssuer/)
  log.mockRestore()
})
