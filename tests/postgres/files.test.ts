// Edge Functions with the Storage of one machine, and without it: attachments and avatars.
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { joined, samples, strangers } from '../tools/samples.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { openStorage } from '../tools/storage.ts'
import { aWhile } from '../tools/wait.ts'

const secret = 'a-secret-of-at-least-32-characters-for-files'
let sql: postgres.Sql
let stack: Awaited<ReturnType<typeof startStack>>

/** Uploads through the Storage of the stack, as the holder of this token or key. */
const put = async (path: string, token: string, bytes: Uint8Array, type: string): Promise<number> => {
  const address = `${new URL(stack.base).origin}/storage/v1/object/attachments/${path}`
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': type,
    'x-upsert': `${token === testKeys.secretKey}`,
  }
  const response = await fetch(address, { method: 'POST', headers, body: Uint8Array.from(bytes) })
  const body = await response.json()
  return response.ok ? 200 : Number(body.statusCode)
}

const mayUpload = async (by: { token: string }, conversation: number): Promise<boolean> => {
  const status = await put(`${conversation}/${crypto.randomUUID()}/a.png`, by.token, png, 'image/png')
  expect([200, 403]).toContain(status)
  return status === 200
}

/** Removes the rows of files, which nobody may do but Storage. */
const removeRows = (which: postgres.PendingQuery<postgres.Row[]>) =>
  sql.begin(async (asStorage) => {
    await asStorage`set local storage.allow_delete_query = 'true'`
    await asStorage`delete from storage.objects where ${which}`
  })

let storage: Awaited<ReturnType<typeof openStorage>>
let conversations: ServedFunction, users: ServedFunction
beforeAll(async () => {
  const database = await makeDatabase('files')
  stack = await startStack({ DATABASE_URL: database, JWT_SECRET: secret })
  sql = postgres(database, { max: 2, onnotice: () => {} })
  storage = await openStorage(new URL(stack.base).origin)
  const edge = new URL(database)
  edge.username = 'edge_functions'
  const env = {
    SUPABASE_URL: storage.url,
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_files"}',
    EDGE_DATABASE_URL: edge.href,
    JWT_SECRET: secret,
    RATE_LIMIT_SEND: 'off',
  }
  ;[conversations, users] = await Promise.all(
    ['conversations', 'users'].map((name) => serveFunction(`functions/${name}/index.ts`, env)),
  ) as [ServedFunction, ServedFunction]
})
afterEach(() => {
  storage.behaviour = 'normal'
  storage.requests.length = 0
})
afterAll(async () => {
  conversations.stop()
  users.stop()
  storage.close()
  await sql.end()
  await stopStack(stack.process)
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
  const [conversation] = await sql`
    insert into public.conversations (voyager_id, local_id) values (${ana.id}, ${ben.id}) returning id::int
  `
  return { ana, ben, conversation: conversation!.id as number }
}

interface Attachment {
  url: string
  name: string
  mime_type: string
  size: number
}
/** Stores a file with this declared type. */
const upload = async (by: Person, conversation: number, bytes: Uint8Array, mime_type: string): Promise<Attachment> => {
  const url = `${conversation}/${crypto.randomUUID()}/the map (1).png`
  expect(await put(encodeURI(url), by.token, bytes, mime_type)).toBe(200)
  return { url, name: 'map.png', mime_type, size: bytes.length }
}
const send = (by: Person, conversation: number, attachment: Attachment | null, client_id?: string) =>
  call('POST', `${conversations.base}/conversations/${conversation}/messages`, {
    content: 'Look',
    attachment,
    client_id,
  }, by)
const messages = async (conversation: number): Promise<number> =>
  (await sql`select count(*)::int from public.messages where conversation_id = ${conversation}`)[0]!.count
const png = samples['image/png']!['one pixel']!

describe('an attached file', () => {
  test.each(Object.entries(samples).flatMap(([type, files]) => Object.entries(files).map((file) => [type, ...file])))(
    'of type %s with a matching signature (%s) is sent',
    async (type, _, bytes) => {
      const { ana, conversation } = await pair()
      const attachment = await upload(ana, conversation, bytes as Uint8Array, type as string)
      const { status, body } = await send(ana, conversation, attachment)
      expect({ status, attachment: body.attachment }).toEqual({ status: 201, attachment })
    },
  )

  test.each(
    Object.keys(samples).flatMap((type) =>
      Object.entries(strangers).slice(0, 3).map(([name, bytes]) => ({ type, name, bytes }))
    ),
  )('of type $type that is $name is refused', async ({ type, bytes }) => {
    const { ana, conversation } = await pair()
    const { status, body } = await send(ana, conversation, await upload(ana, conversation, bytes, type))
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'attachment: its content does not match its mime_type' },
    })
    expect(await messages(conversation)).toBe(0)
  })

  test("is requested once, with the sender's token, its first bytes only", async () => {
    const { ana, conversation } = await pair()
    const attachment = await upload(ana, conversation, joined(png, new Uint8Array(100_000)), 'image/png')
    expect((await send(ana, conversation, { ...attachment, url: `attachments/${attachment.url}` })).status).toBe(201)
    const [first, ...more] = storage.requests
    expect(more).toEqual([])
    expect(first).toMatchObject({
      method: 'GET',
      path: `/storage/v1/object/authenticated/attachments/${attachment.url.replaceAll(' ', '%20')}`,
      headers: { authorization: `Bearer ${ana.token}`, apikey: 'sb_publishable_files', range: 'bytes=0-2047' },
    })
  })

  test('is read no further, even if Storage ignores the range or never ends', async () => {
    const { ana, conversation } = await pair()
    for (const behaviour of ['ignores ranges', 'endless'] as const) {
      const attachment = await upload(ana, conversation, joined(png, new Uint8Array(100_000)), 'image/png')
      storage.behaviour = behaviour
      expect((await send(ana, conversation, attachment)).status).toBe(201)
    }
    await aWhile()
    const { sent } = storage
    await aWhile()
    // The connection was closed: only what was buffered has been sent.
    expect(storage.sent).toBe(sent)
  })

  test("is not requested if there is none, if it is on another host or outside the conversation's folder", async () => {
    const { ana, conversation } = await pair()
    const attachment = await upload(ana, conversation, png, 'image/png')
    expect((await send(ana, conversation, null)).status).toBe(201)
    expect((await send(ana, conversation, { ...attachment, url: 'https://files.example/map.png' })).status).toBe(201)
    for (
      const url of [
        ...[
          'map.png',
          `${conversation + 1}/x/map.png`,
          `avatars/${ana.account}/me.png`,
          `x/attachments/${attachment.url}`,
        ],
        ...[
          `${conversation}/../avatars/me.png`,
          `${conversation}/%2e%2e/x`,
          `//host/${conversation}`,
          `${conversation}/x#y`,
          `${conversation}\\x`,
        ],
        ...[
          'http://169.254.169.254/latest',
          `${conversation}/http://host`,
          `attachments/../${conversation}/x`,
          `./${conversation}/x`,
          `${conversation}/./x`,
        ],
      ]
    ) {
      const { status, body } = await send(ana, conversation, { ...attachment, url })
      expect({ url, status, body }).toEqual({ url, status: 400, body: { error: expect.stringMatching(/^attachment/) } })
    }
    expect(storage.requests).toEqual([])
  })

  test('of another user is refused, as is an unknown one', async () => {
    const { ana, ben, conversation } = await pair()
    const attachment = await upload(ana, conversation, png, 'image/png')
    const outsider = await person()
    expect((await send(ben, conversation, attachment)).status).toBe(400)
    expect((await send(outsider, conversation, attachment)).status).toBe(404)
    expect((await send(ana, conversation, { ...attachment, url: `${attachment.url}.exe` })).status).toBe(400)
    expect(await messages(conversation)).toBe(0)
    // Storage answers 400, and says in the body that it is a 404.
    const line = conversations.log().split('\n').findLast((one) => one.includes('Storage refused'))!
    expect(JSON.parse(line)).toMatchObject({ what: 'read a file', status: 404 })
  })

  test.each(['down', 'busy', 'silent', 'redirecting'] as const)(
    'is refused with 503 while Storage is %s',
    async (behaviour) => {
      const { ana, conversation } = await pair()
      const attachment = await upload(ana, conversation, png, 'image/png')
      storage.behaviour = behaviour
      const start = performance.now()
      const { status, body, headers } = await send(ana, conversation, attachment, crypto.randomUUID())
      expect({ status, body, after: headers.get('Retry-After') }).toEqual({
        status: 503,
        body: { error: 'attachment: could not be checked, please try again' },
        after: '1',
      })
      expect(performance.now() - start).toBeLessThan(5000)
      expect(await messages(conversation)).toBe(0)
      expect(storage.requests.filter(({ path }) => path === '/elsewhere')).toEqual([])
      expect((await send(ana, conversation, null)).status).toBe(201)
      storage.behaviour = 'normal'
      expect((await send(ana, conversation, attachment)).status).toBe(201)
    },
  )

  test('of an earlier message is not checked again on a retry, whatever happened to it and to Storage', async () => {
    const { ana, conversation } = await pair()
    const attachment = await upload(ana, conversation, png, 'image/png')
    const clientId = crypto.randomUUID()
    const first = await send(ana, conversation, attachment, clientId)
    expect(first.status).toBe(201)
    const again = async () => {
      const { status, text, headers } = await send(ana, conversation, attachment, clientId)
      expect({ status, text, replayed: headers.get('Idempotency-Replayed') })
        .toEqual({ status: 201, text: first.text, replayed: 'true' })
    }
    await again()
    storage.behaviour = 'down'
    await again()
    storage.behaviour = 'normal'
    await put(encodeURI(attachment.url), testKeys.secretKey, strangers['a ZIP']!, 'image/png')
    await again()
    await removeRows(sql`name = ${attachment.url}`)
    await again()
    expect(await messages(conversation)).toBe(1)
  })

  test('cannot be marked as checked by the caller', async () => {
    const { ana, conversation } = await pair()
    const attachment = await upload(ana, conversation, strangers['a ZIP']!, 'image/png')
    const path = `${conversations.base}/conversations/${conversation}/messages`
    const draft = { content: 'Look', attachment, matches_mime_type: true }
    expect((await call('POST', path, draft, ana)).status).toBe(400)
  })

  test('is not named in the log when Storage fails', async () => {
    const { ana, conversation } = await pair()
    const attachment = await upload(ana, conversation, png, 'image/png')
    storage.behaviour = 'busy'
    await send(ana, conversation, attachment)
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

describe('erasing an account', () => {
  const erase = (who: Person) => call('DELETE', `${users.base}/users/me`, undefined, who)
  const addAvatars = async (who: Person, ...names: string[]) => {
    for (const name of names) {
      await sql`
        insert into storage.objects (bucket_id, name, owner_id)
        values ('avatars', ${`${who.account}/${name}`}, ${who.account})
      `
    }
  }
  const filesOf = async (who: Person): Promise<string[]> =>
    (await sql`select name from storage.objects where owner_id = ${who.account} order by name`).map(({ name }) => name)

  test('removes its avatars; attachments and avatars of others stay', async () => {
    const { ana, ben, conversation } = await pair()
    const attachment = await upload(ana, conversation, png, 'image/png')
    await send(ana, conversation, attachment)
    await addAvatars(ana, 'me.png', 'me too.png')
    await addAvatars(ben, 'me.png')
    expect((await erase(ana)).status).toBe(204)
    expect(await filesOf(ana)).toEqual([attachment.url])
    expect(await filesOf(ben)).toEqual([`${ben.account}/me.png`])
    expect(storage.requests.filter(({ method }) => method === 'DELETE')).toMatchObject([{
      path: '/storage/v1/object/avatars',
      headers: { authorization: `Bearer ${ana.token}`, apikey: 'sb_publishable_files' },
    }])
  })

  test('removes any number of avatars', async () => {
    const ana = await person()
    await sql`
      insert into storage.objects (bucket_id, name, owner_id)
      select 'avatars', ${ana.account} || '/' || number, ${ana.account} from generate_series(1, 1500) as number
    `
    expect((await erase(ana)).status).toBe(204)
    expect(await filesOf(ana)).toEqual([])
    expect(storage.requests).toHaveLength(2)
  })

  test('does not call Storage if there are no avatars', async () => {
    const ana = await person()
    storage.behaviour = 'down'
    expect((await erase(ana)).status).toBe(204)
    expect(storage.requests).toEqual([])
  })

  test.each(['down', 'busy', 'silent', 'redirecting'] as const)(
    'succeeds while Storage is %s; the avatars left behind can be found',
    async (behaviour) => {
      const ana = await person()
      await addAvatars(ana, 'me.png')
      storage.behaviour = behaviour
      const start = performance.now()
      expect((await erase(ana)).status).toBe(204)
      expect(performance.now() - start).toBeLessThan(5000)
      expect((await erase(ana)).status).toBe(401)
      expect(users.log()).toContain('Avatars were left behind')
      expect(users.log()).not.toContain(ana.account)
      // The query in docs/runbook.md.
      const leftBehind = await sql`
        select name from storage.objects
        where bucket_id = 'avatars' and not exists (select from auth.users where id::text = split_part(name, '/', 1))
      `
      expect(leftBehind).toMatchObject([{ name: `${ana.account}/me.png` }])
      await removeRows(sql`owner_id = ${ana.account}`)
    },
  )

  test('removes no avatar if it is refused', async () => {
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
  test('is allowed to both participants, and to neither after a block', async () => {
    const { ana, ben, conversation } = await pair()
    const stranger = await person()
    const all = async () => [
      await mayUpload(ana, conversation),
      await mayUpload(ben, conversation),
      await mayUpload(stranger, conversation),
    ]
    expect(await all()).toEqual([true, true, false])
    await sql`insert into private.blocks (blocker_id, blocked_id) values (${ana.id}, ${ben.id})`
    expect(await all()).toEqual([false, false, false])
    await sql`delete from private.blocks where blocker_id = ${ana.id}`
    expect(await all()).toEqual([true, true, false])
  })

  test('is limited to 200 files or 500 MiB for each participant', async () => {
    const { ana, ben, conversation } = await pair()
    const put = (size: number, files: number) =>
      sql`
        insert into storage.objects (bucket_id, name, owner_id, metadata)
        select 'attachments', ${conversation}::text || '/' || gen_random_uuid() || '/a.png', ${ana.account}, ${
        sql.json({ size })
      }
        from generate_series(1, ${files})
      `
    await put(1, 199)
    expect(await mayUpload(ana, conversation)).toBe(true)
    await put(1, 1)
    expect([await mayUpload(ana, conversation), await mayUpload(ben, conversation)]).toEqual([false, true])
    await removeRows(sql`name like ${`${conversation}/%`}`)
    await put(10_485_760, 50)
    expect([await mayUpload(ana, conversation), await mayUpload(ben, conversation)]).toEqual([false, true])
  })
})
