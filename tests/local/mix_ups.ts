/** 20 people read their own row through the Data API, 20 times each and all at once; prints how many saw anything else. */
import { openPglite } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const open = Deno.args[0] === 'open'
const settings = readSettings({ DATA_DIR: 'memory', SEED: 'none' })
const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
const database = await openPglite(null)
const platform = await openPlatform(database, keys, settings)

const ask = (method: string, path: string, token: string | null, body?: unknown): Promise<Response> => {
  const request = new Request(`http://127.0.0.1${path}`, {
    method,
    headers: {
      apikey: keys.publishableKey,
      'Content-Type': 'application/json',
      ...(token && { Authorization: `Bearer ${token}` }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const work = () => Promise.resolve(platform.fetch(request, { peerAddress: '127.0.0.1' }))
  return open ? work() : database.mutex(work)
}

const people: { email: string; token: string }[] = []
for (let index = 0; index < 20; index++) {
  const email = `person${index}@example.com`
  const signUp = await ask('POST', '/auth/v1/signup', null, { email, password: 'correct horse', data: { name: email } })
  people.push({ email, token: (await signUp.json()).access_token })
}

const reads = await Promise.all(people.flatMap(({ email, token }) =>
  Array.from({ length: 20 }, async () => {
    const answer = await ask('GET', '/rest/v1/users?select=email', token)
    return await answer.text() === JSON.stringify([{ email }])
  })
))
console.log(JSON.stringify({ reads: reads.length, wrong: reads.filter((right) => !right).length }))
Deno.exit(0)
