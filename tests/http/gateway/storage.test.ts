// Storage on one machine, with supabase-js as an app uses it. tests/platform compares it with Supabase's own.
import { createClient } from '@supabase/supabase-js'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'
import { claimsOf, signToken } from '../../tools/jwt.ts'
import { call, type Person, signUp } from '../../tools/people.ts'
import { rawRequest } from '../../tools/raw_request.ts'
import { joined, samples } from '../../tools/samples.ts'

const { origin, publishableKey, secretKey, jwtSecret, dashboard } = inject('stack')
const png = Uint8Array.from(samples['image/png']!['one pixel']!)
const picture = { contentType: 'image/png' }
const rowPolicy = '403 new row violates row-level security policy'

const client = (token?: string, key = publishableKey) =>
  createClient(origin, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket as never },
    ...(token && { global: { headers: { Authorization: `Bearer ${token}` } } }),
  }).storage
const outcome = async (answer: PromiseLike<{ error: unknown }>): Promise<string> => {
  const { error } = await answer
  const { statusCode, message } = (error ?? {}) as Record<string, unknown>
  return error ? `${statusCode} ${message}` : 'can'
}
const filesOf = (person: Person) => {
  const storage = client(person.token)
  return {
    account: claimsOf(person.token).sub as string,
    avatars: storage.from('avatars'),
    attachments: storage.from('attachments'),
  }
}
type Owner = Person & ReturnType<typeof filesOf>

let ana: Owner, ben: Owner, stranger: Owner, conversation: number
beforeAll(async () => {
  const people = await Promise.all(['Ana', 'Ben', 'Stranger'].map((name) => signUp(name)))
  ;[ana, ben, stranger] = people.map((person) => ({ ...person, ...filesOf(person) })) as [Owner, Owner, Owner]
  conversation = (await ana.call('POST', '/conversations', { other_user_id: ben.id })).body.id
})
const newPath = (name = 'file.png') => `${conversation}/${crypto.randomUUID()}/${name}`
const newPhoto = () => `${ana.account}/${crypto.randomUUID()}.png`
const publicUrl = (path: string) => ana.avatars.getPublicUrl(path).data.publicUrl

describe('an attachment', () => {
  test('is uploaded, sent, listed, signed and read by the other participant', async () => {
    const path = newPath()
    expect(await outcome(ana.attachments.upload(path, new Blob([png], { type: 'image/png' }), { metadata: { a: 1 } })))
      .toBe('can')
    const attachment = { url: path, name: 'größe.png', mime_type: 'image/png', size: png.length }
    const sent = await ana.call('POST', `/conversations/${conversation}/messages`, { content: '', attachment })
    expect(sent).toMatchObject({ status: 201, body: { attachment } })
    const { data: downloaded } = await ben.attachments.download(path)
    expect(new Uint8Array(await downloaded!.arrayBuffer())).toEqual(png)
    expect((await ben.attachments.list(path.slice(0, -9))).data).toMatchObject([{ name: 'file.png' }])
    expect((await ben.attachments.listV2({ prefix: `${conversation}/`, limit: 1 })).data?.objects).toHaveLength(1)
    expect((await ben.attachments.info(path)).data).toMatchObject({ size: png.length, metadata: { a: 1 } })
    const { data } = await ben.attachments.createSignedUrl(path, 60)
    const response = await fetch(`${data!.signedUrl}&download=${encodeURIComponent('größe.png')}`)
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(png)
    expect(response.headers.get('Content-Disposition')).toContain(`filename*=UTF-8''gr%C3%B6%C3%9Fe.png`)
  })

  test('that does not exist, or is of another type than its content, is not sent', async () => {
    const path = newPath()
    await ana.attachments.upload(path, 'PK\x03\x04 a ZIP', picture)
    for (const url of [path, newPath()]) {
      const attachment = { url, name: 'x.png', mime_type: 'image/png', size: 10 }
      expect((await ana.call('POST', `/conversations/${conversation}/messages`, { content: '', attachment })).status)
        .toBe(400)
    }
  })

  test('is closed to others, and nobody replaces, moves, copies or removes it', async () => {
    const path = newPath()
    expect(await outcome(ana.attachments.upload(path, png, picture))).toBe('can')
    for (const who of [stranger.attachments, client().from('attachments')]) {
      expect(await outcome(who.upload(newPath(), png, picture))).toBe(rowPolicy)
      expect(await outcome(who.download(path))).toMatch(/^\S+ Object not found$/)
      expect(await outcome(who.createSignedUrl(path, 60))).toBe('404 Object not found')
      expect((await who.createSignedUrls([path], 60)).data).toMatchObject([{ signedUrl: null }])
      expect((await who.list(path.slice(0, -9))).data).toEqual([])
      expect((await who.listV2({ prefix: '' })).data?.objects).toEqual([])
      expect((await who.remove([path])).data).toEqual([])
    }
    for (const who of [ana.attachments, ben.attachments]) {
      expect(await outcome(who.upload(path, png, { ...picture, upsert: true }))).toBe(rowPolicy)
      expect(await outcome(who.copy(path, newPath()))).toBe(rowPolicy)
      expect(await outcome(who.move(path, newPath()))).not.toBe('can')
      expect(await outcome(who.createSignedUploadUrl(newPath()))).toBe(rowPolicy)
      expect((await who.remove([path])).data).toEqual([])
    }
    expect(await outcome(ana.attachments.upload(path, png, picture))).toBe('409 The resource already exists')
    expect((await fetch(`${origin}/storage/v1/object/public/attachments/${path}`)).status).toBe(400)
    expect(await outcome(ben.attachments.download(path))).toBe('can')
  })

  test('is not uploaded after a block, not even by an upload that began before it', async () => {
    const eva = await signUp('Eva')
    const { body: { id } } = await eva.call('POST', '/conversations', { other_user_id: ben.id })
    const path = `${id}/${crypto.randomUUID()}/file.png`
    let sendRest = () => {}
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(png.subarray(0, 10))
        sendRest = () => (controller.enqueue(png.subarray(10)), controller.close())
      },
    })
    const upload = outcome(filesOf(eva).attachments.upload(path, body, picture))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await ben.call('PUT', `/users/me/blocks/${eva.id}`)
    sendRest()
    expect(await upload).toBe(rowPolicy)
    expect(await outcome(filesOf(eva).attachments.info(path))).toBe('404 Object not found')
  })

  test('has a type and a size that the bucket allows', async () => {
    for (const type of ['text/html', 'image/svg+xml', 'text/plain;charset=utf-7', 'x/y']) {
      expect(await outcome(ana.attachments.upload(newPath(), png, { contentType: type })))
        .toBe(`415 mime type ${type} is not supported`)
      expect(await outcome(ana.attachments.upload(newPath(), new Blob([png], { type }))))
        .toBe(`415 mime type ${type} is not supported`)
    }
    const large = joined(png, new Uint8Array(10_485_760 - png.length))
    const more = joined(large, new Uint8Array(1))
    expect(await outcome(ana.attachments.upload(newPath(), large, picture))).toBe('can')
    for (const body of [more, new Blob([Uint8Array.from(more)], { type: 'image/png' })]) {
      expect(await outcome(ana.attachments.upload(newPath(), body, picture)))
        .toBe('413 The object exceeded the maximum allowed size')
    }
  })
})

describe('an avatar', () => {
  test('is added, replaced, renamed and removed by its owner, and shown to everybody', async () => {
    const [path, renamed] = [newPhoto(), newPhoto()]
    const other = joined(png, new Uint8Array(10))
    expect(await outcome(ana.avatars.upload(path, png, picture))).toBe('can')
    expect(await outcome(ana.avatars.upload(path, other, { ...picture, upsert: true }))).toBe('can')
    expect((await (await fetch(publicUrl(path))).arrayBuffer()).byteLength).toBe(other.length)
    expect(await outcome(ana.avatars.update(path, png, picture))).toBe('can')
    expect(await outcome(ana.avatars.move(path, renamed))).toBe('can')
    expect((await ana.avatars.exists(renamed)).data).toBe(true)
    expect((await ana.avatars.exists(path)).data).toBe(false)
    expect((await ana.avatars.remove([renamed])).data).toMatchObject([{ name: renamed }])
    expect((await fetch(publicUrl(renamed))).status).toBe(400)
  })

  test('is the photo of a profile, at its public address', async () => {
    const path = newPhoto()
    await ana.avatars.upload(path, png, picture)
    const image_url = publicUrl(path)
    expect(await ana.call('PATCH', '/users/profile', { image_url })).toMatchObject({ status: 200 })
    expect((await ana.call('GET', '/users/me')).body.Profile.image_url).toBe(image_url)
    for (const wrong of ['http://10.0.0.1/storage/v1/object/public/avatars/x', image_url.replace('avatars/', 'x/')]) {
      expect((await ana.call('PATCH', '/users/profile', { image_url: wrong })).status).toBe(400)
    }
  })

  test('of another person is not added, replaced, moved or removed', async () => {
    const path = newPhoto()
    await ana.avatars.upload(path, png, picture)
    expect(await outcome(ben.avatars.upload(path, png, { ...picture, upsert: true }))).toBe(rowPolicy)
    expect(await outcome(ben.avatars.upload(newPhoto(), png, picture))).toBe(rowPolicy)
    expect(await outcome(ana.avatars.move(path, `${ben.account}/x.png`))).not.toBe('can')
    expect(await outcome(ben.avatars.move(path, `${ben.account}/x.png`))).not.toBe('can')
    expect((await ben.avatars.remove([path])).data).toEqual([])
    expect((await fetch(publicUrl(path))).status).toBe(200)
  })

  test('is removed with the account', async () => {
    const eva = await signUp('Eva')
    const { account, avatars } = filesOf(eva)
    await avatars.upload(`${account}/me.png`, png, picture)
    expect((await eva.call('DELETE', '/users/me')).status).toBe(204)
    expect((await fetch(publicUrl(`${account}/me.png`))).status).toBe(400)
  })
})

describe('a download', () => {
  let url = ''
  beforeAll(async () => {
    const path = newPhoto()
    await ana.avatars.upload(path, png, picture)
    url = publicUrl(path)
  })
  const get = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(url, { headers, method })
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  }

  test('can be of a range, or nothing if it has not changed', async () => {
    const whole = await get({})
    const tag = whole.headers.get('ETag')!
    const modified = whole.headers.get('Last-Modified')!
    for (const [range, from, to] of [['0-9', 0, 10], ['10-', 10, 70], ['-5', 65, 70], ['60-999', 60, 70]] as const) {
      const { status, headers, bytes } = await get({ Range: `bytes=${range}` })
      expect([status, headers.get('Content-Range')]).toEqual([206, `bytes ${from}-${to - 1}/${png.length}`])
      expect(bytes).toEqual(png.slice(from, to))
    }
    for (const range of ['70-', '9-3', '-0', '0-1,3-4', 'x']) {
      expect((await get({ Range: `bytes=${range}` })).status).toBe(416)
    }
    expect((await get({ Range: 'bytes=0-9', 'If-Range': '"another"' })).status).toBe(200)
    for (const [name, value] of [['If-None-Match', `"x", W/${tag}`], ['If-Modified-Since', modified]] as const) {
      expect((await get({ [name]: value })).status).toBe(304)
    }
    expect((await get({ 'If-None-Match': '"x"', 'If-Modified-Since': modified })).status).toBe(200)
    const head = await get({}, 'HEAD')
    expect([head.headers.get('Content-Length'), head.bytes.length]).toEqual([`${png.length}`, 0])
  })

  test('cannot be a page or a script, whatever type it was given', async () => {
    const service = client(undefined, secretKey).from('avatars')
    const { headers } = await get({})
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'.*; sandbox$/)
    expect(headers.get('Content-Disposition')).toBe(null)
    // Only who may write rows can give another type; the bucket refuses it.
    expect(await outcome(service.upload('x.html', '<script>', { contentType: 'text/html' }))).toMatch(/^415/)
  })
})

describe('a signed address', () => {
  test('names one file, for its time, and is no token', async () => {
    const path = newPath()
    await ana.attachments.upload(path, png, picture)
    const { data } = await ana.attachments.createSignedUrl(path, 1)
    const url = new URL(data!.signedUrl)
    const token = url.searchParams.get('token')!
    const open = (path: string, token: string) =>
      fetch(`${origin}/storage/v1/object/sign/attachments/${path}?token=${token}`).then(({ status }) => status)
    expect(await open(path, token)).toBe(200)
    const claims = claimsOf(token)
    const forged = [
      `${token}x`,
      ana.token,
      signToken({ alg: 'none' }, claims, 'x'),
      // The secret of users' tokens signs no address.
      signToken({ alg: 'HS256' }, { ...claims, exp: 4_000_000_000 }, jwtSecret),
    ]
    for (const one of forged) expect(await open(path, one)).toBe(400)
    expect(await open(newPath(), token)).toBe(400)
    expect((await call('GET', '/users/me', undefined, { token })).status).toBe(401)
    const put = await fetch(`${origin}/storage/v1/object/upload/sign/attachments/${path}?token=${token}`, {
      method: 'PUT',
      body: png,
      headers: { 'Content-Type': 'image/png' },
    })
    expect(put.status).toBe(400)
    await new Promise((resolve) => setTimeout(resolve, 2100))
    expect(await open(path, token)).toBe(400)
  })

  test('for an upload takes one file of the allowed type, and reads nothing', async () => {
    const path = newPhoto()
    const service = client(undefined, secretKey).from('avatars')
    const { data } = await service.createSignedUploadUrl(path)
    const { token } = data!
    const anyone = client().from('avatars')
    expect(await outcome(anyone.uploadToSignedUrl(newPhoto(), token, png, picture))).toBe('400 Invalid signature')
    expect(await outcome(anyone.uploadToSignedUrl(path, token, '<b>', { contentType: 'text/html' }))).toMatch(/^415/)
    expect(await outcome(anyone.uploadToSignedUrl(path, token, png, picture))).toBe('can')
    expect(await outcome(anyone.uploadToSignedUrl(path, token, png, picture))).toMatch(/^409/)
    expect((await fetch(`${origin}/storage/v1/object/sign/avatars/${path}?token=${token}`)).status).toBe(400)
  })
})

describe('a request', () => {
  test.each([
    '..',
    '.',
    '../x',
    '%2e%2e/x',
    '..%2fx',
    'a//b',
    'a%5cb',
    'a%00b',
    'a%0ab',
    '%252e%252e/x',
    '/etc/passwd',
  ])(
    'for %s is refused',
    async (name) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        const { status } = await rawRequest(method, `/storage/v1/object/avatars/${name}`, {
          apikey: secretKey,
          Authorization: `Bearer ${secretKey}`,
          'Content-Type': 'image/png',
        })
        expect([method, status]).toEqual([method, 400])
      }
    },
  )

  test('names no other place in a body either', async () => {
    const path = newPhoto()
    await ana.avatars.upload(path, png, picture)
    for (const name of ['../x.png', `${ana.account}/../x.png`, 'a//b', '/x', 'x/', 'a\\b', 'größe.png', 'a\0b']) {
      expect(await outcome(client(undefined, secretKey).from('avatars').move(path, name))).toBe(
        `400 Invalid key: ${name}`,
      )
      expect(await outcome(client(undefined, secretKey).from('avatars').copy(path, name))).toBe(
        `400 Invalid key: ${name}`,
      )
    }
  })

  test('holds what can be stored and found again', async () => {
    const metadata = (value: unknown) =>
      outcome(ana.avatars.upload(newPhoto(), new Blob([png], { type: 'image/png' }), { metadata: { value } }))
    for (const text of ['a\0b', '\ud800']) {
      expect(await metadata(text)).toMatch(/^400/)
      expect(await outcome(ana.avatars.remove([text]))).toMatch(/^400/)
      expect(await outcome(ana.avatars.list(text))).toMatch(/^400/)
    }
    const nested = (depth: number): unknown => depth ? [nested(depth - 1)] : 1
    expect(await metadata(nested(90))).toBe('can')
    expect(await metadata(nested(1000))).toMatch(/^400/)
    const [longest, longer] = [1024, 1025].map((length) => `${ana.account}/`.padEnd(length, 'x')) as [string, string]
    expect(await outcome(ana.avatars.upload(longest, png, picture))).toBe('can')
    expect((await ana.avatars.remove([longest])).data).toHaveLength(1)
    expect(await outcome(ana.avatars.upload(longer, png, picture))).toBe(`400 Invalid key: ${longer}`)
  })

  test('with a long row of spaces in a form holds up nobody', async () => {
    const start = performance.now()
    const { status } = await call('POST', `${origin}/storage/v1/object/avatars/${newPhoto()}`, undefined, {
      token: ana.token,
      headers: { 'Content-Type': 'multipart/form-data; boundary=a' },
      raw: `--a\r\nContent-Type: x${' '.repeat(80_000)}y\r\n\r\n1\r\n--a--`,
    })
    expect(status).toBe(400)
    // 7 s, growing with the square, where the pattern has the spaces.
    expect(performance.now() - start).toBeLessThan(2000)
  })

  test('does not wait for another person who has begun many uploads', async () => {
    const ends: (() => void)[] = []
    const slow = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(png)
          ends.push(() => controller.close())
        },
      })
    const uploads = Array.from({ length: 50 }, () => outcome(ana.avatars.upload(newPhoto(), slow(), picture)))
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const { account, avatars } = ben
    expect(await outcome(avatars.upload(`${account}/${crypto.randomUUID()}.png`, png, picture))).toBe('can')
    for (const end of ends) end()
    const statuses = (await Promise.all(uploads)).map((text) => text.slice(0, 3)).sort()
    expect(statuses).toEqual([...Array(40).fill('429'), ...Array(10).fill('can')])
  })

  test('without a key, with a forged token or with the cookie of the dashboard has no rights', async () => {
    const list = (headers: Record<string, string>) =>
      call('POST', `${origin}/storage/v1/object/list/attachments`, { prefix: `${conversation}` }, { headers })
    expect((await list({})).status).toBe(400)
    const forged = signToken({ alg: 'HS256' }, { role: 'service_role', exp: 4_000_000_000 }, 'another secret')
    expect((await list({ Authorization: `Bearer ${forged}` })).body).toMatchObject({ statusCode: '403' })
    const { headers } = await fetch(dashboard, { redirect: 'manual' })
    expect((await list({ Cookie: headers.getSetCookie()[0]!.split(';')[0]! })).status).toBe(400)
  })

  test('can come from every origin', async () => {
    const { status, headers } = await fetch(`${origin}/storage/v1/object/avatars/x`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,x-upsert',
      },
    })
    expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([204, '*'])
    expect(headers.get('Access-Control-Allow-Headers')).toContain('x-upsert')
  })

  test('for what one machine does not do says so', async () => {
    const transform = { transform: { width: 10 } }
    const notResized = /^501 Without transform .* images are not resized on one machine/
    expect(await outcome(ana.avatars.download(newPhoto(), transform))).toMatch(notResized)
    expect(await outcome(ana.avatars.createSignedUrl(newPhoto(), 60, transform))).toMatch(notResized)
    const { status } = await call('POST', `${origin}/storage/v1/upload/resumable`, {}, { token: ana.token })
    expect(status).toBe(501)
    expect(await outcome(client(undefined, secretKey).createBucket('more'))).toMatch(/^501 Buckets come from/)
    expect((await client(undefined, secretKey).listBuckets()).data).toMatchObject([
      { id: 'attachments', public: false },
      { id: 'avatars', public: true },
    ])
    expect((await ana.call('GET', `${origin}/storage/v1/bucket`)).body).toEqual([])
  })
})

test('the Data API does not show the tables of Storage', async () => {
  for (const table of ['objects', 'buckets']) {
    const { status } = await call('GET', `${origin}/rest/v1/${table}`, undefined, {
      headers: { apikey: publishableKey },
    })
    expect(status).toBe(404)
  }
})
