/// <reference lib="dom" />
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hasBrowser, openDemo, openWith, pane, sendMessage } from './browser.ts'

/** Saves a picture if SCREENSHOTS names a folder. */
const picture = async (page: Page, name: string) => {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` })
}

const choose = async (side: Locator, label: string) => {
  await side.locator('.menu summary').click()
  await side.getByRole('button', { name: label }).click()
}

describe.skipIf(!hasBrowser)('what two people do besides writing', { timeout: 120_000 }, () => {
  const { openBoth, open } = openDemo()

  test('an offer is changed by the other, accepted, and cancelled; both see each step at once', async () => {
    const { page, ines, tomas } = await openBoth([400])
    await openWith(ines, 'Tomáš Novák')
    await openWith(tomas, 'Inês Carvalho')
    for (const side of [ines, tomas]) await side.locator('.reservations summary').click()
    await ines.getByRole('button', { name: 'Offer a reservation' }).click()
    await picture(page, 'offer')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What').fill('A walk through Graça')
    await dialog.getByLabel('From').fill('2001-05-14T18:00')
    await dialog.getByRole('button', { name: 'Send the offer' }).click()
    expect(await dialog.getByRole('alert').filter({ visible: true }).textContent()).toContain('date')
    await dialog.getByLabel('From').fill('2031-05-14T18:00')
    await dialog.getByLabel('Until').fill('2031-05-14T20:30')
    await dialog.getByLabel('Price').fill('12.5')
    await dialog.getByRole('button', { name: 'Send the offer' }).click()
    const of = (side: Locator) => side.locator('[data-reservation]', { hasText: 'A walk through Graça' })
    await of(ines).getByText('Waiting for Tomáš Novák').waitFor()
    await of(tomas).getByText('Your answer?').waitFor()
    expect(await of(tomas).locator('.when').textContent()).toBe('14 May, 18:00 – 20:30 · 12.50')
    expect(await of(ines).getByRole('button').allTextContents()).toEqual(['Change', 'Cancel'])
    await picture(page, 'offered')

    await of(tomas).getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('Price').fill('10')
    await dialog.getByRole('button', { name: 'Send the change' }).click()
    await of(ines).getByText('Your answer?').waitFor()
    await of(ines).getByText('10.00').waitFor()
    await of(ines).getByRole('button', { name: 'Accept' }).click()
    for (const side of [ines, tomas]) await of(side).getByText('Agreed').waitFor()
    await of(tomas).getByRole('button', { name: 'Cancel' }).click()
    for (const side of [ines, tomas]) await of(side).getByText('Cancelled').waitFor()
    expect(await of(ines).getByRole('button').count()).toBe(0)
  })

  test('a conversation is pinned and muted, archived, and back with the next message', async () => {
    const { page, ines, tomas } = await openBoth()
    const entries = tomas.locator('.entry')
    await entries.nth(1).waitFor()
    const last = (await entries.last().locator('.name').textContent())!
    await entries.last().click()
    await choose(tomas, 'Pin to the top')
    await entries.first().filter({ hasText: last }).getByText('pinned').waitFor({ state: 'attached' })
    await choose(tomas, 'Mute for 8 hours')
    await entries.first().getByText('muted').waitFor({ state: 'attached' })
    await tomas.locator('.menu summary').click()
    await picture(page, 'menu')
    await tomas.getByRole('button', { name: 'Unpin' }).click()
    await choose(tomas, 'Unmute')
    await tomas.getByRole('button', { name: 'Back' }).click()

    await openWith(tomas, 'Inês Carvalho')
    await choose(tomas, 'Archive')
    await tomas.getByRole('button', { name: 'Back' }).click()
    const entry = tomas.locator('.entry', { hasText: 'Inês Carvalho' })
    await entry.waitFor({ state: 'detached' })
    await tomas.getByRole('button', { name: 'Archived (1)' }).click()
    await entry.waitFor()
    await openWith(ines, 'Tomáš Novák')
    await sendMessage(ines, 'Did you forget me?')
    await tomas.getByRole('button', { name: 'Back to the inbox' }).waitFor({ state: 'hidden' })
    await entry.getByText('Did you forget me?').waitFor()
    expect(await tomas.locator('.entry').count()).toBeGreaterThan(1)
  })

  test('a report is sent once and says that nobody is told; a block keeps both from writing', async () => {
    const { page } = await open('/demo', {}, [403])
    const ines = pane(page, 'First')
    await ines.getByRole('button', { name: 'Log in', exact: true }).click()
    await ines.locator('.entry').last().click()
    await choose(ines, 'Report…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What is wrong?').selectOption('A scam, or money')
    await dialog.getByLabel('What happened?').fill('Asked for money before we had met')
    await dialog.getByLabel('Show the moderators').check()
    await picture(page, 'report')
    await dialog.getByRole('button', { name: 'Send the report' }).click()
    await ines.getByText('is not told').waitFor()
    await choose(ines, 'Block…')
    await dialog.getByRole('button', { name: 'Block', exact: true }).click()
    await ines.getByText('You have blocked').waitFor()
    await sendMessage(ines, 'Anyway')
    await ines.locator('.message', { hasText: 'You cannot write to this person' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('dialogs and the menu work with the keyboard: Escape closes them, and the focus returns', async () => {
    const { page } = await open('/demo')
    const ines = pane(page, 'First')
    await ines.getByRole('button', { name: 'Log in', exact: true }).click()
    await ines.locator('.entry').first().click()
    await ines.locator('.message').first().waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await ines.locator('.menu summary').focus()
    await page.keyboard.press('Enter')
    await ines.getByRole('button', { name: 'Archive' }).waitFor()
    await page.keyboard.press('Escape')
    await ines.getByRole('button', { name: 'Archive' }).waitFor({ state: 'hidden' })
    expect(await focused()).toBe('More')
    await ines.locator('.reservations summary').focus()
    await page.keyboard.press('Enter')
    await ines.getByRole('button', { name: 'Offer a reservation' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Offer a reservation')
    // The conversation is still open.
    expect(await ines.locator('.message').count()).toBeGreaterThan(0)
  })
})
