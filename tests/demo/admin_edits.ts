import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Person } from '../tools/people.ts'
import { alertOf } from './admin.ts'
import { expectSoon } from './browser.ts'

/** Searches, suspends and lifts, is refused an edit, and erases. */
export const lookAfterPeople = async (page: Page, { ana, bob }: { ana: Person; bob: Person }): Promise<void> => {
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('searchbox').fill('bob <IMG')
  await page.keyboard.press('Enter')
  const card = page.getByRole('article', { name: bob.name })
  await card.getByText('hidden', { exact: true }).waitFor()
  await expectSoon(() => page.getByRole('article').count()).toBe(1)
  const decide = async (action: string, done: string) => {
    await card.getByRole('button', { name: action, exact: true }).click()
    await page.getByLabel('Why').fill(`${action} him`)
    await page.getByRole('dialog').getByRole('button', { name: action }).click()
    await card.getByText(done, { exact: true }).waitFor()
  }
  await decide('Suspend', 'suspended')
  expect((await bob.call('GET', '/users/me')).status).toBe(403)
  await decide('Lift suspension', 'active')
  expect((await bob.call('GET', '/users/me')).status).toBe(200)

  await card.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(' ')
  await dialog.getByLabel('Location').fill('Faro')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').filter({ visible: true }).waitFor()
  expect(await alertOf(dialog)).toBe('Not saved. The rule is: name is one line that shows something')
  expect(await dialog.getByLabel('Location').inputValue()).toBe('Faro')
  await dialog.getByLabel('Name').fill('Robert')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Nobody was found.').waitFor()

  await page.getByRole('searchbox').fill(`${ana.id}`)
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: ana.name }).getByRole('button', { name: 'Erase' }).click()
  await dialog.getByLabel('to confirm').fill(`${bob.id}`)
  await dialog.getByLabel('Why').fill('Asked for it')
  await dialog.getByRole('button', { name: 'Erase' }).click()
  expect(await alertOf(dialog)).toBe(`Not erased: type ${ana.id} to confirm`)
  await dialog.getByLabel('to confirm').fill(`${ana.id}`)
  await dialog.getByRole('button', { name: 'Erase' }).click()
  await page.getByRole('article', { name: 'Deleted user' }).waitFor()
}

/** Is refused a price, changes it and the status, and finds both in the history. */
export const changeReservation = async (page: Page, id: number): Promise<void> => {
  await page.getByRole('link', { name: 'Reservations' }).click()
  await page.getByLabel('Status').selectOption('pending')
  const card = page.getByRole('article', { name: `Reservation ${id}` })
  const dialog = page.getByRole('dialog')
  await card.getByRole('button', { name: 'Change' }).click()
  await dialog.getByLabel('Price').fill('-1')
  await dialog.getByLabel('Status').selectOption('accepted')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').filter({ visible: true }).waitFor()
  expect(await alertOf(dialog)).toBe('Not saved. The rule is: price is not negative')
  await dialog.getByLabel('Price').fill('20')
  await dialog.getByLabel('Ends').fill('2031-04-01T10:00')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('The rule is: ends_at must be after date').waitFor()
  await dialog.getByLabel('Ends').fill('2031-05-02T10:00')
  await dialog.getByRole('button', { name: 'Save' }).click()
  // It is not pending any more.
  await card.waitFor({ state: 'detached' })
  await dialog.waitFor({ state: 'hidden' })
  await page.getByLabel('Status').selectOption('accepted')
  await card.getByText('History (2)').click()
  await expectSoon(() => card.locator('.history li').allTextContents()).toEqual([
    expect.stringContaining('12.50'),
    expect.stringMatching(/accepted by an admin or the clock: .*20\.00$/),
  ])
  await page.goBack()
  await card.waitFor({ state: 'detached' })
}

/** Opens the page by the dashboard's cookie and loses it, as by a restart: what was typed stays. */
export const loseAccess = async (page: Page, origin: string): Promise<void> => {
  await page.goto(`${origin}/admin#people`)
  await page.getByRole('article').getByRole('button', { name: 'Change' }).first().click()
  await page.context().clearCookies()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Bio').fill('A long text')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').filter({ visible: true }).waitFor()
  expect(await alertOf(dialog)).toMatch(/^Your session has ended/)
  expect(await dialog.getByLabel('Bio').inputValue()).toBe('A long text')
  await page.reload()
  await page.getByLabel('Secret key').waitFor()
}
