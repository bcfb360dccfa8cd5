import { z } from 'zod'
import { parseRate, rateNames } from './rates.ts'

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

export interface Setting {
  /** Who reads it: `npm start`, the functions on Supabase, or both. */
  on: 'both' | 'machine' | 'supabase'
  /** What it may be; without a rule any text. */
  rule?: z.ZodType
  default?: string
  /** The default on one machine, where it differs. */
  local?: string
  /** The default in words, where it is not a constant. */
  unset?: string
  /** What .env.example shows, if it is not the default. */
  example?: string
  /** One cell of a table in docs/settings.md, in Markdown. */
  means: string
}

/**
 * Every setting: npm start and the functions check and read by this table, and `npm run settings` writes
 * `.env.example` and the tables of docs/settings.md from it.
 */
export const allSettings: Record<string, Setting> = {
  OPENAI_API_KEY: {
    on: 'both',
    means: 'vectors of the search from OpenAI; without a key the offline model makes them',
  },
  OPENAI_BASE_URL: {
    on: 'both',
    rule: webUrl,
    unset: 'OpenAI',
    example: 'https://api.openai.com/v1',
    means: 'anything else that speaks its API and returns 384 dimensions',
  },
  EMBEDDING_MODEL: { on: 'both', unset: '`text-embedding-3-small`', means: 'the model that is asked for vectors' },
  DATABASE_POOL: {
    on: 'both',
    rule: number(1, 999_999),
    // With one statement at a time on each, six connections serve as many requests a second on two cores as three did
    // with pipelining; three serve four fifths of that (npm run bench -- --against=… --pools=3,4,6).
    default: '6',
    means: 'database connections per instance (1 on Supabase)',
  },
  DATABASE_QUEUE: {
    on: 'both',
    rule: number(1, 999_999),
    default: '1000',
    means: 'how many statements may wait for a connection; the next gets 503',
  },
  SEARCH_CONCURRENCY: {
    on: 'both',
    rule: number(1, 999_999),
    unset: 'half of `DATABASE_POOL`',
    means: 'searches that run at once; 100 more may wait, for 4 s at most, and the next gets 503. Always below ' +
      '`DATABASE_POOL`, unless that is 1',
  },
  SEARCH_TIMEOUT: {
    on: 'both',
    rule: number(1, 5000),
    default: '2000',
    means: 'milliseconds after which a search ends with 503',
  },
  PUBLIC_USER_CREATION: {
    on: 'both',
    rule: oneOf('on', 'off'),
    default: 'on',
    means: '`off` leaves `POST /users` to the secret key',
  },
  ...Object.fromEntries(rateNames.map((name) => [
    name,
    {
      on: 'both',
      rule: rate(name),
      // Hashing keeps one machine busy for as long as it takes; no test or script logs in as often.
      local: name === 'RATE_LIMIT_LOGIN' ? '3000/60/600' : 'off',
      unset: '[hosted](privacy.md#limits)',
      means: name === 'RATE_LIMIT_LOGIN'
        ? 'log-ins of an address; on one machine also those at Auth itself'
        : 'the fourteen others: `count/seconds`, `count/seconds/burst` or `off`',
    } as const,
  ])),
  FIRST_CONTACT_LIMIT: {
    on: 'both',
    rule: number(1, 999_999, 'off'),
    default: '3',
    local: 'off',
    means: 'how many messages a person may send in a conversation in which the other one has never written; the next ' +
      'gets 403. `off` or 1 and more',
  },
  PARTNER_EMAIL: {
    on: 'both',
    rule: oneOf('always', 'after_reply'),
    default: 'always',
    means: '`after_reply`: the partner\'s e-mail address is `""` in the list of conversations and the export until ' +
      'they have written',
  },
  NOTIFY_DELAY_SECONDS: {
    on: 'both',
    rule: number(0, 86_400),
    default: '600',
    means: 'the delay of those who have not chosen one ([notifications](notifications.md))',
  },
  SMTP_URL: {
    on: 'both',
    rule: url('must look like smtps://user:password@host:port', 'smtp:', 'smtps:'),
    unset: 'the inbox at `/mail`; on Supabase none',
    example: 'smtps://user:password@smtp.example.com:2465',
    means: 'the mail server of [mails](notifications.md#e-mail)',
  },
  MAIL_FROM: {
    on: 'both',
    rule: z.string().regex(/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/, 'must be an e-mail address'),
    default: 'no-reply@localhost',
    means: 'their sender',
  },
  APP_URL: {
    on: 'both',
    rule: webUrl,
    unset: 'the demo; on Supabase none',
    example: 'https://app.example.com',
    means: 'where mails lead',
  },
  VAPID_PUBLIC_KEY: {
    on: 'both',
    unset: 'made on first start, in `DATA_DIR`; on Supabase none',
    means: 'the public key of [Web Push](notifications.md#web-push)',
  },
  VAPID_PRIVATE_KEY: { on: 'both', unset: 'as the public one', means: 'the private key that belongs to it' },
  VAPID_SUBJECT: {
    on: 'both',
    rule: z.string().regex(/^(https:\/\/|mailto:)./, 'must begin with mailto: or https://'),
    unset: "the project's URL",
    example: 'mailto:you@example.com',
    means: 'a `mailto:` or `https:` address for push services',
  },
  WEBHOOK_URL: {
    on: 'both',
    rule: webUrl,
    example: 'https://hooks.example.com/voyagers',
    means: 'where [events](notifications.md#webhooks) go',
  },
  WEBHOOK_SECRET: {
    on: 'both',
    rule: z.string().regex(
      /^(whsec_)?([A-Za-z0-9+/]{4}){6,}([A-Za-z0-9+/]{2,3}={0,2})?$/,
      'must be whsec_ and 24 to 64 bytes in base64',
    ),
    example: 'whsec_',
    means: '`whsec_` with the key that signs them',
  },
  LOOPBACK_TARGETS: {
    on: 'both',
    rule: oneOf('none', 'webhook', 'all'),
    default: 'none',
    local: 'webhook',
    means: 'who may be on the machine itself: nobody, the webhook, or with `all` push endpoints as well, for tests',
  },
  TRUSTED_PROXIES: {
    on: 'both',
    rule: number(1, 9),
    default: '1',
    means: 'how many proxies in front of the functions, the gateway included, append to `X-Forwarded-For`',
  },
  ACCESS_LOG: {
    on: 'both',
    rule: oneOf('off', 'errors', 'slow', 'all'),
    default: 'slow',
    // A program that waits for the ready line may not read the output after it.
    local: 'off',
    means:
      'which answers are one line of JSON in the log: `off` none, `errors` those with 5xx, `slow` also those that ' +
      'took over 1 s, `all` ([runbook](runbook.md))',
  },
  JWT_SECRET: {
    on: 'both',
    rule: jwtSecret,
    unset: 'made on first start, in `DATA_DIR` (mode 600); on Supabase none: keys from JWKS',
    means: 'signs the tokens; on Supabase only if the project still signs with the legacy shared secret',
  },
  PORT: { on: 'machine', rule: number(0, 65_535), default: '54321', means: 'where everything listens' },
  HOST: {
    on: 'machine',
    default: '127.0.0.1',
    means: "its address; with 0.0.0.0 the dashboard's link works only on this machine",
  },
  DATA_DIR: {
    on: 'machine',
    default: '.data',
    means: 'where database and Storage keep their files and the project its keys; `memory` keeps nothing',
  },
  DATABASE_URL: {
    on: 'machine',
    rule: postgresUrl,
    example: 'postgresql://user:password@127.0.0.1:5432/database',
    means: 'a Postgres 15 or later with pgvector to use instead of PGlite, logged in as a role that may create roles',
  },
  SEED: {
    on: 'machine',
    rule: oneOf('demo', 'none'),
    default: 'demo',
    means: 'what a new database starts with; `none` is the interests alone',
  },
  SUPABASE_PUBLISHABLE_KEY: {
    on: 'machine',
    rule: z.string().regex(/^sb_publishable_/, 'must start with sb_publishable_'),
    unset: 'made on first start, in `DATA_DIR`',
    example: 'sb_publishable_',
    means: 'the key of the local project for clients',
  },
  SUPABASE_SECRET_KEY: {
    on: 'machine',
    rule: z.string().regex(/^sb_secret_/, 'must start with sb_secret_'),
    unset: 'made on first start, in `DATA_DIR`',
    example: 'sb_secret_',
    means: 'its key for servers',
  },
  CURRENCY: {
    on: 'machine',
    rule: z.string().refine(
      (value) => Intl.supportedValuesOf('currency').includes(value),
      'must be of ISO 4217, as EUR',
    ),
    default: 'EUR',
    means: 'ISO 4217, of every price shown to people; the numbers of the API have none',
  },
  EMAIL_CONFIRMATION: {
    on: 'machine',
    rule: oneOf('off', 'on'),
    default: 'off',
    means: '`on`: an account is [pending](privacy.md#pending-accounts) until its address is confirmed; mails are ' +
      'printed, and at `/mail`',
  },
  REALTIME_DELAYS: {
    on: 'machine',
    rule: oneOf('off', 'on'),
    default: 'off',
    means: "`on`: Realtime [waits where Supabase's does](architecture.md#the-path-of-an-event), for tests of clients",
  },
  DATABASE_CA_CERTIFICATE: {
    on: 'supabase',
    rule: z.string().regex(/^\s*-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM'),
    means: "PEM of the authority that signs the database server's certificate, if the runtime does not know it " +
      '([deploy](deploy.md#tls-to-the-database))',
  },
  EDGE_DATABASE_URL: {
    on: 'supabase',
    rule: postgresUrl,
    unset: "the platform's connection",
    means: 'to log in as `edge_functions` through the pooler ([deploy](deploy.md#4-how-the-functions-log-in))',
  },
  CLIENT_ADDRESS_HEADER: {
    on: 'supabase',
    rule: z.string().regex(/^[\w-]+$/, 'must be the name of a header'),
    default: 'x-forwarded-for',
    means: "always, to the header that holds the client's address ([deploy](deploy.md#client-addresses))",
  },
  FORWARD_CLIENT_ADDRESS: {
    on: 'supabase',
    rule: oneOf('off', 'on'),
    default: 'off',
    means: "`on` if Auth is to count refreshes by the client's address ([deploy](deploy.md#auths-own-limits))",
  },
  JWT_ISSUER: {
    on: 'supabase',
    unset: '`https://<ref>.supabase.co/auth/v1`',
    means: 'if the `iss` of tokens differs ([deploy](deploy.md#5-a-domain-of-your-own))',
  },
  PUBLIC_URL: {
    on: 'supabase',
    rule: webUrl,
    unset: '`SUPABASE_URL`',
    means: 'if clients use another origin, as with `supabase start`',
  },
}

const rulesOn = (isRead: (setting: Setting) => boolean): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(allSettings).flatMap(([name, setting]) =>
      setting.rule && isRead(setting) ? [[name, setting.rule]] : []
    ),
  )
const functionSettings: Record<string, z.ZodType> = {
  ...rulesOn(({ on }) => on !== 'machine'),
  // Supabase sets these itself.
  SUPABASE_SECRET_KEYS: namedKeys,
  SUPABASE_PUBLISHABLE_KEYS: namedKeys,
}
const localSettings = rulesOn(({ on }) => on === 'machine')

/** Settings whose values no message shows. */
const hidesValue = /SECRET|KEY|^(EDGE_)?DATABASE_(READ_)?URL|SMTP_URL|CERTIFICATE/

/** What depends on several settings. */
const contradiction = (env: Environment): string | undefined => {
  // Leave one connection for other requests.
  const searches = Math.max(1, Number(env.DATABASE_POOL || allSettings.DATABASE_POOL!.default) - 1)
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

/** The same for `npm start`. */
export const settingsErrorOfStack = (env: Environment): string | undefined =>
  firstProblem(localSettings, env) ?? settingsErrorOfFunctions(env)

/** The settings that have a rule, for the tests. */
export const checkedSettings = { functions: Object.keys(functionSettings), local: Object.keys(localSettings) }
