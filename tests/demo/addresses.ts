/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'
import { call } from '../tools/people.ts'
import { choose, type Demo, logIn, onlyPane } from './browser.ts'

const eventually = { timeout: 50_000, interval: 50 }

export const addresses = ({ open, base }: Demo) =>
  describe('one person with addresses', () => {
    const openOne = async (path = '/demo', refusals: number[] = []) => {
      const { page, you } = await open(path, {}, refusals)
      await logIn(you)
      return { page, you }
    }
    const address = (page: Page) => page.url().slice(new URL(base()).origin.length)
    const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

    test('links lead to pages; back, forward and reload show them again, with the focus and the title', async () => {
      const { page, you } = await openOne()
      await you.locator('.entry', { hasText: 'Tomáš Novák' }).click()
      await you.locator('.message').first().waitFor()
      const conversation = address(page)
      expect(conversation).toMatch(/^\/demo\/c\/\d+$/)
      await vi.waitFor(async () => expect(await page.title()).toMatch(/Tomáš Novák – Voyagers and locals$/), eventually)
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')

      await you.getByRole('button', { name: 'Tomáš Novák' }).click()
      await you.locator('.profile .text').waitFor()
      expect(address(page)).toMatch(/^\/demo\/people\/\d+$/)
      expect(await focused(page)).toMatch(/^Profile/)
      await page.goBack()
      await you.locator('.message').first().waitFor()
      expect(address(page)).toBe(conversation)
      await page.reload()
      await you.locator('.message').first().waitFor()
      await page.goBack()
      await vi.waitFor(() => expect(address(page)).toBe('/demo'), eventually)
      expect(await you.locator('.entry:focus').count()).toBe(1)
      await page.goForward()
      await you.locator('.message').first().waitFor()
    })

    test('a search is in the address: words replace it while typing, a filter is a step that back undoes', async () => {
      const { page, you } = await openOne()
      await you.getByRole('link', { name: 'People', exact: true }).click()
      await you.locator('.hit').first().waitFor()
      const box = you.getByRole('combobox')
      await box.pressSequentially('coffee')
      await vi.waitFor(() => expect(address(page)).toBe('/demo/people?q=coffee'), eventually)
      await page.keyboard.press('Tab')
      await you.locator('.filters summary').click()
      await you.getByRole('group', { name: 'Countries' }).getByRole('button').first().click()
      await vi.waitFor(() => expect(address(page)).toMatch(/^\/demo\/people\?q=coffee&country=\w+/), eventually)
      const filtered = address(page)
      await page.reload()
      await you.locator('.hit').first().waitFor()
      expect(await box.inputValue()).toBe('coffee')
      expect(await you.locator('.filters summary').textContent()).toMatch(/^Filters: \w+/)

      await you.locator('.hit a').first().click()
      await you.locator('.profile .text').waitFor()
      await page.goBack()
      await vi.waitFor(() => expect(address(page)).toBe(filtered), eventually)
      await you.locator('.hit a:focus').waitFor()
      await page.goBack()
      await vi.waitFor(() => expect(address(page)).toBe('/demo/people?q=coffee'), eventually)
      expect(await you.locator('.filters summary').textContent()).toBe('Filters')
      await page.goBack()
      await vi.waitFor(() => expect(address(page)).toBe('/demo'), eventually)

      // Who leaves while typing stays where they went.
      await you.getByRole('link', { name: 'People', exact: true }).click()
      await you.locator('.hit').first().waitFor()
      await box.evaluate((input: HTMLInputElement) => {
        input.value = 'tea'
        input.dispatchEvent(new Event('input'))
        document.querySelector<HTMLElement>('nav a[href="/demo"]')!.click()
      })
      await page.waitForTimeout(300)
      expect(address(page)).toBe('/demo')

      // Who types beside an open profile keeps the focus while the profile closes.
      await you.getByRole('link', { name: 'People', exact: true }).click()
      await you.locator('.hit a').first().click()
      await you.locator('.profile .text').waitFor()
      await box.fill('li')
      await you.locator('.profile').waitFor({ state: 'detached' })
      await page.keyboard.type('sbon')
      expect(await box.inputValue()).toBe('lisbon')
    })

    test('an address opens in a new tab with the same session, and logging out leaves it', async () => {
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
        await vi.waitFor(() => expect(address(left)).toBe('/demo'), eventually)
        expect(await left.getByRole('dialog').count()).toBe(0)
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
    })

    test('dates, prices and times are written as the browser is set, with their time zone', async () => {
      const { page, you } = await open('/demo/c/1', { locale: 'de-DE', timezoneId: 'Asia/Tokyo' })
      // As WebKit has it on a Linux without a language; what is no language is passed over.
      await page.addInitScript("Object.defineProperty(navigator, 'languages', { value: ['C', 'de-DE'] })")
      await page.reload()
      await logIn(you)
      await you.locator('.reservations summary').click()
      const jazz = you.locator('[data-reservation]', { hasText: 'Jazz' })
      expect(await jazz.locator('.when').textContent()).toMatch(/^Fr\., \d+\. \w+\.?,? \d\d:\d\d (MGZ|GMT)\+9 · 12,50$/)
      expect(await you.locator('.entry', { hasText: 'Tomáš' }).locator('.when').getAttribute('title')).toMatch(
        / um .* MGZ|GMT/,
      )
    })

    test('the side-by-side view has one address, whatever its panes show', async () => {
      const { page, ines } = await open()
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
