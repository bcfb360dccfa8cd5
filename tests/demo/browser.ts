import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
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
      // The address bar's own pages, which nobody sees: 60% of the processor time of a new window.
      '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup',
    ],
  })

/** For what may come a moment later: polls `read` until the matcher that follows is content. */
export const expectSoon = <T>(read: () => T) => expect.poll(read, { timeout: 50_000, interval: 50 })

/** A page with the errors of its console and its requests to other origins. */
interface Visit {
  page: Page
  errors: string[]
  externalRequests: string[]
}

/** Whether the tests run on a phone in the dark theme, and not on a desktop in the light one. */
export const isPhone = process.env.SCREEN === 'phone'

/**
 * A test of what is the same on a phone, where it would take as much processor time and show nothing new. What a narrow
 * page could hide, or a tap do otherwise than a click, runs on both: each page, going back, menus, dialogs, lists.
 */
export const onDesktop = test.skipIf(isPhone)

const screen: BrowserContextOptions = isPhone
  ? { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, colorScheme: 'dark' }
  : { viewport: { width: 1360, height: 820 }, colorScheme: 'light' }

/** A finger taps: the tests' clicks are taps on a phone. */
const tapOnPhones = (page: Page) => {
  if (!isPhone) return
  const locators: Locator = Object.getPrototypeOf(page.locator('body'))
  locators.click = function (options) {
    return this.tap(options)
  }
}

/** Opens the page in a new context. `refusals` are the error statuses that the browser is expected to log. */
const visit = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  refusals: number[] = [],
): Promise<Visit> => {
  const page = await (await browser.newContext({ ...screen, locale: 'en-GB', ...options })).newPage()
  page.setDefaultTimeout(50_000)
  tapOnPhones(page)
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
    // Whoever leaves a page quickly closes a socket that is not open yet.
    const isEarly = message.text().includes('WebSocket is closed before the connection is established')
    const isExpected = isSlow || isLate || isEarly || expected.some((text) => message.text().includes(text))
    if (['error', 'warning'].includes(message.type()) && !isExpected) errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  const recordExternal = (address: string) => new URL(address).host === host || externalRequests.push(address)
  page.on('request', (request) => recordExternal(request.url()))
  page.on('websocket', (socket) => recordExternal(socket.url()))
  await page.goto(url)
  return { page, errors, externalRequests }
}

const pane = (page: Page, which: 'First' | 'Second'): Locator => page.getByRole('region', { name: `${which} person` })

/** The part of the window that one person has, where there is one. */
export const onlyPane = (page: Page): Locator => page.getByRole('region', { name: 'You', exact: true })

/** Waits until the inbox is live. Where a phone shows what is open, it hides the status of the inbox. */
export const waitUntilLive = (side: Locator): Promise<void> =>
  side.locator('.bar .status[data-status=live]').waitFor({ state: 'attached' })

/** Walks in as a demo person, by default that of this side, and waits until the inbox is live. */
export const logIn = async (side: Locator, who: RegExp | string = /^Walk in/): Promise<void> => {
  await side.getByRole('button', { name: who }).first().click()
  await waitUntilLive(side)
}

/**
 * Goes back to the list, with the pages and the menu of the account above it. A desktop shows them beside or above what
 * is open; a phone shows either.
 */
export const toList = async (side: Locator): Promise<void> => {
  if (!isPhone) return
  const back = side.getByRole('button', { name: 'Back', exact: true }).filter({ visible: true })
  const pages = side.getByRole('navigation', { name: 'Pages' }).filter({ visible: true })
  for (;;) {
    await back.or(pages).first().waitFor()
    const [pressed] = await back.elementHandles()
    if (!pressed) return
    await pressed.tap()
    await pressed.waitForElementState('hidden')
  }
}

/** Chooses from the menu of the account, or from that of the open conversation or profile. */
export const choose = async (side: Locator, label: string, menu: '.bar' | '.chat-bar' = '.chat-bar'): Promise<void> => {
  if (menu === '.bar') await toList(side)
  await side.locator(`${menu} .menu summary`).click()
  await side.locator(`${menu} .items`).getByText(label, { exact: true }).click()
}

/** Goes to the list of people, and waits for the first. */
export const findPeople = async (side: Locator): Promise<void> => {
  await toList(side)
  await side.getByRole('link', { name: 'People', exact: true }).click()
  await side.locator('.hit').first().waitFor()
}

/** Unfolds the filters of the people, which are unfolded where there is room for them. */
export const openFilters = async (side: Locator): Promise<void> => {
  const filters = side.locator('.filters')
  if (await filters.getAttribute('open') === null) await filters.locator('summary').click()
}

export const isFocused = (control: Locator): Promise<boolean> =>
  control.evaluate((node) => node === node.ownerDocument.activeElement)

/** Opens a conversation, of which the list shows this text, and waits for its messages. */
export const openWith = async (side: Locator, text: string): Promise<void> => {
  await toList(side)
  await side.locator('.entry', { hasText: text }).click()
  await side.locator('.message').first().waitFor()
}

/** Cuts the connection for twelve seconds; the conversation with this person is open then. */
export const cutConnection = async (side: Locator, name: string): Promise<void> => {
  await choose(side, 'Cut the connection', '.bar')
  if (isPhone) await side.locator('.entry', { hasText: name }).click()
  await side.locator('.status', { hasText: 'offline' }).filter({ visible: true }).waitFor()
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
  let output = ''
  beforeAll(async () => {
    stack = await startStack({ SEED: 'demo', ...await settings() })
    stack.process.stdout!.on('data', (text) => output += text)
    browser = await openBrowser()
  }, 240_000)
  afterEach(async ({ task }) => {
    const visited = visits.splice(0).map((visit) => ({ ...visit, errors: [...visit.errors] }))
    const { SCREENSHOTS } = process.env
    for (const [index, { page }] of visited.entries()) {
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${task.name} ${index}.png` })
      await page.context().close()
    }
    for (const { errors, externalRequests } of visited) {
      expect(errors, 'console errors').toEqual([])
      expect(externalRequests, 'requests to other origins').toEqual([])
    }
  })
  afterAll(async () => {
    await browser.close()
    await stopStack(stack.process)
  })

  /** The code in the latest mail to an address. */
  /** The latest code that was mailed to this address, once it is another than the one before. */
  const mailedCode = async (email: string, before = ''): Promise<string> => {
    const codes = () =>
      [...output.matchAll(new RegExp(`^To: ${email}$[^]*?code: (\\d+)$`, 'gm'))].map(([, code]) => code!)
    await expect.poll(() => codes().at(-1) ?? before, { timeout: 20_000 }).not.toBe(before)
    return codes().at(-1)!
  }

  const open = async (path = '/demo', refusals: number[] = [], options: BrowserContextOptions = {}) => {
    const visited = await visit(browser, new URL(path, stack.base).href, options, refusals)
    visits.push(visited)
    return { page: visited.page, you: onlyPane(visited.page) }
  }
  /** Inês at an address, logged in. */
  const openOne = async (path = '/demo', refusals: number[] = [], options: BrowserContextOptions = {}) => {
    const { page, you } = await open(path, refusals, options)
    await logIn(you)
    return { page, you }
  }
  const openSideBySide = async (refusals: number[] = [], options: BrowserContextOptions = {}) => {
    const { page } = await open('/demo/side-by-side', refusals, options)
    return { page, ines: pane(page, 'First'), tomas: pane(page, 'Second') }
  }
  /** Inês in one column, logged in: in a pane of the side-by-side view, or with a phone. */
  const openColumn = async (refusals: number[] = []): Promise<Locator> => {
    const { page, you } = await open(isPhone ? '/demo' : '/demo/side-by-side', refusals)
    const ines = isPhone ? you : pane(page, 'First')
    await logIn(ines)
    return ines
  }
  /** Inês and Tomáš, each in one column, logged in: side by side in one window, or each with a phone. */
  const openBoth = async (refusals: number[] = []): Promise<{ ines: Locator; tomas: Locator }> => {
    const ines = await openColumn(refusals)
    const tomas = isPhone ? (await open('/demo', refusals)).you : pane(ines.page(), 'Second')
    await logIn(tomas, 'Walk in as Tomáš')
    return { ines, tomas }
  }
  return { open, openOne, openSideBySide, openColumn, openBoth, mailedCode, base: () => stack.base }
}

export type Demo = ReturnType<typeof openDemo>
