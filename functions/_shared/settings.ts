import { namedKeys, readSettings } from './setting_rules.ts'

const read = (name: string): string | undefined => Deno.env.get(name) || undefined

/** Each setting by its name, of its type. createApp answers nothing while one is not understood. */
export const settings = readSettings(read)

/** Another stack can set a single key. */
const keys = (name: string): string[] => {
  const [named, single] = [read(`${name}S`), read(name)]
  if (named) return namedKeys(named)
  return single ? [single] : []
}

/** What the platform sets: the variables that begin with SUPABASE_. */
export const project = {
  /** Origin of the project, without a trailing slash. */
  get url() {
    return settings.PUBLIC_URL ?? read('SUPABASE_URL') ?? 'http://127.0.0.1:54321'
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
  /** A URL that logs in as edge_functions, or the platform's own, with which connections switch to that role. */
  get databaseUrl() {
    return settings.EDGE_DATABASE_URL ?? read('SUPABASE_DB_URL')
  },
}

export const vapidKeys = () => {
  const { VAPID_PUBLIC_KEY: publicKey, VAPID_PRIVATE_KEY: privateKey, VAPID_SUBJECT: subject = project.url } = settings
  return publicKey && privateKey ? { publicKey, privateKey, subject } : null
}

export const webhookTarget = () => {
  const { WEBHOOK_URL: url, WEBHOOK_SECRET: secret } = settings
  return url && secret ? { url, secret } : null
}
