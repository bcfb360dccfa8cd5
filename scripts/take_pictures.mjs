// Takes the pictures of the README from the demo page of a running stack: two screenshots and an animation.
//   npm start, then: node scripts/take_pictures.mjs [http://127.0.0.1:54321]
// Needs Chromium (CHROMIUM is its path) and ffmpeg. Start with a new database: what the pictures do stays in it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const base = process.argv[2] ?? 'http://127.0.0.1:54321'
const target = (name) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url))
const maxBytes = 1_000_000

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
const open = async (path, options) => {
  const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'Europe/Lisbon', ...options })
  await page.goto(base + path)
  return page
}
const logIn = async (place, who = /^Walk in/) => {
  await place.getByRole('button', { name: who }).first().click()
  await place.locator('.status', { hasText: 'live' }).waitFor()
}
const settle = (page) => page.waitForTimeout(600)

/** Tomáš searches with a typing error. */
const takeSearch = async () => {
  const page = await open('/demo', { viewport: { width: 1200, height: 720 } })
  await logIn(page, 'Walk in as Tomáš')
  await page.goto(`${base}/demo/people?q=jazz+and+cermics`)
  await page.locator('.hit img').first().waitFor()
  await settle(page)
  await page.screenshot({ path: target('demo-search.png') })
  await page.close()
}

/** Inês reads a conversation with reservations, on a phone in the dark. */
const takePhone = async () => {
  const page = await open('/demo', { viewport: { width: 390, height: 720 }, colorScheme: 'dark', deviceScaleFactor: 2 })
  await logIn(page)
  await page.goto(`${base}/demo/c/1`)
  await page.locator('.message').first().waitFor()
  await page.locator('[data-reservation]').first().waitFor()
  await settle(page)
  await page.screenshot({ path: target('demo-phone.png') })
  await page.close()
}

/** Two people agree on something: an offer, typing, an answer and an acceptance, side by side. */
const takeAnimation = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pictures-'))
  const page = await open('/demo/side-by-side', { viewport: { width: 1080, height: 640 } })
  const [ines, tomas] = ['First', 'Second'].map((name) => page.getByRole('region', { name: `${name} person` }))
  const frames = []
  const show = async (seconds) => {
    const file = join(folder, `${frames.length}.png`)
    await page.screenshot({ path: file })
    frames.push(`file '${file}'\nduration ${seconds}`)
  }
  const type = async (place, text, every = 4) => {
    const input = place.getByRole('textbox', { name: 'Message' })
    for (let typed = 0; typed < text.length; typed += every) {
      await input.pressSequentially(text.slice(typed, typed + every))
      await show(0.12)
    }
    await show(0.4)
    await input.press('Enter')
    await settle(page)
    await show(0.9)
  }
  await logIn(ines)
  await logIn(tomas)
  for (const [side, partner] of [[ines, 'Tomáš'], [tomas, 'Inês']]) {
    await side.locator('.entry', { hasText: partner }).first().click()
    await side.locator('.message').first().waitFor()
  }
  await settle(page)
  await show(1)
  await type(tomas, 'Yes, please keep me a chair!')
  await type(ines, 'Done. It is the one by the piano.')
  for (const side of [ines, tomas]) await side.locator('.next button').first().click()
  await settle(page)
  await show(1.2)
  await ines.getByRole('button', { name: 'Accept' }).click()
  await tomas.locator('[data-reservation]').getByText('Agreed').nth(1).waitFor()
  await settle(page)
  await show(2)
  await page.close()
  const list = join(folder, 'frames.txt')
  // The duration of the last frame counts only if the frame is repeated.
  writeFileSync(list, [...frames, frames.at(-1).split('\n')[0]].join('\n'))
  const file = target('demo.webp')
  const encoder = ['-c:v', 'libwebp_anim', '-quality', '60', '-loop', '0', '-fps_mode', 'vfr']
  execFileSync('ffmpeg', ['-y', '-v', 'error', '-f', 'concat', '-safe', '0', '-i', list, ...encoder, file])
  rmSync(folder, { recursive: true })
  if (statSync(file).size > maxBytes) throw new Error(`${file} has more than ${maxBytes} bytes`)
}

try {
  await takeSearch()
  await takePhone()
  await takeAnimation()
} finally {
  await browser.close()
}
