import { existsSync, readdirSync } from 'node:fs'
import { describeAnswer } from './project.mjs'
import { fail, skip } from './outcome.mjs'
import { forgedTokens } from './tokens.mjs'

const folder = new URL('../../functions/', import.meta.url)
const functionNames = readdirSync(folder).filter((name) => existsSync(new URL(`${name}/index.ts`, folder))).sort()

const health = async ({ call }) => {
  const answer = await call('/health')
  const { status, database, embeddings } = answer.body ?? {}
  if (answer.status !== 200 || status !== 'ok' || database !== 'ok') fail(describeAnswer(answer))
  if (typeof embeddings?.provider !== 'string' || !Number.isInteger(embeddings.pending)) fail(describeAnswer(answer))
  return `database ok, embeddings by ${embeddings.provider}, ${embeddings.pending} pending`
}

/** Each function reports the release that it was built from. */
const releases = async ({ call, isLoopback }) => {
  const found = new Map()
  for (const name of functionNames) {
    const answer = await call(`/${name}/openapi.json`)
    if (answer.status !== 200) fail(`${name} answers ${describeAnswer(answer)}`)
    const release = answer.headers.get('X-Release') ?? 'none'
    found.set(release, [...found.get(release) ?? [], name])
  }
  const [[release], ...others] = found
  if (others.length > 0) {
    fail([...found].map(([release, names]) => `${names.join(', ')}: ${release}`).join('; '))
  }
  if (release === 'none') fail('the functions report no release: an older one, or not these functions')
  if (release === 'development' && !isLoopback) fail('not built: deploy with npm run deploy')
  return `${functionNames.join(', ')}: ${release}`
}

const errors = async ({ call }) => {
  const unknown = await call('/users/no/such/route')
  if (unknown.status !== 404 || typeof unknown.body?.error !== 'string') {
    fail(`an unknown route answers ${describeAnswer(unknown)}`)
  }
  if (Object.keys(unknown.body).length > 1) fail(`an unknown route tells more than an error: ${unknown.text}`)
  if (!unknown.headers.get('X-Request-Id')) fail('answers have no X-Request-Id')
  const wrongMethod = await call('/health', { method: 'PUT' })
  if (wrongMethod.status !== 405 || !wrongMethod.headers.get('Allow')) {
    fail(`a wrong method answers ${describeAnswer(wrongMethod)}`)
  }
  return '404 and 405 as {error}'
}

const tokens = async ({ call }) => {
  const send = (token) => call('/users/me', token ? { headers: { Authorization: `Bearer ${token}` } } : {})
  for (const [name, token] of Object.entries({ 'no token': '', ...forgedTokens('authenticated') })) {
    const answer = await send(token)
    if (answer.status !== 401) fail(`GET /users/me with ${name} answers ${describeAnswer(answer)}`)
    if (!answer.headers.get('WWW-Authenticate')) fail('a 401 has no WWW-Authenticate')
  }
  return 'none and forged ones are refused'
}

/** If any of these were accepted it would still be an account that nobody owns: .invalid is reserved. */
const signUp = async ({ call }) => {
  const email = `doctor-${crypto.randomUUID()}@doctor.invalid`
  const weak = {
    'a password of 7 characters': { email, password: '7 chars', name: 'Doctor' },
    'no e-mail address': { email: 'doctor', password: 'correct horse', name: 'Doctor' },
    'no name': { email, password: 'correct horse' },
  }
  for (const [input, json] of Object.entries(weak)) {
    const answer = await call('/auth/signup', { method: 'POST', json })
    if (answer.status === 429) skip('too many sign-ups from this address')
    if (answer.status !== 400) fail(`with ${input} it answers ${describeAnswer(answer)}`)
  }
  return 'weak input is refused'
}

const secretRoutes = async ({ call, publishableKey }) => {
  const keys = { 'no key': undefined, 'the publishable key': publishableKey, 'another secret key': 'sb_secret_doctor' }
  for (const [name, key] of Object.entries(keys)) {
    for (const [method, path] of [['GET', '/health/metrics'], ['POST', '/embed']]) {
      const answer = await call(path, { method, key })
      if (answer.status !== 401) fail(`${method} ${path} with ${name} answers ${describeAnswer(answer)}`)
    }
  }
  return 'metrics and embed need the secret key'
}

export const serviceChecks = [
  ['health', health],
  ['releases', releases],
  ['errors', errors],
  ['tokens', tokens],
  ['sign-up', signUp],
  ['secret routes', secretRoutes],
]
