/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, inject, test } from 'vitest'
import { call, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { storageRefusals } from '../tools/storage_answers.ts'
import { expectSoon, hasBrowser, isFocused, isShown, openDemo } from './browser.ts'
import { holdUploads, pickLarge, picture } from './uploads.ts'

describe.skipIf(!hasBrowser)('an account of the demo', () => {
  const { open, openOne, sideOf, callAsInes, mailedCode, base, url } = openDemo()
  const openMe = async (refusals: number[] = []) => {
    const you = await openOne('/demo/me', { refusals })
    await you.region('Account').node.waitFor()
    return you
  }
  const logInBy = async (email: string, password: string) =>
    (await call('POST', `${base()}/auth/login`, { email, password })).status

  test('is entered with the right password only, or made anew, and then has the window alone', async () => {
    const you = await open(`${inject('stack').origin}/demo`, { refusals: [400] })
    const account = { 'E-mail': `nadia.${Date.now()}@example.com`, Password: 'correct horse' }
    await you.fill(account)
    await you.press('Log in', { alerts: /^The e-mail address or the password is wrong\.$/ })
    await expectSoon(() => isFocused(you.node.getByLabel('Password'))).toBe(true)
    // Without demo data there is nobody to choose.
    expect([await you.role('combobox').count(), await you.button(/Walk in/).count()]).toEqual([0, 0])
    await you.press('Create an account')
    await you.press('Sign up', { fill: { Name: 'Nadia Benali', ...account } })
    await expectSoon(() => you.find('.bar h2').textContent()).toBe('Nadia Benali')
    await you.shows('No conversations yet. Find someone under People.')
  })

  test('is entered by a click from before the script is there, and left again, whatever comes late', async () => {
    let answer = () => {}
    const held = new Promise<void>((resolve) => answer = resolve)
    const prepare = async (page: Page) => {
      await page.route('**/conversations/states', (route) => held.then(() => route.continue()), { times: 1 })
      await page.route('**/demo/main.js*', async (route) => {
        for (const name of ['Tomáš', 'Inês']) {
          await page.locator('#start').getByRole('button', { name: `Walk in as ${name}` }).click()
        }
        await route.continue()
      }, { times: 1 })
    }
    const you = await open('/demo', { prepare })
    await expectSoon(() => you.find('.bar h2').textContent()).toBe('Tomáš Novák')
    await you.logOut()
    await Promise.all([you.page.waitForResponse('**/conversations/states'), answer()])
    await you.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)))
    expect(await you.find('.bar').textContent()).not.toContain('Novák')
    await you.button(/Walk in as Tomáš/).waitFor()
    await you.node.getByLabel('E-mail').waitFor()
  })

  test('is open in each tab of the browser, and closed in all of them', async () => {
    const you = await openMe()
    const tab = sideOf(await you.page.context().newPage())
    await tab.page.goto(url('/demo/c/1'))
    await tab.find('.message').first().waitFor()
    await tab.choose('Report…')
    await tab.dialog.node.waitFor()
    await you.logOut()
    // Neither the page nor the dialog is left for the next user, in no tab.
    for (const left of [you, tab]) {
      await left.button('Log in').waitFor()
      await expectSoon(() => left.page.url()).toBe(url('/demo'))
      await left.dialog.node.waitFor({ state: 'detached' })
    }
  })

  test('has a profile and interests; a refused edit is explained at its field and not lost', async () => {
    const you = await openMe([400])
    const { page } = you
    const about = you.region('About you')
    await about.press('Save', { fill: { Name: '', City: 'Porto' }, alerts: /^The name must/ })
    const [name, city] = [about.node.getByLabel('Name'), about.node.getByLabel('City')]
    await expectSoon(() => isFocused(name)).toBe(true)
    expect([await name.getAttribute('aria-invalid'), await city.inputValue()]).toEqual(['true', 'Porto'])
    for (const text of ['Inês', 'Inês Carvalho']) {
      await name.fill(text)
      await about.press('Save', { shows: 'Saved.' })
      await expectSoon(() => you.find('.bar h2').textContent()).toBe(text)
    }
    await page.reload()
    await expectSoon(() => city.inputValue()).toBe('Porto')
    await you.role('link', 'As others see it').click()
    const portrait = you.find('.portrait', 'Porto, Portugal')
    await portrait.waitFor()
    // Also where the profile has loaded before the page knows who reads it.
    await page.route(/\/users\/me$/, (route) => portrait.waitFor().then(() => route.continue()), { times: 1 })
    await page.reload()
    await you.button('Change your profile').waitFor()
    expect([await you.find('.chat-bar .menu').isVisible(), await you.button(/^Write/).count()]).toEqual([false, 0])
    await you.press('Change your profile')

    const interests = you.region('Interests')
    const poetry = interests.button('Poetry')
    for (const [isMine, said] of [[true, 'Poetry was added'], [false, 'Poetry was removed']] as const) {
      await poetry.focus()
      await you.keys('Enter')
      await interests.shows(said)
      expect([await poetry.getAttribute('aria-pressed'), await isFocused(poetry)]).toEqual([`${isMine}`, true])
    }
    const refusal = { status: 400, headers: { 'X-Error-Code': 'invalid' }, json: { error: 'Too many' } }
    await page.route('**/users/profile/interests', (route) => route.fulfill(refusal), { times: 1 })
    await poetry.click()
    await interests.alerts('Too many')
    await expectSoon(() => poetry.getAttribute('aria-pressed')).toBe('false')
  })

  test('is led by three steps until they are done; cities are completed, and what is typed stays', async () => {
    const { email, password, call } = await signUp('Nadia', {}, base())
    const you = await open('/demo', { refusals: [400] })
    await you.fill({ 'E-mail': email, Password: password })
    await you.logIn('Log in')
    const steps = you.region('Three steps to be met')
    const undone = () => steps.role('link').allTextContents()
    await expectSoon(undone).toEqual(['Show your face', 'Choose what you like', 'Let others find you'])
    await steps.role('link', 'Choose what you like').click()
    await you.region('Interests').press('Jazz')
    await you.region('Visibility').role('switch', 'Others can find me').check()
    await you.toList()
    await expectSoon(undone).toEqual(['Show your face'])
    await steps.press('Not now: Three steps to be met')
    await you.page.reload()
    await you.waitUntilLive()
    expect(await steps.node.isVisible()).toBe(false)
    await call('PATCH', '/users/profile', { image_url: 'https://images.example.com/nadia.jpg' })
    await you.page.goto(url('/demo/me'))
    const about = you.region('About you')
    await about.fill({ City: 'lisboa' })
    await about.find('datalist option[label="Lisbon, Portugal (lisboa)"]').waitFor({ state: 'attached' })
    await about.fill({ City: 'Lisbon, Portugal' })
    expect(await about.node.getByLabel('Country').inputValue()).toBe('Portugal')
    await about.fill({ City: 'lisb', 'About you': 'I mend clocks.', Age: '17' })
    expect(await you.node.getByText('Three steps').isVisible()).toBe(false)
    await you.toList()
    await you.role('link', 'People').click()
    await you.choose('Your profile', '.bar')
    await about.shows('Not saved yet.')
    const typed = () => Promise.all(['City', 'Age'].map((label) => about.node.getByLabel(label).inputValue()))
    expect(await typed()).toEqual(['lisb', '17'])
    await about.press('Save', { alerts: /^The age must be 18/ })
    await about.press('Save', { fill: { Age: '34', City: 'Lisbon' }, shows: 'Saved.' })
    await you.page.reload()
    await expectSoon(typed).toEqual(['Lisbon', '34'])
    expect(await about.node.getByText('Not saved yet.').count()).toBe(0)
  })

  test('is hidden and shown by a switch, which goes back when the service refuses, and has quiet hours', async () => {
    const you = await openMe([403])
    const visibility = you.region('Visibility')
    const findable = visibility.role('switch', 'Others can find me')
    await findable.uncheck()
    await visibility.shows('You are hidden now.')
    const refusal = { status: 403, headers: { 'X-Error-Code': 'hidden' }, json: { error: 'Hidden by an admin' } }
    await you.page.route('**/users/searchable', (route) => route.fulfill(refusal), { times: 1 })
    await findable.click()
    await visibility.alerts('Hidden by an admin')
    await expectSoon(() => findable.isChecked()).toBe(false)
    await findable.check()
    await visibility.shows('You can be found now.')
    const answers = visibility.role('switch', 'Show how soon I answer')
    expect(await answers.isChecked()).toBe(true)
    await answers.uncheck()
    await visibility.shows('Your profile does not say it any more.')

    const told = you.region('Notifications')
    await told.role('switch', 'Quiet hours').check()
    await told.fill({ From: '23:00', Until: '07:30', 'In the time zone': 'Europe/Lisbon' })
    await told.node.getByLabel('A mail comes').selectOption('after an hour unread')
    await told.press('Save', { shows: 'Saved.' })
    await you.page.reload()
    const kept = () => Promise.all(['Until', 'A mail comes'].map((label) => told.node.getByLabel(label).inputValue()))
    await expectSoon(kept).toEqual(['07:30', '60'])
    expect(await answers.isChecked()).toBe(false)
    await you.page.route(/users\/\d+\?more=true/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...await response.json(), answers: 'within a day' } })
    })
    await you.role('link', 'As others see it').click()
    await you.shows('Usually answers within a day')
  })

  test('whose password is forgotten gets another, changes it and the address, and is copied and deleted', async () => {
    const { email } = await signUp('Zoe', {}, base())
    const you = await open('/demo', { refusals: [400, 401, 403, 422] })
    await you.press('Forgotten your password?')
    await you.press('Back to the log-in')
    await you.fill({ 'E-mail': email })
    await you.press('Forgotten your password?')
    await you.press('Send a code')
    const code = await mailedCode(email)
    const choosePassword = async (Code: string, password: string) => {
      await you.press('Save and log in', { fill: { Code, 'New password': password } })
    }
    await choosePassword('000000', 'new and long')
    await you.alerts(/expired|invalid/)
    await choosePassword(code, 'short')
    await you.alerts('at least 8 characters')
    await choosePassword(code, 'new and long')
    await you.waitUntilLive()

    await you.page.goto(url('/demo/me'))
    const account = you.region('Account')
    await account.node.getByText('Change the password').click()
    await account.press('Save', { fill: { 'New password': 'newer and longer' }, shows: 'Saved.' })
    expect([await logInBy(email, 'new and long'), await logInBy(email, 'newer and longer')]).toEqual([401, 200])

    const other = `new.${email}`
    const statuses = async () => [await logInBy(email, 'newer and longer'), await logInBy(other, 'newer and longer')]
    await account.node.getByText('Change the e-mail address').click()
    await account.press('Send a code', { fill: { 'New e-mail': other }, shows: `A code is on its way to ${other}.` })
    await account.press('Change the address', { fill: { Code: '000000' }, alerts: /expired|invalid/ })
    await account.press('Change the address', { fill: { Code: await mailedCode(other) }, shows: 'Changed.' })
    expect(await statuses()).toEqual([401, 200])

    const started = you.page.waitForEvent('download')
    await account.press('Download my data')
    expect(readFileSync(await (await started).path(), 'utf8')).toContain(other)
    await account.press('Delete my account…')
    await you.dialog.role('textbox').fill('somebody@example.com')
    await you.dialog.press('Delete for good', { alerts: 'not your address' })
    expect(await statuses()).toEqual([401, 200])
    await you.dialog.role('textbox').fill(other)
    await you.dialog.press('Delete for good')
    await you.shows('Your account is deleted.')
    expect(await statuses()).toEqual([401, 401])
  })

  test('is entered by the button of a mail, at /mail, which asks for the key; so is its address changed', async () => {
    const { email, call: callAsZoe, token } = await signUp('Zoe', {}, base())
    const other = `new.${email}`
    // Somebody else is logged in.
    const you = await openOne('/demo')
    /** Presses the button of the newest mail to this address. */
    const follow = async (address: string, button: string) => {
      const mail = await you.page.context().newPage()
      await mail.goto(url('/mail'))
      const key = mail.getByLabel('Secret key')
      if (await key.count()) await key.fill(testKeys.secretKey).then(() => mail.getByRole('button').click())
      await mail.locator('li', { hasText: new RegExp(`to ${address}, .* [A-Z]+\\S*$`) }).first().getByRole('link')
        .click()
      expect(await mail.locator('main pre').allTextContents()).toEqual([expect.stringContaining('this code: ')])
      const opened = mail.context().waitForEvent('page')
      await mail.frameLocator('iframe').getByRole('link', { name: button }).click()
      return sideOf(await opened)
    }
    expect(await callAsZoe('POST', '/auth/recover', { email })).toMatchObject({ status: 202 })
    const seen = await follow(email, 'Choose a new password')
    await seen.role('heading', 'Choose a new password').waitFor()
    expect(seen.page.url()).toBe(url('/demo'))
    await seen.page.close()
    const chosen = await follow(email, 'Choose a new password')
    await chosen.press('Save and log in', { fill: { 'New password': 'new and long' } })
    await expectSoon(() => chosen.find('.bar h2').textContent()).toBe('Zoe')

    const headers = { apikey: testKeys.publishableKey }
    await call('PUT', `${new URL(base()).origin}/auth/v1/user`, { email: other }, { token, headers })
    const asked = await follow(other, 'Confirm the new address')
    expect([await logInBy(email, 'new and long'), await logInBy(other, 'new and long')]).toEqual([200, 401])
    await asked.press('Confirm')
    await expectSoon(() => logInBy(other, 'new and long')).toBe(200)
    await asked.page.goto(url(`/demo#type=recovery&token_hash=${'0'.repeat(64)}`))
    await asked.press('Save and log in', { fill: { 'New password': 'new and long' }, alerts: /expired/ })
    await asked.press('Not now')
    await asked.find('.bar .status', 'live').waitFor()
  })

  test('that was deleted cannot be written to, and one that is deactivated is not live', async () => {
    const zoe = await signUp('Zoe', {}, base())
    const { id: other_user_id } = await callAsInes('GET', '/users/me')
    const { id } = (await zoe.call('POST', '/conversations', { other_user_id })).body
    await zoe.call('POST', `/conversations/${id}/messages`, { content: 'Bye' })
    expect((await zoe.call('DELETE', '/users/me')).status).toBe(204)
    const you = await openOne(`/demo/c/${id}`, { refusals: [401, 403] })
    await you.shows('This account was deleted.')
    expect(await you.box.count()).toBe(0)
    await you.find('.chat-bar .menu summary').click()
    await you.button('Archive').waitFor()
    expect(await you.button('Block…').count()).toBe(0)
    await you.keys('Escape')
    await you.logOut()

    const adam = await signUp('Adam', {}, base())
    await you.fill({ 'E-mail': adam.email, Password: adam.password })
    await you.logIn('Log in')
    const change = `${new URL(base()).origin}/rest/v1/users?id=eq.${adam.id}`
    await call('PATCH', change, { is_active: false }, { headers: { apikey: testKeys.secretKey } })
    await you.find('.bar .status', 'deactivated').waitFor()
  })

  test('has a photo, which is cut out by dragging, keys and zooming; one from elsewhere is not loaded', async () => {
    const you = await openMe()
    const { page } = you
    const photo = you.region('Photo')
    await isShown(photo.find('img'), 192)
    // The left half is red, the right half is empty, and one third lies outside of the square at first.
    await photo.find('input').evaluate(async (node: HTMLInputElement) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 1800, height: 1200 })
      const context = canvas.getContext('2d')!
      context.fillStyle = '#f00'
      context.fillRect(0, 0, 900, 1200)
      const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve))
      const picked = new DataTransfer()
      picked.items.add(new File([blob!], 'half.png', { type: 'image/png' }))
      node.files = picked.files
      node.dispatchEvent(new Event('change', { bubbles: true }))
    })
    const cut = you.dialog.role('application')
    /** The part of the width that is red. */
    const red = () =>
      cut.evaluate((canvas: HTMLCanvasElement) => {
        const copy = Object.assign(document.createElement('canvas'), { width: 512, height: 1 })
        const context = copy.getContext('2d', { willReadFrequently: true })!
        context.drawImage(canvas, 0, -256)
        const { data } = context.getImageData(0, 0, 512, 1)
        return Array.from({ length: 512 }, (_, x) => data[4 * x]! > 128 && data[4 * x + 1]! < 128).filter(Boolean)
          .length / 512
      })
    await expectSoon(red).toBeCloseTo(0.5, 2)
    await cut.focus()
    await you.keys('ArrowLeft', 'ArrowLeft')
    await expectSoon(red).toBeCloseTo(0.6, 2)
    await you.keys('Tab', 'End')
    await expectSoon(red).toBeCloseTo(0.9, 2)
    const { x, y, width } = (await cut.boundingBox())!
    await page.mouse.move(x + 0.8 * width, y + width / 2)
    await page.mouse.down()
    await page.mouse.move(x + 0.3 * width, y + width / 2, { steps: 5 })
    await page.mouse.up()
    await expectSoon(red).toBeCloseTo(0.4, 1)
    await you.dialog.press('Use this photo')
    await photo.shows('Your photo was changed.')
    await isShown(photo.find('img'), 512)

    const image_url = 'https://images.example.com/ines.jpg'
    expect((await callAsInes('PATCH', '/users/profile', { image_url })).Profile.image_url).toBe(image_url)
    await page.reload()
    await photo.button('Choose a photo').waitFor()
    expect(await photo.find('img').count()).toBe(0)
  })

  test('keeps its photo if another is refused or does not arrive, and shows a good one', async () => {
    const { timeOut, tooLarge, wrongType, notAllowed } = storageRefusals
    // What may succeed later is tried three times.
    const refusals = [timeOut, timeOut, timeOut, tooLarge, wrongType, notAllowed]
    const you = await open('/demo/me', { refusals: refusals.map(({ http = 400 }) => http) })
    const storage = await holdUploads(you.page, refusals)
    await you.logIn()
    const photo = you.region('Photo')
    const input = photo.find('input')
    await photo.button('Choose a photo').waitFor()
    await input.setInputFiles({ ...picture, name: 'me.gif', mimeType: 'image/gif' })
    await photo.alerts('JPEG, PNG and WebP pictures can be sent')
    await pickLarge(input, 20 * 2 ** 20 + 1)
    await photo.alerts('at most 21 MB')
    await pickLarge(input, 1000)
    await photo.alerts('“large.png” cannot be read as a picture')
    expect(storage.uploads).toEqual([])

    await input.setInputFiles(picture)
    const texts = [
      'The file could not be stored. Please try again.',
      'The file is too large.',
      'Files of this kind cannot be sent.',
      'You cannot add files here (any more).',
      'Your photo was changed',
    ]
    for (const [index, text] of texts.entries()) {
      await you.dialog.press('Use this photo')
      for (const time of index ? [2] : [0, 1, 2]) {
        await expectSoon(() => storage.uploads.length).toBe(index + time + 1)
        await you.dialog.role('progressbar', 'Upload').waitFor()
        storage.release()
      }
      await you.dialog.node.or(photo.node).getByText(text).waitFor()
    }
    const { path, type } = storage.uploads.at(-1)!
    expect([path, type]).toEqual([expect.stringMatching(/^avatars\/[0-9a-f-]{36}\/[0-9a-f-]{36}\.jpg$/), 'image/jpeg'])
    await isShown(you.find('.bar .face img'))
    await you.page.reload()
    await isShown(photo.find('img'))
    expect(await photo.find('img').getAttribute('src')).toContain(`/object/public/${path}`)
  })

  test('reads dates and times in the order and the clock of the browser, with their time zone', async () => {
    // As WebKit has it on a Linux without a language; what is no language is passed over.
    const languages = "Object.defineProperty(navigator, 'languages', { value: ['C', 'de-DE'] })"
    const options = { locale: 'de-DE', timezoneId: 'Asia/Tokyo' }
    const you = await openOne('/demo/c/1', { ...options, prepare: (page) => page.addInitScript(languages) })
    const lines = () => you.find('[data-reservation]', 'Jazz').locator('p').allTextContents()
    await expectSoon(lines).toEqual([
      expect.stringMatching(/^Fri, \d+ \w+, \d\d:\d\d GMT\+9$/),
      expect.stringMatching(/^Thu, \d+ \w+, \d\d:\d\d in Leipzig$/),
      '€12.50',
    ])
    const written = you.entry('Tomáš').locator('.when')
    expect(await written.getAttribute('title')).toMatch(/ at .* GMT/)
  })
})
