import { parseRate, type RateName, rateNames } from '../../functions/_shared/rates.ts'
import { defaultPool } from '../../functions/_shared/settings.ts'
import { CannotStart } from './cannot_start.ts'
import type { VapidKeys } from './vapid.ts'

export interface Settings {
  host: string
  port: number
  /** The folder of the database's files and the keys; null for a database in memory. */
  dataDir: string | null
  /** A Postgres server to use instead of PGlite. */
  databaseUrl: string | null
  /** A Deno that runs the bundles of the functions; null for their sources, in this process. */
  functionsDeno: string | null
  seed: 'demo' | 'none'
  emailConfirmation: boolean
  /** Whether Realtime waits where Supabase's server does. */
  realtimeDelays: boolean
  /** The rate limits as configured; limits that are not configured are off. */
  rates: Record<RateName, string>
  /** Messages of one person to another who has not written yet; no limit if it is not configured. */
  firstContactLimit: string
  /** Which responses are logged. None by default: who waits for the ready line may not read the output after it. */
  accessLog: 'off' | 'errors' | 'slow' | 'all'
  /** The configured keys; the others are made on first start. */
  keys: Partial<Keys>
  /** The configured keys of Web Push; null: made on first start. */
  vapid: VapidKeys | null
  /** The configured mail server; null: the inbox at /mail. */
  smtpUrl: string | null
}

export interface Keys {
  jwtSecret: string
  publishableKey: string
  secretKey: string
}

/** Whether only this machine can reach the stack. */
export const isLoopback = ({ host }: Settings): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

const isAnyAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** The URLs of the stack for other machines of the network; none if it listens on one address alone. */
export const networkOrigins = ({ host, port }: Settings, interfaces = Deno.networkInterfaces()): string[] =>
  isAnyAddress(host)
    ? interfaces.filter(({ family, address }) => family === 'IPv4' && !address.startsWith('127.'))
      .map(({ address }) => `http://${address}:${port}`)
    : []

/** The URL of the stack on this machine. */
export const originOf = ({ host, port }: Settings): string => {
  const reachable = isAnyAddress(host) ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

type Environment = Record<string, string | undefined>

const oneOf = <Value extends string>(env: Environment, name: string, values: readonly Value[]): Value => {
  const value = env[name] || values[0]!
  if (!(values as readonly string[]).includes(value)) {
    throw new CannotStart(`${name} is "${value}", and must be ${values.join(' or ')}`)
  }
  return value as Value
}

const port = (env: Environment): number => {
  const value = env.PORT || '54321'
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) {
    throw new CannotStart(`PORT is "${value}", and must be a number from 0 to 65535`)
  }
  return Number(value)
}

const keys = (env: Environment): Partial<Keys> => {
  const { JWT_SECRET, SUPABASE_PUBLISHABLE_KEY, SUPABASE_SECRET_KEY } = env
  if (JWT_SECRET && JWT_SECRET.length < 32) {
    throw new CannotStart(`JWT_SECRET has ${JWT_SECRET.length} characters; give it 32 or more`)
  }
  if (SUPABASE_PUBLISHABLE_KEY && !SUPABASE_PUBLISHABLE_KEY.startsWith('sb_publishable_')) {
    throw new CannotStart('SUPABASE_PUBLISHABLE_KEY must start with sb_publishable_')
  }
  if (SUPABASE_SECRET_KEY && !SUPABASE_SECRET_KEY.startsWith('sb_secret_')) {
    throw new CannotStart('SUPABASE_SECRET_KEY must start with sb_secret_')
  }
  return {
    ...(JWT_SECRET && { jwtSecret: JWT_SECRET }),
    ...(SUPABASE_PUBLISHABLE_KEY && { publishableKey: SUPABASE_PUBLISHABLE_KEY }),
    ...(SUPABASE_SECRET_KEY && { secretKey: SUPABASE_SECRET_KEY }),
  }
}

const databaseUrl = (env: Environment): string | null => {
  const value = env.DATABASE_URL
  if (!value) return null
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new CannotStart('DATABASE_URL must look like postgresql://user:password@host:port/database')
  }
  return value
}

const functionsDeno = (env: Environment): string | null => {
  if (env.FUNCTIONS_DENO && !env.DATABASE_URL) {
    throw new CannotStart(
      'FUNCTIONS_DENO needs DATABASE_URL: bundles have a process of their own, and PGlite is in this one',
    )
  }
  return env.FUNCTIONS_DENO || null
}

const vapid = (env: Environment): VapidKeys | null => {
  const { VAPID_PUBLIC_KEY: publicKey, VAPID_PRIVATE_KEY: privateKey, VAPID_SUBJECT: subject } = env
  if (subject && !/^(https:\/\/|mailto:)./.test(subject)) {
    throw new CannotStart(`VAPID_SUBJECT is "${subject}", and must begin with mailto: or https://`)
  }
  if (!publicKey && !privateKey) return null
  if (!/^B[\w-]{86}$/.test(publicKey ?? '') || !/^[\w-]{43}$/.test(privateKey ?? '')) {
    throw new CannotStart('VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY must be a pair in base64url, of 87 and 43 characters')
  }
  return { publicKey: publicKey!, privateKey: privateKey! }
}

const checkWebhook = ({ WEBHOOK_URL: url, WEBHOOK_SECRET: secret }: Environment): void => {
  if (!url && !secret) return
  if (!url || !secret) throw new CannotStart('WEBHOOK_URL and WEBHOOK_SECRET must be set together')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CannotStart(`WEBHOOK_URL is "${url}", and must be an https URL, or http on this machine`)
  }
  if (!/^(whsec_)?([A-Za-z0-9+/]{4}){6,}([A-Za-z0-9+/]{2,3}={0,2})?$/.test(secret)) {
    throw new CannotStart('WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64')
  }
}

const smtpUrl = (env: Environment): string | null => {
  const value = env.SMTP_URL
  if (!value) return null
  if (!URL.canParse(value) || !/^smtps?:$/.test(new URL(value).protocol)) {
    throw new CannotStart('SMTP_URL must look like smtps://user:password@host:port')
  }
  return value
}

const rates = (env: Environment): Record<RateName, string> => {
  try {
    for (const name of rateNames) parseRate(name, env[name])
  } catch (error) {
    throw new CannotStart((error as Error).message)
  }
  return Object.fromEntries(rateNames.map((name) => [name, env[name] || 'off'])) as Record<RateName, string>
}

/** Checks a setting that the functions read themselves. */
const checkNumber = (env: Environment, name: string, max: number, alternative = ''): void => {
  const value = env[name]
  if (value && !(/^[1-9]\d*$/.test(value) && Number(value) <= max)) {
    throw new CannotStart(`${name} is "${value}", and must be a number from 1 to ${max}${alternative}`)
  }
}

/** Reads the settings of `npm start`; throws CannotStart for the first invalid one. */
export const readSettings = (env: Environment): Settings => {
  oneOf(env, 'PUBLIC_USER_CREATION', ['on', 'off'])
  checkNumber(env, 'TRUSTED_PROXIES', 9)
  checkNumber(env, 'DATABASE_POOL', 999_999)
  checkNumber(env, 'DATABASE_QUEUE', 999_999)
  // Leave one connection for other requests.
  checkNumber(env, 'SEARCH_CONCURRENCY', Math.max(1, Number(env.DATABASE_POOL || defaultPool) - 1))
  checkNumber(env, 'SEARCH_TIMEOUT', 5000)
  if (env.NOTIFY_DELAY_SECONDS !== '0') checkNumber(env, 'NOTIFY_DELAY_SECONDS', 86_400)
  oneOf(env, 'LOOPBACK_TARGETS', ['none', 'webhook', 'all'])
  checkWebhook(env)
  if (env.FIRST_CONTACT_LIMIT !== 'off') checkNumber(env, 'FIRST_CONTACT_LIMIT', 999_999, ', or off')
  oneOf(env, 'PARTNER_EMAIL', ['always', 'after_reply'])
  return {
    host: env.HOST || '127.0.0.1',
    port: port(env),
    dataDir: env.DATA_DIR === 'memory' ? null : env.DATA_DIR || '.data',
    databaseUrl: databaseUrl(env),
    functionsDeno: functionsDeno(env),
    seed: oneOf(env, 'SEED', ['demo', 'none']),
    emailConfirmation: oneOf(env, 'EMAIL_CONFIRMATION', ['off', 'on']) === 'on',
    realtimeDelays: oneOf(env, 'REALTIME_DELAYS', ['off', 'on']) === 'on',
    rates: rates(env),
    firstContactLimit: env.FIRST_CONTACT_LIMIT || 'off',
    accessLog: oneOf(env, 'ACCESS_LOG', ['off', 'errors', 'slow', 'all']),
    keys: keys(env),
    vapid: vapid(env),
    smtpUrl: smtpUrl(env),
  }
}
