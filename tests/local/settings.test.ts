import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allSettings, settingsError } from '../../functions/_shared/setting_rules.ts'
import { CannotStart } from '../../supabase/local/cannot_start.ts'
import { networkOrigins, readSettings } from '../../supabase/local/settings.ts'

// deno-fmt-ignore
test.each<[env: Record<string, string>, line: string | RegExp]>([
  [{ JWT_SECRET: 'short' }, 'JWT_SECRET has 5 characters; give it 32 or more'],
  [{ RATE_LIMIT_SIGNUP: '0/60' }, /^RATE_LIMIT_SIGNUP is "0\/60", and must be .+$/],
  // A burst above its limit.
  [{ RATE_LIMIT_OPEN: '5/60/6' }, /^RATE_LIMIT_OPEN is "5\/60\/6", and must be .+$/],
  [{ FIRST_CONTACT_LIMIT: '0' }, `FIRST_CONTACT_LIMIT is "0", and must be a number from 1 to 999999, or off`],
  [{ NOTIFY_DELAY_SECONDS: '86401' }, /^NOTIFY_DELAY_SECONDS is "86401", and must be .+$/],
  [{ VAPID_PUBLIC_KEY: `B${'A'.repeat(86)}` }, /^VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY must .+$/],
  [{ WEBHOOK_URL: 'https://x' }, 'WEBHOOK_URL and WEBHOOK_SECRET must be set together'],
  [{ WEBHOOK_URL: 'https://x', WEBHOOK_SECRET: `whsec_${'A'.repeat(34)}=` }, /^WEBHOOK_SECRET must be .+$/],
])('refuses %j in one line', (env, line) => {
  expect(() => readSettings(env)).toThrow(typeof line === 'string' ? new CannotStart(line) : line)
  expect(() => readSettings(env)).toThrow(CannotStart)
})

const wrong = ['yes please', '-1 ', '0,5', '1e9!', 'on, off', '(null)', '[]', '{"a":1}', ' ', 'http//x']
const partners: Record<string, Record<string, string>> = {
  WEBHOOK_URL: { WEBHOOK_SECRET: `whsec_${'A'.repeat(32)}` },
  WEBHOOK_SECRET: { WEBHOOK_URL: 'https://example.com' },
}

/** The settings that have a rule; the others may be any text. */
const checked = Object.entries(allSettings).filter(([, { parse }]) => parse)
const platformKeys = ['SUPABASE_SECRET_KEYS', 'SUPABASE_PUBLISHABLE_KEYS']

test('ten wrong values of each setting stop npm start and the functions, with a line that names it', () => {
  const onMachine = checked.filter(([, { on }]) => on === 'machine').map(([name]) => name)
  const names = [...checked.map(([name]) => name), ...platformKeys]
  expect(names.length).toBeGreaterThan(40)
  for (const name of names) {
    for (const value of wrong) {
      const env = { ...partners[name], [name]: value }
      expect(() => readSettings(env), `${name}=${value}`).toThrow(new RegExp(`^${name} `))
      if (onMachine.includes(name)) continue
      expect(settingsError(env), `${name}=${value}`).toMatch(new RegExp(`^${name} `))
    }
  }
})

test('a problem shows no secret', () => {
  for (const name of ['JWT_SECRET', 'WEBHOOK_SECRET', 'SMTP_URL', 'EDGE_DATABASE_URL', 'SUPABASE_SECRET_KEYS']) {
    expect(settingsError({ ...partners[name], [name]: 'hunter2' })).not.toContain('hunter2')
  }
})

test('what is not set, or empty, is no problem', () => {
  expect(settingsError({})).toBeUndefined()
  const empty = Object.fromEntries([...Object.keys(allSettings), ...platformKeys].map((name) => [name, '']))
  expect(settingsError(empty)).toBeUndefined()
  expect(() => readSettings(empty)).not.toThrow()
})

test('each setting of the table is read', () => {
  const code = ['functions', 'supabase/local']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
    .filter((file) => /\.ts$/.test(file) && !file.endsWith('setting_rules.ts'))
    .map((file) => readFileSync(file, 'utf8')).join('\n')
  expect(Object.keys(allSettings).filter((name) => !code.includes(name))).toEqual([])
})

test('the banner names the addresses of the network only where the stack listens on them', () => {
  const interfaces = [
    { family: 'IPv4', address: '127.0.0.1' },
    { family: 'IPv4', address: '192.168.1.7' },
    { family: 'IPv6', address: 'fe80::1' },
  ] as Deno.NetworkInterfaceInfo[]
  const origins = (HOST?: string) => networkOrigins(readSettings({ ...HOST && { HOST }, PORT: '8000' }), interfaces)
  expect(origins('0.0.0.0')).toEqual(['http://192.168.1.7:8000'])
  expect(origins('192.168.1.7')).toEqual([])
  expect(origins()).toEqual([])
})

test('the Supabase CLI makes the buckets as the migrations do', () => {
  const config = readFileSync('supabase/config.toml', 'utf8')
  const schema = readFileSync('sql/schema/80_storage/10_storage.sql', 'utf8')
  for (const bucket of ['attachments', 'avatars']) {
    const ofCli = new RegExp(`^\\[storage\\.buckets\\.${bucket}\\](.*?)\\n\\[`, 'ms').exec(config)![1]!
    const ofMigrations = new RegExp(`'${bucket}', '${bucket}',.*?array\\[(.*?)\\]`, 's').exec(schema)![1]!
    const [accepted, migrated] = [ofCli, ofMigrations].map((text) =>
      [...text.matchAll(/["'](\w+\/[^"']+)["']/g)].map(([, type]) => type!).toSorted()
    ) as [string[], string[]]
    expect(accepted).toEqual(migrated)
    expect(accepted.length).toBeGreaterThan(2)
  }
})
