// Run by auth_errors.test.ts with the name of a behaviour: a mock of Auth that behaves so. Prints the statuses of the
// functions' answers.
import { SignJWT } from 'jose'
import { provideQuery } from '../../functions/_shared/rpc.ts'
import auth from '../../functions/auth/index.ts'
import users from '../../functions/users/index.ts'

type Behaviour = () => Response | Promise<Response>
const neverAnswers: Behaviour = () => new Promise(() => {})
const fails = (status: number, error_code: string): Behaviour => () =>
  Response.json({ error_code, msg: '' }, { status })
/** With e-mail confirmation Auth answers for a taken address as for a free one. */
const hides: Behaviour = () => Response.json({ id: crypto.randomUUID(), email: '', identities: [] })

const behaviours: Record<string, Behaviour> = {
  'cannot send mail': () =>
    Response.json({ error_code: 'unexpected_failure', msg: 'Error sending confirmation email' }, { status: 500 }),
  'hides that an address is taken': hides,
  'has sign-ups disabled': hides,
  'answers weak_password': fails(422, 'weak_password'),
  'answers signup_disabled': fails(422, 'signup_disabled'),
  'answers over_request_rate_limit': fails(429, 'over_request_rate_limit'),
  'answers unexpected_failure': fails(500, 'unexpected_failure'),
  'answers user_already_exists': fails(422, 'user_already_exists'),
  'answers email_address_not_authorized': fails(400, 'email_address_not_authorized'),
  'answers captcha_failed': fails(400, 'captcha_failed'),
  // Auth refuses so if hCaptcha or Turnstile does not answer.
  'cannot check the CAPTCHA': () =>
    Response.json({ error_code: 'unexpected_failure', msg: 'captcha verification process failed' }, { status: 500 }),
  'answers user_banned': fails(400, 'user_banned'),
  'answers email_address_invalid': fails(400, 'email_address_invalid'),
  'answers email_provider_disabled': fails(422, 'email_provider_disabled'),
  // A hook that refuses.
  'answers unknown': fails(403, 'unknown'),
  'answers hook_timeout': fails(422, 'hook_timeout'),
  'answers conflict': fails(409, 'conflict'),
  'is unavailable': fails(503, 'unavailable'),
  'is unavailable after a while': () =>
    new Promise((resolve) => setTimeout(() => resolve(Response.json({}, { status: 503 })), 700)),
  'never answers': neverAnswers,
  'sends half an answer': () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array([123])) })),
}

const name = Deno.args[0]!
const behaviour = behaviours[name]!
const isAvailable = !['is unavailable', 'never answers', 'sends half an answer'].includes(name)
const disable_signup = name === 'has sign-ups disabled'
/** Whether begin_sign_up was called, which may remove a pending account. */
let hasBegun = false
let isTaken = false
/** Auth creates an account for a free address. */
const isCreated = name === 'hides that an address is taken'
/** Auth has mailed this address less than a minute ago, and does not mail it again. */
let wasMailed = false
const server = Deno.serve(
  { hostname: '127.0.0.1', port: 0, onListen: () => {} },
  ({ url }) => {
    if (url.endsWith('/settings') && isAvailable) return Response.json({ disable_signup })
    return wasMailed ? fails(429, 'over_email_send_rate_limit')() : behaviour()
  },
)
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('SUPABASE_PUBLISHABLE_KEY', 'sb_publishable_test')
const secret = 'a shared secret of more than 32 characters'
Deno.env.set('JWT_SECRET', secret)
console.error = console.info = () => {}
const warnings: string[] = []
console.warn = (line) => warnings.push(JSON.parse(line).message)

provideQuery((text) => {
  const account = { id: 7, name: 'Ana', email: 'ana@example.com', role: 'user' }
  const answers: [string, unknown][] = [
    ['get_account', account],
    ['begin_sign_up', { ticket: crypto.randomUUID(), user_id: 8 }],
    ['check_sign_up', isTaken ? 'taken' : isCreated ? 'made' : 'not made'],
    ['consume_rate_limit', 0],
  ]
  hasBegun ||= text.includes('begin_sign_up')
  return Promise.resolve([{ body: JSON.stringify(answers.find(([rpc]) => text.includes(rpc))?.[1] ?? []) }])
})

/** The Retry-After of each 429. */
const waits: (string | null)[] = []
const post = async (path: string, body: object) => {
  const headers = { 'Content-Type': 'application/json' }
  const start = performance.now()
  const answer = await auth.fetch(
    new Request(`http://x/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  )
  await answer.body?.cancel()
  if (answer.status === 429) waits.push(answer.headers.get('Retry-After'))
  return performance.now() - start < 9000 ? answer.status : 'late'
}
const signUp = () => post('signup', { email: 'ana@example.com', password: 'correct horse', name: 'Ana' })

const [login, recover, refresh, free] = await Promise.all([
  post('login', { email: 'ana@example.com', password: 'correct horse' }),
  post('recover', { email: 'ana@example.com' }),
  post('refresh', { refresh_token: 'x' }),
  signUp(),
])
isTaken = true
const taken = await signUp()
wasMailed = true
const mailed = await signUp()
// Auth has reached the limit of its mails for all addresses.
isTaken = false
const unmailed = await signUp()
wasMailed = false

// A token signed with a key of the project; this Auth does not publish it.
const token = [{ alg: 'ES256', kid: 'x' }, { sub: crypto.randomUUID(), aud: 'authenticated', exp: 1e10 }, 'x']
  .map((part) => btoa(JSON.stringify(part)).replaceAll('=', '')).join('.')
const me = await users.fetch(new Request('http://x/users/me', { headers: { Authorization: `Bearer ${token}` } }))
const own = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject(crypto.randomUUID())
  .setAudience('authenticated').setExpirationTime('1h').sign(new TextEncoder().encode(secret))
const logout = await auth.fetch(
  new Request('http://x/auth/logout', { method: 'POST', headers: { Authorization: `Bearer ${own}` } }),
)
const statuses = { login, recover, refresh, logout: logout.status, free, taken, mailed, unmailed, me: me.status }
const outcomes = { ...statuses, waits, hasBegun, warnings }
console.log(JSON.stringify(outcomes))
Deno.exit(0)
