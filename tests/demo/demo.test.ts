/// <reference lib="dom" />
import type { ChildProcess } from 'node:child_process'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { demo } from '../../supabase/local/demo.ts'
import { logInsForPage } from '../../supabase/local/demo_people.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { hasBrowser, logIn, openBrowser, openWith, pane, saidSince, say, type Visit, visit } from './browser.ts'

const eventually = { timeout: 20_000, interval: 50 }

let stack: { base: string; process: ChildProcess }
let origin: string
beforeAll(async () => {
  stack = await startStack({ SEED: 'demo' })
  origin = new URL(stack.base).origin
})
afterAll(() => stopStack(stack.process))

describe('what the server gives', () => {
  test('the page may load and reach nothing but its own server', async () => {
    const { status, headers } = await fetch(`${origin}/demo`)
    expect(status).toBe(200)
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    const policy = headers.get('Content-Security-Policy')!.split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain(`connect-src 'self' ws://${new URL(origin).host} wss://${new URL(origin).host}`)
    for (const file of ['main.js', 'style.css', 'icon.svg', 'config.json']) {
      const { status, headers } = await fetch(`${origin}/demo/${file}`)
      expect([file, status, headers.get('X-Content-Type-Options')]).toEqual([file, 200, 'nosniff'])
      expect(headers.get('Access-Control-Allow-Origin')).toBeNull()
    }
    expect((await fetch(`${origin}/demo/pane.ts`)).status).toBe(404)
    expect((await fetch(`${origin}/demo/`, { redirect: 'manual' })).headers.get('Location')).toBe('/demo')
  })

  test('the page learns the publishable key and never the secret one', async () => {
    const config = await (await fetch(`${origin}/demo/config.json`)).text()
    expect(config).toContain(testKeys.publishableKey)
    for (const path of ['', '/config.json', '/main.js']) {
      const text = await (await fetch(`${origin}/demo${path}`)).text()
      for (const secret of [testKeys.secretKey, testKeys.jwtSecret]) expect(text).not.toContain(secret)
    }
  })

  test('where the page cannot be built, that is what it says, until it can', async () => {
    let broken = true
    const make = () => broken ? Promise.reject(new Error('no bundler here')) : Promise.resolve('run()')
    const page = demo(readSettings({}), testKeys, make)
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const refused = await page.request('/')
    expect([refused.status, await refused.text()]).toEqual([
      500,
      'The demo page could not be built, everything else works: no bundler here\n',
    ])
    expect(said).toHaveBeenCalledOnce()
    said.mockRestore()
    broken = false
    expect((await page.request('/')).status).toBe(200)
    expect(await (await page.request('/main.js')).text()).toBe('run()')
  })

  test('passwords are told of the demo world alone, and only on this machine', async () => {
    const read = async (from: string) => (await (await fetch(`${from}/demo/config.json`)).json()).logIns
    expect(await read(origin)).toHaveLength(2)
    expect(await read(inject('stack').origin)).toEqual([])
    const settings = { ...readSettings({}), host: '0.0.0.0' }
    expect(logInsForPage(settings)).toEqual([])
    expect(logInsForPage({ ...settings, host: '127.0.0.1' })).toHaveLength(2)
  })
})

describe.skipIf(!hasBrowser)('in a browser', () => {
  let browser: Browser
  const visits: Visit[] = []
  beforeAll(async () => void (browser = await openBrowser()))
  afterAll(() => browser.close())
  afterEach(async () => {
    for (const { page, faults, strays } of visits.splice(0)) {
      expect(faults, 'errors in the console').toEqual([])
      expect(strays, 'requests to other origins').toEqual([])
      await page.context().close()
    }
  })

  const open = async (path = '/demo', options: BrowserContextOptions = {}, refusals: number[] = []) => {
    const visited = await visit(browser, new URL(path, origin).href, options, refusals)
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

  test('two people log in side by side, each as themselves, and still are after a reload', async () => {
    const { page, ines, tomas } = await openBoth()
    await ines.getByRole('heading', { name: 'Inês Carvalho', level: 2 }).waitFor()
    await tomas.getByRole('heading', { name: 'Tomáš Novák', level: 2 }).waitFor()
    await page.reload()
    await ines.getByRole('heading', { name: 'Inês Carvalho', level: 2 }).waitFor()
    await tomas.getByRole('button', { name: 'Log out' }).click()
    await tomas.getByRole('button', { name: 'Log in', exact: true }).waitFor()
    expect(await ines.getByRole('heading', { level: 2 }).textContent()).toBe('Inês Carvalho')
  })

  test('a wrong password is answered in the words of the server', async () => {
    const { ines } = await open('/demo', {}, [400])
    await ines.getByLabel('Password').fill('not this one')
    await ines.getByRole('button', { name: 'Log in', exact: true }).click()
    expect(await ines.getByRole('alert').filter({ visible: true }).textContent()).toBe('Invalid login credentials')
    await vi.waitFor(async () => {
      expect(await ines.getByLabel('Password').evaluate((input) => input === document.activeElement)).toBe(true)
    }, eventually)
  })

  test('a search finds as one types, drops stale answers, and narrows by chips', async () => {
    const { page, ines } = await openBoth()
    await ines.getByRole('tab', { name: 'People' }).click()
    const hits = ines.locator('.hit')
    await hits.first().waitFor()
    // The answer to the first letters comes long after the one to all of them.
    let held = 0
    await page.route(/users\/search.*[?&]q=ti(&|$)/, async (route) => {
      held++
      await new Promise((resolve) => setTimeout(resolve, 1000))
      await route.continue().catch(() => {})
    })
    const box = ines.getByRole('searchbox', { name: 'Search people' })
    await box.pressSequentially('ti')
    await vi.waitUntil(() => held === 1, eventually)
    await box.pressSequentially('led stoves')
    const names = () => hits.getByRole('heading').allTextContents()
    const before = await names()
    await vi.waitUntil(async () => `${await names()}` !== `${before}`, eventually)
    const found = await names()
    await page.waitForTimeout(1100)
    expect(await names()).toEqual(found)

    await box.fill('')
    await ines.getByRole('button', { name: 'Jazz', exact: true }).click()
    await vi.waitFor(async () => {
      const tags = await hits.evaluateAll((all) => all.map((hit) => hit.querySelector('.tags')?.textContent ?? ''))
      expect(tags.length).toBeGreaterThan(0)
      expect(tags.every((tag) => tag.includes('Jazz'))).toBe(true)
    }, eventually)
    await ines.getByRole('button', { name: 'Jazz', exact: true, pressed: true }).click()
    const city = ines.getByRole('group', { name: 'Cities' }).getByRole('button').first()
    const chosen = (await city.textContent())!
    await city.click()
    await vi.waitFor(async () => {
      const where = await hits.locator('.where').allTextContents()
      expect(where.length).toBeGreaterThan(0)
      expect(where.every((place) => place.startsWith(chosen))).toBe(true)
    }, eventually)
    expect(await hits.first().locator('.score').textContent()).toMatch(/^\d+ %$/)
  })

  test('a hit opens the conversation that is there, or a new one', async () => {
    const { ines } = await openBoth([409])
    await ines.getByRole('tab', { name: 'People' }).click()
    await ines.getByRole('searchbox').fill('Tomáš Novák')
    await ines.getByRole('button', { name: 'Write to Tomáš Novák' }).click()
    await ines.locator('.message', { hasText: 'Shall I keep you a chair?' }).waitFor()
    await ines.getByText('2 reservations').click()
    await ines.getByText("Jazz evening at Rui's").waitFor()

    await ines.getByRole('button', { name: 'Back' }).click()
    await ines.getByRole('searchbox').fill('Levon Sahakyan')
    await ines.getByRole('button', { name: 'Write to Levon Sahakyan' }).click()
    await ines.getByText('Say hello to Levon Sahakyan.').waitFor()
    await say(ines, 'Good morning, <b>Levon</b>!')
    await ines.locator('.message:not(.outgoing)', { hasText: 'Good morning, <b>Levon</b>!' }).waitFor()
    await ines.locator('.said', { hasText: 'You: Good morning, <b>Levon</b>!' }).waitFor({ state: 'attached' })
  })

  test('a message is live on the other side: counted, then read, with typing and ticks', async () => {
    const { page, ines, tomas } = await openBoth()
    await openWith(ines, 'Tomáš Novák')
    const entry = tomas.locator('.entry', { hasText: 'Inês Carvalho' })
    await entry.waitFor()
    const unread = async () => parseInt(await entry.locator('.badge').textContent().catch(() => '') || '0')
    const before = await entry.locator('.badge').count() ? await unread() : 0
    await say(ines, 'The terrace is free.')
    const sent = ines.locator('.message', { hasText: 'The terrace' })
    await sent.getByTitle('Sent').waitFor()
    await vi.waitFor(async () => expect(await unread()).toBe(before + 1), eventually)

    await openWith(tomas, 'Inês Carvalho')
    await tomas.locator('.message', { hasText: 'The terrace is free.' }).waitFor()
    await sent.getByTitle('Read').waitFor()
    await tomas.getByRole('textbox').pressSequentially('Then I')
    await ines.getByText('Tomáš Novák is writing').waitFor()
    await say(tomas, 'Then I come on Thursday!')
    await ines.locator('.message.others', { hasText: 'Then I come on Thursday!' }).waitFor()
    expect(await ines.locator('[aria-live=polite]').textContent()).toBe('Tomáš Novák: Then I come on Thursday!')
    expect(await ines.getByText('Tomáš Novák is writing').isVisible()).toBe(false)
    expect(await ines.locator('.day').last().textContent()).toBe('Today')
    await entry.locator('.badge').waitFor({ state: 'detached' })

    if (process.env.SCREENSHOT) {
      await tomas.getByRole('button', { name: 'Back' }).click()
      await tomas.getByRole('tab', { name: 'People' }).click()
      await tomas.getByRole('searchbox').fill('jazz')
      await tomas.getByRole('button', { name: 'Write to Inês Carvalho' }).waitFor()
      await page.screenshot({ path: process.env.SCREENSHOT })
    }
  })

  test('a cut connection loses nothing: what is said meanwhile comes once and in order', async () => {
    const { ines, tomas } = await openBoth()
    await openWith(ines, 'Tomáš Novák')
    await openWith(tomas, 'Inês Carvalho')
    await say(ines, 'before the cut')
    await tomas.locator('.message', { hasText: 'before the cut' }).waitFor()
    await ines.getByRole('button', { name: 'Cut the connection' }).click()
    await ines.locator('.status', { hasText: 'offline' }).waitFor()
    const others = ['one', 'two', 'three'].map((number) => `${number} from Tomáš`)
    for (const words of others) await say(tomas, words)
    await say(ines, 'own, first')
    await say(ines, 'own, second')
    await ines.locator('.outgoing.waiting', { hasText: 'Not sent yet' }).first().waitFor()
    await tomas.locator('.message:not(.outgoing)', { hasText: others[2]! }).waitFor()
    expect(await saidSince(tomas, 'before the cut')).toEqual(['before the cut', ...others])
    expect(await saidSince(ines, 'before the cut')).toEqual(['before the cut', 'own, first', 'own, second'])

    const all = ['before the cut', ...others, 'own, first', 'own, second']
    await ines.locator('.status', { hasText: 'live' }).waitFor({ timeout: 30_000 })
    await vi.waitFor(async () => {
      expect(await saidSince(ines, 'before the cut')).toEqual(all)
      expect(await saidSince(tomas, 'before the cut')).toEqual(all)
      expect(await ines.locator('.outgoing').count()).toBe(0)
    }, eventually)
  })

  test('a refused message says why, and can be tried again or discarded', async () => {
    const { ines } = await openBoth([400])
    await openWith(ines, 'Stavroula Mantzari')
    await say(ines, 'x'.repeat(20_001))
    const refused = ines.locator('.refused')
    await refused.getByRole('button', { name: 'Try again' }).click()
    expect(await refused.getByRole('alert').textContent()).toMatch(/^content: must have/)
    await refused.getByRole('button', { name: 'Discard' }).click()
    await refused.waitFor({ state: 'detached' })
  })

  test('older messages come in above when one scrolls up, and nothing moves under the eyes', async () => {
    const call = async (path: string, body: unknown, token = '') => {
      const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
      return await (await fetch(stack.base + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const { access_token } = await call('/auth/login', { email: 'ines.carvalho@example.com', password: 'voyage-2026' })
    const { id } = await call('/conversations', { other_user_id: 1 }, access_token)
    const numbers = Array.from({ length: 70 }, (_, index) => `number ${index + 1}`)
    for (const content of numbers) await call(`/conversations/${id}/messages`, { content }, access_token)

    const { page, ines } = await openBoth()
    await openWith(ines, 'number 70')
    const messages = ines.locator('.message .content')
    expect(await messages.count()).toBe(50)
    await ines.locator('.message', { hasText: 'number 70' }).waitFor()
    const scroller = ines.getByRole('region', { name: 'Messages' })
    expect(await scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(2)

    const moved = await scroller.evaluate(async (box) => {
      const topOf = (words: string) =>
        [...box.querySelectorAll('.message')].find((message) =>
          message.querySelector('.content')!.textContent === words
        )
          ?.getBoundingClientRect().top
      box.scrollTop = 10
      const before = topOf('number 21')!
      while (topOf('number 1') === undefined) await new Promise(requestAnimationFrame)
      return topOf('number 21')! - before
    })
    expect(Math.abs(moved)).toBeLessThan(2)
    expect(await messages.allTextContents()).toEqual(numbers)
    await page.waitForTimeout(100)
    expect(await ines.getByRole('button', { name: 'Older messages' }).isVisible()).toBe(false)
  })

  test('the keyboard alone leads from the log-in to a message and back', async () => {
    const { page, tomas, ines } = await open('/demo')
    await logIn(ines)
    const { keyboard } = page
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    const tabTo = async (words: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press('Tab')
        if ((await focused()).startsWith(words)) return
      }
      throw new Error(`Nothing with the focus says ${words}`)
    }
    await tomas.getByLabel('E-mail').waitFor()
    await tabTo('Log in')
    await keyboard.press('Enter')
    await tomas.locator('.entry').first().waitFor()
    expect(await focused()).toMatch(/^Conversations/)
    await keyboard.press('ArrowRight')
    expect(await focused()).toBe('People')
    await tomas.locator('.hit').first().waitFor()
    await keyboard.press('ArrowLeft')
    await tabTo('DM')
    await keyboard.press('Enter')
    await tomas.locator('.message', { hasText: 'Do you eat everything?' }).waitFor()
    await keyboard.type('Everything.')
    await keyboard.press('Shift+Enter')
    await keyboard.type('Almost.')
    await keyboard.press('Enter')
    await tomas.locator('.message:not(.outgoing)', { hasText: 'Everything.\nAlmost.' }).waitFor()
    await keyboard.press('Escape')
    expect(await focused()).toContain('Daisuke Morimoto')
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle)
    expect(outline).toBe('solid')
  })

  test('everything that can be used has a name, ids are unique, and the page has a language and a title', async () => {
    const { page, ines, tomas } = await openBoth()
    await openWith(ines, 'Tomáš Novák')
    await tomas.getByRole('tab', { name: 'People' }).click()
    await tomas.getByRole('group', { name: 'Cities' }).waitFor()
    expect(await page.title()).toBe('Voyagers and locals')
    const { nameless, doubled, language } = await page.evaluate(() => {
      const nameOf = (control: HTMLElement & Partial<HTMLInputElement>) =>
        control.getAttribute('aria-label') || control.labels?.[0]?.textContent || control.textContent
      const controls = [...document.querySelectorAll<HTMLElement>('button, a, input, select, textarea, [tabindex]')]
      const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
      return {
        nameless: controls.filter((control) => control.checkVisibility() && !nameOf(control)?.trim()).map((
          { outerHTML },
        ) => outerHTML),
        doubled: ids.filter((id, index) => ids.indexOf(id) !== index),
        language: document.documentElement.lang,
      }
    })
    expect({ nameless, doubled, language }).toEqual({ nameless: [], doubled: [], language: 'en' })
    for (const tab of await page.getByRole('tab').all()) {
      const panel = await tab.getAttribute('aria-controls')
      expect(await page.locator(`#${panel}[role=tabpanel]`).count()).toBe(1)
    }
  })

  test('a phone shows one person at a time, and nothing wider than itself', async () => {
    const { page, ines, tomas } = await open('/demo', { viewport: { width: 360, height: 700 }, colorScheme: 'dark' })
    await logIn(ines)
    expect(await tomas.isVisible()).toBe(false)
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
    expect(await fits()).toBe(true)
    await openWith(ines, 'Tomáš Novák')
    expect(await fits()).toBe(true)
    await page.getByRole('button', { name: 'Second person' }).click()
    await logIn(tomas)
    expect(await ines.isVisible()).toBe(false)
    await page.getByRole('button', { name: /^Tomáš Novák/, pressed: true }).waitFor()
    await tomas.getByRole('tab', { name: 'People' }).click()
    await tomas.locator('.hit').first().waitFor()
    expect(await fits()).toBe(true)
  })

  test('where there is no demo world somebody new signs up, alone in a window', async () => {
    const { page } = await open(`${inject('stack').origin}/demo?one`)
    const side = pane(page, 'Only')
    await side.getByLabel('E-mail').waitFor()
    expect(await page.getByRole('combobox').count()).toBe(0)
    await side.getByRole('button', { name: 'Sign up as somebody new' }).click()
    await side.getByLabel('Name').fill('Nadia Benali')
    await side.getByLabel('E-mail').fill(`nadia.${Date.now()}@example.com`)
    await side.getByLabel('Password').fill('correct horse')
    await side.getByRole('button', { name: 'Sign up', exact: true }).click()
    await side.getByRole('heading', { name: 'Nadia Benali', level: 2 }).waitFor()
    await side.getByText('Nothing yet: find somebody under People.').waitFor()
  })
})
