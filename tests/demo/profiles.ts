/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { choose, type Demo, expectSoon, isPhone, logIn, onDesktop, waitUntilLive } from './browser.ts'

const eva = { email: 'eva@example.com', password: 'correct horse' }

export const profiles = ({ open, openOne, mailedCode, base }: Demo) =>
  describe('profiles of the demo page', () => {
    const openMe = async (refusals: number[] = []) => {
      const { page, you } = await openOne('/demo/me', refusals)
      await you.getByRole('region', { name: 'Account' }).waitFor()
      expect(await you.locator('.side > :visible').count()).toBe(isPhone ? 0 : 1)
      const part = (name: string) => you.getByRole('region', { name, exact: true })
      return { page, you, part }
    }

    onDesktop('shows what somebody has written as text, finds people by an interest, reports and blocks', async () => {
      const markup = '<img src=x onerror="document.title=1"> and <b>more</b>'
      const fields = { name: `Eva ${markup}`, is_searchable: true, city: '<i>Here</i>', biography: `${markup}\nA line` }
      const { body } = await call('POST', `${base()}/auth/signup`, { ...eva, ...fields, interest_ids: [10] })
      const me = await call('GET', `${base()}/users/me`, undefined, { token: body.access_token })
      const { page, you } = await openOne(`/demo/people/${me.body.Profile.id}`)
      await you.locator('.profile .text').waitFor()
      await expectSoon(() => you.locator('.profile .text').textContent()).toBe(`${markup}\nA line`)
      expect(await you.locator('.portrait .where').first().textContent()).toBe('<i>Here</i>')
      expect(await you.locator('.profile').locator('img, b, i').count()).toBe(0)
      await expectSoon(() => page.title()).toMatch(/^(\(\d+\) )?Eva <img/)

      await choose(you, 'Block…')
      await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
      await you.getByText(/^You have blocked Eva/).waitFor()
      await you.getByRole('button', { name: 'Ceramics' }).click()
      await expectSoon(() => page.url()).toMatch(/\/demo\/people\?interest=Ceramics$/)
      await you.locator('.hit').first().waitFor()
      await you.getByRole('link', { name: 'Your profile' }).click()
      await you.getByRole('button', { name: /^Unblock Eva/ }).click()
      await you.getByText(/is not blocked any more/).waitFor()
    })

    onDesktop('a deleted account cannot be written to, and a deactivated one is not shown as live', async () => {
      const signUp = async (email: string) => {
        const body = { email, name: 'Zoe', password: eva.password }
        return (await call('POST', `${base()}/auth/signup`, body)).body
      }
      const inesAccount = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
      const { access_token: token } = await signUp('zoe@example.com')
      const ines = (await call('POST', `${base()}/auth/login`, inesAccount)).body.user.id
      const { id } = (await call('POST', `${base()}/conversations`, { other_user_id: ines }, { token })).body
      await call('POST', `${base()}/conversations/${id}/messages`, { content: 'Bye' }, { token })
      expect((await call('DELETE', `${base()}/users/me`, undefined, { token })).status).toBe(204)
      const { page, you } = await openOne(`/demo/c/${id}`, [401, 403])
      await you.getByText('This account was deleted.').waitFor()
      expect(await you.getByRole('textbox').count()).toBe(0)
      await you.locator('.chat-bar .menu summary').click()
      expect(await you.locator('.chat-bar .menu').getByRole('button').allTextContents()).not.toContain('Block…')

      const other = await signUp('adam@example.com')
      const change = `${new URL(base()).origin}/rest/v1/users?id=eq.${other.user.id}`
      await page.keyboard.press('Escape')
      await choose(you, 'Log out', '.bar')
      await you.getByLabel('E-mail').fill('adam@example.com')
      await you.getByLabel('Password').fill(eva.password)
      await logIn(you, 'Log in')
      const headers = { apikey: testKeys.secretKey }
      expect((await call('PATCH', change, { is_active: false }, { headers })).status).toBe(204)
      await page.reload()
      await you.locator('.bar .status', { hasText: 'deactivated' }).waitFor()
    })

    test('the first message opens the conversation, and is kept until it is sent', async () => {
      const ida = { email: 'ida@example.com', password: 'correct horse', name: 'Ida', is_searchable: true }
      const { access_token: token } = (await call('POST', `${base()}/auth/signup`, ida)).body
      const { body: me } = await call('GET', `${base()}/users/me`, undefined, { token })
      const conversations = async () => (await call('GET', `${base()}/conversations`, undefined, { token })).body
      const { page, you } = await openOne(`/demo/people/${me.Profile.id}`)
      await you.getByRole('button', { name: 'Write to Ida' }).focus()
      await page.keyboard.press('Enter')
      const text = you.getByLabel('Your first message to Ida')
      await text.and(you.locator(':focus')).waitFor()
      await page.keyboard.type('Do you know a quiet place?')
      expect(await conversations()).toEqual([])
      await page.reload()
      await expectSoon(() => text.inputValue()).toBe('Do you know a quiet place?')
      expect(await conversations()).toEqual([])
      await text.fill(' ')
      await you.getByRole('button', { name: 'Send', exact: true }).click()
      await you.getByRole('alert').filter({ hasText: 'Write something first' }).waitFor()
      await text.fill(`Do you know a quiet place?${'\nWithout cars.'.repeat(30)}`)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')

      const sent = you.locator('.message:not(.outgoing)', { hasText: 'Do you know a quiet place?' })
      await sent.waitFor()
      expect((await conversations())[0].Messages[0].content).toContain('Do you know a quiet place?\nWithout cars.')
      const lines = async () => (await sent.locator('.content').textContent())!.split('\n').length
      expect(await lines()).toBe(12)
      await sent.getByRole('button', { name: 'Show more' }).focus()
      await page.keyboard.press('Enter')
      expect(await lines()).toBe(31)
      await sent.getByRole('button', { name: 'Show less' }).and(you.locator(':focus')).waitFor()
      await page.keyboard.press('Enter')
      expect(await lines()).toBe(12)

      await choose(you, 'Block…')
      await page.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
      await you.getByText('You have blocked Ida. ').waitFor()
      expect(await you.locator('.chat').getByRole('textbox').count()).toBe(0)
      expect(await you.getByRole('button', { name: 'Offer a reservation' }).count()).toBe(0)
      await you.getByRole('button', { name: 'Unblock' }).focus()
      await page.keyboard.press('Enter')
      await you.getByRole('textbox', { name: 'Message to Ida' }).and(you.locator(':focus')).waitFor()
      await page.goto(new URL(`/demo/people/${me.Profile.id}`, base()).href)
      await you.getByRole('button', { name: 'Open the conversation with Ida' }).waitFor()
      expect(await text.count()).toBe(0)
    })

    test('a forgotten password is chosen anew, and the account is copied and deleted', async () => {
      const zoe = { email: 'forgetful@example.com', password: 'old and gone', name: 'Zoe' }
      await call('POST', `${base()}/auth/signup`, zoe)
      const { page, you } = await open('/demo', [400, 401, 403, 422])
      await you.getByRole('button', { name: 'Forgotten your password?' }).click()
      await you.getByRole('button', { name: 'Back to the log-in' }).click()
      await you.getByLabel('E-mail').fill(zoe.email)
      await you.getByRole('button', { name: 'Forgotten your password?' }).click()
      await you.getByRole('button', { name: 'Send a code' }).click()
      const code = await mailedCode(zoe.email)
      const choosePassword = async (code: string, password: string) => {
        await you.getByLabel('Code').fill(code)
        await you.getByLabel('New password').fill(password)
        await you.getByRole('button', { name: 'Save and log in' }).click()
      }
      await choosePassword('000000', 'new and long')
      await you.getByRole('alert').filter({ hasText: /expired|invalid/ }).waitFor()
      await choosePassword(code, 'short')
      await you.getByRole('alert').filter({ hasText: 'at least 8 characters' }).waitFor()
      await choosePassword(code, 'new and long')
      await waitUntilLive(you)

      await page.goto(new URL('/demo/me', base()).href)
      const account = you.getByRole('region', { name: 'Account' })
      await account.getByText('Change the password').click()
      await account.getByLabel('New password').fill('newer and longer')
      await account.getByRole('button', { name: 'Save' }).click()
      await account.getByText('Saved.').waitFor()
      const logIn = async (password: string) =>
        (await call('POST', `${base()}/auth/login`, { email: zoe.email, password })).status
      expect([await logIn('new and long'), await logIn('newer and longer')]).toEqual([401, 200])

      await account.getByText('Change the e-mail address').click()
      await account.getByLabel('New e-mail').fill('remembers@example.com')
      await account.getByRole('button', { name: 'Send a code' }).click()
      await account.getByText(`A code is on its way to ${zoe.email}.`).waitFor()
      await account.getByLabel('Code').fill('000000')
      await account.getByRole('button', { name: 'Change the address' }).click()
      await account.getByRole('alert').filter({ hasText: /expired|invalid/ }).waitFor()
      await account.getByLabel('Code').fill(await mailedCode(zoe.email, code))
      await account.getByRole('button', { name: 'Change the address' }).click()
      await account.getByText('remembers@example.com').waitFor()
      expect(await logIn('newer and longer')).toBe(401)
      zoe.email = 'remembers@example.com'
      expect(await logIn('newer and longer')).toBe(200)

      const started = page.waitForEvent('download')
      await account.getByRole('button', { name: 'Download my data' }).click()
      const copy = JSON.parse(readFileSync(await (await started).path(), 'utf8'))
      expect(JSON.stringify(copy)).toContain(zoe.email)

      await account.getByRole('button', { name: 'Delete my account…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').fill('somebody@example.com')
      await dialog.getByRole('button', { name: 'Delete for good' }).click()
      await dialog.getByRole('alert').filter({ hasText: 'not your address' }).waitFor()
      expect(await logIn('newer and longer')).toBe(200)
      await dialog.getByRole('textbox').fill(zoe.email)
      await dialog.getByRole('button', { name: 'Delete for good' }).click()
      await you.getByRole('button', { name: 'Walk in as Inês' }).waitFor()
      expect(await logIn('newer and longer')).toBe(401)
    })

    test('an edit is saved, and a refused one is explained at its field and not lost', async () => {
      const { page, you, part } = await openMe([400])
      const about = part('About you')
      await about.getByLabel('Name').fill('')
      await about.getByLabel('City').fill('Porto')
      await about.getByRole('button', { name: 'Save' }).click()
      await about.getByRole('alert').filter({ hasText: /^The name must/ }).waitFor()
      await expectSoon(() => about.getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
      await expectSoon(() => about.locator('input:focus').getAttribute('autocomplete')).toBe('name')
      expect(await about.getByLabel('City').inputValue()).toBe('Porto')
      for (const name of ['Inês', 'Inês Carvalho']) {
        await about.getByLabel('Name').fill(name)
        await about.getByRole('button', { name: 'Save' }).click()
        await about.getByText('Saved.').waitFor()
        await expectSoon(() => you.locator('.bar h2').textContent()).toBe(name)
      }
      await page.reload()
      await expectSoon(() => about.getByLabel('City').inputValue()).toBe('Porto')
      await you.getByRole('link', { name: 'As others see it' }).click()
      const portrait = you.locator('.portrait', { hasText: 'Porto, Portugal' })
      await portrait.waitFor()
      // Also where the profile has loaded before the page knows who reads it.
      await page.route(/\/users\/me$/, async (route) => {
        await portrait.waitFor()
        await route.continue()
      }, { times: 1 })
      await page.reload()
      await you.getByRole('button', { name: 'Change your profile' }).waitFor()
      await expectSoon(() => you.locator('.chat-bar .menu').isVisible()).toBe(false)
      expect(await you.getByRole('button', { name: /^Write/ }).count()).toBe(0)
      await you.getByRole('button', { name: 'Change your profile' }).click()
      await part('About you').waitFor()
    })

    onDesktop('interests are added and removed, and one that does not exist is refused in its place', async () => {
      const { page, part } = await openMe()
      const interests = part('Interests')
      const mine = interests.getByRole('list', { name: 'Your interests' })
      const add = async (name: string) => {
        await interests.getByRole('combobox', { name: 'Add an interest' }).fill(name)
        await page.keyboard.press('Enter')
      }
      await interests.locator('option').first().waitFor({ state: 'attached' })
      await add('poerty')
      await interests.getByRole('alert').filter({ hasText: 'There is no interest “poerty”' }).waitFor()
      await add('poetry')
      await mine.getByRole('button', { name: 'Remove Poetry' }).waitFor()
      await interests.getByText('Poetry was added').waitFor()
      await mine.getByRole('button', { name: 'Remove Poetry' }).click()
      await interests.getByText('Poetry was removed').waitFor()
      await expectSoon(() => mine.textContent()).not.toContain('Poetry')
    })

    onDesktop('the switch hides the profile and goes back when the service refuses; quiet hours are kept', async () => {
      const { page, part } = await openMe([403])
      const findable = part('Visibility').getByRole('switch', { name: 'Others can find me' })
      await findable.uncheck()
      await part('Visibility').getByText('You are hidden now.').waitFor()
      await page.route(
        '**/users/searchable',
        (route) =>
          route.fulfill({ status: 403, headers: { 'X-Error-Code': 'hidden' }, json: { error: 'Hidden by an admin' } }),
      )
      await findable.click()
      await part('Visibility').getByRole('alert').filter({ hasText: 'Hidden by an admin' }).waitFor()
      await expectSoon(() => findable.isChecked()).toBe(false)
      await page.unroute('**/users/searchable')
      await findable.check()
      await part('Visibility').getByText('You can be found now.').waitFor()

      const told = part('Notifications')
      await told.getByRole('switch', { name: 'Quiet hours' }).check()
      await told.getByLabel('From').fill('23:00')
      await told.getByLabel('Until').fill('07:30')
      await told.getByLabel('In the time zone').fill('Europe/Lisbon')
      await told.getByLabel('A mail comes').selectOption('after an hour unread')
      await told.getByRole('button', { name: 'Save' }).click()
      await told.getByText('Saved.').waitFor()
      await page.reload()
      await expectSoon(() => told.getByLabel('Until').inputValue()).toBe('07:30')
      await expectSoon(() => told.getByLabel('A mail comes').inputValue()).toBe('60')
    })
  })
