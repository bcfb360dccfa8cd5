/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { aWhile } from '../tools/wait.ts'
import {
  choose,
  type Demo,
  expectSoon,
  findPeople,
  isPhone,
  logIn,
  onDesktop,
  onlyPane,
  openFilters,
  openWith,
  toList,
} from './browser.ts'

export const addresses = ({ openOne, openSideBySide, base }: Demo) =>
  describe('one person with addresses', () => {
    const address = (page: Page) => page.url().slice(new URL(base()).origin.length)
    const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

    test('links lead to pages; back, forward and reload show them again, with the focus and the title', async () => {
      const { page, you } = await openOne()
      await openWith(you, 'Tomáš Novák')
      const conversation = address(page)
      expect(conversation).toMatch(/^\/demo\/c\/\d+$/)
      await expectSoon(() => page.title()).toMatch(/Tomáš Novák – Voyagers and locals$/)
      await you.locator(isPhone ? '.chat-bar .plain:focus' : 'textarea:focus').waitFor()

      await you.getByRole('button', { name: 'Tomáš Novák' }).click()
      await you.locator('.profile .text').waitFor()
      await expectSoon(() => address(page)).toMatch(/^\/demo\/people\/\d+$/)
      await expectSoon(() => focused(page)).toMatch(/^Profile/)
      await page.goBack()
      await you.locator('.message').first().waitFor()
      await expectSoon(() => address(page)).toBe(conversation)
      await page.reload()
      await you.locator('.message').first().waitFor()
      // The list may come after the messages.
      await you.locator('.entry', { hasText: 'Tomáš Novák' }).waitFor({ state: 'attached' })
      await page.goBack()
      await expectSoon(() => address(page)).toBe('/demo')
      await you.locator('.entry:focus').waitFor()
      await page.goForward()
      await you.locator('.message').first().waitFor()
    })

    onDesktop('a search is in the address: words replace it while typing, and back undoes a filter', async () => {
      const { page, you } = await openOne()
      await findPeople(you)
      const box = you.getByRole('combobox')
      await box.pressSequentially('coffee')
      await expectSoon(() => address(page)).toBe('/demo/people?q=coffee')
      await page.keyboard.press('Tab')
      await openFilters(you)
      await you.getByRole('group', { name: 'Countries' }).getByRole('button').first().click()
      await expectSoon(() => address(page)).toMatch(/^\/demo\/people\?q=coffee&country=\w+/)
      const filtered = address(page)
      await page.reload()
      await you.locator('.hit').first().waitFor()
      await expectSoon(() => box.inputValue()).toBe('coffee')
      await expectSoon(() => you.locator('.filters summary').textContent()).toMatch(/^Filters: \w+/)

      await you.locator('.hit a').first().click()
      await you.locator('.profile .text').waitFor()
      await page.goBack()
      await expectSoon(() => address(page)).toBe(filtered)
      await you.locator('.hit a:focus').waitFor()
      await page.goBack()
      await expectSoon(() => address(page)).toBe('/demo/people?q=coffee')
      await expectSoon(() => you.locator('.filters summary').textContent()).toBe('Filters')
      await page.goBack()
      await expectSoon(() => address(page)).toBe('/demo')

      // Who leaves while typing stays where they went.
      await findPeople(you)
      await box.evaluate((input: HTMLInputElement) => {
        input.value = 'tea'
        input.dispatchEvent(new Event('input'))
        document.querySelector<HTMLElement>('nav a[href="/demo"]')!.click()
      })
      await aWhile()
      expect(address(page)).toBe('/demo')

      // Who types beside an open profile keeps the focus while the profile closes.
      await findPeople(you)
      await you.locator('.hit a').first().click()
      await you.locator('.profile .text').waitFor()
      await box.fill('li')
      await you.locator('.profile').waitFor({ state: 'detached' })
      await page.keyboard.type('sbon')
      expect(await box.inputValue()).toBe('lisbon')
    })

    onDesktop('an address opens in a new tab with the same session, and logging out leaves it', async () => {
      const { page, you } = await openOne('/demo/me')
      await you.getByRole('heading', { name: 'Your profile' }).waitFor()
      const tab = await page.context().newPage()
      await tab.goto(new URL('/demo/c/1', base()).href)
      await tab.locator('.message').first().waitFor()
      await choose(onlyPane(tab), 'Report…')
      await tab.getByRole('dialog').waitFor()
      await choose(you, 'Log out', '.bar')
      // Neither the page nor the dialog is left for the next user, in no tab.
      for (const left of [page, tab]) {
        await left.getByRole('button', { name: 'Log in', exact: true }).waitFor()
        await expectSoon(() => address(left)).toBe('/demo')
        await expectSoon(() => left.getByRole('dialog').count()).toBe(0)
      }
      await tab.close()
    })

    test('a page that is not there, or not for everybody, is explained in a sentence', async () => {
      const { body } = await call('POST', `${base()}/auth/signup`, {
        email: 'hidden@example.com',
        password: 'correct horse',
        name: 'Hidden',
      })
      const me = await call('GET', `${base()}/users/me`, undefined, { token: body.access_token })
      const { page, you } = await openOne('/demo/c/99999', [403, 404])
      const expectText = async (path: string, text: string) => {
        await page.goto(new URL(path, base()).href)
        await you.getByText(text).waitFor()
      }
      await you.getByText('There is no such conversation, or it is not yours.').waitFor()
      expect(await you.getByRole('textbox').count()).toBe(0)
      await expectText('/demo/people/99999', 'There is no such person here.')
      await expectText(`/demo/people/${me.body.Profile.id}`, 'This profile is not shown')
      expect(await you.getByRole('button', { name: 'Write' }).count()).toBe(0)
      await expectText('/demo/c/seven', 'There is no such page.')
      await toList(you)
      await you.locator('.entry').first().waitFor()
    })

    // A phone shows the list alone.
    onDesktop(
      'beside the list is what waits for an answer, and people near to one’s interests',
      async () => {
        const { page, you } = await openOne()
        const waiting = you.getByRole('region', { name: 'Waiting for your answer' })
        const people = you.getByRole('region', { name: 'People near to your interests' })
        await expectSoon(() => people.getByRole('listitem').count()).toBe(6)
        const name = await people.locator('.name').first().textContent()
        await people.getByRole('link').first().click()
        await you.locator('.profile').getByRole('heading', { name: name! }).waitFor()
        await page.goBack()
        await waiting.getByRole('link').first().click()
        await you.locator('.next', { hasText: 'Your answer?' }).waitFor()
      },
    )

    onDesktop('dates, prices and times are written as the browser is set, with their time zone', async () => {
      const { page, you } = await openOne('/demo/c/1', [], { locale: 'de-DE', timezoneId: 'Asia/Tokyo' })
      // As WebKit has it on a Linux without a language; what is no language is passed over.
      await page.addInitScript("Object.defineProperty(navigator, 'languages', { value: ['C', 'de-DE'] })")
      await page.reload()
      const jazz = you.locator('[data-reservation]', { hasText: 'Jazz' })
      expect(await jazz.locator('.when').textContent()).toMatch(/^Fr\., \d+\. \w+\.?,? \d\d:\d\d (MGZ|GMT)\+9 · 12,50$/)
      expect(await you.locator('.entry', { hasText: 'Tomáš' }).locator('.when').getAttribute('title')).toMatch(
        / um .* MGZ|GMT/,
      )
    })

    // Nobody has two people side by side on a phone.
    onDesktop('the side-by-side view has one address, whatever its panes show', async () => {
      const { page, ines } = await openSideBySide()
      await logIn(ines)
      await ines.getByRole('link', { name: 'People', exact: true }).click()
      await ines.locator('.hit a').first().click()
      await ines.locator('.profile .text').waitFor()
      expect(address(page)).toBe('/demo/side-by-side')
      await ines.getByRole('button', { name: 'Back' }).click()
      await ines.locator('.hit').first().waitFor()
      await page.getByRole('link', { name: 'One person' }).click()
      await page.getByRole('button', { name: 'Log in', exact: true }).waitFor()
      expect(address(page)).toBe('/demo')
    })
  })
