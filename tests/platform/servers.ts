import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { freePort } from '../tools/ports.ts'
import { platform } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'

/** The program of Auth, and the checkout of Storage with the Node that it needs; run.sh sets them. */
const { AUTH_SERVER, SUPABASE_STORAGE, STORAGE_NODE, PATH } = process.env

// As on the platform: Auth signs with ES256, and API keys are no tokens.
const { privateKey } = await generateKeyPair('ES256', { extractable: true })
const about = { kid: 'platform-test', alg: 'ES256', use: 'sig' }
const { d, ...published } = await exportJWK(privateKey)
const secret = 'a-legacy-secret-of-at-least-32-characters'
/** What the platform's gateway makes of an API key: a token of this role. */
export const roleToken = (role: 'anon' | 'service_role'): Promise<string> =>
  new SignJWT({ role }).setProtectedHeader({ alg: 'ES256', kid: about.kid }).setExpirationTime('2h').sign(privateKey)

type Environment = Record<string, string>
interface Options {
  database: string
  /** Of the gateway. */
  origin?: string
  mailPort?: number
  files?: string
  env?: Environment
}
type Program = (port: number, options: Options) => { command: string; args: string[]; env: Environment; cwd?: string }

const parse = (settings: string): Environment =>
  Object.fromEntries(settings.trim().split(/\s+/).map((setting) => /^(\w+)=(.*)/.exec(setting)!.slice(1)))

/** Auth with the platform's settings, and limits that tests do not meet. */
const auth: Program = (port, { database, origin = 'http://127.0.0.1', mailPort = 0, env }) => ({
  command: AUTH_SERVER!,
  args: [port ? 'serve' : 'migrate'],
  env: {
    ...parse(`
      PATH=${PATH} GOTRUE_LOG_LEVEL=warn GOTRUE_API_HOST=127.0.0.1 PORT=${port}
      GOTRUE_DB_DRIVER=postgres DB_NAMESPACE=auth
      DATABASE_URL=${platform(database, 'supabase_auth_admin').replace('postgresql:', 'postgres:')}?sslmode=disable
      API_EXTERNAL_URL=${origin}/auth/v1 GOTRUE_SITE_URL=http://app.example
      GOTRUE_JWT_SECRET=${secret} GOTRUE_JWT_ISSUER=${origin}/auth/v1 GOTRUE_JWT_AUD=authenticated
      GOTRUE_JWT_KEYS=${JSON.stringify([{ ...published, d, ...about, key_ops: ['sign', 'verify'] }])}
      GOTRUE_JWT_DEFAULT_GROUP_NAME=authenticated GOTRUE_JWT_ADMIN_ROLES=supabase_admin,service_role
      GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED=true
      GOTRUE_EXTERNAL_EMAIL_ENABLED=true GOTRUE_MAILER_AUTOCONFIRM=true
      GOTRUE_SMTP_HOST=127.0.0.1 GOTRUE_SMTP_PORT=${mailPort} GOTRUE_SMTP_ADMIN_EMAIL=auth@app.example
      GOTRUE_MAILER_URLPATHS_CONFIRMATION=/auth/v1/verify GOTRUE_MAILER_URLPATHS_RECOVERY=/auth/v1/verify
      GOTRUE_SMTP_MAX_FREQUENCY=1ms GOTRUE_RATE_LIMIT_EMAIL_SENT=10000 GOTRUE_RATE_LIMIT_HEADER=X-Forwarded-For
      GOTRUE_RATE_LIMIT_TOKEN_REFRESH=1000000 GOTRUE_RATE_LIMIT_OTP=1000000 GOTRUE_RATE_LIMIT_VERIFY=1000000`),
    ...env,
  },
})

const storage: Program = (port, { database, files = '/tmp', env }) => ({
  command: STORAGE_NODE!,
  args: [port ? 'dist/start/server.js' : 'dist/scripts/migrate-call.js'],
  cwd: SUPABASE_STORAGE!,
  env: {
    ...parse(`
      PATH=${PATH} NODE_ENV=production LOG_LEVEL=warn SERVER_HOST=127.0.0.1 SERVER_PORT=${port}
      DATABASE_URL=${platform(database, 'supabase_storage_admin')} DB_INSTALL_ROLES=false
      TENANT_ID=platform SERVER_REGION=local REQUEST_ALLOW_X_FORWARDED_PATH=true UPLOAD_FILE_SIZE_LIMIT=52428800
      STORAGE_BACKEND=file STORAGE_S3_BUCKET=files
      STORAGE_FILE_BACKEND_PATH=${files} FILE_STORAGE_BACKEND_PATH=${files}
      AUTH_JWT_SECRET=${secret}
      JWT_JWKS=${JSON.stringify({ keys: [{ ...published, ...about, key_ops: ['verify'] }] })}`),
    ...env,
  },
})

export const migrate = (database: string): void => {
  for (const { command, args, ...options } of [auth(0, { database }), storage(0, { database })]) {
    execFileSync(command, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] })
  }
}

/** Starts a program, and waits until it answers; returns its origin and what stops it. */
const start = async (program: Program, health: string, options: Options) => {
  const port = await freePort()
  const { command, args, ...rest } = program(port, options)
  const server = spawn(command, args, { ...rest, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const output of [server.stdout, server.stderr]) output.on('data', (text) => log += text)
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill()
    // Auth waits for the requests that it is still answering.
    const killer = setTimeout(() => server.kill('SIGKILL'), 3000)
    await exited
    clearTimeout(killer)
  }
  const origin = `http://127.0.0.1:${port}`
  for (let tries = 0; tries < 600 && server.exitCode === null; tries++) {
    if (await fetch(origin + health).then(({ ok }) => ok, () => false)) return { origin, stop }
    await pause(100)
  }
  await stop()
  throw new Error(`${command} did not start: ${log.slice(-3000)}`)
}

export const startAuth = (options: Options) => start(auth, '/health', options)
export const startStorage = async (options: Options) => {
  const env = { ANON_KEY: await roleToken('anon'), SERVICE_KEY: await roleToken('service_role') }
  return await start(storage, '/status', { ...options, env })
}
