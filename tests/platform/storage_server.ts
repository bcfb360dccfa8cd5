import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { platform } from '../tools/supabase.ts'
import { publicKey, roleToken } from './keys.ts'
import { type Server, startServer } from './processes.ts'

/** The checkout of Storage, if there is one. */
export const storageFolder = process.env.SUPABASE_STORAGE

interface Options {
  database: string
  port: number
  /** The folder for the files. */
  files: string
}

export const storageEnvironment = ({ database, port, files }: Options): Record<string, string> => ({
  PATH: process.env.PATH!,
  NODE_ENV: 'production',
  SERVER_HOST: '127.0.0.1',
  SERVER_PORT: String(port),
  DATABASE_URL: platform(database, 'supabase_storage_admin'),
  DB_INSTALL_ROLES: 'false',
  TENANT_ID: 'platform',
  STORAGE_BACKEND: 'file',
  STORAGE_S3_BUCKET: 'files',
  STORAGE_FILE_BACKEND_PATH: files,
  FILE_STORAGE_BACKEND_PATH: files,
  UPLOAD_FILE_SIZE_LIMIT: '52428800',
  AUTH_JWT_SECRET: 'a-legacy-secret-of-at-least-32-characters',
  JWT_JWKS: JSON.stringify({ keys: [publicKey] }),
  SERVER_REGION: 'local',
  REQUEST_ALLOW_X_FORWARDED_PATH: 'true',
  LOG_LEVEL: 'warn',
})

/** Makes Storage's tables in a database that has none. */
export const migrateStorage = (database: string): void => {
  execFileSync(process.env.STORAGE_NODE!, ['dist/scripts/migrate-call.js'], {
    cwd: resolve(storageFolder!),
    env: storageEnvironment({ database, port: 0, files: '/tmp' }),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Storage, with these settings besides. */
export const startStorage = async (options: Options, env: Record<string, string> = {}): Promise<Server> =>
  startServer(process.env.STORAGE_NODE!, ['dist/start/server.js'], {
    cwd: resolve(storageFolder!),
    env: {
      ...storageEnvironment(options),
      ANON_KEY: await roleToken('anon'),
      SERVICE_KEY: await roleToken('service_role'),
      ...env,
    },
    health: `http://127.0.0.1:${options.port}/status`,
  })
