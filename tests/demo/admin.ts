/// <reference lib="dom" />
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { call, openConversation, sendMessage, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { expectSoon, isFocused, Part } from './browser.ts'

const markup = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>`

/** A day of an admin, in steps that follow each other: what waits, reports, people, reservations, the log, health. */
export const openAdmin = async (page: Page, base: string) => {
  const { origin } = new URL(base)
  const headers = { apikey: testKeys.secretKey }
  const dataApi = (path: string, method = 'GET', body?: unknown) =>
    call(method, `${origin}/rest/v1/${path}`, body, { headers })
  const admin = new Part(page.locator('body'))
  const dialog = new Part(page.getByRole('dialog'))
  const main = new Part(page.locator('main'))
  const { keyboard } = page
  const heading = (name: string) => page.getByRole('heading', { name }).waitFor()
  const card = (name: string) => new Part(admin.role('article', name))
  const go = (address: string) => page.goto(`${origin}/admin#${address}`)
  /** Presses a button of the dialog, which refuses with this text. */
  const refused = async (name: string, text: string | RegExp) => {
    await dialog.press(name, { alerts: text })
  }
  /** No findings of axe-core, and nothing to scroll to sideways. */
  const isAccessible = async () => {
    if (!await page.evaluate('"axe" in window')) await page.evaluate(axe.source)
    const findings = await page.evaluate(`axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`)
    expect([page.url(), findings]).toEqual([page.url(), []])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
  }
  /** The entries of the log about a person are these, the latest first. */
  const expectLog = async (person: number, entries: string[]) => {
    await go(`log?person=${person}`)
    await expectSoon(() => admin.find('.card .tag').allTextContents()).toEqual(entries)
  }

  // Ana has reported a message of Bob, and then Bob, and has offered him a reservation.
  const ana = await signUp('Ana of the reports', {}, base)
  const bob = await signUp(`Bob ${markup}`.slice(0, 100), {}, base)
  const conversation = await openConversation(ana, bob)
  await bob.call('PATCH', '/users/profile', { biography: 'Likes to walk at night.' })
  const { id } = await sendMessage(bob, conversation, markup)
  const make = async (path: string, body: object): Promise<number> => (await ana.call('POST', path, body)).body.id
  const report = await make('/users/me/reports', { message_id: id, reason: 'scam', note: markup })
  const secondReport = await make('/users/me/reports', { user_id: bob.id, reason: 'spam' })
  const times = { date: '2031-05-01T10:00:00Z', ends_at: '2031-05-01T12:00:00Z' }
  const offer = { title: markup, price: 12.5, ...times }
  const reservation = await make(`/conversations/${conversation}/reservations`, offer)

  return {
    /** Enters with the key, after one that is wrong. The key stays nowhere. */
    async enter() {
      await page.goto(`${origin}/admin`)
      await isAccessible()
      for (const key of [testKeys.publishableKey, testKeys.secretKey]) {
        await main.fill({ 'Secret key': key })
        await admin.keys('Enter')
        if (key === testKeys.publishableKey) await main.alerts(/^This is not the secret key of this stack\.$/)
      }
      await heading('Today')
      const kept = () => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href])
      expect(await page.evaluate(kept)).toBe(JSON.stringify(['', {}, {}, `${origin}/admin`]))
    },

    /** What waits leads to the reports, and the plots count what people did: the stack is minutes old. */
    async readToday() {
      await admin.press('Refresh')
      const waiting = page.getByRole('listitem').filter({ hasText: 'Open reports' })
      await expectSoon(() => waiting.textContent()).toMatch(/^Open reports: 2, the oldest for \d+ (seconds?|minutes?)$/)
      const counted = async (plot: string) =>
        parseInt(/\d+/.exec((await admin.find('figcaption', plot).textContent())!)![0])
      const rows = async (table: string) => (await dataApi(`${table}?select=id`)).body.length
      const made = await Promise.all(['messages', 'users', 'reports'].map(rows))
      await expectSoon(() => Promise.all(['Messages', 'Sign-ups', 'Reports'].map(counted))).toEqual(made)
      await isAccessible()
      await waiting.getByRole('link').click()
      await heading('Open reports')
    },

    /** Reads the evidence, is refused without a reason, and hides, with the keyboard alone. */
    async answerReport() {
      const first = card(`Report ${report}`)
      // Who is reported, and for what, in words of people.
      await first.shows('A scam, or money')
      await first.shows('Likes to walk at night.')
      expect(await first.role('link', 'The profile, as others see it').getAttribute('href')).toBe(
        `/demo/people/${bob.profileId}`,
      )
      await first.press(/^Read the evidence/)
      expect(await first.find('.evidence .reported .quote').textContent()).toBe(markup)
      const opener = first.button('Decide')
      await opener.focus()
      await admin.keys('Enter', 'Escape')
      await expectSoon(() => isFocused(opener)).toBe(true)
      for (const key of ['Enter', 'ArrowDown', 'ArrowDown', 'Tab', ' ']) await keyboard.press(key)
      await dialog.button('Resolve').press('Enter')
      await dialog.alerts(/^Not done: say why, in 1 to 2,000 characters$/)
      await isAccessible()
      await dialog.fill({ Why: 'Asks for money' })
      expect(await dialog.node.getByRole('radio', { checked: true }).getAttribute('value')).toBe('hide')
      await dialog.button('Resolve').press('Enter')
      await page.getByRole('status').filter({ hasText: `Done: Report ${report}` }).waitFor()
      await first.node.waitFor({ state: 'detached' })
    },

    /** Is refused what another admin has decided meanwhile, and keeps what was typed. */
    async comeSecond() {
      const second = card(`Report ${secondReport}`)
      await second.shows('1 report, 1 upheld, 0 dismissed')
      await second.press('Decide')
      const decision = { report: secondReport, action: 'dismiss', note: 'First' }
      expect((await dataApi('rpc/resolve_report', 'POST', decision)).status).toBe(200)
      await dialog.node.getByLabel('The person reads it').check()
      await dialog.fill({ Why: 'Second' })
      await refused('Resolve', /^This report was resolved before: dismiss, at /)
      expect(await dialog.node.getByLabel('Why').inputValue()).toBe('Second')
      await dialog.press('Cancel')
    },

    /** Everything about a person is on one page, and keys lead from it, but not while one types. */
    async readPerson() {
      await go(`people?q=${bob.id}`)
      const tags = (region: string) => admin.region(region).find('.tag').allTextContents()
      await admin.region('Reports about them').shows(`Report ${report}`)
      expect([await tags('Reports about them'), await tags('Decisions')])
        .toEqual([['dismiss', 'hide'], ['dismiss', 'hide', 'read evidence']])
      await admin.region('Reports by them').shows('none')
      expect(await admin.region('Reservations').role('listitem').textContent()).toContain(`${markup} pending`)
      await admin.shows(/^1 conversation, 1 message sent\.$/)
      await isAccessible()
      await admin.keys('?')
      await admin.shows('/ searches people')
      for (const key of ['g', 'l']) await keyboard.press(key)
      await heading('Moderation log')
      await admin.keys('/')
      const box = page.getByLabel('Name, e-mail address or id')
      await expectSoon(() => isFocused(box)).toBe(true)
      await keyboard.type('gl?/')
      expect(await box.inputValue()).toBe('gl?/')
    },

    /** Is refused a price and an end, changes them and the status, and finds both in the history. */
    async changeReservation() {
      await admin.role('link', 'Reservations').click()
      await page.getByLabel('Status').selectOption('pending')
      const offer = card(`Reservation ${reservation}`)
      await offer.press('Change')
      await dialog.fill({ Price: '-1' })
      await dialog.node.getByLabel('Status').selectOption('accepted')
      await refused('Save', /^Not saved. The rule is: price is not negative$/)
      await dialog.fill({ Price: '20', Ends: '2031-04-01T10:00' })
      await refused('Save', 'The rule is: ends_at must be after date')
      await dialog.press('Save', { fill: { Ends: '2031-05-02T10:00' } })
      // It is not pending any more.
      await offer.node.waitFor({ state: 'detached' })
      await dialog.node.waitFor({ state: 'hidden' })
      await page.getByLabel('Status').selectOption('accepted')
      await offer.node.getByText('History (2)').click()
      await expectSoon(() => offer.find('.history li').allTextContents()).toEqual([
        expect.stringContaining('€12.50'),
        expect.stringMatching(/accepted by an admin or the clock: .*20\.00$/),
      ])
      await page.goBack()
      await offer.node.waitFor({ state: 'detached' })
    },

    /** Searches, suspends and lifts, is refused an edit, erases, and finds all of it in the log. */
    async lookAfterPeople() {
      const search = async (text: string) => {
        await page.getByRole('searchbox').fill(text)
        await admin.keys('Enter')
      }
      await admin.role('link', 'People').click()
      await search('bob <IMG')
      const found = card(bob.name)
      await found.node.getByText('hidden', { exact: true }).waitFor()
      await expectSoon(() => page.getByRole('article').count()).toBe(1)
      for (
        const [action, done, status] of [['Suspend', 'suspended', 403], ['Lift suspension', 'active', 200]] as const
      ) {
        await found.press(action)
        await dialog.press(action, { fill: { Why: `${action} him` } })
        await found.node.getByText(done, { exact: true }).waitFor()
        expect((await bob.call('GET', '/users/me')).status).toBe(status)
      }
      await found.press('Change')
      await dialog.fill({ Name: ' ', Location: 'Faro' })
      await refused('Save', /^Not saved. The rule is: name is one line that shows something$/)
      expect(await dialog.node.getByLabel('Location').inputValue()).toBe('Faro')
      await dialog.press('Save', { fill: { Name: 'Robert' } })
      await admin.shows('Nobody was found.')

      await search(`${ana.id}`)
      await card(ana.name).press('Erase')
      await dialog.fill({ 'to confirm': `${bob.id}`, Why: 'Asked for it' })
      await refused('Erase for good', new RegExp(`^Not erased: type ${ana.id} to confirm$`))
      await dialog.press('Erase for good', { fill: { 'to confirm': `${ana.id}` } })
      await card('Deleted user').node.waitFor()
      await expectLog(bob.id, ['lift suspend', 'suspend', 'dismiss', 'hide', 'read evidence'])
      await expectLog(ana.id, ['erase'])
    },

    /** Every view in both themes, on a desktop and on a phone, and then leaves. */
    async visitAll() {
      for (const [colorScheme, width] of [['light', 1280], ['dark', 390]] as const) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        for (const view of ['today', 'reports', 'people', 'reservations', 'log', 'health']) {
          await go(view)
          await admin.find(`a[href='#${view}'][aria-current]`).waitFor()
          await admin.find('main .card, main .empty').first().waitFor()
          await isAccessible()
        }
      }
      expect(await page.getByRole('row', { name: /Open reports/ }).textContent()).toContain('Fine')
      expect([await page.title(), await admin.find('img, main script').count()]).toEqual(['Health – Admin', 0])
      await admin.press('Log out')
      await page.getByLabel('Secret key').waitFor()
    },

    /** Opens the page by the dashboard's cookie and loses it, as by a restart: what was typed stays. */
    async loseAccess(link: string) {
      await page.goto(link)
      await go('people')
      await page.getByRole('article').getByRole('button', { name: 'Change' }).first().click()
      await page.context().clearCookies()
      await dialog.fill({ Bio: 'A long text' })
      await refused('Save', /^Your session has ended/)
      expect(await dialog.node.getByLabel('Bio').inputValue()).toBe('A long text')
      await page.reload()
      await page.getByLabel('Secret key').waitFor()
    },
  }
}
