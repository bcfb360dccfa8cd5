// Run by auth_faults.test.ts: the Edge Functions with an Auth that fails in each way, on a clock that stands still
// while anything can go on. Prints what they answered, after how many milliseconds, and what they asked of Auth.
import { SignJWT } from 'jose'
import { provideFetch } from '../../functions/_shared/platform.ts'
import { provideQuery } from '../../functions/_shared/rpc.ts'
import auth from '../../functions/auth/index.ts'
import users from '../../functions/users/index.ts'
import { type AuthAnswer, authAnswers, invalidAddress, mailedLately } from '../tools/auth_answers.ts'
import { elapse, pause, timed } from '../tools/still_clock.ts'

const secret = 'a shared secret of more than 32 characters'
Deno.env.set('SUPABASE_URL', 'http://auth.example')
Deno.env.set('SUPABASE_PUBLISHABLE_KEYS', '{"default": "sb_publishable_test"}')
Deno.env.set('SUPABASE_SECRET_KEYS', '{"default": "sb_secret_test"}')
Deno.env.set('JWT_SECRET', secret)
console.error = console.info = () => {}
let warnings: string[] = []
console.warn = (line) => warnings.push(JSON.parse(line).message)

type Handler = (signal: AbortSignal, path: string, email: string) => Response | Promise<Response>
const answer = ({ status, isEarly: _, ...body }: AuthAnswer) => Response.json(body, { status })
/** With e-mail confirmation Auth answers for a taken address as for a free one. */
const hides: Handler = () => Response.json({ id: crypto.randomUUID(), email: '', identities: [] })
const whenAborted = (signal: AbortSignal, run: (reason: unknown) => void) =>
  signal.addEventListener('abort', () => run(signal.reason))
const silent: Record<string, Handler> = {
  'goes down': () => Promise.reject(new TypeError('connection refused')),
  'is down': () => Promise.reject(new TypeError('connection refused')),
  'is unavailable': () => answer(authAnswers['is unavailable']),
  'never answers': (signal) => new Promise((_, reject) => whenAborted(signal, reject)),
  'sends half an answer': (signal) => {
    const start = (body: ReadableStreamDefaultController) => {
      body.enqueue(new Uint8Array([123]))
      whenAborted(signal, (reason) => body.error(reason))
    }
    return new Response(new ReadableStream({ start }))
  },
}
const isTaken = (address: unknown) => address === 'taken@example.com' || address === 'mailed@example.com'
let hashing: Promise<unknown> = Promise.resolve()
/** Auth hashes the passwords of accounts one after the other, and takes three seconds to send a mail. */
const isSlow: Handler = async (signal, path, email) => {
  if (path.endsWith('/token')) {
    if (isTaken(email)) await (hashing = hashing.then(() => pause(80)))
    else await pause(parseInt(email) || 0)
    return answer({ status: 400, error_code: 'invalid_credentials' })
  }
  // Auth answers so if phone numbers need no confirmation.
  if (email.startsWith('rejected')) return answer(authAnswers['answers user_already_exists'])
  if (isTaken(email) === path.endsWith('/recover')) await pause(3000)
  return path.endsWith('/recover') ? Response.json({}) : hides(signal, path, email)
}
const handlers: Record<string, Handler> = {
  'hides that an address is taken': hides,
  'has sign-ups disabled': hides,
  'does not tell its settings': hides,
  ...Object.fromEntries(Object.entries(authAnswers).map(([name, one]) => [name, () => answer(one)])),
  'is unavailable after a while': () => pause(700).then(() => Response.json({}, { status: 503 })),
  ...silent,
}

/** Each as its path, address or token, API key, CAPTCHA and client's address. */
let requests: string[] = []
let metadata: unknown
let [fault, confirms] = ['', false]
let hasToldSettings = false
const respond = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  const request = new Request(input, init)
  const { pathname, searchParams } = new URL(request.url)
  if (pathname.endsWith('/settings') && (fault === 'goes down' ? !hasToldSettings : !(fault in silent))) {
    hasToldSettings = true
    if (fault === 'does not tell its settings') return answer(authAnswers['is behind a gateway that answers 429'])
    return Response.json({ disable_signup: fault === 'has sign-ups disabled', mailer_autoconfirm: !confirms })
  }
  const body = JSON.parse(await request.text() || 'null')
  const { email, refresh_token, gotrue_meta_security: security, data } = body ?? {}
  metadata = data
  const path = [pathname.replace('/auth/v1/', ''), searchParams.get('grant_type')]
  const sent = [request.headers.get('apikey'), security?.captcha_token, request.headers.get('Sb-Forwarded-For')]
  requests.push([...path, email, refresh_token, ...sent].filter(Boolean).join(' '))
  const handle = () => (handlers[fault] ?? isSlow)(init!.signal!, pathname, email)
  const isEarly = fault in silent || fault === 'is unavailable after a while' ||
    'isEarly' in (authAnswers[fault as keyof typeof authAnswers] ?? {})
  if (!pathname.endsWith('/signup') || isEarly) return await handle()
  if (email === 'no address') return answer(invalidAddress)
  // Auth hides whether an address is taken, and mails and creates for free ones alone.
  if (confirms && isTaken(email) && fault) return await hides(init!.signal!, pathname, '')
  return await (/mailed/.test(email) ? answer(mailedLately) : handle())
}
globalThis.fetch = respond
provideFetch(respond)

let statements: string[] = []
let began: unknown[] = []
provideQuery((text, values) => {
  const [name] = /\w+(?=\()/.exec(text.replace(/.*(private|api)\.(?!act_as)/s, ''))!
  statements.push(name === 'check_sign_up' && values.includes(true) ? `${name} accepted ${values[0]}` : name)
  if (name === 'begin_sign_up') began = values
  const created = handlers[fault] === hides ? 'made' : 'not made'
  const answers: Record<string, unknown> = {
    get_account: { id: 7, name: 'Ana', email: 'ana@example.com', role: 'user' },
    begin_sign_up: { ticket: 'the ticket', user_id: 8, pending: values[0] === 'pending@example.com' },
    check_sign_up: isTaken(values[0]) ? 'taken' : created,
    consume_rate_limit: 0,
  }
  return Promise.resolve([{ body: JSON.stringify(answers[name] ?? []) }])
})

const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
  const app = path.startsWith('users') ? users : auth
  const all = { 'Content-Type': 'application/json', ...headers }
  const answer = await app.fetch(
    new Request(`http://x/${path}`, { method, headers: all, body: body && JSON.stringify(body) }),
  )
  const text = (await answer.text()).replace(/\w+@/, '')
  return { status: answer.status, text, wait: answer.headers.get('Retry-After'), names: [...answer.headers.keys()] }
}
const account = { email: 'ana@example.com', password: 'correct horse', name: 'Ana', bio: 'Potter' }
const post = (path: string, more: object = {}, headers = {}) =>
  timed(send('POST', path, { ...account, ...more }, headers))
const refresh = (headers = {}) => timed(send('POST', 'auth/refresh', { refresh_token: 'a token' }, headers))
/** So long later that neither settings nor slow requests are remembered. */
const begin = async (how: string, withConfirmation = false) => {
  ;[fault, confirms, hasToldSettings] = [how, withConfirmation, false]
  await elapse(pause(600_000))
  // This asks for the settings.
  if (how === 'goes down') await elapse(Promise.all([post('auth/signup'), pause(1)]))
  ;[requests, warnings, statements] = [[], [], []]
}

// A token signed with a key of the project that Auth does not publish, and one of ours.
const foreign = [{ alg: 'ES256', kid: 'x' }, { sub: crypto.randomUUID(), aud: 'authenticated', exp: 1e10 }, 'x']
  .map((part) => btoa(JSON.stringify(part)).replaceAll('=', '')).join('.')
const own = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject(crypto.randomUUID())
  .setAudience('authenticated').setExpirationTime('30d').sign(new TextEncoder().encode(secret))

/** Each is the address of its state. Auth has mailed the last two's less than a minute ago, and does not mail again. */
const states = ['free', 'taken', 'pending', 'mailed', 'unmailed'].map((state) => ({ email: `${state}@example.com` }))
const faults: Record<string, unknown> = {}
for (const name of Object.keys(handlers)) {
  await begin(name)
  const [login, recovery, refreshed, logout, me, plain] = await elapse(Promise.all([
    post('auth/login'),
    post('auth/recover'),
    refresh(),
    send('POST', 'auth/logout', undefined, { Authorization: `Bearer ${own}` }),
    send('GET', 'users/me', undefined, { Authorization: `Bearer ${foreign}` }),
    post('auth/signup', states[0]),
  ]))
  await elapse(pause(20_000))
  const recoveryWarned = warnings.includes('Recovery mail not sent')
  await begin(name, true)
  faults[name] = {
    ...{ login, recovery, refreshed, logout, me, plain, recoveryWarned },
    signUps: await elapse(Promise.all(states.map((state) => post('auth/signup', state)))),
    warned: warnings.includes('Sign-up failed'),
    begun: statements.includes('begin_sign_up'),
    removes: statements.includes('check_sign_up accepted pending@example.com'),
  }
}

const at = async (path: string, names: string[], times = 1, more = {}) => {
  const found = []
  for (const name of names) {
    await begin('', true)
    const one = () => post(path, { email: `${name}@example.com`, ...more })
    found.push(await elapse(Promise.all(Array.from({ length: times }, one))))
  }
  return found
}
const addresses = ['taken', 'free']
const times = {
  'one failed log-in': await at('auth/login', addresses),
  'ten failed log-ins at once': await at('auth/login', addresses, 10),
  recovery: await at('auth/recover', addresses),
  'recovery with a CAPTCHA': await at('auth/recover', addresses, 1, { captcha_token: 'solved' }),
  'sign-up': await at('auth/signup', [...addresses, 'rejected']),
}
/** How long log-ins that begin at once take, for which Auth takes this long. */
const logIns = async (work: number[]) =>
  (await elapse(Promise.all(work.map((ms) => post('auth/login', { email: `${ms}@example.com` }))))).map(({ took }) =>
    took
  )
const floors: Record<string, number[]> = {}
for (const work of [[1], [1, 1], Array(20).fill(1), Array(100).fill(1), [1, 300, 620, 900], [7000]]) {
  await begin('')
  floors[work.length > 9 ? work.length : `${work}`] = await logIns(work)
}
await begin('')
floors['2000, then 1, and later'] = [...await logIns([2000]), ...await logIns([1])]
await begin('')
floors['2000, then 1, and later']!.push(...await logIns([1]))

await begin('')
let answered = 0
const waiting = Array.from({ length: 300 }, () => post('auth/login').finally(() => answered++))
// The clock is not moved.
const others = { ...await send('GET', 'users/interests'), answered }
await elapse(Promise.all(waiting))

const asked: Record<string, string[]> = {}
for (const forwards of ['', 'on']) {
  Deno.env.set('FORWARD_CLIENT_ADDRESS', forwards)
  await begin('answers unknown with 429')
  const from = { 'X-Forwarded-For': '203.0.113.7' }
  for (const captcha of [{ captcha_token: 'solved' }, {}]) {
    for (const path of ['auth/signup', 'auth/login', 'auth/recover', 'users']) await elapse(post(path, captcha, from))
  }
  await elapse(post('users', {}, { ...from, apikey: 'sb_secret_test' }))
  const addresses = ['203.0.113.7', '2001:db8:1:2:3::4', 'somewhere']
  for (const address of addresses) await elapse(refresh({ 'X-Forwarded-For': address }))
  asked[forwards] = requests
}
await begin('hides that an address is taken', true)
await elapse(post('auth/signup', { email: 'pending@example.com', captcha_token: 'solved' }))
const pending = { requests, metadata, began }
await begin('hides that an address is taken')
Deno.env.set('PUBLIC_USER_CREATION', 'off')
const created: number[] = []
for (const headers of [{}, { apikey: 'sb_publishable_test' }, { apikey: 'sb_secret_test' }]) {
  created.push((await elapse(post('users', {}, headers))).status)
}
console.log(JSON.stringify({ faults, times, floors, others, asked, pending, created }))
Deno.exit(0)
