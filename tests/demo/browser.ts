import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { startStack, stopStack } from '../tools/stack.ts'

const place = process.env.CHROMIUM || '/usr/bin/chromium'
export const hasBrowser = existsSync(place)
if (!hasBrowser) {
  const missing = `There is no Chromium at ${place}: install it, or say in CHROMIUM where it is`
  if (process.env.REQUIRE_CHROMIUM) throw new Error(missing)
  console.warn(`What needs a browser is not tested. ${missing}`)
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: place,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })

/** The page, and what went wrong on it or left for elsewhere. */
interface Visit {
  page: Page
  faults: string[]
  /** Requests and sockets to other origins. */
  strays: string[]
}

/** A fresh visitor. `refusals` are answers of the service that the browser writes into its console by itself. */
const visit = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  refusals: number[] = [],
): Promise<Visit> => {
  const page = await (await browser.newContext({ viewport: { width: 1360, height: 820 }, ...options })).newPage()
  page.setDefaultTimeout(50_000)
  const { host } = new URL(url)
  const faults: string[] = []
  const strays: string[] = []
  const expected = refusals.map((status) => `server responded with a status of ${status}`)
  page.on('console', (message) => {
    const isExpected = expected.some((words) => message.text().includes(words))
    if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  const leave = (address: string) => new URL(address).host === host || strays.push(address)
  page.on('request', (request) => leave(request.url()))
  page.on('websocket', (socket) => leave(socket.url()))
  await page.goto(url)
  return { page, faults, strays }
}

export const pane = (page: Page, which: 'First' | 'Second' | 'Only'): Locator =>
  page.getByRole('region', { name: `${which} person` })

/** Logs in whoever is prefilled, and waits until they hear what happens. */
export const logIn = async (side: Locator): Promise<void> => {
  await side.getByRole('button', { name: 'Log in', exact: true }).click()
  await side.locator('.status', { hasText: 'live' }).waitFor()
}

export const openWith = async (side: Locator, name: string): Promise<void> => {
  await side.locator('.entry', { hasText: name }).click()
  await side.locator('.message').first().waitFor()
}

export const say = async (side: Locator, words: string): Promise<void> => {
  await side.getByRole('textbox', { name: 'Message to' }).fill(words)
  await side.getByRole('textbox', { name: 'Message to' }).press('Enter')
}

/** What the messages of a pane say, from the one that says this. */
export const saidSince = async (side: Locator, first: string): Promise<string[]> => {
  const all = await side.locator('.message .content').allTextContents()
  return all.slice(all.indexOf(first))
}

/** A demo world and a browser for the tests of a file; after each, nothing may have gone wrong on its pages. */
export const openDemo = () => {
  let stack: Awaited<ReturnType<typeof startStack>>
  let browser: Browser
  const visits: Visit[] = []
  beforeAll(async () => {
    stack = await startStack({ SEED: 'demo' })
    browser = await openBrowser()
  }, 120_000)
  afterEach(async () => {
    for (const { page, faults, strays } of visits.splice(0)) {
      expect(faults, 'errors in the console').toEqual([])
      expect(strays, 'requests to other origins').toEqual([])
      await page.context().close()
    }
  })
  afterAll(async () => {
    await browser.close()
    await stopStack(stack.process)
  })

  const open = async (path = '/demo', options: BrowserContextOptions = {}, refusals: number[] = []) => {
    const visited = await visit(browser, new URL(path, stack.base).href, options, refusals)
    visits.push(visited)
    return { page: visited.page, ines: pane(visited.page, 'First'), tomas: pane(visited.page, 'Second') }
  }
  const openBoth = async (refusals: number[] = []) => {
    const { page, ines, tomas } = await open('/demo', {}, refusals)
    // There is one mouse.
    await logIn(ines)
    await logIn(tomas)
    return { page, ines, tomas }
  }
  return { open, openBoth, base: () => stack.base }
}
