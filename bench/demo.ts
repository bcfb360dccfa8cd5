// How long the demo page takes until it can be used, and how large its scripts are, against a running stack with demo
// data: npx deno run -A bench/demo.ts [http://127.0.0.1:54321]. Prints medians of ten loads with an empty cache.
import { gzipSync } from 'node:zlib'
import { chromium, type Page } from 'playwright-core'

const origin = Deno.args[0] ?? 'http://127.0.0.1:54321'
const loads = 10

for (const name of ['main', 'service_worker']) {
  const text = await (await fetch(`${origin}/demo/${name}.js`)).text()
  console.log(`${name}.js`.padEnd(28), `${(gzipSync(text).length / 1000).toFixed(1)} kB gzipped, ${text.length} bytes`)
}

const median = (values: number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!

/** Milliseconds from the navigation to the selector, and for how long the main thread was blocked until then. */
const load = async (page: Page, path: string, selector: string): Promise<{ ready: number; blocked: number }> => {
  await page.goto(origin + path, { waitUntil: 'commit' })
  const tasks = page.evaluate(() => {
    const lengths: number[] = []
    new PerformanceObserver((list) => lengths.push(...list.getEntries().map(({ duration }) => duration - 50)))
      .observe({ type: 'longtask', buffered: true })
    Object.assign(globalThis, { lengths })
  })
  await page.locator(selector).first().waitFor()
  await tasks
  return await page.evaluate(() => ({
    ready: performance.now(),
    blocked: (globalThis as unknown as { lengths: number[] }).lengths.reduce((sum, length) => sum + length, 0),
  }))
}

const browser = await chromium.launch({
  executablePath: Deno.env.get('CHROMIUM') || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
const page = await browser.newPage()
const measure = async (what: string, path: string, selector: string): Promise<void> => {
  const results: Awaited<ReturnType<typeof load>>[] = []
  for (let count = 0; count < loads; count++) results.push(await load(page, path, selector))
  const [ready, blocked] = [median(results.map(({ ready }) => ready)), median(results.map(({ blocked }) => blocked))]
  console.log(what.padEnd(28), `interactive after ${ready.toFixed(0)} ms, blocked for ${blocked.toFixed(0)} ms`)
}
await measure('logging in', '/demo', 'input[type=email]')
await page.getByRole('button', { name: 'Log in', exact: true }).click()
await page.locator('.entry').first().waitFor()
await measure('conversations', '/demo', '.entry')
await measure('a conversation', '/demo/c/1', '.message')
await measure('people', '/demo/people', '.hit')
await measure('a profile', '/demo/people/1', '.profile .text')
await measure("one's own profile", '/demo/me', '.me section')
await browser.close()
