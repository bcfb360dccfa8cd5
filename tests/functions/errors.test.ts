import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { onError } from '../../functions/_shared/errors.ts'

const answerTo = async (fields: Record<string, string>) => {
  const app = new Hono().onError(onError)
  app.get('/', () => {
    throw Object.assign(new Error(fields.message), fields)
  })
  const answer = await app.request('/')
  return { status: answer.status, body: await answer.json() }
}

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
