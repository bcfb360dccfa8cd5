import { fileURLToPath } from 'node:url'
import { App } from '@supabase/lite'
import { type Database, retryOnConflict } from './database.ts'
import { allowOwnPhotos } from './own_photos.ts'
import { loadPlaces } from './load_data.ts'
import { migrate, seed } from './migrate.ts'
import { type Keys, originOf, type Settings } from './settings.ts'

/** Runs a script that creates this schema, unless the schema exists. */
const ensureSchema = async (database: Database, schema: string, script: string): Promise<void> => {
  const [found] = await database.query('select to_regnamespace($1) is not null as exists', [schema])
  if (found?.exists) return
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL(script, import.meta.url))))
}

// The mails that the page of the demo answers. Supabase has them from config.toml, or from its dashboard.
const template = (name: string, subject: string) => ({
  subject,
  content_path: fileURLToPath(new URL(`../templates/${name}.html`, import.meta.url)),
})
const templates = {
  recovery: template('recovery', 'Choose a new password'),
  email_change: template('email_change', 'Confirm your new e-mail address'),
}

/** The text is that of @supabase/lite, whose link uses the code up, also for a program that only looks at it. */
const linkToPage = (text: string, site: string): string =>
  text.replace(/http\S+\/verify\?token=(\w+)&type=(recovery|email_change)\S*/, `${site}#token_hash=$1&type=$2`)

export type SendMail = (mail: { to: string; subject: string; text: string; html?: string }) => void

/** Opens Auth, the Data API and the dashboard. */
export const openApp = (
  database: Database,
  keys: Keys,
  settings: Settings,
  confirmation: boolean,
  sendMail: SendMail = () => {},
): App => {
  // Where its links lead.
  const site = `${originOf(settings)}/demo`
  return new App({
    connection: database.connection,
    auth: {
      enabled: true,
      jwt_secret: keys.jwtSecret,
      publishable_key: keys.publishableKey,
      secret_key: keys.secretKey,
      minimum_password_length: 8,
      site_url: site,
      // By default @supabase/lite asks the present address alone.
      email: { enable_confirmations: confirmation, double_confirm_changes: false, template: templates },
    },
    options: {
      // The gateway decides who is admin without a key.
      server: { admin: true },
      drivers: {
        email: {
          send: ({ text = '', ...mail }) => Promise.resolve(sendMail({ ...mail, text: linkToPage(text, site) })),
        },
      },
    },
  }) as unknown as App
}

/** Opens Auth, the Data API and the dashboard, and migrates and seeds the database. */
export const openPlatform = async (
  database: Database,
  keys: Keys,
  settings: Settings,
  sendMail?: SendMail,
): Promise<App> => {
  await ensureSchema(database, 'extensions', 'platform.sql')
  await ensureSchema(database, 'realtime', 'platform_realtime.sql')
  await ensureSchema(database, 'storage', 'platform_storage.sql')
  const app = openApp(database, keys, settings, settings.emailConfirmation, sendMail)
  await app.ensureSystemSchema()
  await retryOnConflict(() => database.run('grant usage on schema auth to anon, authenticated, service_role'))
  await migrate(database)
  await retryOnConflict(() => allowOwnPhotos(database, settings.port))
  await loadPlaces(database.query)
  await seed(database, settings)
  return app
}
