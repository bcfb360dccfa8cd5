import { platform } from '../tools/supabase.ts'
import { signingKey } from './keys.ts'
import { type Server, startServer } from './processes.ts'

interface Options {
  database: string
  /** Of the gateway. */
  origin: string
  port: number
  mailPort: number
}

const databaseUrl = (database: string, role: string) =>
  `${platform(database, role).replace('postgresql:', 'postgres:')}?sslmode=disable`

/** Auth's settings, as the platform sets them, with limits that tests do not meet. */
export const authEnvironment = ({ database, origin, port, mailPort }: Options): Record<string, string> => ({
  PATH: process.env.PATH!,
  DATABASE_URL: databaseUrl(database, 'supabase_auth_admin'),
  GOTRUE_LOG_LEVEL: 'warn',
  GOTRUE_DB_DRIVER: 'postgres',
  DB_NAMESPACE: 'auth',
  API_EXTERNAL_URL: `${origin}/auth/v1`,
  GOTRUE_API_HOST: '127.0.0.1',
  PORT: String(port),
  GOTRUE_SITE_URL: 'http://app.example',
  GOTRUE_JWT_SECRET: 'a-legacy-secret-of-at-least-32-characters',
  GOTRUE_JWT_KEYS: JSON.stringify([signingKey]),
  GOTRUE_JWT_ISSUER: `${origin}/auth/v1`,
  GOTRUE_JWT_AUD: 'authenticated',
  GOTRUE_JWT_DEFAULT_GROUP_NAME: 'authenticated',
  GOTRUE_JWT_ADMIN_ROLES: 'supabase_admin,service_role',
  GOTRUE_EXTERNAL_EMAIL_ENABLED: 'true',
  GOTRUE_MFA_TOTP_ENROLL_ENABLED: 'true',
  GOTRUE_MFA_TOTP_VERIFY_ENABLED: 'true',
  GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: 'true',
  GOTRUE_SMTP_HOST: '127.0.0.1',
  GOTRUE_SMTP_PORT: String(mailPort),
  GOTRUE_SMTP_ADMIN_EMAIL: 'auth@app.example',
  GOTRUE_SMTP_MAX_FREQUENCY: '0s',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  ...Object.fromEntries(
    ['CONFIRMATION', 'RECOVERY', 'INVITE', 'EMAIL_CHANGE'].map((
      kind,
    ) => [`GOTRUE_MAILER_URLPATHS_${kind}`, '/auth/v1/verify']),
  ),
  GOTRUE_RATE_LIMIT_HEADER: 'X-Forwarded-For',
  GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000',
  ...Object.fromEntries(
    ['TOKEN_REFRESH', 'OTP', 'VERIFY'].map((kind) => [`GOTRUE_RATE_LIMIT_${kind}`, '1000000']),
  ),
})

/** Auth, with these settings besides. */
export const startAuth = (options: Options, env: Record<string, string>): Promise<Server> =>
  startServer(process.env.AUTH_SERVER!, ['serve'], {
    env: { ...authEnvironment(options), ...env },
    health: `http://127.0.0.1:${options.port}/health`,
  })
