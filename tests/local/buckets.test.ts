import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

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
