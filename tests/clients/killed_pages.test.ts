import { rolldown } from 'rolldown'
import type { Page } from 'playwright-core'
import { expect, inject, test } from 'vitest'
import { hasBrowser, openBrowser } from '../demo/browser.ts'
import { openConversation, signUp } from '../tools/people.ts'
import { seededRandom } from '../tools/random.ts'
import { eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')
const kills = Number(process.env.KILLED_PAGES ?? 12)

const bundle = async (): Promise<string> => {
  const input = new URL('killed_page.ts', import.meta.url).pathname
  const build = await rolldown({ input, platform: 'browser', tsconfig: false, logLevel: 'silent' })
  return (await build.generate({ format: 'iife', codeSplitting: false })).output[0].code
}

// A real browser's IndexedDB, Web Locks and crashes; the schedule of requests is durable.test.ts's subject. A quarter
// of the requests that send is lost, half of them after the service has stored the message.
test.skipIf(!hasBrowser)(
  `pages killed while they write lose, double and reorder nothing in ${kills} kills`,
  { timeout: 120_000 + kills * 10_000 },
  async () => {
    const random = seededRandom(Number(process.env.SEED ?? 1))
    const [ana, bob, script, browser] = await Promise.all([signUp('Ana'), signUp('Bob'), bundle(), openBrowser()])
    try {
      const conversation = await openConversation(ana, bob)
      const context = await browser.newContext()
      await context.route(
        '**/killed.html',
        (route) => route.fulfill({ contentType: 'text/html', body: '<script src="killed.js"></script>' }),
      )
      await context.route('**/killed.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
      let losses = 0.25
      await context.route('**/messages', async (route) => {
        const chance = random()
        if (route.request().method() !== 'POST' || chance > losses) return await route.continue().catch(() => {})
        if (chance < losses / 2) await route.fetch().catch(() => {})
        await route.abort().catch(() => {})
      })
      let stored = 0
      await context.exposeFunction('reportStored', (content: string) => stored = Math.max(stored, Number(content)))

      const open = async (numbers: { from: number; to: number } | null): Promise<Page> => {
        const page = await context.newPage()
        await page.goto(`${stack.origin}/killed.html`)
        const { email, password } = ana
        const options = { origin: stack.origin, key: stack.publishableKey, email, password, conversation, numbers }
        await page.evaluate((options) => void globalThis.start(options), options)
        return page
      }
      const kill = async (page: Page) => {
        if (random() < 0.5) {
          const session = await context.newCDPSession(page)
          const crashed = page.waitForEvent('crash')
          session.send('Page.crash').catch(() => {})
          await crashed
        }
        await page.close()
      }
      let onlooker: Page | null = null
      for (let count = 0; count < kills; count++) {
        const before = stored
        const page = await open({ from: stored + 1, to: Infinity })
        await eventually(() => stored > before, 60)
        await pause(random() * 60)
        await kill(page)
        // Sometimes another page of the user is open, and sends what the killed one has left.
        if (onlooker) await kill(onlooker)
        onlooker = !onlooker && random() < 0.3 ? await open(null) : null
      }
      if (onlooker) await kill(onlooker)
      losses = 0
      const last = await open({ from: stored, to: 0 })
      await last.waitForFunction(() => globalThis.isSent?.())
      const sent: string[] = []
      for (let query = 'order=asc', more = true; more;) {
        const { body } = await bob.call('GET', `/conversations/${conversation}/messages?${query}&limit=100`)
        for (const { content } of body) sent.push(content)
        query = `after_id=${body.at(-1)?.id}`
        more = body.length === 100
      }
      expect(sent).toEqual(Array.from({ length: stored }, (_, index) => `${index + 1}`))
      expect(sent.length).toBeGreaterThanOrEqual(kills)
    } finally {
      await browser.close()
    }
  },
)
