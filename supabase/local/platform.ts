import { App } from '@supabase/lite'
import { type Database, retryOnConflict } from './database.ts'
import { printMail } from './lite_call.ts'
import { allowOwnPhotos } from './own_photos.ts'
import type { Inbox } from './inbox.ts'
import { migrate, seed } from './migrate.ts'
import { type Keys, originOf, type Settings } from './settings.ts'

/** Runs a script that creates this schema, unless the schema exists. */
const ensureSchema = async (database: Database, schema: string, script: string): Promise<void> => {
  const [found] = await database.query('select to_regnamespace($1) is not null as exists', [schema])
  if (found?.exists) return
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL(script, import.meta.url))))
}

/** Opens Auth, the Data API and the dashboard, and migrates and seeds the database. */
export const openPlatform = async (
  database: Database,
  keys: Keys,
  settings: Settings,
  keepMail: Inbox['add'] = () => {},
): Promise<App> => {
  await ensureSchema(database, 'extensions', 'platform.sql')
  await ensureSchema(database, 'realtime', 'platform_realtime.sql')
  await ensureSchema(database, 'storage', 'platform_storage.sql')
  const app = new App({
    connection: database.connection,
    auth: {
      enabled: true,
      jwt_secret: keys.jwtSecret,
      publishable_key: keys.publishableKey,
      secret_key: keys.secretKey,
      minimum_password_length: 8,
      site_url: originOf(settings),
      email: { enable_confirmations: settings.emailConfirmation },
    },
    // The gateway decides who is admin without a key.
    options: {
      server: { admin: true },
      drivers: {
        email: { send: (mail) => (keepMail({ text: '', ...mail, html: mail.html ?? null }), printMail(mail)) },
      },
    },
  })
  await app.ensureSystemSchema()
  await retryOnConflict(() => database.run('grant usage on schema auth to anon, authenticated, service_role'))
  await migrate(database)
  await retryOnConflict(() => allowOwnPhotos(database, settings))
  await seed(database, settings)
  return app as unknown as App
}
