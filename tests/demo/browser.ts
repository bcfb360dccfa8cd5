/// <reference lib="dom" />
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { call } from '../tools/people.ts'
import { databaseUrl } from '../tools/own_stack.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'

const whole = process.env.CHROMIUM || '/usr/bin/chromium'
// Without windows it needs two thirds of the processor time; it shows no notifications.
const shell = process.env.CHROMIUM ? whole : '/usr/bin/chromium-headless-shell'
export const hasBrowser = existsSync(whole)
if (!hasBrowser) {
  const missing = `There is no Chromium at ${whole}: install it, or set CHROMIUM to its path`
  if (process.env.REQUIRE_CHROMIUM) throw new Error(missing)
  console.warn(`Browser tests are skipped. ${missing}`)
}

// deno-fmt-ignore
const args = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
  // The address bar's own pages, which nobody sees: 60% of the processor time of a new window.
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup',
]
export const openBrowser = (executablePath = existsSync(shell) ? shell : whole): Promise<Browser> =>
  chromium.launch({ executablePath, args })

// On a quiet machine a step takes a second at most.
const timeout = 120_000

/** For what may come a moment later: polls `read` until the matcher that follows is content. */
export const expectSoon = <T>(read: () => T) => expect.poll(read, { timeout, interval: 50 })

/** Whether the tests run on a phone in the dark theme, and not on a desktop in the light one. */
export const isPhone = process.env.SCREEN === 'phone'
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

export const isFocused = (control: Locator): Promise<boolean> =>
  control.evaluate((node) => node === node.ownerDocument.activeElement)
/** Waits until a picture of this width has arrived, and not only its frame. */
export const isShown = (image: Locator, width = 1): Promise<void> =>
  expectSoon(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth)).toBe(width)

type Name = string | RegExp
interface Pressing {
  fill?: Record<string, string>
  shows?: Name
  alerts?: Name
}

/** A part of a page, as a person uses it: what it has is found by its role, name, label or text. */
export class Part {
  constructor(readonly node: Locator) {}
  get page(): Page {
    return this.node.page()
  }
  find = (selector: string, hasText?: Name): Locator => this.node.locator(selector, { hasText })
  role = (role: Parameters<Locator['getByRole']>[0], name?: Name): Locator =>
    this.node.getByRole(role, name === undefined ? {} : { name, exact: true })
  region = (name: string): Part => new Part(this.role('region', name))
  button = (name: Name): Locator => this.role('button', name)
  get dialog(): Part {
    return new Part(this.page.getByRole('dialog'))
  }
  /** Presses a button, after filling fields by their labels; waits until this is to be read, or this error. */
  press = async (name: Name, { fill = {}, shows, alerts }: Pressing = {}): Promise<void> => {
    await this.fill(fill)
    await this.button(name).click()
    if (shows) await this.shows(shows)
    if (alerts) await this.alerts(alerts)
  }
  /** Fills the fields with these labels. */
  fill = async (fields: Record<string, string>): Promise<void> => {
    for (const [label, text] of Object.entries(fields)) await this.node.getByLabel(label).fill(text)
  }
  keys = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await this.page.keyboard.press(key)
  }
  /** Waits until this is to be read. */
  shows = (text: Name): Promise<void> => this.node.getByText(text).waitFor()
  /** Waits until this is announced as an error. */
  alerts = (hasText: Name): Promise<void> => this.node.getByRole('alert').filter({ visible: true, hasText }).waitFor()
}

/** The page of one person. */
export class Side extends Part {
  /** Where a phone shows what is open, it hides the status of the inbox. */
  waitUntilLive = (): Promise<void> => this.find('.bar .status[data-status=live]').waitFor({ state: 'attached' })
  /** Walks in as a demo person, by default that of this side, and waits until the inbox is live. */
  logIn = async (who: RegExp | string = /^\S*Walk in/): Promise<void> => {
    const walkIn = this.button(who).first()
    const outside = this.role('link', 'Log in')
    await walkIn.or(outside).first().waitFor()
    // People and profiles are shown without an account.
    if (await outside.isVisible()) await outside.click()
    await walkIn.click()
    await this.waitUntilLive()
  }
  logOut = async (): Promise<void> => {
    await this.choose('Log out', '.bar')
    await this.button('Log in').waitFor()
  }
  /**
   * Goes back to the list, with the pages and the menu of the account above it. A desktop shows them beside or above
   * what is open; a phone shows either.
   */
  toList = async (): Promise<void> => {
    if (!isPhone) return
    const back = this.button('Back').filter({ visible: true })
    const pages = this.role('navigation', /^Pages/).filter({ visible: true })
    for (;;) {
      await back.or(pages).first().waitFor()
      const [pressed] = await back.elementHandles()
      if (!pressed) return
      await pressed.tap()
      await pressed.waitForElementState('hidden')
    }
  }
  /** Chooses from the menu of the account, or from that of the open conversation or profile. */
  choose = async (label: string, menu: '.bar' | '.chat-bar' = '.chat-bar'): Promise<void> => {
    if (menu === '.bar') await this.toList()
    await this.find(`${menu} .menu summary`).click()
    await this.find(`${menu} .items`).getByText(label, { exact: true }).click()
  }
  /** Blocks whoever is shown. */
  block = async (): Promise<void> => {
    await this.choose('Block…')
    await this.dialog.press('Block')
  }
  /** Goes to the list of people, and waits for the first. */
  findPeople = async (): Promise<void> => {
    await this.toList()
    await this.role('link', 'People').click()
    await this.find('.hit').first().waitFor()
  }
  /** Unfolds the filters of the people, which are unfolded where there is room for them. */
  openFilters = async (): Promise<void> => {
    if (await this.find('.filters').getAttribute('open') === null) await this.find('.filters summary').click()
  }
  /** The conversation in the list that has this text. */
  entry = (hasText: string): Locator => this.find('.entry', hasText)
  openWith = async (text: string): Promise<void> => {
    await this.toList()
    await this.entry(text).click()
    await this.find('.message').first().waitFor()
  }
  get box(): Locator {
    return this.node.getByRole('textbox', { name: 'Message to' })
  }
  send = async (text: string): Promise<void> => {
    await this.box.fill(text)
    await this.box.press('Enter')
  }
  /** A message that the service has stored. */
  stored = (hasText: string): Part => new Part(this.find('.message:not(.outgoing)', hasText))
}

interface Visit {
  page: Page
  errors: string[]
  externalRequests: string[]
}
interface Options extends BrowserContextOptions {
  /** The statuses that the browser is expected to log. */
  refusals?: number[]
  /** Whether it is opened in a browser of its own, which shows notifications. */
  notifies?: boolean
  /** Called before the page loads. */
  prepare?: (page: Page) => Promise<unknown>
}

/** A page with the errors of its console, and its requests to other origins. */
const visit = async (
  browser: Browser,
  url: string,
  { refusals = [], prepare, ...options }: Options,
): Promise<Visit> => {
  const page = await (await browser.newContext({ ...screen, locale: 'en-GB', ...options })).newPage()
  page.setDefaultTimeout(timeout)
  tapOnPhones(page)
  const errors: string[] = []
  const externalRequests: string[] = []
  // What begins while somebody logs out has no token any more.
  let isLeaving = false
  page.on('request', (request) => {
    if (request.url().includes('/auth/v1/logout')) isLeaving = true
    if (request.url().includes('/auth/v1/token')) isLeaving = false
  })
  page.on('console', (message) => {
    const text = message.text()
    const isExpected = refusals.some((status) => text.includes(`server responded with a status of ${status}`)) ||
      // A search on a busy machine may take too long; the page then asks again.
      text.includes('status of 503') && message.location().url.includes('/users/search?') ||
      isLeaving && text.includes('status of 401') ||
      text.includes('ERR_INTERNET_DISCONNECTED') ||
      // Whoever leaves a page quickly closes a socket that is not open yet.
      text.includes('WebSocket is closed before the connection is established')
    if (['error', 'warning'].includes(message.type()) && !isExpected) errors.push(text)
  })
  page.on('pageerror', (error) => errors.push(error.message))
  const { host } = new URL(url)
  const record = (url: string) => new URL(url.replace('blob:', '')).host === host || externalRequests.push(url)
  page.on('request', (request) => record(request.url()))
  page.on('websocket', (socket) => record(socket.url()))
  await prepare?.(page)
  await page.goto(url)
  return { page, errors, externalRequests }
}

/**
 * A stack with demo data, and a browser, for a test file. Fails a test whose pages logged errors or contacted other
 * origins.
 */
export const openDemo = () => {
  let stack: Awaited<ReturnType<typeof startStack>>
  let browser: Browser
  let output = ''
  let token: string | undefined
  const visits: Visit[] = []
  beforeAll(async () => {
    stack = await startStack({ SEED: 'demo', ...(databaseUrl && { DATABASE_URL: await makeDatabase('demo') }) })
    stack.process.stdout!.on('data', (text) => output += text)
    browser = await openBrowser()
  })
  afterEach(async ({ task }) => {
    const visited = visits.splice(0).map((visit) => ({ ...visit, errors: [...visit.errors] }))
    const { SCREENSHOTS } = process.env
    for (const [index, { page }] of visited.entries()) {
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${task.name} ${index}.png` })
      await page.context().close()
      if (page.context().browser() !== browser) await page.context().browser()!.close()
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

  const url = (path: string): string => new URL(path, stack.base).href
  const openPage = async (path: string, { notifies, ...options }: Options = {}): Promise<Page> => {
    visits.push(await visit(notifies ? await openBrowser(whole) : browser, url(path), options))
    return visits.at(-1)!.page
  }
  /** The part of the window that one person has, where there is one. */
  const sideOf = (page: Page, name = 'You'): Side =>
    new Side(page.getByRole('region', { name, exact: true, includeHidden: true }))
  const open = async (path = '/demo', options?: Options): Promise<Side> => sideOf(await openPage(path, options))
  return {
    url,
    base: () => stack.base,
    sideOf,
    open,
    /** Inês at an address, logged in. */
    openOne: async (path?: string, options?: Options): Promise<Side> => {
      const you = await open(path, options)
      await you.logIn()
      return you
    },
    /** Inês and Tomáš, each with a window, logged in; where they are talking, with their conversation open. */
    openTwo: async (options?: Options, areTalking = false): Promise<[ines: Side, tomas: Side]> => {
      const [ines, tomas] = [await open('/demo', options), await open('/demo', options)]
      await ines.logIn()
      await tomas.logIn(/Walk in as Tomáš/)
      if (areTalking) await ines.openWith('Tomáš Novák')
      if (areTalking) await tomas.openWith('Inês Carvalho')
      return [ines, tomas]
    },
    /** Inês and Tomáš in one window, in which they are logged in already. */
    openSideBySide: async (options?: Options): Promise<[ines: Side, tomas: Side]> => {
      const page = await openPage('/demo/side-by-side', options)
      return [sideOf(page, 'First person'), sideOf(page, 'Second person')]
    },
    /** What the service answers to Inês, beside her pages. */
    callAsInes: async (method: string, path: string, body?: unknown) => {
      const account = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
      token ??= (await call('POST', `${stack.base}/auth/login`, account)).body.access_token
      return (await call(method, stack.base + path, body, { token })).body
    },
    /** The latest code that was mailed to this address, once it is another than the one before. */
    mailedCode: async (email: string, before = ''): Promise<string> => {
      const codes = () =>
        [...output.matchAll(new RegExp(`^To: ${email}$[^]*?code: (\\d+)$`, 'gm'))].map((all) => all[1]!)
      await expectSoon(() => codes().at(-1) ?? before).not.toBe(before)
      return codes().at(-1)!
    },
  }
}
