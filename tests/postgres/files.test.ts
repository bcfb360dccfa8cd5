// The doors beside a stand-in for Storage, on a database where Storage runs: what is in a file, and what becomes of avatars.
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Door, openApp } from '../tools/app.ts'
import { call } from '../tools/people.ts'
import { joined, samples, strangers } from '../tools/samples.ts'
import { openStorage } from '../tools/storage.ts'
import { platform } from '../tools/supabase.ts'
import { aWhile } from '../tools/wait.ts'

const secret = 'a-secret-of-at-least-32-characters-for-files'
const sql = postgres(platform('stored'), { max: 2, onnotice: () => {} })

/** As Storage removes: what the caller's policies let them, in a transaction that may. */
const remove = (bucket: string, names: string[], token: string): Promise<string[]> =>
  sql.begin(async (mine) => {
    const { sub } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    await mine`select set_config('request.jwt.claims', ${JSON.stringify({ sub, role: 'authenticated' })}, true)`
    await mine`set local role authenticated`
    const removed = await mine`
      delete from storage.objects where bucket_id = ${bucket} and name in ${mine(names)} returning name
    `
    return removed.map(({ name }) => name as string)
  }) as Promise<string[]>

/** As Storage asks whether somebody may upload: with a row that it takes back. It lists the file when it has all of it, as itself. */
const mayUpload = (by: { account: string }, talk: number): Promise<boolean> =>
  sql.begin(async (asked) => {
    await asked`select set_config('request.jwt.claims', ${
      JSON.stringify({ sub: by.account, role: 'authenticated' })
    }, true)`
    await asked`set local role authenticated`
    const name = `${talk}/${crypto.randomUUID()}/a.png`
    await asked`insert into storage.objects (bucket_id, name, owner_id) values ('attachments', ${name}, ${by.account})`
    throw new Error('taken back')
  }).catch(({ code, message }) => {
    if (message === 'taken back') return true
    expect(code).toBe('42501')
    return false
  })

let storage: Awaited<ReturnType<typeof openStorage>>
let conversations: Door, users: Door
beforeAll(async () => {
  storage = await openStorage(remove)
  const env = {
    SUPABASE_URL: storage.url,
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_files"}',
    SUPABASE_DB_URL: platform('stored'),
    JWT_SECRET: secret,
    RATE_LIMIT_SEND: 'off',
  }
  ;[conversations, users] = await Promise.all([openApp('conversations', env), openApp('users', env)])
})
afterEach(() => {
  storage.mood = 'well'
  storage.asked.length = 0
})
afterAll(async () => {
  conversations.stop()
  users.stop()
  storage.close()
  await sql.end()
})

let count = 0
const person = async () => {
  const account = crypto.randomUUID()
  const email = `files${count++}@example.com`
  await sql`
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    values (${account}, ${email}, now(), '{"name": "Ana"}')
  `
  const [user] = await sql`select id::int from public.users where auth_id = ${account}`
  const token = await new SignJWT({ role: 'authenticated' }).setSubject(account).setAudience('authenticated')
    .setIssuer(`${storage.url}/auth/v1`).setExpirationTime('1h').setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret))
  return { id: user!.id as number, account, token }
}
type Person = Awaited<ReturnType<typeof person>>

const pair = async () => {
  const [ana, ben] = [await person(), await person()]
  const [talk] = await sql`
    insert into public.conversations (voyager_id, local_id) values (${ana.id}, ${ben.id}) returning id::int
  `
  return { ana, ben, talk: talk!.id as number }
}

interface Attachment {
  url: string
  name: string
  mime_type: string
  size: number
}
/** Puts a file where Storage has it; the upload said what type it is. */
const upload = async (by: Person, talk: number, bytes: Uint8Array, mime_type: string): Promise<Attachment> => {
  const url = `${talk}/${crypto.randomUUID()}/the map (1).png`
  const metadata = sql.json({ mimetype: mime_type, size: bytes.length })
  await sql`
    insert into storage.objects (bucket_id, name, owner_id, metadata) values ('attachments', ${url}, ${by.account}, ${metadata})
  `
  storage.files.set(`attachments/${url}`, bytes)
  return { url, name: 'map.png', mime_type, size: bytes.length }
}
const send = (by: Person, talk: number, attachment: Attachment | null, client_id?: string) =>
  call('POST', `${conversations.base}/conversations/${talk}/messages`, { content: 'Look', attachment, client_id }, by)
const messages = async (talk: number): Promise<number> =>
  (await sql`select count(*)::int from public.messages where conversation_id = ${talk}`)[0]!.count
const png = samples['image/png']!['one pixel']!

describe('a file in a message', () => {
  test.each(Object.entries(samples).flatMap(([type, files]) => Object.entries(files).map((file) => [type, ...file])))(
    'that is %s and begins so (%s) is sent',
    async (type, _, bytes) => {
      const { ana, talk } = await pair()
      const attachment = await upload(ana, talk, bytes as Uint8Array, type as string)
      const { status, body } = await send(ana, talk, attachment)
      expect({ status, attachment: body.attachment }).toEqual({ status: 201, attachment })
    },
  )

  test.each(
    Object.keys(samples).flatMap((type) =>
      Object.entries(strangers).slice(0, 3).map(([name, bytes]) => ({ type, name, bytes }))
    ),
  )('that is said to be $type and is $name is refused', async ({ type, bytes }) => {
    const { ana, talk } = await pair()
    const { status, body } = await send(ana, talk, await upload(ana, talk, bytes, type))
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'attachment: its content is not of the type that it is said to be' },
    })
    expect(await messages(talk)).toBe(0)
  })

  test('is asked for once, as its sender, by its beginning, at its own address', async () => {
    const { ana, talk } = await pair()
    const attachment = await upload(ana, talk, joined(png, new Uint8Array(100_000)), 'image/png')
    expect((await send(ana, talk, { ...attachment, url: `attachments/${attachment.url}` })).status).toBe(201)
    const [asked, ...more] = storage.asked
    expect(more).toEqual([])
    expect(asked).toMatchObject({
      method: 'GET',
      path: `/storage/v1/object/authenticated/attachments/${attachment.url.replaceAll(' ', '%20')}`,
      headers: { authorization: `Bearer ${ana.token}`, apikey: 'sb_publishable_files', range: 'bytes=0-2047' },
    })
  })

  test('is looked at no further, also where Storage sends it whole or without end', async () => {
    const { ana, talk } = await pair()
    for (const mood of ['deaf to ranges', 'endless'] as const) {
      const attachment = await upload(ana, talk, joined(png, new Uint8Array(100_000)), 'image/png')
      storage.mood = mood
      expect((await send(ana, talk, attachment)).status).toBe(201)
    }
    await aWhile()
    const { sent } = storage
    await aWhile()
    // The connection was let go: only what lay between here and there was sent.
    expect(storage.sent).toBe(sent)
  })

  test('is not asked for where there is none, where it is on the web, or in no folder of the conversation', async () => {
    const { ana, talk } = await pair()
    const attachment = await upload(ana, talk, png, 'image/png')
    expect((await send(ana, talk, null)).status).toBe(201)
    expect((await send(ana, talk, { ...attachment, url: 'https://files.example/map.png' })).status).toBe(201)
    for (
      const url of [
        ...['map.png', `${talk + 1}/x/map.png`, `avatars/${ana.account}/me.png`, `x/attachments/${attachment.url}`],
        ...[
          `${talk}/../avatars/me.png`,
          `${talk}/%2e%2e/x`,
          `//host/${talk}`,
          `${talk}/x#y`,
          `${talk}\\x`,
        ],
        ...[
          'http://169.254.169.254/latest',
          `${talk}/http://host`,
          `attachments/../${talk}/x`,
          `./${talk}/x`,
          `${talk}/./x`,
        ],
      ]
    ) {
      const { status, body } = await send(ana, talk, { ...attachment, url })
      expect({ url, status, body }).toEqual({ url, status: 400, body: { error: expect.stringMatching(/^attachment/) } })
    }
    expect(storage.asked).toEqual([])
  })

  test('of somebody else, or of nobody, stays theirs', async () => {
    const { ana, ben, talk } = await pair()
    const attachment = await upload(ana, talk, png, 'image/png')
    const outsider = await person()
    expect((await send(ben, talk, attachment)).status).toBe(400)
    expect((await send(outsider, talk, attachment)).status).toBe(404)
    expect((await send(ana, talk, { ...attachment, url: `${attachment.url}.exe` })).status).toBe(400)
    expect(await messages(talk)).toBe(0)
  })

  test.each(['down', 'busy', 'silent', 'elsewhere'] as const)(
    'that cannot be looked at, because Storage is %s, is refused for now',
    async (mood) => {
      const { ana, talk } = await pair()
      const attachment = await upload(ana, talk, png, 'image/png')
      storage.mood = mood
      const start = performance.now()
      const { status, body, headers } = await send(ana, talk, attachment, crypto.randomUUID())
      expect({ status, body, after: headers.get('Retry-After') }).toEqual({
        status: 503,
        body: { error: 'attachment: could not be looked at, please try again' },
        after: '1',
      })
      expect(performance.now() - start).toBeLessThan(5000)
      expect(await messages(talk)).toBe(0)
      expect(storage.asked.filter(({ path }) => path === '/elsewhere')).toEqual([])
      expect((await send(ana, talk, null)).status).toBe(201)
      storage.mood = 'well'
      expect((await send(ana, talk, attachment)).status).toBe(201)
    },
  )

  test('that was sent is answered as before under its key, whatever became of it and of Storage', async () => {
    const { ana, talk } = await pair()
    const attachment = await upload(ana, talk, png, 'image/png')
    const key = crypto.randomUUID()
    const first = await send(ana, talk, attachment, key)
    expect(first.status).toBe(201)
    const again = async () => {
      const { status, text, headers } = await send(ana, talk, attachment, key)
      expect({ status, text, replayed: headers.get('Idempotency-Replayed') })
        .toEqual({ status: 201, text: first.text, replayed: 'true' })
    }
    await again()
    storage.mood = 'down'
    await again()
    storage.mood = 'well'
    storage.files.set(`attachments/${attachment.url}`, strangers['a ZIP']!)
    await again()
    storage.files.clear()
    await sql`delete from storage.objects where name = ${attachment.url}`
    await again()
    expect(await messages(talk)).toBe(1)
  })

  test('is none of the caller’s to vouch for', async () => {
    const { ana, talk } = await pair()
    const attachment = await upload(ana, talk, strangers['a ZIP']!, 'image/png')
    const path = `${conversations.base}/conversations/${talk}/messages`
    const draft = { content: 'Look', attachment, matches_mime_type: true }
    expect((await call('POST', path, draft, ana)).status).toBe(400)
  })

  test('leaves nothing of it in the log when Storage fails', async () => {
    const { ana, talk } = await pair()
    const attachment = await upload(ana, talk, png, 'image/png')
    storage.mood = 'busy'
    await send(ana, talk, attachment)
    const line = conversations.log().split('\n').findLast((one) => one.includes('Storage refused'))!
    expect(JSON.parse(line)).toEqual({
      level: 'warn',
      message: 'Storage refused',
      request: expect.any(String),
      what: 'read a file',
      status: 544,
    })
    expect(conversations.log()).not.toContain(attachment.url)
    expect(conversations.log()).not.toContain(ana.token)
  })
})

describe('who erases themselves', () => {
  const erase = (who: Person) => call('DELETE', `${users.base}/users/me`, undefined, who)
  const addAvatars = async (who: Person, ...names: string[]) => {
    for (const name of names) {
      await sql`insert into storage.objects (bucket_id, name, owner_id) values ('avatars', ${`${who.account}/${name}`}, ${who.account})`
    }
  }
  const filesOf = async (who: Person): Promise<string[]> =>
    (await sql`select name from storage.objects where owner_id = ${who.account} order by name`).map(({ name }) => name)

  test('takes their avatars along, and nobody else’s; what they attached stays', async () => {
    const { ana, ben, talk } = await pair()
    const attachment = await upload(ana, talk, png, 'image/png')
    await send(ana, talk, attachment)
    await addAvatars(ana, 'me.png', 'me too.png')
    await addAvatars(ben, 'me.png')
    expect((await erase(ana)).status).toBe(204)
    expect(await filesOf(ana)).toEqual([attachment.url])
    expect(await filesOf(ben)).toEqual([`${ben.account}/me.png`])
    expect(storage.asked.filter(({ method }) => method === 'DELETE')).toMatchObject([{
      path: '/storage/v1/object/avatars',
      headers: { authorization: `Bearer ${ana.token}`, apikey: 'sb_publishable_files' },
    }])
  })

  test('does so however many there are', async () => {
    const ana = await person()
    await sql`
      insert into storage.objects (bucket_id, name, owner_id)
      select 'avatars', ${ana.account} || '/' || number, ${ana.account} from generate_series(1, 1500) as number
    `
    expect((await erase(ana)).status).toBe(204)
    expect(await filesOf(ana)).toEqual([])
    expect(storage.asked).toHaveLength(2)
  })

  test('without an avatar need not ask Storage', async () => {
    const ana = await person()
    storage.mood = 'down'
    expect((await erase(ana)).status).toBe(204)
    expect(storage.asked).toEqual([])
  })

  test.each(['down', 'busy', 'silent', 'elsewhere'] as const)(
    'is erased all the same when Storage is %s; what is left behind can be found',
    async (mood) => {
      const ana = await person()
      await addAvatars(ana, 'me.png')
      storage.mood = mood
      const start = performance.now()
      expect((await erase(ana)).status).toBe(204)
      expect(performance.now() - start).toBeLessThan(5000)
      expect((await erase(ana)).status).toBe(401)
      expect(users.log()).toContain('Avatars were left behind')
      expect(users.log()).not.toContain(ana.account)
      // As docs/runbook.md has it.
      const leftBehind = await sql`
        select name from storage.objects
        where bucket_id = 'avatars' and not exists (select from auth.users where id::text = split_part(name, '/', 1))
      `
      expect(leftBehind).toMatchObject([{ name: `${ana.account}/me.png` }])
      await sql`delete from storage.objects where owner_id = ${ana.account}`
    },
  )

  test('is asked nothing twice: a repeat, a forged token or a deactivated account removes no avatar', async () => {
    const ana = await person()
    await addAvatars(ana, 'me.png')
    await sql`update public.users set is_active = false where id = ${ana.id}`
    expect((await erase(ana)).status).toBe(403)
    expect((await erase({ ...ana, token: `${ana.token}x` })).status).toBe(401)
    expect(await filesOf(ana)).toHaveLength(1)
    await sql`update public.users set is_active = true where id = ${ana.id}`
    expect((await Promise.all([erase(ana), erase(ana), erase(ana)])).map(({ status }) => status).toSorted())
      .toEqual([204, 401, 401])
    expect(await filesOf(ana)).toEqual([])
    expect((await erase(ana)).status).toBe(401)
  })
})

describe('uploading to a conversation', () => {
  test('is for its two people, and for neither once one has blocked the other', async () => {
    const { ana, ben, talk } = await pair()
    const stranger = await person()
    const all = async () => [await mayUpload(ana, talk), await mayUpload(ben, talk), await mayUpload(stranger, talk)]
    expect(await all()).toEqual([true, true, false])
    await sql`insert into private.blocks (blocker_id, blocked_id) values (${ana.id}, ${ben.id})`
    expect(await all()).toEqual([false, false, false])
    await sql`delete from private.blocks where blocker_id = ${ana.id}`
    expect(await all()).toEqual([true, true, false])
  })

  test('ends for each of them at 200 files, or at 500 MiB', async () => {
    const { ana, ben, talk } = await pair()
    const put = (size: number, files: number) =>
      sql`
        insert into storage.objects (bucket_id, name, owner_id, metadata)
        select 'attachments', ${talk}::text || '/' || gen_random_uuid() || '/a.png', ${ana.account}, ${
        sql.json({ size })
      }
        from generate_series(1, ${files})
      `
    await put(1, 199)
    expect(await mayUpload(ana, talk)).toBe(true)
    await put(1, 1)
    expect([await mayUpload(ana, talk), await mayUpload(ben, talk)]).toEqual([false, true])
    await sql`delete from storage.objects where name like ${`${talk}/%`}`
    await put(10_485_760, 50)
    expect([await mayUpload(ana, talk), await mayUpload(ben, talk)]).toEqual([false, true])
  })
})
