/// <reference lib="dom" />
import axe from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { call, openConversation, sendMessage, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { expectSoon, isFocused } from './browser.ts'

const markup = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>`

/** Two people, a report of the first about a message of the second, and a reservation. */
export const makeHistory = async (base: string) => {
  const ana = await signUp('Ana of the reports', {}, base)
  const bob = await signUp(`Bob ${markup}`.slice(0, 100), {}, base)
  const conversation = await openConversation(ana, bob)
  const { id } = await sendMessage(bob, conversation, markup)
  const reported = await ana.call('POST', '/users/me/reports', { message_id: id, reason: 'scam', note: markup })
  await ana.call('POST', '/users/me/reports', { user_id: bob.id, reason: 'spam' })
  const offered = await ana.call('POST', `/conversations/${conversation}/reservations`, {
    title: markup,
    price: 12.5,
    date: '2031-05-01T10:00:00Z',
    ends_at: '2031-05-01T12:00:00Z',
  })
  expect([reported.status, offered.status]).toEqual([201, 201])
  return { ana, bob, report: reported.body.id as number, reservation: offered.body.id as number }
}

/** No findings of axe-core, and nothing to scroll to sideways. */
const isAccessible = async (page: Page): Promise<void> => {
  if (!await page.evaluate('"axe" in window')) await page.evaluate(axe.source)
  const findings = await page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`)
  expect([page.url(), findings]).toEqual([page.url(), []])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
}

/** What a refused edit says in its place. */
export const alertOf = (place: Locator) => place.getByRole('alert').filter({ visible: true }).textContent()

/** Enters with the key, after one that is wrong. The key stays nowhere. */
export const enter = async (page: Page, origin: string): Promise<void> => {
  await page.goto(`${origin}/admin`)
  await isAccessible(page)
  await page.getByLabel('Secret key').fill(testKeys.publishableKey)
  await page.keyboard.press('Enter')
  expect(await alertOf(page.locator('main'))).toBe('This is not the secret key of this stack.')
  await page.getByLabel('Secret key').fill(testKeys.secretKey)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Today' }).waitFor()
  const kept = () => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href])
  expect(await page.evaluate(kept)).toBe(JSON.stringify(['', {}, {}, `${origin}/admin`]))
}

/** What waits leads to the reports, and the plots count what people did: the stack is minutes old. */
export const readToday = async (page: Page, base: string): Promise<void> => {
  expect((await call('GET', `${base}/users/search?q=nobody`)).status).toBe(200)
  await page.getByRole('button', { name: 'Read again' }).click()
  const waiting = page.getByRole('listitem').filter({ hasText: 'Open reports' })
  await expectSoon(() => waiting.textContent()).toMatch(/^Open reports: 2, the oldest for \d+ seconds?$/)
  const counted = async (plot: string) =>
    /\d+/.exec((await page.locator('figcaption', { hasText: plot }).textContent())!)![0]
  const rows = async (table: string) => {
    const path = `${new URL(base).origin}/rest/v1/${table}?select=id`
    return `${(await call('GET', path, undefined, { headers: { apikey: testKeys.secretKey } })).body.length}`
  }
  const made = await Promise.all(['messages', 'users', 'reports'].map(rows))
  await expectSoon(() => Promise.all(['Messages', 'Sign-ups', 'Reports', 'Searches', 'Errors'].map(counted)))
    .toEqual([...made, '1', '0'])
  await isAccessible(page)
  await waiting.getByRole('link').click()
  await page.getByRole('heading', { name: 'Open reports' }).waitFor()
}

/** Everything about a person is on one page, and keys lead from it. */
export const readPerson = async (page: Page, person: number, report: number, origin: string): Promise<void> => {
  await page.goto(`${origin}/admin#people?q=${person}`)
  const section = (name: string) => page.getByRole('region', { name })
  await section('Reports about them').getByText(`Report ${report}`).waitFor()
  expect(await section('Reports about them').locator('.tag').allTextContents()).toEqual(['dismiss', 'hide'])
  expect(await section('Reports by them').textContent()).toContain('none')
  expect(await section('Reservations').getByRole('listitem').textContent()).toContain(`${markup} pending`)
  expect(await page.getByText(/^1 conversation, 1 message sent\.$/).count()).toBe(1)
  expect(await section('Decisions').locator('.tag').allTextContents()).toEqual(['dismiss', 'hide', 'read evidence'])
  await isAccessible(page)
  // The keys do what `?` says, but not while one types.
  await page.keyboard.press('?')
  await page.getByText('/ searches people').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('l')
  await page.getByRole('heading', { name: 'Moderation log' }).waitFor()
  await page.keyboard.press('/')
  const box = page.getByLabel('Name, e-mail address or id')
  await expectSoon(() => isFocused(box)).toBe(true)
  await page.keyboard.type('gl?/')
  expect(await box.inputValue()).toBe('gl?/')
}

/** Reads the evidence, is refused twice, and hides, with the keyboard alone. */
export const answerReport = async (page: Page, report: number): Promise<void> => {
  const card = page.getByRole('article', { name: `Report ${report}`, exact: true })
  await card.getByRole('button', { name: 'Read the evidence' }).click()
  expect(await card.locator('.evidence .reported .quote').textContent()).toBe(markup)
  const opener = card.getByRole('button', { name: 'Decide' })
  await opener.focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  await expectSoon(() => isFocused(opener)).toBe(true)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Tab')
  await page.keyboard.type(' ')
  await dialog.getByRole('button', { name: 'Resolve' }).press('Enter')
  expect(await alertOf(dialog)).toBe('Not done: say why, in 1 to 2,000 characters')
  await isAccessible(page)
  await dialog.getByLabel('Why').fill('Asks for money')
  expect(await dialog.getByRole('radio', { checked: true }).getAttribute('value')).toBe('hide')
  await dialog.getByRole('button', { name: 'Resolve' }).press('Enter')
  await page.getByRole('status').filter({ hasText: `Done: Report ${report}` }).waitFor()
  await card.waitFor({ state: 'detached' })
}

/** Is refused what another admin has decided meanwhile, and keeps what was typed. */
export const comeSecond = async (page: Page, report: number, origin: string): Promise<void> => {
  const card = page.getByRole('article', { name: `Report ${report}`, exact: true })
  await expectSoon(() => card.textContent()).toContain('1 report, 1 upheld, 0 dismissed')
  await card.getByRole('button', { name: 'Decide' }).click()
  const first = await call(
    'POST',
    `${origin}/rest/v1/rpc/resolve_report`,
    { report, action: 'dismiss', note: 'First' },
    {
      headers: { apikey: testKeys.secretKey },
    },
  )
  expect(first.status).toBe(200)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Warn').check()
  await dialog.getByLabel('Why').fill('Second')
  await dialog.getByRole('button', { name: 'Resolve' }).click()
  await dialog.getByRole('alert').filter({ visible: true }).waitFor()
  expect(await alertOf(dialog)).toMatch(/^This report was resolved before: dismiss, at /)
  expect(await dialog.getByLabel('Why').inputValue()).toBe('Second')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
}

/** The entries about a person are these, the latest first. */
export const expectLog = async (page: Page, person: number, origin: string, entries: string[]): Promise<void> => {
  await page.goto(`${origin}/admin#log?person=${person}`)
  await expectSoon(() => page.locator('.card .tag').allTextContents()).toEqual(entries)
}

/** Every view in both themes, on a desktop and on a phone. */
export const visitAll = async (page: Page, origin: string): Promise<void> => {
  for (const [colorScheme, width] of [['light', 1280], ['dark', 390]] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    for (const view of ['today', 'reports', 'people', 'reservations', 'log', 'health']) {
      await page.goto(`${origin}/admin#${view}`)
      await page.locator(`a[href='#${view}'][aria-current]`).waitFor()
      await page.locator('main .card, main .empty').first().waitFor()
      await isAccessible(page)
    }
  }
  expect(await page.getByRole('row', { name: /Open reports/ }).textContent()).toContain('Fine')
}
