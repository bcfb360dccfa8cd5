/// <reference lib="dom" />
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type StorageRefusal, storageRefusals } from '../tools/storage_answers.ts'
import { choose, type Demo, expectSoon, logIn, onDesktop, openWith, toList } from './browser.ts'

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const picture = { name: 'größe [1].png', mimeType: 'image/png', buffer: pixel }

/** Picks a PNG of so many bytes, which is made in the page: sending it there takes seconds. */
const pickLarge = (input: Locator, bytes: number) =>
  input.evaluate((node, bytes) => {
    const picked = new DataTransfer()
    picked.items.add(new File([new Uint8Array(bytes)], 'large.png', { type: 'image/png' }))
    const input = node as HTMLInputElement
    input.files = picked.files
    input.dispatchEvent(new Event('change', { bubbles: true }))
  }, bytes)

/** Holds each upload until `release`, and refuses the first ones in its place. The others go to Storage. */
const holdUploads = async (page: Page, refusals: StorageRefusal[]) => {
  const uploads: { path: string; type: string }[] = []
  let release = () => {}
  await page.route('**/storage/v1/object/**', async (route) => {
    const request = route.request()
    const path = new URL(request.url()).pathname.replace('/storage/v1/object/', '')
    if (request.method() !== 'POST' || path.startsWith('sign/')) return route.continue()
    uploads.push({ path, type: request.headers()['content-type']! })
    await new Promise<void>((resolve) => release = resolve)
    const refusal = refusals[uploads.length - 1]
    await (refusal ? route.fulfill({ status: refusal.http ?? 400, json: refusal.body }) : route.continue())
  })
  return { uploads, release: () => release() }
}

/** Whether a picture has arrived, and not only its frame. */
const isShown = (image: Locator, width = 1) =>
  expectSoon(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(width)

export const files = ({ open, openOne, base }: Demo) =>
  describe('files on the demo page', () => {
    const openWithStorage = async (path: string, refusals: StorageRefusal[]) => {
      const { page, you } = await open(path, refusals.map(({ http = 400 }) => http))
      const storage = await holdUploads(page, refusals)
      await logIn(you)
      return { page, you, storage }
    }

    test('a file is refused in plain words, uploaded, kept when that fails, sent and shown', async () => {
      const { page, you, storage } = await openWithStorage('/demo/c/1', [storageRefusals.timeOut])
      await you.locator('.message').first().waitFor()
      const pick = (file: typeof picture) => you.locator('.picker input').setInputFiles(file)
      const alert = you.locator('.picker').getByRole('alert')
      const text = you.getByRole('textbox', { name: 'Message to' })
      await text.fill('The tile that I mean')
      expect(await you.getByRole('button', { name: 'Attach a file' }).isVisible()).toBe(true)
      await pick({ name: 'setup.exe', mimeType: 'application/x-msdownload', buffer: pixel })
      await alert.filter({ hasText: '“setup.exe” is of another kind' }).waitFor()
      await pickLarge(you.locator('.picker input'), 10 * 2 ** 20 + 1)
      await alert.filter({ hasText: 'and at most 10.5 MB can be sent' }).waitFor()
      expect(await text.inputValue()).toBe('The tile that I mean')

      await pick(picture)
      const picked = you.locator('.picked', { hasText: 'größe [1].png' })
      await picked.locator('canvas').waitFor()
      await page.keyboard.press('Enter')
      await you.getByRole('progressbar', { name: 'Upload' }).waitFor()
      await expectSoon(() => storage.uploads.length).toBe(1)
      storage.release()
      await alert.filter({ hasText: 'The file could not be stored. Please try again.' }).waitFor()
      expect(await text.inputValue()).toBe('The tile that I mean')
      expect(await you.locator('.picked').isVisible()).toBe(true)

      await alert.getByRole('button', { name: 'Try again' }).click()
      await expectSoon(() => storage.uploads.length).toBe(2)
      expect(await alert.isVisible()).toBe(false)
      storage.release()
      const sent = you.locator('.message:not(.outgoing)', { hasText: 'The tile that I mean' })
      await isShown(sent.getByRole('img', { name: 'größe [1].png' }))
      expect(await sent.locator('.file').textContent()).toMatch(/größe \[1\]\.png70 ?byte/)
      expect(storage.uploads[1]).toEqual({
        path: expect.stringMatching(/^attachments\/1\/[0-9a-f-]{36}\/file\.png$/),
        type: 'image/png',
      })
      const saving = page.waitForEvent('download')
      await sent.locator('button.file').click()
      expect((await saving).suggestedFilename()).toBe('größe [1].png')
      await expectSoon(() => text.inputValue()).toBe('')
      await you.locator('.picked').waitFor({ state: 'hidden' })
    })

    test('the partners have faces without a request, and who is blocked has none', async () => {
      const { page, you } = await open('/demo')
      const asked: string[] = []
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url())
        const q = pathname.endsWith('/users/search') && searchParams.get('q')
        if (q) asked.push(q)
      })
      await logIn(you)
      const entry = (name: string) => you.locator('.entry', { hasText: name })
      await isShown(entry('Tomáš Novák').locator('.avatar img'), 192)
      await toList(you)
      await isShown(you.locator('.bar .face img'), 192)
      await openWith(you, 'Tomáš Novák')
      await isShown(you.locator('.chat-bar .face img'), 192)
      await you.getByRole('button', { name: 'Tomáš Novák' }).click()
      await isShown(you.locator('.portrait img'), 192)
      await page.goBack()
      await isShown(you.locator('.chat-bar .face img'), 192)
      expect(asked).toEqual([])

      await choose(you, 'Block…')
      await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
      await you.locator('.chat-bar .face img').waitFor({ state: 'detached' })
      await page.goto(new URL('/demo', base()).href)
      await expectSoon(() => entry('Tomáš Novák').locator('.avatar').count()).toBe(1)
      await expectSoon(() => you.locator('.entry .avatar img').count()).toBeGreaterThan(0)
      expect(await entry('Tomáš Novák').locator('.avatar img').count()).toBe(0)
      await page.goto(new URL('/demo/me', base()).href)
      await you.getByRole('button', { name: 'Unblock Tomáš Novák' }).click()
      await you.getByText('Tomáš Novák is not blocked any more.').waitFor()
    })

    onDesktop('the portrait of the demo data is shown; a photo elsewhere is not loaded', async () => {
      const { page, you } = await openOne('/demo/me')
      await isShown(you.getByRole('region', { name: 'Photo' }).locator('img'), 192)
      const patched = await page.evaluate(async () => {
        const json = { 'Content-Type': 'application/json' }
        const send = async (method: string, path: string, body: object, headers = {}) =>
          await (await fetch(`/functions/v1/${path}`, {
            method,
            headers: { ...json, ...headers },
            body: JSON.stringify(body),
          })).json()
        const account = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
        const { access_token } = await send('POST', 'auth/login', account)
        const photo = { image_url: 'https://images.example.com/ines.jpg' }
        return await send('PATCH', 'users/profile', photo, { Authorization: `Bearer ${access_token}` })
      })
      expect(patched.Profile.image_url).toBe('https://images.example.com/ines.jpg')
      await page.reload()
      await you.getByRole('button', { name: 'Choose a photo' }).waitFor()
      expect(await you.getByRole('region', { name: 'Photo' }).locator('img').count()).toBe(0)
    })

    test('a photo is cut out of a picture by dragging, by keys and by zooming, of at most 512 pixels', async () => {
      const { page, you } = await openOne('/demo/me')
      const photo = you.getByRole('region', { name: 'Photo' })
      await photo.getByRole('button', { name: 'Choose a photo' }).waitFor()
      // The left half is red, the right half is blue, and one third lies outside of the square at first.
      await photo.locator('input').evaluate(async (node: HTMLInputElement) => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 1800, height: 1200 })
        const context = canvas.getContext('2d')!
        for (const [x, color] of [[0, '#f00'], [900, '#00f']] as const) {
          context.fillStyle = color
          context.fillRect(x, 0, 900, 1200)
        }
        const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve))
        const picked = new DataTransfer()
        picked.items.add(new File([blob!], 'halves.png', { type: 'image/png' }))
        node.files = picked.files
        node.dispatchEvent(new Event('change', { bubbles: true }))
      })
      const dialog = page.getByRole('dialog', { name: 'Your photo' })
      const part = dialog.getByRole('application')
      /** The part of the width that is red. */
      const red = () =>
        part.evaluate((canvas: HTMLCanvasElement) => {
          const copy = Object.assign(document.createElement('canvas'), { width: 512, height: 1 })
          const context = copy.getContext('2d', { willReadFrequently: true })!
          context.drawImage(canvas, 0, -256)
          const { data } = context.getImageData(0, 0, 512, 1)
          return Array.from({ length: 512 }, (_, x) => data[4 * x]! > 128).filter(Boolean).length / 512
        })
      await expectSoon(red).toBeCloseTo(0.5, 2)
      await part.focus()
      for (let step = 0; step < 2; step++) await page.keyboard.press('ArrowLeft')
      expect(await red()).toBeCloseTo(0.6, 2)
      await page.keyboard.press('Tab')
      await page.keyboard.press('End')
      expect(await red()).toBeCloseTo(0.9, 2)
      const { x, y, width } = (await part.boundingBox())!
      await page.mouse.move(x + 0.8 * width, y + width / 2)
      await page.mouse.down()
      await page.mouse.move(x + 0.3 * width, y + width / 2, { steps: 5 })
      await page.mouse.up()
      expect(await red()).toBeCloseTo(0.4, 1)
      await dialog.getByRole('button', { name: 'Use this photo' }).click()
      await photo.getByText('Your photo was changed.').waitFor()
      await isShown(photo.locator('img'), 512)
    })

    onDesktop('a photo of another kind or size is refused, and the old one stays; a good one is shown', async () => {
      const { timeOut, tooLarge, wrongType, notAllowed } = storageRefusals
      const { page, you, storage } = await openWithStorage('/demo/me', [timeOut, tooLarge, wrongType, notAllowed])
      const photo = you.getByRole('region', { name: 'Photo' })
      const pick = (file: typeof picture) => photo.locator('input').setInputFiles(file)
      await photo.getByRole('button', { name: 'Choose a photo' }).waitFor()
      await pick({ name: 'me.gif', mimeType: 'image/gif', buffer: pixel })
      await photo.getByRole('alert').filter({ hasText: 'JPEG, PNG and WebP pictures can be sent' }).waitFor()
      await pickLarge(photo.locator('input'), 20 * 2 ** 20 + 1)
      await photo.getByRole('alert').filter({ hasText: 'at most 21 MB' }).waitFor()
      await pickLarge(photo.locator('input'), 1000)
      await photo.getByRole('alert').filter({ hasText: '“large.png” cannot be read as a picture' }).waitFor()
      expect(storage.uploads).toEqual([])

      await pick(picture)
      const dialog = page.getByRole('dialog', { name: 'Your photo' })

      for (
        const text of [
          'The file could not be stored. Please try again.',
          'The file is too large.',
          'Files of this kind cannot be sent.',
          'You cannot add files here (any more).',
          'Your photo was changed',
        ]
      ) {
        const before = storage.uploads.length
        await dialog.getByRole('button', { name: 'Use this photo' }).click()
        await expectSoon(() => storage.uploads.length).toBe(before + 1)
        await dialog.getByRole('progressbar', { name: 'Upload' }).waitFor()
        storage.release()
        await dialog.or(photo).getByText(text).waitFor()
      }
      const { path } = storage.uploads.at(-1)!
      expect(path).toMatch(/^avatars\/[0-9a-f-]{36}\/[0-9a-f-]{36}\.jpg$/)
      expect(storage.uploads.at(-1)!.type).toBe('image/jpeg')
      await dialog.waitFor({ state: 'hidden' })
      await isShown(photo.locator('img'))
      await isShown(you.locator('.bar .face img'))
      await page.reload()
      await isShown(photo.locator('img'))
      expect(await photo.locator('img').getAttribute('src')).toContain(`/object/public/${path}`)
    })
  })
