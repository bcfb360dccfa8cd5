/// <reference lib="dom" />
import { describe, expect, inject, test, vi } from 'vitest'
import { pause } from '../tools/wait.ts'
import { choose, hasBrowser, logIn, onlyPane, openDemo, openWith, sendMessage } from './browser.ts'

const eventually = { timeout: 50_000, interval: 50 }

describe.skipIf(!hasBrowser)('the demo page in a browser', { timeout: 120_000 }, () => {
  const { open, openBoth } = openDemo()

  test('two users log in side by side, stay logged in after a reload, and log out separately', async () => {
    const { page, ines, tomas } = await openBoth()
    await ines.getByRole('heading', { name: 'Inês Carvalho', level: 2 }).waitFor()
    await tomas.getByRole('heading', { name: 'Tomáš Novák', level: 2 }).waitFor()
    await page.reload()
    await ines.getByRole('heading', { name: 'Inês Carvalho', level: 2 }).waitFor()
    await choose(tomas, 'Log out', '.bar')
    await tomas.getByRole('button', { name: 'Log in', exact: true }).waitFor()
    expect(await ines.getByRole('heading', { level: 2 }).textContent()).toBe('Inês Carvalho')
  })

  test('a wrong password shows the error of Auth and focuses the password', async () => {
    const { ines } = await open('/demo/side-by-side', {}, [400])
    await ines.getByLabel('Password').fill('not this one')
    await ines.getByRole('button', { name: 'Log in', exact: true }).click()
    expect(await ines.getByRole('alert').filter({ visible: true }).textContent()).toBe('Invalid login credentials')
    await vi.waitFor(async () => {
      expect(await ines.getByLabel('Password').evaluate((input) => input === document.activeElement)).toBe(true)
    }, eventually)
  })

  test('search runs while typing, ignores stale responses, and filters by interest and city', async () => {
    const { page, ines } = await openBoth()
    await ines.getByRole('link', { name: 'People', exact: true }).click()
    const hits = ines.locator('.hit')
    await hits.first().waitFor()
    // Delay the response to the first letters until after the response to the whole query.
    let held = 0
    await page.route(/users\/search\?.*[?&]q=ti(&|$)/, async (route) => {
      held++
      await pause(1000)
      await route.continue().catch(() => {})
    })
    const box = ines.getByRole('combobox', { name: 'Search people' })
    await box.pressSequentially('ti')
    await vi.waitUntil(() => held === 1, eventually)
    const names = () => hits.getByRole('heading').allTextContents()
    const before = await names()
    const answered = page.waitForResponse((response) => /search\?.*[?&]q=tiled(\+|%20)stoves(&|$)/.test(response.url()))
    await box.pressSequentially('led stoves')
    await answered
    await ines.locator('[aria-busy=true]').waitFor({ state: 'detached' })
    const found = await names()
    expect(found).not.toEqual(before)
    await page.waitForTimeout(1100)
    expect(await names()).toEqual(found)

    await box.fill('')
    await ines.locator('.filters summary').click()
    await ines.getByRole('group', { name: 'Interests' }).getByRole('button', { name: /more/ }).click()
    await ines.getByRole('button', { name: 'Jazz', exact: true }).click()
    await vi.waitFor(async () => {
      const tags = await hits.evaluateAll((all) => all.map((hit) => hit.querySelector('.tags')?.textContent ?? ''))
      expect(tags.length).toBeGreaterThan(0)
      expect(tags.every((tag) => tag.includes('Jazz'))).toBe(true)
    }, eventually)
    await ines.getByRole('button', { name: 'Jazz', exact: true, pressed: true }).click()
    const city = ines.getByRole('group', { name: 'Cities' }).getByRole('button').first()
    const chosen = (await city.getAttribute('data-name'))!
    await city.click()
    await vi.waitFor(async () => {
      const where = await hits.locator('.where').allTextContents()
      expect(where.length).toBeGreaterThan(0)
      expect(where.every((place) => place.startsWith(chosen))).toBe(true)
    }, eventually)
    expect(await hits.first().locator('.fit').textContent()).toMatch(/^fits/)
    expect(await hits.first().locator('.fit').getAttribute('title')).toMatch(/^Ranking score 0\.\d+$/)
  })

  test('a profile leads to the existing conversation or to a new one', async () => {
    const { ines } = await openBoth([409])
    await ines.getByRole('link', { name: 'People', exact: true }).click()
    await ines.getByRole('combobox').fill('Tomáš Novák')
    await ines.getByRole('link', { name: 'Tomáš Novák' }).click()
    await ines.locator('.profile .text').waitFor()
    await ines.getByRole('button', { name: 'Open the conversation with Tomáš Novák' }).click()
    await ines.locator('.message', { hasText: 'Shall I keep you a chair?' }).waitFor()
    await ines.getByText('2 reservations').click()
    await ines.getByText("Jazz evening at Rui's").waitFor()

    // Back to the profile, and to the people.
    await ines.getByRole('button', { name: 'Back' }).click()
    await ines.locator('.profile').waitFor()
    await ines.getByRole('button', { name: 'Back' }).click()
    expect(await ines.getByRole('combobox').inputValue()).toBe('Tomáš Novák')
    await ines.getByRole('combobox').fill('Levon Sahakyan')
    await ines.getByRole('link', { name: 'Levon Sahakyan' }).click()
    await ines.getByRole('button', { name: 'Write to Levon Sahakyan' }).click()
    await ines.getByText('Say hello to Levon Sahakyan.').waitFor()
    await sendMessage(ines, 'Good morning, <b>Levon</b>!')
    await ines.locator('.message:not(.outgoing)', { hasText: 'Good morning, <b>Levon</b>!' }).waitFor()
    await ines.locator('.preview', { hasText: 'You: Good morning, <b>Levon</b>!' }).waitFor({ state: 'attached' })
    expect(await ines.locator('.message').count()).toBe(1)
  })

  test('log-in, pages, sending and going back work with the keyboard alone', async () => {
    const { page, tomas, ines } = await open()
    await logIn(ines)
    const { keyboard } = page
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press('Tab')
        if ((await focused()).startsWith(text)) return
      }
      throw new Error(`No focusable element starts with ${text}`)
    }
    await tomas.getByLabel('E-mail').waitFor()
    await tabTo('Log in')
    await keyboard.press('Enter')
    await tomas.locator('.entry').first().waitFor()
    expect(await focused()).toMatch(/^Conversations/)
    await tabTo('People')
    await keyboard.press('Enter')
    await tomas.locator('.hit').first().waitFor()
    expect(await focused()).toBe('People')
    await keyboard.press('Shift+Tab')
    await keyboard.press('Enter')
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
    const seen = await page.evaluate(() => {
      const focus = document.activeElement!
      return { isEntry: focus.matches('.entry'), outline: getComputedStyle(focus).outlineStyle }
    })
    expect(seen).toEqual({ isEntry: true, outline: 'solid' })
  })

  test('the focus stays on its conversation while the list is reordered', async () => {
    const { tomas } = await openBoth()
    await openWith(tomas, 'Daisuke Morimoto')
    await sendMessage(tomas, 'Is it open on Sundays?')
    await tomas.getByRole('button', { name: 'Back' }).click()
    await tomas.locator('.entry').first().filter({ hasText: 'Daisuke Morimoto' }).waitFor()
    const entry = tomas.locator('.entry', { hasText: 'Inês Carvalho' })
    await entry.focus()
    const another = await open()
    await logIn(another.ines)
    await openWith(another.ines, 'Tomáš Novák')
    await sendMessage(another.ines, 'Are you still there?')
    await tomas.locator('.entry').first().filter({ hasText: 'Are you still there?' }).waitFor()
    expect(await entry.evaluate((node) => node === document.activeElement)).toBe(true)
  })

  test('every control has an accessible name, ids are unique, and the page has a language and a title', async () => {
    const { page, ines, tomas } = await openBoth()
    await openWith(ines, 'Tomáš Novák')
    await tomas.getByRole('link', { name: 'People', exact: true }).click()
    await tomas.locator('.filters summary').click()
    await tomas.getByRole('group', { name: 'Cities' }).waitFor()
    expect(await page.title()).toBe('Voyagers and locals')
    const { nameless, duplicates, language } = await page.evaluate(() => {
      const nameOf = (control: HTMLElement & Partial<HTMLInputElement>) =>
        control.getAttribute('aria-label') || control.labels?.[0]?.textContent || control.textContent
      const controls = [...document.querySelectorAll<HTMLElement>('button, a, input, select, textarea, [tabindex]')]
      const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
      const nameless = controls.filter((control) => control.checkVisibility() && !nameOf(control)?.trim())
      return {
        nameless: nameless.map(({ outerHTML }) => outerHTML),
        duplicates: ids.filter((id, index) => ids.indexOf(id) !== index),
        language: document.documentElement.lang,
      }
    })
    expect({ nameless, duplicates, language }).toEqual({ nameless: [], duplicates: [], language: 'en' })
    expect(await page.locator('nav a[aria-current=page]').allTextContents()).toEqual([
      expect.stringMatching(/^Conversations/),
      'People',
    ])
  })

  test('a phone shows one pane at a time without horizontal scrolling', async () => {
    const { page, ines, tomas } = await open('/demo/side-by-side', {
      viewport: { width: 360, height: 700 },
      colorScheme: 'dark',
    })
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
    await tomas.getByRole('link', { name: 'People', exact: true }).click()
    await tomas.locator('.hit').first().waitFor()
    expect(await fits()).toBe(true)
  })

  test('without demo data a new user signs up, who has the window alone', async () => {
    const { page } = await open(`${inject('stack').origin}/demo`)
    const side = onlyPane(page)
    await side.getByLabel('E-mail').waitFor()
    expect(await page.getByRole('combobox').count()).toBe(0)
    await side.getByRole('button', { name: 'Create an account' }).click()
    await side.getByLabel('Name').fill('Nadia Benali')
    await side.getByLabel('E-mail').fill(`nadia.${Date.now()}@example.com`)
    await side.getByLabel('Password').fill('correct horse')
    await side.getByRole('button', { name: 'Sign up', exact: true }).click()
    await side.getByRole('heading', { name: 'Nadia Benali', level: 2 }).waitFor()
    await side.getByText('No conversations yet. Find someone under People.').waitFor()
  })
})
