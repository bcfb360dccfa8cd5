// Files, against Supabase's own Storage.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { joined, samples, strangers } from '../tools/samples.ts'
import { outcome, type Person, rowPolicy, useFiles } from './files.ts'
import { storageFolder } from './storage_server.ts'

const png = samples['image/png']!['one pixel']!

describe.runIf(storageFolder)('files', () => {
  const { project, call, client, newPath, fixture, person, put, send } = useFiles()
  let ana: Person, ben: Person, stranger: Person, conversation: number
  beforeAll(() => {
    ;({ ana, ben, stranger, conversation } = fixture)
  })

  test.each(Object.entries(samples).flatMap(([type, files]) => Object.entries(files).map((file) => [type, ...file])))(
    'a file of type %s (%s) is uploaded, sent, and read by the other participant',
    async (type, _, bytes) => {
      const path = newPath()
      const file = bytes as Uint8Array
      expect(await put(ana, path, file, type as string)).toBe('can')
      const { status } = await send(ana, { url: path, name: 'map.png', mime_type: type, size: file.length })
      expect(status).toBe(201)
      const { data } = await ben.attachments.download(path)
      expect(new Uint8Array(await data!.arrayBuffer())).toEqual(Uint8Array.from(file))
    },
  )

  test('a file whose content is of another type, or of another size, is not sent', async () => {
    for (const bytes of Object.values(strangers).slice(0, 3)) {
      const path = newPath()
      expect(await put(ana, path, bytes, 'image/png')).toBe('can')
      const { status, body } = await send(ana, { url: path, name: 'x', mime_type: 'image/png', size: bytes.length })
      expect({ status, body }).toEqual({
        status: 400,
        body: { error: 'attachment: its content does not match its mime_type' },
      })
    }
    const path = newPath()
    await put(ana, path, png, 'image/png')
    const attachment = { url: path, name: 'x', mime_type: 'image/png', size: png.length }
    expect((await send(ana, { ...attachment, size: 1 })).status).toBe(400)
    expect((await send(ana, { ...attachment, mime_type: 'image/jpeg' })).status).toBe(400)
    expect((await send(ben, attachment)).status).toBe(400)
    expect((await send(ana, attachment)).status).toBe(201)
  })

  test('only the first bytes of a large file are read to check it', async () => {
    const path = newPath()
    const large = joined(png, new Uint8Array(5_000_000))
    expect(await put(ana, path, large, 'image/png')).toBe('can')
    const { status } = await send(ana, { url: path, name: 'x', mime_type: 'image/png', size: large.length })
    expect(status).toBe(201)
  })

  test('others cannot upload, read, list, sign or remove', async () => {
    const path = newPath()
    expect(await put(ana, path, png, 'image/png')).toBe('can')
    expect(await put(stranger, newPath(), png, 'image/png')).toBe(rowPolicy)
    expect(await outcome(client().storage.from('attachments').upload(newPath(), png, { contentType: 'image/png' })))
      .toBe(rowPolicy)
    for (const who of [stranger.attachments, client().storage.from('attachments')]) {
      expect(await outcome(who.download(path))).toMatch(/^(400|404) /)
      expect(await outcome(who.createSignedUrl(path, 60))).toBe('404 Object not found')
      expect((await who.list(path.slice(0, -9))).data ?? []).toEqual([])
      expect((await who.remove([path])).data ?? []).toEqual([])
    }
    // Participants read, but files of messages stay.
    expect((await ben.attachments.remove([path])).data).toEqual([])
    expect((await ana.attachments.remove([path])).data).toEqual([])
    expect(await outcome(ana.attachments.upload(path, png, { contentType: 'image/png', upsert: true }))).toBe(rowPolicy)
    expect(await outcome(ana.attachments.move(path, newPath()))).not.toBe('can')
    expect(await outcome(ben.attachments.download(path))).toBe('can')
  })

  test('a participant gets a URL that works without a token; nobody changes what it names', async () => {
    const path = newPath()
    await put(ana, path, png, 'image/png')
    const { data } = await ben.attachments.createSignedUrl(path, 60)
    const name = encodeURIComponent('größe 地図.png')
    const response = await fetch(`${data!.signedUrl}&download=${name}`)
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.from(png))
    expect(response.headers.get('Content-Disposition')).toContain(`filename*=UTF-8''${name}`)
    const other = data!.signedUrl.replace(path, newPath())
    expect((await fetch(other)).status).toBe(400)
    expect((await fetch(`${project.origin}/storage/v1/object/public/attachments/${path}`)).status).toBe(400)
  })

  test.each([
    'größe.png',
    '地図.png',
    '🗺️.jpg',
    'map [1].pdf',
    '~map.png',
    'map',
    'a#b?c%.png',
    '.png',
    "it's (1).png",
  ])(
    'the example of docs/deploy.md sends a file that is called %s',
    async (name) => {
      const [, example] = /^## Files.*?```js\n(.*?)```/ms.exec(readFileSync('docs/deploy.md', 'utf8'))!
      const answers: { status: number; body: { attachment: unknown } }[] = []
      const api = { post: async (path: string, body: object) => answers.push(await call('POST', path, body, ana)) }
      const run = new Function(
        'supabase',
        'api',
        'conversationId',
        'file',
        `return (async () => { ${example}; return { path, link } })()`,
      )
      const file = new File([Uint8Array.from(png)], name, { type: 'image/png' })
      const { path, link } = await run(client(ana.token), api, conversation, file)
      const attachment = { url: path, name, mime_type: 'image/png', size: png.length }
      expect(answers).toMatchObject([{ status: 201, body: { attachment } }])
      const { headers } = await fetch(link)
      expect(headers.get('Content-Disposition')).toMatch(/^attachment;/)
      const [, saved] = /filename\*=UTF-8''([^;]+)/.exec(headers.get('Content-Disposition')!)!
      expect(decodeURIComponent(saved!)).toBe(name)
    },
  )

  test('many ordinary names are refused by Storage as they are', async () => {
    for (const name of ['größe.png', '地図.png', '🗺️.jpg', 'map [1].pdf', '~map.png']) {
      const path = newPath(name)
      expect(await put(ana, path, png, 'image/png')).toBe(`400 Invalid key: ${path}`)
    }
  })

  test('a text may declare UTF-8, as supabase-js does for strings, and nothing else', async () => {
    for (
      const type of [undefined, 'text/plain;charset=utf-8', 'text/plain; charset=utf-8', 'text/plain; charset=UTF-8']
    ) {
      const path = newPath('file.txt')
      expect(await put(ana, path, 'See you at eight', type)).toBe('can')
      const attachment = { url: path, name: 'plan.txt', mime_type: 'text/plain', size: 16 }
      expect(await send(ana, attachment)).toMatchObject({ status: 201, body: { attachment } })
    }
    for (const type of ['text/plain;charset=utf-7', 'text/html', 'text/html;charset=utf-8', 'image/svg+xml', 'x/y']) {
      expect(await put(ana, newPath(), png, type)).toBe(`415 mime type ${type} is not supported`)
    }
  })

  test('a file of 10 MiB is accepted, and one byte more is not', async () => {
    expect(await put(ana, newPath(), joined(png, new Uint8Array(10_485_760 - png.length)), 'image/png')).toBe('can')
    expect(await put(ana, newPath(), joined(png, new Uint8Array(10_485_761 - png.length)), 'image/png'))
      .toBe('413 The object exceeded the maximum allowed size')
  })

  test('after a block neither of both uploads', async () => {
    const [cat, dan] = [await person('Cat'), await person('Dan')]
    const { body: { id } } = await call('POST', '/conversations', { other_user_id: dan.id }, cat)
    const path = () => `${id}/${crypto.randomUUID()}/file.png`
    expect([await put(cat, path(), png, 'image/png'), await put(dan, path(), png, 'image/png')]).toEqual(['can', 'can'])
    await call('PUT', `/users/me/blocks/${dan.id}`, undefined, cat)
    expect([await put(cat, path(), png, 'image/png'), await put(dan, path(), png, 'image/png')])
      .toEqual([rowPolicy, rowPolicy])
  })

  describe('avatars', () => {
    const picture = { contentType: 'image/png' }
    const publicStatus = async (path: string): Promise<number> => {
      const response = await fetch(`${project.origin}/storage/v1/object/public/avatars/${path}`)
      await response.body?.cancel()
      return response.status
    }

    test('are added, replaced and removed by their owner, and shown to everybody', async () => {
      const path = `${ana.account}/me.png`
      expect(await outcome(ana.avatars.upload(path, png, picture))).toBe('can')
      expect(await publicStatus(path)).toBe(200)
      expect(await outcome(ana.avatars.upload(path, png, picture))).toBe('409 The resource already exists')
      const other = joined(png, new Uint8Array(10))
      expect(await outcome(ana.avatars.upload(path, other, { ...picture, upsert: true }))).toBe('can')
      expect(await outcome(ana.avatars.update(path, other, picture))).toBe('can')
      const { data } = await ana.avatars.download(path)
      expect(data!.size).toBe(other.length)
      expect((await ana.avatars.remove([path])).data).toMatchObject([{ name: path }])
      expect(await publicStatus(path)).toBe(400)
    })

    test('of another person cannot be added, replaced, moved or removed', async () => {
      const path = `${ana.account}/mine.png`
      expect(await outcome(ana.avatars.upload(path, png, picture))).toBe('can')
      const upsert = { ...picture, upsert: true }
      expect(await outcome(ben.avatars.upload(path, png, upsert))).toBe(rowPolicy)
      expect(await outcome(ben.avatars.upload(`${ana.account}/new.png`, png, picture))).toBe(rowPolicy)
      expect(await outcome(ben.avatars.move(path, `${ben.account}/mine.png`))).not.toBe('can')
      expect(await outcome(ana.avatars.move(path, `${ben.account}/mine.png`))).not.toBe('can')
      expect(await outcome(ana.avatars.move(path, newPath(), { destinationBucket: 'attachments' }))).not.toBe('can')
      expect((await ben.avatars.remove([path])).data).toEqual([])
      expect(await outcome(ana.avatars.upload(`${ana.account}/me.svg`, '<svg/>', { contentType: 'image/svg+xml' })))
        .toBe('415 mime type image/svg+xml is not supported')
      expect(await publicStatus(path)).toBe(200)
    })

    test('are removed when their owner erases the account', async () => {
      const eva = await person('Eva')
      const paths = ['me.png', 'me too.png'].map((name) => `${eva.account}/${name}`)
      for (const path of paths) await eva.avatars.upload(path, png, picture)
      expect((await call('DELETE', '/users/me', undefined, eva)).status).toBe(204)
      expect(await project.sql`select name from storage.objects where owner_id = ${eva.account}`).toEqual([])
      for (const path of paths) expect(await publicStatus(path)).toBe(400)
    })
  })
})
