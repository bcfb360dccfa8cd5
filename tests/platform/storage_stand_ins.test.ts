// The stand-ins for Storage in the other tests answer as Storage does, and the stub of its schema is like its own.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { joined, samples } from '../tools/samples.ts'
import { type StorageRefusal, storageRefusals } from '../tools/storage_answers.ts'
import { type Answer, json, type Person, useFiles } from './files.ts'
import { storageFolder } from './storage_server.ts'

const png = samples['image/png']!['one pixel']!

describe.runIf(storageFolder)('Storage', () => {
  const { project, fixture, newPath, send, ask, upload } = useFiles()
  let ana: Person, stranger: Person
  beforeAll(() => {
    ;({ ana, stranger } = fixture)
  })

  test('refuses files in the words of the stand-ins', async () => {
    const path = newPath()
    const [file, unknown] = [`attachments/${path}`, `attachments/${newPath()}`]
    const { status, body } = await upload(ana, file, png)
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: { Key: file, Id: expect.any(String) } })
    const { notFound, noBucket, notAllowed, exists, tooLarge, wrongType, noRange } = storageRefusals
    const answers: [StorageRefusal, Promise<Answer>][] = [
      [exists, upload(ana, file, png)],
      [notAllowed, upload(stranger, unknown, png)],
      [notAllowed, upload(stranger, `avatars/${ana.account}/x.png`, png)],
      [wrongType, upload(ana, unknown, png, 'text/html')],
      [tooLarge, upload(ana, unknown, joined(png, new Uint8Array(10_485_761)))],
      [tooLarge, upload(ana, `avatars/${ana.account}/x.png`, joined(png, new Uint8Array(2_097_152)))],
      [notFound, ask('GET', `/object/authenticated/${unknown}`, ana)],
      [notFound, ask('GET', `/object/authenticated/${file}`, stranger)],
      [notFound, ask('POST', `/object/sign/${file}`, stranger, '{"expiresIn": 60}', json)],
      [notFound, ask('GET', `/object/public/avatars/${ana.account}/x.png`)],
      [noBucket, ask('GET', `/object/public/${file}`)],
      [noRange, ask('GET', `/object/authenticated/${file}`, ana, undefined, { Range: 'bytes=4000-4001' })],
    ]
    for (const [{ http = 400, body }, answer] of answers) {
      const given = await answer
      expect({ status: given.status, body: JSON.parse(given.body) }).toEqual({ status: http, body })
    }
    const part = await ask('GET', `/object/authenticated/${file}`, ana, undefined, { Range: 'bytes=0-2047' })
    expect(part).toMatchObject({
      status: 206,
      headers: {
        'content-range': `bytes 0-${png.length - 1}/${png.length}`,
        'content-type': 'image/png',
        'accept-ranges': 'bytes',
      },
    })
    // One that does not exist is the sender's error, not one of Storage.
    const attachment = { url: unknown, name: 'x', mime_type: 'image/png', size: png.length }
    expect((await send(ana, attachment)).status).toBe(400)
  })

  test('has the tables and functions of the stub', async () => {
    const stub = readFileSync('supabase/local/platform_storage.sql', 'utf8')
    const describeSchema = `
      select 'column ' || concat_ws(' ', table_name, column_name, data_type, is_generated) as line
      from information_schema.columns where table_schema = 'storage'
      union all
      select 'function ' || oid::regprocedure || ' ' || prorettype::regtype || ' ' || provolatile::text
      from pg_proc where pronamespace = 'storage'::regnamespace
      union all
      select 'trigger ' || pg_get_triggerdef(oid)
      from pg_trigger where tgrelid::regclass::text ~ '^storage' and not tgisinternal
      union all
      select 'index ' || indexdef from pg_indexes where schemaname = 'storage' and indexname ~ '^idx'
      union all
      select format('folder of %L: %L %L', name, storage.foldername(name), storage.filename(name))
      from unnest(array['a/b/c', 'a', '', 'a//b', '/a', 'a/', null]) as name`
    const [real, imitated] = await project.sql.begin(async (sql) => {
      const lines = async () => (await sql.unsafe(describeSchema)).map(({ line }) => line as string)
      const before = await lines()
      await sql.unsafe(`alter schema storage rename to before; ${stub}`)
      const after = await lines()
      await sql.unsafe('drop schema storage cascade; alter schema before rename to storage')
      return [before, after]
    })
    expect(imitated.filter((line) => !real.includes(line))).toEqual([])
    expect(imitated.length).toBeGreaterThan(30)
  })
})
