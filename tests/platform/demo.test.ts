// The demo page with Supabase's own Storage. Requests for files are forwarded to it, and messages to functions that
// ask it.
/// <reference lib="dom" />
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { hasBrowser, logIn, openDemo, openWith } from '../demo/browser.ts'
import { freePort } from '../tools/ports.ts'
import { samples } from '../tools/samples.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { platform } from '../tools/supabase.ts'
import { makeStorageDatabase } from './databases.ts'
import { openGateway } from './gateway.ts'
import type { Server } from './processes.ts'
import { startStorage, storageFolder } from './storage_server.ts'

const png = Buffer.from(samples['image/png']!['one pixel']!)
const picture = { name: 'größe [1].png', mimeType: 'image/png', buffer: png }

describe.runIf(storageFolder && hasBrowser)('files on the demo page', () => {
  const files = mkdtempSync(join(tmpdir(), 'storage-'))
  let gateway: Awaited<ReturnType<typeof openGateway>>
  let storage: Server, conversations: ServedFunction
  let origin = ''
  const demo = openDemo(async () => {
    const [database, port, stackPort] = [await makeStorageDatabase(), await freePort(), await freePort()]
    storage = await startStorage({ database, port, files }, { AUTH_JWT_SECRET: testKeys.jwtSecret })
    const routes = new Map([['/storage/v1', `http://127.0.0.1:${port}`]])
    gateway = await openGateway(routes)
    origin = gateway.origin
    conversations = await serveFunction('functions/conversations/index.ts', {
      SUPABASE_URL: origin,
      PUBLIC_URL: `http://127.0.0.1:${stackPort}`,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: testKeys.publishableKey }),
      EDGE_DATABASE_URL: platform(database, 'edge_functions'),
      JWT_SECRET: testKeys.jwtSecret,
    })
    routes.set('/functions/v1/conversations', `${conversations.base}/conversations`)
    return { DATABASE_URL: platform(database, 'supabase_admin'), PORT: `${stackPort}` }
  })
  afterAll(async () => {
    conversations?.stop()
    await storage?.stop()
    gateway?.close()
    rmSync(files, { recursive: true })
  })

  const addStorage = async (page: Page) => {
    await page.route('**/demo/config.json', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...await response.json(), storage: true } })
    })
    const forward = (pattern: string) =>
      page.route(pattern, async (route) => {
        const { pathname, search } = new URL(route.request().url())
        await route.fulfill({ response: await route.fetch({ url: `${origin}${pathname}${search}` }) })
      })
    await forward('**/storage/v1/**')
    await forward('**/functions/v1/conversations/*/messages')
    await page.reload()
  }

  test('a picture is sent, seen by both and saved under its own name; a file of another type is not sent', async () => {
    const { page, ines, tomas } = await demo.openSideBySide([400])
    await addStorage(page)
    await logIn(ines)
    await logIn(tomas)
    await openWith(ines, 'Tomáš Novák')
    await openWith(tomas, 'Inês Carvalho')
    await ines.locator('.picker input').setInputFiles(picture)
    await ines.getByRole('textbox', { name: 'Message to' }).fill('The tile that I mean')
    await ines.getByRole('button', { name: 'Send' }).click()
    for (const side of [ines, tomas]) {
      const image = side.locator('.message', { hasText: 'The tile that I mean' }).getByRole('img')
      await image.waitFor()
      await expect.poll(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(1)
      expect(await image.getAttribute('src')).toContain('/storage/v1/object/sign/attachments/')
    }
    const saving = page.waitForEvent('download')
    await tomas.locator('.message', { hasText: 'The tile that I mean' }).locator('button.file').click()
    expect((await saving).suggestedFilename()).toBe(picture.name)

    await ines.locator('.picker input').setInputFiles({ ...picture, buffer: Buffer.from('PK\x03\x04 a ZIP') })
    await ines.getByRole('button', { name: 'Send' }).click()
    await ines.getByText('its content does not match its mime_type').waitFor()
  })

  test('a photo is chosen and shown from Storage', async () => {
    const { page, you } = await demo.open('/demo/me')
    await addStorage(page)
    await logIn(you)
    // The service wants https, which this machine does not have.
    await page.route('**/users/profile', async (route) => {
      const { image_url } = route.request().postDataJSON()
      const response = await route.fetch({ postData: {} })
      const me = await response.json()
      await route.fulfill({ response, json: { ...me, Profile: { ...me.Profile, image_url } } })
    })
    const photo = you.getByRole('region', { name: 'Photo' })
    await photo.locator('input').setInputFiles(picture)
    await photo.getByText('Your photo was changed').waitFor()
    const image = photo.locator('img')
    await expect.poll(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(1)
    expect(await image.getAttribute('src')).toMatch(/\/object\/public\/avatars\/[0-9a-f-]{36}\/[0-9a-f-]{36}\.png$/)
  })
})
