/// <reference lib="dom" />
import { describe, expect, inject, test } from 'vitest'
import { call } from '../tools/people.ts'
import { aWhile, eventually } from '../tools/wait.ts'
import {
  choose,
  type Demo,
  expectSoon,
  findPeople,
  isFocused,
  isPhone,
  logIn,
  onDesktop,
  openFilters,
  openWith,
  sendMessage,
} from './browser.ts'

export const page = ({ open, openColumn, openBoth, openSideBySide, base }: Demo) =>
  describe('the demo page in a browser', () => {
    onDesktop('two users log in, stay logged in after a reload, and log out separately', async () => {
      const { ines, tomas } = await openBoth()
      const nameOf = (side: typeof ines) => side.locator('.bar').getByRole('heading', { level: 2 })
      await expectSoon(() => nameOf(ines).textContent()).toBe('Inês Carvalho')
      await expectSoon(() => nameOf(tomas).textContent()).toBe('Tomáš Novák')
      await ines.page().reload()
      await expectSoon(() => nameOf(ines).textContent()).toBe('Inês Carvalho')
      await choose(tomas, 'Log out', '.bar')
      await tomas.getByRole('button', { name: 'Log in', exact: true }).waitFor()
      expect(await nameOf(ines).textContent()).toBe('Inês Carvalho')
    })

    onDesktop('a wrong password shows the error of Auth and focuses the password', async () => {
      const { you } = await open('/demo', [400])
      await you.getByLabel('E-mail').fill('ines.carvalho@example.com')
      await you.getByLabel('Password').fill('not this one')
      await you.getByRole('button', { name: 'Log in', exact: true }).click()
      await you.getByRole('alert').filter({ hasText: /^Invalid login credentials$/ }).waitFor()
      await expectSoon(() => isFocused(you.getByLabel('Password'))).toBe(true)
    })

    onDesktop('search runs while typing, ignores stale responses, and filters by interest and city', async () => {
      const ines = await openColumn()
      const page = ines.page()
      await findPeople(ines)
      const hits = ines.locator('.hit')
      // Hold the response to the first letters until after the response to the whole query.
      let held = 0
      let release = () => {}
      const released = new Promise<void>((resolve) => release = resolve)
      await page.route(/users\/search\?.*[?&]q=ti(&|$)/, async (route) => {
        held++
        await released
        await route.continue().catch(() => {})
      })
      const box = ines.getByRole('combobox', { name: 'Search people' })
      await box.pressSequentially('ti')
      await eventually(() => held === 1, 50)
      expect(held).toBe(1)
      const names = () => hits.getByRole('heading').allTextContents()
      const before = await names()
      const answered = page.waitForResponse((response) =>
        /search\?.*[?&]q=tiled(\+|%20)stoves(&|$)/.test(response.url())
      )
      await box.pressSequentially('led stoves')
      await answered
      await ines.locator('[aria-busy=true]').waitFor({ state: 'detached' })
      const found = await names()
      expect(found).not.toEqual(before)
      release()
      await aWhile()
      expect(await names()).toEqual(found)

      await box.fill('')
      await openFilters(ines)
      await ines.getByRole('group', { name: 'Interests' }).getByRole('button', { name: /more/ }).click()
      await ines.getByRole('button', { name: 'Jazz', exact: true }).click()
      const textsOf = (part: string) =>
        hits.evaluateAll((all, part) => all.map((hit) => hit.querySelector(part)?.textContent ?? ''), part)
      await expectSoon(() => textsOf('.tags')).toSatisfy((tags: string[]) =>
        tags.length > 0 && tags.every((tag) => tag.includes('Jazz'))
      )
      await ines.getByRole('button', { name: 'Jazz', exact: true, pressed: true }).click()
      await ines.getByRole('button', { name: 'Jazz', exact: true, pressed: false }).waitFor()
      // The counts arrive with the people found, and may change which city is first.
      await ines.locator('[aria-busy=true]').waitFor({ state: 'detached' })
      const cities = ines.getByRole('group', { name: 'Cities' })
      const chosen = (await cities.getByRole('button').first().getAttribute('data-name'))!
      await cities.locator(`[data-name="${chosen}"]`).click()
      await expectSoon(() => textsOf('.where')).toSatisfy((places: string[]) =>
        places.length > 0 && places.every((place) => place.startsWith(chosen))
      )
      expect(await hits.first().locator('.fit').getAttribute('title')).toMatch(/^Ranking score 0\.\d+$/)
    })

    test('a profile leads to the existing conversation or to a new one', async () => {
      const ines = await openColumn([409])
      await findPeople(ines)
      await ines.getByRole('combobox').fill('Tomáš Novák')
      await ines.getByRole('link', { name: 'Tomáš Novák' }).click()
      await ines.locator('.profile .text').waitFor()
      await ines.getByRole('button', { name: 'Open the conversation with Tomáš Novák' }).click()
      await ines.locator('.message', { hasText: 'Shall I keep you a chair?' }).waitFor()
      await ines.locator('[data-reservation]', { hasText: "Jazz evening at Rui's" }).waitFor()

      // Back to the profile, and to the people.
      await ines.getByRole('button', { name: 'Back' }).click()
      await ines.locator('.profile').waitFor()
      await ines.getByRole('button', { name: 'Back' }).click()
      await expectSoon(() => ines.getByRole('combobox').inputValue()).toBe('Tomáš Novák')
      await ines.getByRole('combobox').fill('Levon Sahakyan')
      await ines.getByRole('link', { name: 'Levon Sahakyan' }).click()
      await ines.getByRole('button', { name: 'Write to Levon Sahakyan' }).click()
      await ines.getByLabel('Your first message to Levon Sahakyan').fill('Good morning, <b>Levon</b>!')
      await ines.getByRole('button', { name: 'Send', exact: true }).click()
      await ines.locator('.message:not(.outgoing)', { hasText: 'Good morning, <b>Levon</b>!' }).waitFor()
      await ines.locator('.preview', { hasText: 'You: Good morning, <b>Levon</b>!' }).waitFor({ state: 'attached' })
      await expectSoon(() => ines.locator('.message').count()).toBe(1)
    })

    onDesktop('log-in, pages, sending and going back work with the keyboard alone', async () => {
      const { page, tomas, ines } = await openSideBySide()
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
      await tabTo('TNWalk in as Tomáš')
      await keyboard.press('Enter')
      await tomas.locator('.entry').first().waitFor()
      await expectSoon(focused).toMatch(/^Conversations/)
      await tabTo('People')
      await keyboard.press('Enter')
      await tomas.locator('.hit').first().waitFor()
      await expectSoon(focused).toBe('People')
      await keyboard.press('Shift+Tab')
      await keyboard.press('Enter')
      await tomas.locator('.entry').first().waitFor()
      await tabTo('DM')
      await keyboard.press('Enter')
      await tomas.locator('.message', { hasText: 'Do you eat everything?' }).waitFor()
      await tomas.locator('textarea:focus').waitFor()
      await keyboard.type('Everything.')
      await keyboard.press('Shift+Enter')
      await keyboard.type('Almost.')
      await keyboard.press('Enter')
      await tomas.locator('.message:not(.outgoing)', { hasText: 'Everything.\nAlmost.' }).waitFor()
      await keyboard.press('Escape')
      await tomas.locator('.entry:focus', { hasText: 'Daisuke Morimoto' }).waitFor()
      const outline = () => tomas.locator('.entry:focus').evaluate((entry) => getComputedStyle(entry).outlineStyle)
      await expectSoon(outline).toBe('solid')
    })

    onDesktop('the focus stays on its conversation while the list is reordered', async () => {
      const { ines, tomas } = await openBoth()
      await openWith(tomas, 'Daisuke Morimoto')
      await sendMessage(tomas, 'Is it open on Sundays?')
      await tomas.getByRole('button', { name: 'Back' }).click()
      await tomas.locator('.entry').first().filter({ hasText: 'Daisuke Morimoto' }).waitFor()
      const entry = tomas.locator('.entry', { hasText: 'Inês Carvalho' })
      await entry.focus()
      // Not in her pane, which would take the focus.
      const account = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
      const { access_token: token } = (await call('POST', `${base()}/auth/login`, account)).body
      const id = (await entry.getAttribute('href'))!.split('/').at(-1)
      await call('POST', `${base()}/conversations/${id}/messages`, { content: 'Are you still there?' }, { token })
      await tomas.locator('.entry').first().filter({ hasText: 'Are you still there?' }).waitFor()
      expect(await isFocused(entry)).toBe(true)
      await ines.locator('.entry', { hasText: 'Are you still there?' }).waitFor()
    })

    onDesktop('every control has an accessible name, ids are unique, and the page has language and title', async () => {
      const { ines, tomas } = await openBoth()
      await openWith(ines, 'Tomáš Novák')
      await findPeople(tomas)
      await openFilters(tomas)
      await tomas.getByRole('group', { name: 'Cities' }).waitFor()
      const current = []
      for (const page of new Set([ines.page(), tomas.page()])) {
        expect(await page.title()).toMatch(/Voyagers and locals$/)
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
        current.push(...await page.locator('nav a[aria-current=page]').allTextContents())
      }
      expect(current).toEqual([expect.stringMatching(/^Conversations/), 'People'])
    })

    // The window of a desktop has room for both.
    test.runIf(isPhone)('a phone shows one pane at a time without horizontal scrolling', async () => {
      const { page, ines, tomas } = await openSideBySide([], { viewport: { width: 360, height: 700 } })
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
      await findPeople(tomas)
      expect(await fits()).toBe(true)
    })

    test('without demo data a new user signs up, who has the window alone', async () => {
      const { page, you } = await open(`${inject('stack').origin}/demo`)
      await you.getByLabel('E-mail').waitFor()
      expect(await page.getByRole('combobox').count()).toBe(0)
      await you.getByRole('button', { name: 'Create an account' }).click()
      await you.getByLabel('Name').fill('Nadia Benali')
      await you.getByLabel('E-mail').fill(`nadia.${Date.now()}@example.com`)
      await you.getByLabel('Password').fill('correct horse')
      await you.getByRole('button', { name: 'Sign up', exact: true }).click()
      const name = you.locator('.bar').getByRole('heading', { level: 2 })
      await expectSoon(() => name.textContent()).toBe('Nadia Benali')
      await you.getByText('No conversations yet. Find someone under People.').waitFor()
    })
  })
