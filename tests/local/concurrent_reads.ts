// Run by mutex.test.ts: 20 users read their own rows through the Data API, 20 times each and all at once, with the
// mutex and then without it. Prints how many reads returned anything else.
import { openPglite } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const settings = readSettings({ DATA_DIR: 'memory', SEED: 'none' })
const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
const database = await openPglite(null)
const platform = await openPlatform(database, keys, settings)

const send = (
  useMutex: boolean,
  method: string,
  path: string,
  token: string | null,
  body?: unknown,
): Promise<Response> => {
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
  const signUp = await send(true, 'POST', '/auth/v1/signup', null, {
    email,
    password: 'correct horse',
    data: { name: email },
  })
  users.push({ email, token: (await signUp.json()).access_token })
}

const read = async (useMutex: boolean): Promise<{ reads: number; wrong: number }> => {
  const reads = await Promise.all(users.flatMap(({ email, token }) =>
    Array.from({ length: 20 }, async () => {
      const answer = await send(useMutex, 'GET', '/rest/v1/users?select=email', token)
      return await answer.text() === JSON.stringify([{ email }])
    })
  ))
  return { reads: reads.length, wrong: reads.filter((right) => !right).length }
}
console.log(JSON.stringify({ withMutex: await read(true), withoutMutex: await read(false) }))
Deno.exit(0)
