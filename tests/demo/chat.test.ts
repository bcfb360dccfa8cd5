/// <reference lib="dom" />
import { describe, expect, test } from 'vitest'
import { storageRefusals } from '../tools/storage_answers.ts'
import { expectSoon, hasBrowser, isFocused, isShown, openDemo, Part, type Side } from './browser.ts'
import { holdUploads, pickLarge, picture } from './uploads.ts'

/** A subscription as browsers give it. Real ones need a push service on the internet. */
const subscription = {
  endpoint: `https://push.example/${crypto.randomUUID()}`,
  keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
}

/** What the page's origin has stored as unsent. A person cannot reload as fast as a test. */
const storedText = () =>
  new Promise<string>((resolve) => {
    const opening = indexedDB.open('voyagers-and-locals')
    opening.onsuccess = () => {
      const reading = opening.result.transaction('unsent').objectStore('unsent').getAll()
      reading.onsuccess = () => resolve(JSON.stringify(reading.result))
    }
  })

/** Cuts the connection of a page whose clock is the test's, so that it lasts until that goes on. */
const cutConnection = async (side: Side) => {
  await side.page.clock.pauseAt(await side.page.evaluate(() => Date.now() + 1000))
  await side.choose('Cut the connection', '.bar')
  await side.page.clock.runFor(1000)
  await side.find('.bar .status', 'offline').waitFor()
}

describe.skipIf(!hasBrowser)('a conversation of the demo', () => {
  const { open, openOne, openTwo, base, url } = openDemo()

  test('is live: messages, unread count, who types, what is read, and what is announced', async () => {
    const [ines, tomas] = await openTwo()
    await ines.openWith('Tomáš Novák')
    const entry = tomas.entry('Inês Carvalho')
    await entry.waitFor()
    const unread = async () => parseInt((await entry.locator('.badge').allTextContents())[0] ?? '0')
    const before = await unread()
    await ines.box.fill('The terrace')
    // Safari's Enter that confirms a word of an input method: the composition is over, and the key code tells.
    await ines.box.dispatchEvent('keydown', { key: 'Enter', keyCode: 229 })
    expect(await ines.box.inputValue()).toBe('The terrace')
    await ines.send('The terrace is free.')
    const sent = ines.find('.message', 'The terrace')
    await sent.getByTitle('Sent').waitFor()
    await expectSoon(unread).toBe(before + 1)

    await tomas.openWith('Inês Carvalho')
    await tomas.find('.message', 'The terrace is free.').waitFor()
    await sent.getByTitle('Read').waitFor()
    const typing = ines.node.getByText('Tomáš Novák is typing')
    // On a slow machine the topic is joined after the first letters.
    await expectSoon(async () => {
      await tomas.box.pressSequentially('Then I ')
      return typing.isVisible()
    }).toBe(true)
    await tomas.send('Then I come on Thursday!')
    await ines.find('.message.others', 'Then I come on Thursday!').waitFor()
    const announced = ines.find('[aria-live=polite]')
    await expectSoon(() => announced.textContent()).toBe('Tomáš Novák: Then I come on Thursday!')
    await typing.waitFor({ state: 'hidden' })
    expect(await ines.find('.day').last().textContent()).toBe('Today')
    await entry.locator('.badge').waitFor({ state: 'detached' })
  })

  test('shows what was offered where it was talked about; none of the demo people has an empty one', async () => {
    const ines = await openOne('/demo/c/1')
    await ines.find('.reservation').nth(1).waitFor()
    const shown = await ines.find('.messages > li:not(.day)').allTextContents()
    const story = [
      /Ten is fine/,
      /^Morning in the tile workshopAgreed/,
      /See you at ten!/,
      /a jazz evening/,
      /^Jazz evening/,
    ]
    // Other tests write here as well.
    const start = shown.findIndex((text) => story[0]!.test(text))
    expect(shown.slice(start, start + 5)).toEqual(story.map((text) => expect.stringMatching(text)))
    const tomas = await open()
    await tomas.logIn(/Walk in as Tomáš/)
    await expectSoon(() => tomas.find('.entry').count()).toBeGreaterThan(4)
    expect(await tomas.find('.preview').allTextContents()).not.toContain('No messages yet')
  })

  test('has links where a web address is written, and nowhere else', async () => {
    const you = await openOne('/demo/c/1')
    await you.send('See https://example.com/a_(b)?c=d&e. Not javascript:alert(1) or example.com, "http://x.example/"')
    const links = you.find('.message:not(.outgoing)', 'See https://example.com').locator('.content a')
    const shown = () => links.evaluateAll((all) => (all as HTMLAnchorElement[]).map(({ href, rel }) => [href, rel]))
    const rel = 'noopener noreferrer ugc'
    await expectSoon(shown).toEqual([['https://example.com/a_(b)?c=d&e', rel], ['http://x.example/', rel]])
  })

  test('has all messages once and in order after a lost connection, and after a reload what was unsent', async () => {
    const [ines, tomas] = await openTwo({ prepare: (page) => page.clock.install() }, true)
    await ines.send('before')
    await tomas.find('.message', 'before').waitFor()
    const messagesOf = async (side: Side) => {
      const all = await side.find('.message .content').allTextContents()
      return all.slice(all.lastIndexOf('before'))
    }
    await cutConnection(ines)
    const others = ['one', 'two', 'three'].map((number) => `${number} from Tomáš`)
    for (const text of others) await tomas.send(text)
    for (const text of ['own, first', 'own, second']) await ines.send(text)
    await ines.find('.outgoing.waiting', 'Not sent yet, no connection').first().waitFor()
    const jazz = new Part(ines.find('[data-reservation]', 'Jazz'))
    await jazz.press(/^Accept/, { alerts: 'The service cannot be reached' })
    await tomas.stored(others[2]!).node.waitFor()
    expect(await messagesOf(tomas)).toEqual(['before', ...others])
    expect(await messagesOf(ines)).toEqual(['before', 'own, first', 'own, second'])
    await ines.page.clock.runFor(12_000)
    await ines.page.clock.resume()
    await ines.waitUntilLive()
    const all = ['before', ...others, 'own, first', 'own, second']
    await expectSoon(() => messagesOf(ines)).toEqual(all)
    await expectSoon(() => messagesOf(tomas)).toEqual(all)
    await expectSoon(() => ines.find('.outgoing').count()).toBe(0)
    await jazz.role('alert').waitFor({ state: 'detached' })

    await cutConnection(ines)
    await ines.send('written in a tunnel')
    await ines.find('.outgoing', 'written in a tunnel').waitFor()
    await ines.box.fill('And then')
    await ines.page.clock.runFor(1000)
    await expectSoon(() => ines.page.evaluate(storedText)).toContain('And then')
    await ines.page.reload()
    await ines.page.clock.resume()
    await ines.stored('written in a tunnel').node.waitFor()
    await expectSoon(() => messagesOf(ines)).toEqual([...all, 'written in a tunnel'])
    await expectSoon(() => ines.box.inputValue()).toBe('And then')
    // It leaves with the user.
    await ines.logOut()
    await ines.logIn()
    await ines.openWith('Tomáš Novák')
    expect(await ines.box.inputValue()).toBe('')
  })

  test('opens without a network: with the list and the messages, and as of when they are', async () => {
    const you = await openOne('/demo/c/1', { refusals: [504] })
    const { page } = you
    await you.find('.message', 'a jazz evening').waitFor()
    // Its second load is the first that the worker answers.
    await page.evaluate(() => navigator.serviceWorker.ready)
    await expectSoon(() => page.evaluate(storedText)).toContain('a jazz evening')
    await page.reload()
    await you.waitUntilLive()
    // What waits for an answer is not kept.
    const previews = async () =>
      (await you.find('.preview').allTextContents()).map((text) => text.replace('Your answer? ', ''))
    const before = await previews()
    await page.context().setOffline(true)
    for (const path of ['/demo/c/1', '/demo']) {
      await page.goto(url(path))
      await you.find('.bar .status', 'offline').waitFor({ state: 'attached' })
      await you.toList()
      await you.find('.as-of', /^As of \d\d:\d\d\. No network\.$/).waitFor()
      expect(await previews()).toEqual(before)
    }
    await you.openWith('Tomáš Novák')
    await you.find('.message', 'a jazz evening').waitFor()
    await you.find('.chat-bar .status', /^As of \d\d:\d\d\. No network\.$/).waitFor({ state: 'attached' })
    await you.send('From a tunnel')
    await you.find('.message.waiting', 'From a tunnel').waitFor()
    // A token that has expired meanwhile changes nothing.
    const expire = () => {
      const session = JSON.parse(localStorage.getItem('demo')!)
      localStorage.setItem('demo', JSON.stringify({ ...session, expires_at: 1 }))
    }
    await page.evaluate(expire)
    await page.reload()
    await you.find('.message', 'a jazz evening').waitFor()
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('jazz')
    await page.context().setOffline(false)
    await you.stored('From a tunnel').node.waitFor()
    await you.waitUntilLive()
    await expectSoon(() => you.node.getByText('No network').filter({ visible: true }).count()).toBe(0)

    await you.logOut()
    await expectSoon(() => page.evaluate(storedText)).toBe('[]')
    await page.context().setOffline(true)
    await page.reload()
    await you.button('Log in').waitFor()
    expect(await you.find('.entry').count()).toBe(0)
  })

  test('has messages corrected and taken back, by the keyboard and for both; a refusal is told in words', async () => {
    const [ines, tomas] = await openTwo({ refusals: [400] }, true)
    await ines.send('Let us meet at nien.')
    const own = ines.stored('Let us meet at')
    const menu = own.find('summary')
    // What is drawn anew closes its menu.
    await own.node.getByTitle('Read').waitFor()
    const choose = async (...tabs: string[]) => {
      await menu.focus()
      await ines.keys('Enter')
      await own.button('Take back…').waitFor()
      await ines.keys(...tabs, 'Enter')
    }
    await choose('Tab')
    await ines.dialog.press('Correct', { fill: { Message: ' ' }, alerts: /^The message must not be blank/ })
    await ines.dialog.press('Correct', { fill: { Message: 'Let us meet at nine.' } })
    await own.shows('edited')
    const received = tomas.stored('Let us meet at nine.')
    await received.shows('edited')
    expect(await received.find('summary').count()).toBe(0)
    const isFocusAmongMessages = () =>
      ines.find('.scroller').evaluate((node) => node.contains(node.ownerDocument.activeElement))
    await expectSoon(isFocusAmongMessages).toBe(true)

    await choose('ArrowUp')
    await ines.dialog.press('Take back')
    for (const side of [ines, tomas]) await side.find('.message em', 'Message taken back').waitFor()
    await tomas.entry('Inês Carvalho').getByText('Message taken back').waitFor({ state: 'attached' })
    await expectSoon(isFocusAmongMessages).toBe(true)
    expect(await ines.find('.message', 'meet at nine').count()).toBe(0)
  })

  test('keeps a refused message where it was written, to be tried again, copied or discarded', async () => {
    const ines = await openOne('/demo', { refusals: [400], permissions: ['clipboard-read', 'clipboard-write'] })
    await ines.openWith('Stavroula Mantzari')
    // Counted as the service does, before it is sent.
    await ines.send('😀'.repeat(5001))
    const excess = () => ines.box.evaluate((box) => (box as HTMLTextAreaElement).validationMessage)
    expect(await excess()).toMatch(/5,001/)
    await ines.send('x\0'.repeat(2500))
    await ines.send('Shorter')
    await ines.stored('Shorter').node.waitFor()
    await expectSoon(() => ines.find('.message').last().textContent()).toContain('Shorter')
    await ines.press('Try again', { alerts: /^Not sent. / })
    await ines.press('Copy the text', { shows: 'Copied' })
    expect(await ines.page.evaluate(() => navigator.clipboard.readText())).toBe('x\0'.repeat(2500))
    await ines.press('Discard')
    await ines.find('.refused').waitFor({ state: 'detached' })
  })

  test('takes files: one is refused in plain words, another uploaded, again if that fails, and shown', async () => {
    const you = await open('/demo/c/1', { refusals: [544] })
    const { page } = you
    const storage = await holdUploads(page, [storageRefusals.timeOut])
    await you.logIn()
    await you.find('.message').first().waitFor()
    const input = you.find('.picker input')
    await you.box.fill('The tile that I mean')
    expect(await you.button('Attach a file').isVisible()).toBe(true)
    await input.setInputFiles({ ...picture, name: 'setup.exe', mimeType: 'application/x-msdownload' })
    await you.alerts('“setup.exe” is of another kind')
    await pickLarge(input, 10 * 2 ** 20 + 1)
    await you.alerts('and at most 10.5 MB can be sent')

    await input.setInputFiles(picture)
    const picked = you.find('.picked', picture.name)
    await picked.locator('img').waitFor()
    await you.keys('Enter')
    await you.role('progressbar', 'Upload').waitFor()
    await expectSoon(() => storage.uploads.length).toBe(1)
    storage.release()
    // What the browser has not sent yet survives the page.
    await expectSoon(() => storage.uploads.length).toBe(2)
    await page.reload()
    await expectSoon(() => storage.uploads.length).toBe(3)
    storage.release()
    const sent = you.stored('The tile that I mean')
    await isShown(sent.role('img', picture.name))
    const path = expect.stringMatching(/^attachments\/1\/[0-9a-f-]{36}\/file\.png$/)
    expect(storage.uploads[0]).toEqual({ path, type: 'image/png' })
    expect(new Set(storage.uploads.map(({ path }) => path)).size).toBe(1)
    const saving = page.waitForEvent('download')
    await sent.button(picture.name).click()
    await you.dialog.shows(/^70 ?byte/)
    await you.dialog.press('Save')
    expect((await saving).suggestedFilename()).toBe(picture.name)
    expect([await you.box.inputValue(), await picked.isVisible()]).toEqual(['', false])
  })

  test('has a phone’s photos, taken offline too; a large one is scaled down, and whole only when opened', async () => {
    const you = await openOne('/demo/c/1')
    const input = you.find('.picker input')
    // What the browser cannot read as a picture is sent as it is.
    await input.setInputFiles({ name: 'IMG_1.HEIC', mimeType: '', buffer: Buffer.from('ftypheic') })
    await you.find('.picked', 'IMG_1.HEIC').waitFor()
    await you.page.context().setOffline(true)
    await you.press('Send')
    await you.find('.message.waiting', 'IMG_1.HEIC').waitFor()
    await you.page.context().setOffline(false)
    await you.find('.message:not(.outgoing) button.file', 'IMG_1.HEIC').waitFor()
    // 12 megapixels, more bytes than the bucket takes.
    const size = await input.evaluate(async (node: HTMLInputElement) => {
      const canvas = new OffscreenCanvas(4000, 3000)
      const noise = Uint32Array.from({ length: 4000 * 3000 }, () => Math.random() * 2 ** 32 | 0xff000000)
      const picture = new ImageData(new Uint8ClampedArray(noise.buffer), 4000, 3000)
      canvas.getContext('2d')!.putImageData(picture, 0, 0)
      const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 1 })
      const picked = new DataTransfer()
      picked.items.add(new File([blob], 'IMG_2.JPEG', { type: 'image/jpeg' }))
      node.files = picked.files
      node.dispatchEvent(new Event('change', { bubbles: true }))
      return blob.size
    })
    expect(size).toBeGreaterThan(10 * 2 ** 20)
    await you.find('.picked', 'IMG_2.jpg').waitFor()
    await you.press('Send')
    const image = you.find('.message:not(.outgoing)').getByAltText('IMG_2.jpg')
    await isShown(image, 560)
    await you.entry('You: Photo').locator('.preview .icon').waitFor()
    const { width, height } = (await image.boundingBox())!
    expect(width / height).toBeCloseTo(4 / 3, 1)
    const opener = you.button('IMG_2.jpg')
    // Without a connection the small one is still there.
    for (const [isOffline, shown] of [[true, 560], [false, 2048]] as const) {
      await you.page.context().setOffline(isOffline)
      await opener.press('Enter')
      await isShown(you.dialog.role('img', 'IMG_2.jpg'), shown)
      await you.keys('Escape')
      await expectSoon(() => isFocused(opener)).toBe(true)
    }
  })

  test('is led by the keyboard alone, from the log-in to the answer and back', async () => {
    const you = await open()
    const { keyboard } = you.page
    const focused = () => you.page.evaluate(() => document.activeElement?.textContent.trim() ?? '')
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await you.keys('Tab')
        if ((await focused()).startsWith(text)) return
      }
      throw new Error(`No focusable element starts with ${text}`)
    }
    await you.node.getByLabel('E-mail').waitFor()
    await tabTo('Walk in as Tomáš')
    await you.keys('Enter')
    await you.find('.entry').first().waitFor()
    await expectSoon(focused).toMatch(/^Conversations/)
    await tabTo('People')
    await you.keys('Enter')
    await you.find('.hit').first().waitFor()
    await expectSoon(focused).toBe('People')
    await you.keys('Shift+Tab', 'Enter')
    await you.find('.entry').first().waitFor()
    await tabTo('DM')
    await you.keys('Enter')
    await you.find('.message', 'Do you eat everything?').waitFor()
    await you.find('textarea:focus').waitFor()
    await keyboard.type('Everything.')
    await you.keys('Shift+Enter')
    await keyboard.type('Almost.')
    await you.keys('Enter')
    await you.stored('Everything.\nAlmost.').node.waitFor()
    // Escape closes the menu and a dialog alone, which give the focus back, and then the conversation.
    const menu = you.find('.chat-bar .menu summary')
    const offer = you.button('Offer a reservation')
    for (const [opener, opened] of [[menu, you.button('Archive')], [offer, you.dialog.node]] as const) {
      await opener.focus()
      await you.keys('Enter')
      await opened.waitFor()
      await you.keys('Escape')
      await opened.waitFor({ state: 'hidden' })
      await expectSoon(() => isFocused(opener)).toBe(true)
    }
    expect(await you.find('.message').count()).toBeGreaterThan(0)
    await you.keys('Escape')
    const entry = you.find('.entry:focus', 'Daisuke Morimoto')
    await entry.waitFor()
    await expectSoon(() => entry.evaluate((node) => getComputedStyle(node).outlineStyle)).toBe('solid')
  })

  test('is told by pushes, which the service worker shows, until one logs out', async () => {
    const { origin } = new URL(base())
    const ines = await openOne('/demo', { refusals: [503], permissions: ['notifications'], notifies: true })
    const { page } = ines
    const asked = await page.evaluateHandle((given) => {
      const asked: (string | undefined)[] = []
      PushManager.prototype.subscribe = (options) => {
        asked.push(options?.applicationServerKey as string)
        return Promise.resolve({ toJSON: () => given } as unknown as PushSubscription)
      }
      const unsubscribe = () => Promise.resolve(asked.push('unsubscribe') > 0)
      PushManager.prototype.getSubscription = () => Promise.resolve({ unsubscribe } as unknown as PushSubscription)
      return asked
    }, subscription)
    const registered = page.waitForResponse((response) => response.request().method() === 'PUT')
    await ines.choose('Your profile', '.bar')
    await ines.press('Notify me')
    expect((await registered).status()).toBe(204)
    await ines.button('You are notified').waitFor()
    const { public_key } = await (await fetch(`${base()}/users/push-key`)).json()
    expect(await asked.jsonValue()).toEqual(['unsubscribe', public_key])

    const devtools = await page.context().newCDPSession(page)
    const registrations: { registrationId: string; scopeURL: string }[] = []
    devtools.on('ServiceWorker.workerRegistrationUpdated', (event) => registrations.push(...event.registrations))
    await devtools.send('ServiceWorker.enable')
    await expectSoon(() => registrations[0]?.scopeURL).toBe(`${origin}/demo`)
    const { registrationId } = registrations[0]!
    const shown = () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.getRegistration('/demo/')
        return (await registration!.getNotifications()).map(({ title, body, tag, data }) => [title, body, tag, data])
      })
    const accepted = { status: 'accepted', title: 'Jazz', date: '2036-05-14T18:00:00Z' }
    const pushes = [
      [{ unread: 1 }, '1 unread message'],
      [{ unread: 3 }, '3 unread messages'],
      [{ unread: 0, ...accepted }, expect.stringMatching(/^“Jazz”, .*14.*, is agreed$/)],
    ] as const
    for (const [told, body] of pushes) {
      const data = JSON.stringify({ conversation_id: 7, name: 'Tomáš', status: null, text: null, ...told })
      await devtools.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data })
      await expectSoon(shown).toEqual([['Tomáš', body, 'conversation-7', '/demo/c/7']])
    }

    // The browser receives no pushes any more, also where the page does not hear from the service.
    const removed: number[] = []
    await page.route('**/users/me/devices/*', async (route) => {
      removed.push((await route.fetch()).status())
      await route.fulfill({ status: 503, headers: { 'X-Error-Code': 'unavailable' }, json: { error: 'Busy' } })
    })
    await ines.logOut()
    expect([removed, await asked.jsonValue()]).toEqual([[204], ['unsubscribe', public_key, 'unsubscribe']])
  })
})
