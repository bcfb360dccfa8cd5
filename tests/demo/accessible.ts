/// <reference lib="dom" />
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type Demo, logIn } from './browser.ts'

/** A desktop and a phone, each with the other theme. */
const looks = [
  { width: 1280, height: 820, colorScheme: 'light' },
  { width: 390, height: 780, colorScheme: 'dark' },
] as const

type Finding = { id: string; nodes: { target: string[]; summary: string }[] }

/** What axe-core finds on the page as it is now, in both looks, and whether it fits the width. */
const findings = async (page: Page): Promise<(Finding | string)[]> => {
  const all: (Finding | string)[] = []
  for (const { width, height, colorScheme } of looks) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found = await page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
      return violations.map(({ id, nodes }) => ({
        id,
        nodes: nodes.map(({ target, failureSummary }) => ({
          target: target.map(String),
          summary: failureSummary ?? '',
        })),
      }))
    })
    all.push(...found)
    const widest = await page.evaluate(() => document.documentElement.scrollWidth)
    if (widest > width) all.push(`${widest} pixels wide on ${width}`)
  }
  return all
}

export const accessible = ({ open, base }: Demo) =>
  describe('every page in both themes, on a desktop and a phone', () => {
    test('has nothing that axe-core finds, and nothing that is cut off', async () => {
      const { page, you } = await open('/demo', {}, [404])
      await you.getByLabel('E-mail').waitFor()
      const check = async (what: string) => expect.soft([what, await findings(page)]).toEqual([what, []])
      const go = async (path: string, first: string) => {
        await page.goto(new URL(path, base()).href)
        await you.locator(first).first().waitFor()
        // Evaluated by the debugger, which the page's policy does not restrict.
        await page.evaluate(axe.source)
      }
      await page.evaluate(axe.source)
      await check('logging in')
      await logIn(you)
      await check('conversations')

      await go('/demo/c/1', '.message')
      await you.locator('.reservations summary').click()
      await check('a conversation with its reservations')
      await you.locator('.chat-bar .menu summary').click()
      await check('the menu of a conversation')
      await page.keyboard.press('Escape')
      await you.getByRole('button', { name: 'Offer a reservation' }).click()
      await check('an offer')
      await page.keyboard.press('Escape')

      await go('/demo/people?q=architecure', '.hit')
      await you.locator('.filters summary').click()
      await check('people with filters and a suggestion')
      await you.getByRole('combobox').fill('ja')
      await you.getByRole('option').first().waitFor()
      await you.locator('.people:not([aria-busy])').waitFor()
      await check('completions')
      await go('/demo/people?q=zzzzqqq', '.people .empty')
      await check('nobody found')
      await go('/demo/people/1', '.profile .text')
      await check('a profile')
      await go('/demo/people/99999', '.profile .empty')
      await check('no profile')
      await go('/demo/me', 'section')
      await you.getByRole('switch', { name: 'Quiet hours' }).check()
      await check("one's own profile")
    })
  })
