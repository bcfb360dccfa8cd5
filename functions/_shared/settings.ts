/** What the environment says. On Supabase the SUPABASE_ names are there without being set. */
const read = (name: string): string | undefined => Deno.env.get(name) || undefined

/** The platform hands out keys as `{"default": "sb_…"}`; a stack of one's own may set a single one. */
const keys = (name: string): string[] => {
  const named = read(`${name}S`)
  if (named) return Object.values(JSON.parse(named) as Record<string, string>)
  const single = read(name)
  return single ? [single] : []
}

const count = (name: string, otherwise: number): number => {
  const value = read(name) ?? String(otherwise)
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new Error(`${name} is "${value}", and must be a number of 1 or more`)
  return Number(value)
}

/**
 * Connections to the database. With one statement at a time on each, six give as many answers a second on two cores as three did when
 * statements waited inside connections, and three four fifths of that (npm run bench -- --against=… --pools=3,4,6).
 */
export const defaultPool = 6

export const settings = {
  /** Origin of the project, without a slash at its end. */
  get url() {
    return read('PUBLIC_URL') ?? read('SUPABASE_URL') ?? 'http://127.0.0.1:54321'
  },
  /** Where Auth and Storage answer from inside the platform. */
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
  /** The shared secret of HS256 tokens; unset where the project signs with keys of its own (JWKS). */
  get jwtSecret() {
    return read('JWT_SECRET')
  },
  /** `iss` of the tokens; differs from the project's URL behind a custom domain. */
  get jwtIssuer() {
    return read('JWT_ISSUER') ?? `${this.url}/auth/v1`
  },
  /** A connection that logs in as edge_functions; else the platform's own, which then starts in that role. */
  get databaseUrl() {
    return read('EDGE_DATABASE_URL') ?? read('SUPABASE_DB_URL')
  },
  /** PEM; the authority that signed the certificate of the database server, if the runtime does not know it. */
  get databaseCertificateAuthority() {
    return read('DATABASE_CA_CERTIFICATE')
  },
  get databasePool() {
    return count('DATABASE_POOL', defaultPool)
  },
  /** Statements that may wait for a connection. */
  get databaseQueue() {
    return count('DATABASE_QUEUE', 1000)
  },
  /** Searches under way at once: half of the connections, and never the last one where there is more than one. */
  get searchConcurrency() {
    const most = Math.max(1, this.databasePool - 1)
    return Math.min(count('SEARCH_CONCURRENCY', Math.ceil(this.databasePool / 2)), most)
  },
  /** Milliseconds after which a search is given up. */
  get searchTimeout() {
    return count('SEARCH_TIMEOUT', 2000)
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
  /** Whether each answer leaves a line in the log. */
  get accessLog() {
    return read('ACCESS_LOG') !== 'off'
  },
  get publicUserCreation() {
    return read('PUBLIC_USER_CREATION') !== 'off'
  },
  /** Which header says where a request comes from: one that a proxy before the functions sets anew, whatever the client sent. */
  get addressHeader() {
    return (read('CLIENT_ADDRESS_HEADER') ?? 'x-forwarded-for').toLowerCase()
  },
  /** How many proxies before the functions append to X-Forwarded-For. */
  get trustedProxies() {
    return Math.max(1, Number(read('TRUSTED_PROXIES')) || 1)
  },
}
