import { isLoopback } from '../../functions/_shared/addresses.ts'
import {
  allSettings,
  type Environment,
  readSettings as read,
  settingsError,
} from '../../functions/_shared/setting_rules.ts'
import { CannotStart } from './cannot_start.ts'

export interface Keys {
  jwtSecret: string
  publishableKey: string
  secretKey: string
}

/** Whether this name or address is of this machine alone. */
export const isLoopbackHost = (host: string): boolean => host === 'localhost' || isLoopback(host)

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

/** Reads the settings of `npm start`; throws CannotStart for the first invalid one. */
export const readSettings = (env: Environment) => {
  const misunderstood = settingsError(env, true)
  if (misunderstood) throw new CannotStart(misunderstood)
  const settings = read((name) => env[name] || allSettings[name]?.local)
  const { JWT_SECRET, SUPABASE_PUBLISHABLE_KEY, SUPABASE_SECRET_KEY, VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY } = env
  /** The configured ones; the others are made on first start. */
  const keys: Partial<Keys> = {
    ...(JWT_SECRET && { jwtSecret: JWT_SECRET }),
    ...(SUPABASE_PUBLISHABLE_KEY && { publishableKey: SUPABASE_PUBLISHABLE_KEY }),
    ...(SUPABASE_SECRET_KEY && { secretKey: SUPABASE_SECRET_KEY }),
  }
  const hasVapid = VAPID_PUBLIC_KEY && VAPID_PRIVATE_KEY
  return {
    keys,
    host: settings.HOST,
    port: settings.PORT,
    /** The folder of the database's files and the keys; null for a database in memory. */
    dataDir: settings.DATA_DIR === 'memory' ? null : settings.DATA_DIR,
    /** A Postgres server to use instead of PGlite. */
    databaseUrl: settings.DATABASE_URL ?? null,
    seed: settings.SEED,
    currency: settings.CURRENCY,
    emailConfirmation: settings.EMAIL_CONFIRMATION,
    /** Of log-ins at Auth itself; null for no limit. */
    logInRate: settings.RATE_LIMIT_LOGIN,
    /** The configured keys of Web Push; null: made on first start. */
    vapid: hasVapid ? { publicKey: VAPID_PUBLIC_KEY, privateKey: VAPID_PRIVATE_KEY } : null,
  }
}
export type Settings = ReturnType<typeof readSettings>
