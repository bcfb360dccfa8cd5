import { z } from 'zod'
import { parseRate, rateNames } from './rates.ts'

/**
 * Database connections. With one statement at a time on each, six connections serve as many requests a second on two
 * cores as three did with pipelining; three serve four fifths of that (npm run bench -- --against=… --pools=3,4,6).
 */
export const defaultPool = 6

export type Environment = Record<string, string | undefined>

const oneOf = (...values: string[]) =>
  z.string().refine((value) => values.includes(value), `must be ${values.join(' or ')}`)

const number = (min: number, max: number, ...others: string[]) =>
  z.string().refine(
    (value) =>
      others.includes(value) || /^(0|[1-9]\d{0,6})$/.test(value) && Number(value) >= min && Number(value) <= max,
    `must be a number from ${min} to ${max}${others.map((other) => `, or ${other}`).join('')}`,
  )

const url = (message: string, ...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), message)
const webUrl = url('must be a URL with https, or http on this machine', 'https:', 'http:')
const postgresUrl = url(
  'must look like postgresql://user:password@host:port/database',
  'postgresql:',
  'postgres:',
)

const namedKeys = z.string().refine((value) => {
  try {
    const keys = JSON.parse(value)
    return typeof keys === 'object' && !Array.isArray(keys) &&
      Object.values(keys).every((key) => typeof key === 'string')
  } catch {
    return false
  }
}, 'must be a JSON object of keys by name')

const jwtSecret = z.string().superRefine((value, context) => {
  if (value.length < 32) context.addIssue(`has ${value.length} characters; give it 32 or more`)
})

const rate = (name: typeof rateNames[number]) =>
  z.string().refine((value) => {
    try {
      parseRate(name, value)
      return true
    } catch {
      return false
    }
  }, 'must be count/seconds, count/seconds/burst or off')

/** What each setting of the functions may be. One that is not here takes any text. */
const functionSettings: Record<string, z.ZodType> = {
  ...Object.fromEntries(rateNames.map((name) => [name, rate(name)])),
  PUBLIC_USER_CREATION: oneOf('on', 'off'),
  PARTNER_EMAIL: oneOf('always', 'after_reply'),
  FORWARD_CLIENT_ADDRESS: oneOf('off', 'on'),
  LOOPBACK_TARGETS: oneOf('none', 'webhook', 'all'),
  ACCESS_LOG: oneOf('off', 'errors', 'slow', 'all'),
  TRUSTED_PROXIES: number(1, 9),
  DATABASE_POOL: number(1, 999_999),
  DATABASE_QUEUE: number(1, 999_999),
  SEARCH_CONCURRENCY: number(1, 999_999),
  SEARCH_TIMEOUT: number(1, 5000),
  FIRST_CONTACT_LIMIT: number(1, 999_999, 'off'),
  NOTIFY_DELAY_SECONDS: number(0, 86_400),
  CLIENT_ADDRESS_HEADER: z.string().regex(/^[\w-]+$/, 'must be the name of a header'),
  PUBLIC_URL: webUrl,
  APP_URL: webUrl,
  OPENAI_BASE_URL: webUrl,
  WEBHOOK_URL: webUrl,
  WEBHOOK_SECRET: z.string()
    .regex(
      /^(whsec_)?([A-Za-z0-9+/]{4}){6,}([A-Za-z0-9+/]{2,3}={0,2})?$/,
      'must be whsec_ and 24 to 64 bytes in base64',
    ),
  SMTP_URL: url('must look like smtps://user:password@host:port', 'smtp:', 'smtps:'),
  MAIL_FROM: z.string().regex(/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/, 'must be an e-mail address'),
  VAPID_SUBJECT: z.string().regex(/^(https:\/\/|mailto:)./, 'must begin with mailto: or https://'),
  JWT_SECRET: jwtSecret,
  DATABASE_CA_CERTIFICATE: z.string().regex(/^\s*-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM'),
  EDGE_DATABASE_URL: postgresUrl,
  SUPABASE_SECRET_KEYS: namedKeys,
  SUPABASE_PUBLISHABLE_KEYS: namedKeys,
}

/** What each further setting of `npm start` may be. */
const localSettings: Record<string, z.ZodType> = {
  PORT: number(0, 65_535),
  SEED: oneOf('demo', 'none'),
  EMAIL_CONFIRMATION: oneOf('off', 'on'),
  REALTIME_DELAYS: oneOf('off', 'on'),
  DATABASE_URL: postgresUrl,
  SUPABASE_PUBLISHABLE_KEY: z.string().regex(/^sb_publishable_/, 'must start with sb_publishable_'),
  SUPABASE_SECRET_KEY: z.string().regex(/^sb_secret_/, 'must start with sb_secret_'),
}

/** Of these the problem does not show the value. */
const hidesValue = /SECRET|KEY|^(EDGE_)?DATABASE_URL|SMTP_URL|CERTIFICATE/

/** What depends on several settings. */
const contradiction = (env: Environment): string | undefined => {
  // Leave one connection for other requests.
  const searches = Math.max(1, Number(env.DATABASE_POOL || defaultPool) - 1)
  if (Number(env.SEARCH_CONCURRENCY || 1) > searches) {
    return `SEARCH_CONCURRENCY is "${env.SEARCH_CONCURRENCY}", and must be a number from 1 to ${searches}`
  }
  if (Boolean(env.WEBHOOK_URL) !== Boolean(env.WEBHOOK_SECRET)) {
    return 'WEBHOOK_URL and WEBHOOK_SECRET must be set together'
  }
  const [publicKey, privateKey] = [env.VAPID_PUBLIC_KEY, env.VAPID_PRIVATE_KEY]
  if ((publicKey || privateKey) && !(/^B[\w-]{86}$/.test(publicKey ?? '') && /^[\w-]{43}$/.test(privateKey ?? ''))) {
    return 'VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY must be a pair in base64url, of 87 and 43 characters'
  }
}

const firstProblem = (rules: Record<string, z.ZodType>, env: Environment): string | undefined => {
  for (const [name, schema] of Object.entries(rules)) {
    const value = env[name]
    // As in an .env file, an empty setting is none.
    if (!value) continue
    const message = schema.safeParse(value).error?.issues[0]?.message
    if (!message) continue
    if (hidesValue.test(name)) return `${name} ${message}`
    return `${name} is "${value}", and ${message}`
  }
}

/** The first setting of the functions that is not understood, in one line that names it. */
export const settingsErrorOfFunctions = (env: Environment): string | undefined =>
  firstProblem(functionSettings, env) ?? contradiction(env)

/** The same of `npm start`. */
export const settingsErrorOfStack = (env: Environment): string | undefined =>
  firstProblem(localSettings, env) ?? settingsErrorOfFunctions(env)

/** The settings that take not any text, for the tests. */
export const checkedSettings = { functions: Object.keys(functionSettings), local: Object.keys(localSettings) }
