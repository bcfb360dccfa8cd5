import { App } from '@supabase/lite'
import { besideOthers, type Database } from './database.ts'
import { printMail } from './lite_call.ts'
import { migrate, seed } from './migrate.ts'
import { type Keys, originOf, type Settings } from './settings.ts'

/** Runs a script unless the database has the schema that it makes. */
const complete = async (database: Database, schema: string, script: string): Promise<void> => {
  const [found] = await database.query('select to_regnamespace($1) is not null as is_there', [schema])
  if (found?.is_there) return
  await besideOthers(() => database.run(Deno.readTextFileSync(new URL(script, import.meta.url))))
}

/** Auth, the Data API and the dashboard, on a database that has its migrations and its seed. */
export const openPlatform = async (database: Database, keys: Keys, settings: Settings): Promise<App> => {
  await complete(database, 'extensions', 'platform.sql')
  // By itself, because folders of older releases have the rest already.
  await complete(database, 'realtime', 'platform_realtime.sql')
  await complete(database, 'storage', 'platform_storage.sql')
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
    // Who is an admin without a key, the gateway says.
    options: { server: { admin: true }, drivers: { email: { send: printMail } } },
  })
  await app.ensureSystemSchema()
  await besideOthers(() => database.run('grant usage on schema auth to anon, authenticated, service_role'))
  await migrate(database)
  await seed(database, settings.seed)
  return app as unknown as App
}
