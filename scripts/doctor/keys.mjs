import { describeAnswer } from './project.mjs'
import { fail, skip } from './outcome.mjs'
import { forgedTokens } from './tokens.mjs'

const interests = 'interests?select=id&limit=1'

const publishable = async ({ query }) => {
  const answer = await query(interests)
  if (answer.status !== 200) fail(`the Data API answers ${describeAnswer(answer)}`)
  if (!Array.isArray(answer.body) || answer.body.length === 0) fail('no interests: run db push with --include-seed')
  return 'accepted'
}

const others = async ({ query }) => {
  const keys = {
    'no key': undefined,
    'another publishable key': 'sb_publishable_doctor',
    'another secret key': 'sb_secret_doctor',
    ...forgedTokens('service_role'),
  }
  for (const [name, key] of Object.entries(keys)) {
    const answer = await query(interests, {
      key,
      headers: key?.includes('.') ? { Authorization: `Bearer ${key}` } : {},
    })
    if (answer.status !== 401 && answer.status !== 403) fail(`${name} is answered with ${describeAnswer(answer)}`)
  }
  return `${Object.keys(keys).join(', ')}: refused`
}

const secret = async ({ query, call, secretKey }) => {
  if (!secretKey) skip('SUPABASE_SECRET_KEY is not set')
  const rows = await query('users?select=id&limit=1', { key: secretKey })
  if (rows.status !== 200) fail(`the Data API answers ${describeAnswer(rows)}`)
  const metrics = await call('/health/metrics?oldest_audit=999999', { key: secretKey })
  if (metrics.status !== 200) fail(`the functions answer ${describeAnswer(metrics)}`)
  return 'accepted by the Data API and the functions'
}

const authSettings = async ({ send, publishableKey, isLoopback }) => {
  const answer = await send('/auth/v1/settings', { key: publishableKey })
  if (answer.status !== 200 || !answer.body?.external) fail(describeAnswer(answer))
  const { external, mailer_autoconfirm, disable_signup } = answer.body
  if (disable_signup) fail('sign-ups are off')
  if (!external.email) fail('the e-mail provider is off')
  if (external.anonymous_users) fail('anonymous sign-ins are on')
  if (mailer_autoconfirm && !isLoopback) fail('Confirm email is off: anybody can claim any address')
  return mailer_autoconfirm ? 'addresses are not confirmed, on this machine' : 'addresses are confirmed'
}

export const keyChecks = [
  ['publishable key', publishable],
  ['other keys', others],
  ['secret key', secret],
  ['auth settings', authSettings],
]
