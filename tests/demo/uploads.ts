/// <reference lib="dom" />
import type { Locator, Page } from 'playwright-core'

export const picture = {
  name: 'größe [1].png',
  mimeType: 'image/png',
  buffer: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
}

/** Picks a PNG of so many bytes, which is made in the page: sending it there takes seconds. */
export const pickLarge = (input: Locator, bytes: number): Promise<void> =>
  input.evaluate((node: HTMLInputElement, bytes) => {
    const picked = new DataTransfer()
    picked.items.add(new File([new Uint8Array(bytes)], 'large.png', { type: 'image/png' }))
    node.files = picked.files
    node.dispatchEvent(new Event('change', { bubbles: true }))
  }, bytes)

/** Holds each upload until `release`, and refuses the first ones in its place. The others go to Storage. */
export const holdUploads = async (page: Page, refusals: { http?: number; body: object }[]) => {
  const uploads: { path: string; type: string }[] = []
  let release = () => {}
  await page.route('**/storage/v1/object/**', async (route) => {
    const request = route.request()
    const path = new URL(request.url()).pathname.replace('/storage/v1/object/', '')
    if (request.method() !== 'POST' || path.startsWith('sign/')) return route.continue()
    const refusal = refusals[uploads.length]
    uploads.push({ path, type: request.headers()['content-type']! })
    await new Promise<void>((resolve) => release = resolve)
    await (refusal ? route.fulfill({ status: refusal.http ?? 400, json: refusal.body }) : route.continue())
  })
  return { uploads, release: () => release() }
}
