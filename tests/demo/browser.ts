import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { startStack, stopStack } from '../tools/stack.ts'

const executable = process.env.CHROMIUM || '/usr/bin/chromium'
export const hasBrowser = existsSync(executable)
if (!hasBrowser) {
  const missing = `There is no Chromium at ${executable}: install it, or set CHROMIUM to its path`
  if (process.env.REQUIRE_CHROMIUM) throw new Error(missing)
  console.warn(`Browser tests are skipped. ${missing}`)
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executable,
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

/** A page with the errors of its console and its requests to other origins. */
interface Visit {
  page: Page
  errors: string[]
  externalRequests: string[]
}

/** SCHEME=dark and WIDTH=390 run the tests in the other theme and on a phone. */
const screen: BrowserContextOptions = {
  viewport: { width: Number(process.env.WIDTH || 1360), height: 820 },
  colorScheme: process.env.SCHEME === 'dark' ? 'dark' : 'light',
}

/** Opens the page in a new context. `refusals` are the error statuses that the browser is expected to log. */
const visit = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  refusals: number[] = [],
): Promise<Visit> => {
  const page = await (await browser.newContext({ ...screen, locale: 'en-GB', ...options }))
    .newPage()
  page.setDefaultTimeout(50_000)
  const { host } = new URL(url)
  const errors: string[] = []
  const externalRequests: string[] = []
  const expected = refusals.map((status) => `server responded with a status of ${status}`)
  // What begins while somebody logs out has no token any more.
  let isLeaving = false
  page.on('request', (request) => {
    if (request.url().includes('/auth/v1/logout')) isLeaving = true
    if (request.url().includes('/auth/v1/token')) isLeaving = false
  })
  page.on('console', (message) => {
    // A search on a busy machine may take too long; the page then asks again.
    const isSlow = message.text().includes('status of 503') && message.location().url.includes('/users/search?')
    const isLate = isLeaving && message.text().includes('status of 401')
    const isExpected = isSlow || isLate || expected.some((text) => message.text().includes(text))
    if (['error', 'warning'].includes(message.type()) && !isExpected) errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  const recordExternal = (address: string) => new URL(address).host === host || externalRequests.push(address)
  page.on('request', (request) => recordExternal(request.url()))
  page.on('websocket', (socket) => recordExternal(socket.url()))
  await page.goto(url)
  return { page, errors, externalRequests }
}

export const pane = (page: Page, which: 'First' | 'Second'): Locator =>
  page.getByRole('region', { name: `${which} person` })

/** The part of the window that one person has, where there is one. */
export const onlyPane = (page: Page): Locator => page.getByRole('region', { name: 'You', exact: true })

/** Logs in with the prefilled account and waits until the inbox is live. */
export const logIn = async (side: Locator): Promise<void> => {
  await side.getByRole('button', { name: 'Log in', exact: true }).click()
  await side.locator('.bar .status', { hasText: 'live' }).waitFor()
}

/** Chooses from the menu of the account, or from that of the open conversation or profile. */
export const choose = async (side: Locator, label: string, menu: '.bar' | '.chat-bar' = '.chat-bar'): Promise<void> => {
  await side.locator(`${menu} .menu summary`).click()
  await side.locator(`${menu} .items`).getByText(label, { exact: true }).click()
}

export const openWith = async (side: Locator, name: string): Promise<void> => {
  await side.locator('.entry', { hasText: name }).click()
  await side.locator('.message').first().waitFor()
}

export const sendMessage = async (side: Locator, text: string): Promise<void> => {
  await side.getByRole('textbox', { name: 'Message to' }).fill(text)
  await side.getByRole('textbox', { name: 'Message to' }).press('Enter')
}

/** The texts of a pane's messages, from the given one on. */
export const messagesFrom = async (side: Locator, first: string): Promise<string[]> => {
  const all = await side.locator('.message .content').allTextContents()
  return all.slice(all.indexOf(first))
}

/**
 * A stack with demo data and these settings, and a browser for a test file. Fails a test whose pages logged errors or
 * contacted other origins.
 */
export const openDemo = (settings = (): Promise<Record<string, string>> => Promise.resolve({})) => {
  let stack: Awaited<ReturnType<typeof startStack>>
  let browser: Browser
  const visits: Visit[] = []
  beforeAll(async () => {
    stack = await startStack({ SEED: 'demo', ...await settings() })
    browser = await openBrowser()
  }, 120_000)
  afterEach(async () => {
    for (const { page, errors, externalRequests } of visits.splice(0)) {
      expect(errors, 'console errors').toEqual([])
      expect(externalRequests, 'requests to other origins').toEqual([])
      await page.context().close()
    }
  })
  afterAll(async () => {
    await browser.close()
    await stopStack(stack.process)
  })

  const open = async (path = '/demo/side-by-side', options: BrowserContextOptions = {}, refusals: number[] = []) => {
    const visited = await visit(browser, new URL(path, stack.base).href, options, refusals)
    visits.push(visited)
    return {
      page: visited.page,
      you: onlyPane(visited.page),
      ines: pane(visited.page, 'First'),
      tomas: pane(visited.page, 'Second'),
    }
  }
  const openBoth = async (refusals: number[] = []) => {
    const { page, ines, tomas } = await open('/demo/side-by-side', {}, refusals)
    // One after the other, because they share the mouse and the focus.
    await logIn(ines)
    await logIn(tomas)
    return { page, ines, tomas }
  }
  return { open, openBoth, base: () => stack.base }
}

export type Demo = ReturnType<typeof openDemo>
