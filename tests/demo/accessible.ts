/// <reference lib="dom" />
import axe from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { choose, type Demo, expectSoon, isPhone, logIn, openFilters } from './browser.ts'

type Finding = { id: string; nodes: { target: string[]; summary: string }[] }

/** What axe-core finds on the page as it is now, and whether it fits the width. */
const findings = async (page: Page): Promise<(Finding | string)[]> => {
  const { violations, excess } = await page.evaluate(async () => {
    // The size of targets is off unless it is asked for.
    const options = { rules: { 'target-size': { enabled: true } } }
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(options)
    const found = violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ target, failureSummary }) => ({ target: target.map(String), summary: failureSummary ?? '' })),
    }))
    return { violations: found, excess: document.documentElement.scrollWidth - innerWidth }
  })
  return excess > 0 ? [...violations, `${excess} pixels too wide`] : violations
}

/** A phone that lies on its side shows the list, with its header, beside what is open. */
const checkOnItsSide = async (page: Page, you: Locator) => {
  const { width, height } = page.viewportSize()!
  await page.setViewportSize({ width: height, height: width })
  await you.getByRole('navigation', { name: 'Pages' }).waitFor()
  await you.getByRole('textbox', { name: 'Message to' }).waitFor()
  await page.setViewportSize({ width, height })
}

/** A phone's keyboard takes half of the height; a long message, the messages and the button to send still have room. */
const checkWithKeyboard = async (page: Page, you: Locator) => {
  const screen = page.viewportSize()!
  await page.setViewportSize({ ...screen, height: 440 })
  const text = you.getByRole('textbox', { name: 'Message to' })
  await text.fill('A line\n'.repeat(12))
  const box = async (part: Locator) => (await part.boundingBox())!
  await expectSoon(async () => (await box(you.locator('.log'))).height).toBeGreaterThan(80)
  const { y, height } = await box(you.getByRole('button', { name: 'Send' }))
  expect(y + height).toBeLessThanOrEqual(440)
  await text.fill('')
  await page.setViewportSize(screen)
}

export const accessible = ({ open, base }: Demo) =>
  describe('every page', () => {
    test('has nothing that axe-core finds, and nothing that is cut off', async () => {
      const { page, you } = await open('/demo', [404], { reducedMotion: 'reduce' })
      await you.getByLabel('E-mail').waitFor()
      const check = async (what: string) => expect.soft([what, await findings(page)]).toEqual([what, []])
      const go = async (path: string, first: string) => {
        await page.goto(new URL(path, base()).href)
        await you.locator(first).first().waitFor()
        // Evaluated by the debugger, which the page's policy does not restrict.
        await page.evaluate(axe.source)
      }
      await page.evaluate(axe.source)
      const faces = you.getByRole('list', { name: 'Some of the people here' })
      await expectSoon(() => faces.locator('img').count()).toBe(7)
      await check('logging in')
      await logIn(you)
      if (!isPhone) await you.locator('.overview .tile').first().waitFor()
      await check('conversations')

      await go('/demo/c/1', '.message')
      await you.locator('[data-reservation]').first().waitFor()
      await check('a conversation with its reservations')
      if (isPhone) {
        await checkWithKeyboard(page, you)
        await checkOnItsSide(page, you)
      }
      await you.locator('.chat-bar .menu summary').click()
      await check('the menu of a conversation')
      await page.keyboard.press('Escape')
      await you.getByRole('button', { name: 'Offer a reservation' }).click()
      await check('an offer')
      await page.keyboard.press('Escape')

      await go('/demo/people?q=architecure', '.hit')
      await openFilters(you)
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
      const uma = { email: 'uma@example.com', password: 'correct horse', name: 'Uma', is_searchable: true }
      const { access_token: token } = (await call('POST', `${base()}/auth/signup`, uma)).body
      const { body: person } = await call('GET', `${base()}/users/me`, undefined, { token })
      await go(`/demo/people/${person.Profile.id}`, '.profile .text')
      await you.getByRole('button', { name: 'Write' }).click()
      await check('a first message')
      await you.getByLabel('Your first message').fill('Quite a lot to say. '.repeat(200))
      await you.getByRole('button', { name: 'Send', exact: true }).click()
      await you.locator('.message:not(.outgoing)').getByRole('button', { name: 'Show more' }).waitFor()
      await check('a long message')
      await choose(you, 'Block…')
      await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
      await you.getByRole('button', { name: 'Unblock' }).waitFor()
      await check('a block')
      await go('/demo/me', 'section')
      await you.getByRole('switch', { name: 'Quiet hours' }).check()
      await you.getByText('Change the e-mail address').click()
      await check("one's own profile")
      await you.getByRole('region', { name: 'Photo' }).locator('input').setInputFiles('demo/portraits/tomas.novak.webp')
      await page.getByRole('dialog').getByRole('application').waitFor()
      await check('cutting out a photo')
    })
  })
