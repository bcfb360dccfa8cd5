// Run by search_concurrency.test.ts with a count, a time in ms and what is limited, search or change: so many of these
// requests at once, on a database that holds each for so long. Prints how many statements reached it, the status of
// another request meanwhile, and the answers.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import users from '../../functions/users/index.ts'
import { signToken } from '../tools/jwt.ts'

const changes = [
  { method: 'PATCH', path: 'profile', body: { city: 'Porto' } },
  { method: 'PUT', path: 'profile/interests', body: { interest_ids: [1] } },
  { method: 'PATCH', path: 'searchable', body: { is_searchable: true } },
  { method: 'DELETE', path: 'me' },
]
const [count, hold, what] = Deno.args
const statement = what === 'search' ? /search_profiles/ : /update_profile|set_interests|set_searchable|erase_me/

const held: (() => void)[] = []
provideQuery(async (text) => {
  if (statement.test(text)) await new Promise<void>((resolve) => held.push(resolve))
  return [{ body: '[]' }]
})

const claims = {
  sub: crypto.randomUUID(),
  role: 'authenticated',
  iss: Deno.env.get('JWT_ISSUER'),
  aud: 'authenticated',
}
const expiry = { exp: Math.floor(Date.now() / 1000) + 600 }
const token = signToken({ alg: 'HS256', typ: 'JWT' }, { ...claims, ...expiry }, Deno.env.get('JWT_SECRET')!)
const send = async (path: string, method = 'GET', body?: object) => {
  const { status, headers } = await users.fetch(
    new Request(`http://x/users/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    }),
  )
  return { status: status === 204 ? 200 : status, retryAfter: headers.get('Retry-After') }
}

const requests = Array.from({ length: Number(count) }, (_, at) => {
  if (what === 'search') return send('search')
  const { path, method, body } = changes[at % changes.length]!
  return send(path, method, body)
})
await new Promise((resolve) => setTimeout(resolve, Number(hold)))
const running = held.length
const { status: meanwhile } = await send('me')
const answers = Promise.all(requests)
let maxRunning = running
let done = false
void answers.then(() => done = true)
while (!done) {
  maxRunning = Math.max(maxRunning, held.length)
  for (const release of held.splice(0)) release()
  await new Promise((resolve) => setTimeout(resolve))
}
console.log(JSON.stringify({ running, maxRunning, meanwhile, answers: await answers }))
