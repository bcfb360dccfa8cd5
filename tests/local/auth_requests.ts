// Run by auth_requests.test.ts: a mock of Auth that records its requests. Prints them.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import auth from '../../functions/auth/index.ts'
import users from '../../functions/users/index.ts'

const requests: Record<string, unknown>[] = []
const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
  if (request.url.endsWith('/settings')) return Response.json({ mailer_autoconfirm: true })
  const { pathname, searchParams } = new URL(request.url)
  const { headers } = request
  requests.push({
    path: [pathname, searchParams.get('grant_type')].filter(Boolean).join(' '),
    apikey: headers.get('apikey'),
    forwarded: headers.get('Sb-Forwarded-For'),
    body: await request.json(),
  })
  return Response.json({ error_code: 'unknown', msg: '' }, { status: 429 })
})
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('SUPABASE_PUBLISHABLE_KEY', 'sb_publishable_test')
Deno.env.set('SUPABASE_SECRET_KEYS', '{"default": "sb_secret_test"}')
console.warn = console.error = console.info = () => {}

let began = {}
provideQuery((text, values) => {
  const answers: [string, unknown][] = [
    ['begin_sign_up', { ticket: 'the ticket', user_id: 8 }],
    ['check_sign_up', 'not made'],
    ['consume_rate_limit', 0],
  ]
  if (text.includes('begin_sign_up')) began = values
  return Promise.resolve([{ body: JSON.stringify(answers.find(([rpc]) => text.includes(rpc))?.[1] ?? []) }])
})

const [address] = Deno.args
const post = (app: typeof auth, path: string, body: object, headers: Record<string, string> = {}) =>
  app.fetch(
    new Request(`http://x/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address!, ...headers },
      body: JSON.stringify(body),
    }),
  )
const email = 'ana@example.com'
const password = 'correct horse'
for (const captcha of [{ captcha_token: 'solved' }, {}]) {
  await post(auth, 'auth/signup', { email, password, name: 'Ana', bio: 'Potter', ...captcha })
  await post(auth, 'auth/login', { email, password, ...captcha })
  await post(auth, 'auth/recover', { email, ...captcha })
  await post(users, 'users', { email, password, name: 'Ana', ...captcha })
}
await post(users, 'users', { email, password, name: 'Ana' }, { apikey: 'sb_secret_test' })
await post(auth, 'auth/refresh', { refresh_token: 'a token' })
console.log(JSON.stringify({ requests, began }))
Deno.exit(0)
