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
const positive = number(1, 999_999)

/** `off` is null. */
const numberOrOff = (min: number, max: number) => (text: string): number | null =>
  text === 'off' ? null : number(min, max, ', or off')(text)

const url = (message: string, ...protocols: string[]) => (text: string): string =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : fail(message)
const webUrl = url('must be a URL with https, or http on this machine', 'https:', 'http:')
const postgresUrl = url('must look like postgresql://user:password@host:port/database', 'postgresql:', 'postgres:')

/** Keys as Supabase sets them: `{"default": "sb_…"}`. */
export const namedKeys = (text: string): string[] => {
  try {
    const keys = JSON.parse(text)
    if (typeof keys === 'object' && !Array.isArray(keys)) {
      const values = Object.values(keys)
      if (values.every((key) => typeof key === 'string')) return values
    }
  } catch {
    // As any other that is not understood.
  }
  return fail('must be a JSON object of keys by name')
}

/** `count` requests in `seconds`, at most `burst` of them at once. */
export interface Rate {
  count: number
  seconds: number
  burst: number
}

/** `60/60` allows the whole count at once, `60/60/10` ten at once, `off` is null. */
const parseRate = (text: string): Rate | null => {
  if (text === 'off') return null
  const format = /^([1-9]\d{0,5})\/([1-9]\d{0,5})(?:\/([1-9]\d{0,5}))?$/
  const [, count, seconds, burst = count] = format.exec(text) ?? []
  return count && Number(burst) <= Number(count)
    ? { count: Number(count), seconds: Number(seconds), burst: Number(burst) }
    : fail('must be count/seconds, count/seconds/burst or off')
}

const rate = (hosted: string, means: string) => ({ parse: parseRate, default: hosted, local: 'off', means })

export interface Setting {
  /** Who alone reads it: `npm start`, or the functions on Supabase. */
  on?: 'machine' | 'supabase'
  /** What it says; throws where that is not understood. Without it any text. */
  parse?: (value: string) => unknown
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

// Every setting: npm start and the functions check and read by these tables, and `npm run settings` writes
// `.env.example` and the tables of docs/settings.md from them.

const general = {
  OPENAI_API_KEY: { means: 'vectors of the search from OpenAI; without a key the offline model makes them' },
  OPENAI_BASE_URL: {
    parse: webUrl,
    unset: 'OpenAI',
    example: 'https://api.openai.com/v1',
    means: 'anything else that speaks its API and returns 384 dimensions',
  },
  EMBEDDING_MODEL: { default: 'text-embedding-3-small', means: 'the model that is asked for vectors' },
  DATABASE_POOL: {
    parse: positive,
    // With one statement at a time on each, six connections serve as many requests a second on two cores as three did
    // with pipelining; three serve four fifths of that (npm run bench -- --against=… --pools=3,4,6).
    default: '6',
    means: 'database connections per instance (1 on Supabase)',
  },
  DATABASE_QUEUE: {
    parse: positive,
    default: '1000',
    means: 'how many statements may wait for a connection; the next gets 503',
  },
  SEARCH_CONCURRENCY: {
    parse: positive,
    unset: 'half of `DATABASE_POOL`',
    means: 'searches that run at once; 100 more may wait, for 4 s at most, and the next gets 503. Always below ' +
      '`DATABASE_POOL`, unless that is 1',
  },
  SEARCH_TIMEOUT: {
    parse: number(1, 5000),
    default: '2000',
    means: 'milliseconds after which a search ends, with 503; of messages, after 500 at most, with a page',
  },
  PUBLIC_USER_CREATION: { parse: onOff, default: 'on', means: '`off` leaves `POST /users` to the secret key' },
  RATE_LIMIT_SEND: rate(
    '60/60/10',
    'messages, corrections and messages taken back; a repeat with the same `client_id` counts as well',
  ),
  RATE_LIMIT_OPEN: rate('20/3600', 'attempts to open a conversation'),
  RATE_LIMIT_RESERVE: rate('60/3600/20', 'offers, counter-offers and steps'),
  RATE_LIMIT_REPORT: rate('20/3600', 'reports'),
  RATE_LIMIT_SEARCH: rate('120/60', 'searches and completions'),
  RATE_LIMIT_SEARCH_ANONYMOUS: rate('30/60', 'by address: searches without a token'),
  RATE_LIMIT_SIGNUP: rate('10/3600', 'by address: sign-ups and `POST /users`; not the secret key'),
  RATE_LIMIT_LOGIN: {
    ...rate('30/300', 'by address: log-ins, right or wrong; on one machine also those at Auth itself'),
    // Hashing keeps one machine busy for as long as it takes; no test or script logs in as often.
    local: '3000/60/600',
  },
  RATE_LIMIT_REFRESH: rate('150/300', 'by address: refreshes, with a valid token or not'),
  RATE_LIMIT_RECOVER: rate('10/3600', 'by address: password mails requested'),
  RATE_LIMIT_PROFILE: rate('120/3600/30', 'changes of profile or interests; hiding is free'),
  RATE_LIMIT_STATE: rate('120/60/20', 'changes of what is archived, muted or pinned'),
  RATE_LIMIT_BLOCK: rate('100/3600/20', 'blocks and unblocks'),
  RATE_LIMIT_DEVICE: rate('60/3600/20', 'registrations of devices, changes of notification settings'),
  RATE_LIMIT_EXPORT: rate('10/3600', 'exports'),
  FIRST_CONTACT_LIMIT: {
    parse: numberOrOff(1, 999_999),
    default: '3',
    local: 'off',
    means: 'how many messages a person may send in a conversation in which the other one has never written; the next ' +
      'gets 403. `off` or 1 and more',
  },
  UNSEND_HOURS: { parse: count, default: '24', means: 'how long a sender may take a message back; 0: never' },
  EDIT_MINUTES: { parse: count, default: '15', means: 'how long a sender may correct a message; 0: never' },
  PARTNER_EMAIL: {
    parse: oneOf('always', 'after_reply'),
    default: 'always',
    means: '`after_reply`: the partner\'s e-mail address is `""` in the list of conversations and the export until ' +
      'they have written',
  },
  NOTIFY_DELAY_SECONDS: {
    parse: number(0, 86_400),
    default: '600',
    means: 'the delay of those who have not chosen one ([notifications](notifications.md))',
  },
  SMTP_URL: {
    parse: url('must look like smtps://user:password@host:port', 'smtp:', 'smtps:'),
    unset: 'the inbox at `/mail`; on Supabase none',
    example: 'smtps://user:password@smtp.example.com:2465',
    means: 'the mail server of [mails](notifications.md#e-mail)',
  },
  MAIL_FROM: {
    parse: matching(/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/, 'must be an e-mail address'),
    default: 'no-reply@localhost',
    means: 'their sender',
  },
  APP_URL: {
    parse: webUrl,
    unset: 'the demo; on Supabase none',
    example: 'https://app.example.com',
    means: 'where mails lead; `{conversation}` in it becomes the id of the conversation',
  },
  VAPID_PUBLIC_KEY: {
    unset: 'made on first start, in `DATA_DIR`; on Supabase none',
    means: 'the public key of [Web Push](notifications.md#web-push)',
  },
  VAPID_PRIVATE_KEY: { unset: 'as the public one', means: 'the private key that belongs to it' },
  VAPID_SUBJECT: {
    parse: matching(/^(https:\/\/|mailto:)./, 'must begin with mailto: or https://'),
    unset: "the project's URL",
    example: 'mailto:you@example.com',
    means: 'a `mailto:` or `https:` address for push services',
  },
  WEBHOOK_URL: {
    parse: webUrl,
    example: 'https://hooks.example.com/voyagers',
    means: 'where [events](notifications.md#webhooks) go',
  },
  WEBHOOK_SECRET: {
    parse: matching(
      /^(whsec_)?([A-Za-z0-9+/]{4}){6,}([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$/,
      'must be whsec_ and 24 to 64 bytes in base64',
    ),
    example: 'whsec_',
    means: '`whsec_` with the key that signs them',
  },
  LOOPBACK_TARGETS: {
    parse: oneOf('none', 'webhook', 'all'),
    default: 'none',
    local: 'webhook',
    means: 'who may be on the machine itself: nobody, the webhook, or with `all` push endpoints as well, for tests',
  },
  TRUSTED_PROXIES: {
    parse: number(1, 9),
    default: '1',
    means: 'how many proxies in front of the functions, the gateway included, append to `X-Forwarded-For`',
  },
  ACCESS_LOG: {
    parse: oneOf('off', 'errors', 'slow', 'all'),
    default: 'slow',
    // A program that waits for the ready line may not read the output after it.
    local: 'off',
    means:
      'which answers are one line of JSON in the log: `off` none, `errors` those with 5xx, `slow` also those that ' +
      'took over 1 s, `all` ([runbook](runbook.md))',
  },
  JWT_SECRET: {
    parse: (text) => text.length < 32 ? fail(`has ${text.length} characters; give it 32 or more`) : text,
    unset: 'made on first start, in `DATA_DIR` (mode 600); on Supabase none: keys from JWKS',
    means: 'signs the tokens; on Supabase only if the project still signs with the legacy shared secret',
  },
} satisfies Record<string, Setting>

/** Read by `npm start` alone. */
const onMachine = {
  PORT: { parse: number(0, 65_535), default: '54321', means: 'where everything listens' },
  HOST: { default: '127.0.0.1', means: "its address; with 0.0.0.0 the dashboard's link works only on this machine" },
  DATA_DIR: {
    default: '.data',
    means: 'where database and Storage keep their files and the project its keys; `memory` keeps nothing',
  },
  DATABASE_URL: {
    parse: postgresUrl,
    example: 'postgresql://user:password@127.0.0.1:5432/database',
    means: 'a Postgres 17 or later with pgvector to use instead of PGlite, logged in as a role that may create roles',
  },
  SEED: {
    parse: oneOf('demo', 'none'),
    default: 'demo',
    means: 'what a new database starts with; `none` is the interests alone',
  },
  SUPABASE_PUBLISHABLE_KEY: {
    parse: matching(/^sb_publishable_/, 'must start with sb_publishable_'),
    unset: 'made on first start, in `DATA_DIR`',
    example: 'sb_publishable_',
    means: 'the key of the local project for clients',
  },
  SUPABASE_SECRET_KEY: {
    parse: matching(/^sb_secret_/, 'must start with sb_secret_'),
    unset: 'made on first start, in `DATA_DIR`',
    example: 'sb_secret_',
    means: 'its key for servers',
  },
  CURRENCY: {
    parse: (text) => Intl.supportedValuesOf('currency').includes(text) ? text : fail('must be of ISO 4217, as EUR'),
    default: 'EUR',
    means: 'ISO 4217, of every price shown to people; the numbers of the API have none',
  },
  EMAIL_CONFIRMATION: {
    parse: onOff,
    default: 'off',
    means: '`on`: an account is [pending](privacy.md#pending-accounts) until its address is confirmed; mails are ' +
      'printed, and at `/mail`',
  },
} satisfies Record<string, Setting>

/** Read by the functions on Supabase alone. */
const onSupabase = {
  DATABASE_CA_CERTIFICATE: {
    parse: matching(/^\s*-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM'),
    means: "PEM of the authority that signs the database server's certificate, if the runtime does not know it " +
      '([deploy](deploy.md#tls-to-the-database))',
  },
  EDGE_DATABASE_URL: {
    parse: postgresUrl,
    unset: "the platform's connection",
    means: 'to log in as `edge_functions` through the pooler ([deploy](deploy.md#4-how-the-functions-log-in))',
  },
  CLIENT_ADDRESS_HEADER: {
    parse: (text) => matching(/^[\w-]+$/, 'must be the name of a header')(text).toLowerCase(),
    default: 'x-forwarded-for',
    means: "always, to the header that holds the client's address ([deploy](deploy.md#client-addresses))",
  },
  FORWARD_CLIENT_ADDRESS: {
    parse: onOff,
    default: 'off',
    means: "`on` if Auth is to count refreshes by the client's address ([deploy](deploy.md#auths-own-limits))",
  },
  JWT_ISSUER: {
    unset: '`https://<ref>.supabase.co/auth/v1`',
    means: 'if the `iss` of tokens differs ([deploy](deploy.md#5-a-domain-of-your-own))',
  },
  PUBLIC_URL: {
    parse: webUrl,
    unset: '`SUPABASE_URL`',
    means: 'if clients use another origin, as with `supabase start`',
  },
} satisfies Record<string, Setting>

const table = { ...general, ...onMachine, ...onSupabase }
type SettingName = keyof typeof table
export type RateName = Extract<SettingName, `RATE_LIMIT_${string}`>
type Values = {
  readonly [Name in SettingName]:
    | (typeof table[Name] extends { parse: (value: string) => infer Value } ? Value : string)
    | (typeof table[Name] extends { default: string } ? never : undefined)
}

export const allSettings: Record<string, Setting> = {
  ...general,
  ...Object.fromEntries(Object.entries(onMachine).map(([name, setting]) => [name, { ...setting, on: 'machine' }])),
  ...Object.fromEntries(Object.entries(onSupabase).map(([name, setting]) => [name, { ...setting, on: 'supabase' }])),
}
export const rateNames = Object.keys(table).filter((name) => name.startsWith('RATE_LIMIT_')) as RateName[]

/**
 * What the settings say, or their defaults, read at each use. As in an .env file, an empty one is none. One that is not
 * understood throws: it is never taken for its default, which may be the open one.
 */
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
  const settings = readSettings((name) => env[name])
  // Leave one connection for other requests.
  const searches = Math.max(1, settings.DATABASE_POOL - 1)
  if ((settings.SEARCH_CONCURRENCY ?? 1) > searches) {
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

const errorOf = (name: string, parse: Setting['parse'], value: string | undefined): string | undefined => {
  try {
    if (value) parse?.(value)
  } catch (error) {
    const { message } = error as Error
    return hidesValue.test(name) ? `${name} ${message}` : `${name} is "${value}", and ${message}`
  }
}

const firstError = (env: Environment, isRead: (setting: Setting) => boolean): string | undefined =>
  Object.entries(allSettings).filter(([, setting]) => isRead(setting))
    .map(([name, { parse }]) => errorOf(name, parse, env[name])).find(Boolean)

/** The first setting of the functions that is not understood, in one line that names it. */
export const settingsErrorOfFunctions = (env: Environment): string | undefined =>
  firstError(env, ({ on }) => on !== 'machine') ??
    // Supabase sets these itself.
    ['SUPABASE_SECRET_KEYS', 'SUPABASE_PUBLISHABLE_KEYS'].map((name) => errorOf(name, namedKeys, env[name])).find(
      Boolean,
    ) ??
    contradiction(env)

/** The same for `npm start`. */
export const settingsErrorOfStack = (env: Environment): string | undefined =>
  firstError(env, ({ on }) => on === 'machine') ?? settingsErrorOfFunctions(env)
