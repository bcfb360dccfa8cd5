import { createServer } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { listen } from '../tools/ports.ts'
import { useProject } from './project.ts'

const password = 'correct horse'
/** How the hook that sends Auth's mails answers. */
let answer = { status: 200, body: '{}' }
const hook = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.body)
  })
})
afterAll(() => {
  hook.closeAllConnections()
  hook.close()
})

const { call, project, newEmail } = useProject({
  auth: async () => ({
    GOTRUE_MAILER_AUTOCONFIRM: 'false',
    GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true',
    GOTRUE_HOOK_SEND_EMAIL_URI: `http://127.0.0.1:${await listen(hook)}/`,
    GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,whsec_${Buffer.from('a secret of the hook of 32 bytes').toString('base64')}`,
  }),
})
const signUp = (email: string) => call('POST', '/auth/signup', { email, password, name: 'Ana' })

// Auth mails free and pending addresses only.
test.each([
  ['fails', { status: 500, body: '{}' }],
  ['is unavailable', { status: 503, body: '{}' }],
  ['refuses', { status: 400, body: '{}' }],
  ['refuses with 403', { status: 200, body: '{"error": {"http_code": 403, "message": "Not you"}}' }],
  ['refuses with 422', { status: 200, body: '{"error": {"http_code": 422, "message": "Not you"}}' }],
  ['refuses with 429', { status: 200, body: '{"error": {"http_code": 429, "message": "Later"}}' }],
  ['refuses with 503', { status: 200, body: '{"error": {"http_code": 503, "message": "Later"}}' }],
  ['answers nonsense', { status: 200, body: 'nonsense' }],
])('if the hook that sends mail %s, free, pending and taken addresses get the same answer', async (_, failure) => {
  answer = { status: 200, body: '{}' }
  const [pending, taken] = [newEmail(), newEmail()]
  for (const email of [pending, taken]) expect((await signUp(email)).status).toBe(201)
  await project.sql`update auth.users set email_confirmed_at = now() where email = ${taken}`
  answer = failure
  const answers = await Promise.all([newEmail(), pending, taken].map(async (email) => {
    const { status, body } = await signUp(email)
    const { id: _, ...user } = body.user ?? {}
    return { status, body: { ...body, user: { ...user, email: user.email === email } } }
  }))
  const neutral = { user: { name: 'Ana', email: true, role: 'user' }, access_token: null, refresh_token: null }
  for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: neutral })
})
