import { check, equal } from './check.ts'

check('with the mutex concurrent callers of PGlite read their own rows, and without it those of others', {
  LITE_AUTH_BCRYPT_COST: '4',
}, async () => {
  const { openPglite } = await import('../../supabase/local/database.ts')
  const { openPlatform } = await import('../../supabase/local/platform.ts')
  const { readSettings } = await import('../../supabase/local/settings.ts')
  const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
  const database = await openPglite(null)
  const platform = await openPlatform(database, keys, readSettings({ DATA_DIR: 'memory', SEED: 'none' }))
  const send = (method: string, path: string, token: string | null, body?: unknown): Promise<Response> => {
    const headers = {
      apikey: keys.publishableKey,
      'Content-Type': 'application/json',
      ...(token && { Authorization: `Bearer ${token}` }),
    }
    const request = new Request(`http://127.0.0.1${path}`, {
      method,
      headers,
      body: body ? JSON.stringify(body) : null,
    })
    return Promise.resolve(platform.fetch(request, { peerAddress: '127.0.0.1' }))
  }
  const users: { email: string; token: string }[] = []
  for (let index = 0; index < 20; index++) {
    const email = `user${index}@example.com`
    const account = { email, password: 'correct horse', data: { name: email } }
    const answer = await database.mutex(() => send('POST', '/auth/v1/signup', null, account))
    users.push({ email, token: (await answer.json()).access_token })
  }
  /** All read their rows twenty times, all at once. */
  const read = (enter: <Result>(work: () => Promise<Result>) => Promise<Result>) =>
    Promise.all(users.flatMap(({ email, token }) =>
      Array.from({ length: 20 }, async () => {
        const answer = await enter(() => send('GET', '/rest/v1/users?select=email', token))
        return await answer.text() === JSON.stringify([{ email }])
      })
    ))
  equal(await read((work) => database.mutex(work)), Array(400).fill(true))
  // So this check can fail.
  equal((await read((work) => work())).includes(false), true)
})
