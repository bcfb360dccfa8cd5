import { allSettings } from './setting_rules.ts'

/** Reads the environment, else the default. Supabase sets the SUPABASE_ variables itself. */
const read = (name: string): string | undefined => Deno.env.get(name) || allSettings[name]?.default

/** Supabase sets keys as `{"default": "sb_…"}`; another stack can set a single key. */
const keys = (name: string): string[] => {
  const named = read(`${name}S`)
  if (named) return Object.values(JSON.parse(named) as Record<string, string>)
  const single = read(name)
  return single ? [single] : []
}

/** setting_rules.ts has checked it before anything is answered. */
const number = (name: string): number => Number(read(name))

/** One that has a default. */
const text = (name: string): string => read(name) ?? ''

export const settings = {
  /** Origin of the project, without a trailing slash. */
  get url() {
    return read('PUBLIC_URL') ?? read('SUPABASE_URL') ?? 'http://127.0.0.1:54321'
  },
  /** Origin of Auth and Storage from inside the platform. */
  get platformUrl() {
    return read('SUPABASE_URL') ?? this.url
  },
  get publishableKey() {
    return keys('SUPABASE_PUBLISHABLE_KEY')[0] ?? read('SUPABASE_ANON_KEY') ?? ''
  },
  get secretKeys() {
    const legacy = read('SUPABASE_SERVICE_ROLE_KEY')
    return [...keys('SUPABASE_SECRET_KEY'), ...(legacy ? [legacy] : [])]
  },
  /** The shared secret of HS256 tokens; unset where the project signs with asymmetric keys (JWKS). */
  get jwtSecret() {
    return read('JWT_SECRET')
  },
  /** `iss` of the tokens; behind a custom domain it differs from the project's URL. */
  get jwtIssuer() {
    return read('JWT_ISSUER') ?? `${this.url}/auth/v1`
  },
  /** A URL that logs in as edge_functions, or the platform's own, with which connections switch to that role. */
  get databaseUrl() {
    return read('EDGE_DATABASE_URL') ?? read('SUPABASE_DB_URL')
  },
  /** PEM; the authority that signed the certificate of the database server, if the runtime does not know it. */
  get databaseCertificateAuthority() {
    return read('DATABASE_CA_CERTIFICATE')
  },
  get databasePool() {
    return number('DATABASE_POOL')
  },
  /** Statements that may wait for a connection. */
  get databaseQueue() {
    return number('DATABASE_QUEUE')
  },
  /** Concurrent searches: by default half of the connections. Always leaves one connection where there are two. */
  get searchConcurrency() {
    const max = Math.max(1, this.databasePool - 1)
    return Math.min(Number(read('SEARCH_CONCURRENCY') ?? Math.ceil(this.databasePool / 2)), max)
  },
  /** Concurrent changes of profiles: a quarter of the connections. */
  get changeConcurrency() {
    return Math.max(1, Math.floor(this.databasePool / 4))
  },
  /** Time limit of a search in milliseconds. */
  get searchTimeout() {
    return number('SEARCH_TIMEOUT')
  },
  /** Messages of one person to another who has not written yet; null for no limit. */
  get firstContactLimit() {
    return read('FIRST_CONTACT_LIMIT') === 'off' ? null : number('FIRST_CONTACT_LIMIT')
  },
  /** When partners see each other's e-mail address. */
  get partnerEmail() {
    return text('PARTNER_EMAIL')
  },
  get openaiKey() {
    return read('OPENAI_API_KEY')
  },
  get openaiBaseUrl() {
    return read('OPENAI_BASE_URL')
  },
  get embeddingModel() {
    return read('EMBEDDING_MODEL')
  },
  /** Supabase takes 100 lines in ten seconds, and drops the others, those of errors too. */
  get accessLog() {
    return text('ACCESS_LOG')
  },
  /** Where people read what a mail tells of; the link is left out if it is unset. */
  get appUrl() {
    return read('APP_URL')
  },
  /** smtp:// or smtps://, with user name and password. */
  get smtpUrl() {
    return read('SMTP_URL')
  },
  get mailFrom() {
    return text('MAIL_FROM')
  },
  /** The delay in seconds for people who have not chosen one. */
  get notifyDelay() {
    return number('NOTIFY_DELAY_SECONDS')
  },
  /** The keys of Web Push, as `npx web-push generate-vapid-keys` prints them; null without. */
  get vapid() {
    const [publicKey, privateKey] = [read('VAPID_PUBLIC_KEY'), read('VAPID_PRIVATE_KEY')]
    const subject = read('VAPID_SUBJECT') ?? this.url
    return publicKey && privateKey ? { publicKey, privateKey, subject } : null
  },
  /** Where the operator is told of events, and what signs them; null without. */
  get webhook() {
    const [url, secret] = [read('WEBHOOK_URL'), read('WEBHOOK_SECRET')]
    return url && secret ? { url, secret } : null
  },
  /** Whether the webhook, or push endpoints as well, may be on this machine, without TLS. */
  get loopbackTargets() {
    return text('LOOPBACK_TARGETS')
  },
  get publicUserCreation() {
    return read('PUBLIC_USER_CREATION') !== 'off'
  },
  /** The header with the client address: one that a proxy overwrites, whatever the client sent. */
  get addressHeader() {
    return text('CLIENT_ADDRESS_HEADER').toLowerCase()
  },
  /** Whether Auth is told the client's address, so that it counts by that and not by ours. */
  get forwardClientAddress() {
    return read('FORWARD_CLIENT_ADDRESS') === 'on'
  },
  /** How many proxies append to X-Forwarded-For. */
  get trustedProxies() {
    return number('TRUSTED_PROXIES')
  },
}
