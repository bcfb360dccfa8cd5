import { parseRate, type RateName, rateNames } from '../../functions/_shared/rates.ts'
import { defaultPool } from '../../functions/_shared/settings.ts'

/** A setting or circumstance that keeps the stack from starting, in one line that says what to do. */
export class CannotStart extends Error {}

export interface Settings {
  host: string
  port: number
  /** Folder for the database's files and the keys; null keeps nothing. */
  dataDir: string | null
  /** A Postgres to use instead of PGlite. */
  databaseUrl: string | null
  seed: 'demo' | 'none'
  emailConfirmation: boolean
  /** The limits that were given, as their functions read them; here the others are off. */
  rates: Record<RateName, string>
  /** A line for each answer. Off unless asked for: whoever reads the console up to the ready line need not go on reading. */
  accessLog: 'off' | 'on'
  /** Keys that were given; the rest is made on first start. */
  keys: Partial<Keys>
}

export interface Keys {
  jwtSecret: string
  publishableKey: string
  secretKey: string
}

/** Whether only this machine can reach the stack. */
export const isLoopback = ({ host }: Settings): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

/** The address to reach the stack at, from this machine. */
export const originOf = ({ host, port }: Settings): string => {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
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

const rates = (env: Environment): Record<RateName, string> => {
  try {
    for (const name of rateNames) parseRate(name, env[name])
  } catch (error) {
    throw new CannotStart((error as Error).message)
  }
  return Object.fromEntries(rateNames.map((name) => [name, env[name] || 'off'])) as Record<RateName, string>
}

/** What the functions read by themselves. */
const number = (env: Environment, name: string, most: number): void => {
  const value = env[name]
  if (value && !(/^[1-9]\d*$/.test(value) && Number(value) <= most)) {
    throw new CannotStart(`${name} is "${value}", and must be a number from 1 to ${most}`)
  }
}

/** Reads the settings of `npm start`; refuses bad ones before anything else happens. */
export const readSettings = (env: Environment): Settings => {
  oneOf(env, 'PUBLIC_USER_CREATION', ['on', 'off'])
  number(env, 'TRUSTED_PROXIES', 9)
  number(env, 'DATABASE_POOL', 999_999)
  number(env, 'DATABASE_QUEUE', 999_999)
  // One connection stays for everything else.
  number(env, 'SEARCH_CONCURRENCY', Math.max(1, Number(env.DATABASE_POOL || defaultPool) - 1))
  number(env, 'SEARCH_TIMEOUT', 5000)
  return {
    host: env.HOST || '127.0.0.1',
    port: port(env),
    dataDir: env.DATA_DIR === 'memory' ? null : env.DATA_DIR || '.data',
    databaseUrl: databaseUrl(env),
    seed: oneOf(env, 'SEED', ['demo', 'none']),
    emailConfirmation: oneOf(env, 'EMAIL_CONFIRMATION', ['off', 'on']) === 'on',
    rates: rates(env),
    accessLog: oneOf(env, 'ACCESS_LOG', ['off', 'on']),
    keys: keys(env),
  }
}
