// Run by mutex.test.ts, without the mutex if the argument is "no-mutex": 20 users read their own rows through the Data
// API, 20 times each and all at once. Prints how many reads returned anything else.
import { openPglite } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const useMutex = Deno.args[0] !== 'no-mutex'
const settings = readSettings({ DATA_DIR: 'memory', SEED: 'none' })
const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
const database = await openPglite(null)
const platform = await openPlatform(database, keys, settings)

const send = (method: string, path: string, token: string | null, body?: unknown): Promise<Response> => {
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
  return useMutex ? database.mutex(work) : work()
}

const users: { email: string; token: string }[] = []
for (let index = 0; index < 20; index++) {
  const email = `user${index}@example.com`
  const signUp = await send('POST', '/auth/v1/signup', null, {
    email,
    password: 'correct horse',
    data: { name: email },
  })
  users.push({ email, token: (await signUp.json()).access_token })
}

const reads = await Promise.all(users.flatMap(({ email, token }) =>
  Array.from({ length: 20 }, async () => {
    const answer = await send('GET', '/rest/v1/users?select=email', token)
    return await answer.text() === JSON.stringify([{ email }])
  })
))
console.log(JSON.stringify({ reads: reads.length, wrong: reads.filter((right) => !right).length }))
Deno.exit(0)
