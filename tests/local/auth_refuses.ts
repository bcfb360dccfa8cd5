// Run by auth_refuses.test.ts: an Auth that behaves as its argument says, and what the doors make of it. Prints the statuses.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import auth from '../../functions/auth/index.ts'
import users from '../../functions/users/index.ts'

type Behaviour = () => Response | Promise<Response>
const silent: Behaviour = () => new Promise(() => {})
const refuses = (status: number, error_code: string): Behaviour => () =>
  Response.json({ error_code, msg: '' }, { status })
/** Where e-mail must be confirmed, a taken address gets the answer of a free one. */
const pretends: Behaviour = () => Response.json({ id: crypto.randomUUID(), email: '', identities: [] })

const behaviours: Record<string, Behaviour> = {
  'cannot mail': () =>
    Response.json({ error_code: 'unexpected_failure', msg: 'Error sending confirmation email' }, { status: 500 }),
  'pretends': pretends,
  'is switched off': pretends,
  'weak_password': refuses(422, 'weak_password'),
  'signup_disabled': refuses(422, 'signup_disabled'),
  'over_request_rate_limit': refuses(429, 'over_request_rate_limit'),
  'unexpected_failure': refuses(500, 'unexpected_failure'),
  'user_already_exists': refuses(422, 'user_already_exists'),
  'email_address_not_authorized': refuses(400, 'email_address_not_authorized'),
  'is away': refuses(503, 'unavailable'),
  'is away, and takes a while to say so': () =>
    new Promise((resolve) => setTimeout(() => resolve(Response.json({}, { status: 503 })), 700)),
  'is silent': silent,
  'stops in its answer': () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array([123])) })),
}

const isThere = !['is away', 'is silent', 'stops in its answer'].includes(Deno.args[0]!)
const isOff = Deno.args[0] === 'is switched off'
/** Whether anything was removed to make room for a sign-up. */
let hasBegun = false
let isKnown = false
/** A free address has got its account. */
const isMade = Deno.args[0] === 'pretends'
/** Auth mailed this address a moment ago, which it does again only after a minute. */
let wasMailed = false
const behaviour = behaviours[Deno.args[0]!]!
const server = Deno.serve(
  { hostname: '127.0.0.1', port: 0, onListen: () => {} },
  ({ url }) => {
    if (url.endsWith('/settings') && isThere) return Response.json({ disable_signup: isOff })
    return wasMailed ? refuses(429, 'over_email_send_rate_limit')() : behaviour()
  },
)
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('SUPABASE_PUBLISHABLE_KEY', 'sb_publishable_test')
console.error = console.info = () => {}
const warnings: string[] = []
console.warn = (line) => warnings.push(JSON.parse(line).message)

provideQuery((text) => {
  const account = { id: 7, name: 'Ana', email: 'ana@example.com', role: 'user' }
  const answers: [string, unknown][] = [
    ['get_account', account],
    ['begin_sign_up', { ticket: crypto.randomUUID(), user_id: 8 }],
    ['check_sign_up', isKnown ? 'taken' : isMade ? 'made' : 'not made'],
    ['consume_rate_limit', 0],
  ]
  hasBegun ||= text.includes('begin_sign_up')
  return Promise.resolve([{ body: JSON.stringify(answers.find(([verb]) => text.includes(verb))?.[1] ?? []) }])
})

const post = async (path: string, body: object) => {
  const headers = { 'Content-Type': 'application/json' }
  const start = performance.now()
  const answer = await auth.fetch(
    new Request(`http://x/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  )
  await answer.body?.cancel()
  return performance.now() - start < 9000 ? answer.status : 'late'
}
const signUp = () => post('signup', { email: 'ana@example.com', password: 'correct horse', name: 'Ana' })

const [login, recover, refresh, free] = await Promise.all([
  post('login', { email: 'ana@example.com', password: 'correct horse' }),
  post('recover', { email: 'ana@example.com' }),
  post('refresh', { refresh_token: 'x' }),
  signUp(),
])
isKnown = true
const taken = await signUp()
wasMailed = true
const mailed = await signUp()
// Or it mails nobody for now, having mailed too many.
isKnown = false
const unmailed = await signUp()
wasMailed = false

// A token signed with a key of the project, which Auth does not tell.
const token = [{ alg: 'ES256', kid: 'x' }, { sub: crypto.randomUUID(), aud: 'authenticated', exp: 1e10 }, 'x']
  .map((part) => btoa(JSON.stringify(part)).replaceAll('=', '')).join('.')
const me = await users.fetch(new Request('http://x/users/me', { headers: { Authorization: `Bearer ${token}` } }))
const outcomes = { login, recover, refresh, free, taken, mailed, unmailed, hasBegun, me: me.status, warnings }
console.log(JSON.stringify(outcomes))
Deno.exit(0)
