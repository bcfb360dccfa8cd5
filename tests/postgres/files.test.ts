// What the Edge Functions do with files while Storage is well, down, silent, busy or wrong.
import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import * as files from '../contract/files.ts'
import { databaseUrl } from '../tools/own_stack.ts'
import { expectError } from '../tools/responses.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { openStorage } from '../tools/storage.ts'

const { origin, jwtSecret } = inject('stack')
const { can, pair: openPair, person, png, publicUrl, put, replace, service, statusOf } = files
const sql = postgres(databaseUrl!, { max: 1, onnotice: () => {} })
let storage: Awaited<ReturnType<typeof openStorage>>
let conversations: ServedFunction, users: ServedFunction
beforeAll(async () => {
  storage = await openStorage(origin)
  const env = {
    SUPABASE_URL: storage.url,
    PUBLIC_URL: origin,
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_files"}',
    EDGE_DATABASE_URL: Object.assign(new URL(databaseUrl!), { username: 'edge_functions' }).href,
    JWT_SECRET: jwtSecret,
    RATE_LIMIT_SEND: 'off',
  }
  const serve = (name: string) => serveFunction(`functions/${name}/index.ts`, env)
  ;[conversations, users] = await Promise.all([serve('conversations'), serve('users')])
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
})

const addAvatars = (who: files.Owner, ...names: string[]) =>
  can(...names.map((name) => put(who.avatars, `${who.account}/${name}`)))
const filesOf = async ({ account }: files.Owner): Promise<string[]> =>
  (await sql`select name from storage.objects where owner_id = ${account} order by name`).map(({ name }) => name)
const erase = (who: files.Owner) => who.call('DELETE', `${users.base}/users/me`)

/** Two people with a conversation, and a file that the first has uploaded to it and sends. */
const pair = async () => {
  const made = await openPair()
  const url = made.newPath('the map (1).png')
  await can(put(made.ana.attachments, url))
  const send = (more = {}) => made.send(made.ana, { url, size: png.length }, more, conversations.base)
  const messages = async (): Promise<number> => {
    const found =
      await sql`select from public.messages where conversation_id = ${made.conversation} and content = 'Look'`
    return found.length
  }
  return { ...made, url, send, messages }
}

test('the file of an earlier message is not checked again on a retry, whatever happened to it', async () => {
  const { url, send, messages } = await pair()
  const key = { client_id: crypto.randomUUID() }
  const first = await send(key)
  expect(first.status).toBe(201)
  const again = async () => {
    const { status, text, headers } = await send(key)
    expect([status, text, headers.get('Idempotency-Replayed')]).toEqual([201, first.text, 'true'])
  }
  await again()
  await can(replace(service.from('attachments'), url, new Uint8Array(1)))
  await again()
  await can(service.from('attachments').remove([url]))
  await again()
  expect(await messages()).toBe(1)
})

describe('erasing an account', () => {
  test("removes its avatars with the caller's token; attachments and avatars of others stay", async () => {
    const { ana, ben, url } = await pair()
    await addAvatars(ana, 'me.png', 'me too.png')
    await addAvatars(ben, 'me.png')
    expect((await erase(ana)).status).toBe(204)
    expect([await filesOf(ana), await filesOf(ben)]).toEqual([[url], [`${ben.account}/me.png`]])
    const headers = { authorization: `Bearer ${ana.token}`, apikey: 'sb_publishable_files' }
    expect(storage.requests).toMatchObject([{ method: 'DELETE', path: '/storage/v1/object/avatars', headers }])
  })

  test('removes any number of avatars, and does not call Storage for none', async () => {
    const [ana, ben] = await Promise.all([person('Ana'), person('Ben')])
    await sql`
      insert into storage.objects (bucket_id, name, owner_id)
      select 'avatars', ${ana.account} || '/' || number, ${ana.account} from generate_series(1, 1500) as number`
    expect([(await erase(ana)).status, await filesOf(ana), storage.requests.length]).toEqual([204, [], 2])
    storage.behaviour = 'down'
    expect([(await erase(ben)).status, storage.requests.length]).toEqual([204, 2])
  })

  test('removes no avatar if it is refused', async () => {
    const ana = await person('Ana')
    await addAvatars(ana, 'me.png')
    await sql`update public.users set is_active = false where id = ${ana.id}`
    expectError(await erase(ana), 403, 'deactivated')
    expect(await filesOf(ana)).toHaveLength(1)
  })
})

test.each(['down', 'busy', 'silent', 'redirecting'] as const)(
  'while Storage is %s, files are sent, their messages are taken back, and accounts are erased',
  async (behaviour) => {
    const { ana, conversation, url, send } = await pair()
    await addAvatars(ana, 'me.png')
    storage.behaviour = behaviour
    const { status, body } = await send()
    expect(status).toBe(201)
    const message = `${conversations.base}/conversations/${conversation}/messages/${body.id}`
    expect((await ana.call('DELETE', message)).status).toBe(204)
    expect([(await erase(ana)).status, (await erase(ana)).status]).toEqual([204, 401])
    expect(users.log()).toContain('Avatars were left behind')
    // Storage answers 400 and says in the body what it means.
    if (behaviour === 'busy') expect(users.log()).toMatch(/Storage refused.*"status":544/)
    for (const one of [conversations, users]) expect(one.log()).not.toContain(ana.account)
    expect(await filesOf(ana)).toEqual([url, `${ana.account}/me.png`].toSorted())
    // A redirect would take the token elsewhere.
    expect(storage.requests.filter(({ path }) => path === '/elsewhere')).toEqual([])
  },
)

describe('the runbook', () => {
  /** The names that its query below these words finds. */
  const foundBy = async (words: string): Promise<string[]> => {
    const page = readFileSync('docs/runbook.md', 'utf8')
    const [, query] = new RegExp(`${words}.*?\`\`\`sql\\n(.*?)\`\`\``, 's').exec(page)!
    return (await sql.unsafe(query!)).map(({ name }) => name)
  }

  test('finds avatars of a person whom an admin erases, which Storage alone can remove', async () => {
    const eva = await person('Eva')
    const photo = eva.newPhoto()
    await can(put(eva.avatars, photo))
    await sql`select erase_person(${eva.id}, 'Test')`
    expect(await foundBy('### 8\\. ')).toContain(photo)
    await expect(sql`delete from storage.objects where name = ${photo}`).rejects.toThrow('Use the Storage API instead')
    expect((await service.from('avatars').remove([photo])).data).toMatchObject([{ name: photo }])
    expect(await foundBy('### 8\\. ')).not.toContain(photo)
    expect(await statusOf(publicUrl(photo))).toBe(400)
  })

  test('finds files that were uploaded and not sent, a day later', async () => {
    const { ana, newPath, send } = await openPair()
    const paths = [newPath(), newPath(), newPath()]
    await can(...paths.map((path) => put(ana.attachments, path)))
    for (const url of [paths[0], `attachments/${paths[1]}`]) expect((await send(ana, { url })).status).toBe(201)
    const found = async () => (await foundBy('uploaded and never sent')).filter((name) => paths.includes(name))
    expect(await found()).toEqual([])
    await sql`update storage.objects set created_at = now() - interval '2 days' where name in ${sql(paths)}`
    expect(await found()).toEqual([paths[2]])
  })
})
