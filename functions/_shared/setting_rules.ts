import { z } from 'zod'

export type Environment = Record<string, string | undefined>

/** A value that is not understood: the rest of a sentence that begins with the setting. */
const fail = (message: string): never => {
  throw new Error(message)
}

const matching = (pattern: RegExp, message: string) => (value: string): string =>
  pattern.test(value) ? value : fail(message)

const oneOf = <Value extends string>(...values: Value[]) => (text: string): Value =>
  values.find((value) => value === text) ?? fail(`must be ${values.join(' or ')}`)

const onOff = (text: string): boolean => oneOf('on', 'off')(text) === 'on'

const number = (min: number, max: number, others = '') => (text: string): number =>
  /^(0|[1-9]\d{0,6})$/.test(text) && Number(text) >= min && Number(text) <= max
    ? Number(text)
    : fail(`must be a number from ${min} to ${max}${others}`)

const count = number(0, 999_999)
const firstContact = (text: string): number | null => text === 'off' ? null : number(1, 999_999, ', or off')(text)
const positive = number(1, 999_999)

const url = (message: string, ...protocols: string[]) => (text: string): string =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : fail(message)
const webUrl = url('must be a URL with https, or http on this machine', 'https:', 'http:')
const postgresUrl = url('must look like postgresql://user:password@host:port/database', 'postgresql:', 'postgres:')

/** Keys as Supabase sets them: `{"default": "sb_…"}`. */
export const namedKeys = (text: string): string[] => {
  try {
    return Object.values(z.record(z.string(), z.string()).parse(JSON.parse(text)))
  } catch {
    return fail('must be a JSON object of keys by name')
  }
}

/** `count` requests in `seconds`, at most `burst` of them at once. */
export type Rate = Record<'count' | 'seconds' | 'burst', number>

/** `60/60` allows the whole count at once, `60/60/10` ten at once, `off` is null. */
const parseRate = (text: string): Rate | null => {
  if (text === 'off') return null
  const format = /^[1-9]\d{0,5}(\/[1-9]\d{0,5}){1,2}$/
  const [count = 0, seconds = 0, burst = count] = format.test(text) ? text.split('/').map(Number) : []
  return count && burst <= count ? { count, seconds, burst } : fail('must be count/seconds, count/seconds/burst or off')
}

const rate = (hosted: string) => ({ parse: parseRate, default: hosted, local: 'off' })

export interface Setting {
  /** Who alone reads it: `npm start`, or the functions on Supabase. */
  on?: 'machine' | 'supabase'
  /** What it says; throws where that is not understood. Without it any text. */
  parse?: (value: string) => unknown
  default?: string
  /** The default on one machine, where it differs. */
  local?: string
}

// Every setting: npm start and the functions check and read by these tables. docs/settings.md says what each one means;
// `npm run settings` writes names and defaults there and into `.env.example`.

const table = {
  OPENAI_API_KEY: {},
  OPENAI_BASE_URL: { parse: webUrl },
  EMBEDDING_MODEL: { default: 'text-embedding-3-small' },
  // With one statement at a time on each, six connections serve as many requests a second on two cores as three did
  // with pipelining; three serve four fifths of that (npm run bench -- --against=… --pools=3,4,6).
  DATABASE_POOL: { parse: positive, default: '6' },
  DATABASE_QUEUE: { parse: positive, default: '1000' },
  SEARCH_TIMEOUT: { parse: number(1, 5000), default: '2000' },
  PUBLIC_USER_CREATION: { parse: onOff, default: 'on' },
  RATE_LIMIT_SEND: rate('60/60/10'),
  RATE_LIMIT_OPEN: rate('20/3600'),
  RATE_LIMIT_RESERVE: rate('60/3600/20'),
  RATE_LIMIT_REPORT: rate('20/3600'),
  RATE_LIMIT_SEARCH: rate('120/60'),
  RATE_LIMIT_SEARCH_ANONYMOUS: rate('30/60'),
  RATE_LIMIT_SIGNUP: rate('10/3600'),
  // Hashing keeps one machine busy for as long as it takes; no test or script logs in as often.
  RATE_LIMIT_LOGIN: { ...rate('30/300'), local: '3000/60/600' },
  RATE_LIMIT_REFRESH: rate('150/300'),
  RATE_LIMIT_RECOVER: rate('10/3600'),
  RATE_LIMIT_PROFILE: rate('120/3600/30'),
  RATE_LIMIT_STATE: rate('120/60/20'),
  RATE_LIMIT_BLOCK: rate('100/3600/20'),
  RATE_LIMIT_DEVICE: rate('60/3600/20'),
  RATE_LIMIT_EXPORT: rate('10/3600'),
  FIRST_CONTACT_LIMIT: { parse: firstContact, default: '3', local: 'off' },
  UNSEND_HOURS: { parse: count, default: '24' },
  EDIT_MINUTES: { parse: count, default: '15' },
  PARTNER_EMAIL: { parse: oneOf('always', 'after_reply'), default: 'always' },
  NOTIFY_DELAY_SECONDS: { parse: number(0, 86_400), default: '600' },
  SMTP_URL: { parse: url('must look like smtps://user:password@host:port', 'smtp:', 'smtps:') },
  MAIL_FROM: {
    parse: matching(/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/, 'must be an e-mail address'),
    default: 'no-reply@localhost',
  },
  APP_URL: { parse: webUrl },
  VAPID_PUBLIC_KEY: {},
  VAPID_PRIVATE_KEY: {},
  VAPID_SUBJECT: { parse: matching(/^(https:\/\/|mailto:)./, 'must begin with mailto: or https://') },
  WEBHOOK_URL: { parse: webUrl },
  WEBHOOK_SECRET: {
    parse: matching(
      /^(whsec_)?([A-Za-z0-9+/]{4}){6,}([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$/,
      'must be whsec_ and 24 to 64 bytes in base64',
    ),
  },
  LOOPBACK_TARGETS: { parse: oneOf('none', 'webhook', 'all'), default: 'none', local: 'webhook' },
  TRUSTED_PROXIES: { parse: number(1, 9), default: '1' },
  // Locally off: a program that waits for the ready line may not read the output after it.
  ACCESS_LOG: { parse: oneOf('off', 'errors', 'slow', 'all'), default: 'slow', local: 'off' },
  JWT_SECRET: { parse: (text) => text.length < 32 ? fail(`has ${text.length} characters; give it 32 or more`) : text },
  PORT: { on: 'machine', parse: number(0, 65_535), default: '54321' },
  HOST: { on: 'machine', default: '127.0.0.1' },
  DATA_DIR: { on: 'machine', default: '.data' },
  DATABASE_URL: { on: 'machine', parse: postgresUrl },
  SEED: { on: 'machine', parse: oneOf('demo', 'none'), default: 'demo' },
  SUPABASE_PUBLISHABLE_KEY: { on: 'machine', parse: matching(/^sb_publishable_/, 'must start with sb_publishable_') },
  SUPABASE_SECRET_KEY: { on: 'machine', parse: matching(/^sb_secret_/, 'must start with sb_secret_') },
  CURRENCY: {
    on: 'machine',
    parse: (text) => Intl.supportedValuesOf('currency').includes(text) ? text : fail('must be of ISO 4217, as EUR'),
    default: 'EUR',
  },
  EMAIL_CONFIRMATION: { on: 'machine', parse: onOff, default: 'off' },
  DATABASE_CA_CERTIFICATE: {
    on: 'supabase',
    parse: matching(/^\s*-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM'),
  },
  EDGE_DATABASE_URL: { on: 'supabase', parse: postgresUrl },
  CLIENT_ADDRESS_HEADER: {
    on: 'supabase',
    parse: (text) => matching(/^[\w-]+$/, 'must be the name of a header')(text).toLowerCase(),
    default: 'x-forwarded-for',
  },
  FORWARD_CLIENT_ADDRESS: { on: 'supabase', parse: onOff, default: 'off' },
  JWT_ISSUER: { on: 'supabase' },
  PUBLIC_URL: { on: 'supabase', parse: webUrl },
} satisfies Record<string, Setting>

type SettingName = keyof typeof table
export type RateName = Extract<SettingName, `RATE_LIMIT_${string}`>
type Values = {
  readonly [Name in SettingName]:
    | (typeof table[Name] extends { parse: (value: string) => infer Value } ? Value : string)
    | (typeof table[Name] extends { default: string } ? never : undefined)
}

export const allSettings: Record<string, Setting> = table
export const rateNames = Object.keys(table).filter((name) => name.startsWith('RATE_LIMIT_')) as RateName[]

/** What the settings say, read at each use. One that is not understood throws: its default may be the open one. */
export const readSettings = (read: (name: string) => string | undefined): Values => {
  const valueOf = (name: string, { parse, default: otherwise }: Setting) => {
    const text = read(name) || otherwise
    return text !== undefined && parse ? parse(text) : text
  }
  const getters = Object.entries(allSettings)
    .map(([name, setting]) => [name, { get: () => valueOf(name, setting) }] as const)
  return Object.defineProperties({}, Object.fromEntries(getters)) as Values
}

/** Settings whose values no message shows. */
const hidesValue = /SECRET|KEY|^(EDGE_)?DATABASE_URL|SMTP_URL|CERTIFICATE/

/** What depends on several settings. */
const contradiction = (env: Environment): string | undefined => {
  if (Boolean(env.WEBHOOK_URL) !== Boolean(env.WEBHOOK_SECRET)) {
    return 'WEBHOOK_URL and WEBHOOK_SECRET must be set together'
  }
  const [publicKey, privateKey] = [env.VAPID_PUBLIC_KEY, env.VAPID_PRIVATE_KEY]
  if ((publicKey || privateKey) && !(/^B[\w-]{86}$/.test(publicKey ?? '') && /^[\w-]{43}$/.test(privateKey ?? ''))) {
    return 'VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY must be a pair in base64url, of 87 and 43 characters'
  }
}

const platformKeys = { SUPABASE_SECRET_KEYS: { parse: namedKeys }, SUPABASE_PUBLISHABLE_KEYS: { parse: namedKeys } }

/** The first setting of the functions, and of `npm start`, that is not understood, in one line that names it. */
export const settingsError = (env: Environment, isOnMachine = false): string | undefined => {
  for (const [name, { on, parse }] of Object.entries<Setting>({ ...allSettings, ...platformKeys })) {
    const value = env[name]
    try {
      if (value && (isOnMachine || on !== 'machine')) parse?.(value)
    } catch (error) {
      const { message } = error as Error
      return hidesValue.test(name) ? `${name} ${message}` : `${name} is "${value}", and ${message}`
    }
  }
  return contradiction(env)
}
