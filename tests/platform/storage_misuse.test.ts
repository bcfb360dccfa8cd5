// What Storage offers besides uploads, downloads and removals, who may use it, and what stays of files.
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { beforeAll, describe, expect, test } from 'vitest'
import { openProject } from '../../scripts/doctor/project.mjs'
import { storageChecks } from '../../scripts/doctor/storage.mjs'
import { joined, samples } from '../tools/samples.ts'
import { type Answer, json, outcome, type Person, rowPolicy, useFiles } from './files.ts'
import { publishableKey, secretKey } from './keys.ts'
import { storageFolder } from './storage_server.ts'

const png = samples['image/png']!['one pixel']!
const picture = { contentType: 'image/png' }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe.runIf(storageFolder)('files', () => {
  const { project, call, client, fixture, person, talk, newPath, put, send, ask, upload } = useFiles()
  let ana: Person, ben: Person, stranger: Person
  beforeAll(() => {
    ;({ ana, ben, stranger } = fixture)
  })

  const copy = async (who: Person, what: object): Promise<string> => {
    const { status, body } = await ask('POST', '/object/copy', who, JSON.stringify(what), json)
    return status === 200 ? 'can' : `${JSON.parse(body).statusCode} ${JSON.parse(body).message}`
  }
  /** Files on the disk of Storage below this path; each version of a file is one. */
  const stored = (path: string): string[] =>
    readdirSync(project.files, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.includes(path)).map(({ name }) => name)
  const publicStatus = async (path: string) => (await ask('GET', `/object/public/avatars/${path}`)).status

  test('are not copied, not even by who may read and write both, nor to another type or bucket', async () => {
    const path = newPath()
    await put(ana, path, png, 'image/png')
    await ana.avatars.upload(`${ana.account}/original.png`, png, picture)
    const source = { bucketId: 'attachments', sourceKey: path }
    const svg = { copyMetadata: false, metadata: { mimetype: 'image/svg+xml' } }
    const avatar = { destinationBucket: 'avatars', destinationKey: `${ana.account}/copy.png` }
    expect(await copy(ana, { ...source, destinationKey: newPath() })).toBe(rowPolicy)
    expect(await copy(ben, { ...source, destinationKey: newPath() })).toBe(rowPolicy)
    expect(await copy(ana, { ...source, destinationKey: newPath(), ...svg })).toBe(rowPolicy)
    expect(await copy(ana, { ...source, ...avatar })).toBe(rowPolicy)
    expect(await copy(ana, { ...source, ...avatar, ...svg })).toBe(rowPolicy)
    const own = { bucketId: 'avatars', sourceKey: `${ana.account}/original.png` }
    expect(await copy(ana, { ...own, ...avatar, ...svg })).toBe(rowPolicy)
    const upsert = { ...json, 'x-upsert': 'true' }
    const onto = { ...own, destinationKey: own.sourceKey, ...svg }
    expect((await ask('POST', '/object/copy', ana, JSON.stringify(onto), upsert)).body).toContain('row-level security')
    expect(await publicStatus(`${ana.account}/copy.png`)).toBe(400)
    // Renaming one's avatar changes neither type nor bucket.
    expect(await outcome(ana.avatars.move(own.sourceKey, `${ana.account}/renamed.png`))).toBe('can')
  })

  test('have no signed URLs for uploads, which would outlast blocks and quotas', async () => {
    expect(await outcome(ana.attachments.createSignedUploadUrl(newPath()))).toBe(rowPolicy)
    expect(await outcome(ana.avatars.createSignedUploadUrl(`${ana.account}/x.png`))).toBe(rowPolicy)
    expect(await outcome(ana.avatars.createSignedUploadUrl(`${ana.account}/x.png`, { upsert: true }))).toBe(rowPolicy)
  })

  test('are uploaded in pieces by the same rights, which are checked for each piece', async () => {
    const [eva, leo] = [await person('Eva'), await person('Leo')]
    const conversation = await talk(eva, leo)
    const begin = (who: Person, path: string, type: string, size: number) =>
      ask('POST', '/upload/resumable', who, undefined, {
        'Tus-Resumable': '1.0.0',
        'Upload-Length': size,
        'Upload-Metadata': `bucketName ${base64('attachments')},objectName ${base64(path)},contentType ${base64(type)}`,
      })
    const path = newPath('big.png', conversation)
    expect((await begin(ana, path, 'image/png', png.length)).status).toBe(403)
    expect((await begin(eva, path, 'text/html', png.length)).status).toBe(415)
    expect((await begin(eva, path, 'image/png', 10_485_761)).status).toBe(413)
    const begun = await begin(eva, path, 'image/png', png.length)
    expect(begun.status).toBe(201)
    const { pathname } = new URL(String(begun.headers.location))
    const piece = (from: number, to: number) =>
      ask('PATCH', pathname, eva, png.subarray(from, to), {
        'Tus-Resumable': '1.0.0',
        'Upload-Offset': from,
        'Content-Type': 'application/offset+octet-stream',
      })
    expect((await piece(0, 30)).status).toBe(204)
    await call('PUT', `/users/me/blocks/${eva.id}`, undefined, leo)
    expect((await piece(30, png.length)).status).toBe(403)
    await call('DELETE', `/users/me/blocks/${eva.id}`, undefined, leo)
    expect((await piece(30, png.length)).status).toBe(204)
    const { data } = await leo.attachments.download(path)
    expect(new Uint8Array(await data!.arrayBuffer())).toEqual(Uint8Array.from(png))
  })

  test.each([
    '..',
    '.',
    '../x.png',
    '%2e%2e',
    '%2e%2e%2fx.png',
    'a//b.png',
    'a/',
    'a%5Cb.png',
    'a%00b.png',
    'a%0Ab.png',
  ])(
    'have no path with %s below their folder',
    async (name) => {
      const folders = [`attachments/${newPath('')}`.slice(0, -1), `avatars/${ana.account}`]
      for (const folder of [...folders, `attachments/${fixture.conversation}`]) {
        expect((await upload(ana, `${folder}/${name}`, png)).status).toBe(400)
      }
    },
  )

  test('stay readable after a block, and are closed to suspended people', async () => {
    const [eva, leo] = [await person('Eva'), await person('Leo')]
    const path = newPath('file.png', await talk(eva, leo))
    const avatar = `${leo.account}/me.png`
    await put(eva, path, png, 'image/png')
    await leo.avatars.upload(avatar, png, picture)
    await call('PUT', `/users/me/blocks/${leo.id}`, undefined, eva)
    expect(await outcome(leo.attachments.download(path))).toBe('can')
    const { data } = await leo.attachments.createSignedUrl(path, 600)
    await call('DELETE', `/users/me/blocks/${leo.id}`, undefined, eva)
    await project.sql`select restrict_person(${leo.id}, 'suspend', 'Test')`
    expect(await outcome(leo.attachments.download(path))).toBe('404 Object not found')
    expect(await outcome(leo.attachments.createSignedUrl(path, 600))).toBe('404 Object not found')
    expect((await leo.attachments.list(path.split('/')[0])).data).toEqual([])
    expect(await put(leo, path.replace('file', 'other'), png, 'image/png')).toBe(rowPolicy)
    expect(await outcome(leo.avatars.upload(`${leo.account}/new.png`, png, picture))).toBe(rowPolicy)
    expect(await outcome(leo.avatars.upload(avatar, png, { ...picture, upsert: true }))).toBe(rowPolicy)
    // What was given before holds until its time is over.
    expect((await fetch(data!.signedUrl)).status).toBe(200)
    expect(await publicStatus(avatar)).toBe(200)
    expect(await outcome(eva.attachments.download(path))).toBe('can')
  })

  test('of an erased person: avatars are gone with their bytes, attachments stay for the partner', async () => {
    const [eva, leo] = [await person('Eva'), await person('Leo')]
    const path = newPath('file.png', await talk(eva, leo))
    const avatar = `${eva.account}/me.png`
    await put(eva, path, png, 'image/png')
    await eva.avatars.upload(avatar, png, picture)
    await eva.avatars.upload(avatar, joined(png, png), { ...picture, upsert: true })
    // A replaced file leaves nothing.
    expect([stored(eva.account).length, stored(path).length]).toEqual([1, 1])
    expect((await call('DELETE', '/users/me', undefined, eva)).status).toBe(204)
    expect([stored(eva.account).length, stored(path).length]).toEqual([0, 1])
    expect(await publicStatus(avatar)).toBe(400)
    expect(await outcome(leo.attachments.download(path))).toBe('can')
    expect(await outcome(eva.attachments.download(path))).toBe('404 Object not found')
    expect(await outcome(eva.avatars.upload(avatar, png, picture))).toBe(rowPolicy)
    expect(await put(leo, path.replace('file', 'other'), png, 'image/png')).toBe(rowPolicy)
  })

  test('of a person whom an admin erases stay until they are removed with the secret key', async () => {
    const eva = await person('Eva')
    const avatar = `${eva.account}/me.png`
    await eva.avatars.upload(avatar, png, picture)
    await project.sql`select erase_person(${eva.id}, 'Test')`
    const [, query] = /^### 8\. .*?```sql\n(.*?)```/ms.exec(readFileSync('docs/runbook.md', 'utf8'))!
    const leftBehind = (await project.sql.unsafe(query!)).map(({ name }) => name as string)
    expect(leftBehind).toContain(avatar)
    await expect(project.sql`delete from storage.objects where name = ${avatar}`).rejects.toMatchObject({
      code: '42501',
    })
    const service = { ...json, apikey: secretKey, authorization: `Bearer ${secretKey}` }
    const { body } = await ask(
      'DELETE',
      '/object/avatars',
      undefined,
      JSON.stringify({ prefixes: leftBehind }),
      service,
    )
    expect(JSON.parse(body)).toContainEqual(expect.objectContaining({ name: avatar }))
    expect(await project.sql.unsafe(query!)).toEqual([])
    expect([stored(eva.account), await publicStatus(avatar)]).toEqual([[], 400])
  })

  test('that were uploaded and not sent are found by the query of the runbook', async () => {
    const paths = [newPath(), newPath(), newPath()]
    for (const path of paths) expect(await put(ana, path, png, 'image/png')).toBe('can')
    const attachment = { url: paths[0]!, name: 'x', mime_type: 'image/png', size: png.length }
    await send(ana, attachment)
    await send(ana, { ...attachment, url: `attachments/${paths[1]}` })
    const [, query] = /Files that were uploaded and never sent.*?```sql\n(.*?)```/ms.exec(
      readFileSync('docs/runbook.md', 'utf8'),
    )!
    const found = async () =>
      (await project.sql.unsafe(query!)).map(({ name }) => name as string).filter((name) => paths.includes(name))
    expect(await found()).toEqual([])
    await project.sql`update storage.objects set created_at = now() - interval '2 days' where name in ${
      project.sql(paths)
    }`
    expect(await found()).toEqual([paths[2]])
  })

  // docs/security.md calls this an open issue: once it fails, Storage has closed it.
  test('can be replaced after they were sent, by an upload that their owner began before', async () => {
    const path = newPath()
    const other = joined(png, png)
    let sendRest = () => {}
    const slow = new Promise<Answer>((resolve, reject) => {
      const headers = { apikey: publishableKey, authorization: `Bearer ${ana.token}`, 'Content-Type': 'image/png' }
      const options = { method: 'POST', path: `/storage/v1/object/attachments/${path}` }
      const sent = request(
        project.origin,
        { ...options, headers: { ...headers, 'Content-Length': other.length } },
        (answer) => resolve({ status: answer.resume().statusCode!, headers: answer.headers, body: '' }),
      )
      sent.on('error', reject).write(other.subarray(0, 10))
      sendRest = () => sent.end(other.subarray(10))
    })
    // Storage has asked for rights once the first bytes are on its disk.
    await expect.poll(() => stored(path).length).toBe(1)
    expect(await put(ana, path, png, 'image/png')).toBe('can')
    expect((await send(ana, { url: path, name: 'x', mime_type: 'image/png', size: png.length })).status).toBe(201)
    sendRest()
    expect((await slow).status).toBe(200)
    expect((await ben.attachments.download(path)).data!.size).toBe(other.length)
  })

  test('are in order for the doctor', async () => {
    const check = storageChecks[0]![1] as (of: object) => Promise<string>
    const doctored = openProject({ url: new URL(project.origin), publishableKey, secretKey, timeout: 10_000 })
    for (let times = 0; times < 10; times++) {
      expect(await check(doctored)).toBe('attachments are private, avatars public')
    }
    await project.sql`update storage.buckets set public = true where id = 'attachments'`
    await expect(check(doctored)).rejects.toThrow('attachments may be public')
    await project.sql`update storage.buckets set public = id = 'avatars'`
  })

  test('are listed by participants alone, and by nobody without a token', async () => {
    const path = newPath()
    await put(ana, path, png, 'image/png')
    const folder = path.slice(0, -'/file.png'.length)
    const names = async (files: Person['attachments']) => (await files.list(folder)).data!.map(({ name }) => name)
    expect([await names(ana.attachments), await names(ben.attachments)]).toEqual([['file.png'], ['file.png']])
    expect([await names(stranger.attachments), await names(client().storage.from('attachments'))]).toEqual([[], []])
    expect((await ben.avatars.list(ana.account)).data).toEqual([])
    expect((await ben.attachments.createSignedUrls([path], 60)).data).toMatchObject([{ error: null }])
    expect((await stranger.attachments.createSignedUrls([path], 60)).data).toMatchObject([{ signedUrl: null }])
  })
})
