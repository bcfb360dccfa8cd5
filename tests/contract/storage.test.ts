// Files, as an app uses them with supabase-js: on the Storage of one machine, and on Supabase's own (tests/platform).
// Which rows of storage.objects a role may write is in tests/db/storage/rights.test.sql, and what the functions do
// while Storage fails in tests/postgres/files.test.ts.
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { addressOf, attachmentOf, upload } from '../../clients/uploads.ts'
import { claimsOf, signToken } from '../tools/jwt.ts'
import { call, type Person } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'
import { storageRefusals as refusals } from '../tools/storage_answers.ts'
import { until } from '../tools/wait.ts'
import * as files from './files.ts'
import { openClient, supplied } from './project.ts'

const { origin, publishableKey, secretKey, jwtSecret, dashboard } = inject('stack')
const { anonymous, can, expectOutcome, image, outcome, pair, person, png, publicUrl, put, raw, replace } = files
const { service, statusOf, storageUrl } = files
const rowPolicy = '403 new row violates row-level security policy'
const notFound = '404 Object not found'
const form = (bytes = png, type = 'image/png') => new Blob([bytes], { type })
const bytesOf = async (answer: PromiseLike<{ data: Blob | null }>) =>
  new Uint8Array(await (await answer).data!.arrayBuffer())
/** A body that waits for its end, which one machine lets it for a minute and a half. */
const slowly = () => {
  let end = () => {}
  const start = (body: ReadableStreamDefaultController<Uint8Array>) => {
    body.enqueue(png)
    body.enqueue(new Uint8Array(200_000))
    end = () => body.close()
  }
  return { body: new ReadableStream<Uint8Array>({ start }), end: () => end() }
}

let ana: files.Owner, ben: files.Owner, stranger: files.Owner, conversation: number
let newPath: (name?: string) => string, send: Awaited<ReturnType<typeof pair>>['send']
beforeAll(async () => {
  ;({ ana, ben, conversation, newPath, send } = await pair())
  stranger = await person('Stranger')
})

describe('who may do what', () => {
  /** Everything that somebody can try with a file, and with a new one beside it. */
  const attempts = async (bucket: files.Bucket, bucketId: string, path: string) => {
    const folder = path.slice(0, path.lastIndexOf('/'))
    const next = () => bucketId === 'avatars' ? ana.newPhoto() : newPath()
    return {
      download: await outcome(bucket.download(path)),
      sign: await outcome(bucket.createSignedUrl(path, 60)),
      signMany: (await bucket.createSignedUrls([path], 60)).data?.map(({ error }) => !error),
      list: (await bucket.list(folder)).data?.some(({ name }) => path.endsWith(name)),
      upload: await outcome(put(bucket, next())),
      replace: await outcome(replace(bucket, path)),
      update: await outcome(bucket.update(path, png, { contentType: 'image/png' })),
      move: (await outcome(bucket.move(path, next()))) === 'can',
      remove: (await bucket.remove([path])).data?.length,
    }
  }
  // deno-fmt-ignore
  const nobody = {
    download: expect.stringMatching(/^\S+ (Object|Bucket) not found$/),
    sign: notFound, signMany: [false], list: false, upload: rowPolicy, replace: rowPolicy, move: false,
    update: rowPolicy, remove: 0,
  }
  // deno-fmt-ignore
  const reader = {
    ...nobody, download: 'can', sign: 'can', signMany: [true], list: true, upload: 'can',
  }

  test('an attachment is read and added to by participants; it goes with its message', async () => {
    const path = newPath()
    await can(put(ana.attachments, path))
    const { body: sent } = await send(ana, { url: path })
    expect(await attempts(anonymous.from('attachments'), 'attachments', path)).toEqual(nobody)
    expect(await attempts(stranger.attachments, 'attachments', path)).toEqual(nobody)
    // Before the body has ended.
    await expectOutcome(rowPolicy, stranger.attachments.upload(newPath(), slowly().body, { contentType: 'image/png' }))
    for (const who of [ana, ben]) expect(await attempts(who.attachments, 'attachments', path)).toEqual(reader)
    expect(await statusOf(`${storageUrl}/object/public/attachments/${path}`)).toBe(400)
    expect((await ana.call('DELETE', `/conversations/${conversation}/messages/${sent.id}`)).status).toBe(204)
    for (const who of [ana, ben]) await expectOutcome(notFound, who.attachments.download(path))
  })

  test('who has uploaded a file and not sent it removes it, and nobody else does', async () => {
    const path = newPath()
    await can(put(ana.attachments, path))
    for (const [who, removed] of [[ben, 0], [stranger, 0], [ana, 1]] as const) {
      expect((await who.attachments.remove([path])).data).toHaveLength(removed)
    }
  })

  test('an avatar is added, replaced, renamed and removed by its owner alone, and shown to everybody', async () => {
    const path = ana.newPhoto()
    await can(put(ana.avatars, path))
    const others = { ...nobody, download: 'can' }
    expect(await attempts(anonymous.from('avatars'), 'avatars', path)).toEqual(others)
    expect(await attempts(ben.avatars, 'avatars', path)).toEqual(others)
    expect(await outcome(ana.avatars.move(path, ben.newPhoto()))).not.toBe('can')
    expect(await outcome(ana.avatars.move(path, newPath(), { destinationBucket: 'attachments' }))).not.toBe('can')
    const [renamed, larger] = [ana.newPhoto(), Uint8Array.of(...png, 0)]
    await can(replace(ana.avatars, path, larger))
    expect((await (await fetch(publicUrl(path))).arrayBuffer()).byteLength).toBe(larger.length)
    const owner = { ...reader, replace: 'can', update: 'can', move: true }
    expect(await attempts(ana.avatars, 'avatars', path)).toEqual(owner)
    await can(put(ana.avatars, path))
    await can(ana.avatars.move(path, renamed))
    expect([await statusOf(publicUrl(renamed)), await statusOf(publicUrl(path))]).toEqual([200, 400])
    expect((await ana.avatars.remove([renamed])).data).toMatchObject([{ name: renamed }])
    expect(await statusOf(publicUrl(renamed))).toBe(400)
  })

  test('after a block neither uploads, and both read; after it is lifted both upload', async () => {
    const { ana, ben, newPath, uploads } = await pair()
    const path = newPath()
    await can(put(ana.attachments, path))
    // Supabase's Storage asks when an upload begins, ours also at its end. An eleventh is refused once ten have begun.
    const begun = Array.from({ length: supplied ? 0 : 10 }, slowly)
    const slow = begun.map(({ body }) => outcome(ana.attachments.upload(newPath(), body, { contentType: 'image/png' })))
    if (!supplied) {
      await expect.poll(() => outcome(put(ana.attachments, newPath())), { timeout: 30_000 }).toMatch(/^429/)
    }
    await ben.call('PUT', `/users/me/blocks/${ana.id}`)
    for (const { end } of begun) end()
    expect(await Promise.all(slow)).toEqual(begun.map(() => rowPolicy))
    expect(await uploads()).toEqual([rowPolicy, rowPolicy])
    await can(ana.attachments.download(path), ben.attachments.download(path))
    await ben.call('DELETE', `/users/me/blocks/${ana.id}`)
    expect(await uploads()).toEqual(['can', 'can'])
  })

  test('after an erasure avatars are gone; attachments stay for the partner, who adds no more', async () => {
    const { ana, ben, newPath, uploads } = await pair()
    const [path, photo] = [newPath(), ana.newPhoto()]
    await can(put(ana.attachments, path), put(ana.avatars, photo))
    expect((await ana.call('DELETE', '/users/me')).status).toBe(204)
    expect(await statusOf(publicUrl(photo))).toBe(400)
    await can(ben.attachments.download(path))
    await expectOutcome(notFound, ana.attachments.download(path))
    await expectOutcome(rowPolicy, put(ana.avatars, photo))
    expect(await uploads()).toEqual([rowPolicy, rowPolicy])
  })

  test.runIf(supplied)('an upload in pieces has the same rights, which are checked for each piece', async () => {
    const { ana, ben, newPath } = await pair()
    const path = newPath()
    const tus = { 'Tus-Resumable': '1.0.0', 'Content-Type': 'application/offset+octet-stream' }
    const begin = (who: Person, contentType: string, size: number) => {
      const about = Object.entries({ bucketName: 'attachments', objectName: path, contentType })
        .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`).join()
      return raw('POST', '/upload/resumable', who, { ...tus, 'Upload-Length': `${size}`, 'Upload-Metadata': about })
    }
    expect((await begin(stranger, 'image/png', png.length)).status).toBe(403)
    expect((await begin(ana, 'text/html', png.length)).status).toBe(415)
    expect((await begin(ana, 'image/png', 10_485_761)).status).toBe(413)
    const { location } = (await begin(ana, 'image/png', png.length)).headers
    const upload = new URL(`${location}`).pathname.replace('/storage/v1', '')
    const piece = async (from: number, to: number) =>
      (await raw('PATCH', upload, ana, { ...tus, 'Upload-Offset': `${from}` }, png.subarray(from, to))).status
    expect(await piece(0, 30)).toBe(204)
    await ben.call('PUT', `/users/me/blocks/${ana.id}`)
    expect(await piece(30, png.length)).toBe(403)
    await ben.call('DELETE', `/users/me/blocks/${ana.id}`)
    expect(await piece(30, png.length)).toBe(204)
    expect(await bytesOf(ben.attachments.download(path))).toEqual(png)
  })
})

describe('an attachment', () => {
  test.each(['image/png', 'text/plain', 'application/pdf', 'audio/mpeg', 'video/mp4'])(
    'of type %s is sent and read',
    async (type) => {
      const { ana, ben, newPath, send } = await pair()
      const attachment = { url: newPath(), name: 'größe.png', mime_type: type, size: png.length }
      await can(put(ana.attachments, attachment.url, png, type))
      expect(await send(ana, attachment)).toMatchObject({ status: 201, body: { attachment } })
      expect(await bytesOf(ben.attachments.download(attachment.url))).toEqual(png)
    },
  )

  const names = ['größe.png', '地図.png', '🗺️.jpg', 'map [1].pdf', '~map.png']
  test('of any name is sent, and saved under it', async () => {
    const { ana: sender, conversation } = await pair()
    const client = openClient(origin, sender.token)
    for (const name of [...names, 'map', 'a#b?c%.png', '.png', "it's (1).png"]) {
      const file = new File([png], name, { type: 'image/png' })
      const attachment = attachmentOf(conversation, crypto.randomUUID(), file)
      const path = attachment.url
      await upload(client, { access_token: sender.token }, 'attachments', path, file, {})
      expect(await sender.call('POST', `/conversations/${conversation}/messages`, { attachment }))
        .toMatchObject({ status: 201, body: { attachment } })
      const link = `${await addressOf(client, attachment)}&download=${encodeURIComponent(name)}`
      const disposition = (await fetch(link)).headers.get('Content-Disposition')!
      expect(decodeURIComponent(/^attachment;.*filename\*=UTF-8''([^;]+)/.exec(disposition)![1]!)).toBe(name)
      // By the link of one file nobody gets another.
      expect(await statusOf(link.replace(path, newPath()))).toBe(400)
    }
    // Storage itself refuses many.
    for (const path of names.map((name) => newPath(name))) {
      await expectOutcome(`400 Invalid key: ${path}`, put(ana.attachments, path))
    }
  })

  test('has a type and a size that the bucket allows, and so has an avatar', async () => {
    const { ana, send, newPath } = await pair()
    for (const parameter of ['', ';charset=utf-8', '; charset=utf-8', '; charset=UTF-8']) {
      const url = newPath('file.txt')
      // supabase-js declares UTF-8 for strings.
      const options = parameter ? { contentType: `text/plain${parameter}` } : {}
      await can(ana.attachments.upload(url, 'See you at eight', options))
      expect((await send(ana, { url, mime_type: 'text/plain', size: 16 })).status).toBe(201)
    }
    const path = newPath()
    await can(put(ana.attachments, path, form()))
    expect(await bytesOf(ana.attachments.download(path))).toEqual(png)
    const both = (
      bytes: Uint8Array | Blob,
      type?: string,
    ) => [put(ana.attachments, newPath(), bytes, type), put(ana.avatars, ana.newPhoto(), bytes, type)]
    for (const type of ['text/plain;charset=utf-7', 'text/html', 'text/html;charset=utf-8', 'image/svg+xml', 'x/y']) {
      const refused = `415 mime type ${type} is not supported`
      await expectOutcome(refused, ...both(png, type))
      // Supabase's Storage drops the parameter of a type in a form.
      if (!supplied || !type.includes(';')) await expectOutcome(refused, ...both(form(png, type)))
    }
    const filled = (size: number) => new Uint8Array(size)
    const [large, photo] = [10_485_760, 2_097_152]
    await can(put(ana.attachments, newPath(), filled(large)), put(ana.avatars, ana.newPhoto(), filled(photo)))
    for (const wrap of [filled, (size: number) => form(filled(size))]) {
      const more = [put(ana.attachments, newPath(), wrap(large + 1)), put(ana.avatars, ana.newPhoto(), wrap(photo + 1))]
      await expectOutcome('413 The object exceeded the maximum allowed size', ...more)
    }
  })
})

// The stand-ins for Storage in other tests answer so as well.
test('Storage refuses in these words, and answers a part of a file', async () => {
  const path = newPath()
  const [file, unknown, photo] = [`attachments/${path}`, `attachments/${newPath()}`, `avatars/${ana.newPhoto()}`]
  const get = (path: string, who: Person | null, headers = {}) => raw('GET', `/object/${path}`, who, headers)
  const upload = (who: Person, path: string, content: Uint8Array = png, type = 'image/png') =>
    raw('POST', `/object/${path}`, who, { 'Content-Type': type }, content)
  expect(await upload(ana, file)).toMatchObject({ status: 200, body: { Key: file, Id: expect.any(String) } })
  const answers = {
    exists: [upload(ana, file)],
    notAllowed: [upload(stranger, unknown)],
    wrongType: [upload(ana, unknown, png, 'text/html')],
    tooLarge: [upload(ana, photo, new Uint8Array(2_097_153))],
    notFound: [
      get(`authenticated/${unknown}`, ana),
      get(`authenticated/${file}`, stranger),
      get(`public/${photo}`, null),
    ],
    noBucket: [get(`public/${file}`, null)],
    noRange: [get(`authenticated/${file}`, ana, { Range: 'bytes=4000-4001' })],
  }
  for (const [name, given] of Object.entries(answers)) {
    const { http = 400, body } = refusals[name as keyof typeof answers]
    for (const { status, text } of await Promise.all(given)) expect([status, JSON.parse(text)]).toEqual([http, body])
  }
  const headers = { 'content-range': 'bytes 0-69/70', 'content-type': 'image/png', 'accept-ranges': 'bytes' }
  expect(await get(`authenticated/${file}`, ana, { Range: 'bytes=0-2047' })).toMatchObject({ status: 206, headers })
})

describe('a request', () => {
  const odd = ['a//b', 'a/', 'a%5cb', 'a%00b', 'a%0ab', '%252e%252e/x']
  // The gateway of tests/platform resolves these.
  const dots = supplied ? [] : ['..', '.', '../x', '%2e%2e', '%2e%2e/x', '..%2fx', '/etc/passwd']
  test.each([...odd, ...dots])('for %s below a folder is refused, to the service as well', async (name) => {
    for (const folder of [`attachments/${newPath('')}`, `attachments/${conversation}/`, `avatars/${ana.account}/`]) {
      const { status } = await raw('POST', `/object/${folder}${name}`, ana, image, png)
      expect([folder, status]).toEqual([folder, 400])
    }
    const key = { ...image, apikey: secretKey, Authorization: `Bearer ${secretKey}` }
    for (const method of supplied ? [] : ['GET', 'POST', 'PUT']) {
      expect([method, (await raw(method, `/object/avatars/${name}`, null, key)).status]).toEqual([method, 400])
    }
  })

  test('without a key, with a forged token or with the cookie of the dashboard has no rights', async () => {
    const list = (headers: Record<string, string>) =>
      call('POST', `${storageUrl}/object/list/attachments`, { prefix: `${conversation}` }, { headers })
    expect((await list({})).status).toBe(400)
    const forged = signToken({ alg: 'HS256' }, { role: 'service_role', exp: 4_000_000_000 }, 'another secret')
    expect((await list({ Authorization: `Bearer ${forged}` })).body).toMatchObject({ statusCode: '403' })
    if (supplied) return
    const { headers } = await fetch(dashboard, { redirect: 'manual' })
    expect((await list({ Cookie: headers.getSetCookie()[0]!.split(';')[0]! })).status).toBe(400)
  })
})

// What follows is of our own Storage alone.
describe.skipIf(supplied)('on one machine, a request', () => {
  test('names no other place in a body, and nothing that cannot be stored and found again', async () => {
    const path = ana.newPhoto()
    await can(put(ana.avatars, path))
    const avatars = service.from('avatars')
    for (const name of ['../x.png', `${ana.account}/../x.png`, 'a//b', '/x', 'x/', 'a\\b', 'größe.png', 'a\0b']) {
      await expectOutcome(`400 Invalid key: ${name}`, avatars.move(path, name))
    }
    for (const text of ['a\0b', '\ud800']) {
      await expectOutcome(expect.stringMatching(/^400/), ana.avatars.remove([text]), ana.avatars.list(text))
    }
    const [longest, longer] = [1024, 1025].map((length) => `${ana.account}/`.padEnd(length, 'x')) as [string, string]
    await can(put(ana.avatars, longest))
    expect((await ana.avatars.remove([longest])).data).toHaveLength(1)
    await expectOutcome(`400 Invalid key: ${longer}`, put(ana.avatars, longer))
  })

  test('sets an avatar as the photo of a profile', async () => {
    const image_url = publicUrl(ana.newPhoto())
    expect(await ana.call('PATCH', '/users/profile', { image_url })).toMatchObject({ status: 200 })
    expect((await ana.call('GET', '/users/me')).body.Profile.image_url).toBe(image_url)
    for (const wrong of ['http://10.0.0.1/storage/v1/object/public/avatars/x', image_url.replace('avatars/', 'x/')]) {
      expectError(await ana.call('PATCH', '/users/profile', { image_url: wrong }), 400, 'image_url')
    }
  })

  test('with a long row of spaces in a form holds up nobody', async () => {
    const start = performance.now()
    const headers = { 'Content-Type': 'multipart/form-data; boundary=a' }
    const content = `--a\r\nContent-Type: x${' '.repeat(160_000)}y\r\n\r\n1\r\n--a--`
    expect((await raw('POST', `/object/avatars/${ana.newPhoto()}`, ana, headers, content)).status).toBe(400)
    // Half a minute, growing with the square, where the pattern has the spaces.
    expect(performance.now() - start).toBeLessThan(5000)
  })

  test('does not wait for others who have begun many uploads', async () => {
    const others = [ana, ...await Promise.all(['Cat', 'Dan', 'Eve', 'Fay'].map(person))]
    const answers: string[] = []
    const begun: Promise<void>[] = []
    const ends: (() => void)[] = []
    for (const [index, refused] of [1, 2, 8, 18, 28].entries()) {
      const { avatars, newPhoto } = others[index]!
      for (const { body, end } of Array.from({ length: 11 }, slowly)) {
        ends.push(end)
        begun.push(
          outcome(avatars.upload(newPhoto(), body, { contentType: 'image/png' })).then((answer) => {
            answers.push(answer.slice(0, 3))
          }),
        )
      }
      await until(() => answers.length === refused)
    }
    for (const { avatars, newPhoto } of [ben, stranger]) await can(put(avatars, newPhoto()))
    for (const end of ends) end()
    await Promise.all(begun)
    expect(answers).toEqual([...Array(28).fill('429'), ...Array(27).fill('can')])
  })

  test('can come from every origin, and is told what is not done here', async () => {
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Headers': 'authorization,x-upsert' }
    const asked = { ...preflight, 'Access-Control-Request-Method': 'POST' }
    const { status, headers } = await call('OPTIONS', `${storageUrl}/object/avatars/x`, undefined, { headers: asked })
    expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([204, '*'])
    expect(headers.get('Access-Control-Allow-Headers')).toContain('x-upsert')
    const resized = { transform: { width: 10 } }
    await expectOutcome(
      expect.stringMatching(/^501 Storage has upload, .* on one machine/),
      ...[ana.avatars.download('x', resized), ana.avatars.createSignedUrl('x', 60, resized)],
      ...[ana.avatars.copy('x', 'y'), ana.avatars.createSignedUploadUrl('x'), ana.avatars.info('x')],
      ...[service.createBucket('more'), service.listBuckets()],
    )
    expect((await raw('POST', '/upload/resumable', ana)).status).toBe(501)
    for (const table of ['objects', 'buckets']) {
      const answer = await call('GET', `${origin}/rest/v1/${table}`, undefined, { headers: { apikey: publishableKey } })
      expect(answer.status).toBe(404)
    }
  })

  test('for a part of a file gets it, and nothing if the file has not changed; it is no page', async () => {
    const path = ana.newPhoto()
    await can(put(ana.avatars, path))
    const get = async (headers: Record<string, string>, method = 'GET') => {
      const response = await fetch(publicUrl(path), { headers, method })
      return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
    }
    for (const [range, from, to] of [['0-9', 0, 10], ['10-', 10, 70], ['-5', 65, 70], ['60-999', 60, 70]] as const) {
      const { status, headers, bytes } = await get({ Range: `bytes=${range}` })
      expect([status, headers.get('Content-Range')]).toEqual([206, `bytes ${from}-${to - 1}/${png.length}`])
      expect(bytes).toEqual(png.slice(from, to))
    }
    for (const range of ['70-', '9-3', '-0', '0-1,3-4', 'x']) {
      expect([range, (await get({ Range: `bytes=${range}` })).status]).toEqual([range, 416])
    }
    const { headers } = await get({})
    const [known, other] = [{ 'If-None-Match': `"x", W/${headers.get('ETag')}` }, { 'If-None-Match': '"x"' }]
    const since = { 'If-Modified-Since': headers.get('Last-Modified')! }
    expect([(await get(known)).status, (await get(since)).status]).toEqual([304, 304])
    const part: Record<string, string> = { Range: 'bytes=0-9', 'If-Range': '"another"' }
    for (const asked of [{ ...other, ...since }, part]) expect((await get(asked)).status).toBe(200)
    const head = await get({}, 'HEAD')
    expect([head.headers.get('Content-Length'), head.bytes.length]).toEqual([`${png.length}`, 0])
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    // Pages of other origins show it.
    expect(headers.get('Cross-Origin-Resource-Policy')).toBe(null)
    expect(headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'.*; sandbox$/)
    expect(headers.get('Content-Disposition')).toBe(null)
    await expectOutcome(expect.stringMatching(/^415/), put(service.from('avatars'), 'x.html', '<b>', 'text/html'))
  })

  test('by a signed address gets one file, for its time, and the address is no token', async () => {
    const path = newPath()
    await can(put(ana.attachments, path))
    const tokenFor = async (seconds: number) =>
      new URL((await ana.attachments.createSignedUrl(path, seconds)).data!.signedUrl).searchParams.get('token')!
    const sign = (path: string, token: string) => `/object/sign/attachments/${path}?token=${token}`
    const open = (path: string, token: string) => statusOf(storageUrl + sign(path, token))
    const [token, short] = [await tokenFor(600), await tokenFor(1)]
    expect(await open(path, token)).toBe(200)
    const unsigned = signToken({ alg: 'none' }, claimsOf(token), 'x')
    // The secret of users' tokens signs no address.
    const ours = signToken({ alg: 'HS256' }, { ...claimsOf(token), exp: 4_000_000_000 }, jwtSecret)
    for (const forged of [`${token}x`, ana.token, unsigned, ours]) expect(await open(path, forged)).toBe(400)
    expect(await open(newPath(), token)).toBe(400)
    expect((await call('GET', '/users/me', undefined, { token })).status).toBe(401)
    await expect.poll(() => open(path, short), { timeout: 20_000 }).toBe(400)
  })
})
