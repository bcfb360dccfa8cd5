// Run by auth_errors.test.ts with the name of a behaviour, and "with confirmation" or not: a mock of Auth that behaves
// so. Prints the statuses of the functions' answers.
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
  // A hook that limits requests.
  'answers unknown with 429': fails(429, 'unknown'),
  'is behind a gateway that answers 429': () => Response.json({ message: 'API rate limit exceeded' }, { status: 429 }),
  'answers hook_timeout': fails(422, 'hook_timeout'),
  'answers hook_timeout_after_retry': fails(422, 'hook_timeout_after_retry'),
  'answers hook_payload_over_size_limit': fails(422, 'hook_payload_over_size_limit'),
  // A hook that refuses with a status of its own, which supabase-js takes for a server that is down.
  'has a hook that answers 503': () => Response.json({ code: 503, msg: 'Mailer is down' }, { status: 503 }),
  'cannot save': () =>
    Response.json({ error_code: 'unexpected_failure', msg: 'Database error saving new user' }, { status: 500 }),
  'answers validation_failed': fails(400, 'validation_failed'),
  'answers conflict': fails(409, 'conflict'),
  'is unavailable': fails(503, 'unavailable'),
  'is unavailable after a while': () =>
    new Promise((resolve) => setTimeout(() => resolve(Response.json({}, { status: 503 })), 700)),
  'never answers': neverAnswers,
  'sends half an answer': () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array([123])) })),
}

const [name, mode] = Deno.args as [string, string]
const behaviour = behaviours[name]!
const confirms = mode === 'with confirmation'
/** What Auth reports before it looks for the account, in the order of its sign-up. */
const isEarly = [
  'has sign-ups disabled',
  'answers captcha_failed',
  'cannot check the CAPTCHA',
  'answers over_request_rate_limit',
  'is behind a gateway that answers 429',
  'answers signup_disabled',
  'answers weak_password',
  'answers email_provider_disabled',
  'is unavailable',
  'is unavailable after a while',
  'never answers',
  'sends half an answer',
].includes(name)
const isAvailable = !['is unavailable', 'never answers', 'sends half an answer'].includes(name)
const disable_signup = name === 'has sign-ups disabled'
let hasBegun = false
/** Whether a statement was sent that removes the pending account. */
let removes = false
/** Auth creates an account for a free address. */
const isCreated = name === 'hides that an address is taken'
/** Each is the address of its state. Auth has mailed the last two's less than a minute ago, and does not mail again. */
const states = ['free', 'taken', 'pending', 'mailed', 'unmailed'] as const
const isTaken = (address: unknown) => address === 'taken@example.com' || address === 'mailed@example.com'
const server = Deno.serve(
  { hostname: '127.0.0.1', port: 0, onListen: () => {} },
  async (request) => {
    const { url } = request
    if (url.endsWith('/settings') && isAvailable) {
      return Response.json({ disable_signup, mailer_autoconfirm: !confirms })
    }
    if (!url.endsWith('/signup')) return behaviour()
    const { email } = await request.json()
    if (!isEarly && email === 'no address') return fails(400, 'validation_failed')()
    // Auth hides whether an address is taken, and mails and creates for free ones alone.
    if (!isEarly && confirms && isTaken(email)) return hides()
    return /mailed/.test(email) ? fails(429, 'over_email_send_rate_limit')() : behaviour()
  },
)
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('SUPABASE_PUBLISHABLE_KEY', 'sb_publishable_test')
const secret = 'a shared secret of more than 32 characters'
Deno.env.set('JWT_SECRET', secret)
console.error = console.info = () => {}
const warnings: string[] = []
console.warn = (line) => warnings.push(JSON.parse(line).message)

provideQuery((text, values) => {
  const account = { id: 7, name: 'Ana', email: 'ana@example.com', role: 'user' }
  const answers: [string, unknown][] = [
    ['get_account', account],
    ['begin_sign_up', { ticket: crypto.randomUUID(), user_id: 8, pending: values[0] === 'pending@example.com' }],
    ['check_sign_up', isTaken(values[0]) ? 'taken' : isCreated ? 'made' : 'not made'],
    ['consume_rate_limit', 0],
  ]
  hasBegun ||= text.includes('begin_sign_up')
  removes ||= text.includes('check_sign_up') && values[0] === 'pending@example.com' && values.includes(true)
  return Promise.resolve([{ body: JSON.stringify(answers.find(([rpc]) => text.includes(rpc))?.[1] ?? []) }])
})

/** The Retry-After of each 429. */
const waits: (string | null)[] = []
/** The bodies of sign-ups, and how long they took in milliseconds. */
const signUps: { text: string; took: number }[] = []
const post = async (path: string, body: object) => {
  const headers = { 'Content-Type': 'application/json' }
  const start = performance.now()
  const answer = await auth.fetch(
    new Request(`http://x/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  )
  const text = await answer.text()
  const took = performance.now() - start
  if (path === 'signup') signUps.push({ text: text.replace(/\w+@/, ''), took })
  if (answer.status === 429) waits.push(answer.headers.get('Retry-After'))
  return took < 9000 ? answer.status : 'late'
}

const [login, recover, refresh, ...signedUp] = await Promise.all([
  post('login', { email: 'ana@example.com', password: 'correct horse' }),
  post('recover', { email: 'ana@example.com' }),
  post('refresh', { refresh_token: 'x' }),
  ...states.map((state) => post('signup', { email: `${state}@example.com`, password: 'correct horse', name: 'Ana' })),
])

// A token signed with a key of the project; this Auth does not publish it.
const token = [{ alg: 'ES256', kid: 'x' }, { sub: crypto.randomUUID(), aud: 'authenticated', exp: 1e10 }, 'x']
  .map((part) => btoa(JSON.stringify(part)).replaceAll('=', '')).join('.')
const me = await users.fetch(new Request('http://x/users/me', { headers: { Authorization: `Bearer ${token}` } }))
const own = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject(crypto.randomUUID())
  .setAudience('authenticated').setExpirationTime('1h').sign(new TextEncoder().encode(secret))
const logout = await auth.fetch(
  new Request('http://x/auth/logout', { method: 'POST', headers: { Authorization: `Bearer ${own}` } }),
)
const statuses = { login, recover, refresh, logout: logout.status, me: me.status }
const sent = Object.fromEntries(states.map((state, index) => [state, signedUp[index]]))
const outcomes = { ...statuses, ...sent, signUps, removes, waits, hasBegun, warnings }
console.log(JSON.stringify(outcomes))
Deno.exit(0)
