/// <reference lib="dom" />
import { describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { eventually } from '../tools/wait.ts'
import {
  choose,
  cutConnection,
  type Demo,
  expectSoon,
  isPhone,
  logIn,
  messagesFrom,
  onDesktop,
  openWith,
  sendMessage,
  waitUntilLive,
} from './browser.ts'

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

export const chat = ({ openBoth, openColumn, base }: Demo) =>
  describe('a conversation in a browser', () => {
    test('a message reaches the other user live, with unread count, typing indicator and read marker', async () => {
      const { ines, tomas } = await openBoth()
      await openWith(ines, 'Tomáš Novák')
      const entry = tomas.locator('.entry', { hasText: 'Inês Carvalho' })
      await entry.waitFor()
      const unread = async () => parseInt((await entry.locator('.badge').allTextContents())[0] ?? '0')
      const before = await unread()
      const box = ines.getByRole('textbox', { name: 'Message to' })
      await box.fill('The terrace')
      // Safari's Enter that confirms a word of an input method: the composition is over, and the key code tells.
      await box.dispatchEvent('keydown', { key: 'Enter', keyCode: 229 })
      expect(await box.inputValue()).toBe('The terrace')
      await sendMessage(ines, 'The terrace is free.')
      const sent = ines.locator('.message', { hasText: 'The terrace' })
      await sent.getByTitle('Sent').waitFor()
      await expectSoon(unread).toBe(before + 1)

      await openWith(tomas, 'Inês Carvalho')
      await tomas.locator('.message', { hasText: 'The terrace is free.' }).waitFor()
      await sent.getByTitle('Read').waitFor()
      const typing = ines.getByText('Tomáš Novák is typing')
      // On a slow machine the topic is joined after the first letters.
      await expectSoon(async () => {
        await tomas.getByRole('textbox').pressSequentially('Then I ')
        return typing.isVisible()
      }).toBe(true)
      await sendMessage(tomas, 'Then I come on Thursday!')
      await ines.locator('.message.others', { hasText: 'Then I come on Thursday!' }).waitFor()
      const announced = ines.locator('[aria-live=polite]')
      await expectSoon(() => announced.textContent()).toBe('Tomáš Novák: Then I come on Thursday!')
      await typing.waitFor({ state: 'hidden' })
      expect(await ines.locator('.day').last().textContent()).toBe('Today')
      await entry.locator('.badge').waitFor({ state: 'detached' })
    })

    test('messages sent during a lost connection arrive once and in order', async () => {
      const { ines, tomas } = await openBoth()
      await openWith(ines, 'Tomáš Novák')
      await openWith(tomas, 'Inês Carvalho')
      await sendMessage(ines, 'before disconnecting')
      await tomas.locator('.message', { hasText: 'before disconnecting' }).waitFor()
      await cutConnection(ines, 'Tomáš Novák')
      const others = ['one', 'two', 'three'].map((number) => `${number} from Tomáš`)
      for (const text of others) await sendMessage(tomas, text)
      await sendMessage(ines, 'own, first')
      await sendMessage(ines, 'own, second')
      await ines.locator('.outgoing.waiting', { hasText: 'Not sent yet, no connection' }).first().waitFor()
      // In a phone's conversation there is no bar.
      if (!isPhone) expect(await ines.locator('.bar .status').textContent()).toBe('offline')
      await tomas.locator('.message:not(.outgoing)', { hasText: others[2]! }).waitFor()
      expect(await messagesFrom(tomas, 'before disconnecting')).toEqual(['before disconnecting', ...others])
      // A conversation that is opened without a connection has only what is unsent.
      expect(await messagesFrom(ines, isPhone ? 'own, first' : 'before disconnecting')).toEqual([
        ...isPhone ? [] : ['before disconnecting'],
        'own, first',
        'own, second',
      ])

      const all = ['before disconnecting', ...others, 'own, first', 'own, second']
      await waitUntilLive(ines)
      await expectSoon(() => messagesFrom(ines, 'before disconnecting')).toEqual(all)
      await expectSoon(() => messagesFrom(tomas, 'before disconnecting')).toEqual(all)
      await expectSoon(() => ines.locator('.outgoing').count()).toBe(0)
    })

    onDesktop('what is unsent survives a reload, and leaves with the user', async () => {
      const ines = await openColumn()
      const page = ines.page()
      await openWith(ines, 'Tomáš Novák')
      await cutConnection(ines, 'Tomáš Novák')
      await sendMessage(ines, 'written in a tunnel')
      await ines.locator('.message', { hasText: 'written in a tunnel' }).waitFor()
      await ines.getByRole('textbox', { name: 'Message to' }).fill('And then')
      await expectSoon(() => page.evaluate(storedText)).toContain('And then')
      await page.reload()
      await openWith(ines, 'Tomáš Novák')
      await ines.locator('.message', { hasText: 'written in a tunnel' }).getByTitle('Sent').waitFor()
      expect(await ines.locator('.message', { hasText: 'written in a tunnel' }).count()).toBe(1)
      const text = ines.getByRole('textbox', { name: 'Message to' })
      await expectSoon(() => text.inputValue()).toBe('And then')
      await choose(ines, 'Log out', '.bar')
      await logIn(ines)
      await openWith(ines, 'Tomáš Novák')
      expect(await text.inputValue()).toBe('')
    })

    onDesktop('a refused message stays where it was written, and can be retried, copied or discarded', async () => {
      const ines = await openColumn([400])
      const page = ines.page()
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await openWith(ines, 'Stavroula Mantzari')
      await sendMessage(ines, 'x'.repeat(20_001))
      await sendMessage(ines, 'Shorter')
      await ines.locator('.message:not(.outgoing)', { hasText: 'Shorter' }).waitFor()
      await expectSoon(() => ines.locator('.message').last().textContent()).toContain('Shorter')
      const refused = ines.locator('.refused')
      await refused.getByRole('button', { name: 'Try again' }).click()
      await refused.getByRole('alert').filter({ hasText: /^Not sent. The message must have/ }).waitFor()
      await refused.getByRole('button', { name: 'Copy the text' }).click()
      await refused.getByText('Copied').waitFor()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('x'.repeat(20_001))
      await refused.getByRole('button', { name: 'Discard' }).click()
      await refused.waitFor({ state: 'detached' })
    })

    test('scrolling up loads older messages without moving the visible ones', async () => {
      const account = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
      const { access_token: token } = (await call('POST', `${base()}/auth/login`, account)).body
      const { id } = (await call('POST', `${base()}/conversations`, { other_user_id: 1 }, { token })).body
      const numbers = Array.from({ length: 70 }, (_, index) => `number ${index + 1}`)
      for (const content of numbers) {
        await call('POST', `${base()}/conversations/${id}/messages`, { content }, { token })
      }

      const ines = await openColumn()
      await openWith(ines, 'number 70')
      const messages = ines.locator('.message .content')
      await ines.locator('.message', { hasText: 'number 70' }).waitFor()
      expect(await messages.count()).toBe(50)
      const scroller = ines.getByRole('region', { name: 'Messages' })
      await expectSoon(() => scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight))
        .toBeLessThan(2)

      const moved = await scroller.evaluate(async (box) => {
        const topOf = (text: string) =>
          [...box.querySelectorAll('.message')].find((message) =>
            message.querySelector('.content')!.textContent === text
          )
            ?.getBoundingClientRect().top
        box.scrollTop = 10
        const before = topOf('number 21')!
        while (topOf('number 1') === undefined) await new Promise(requestAnimationFrame)
        return topOf('number 21')! - before
      })
      expect(Math.abs(moved)).toBeLessThan(2)
      expect(await messages.allTextContents()).toEqual(numbers)
      await ines.getByRole('button', { name: 'Older messages' }).waitFor({ state: 'hidden' })
    })

    onDesktop('a user subscribes, the service worker shows a push, and log-out removes the device', async () => {
      const ines = await openColumn([503])
      const page = ines.page()
      const { origin } = new URL(base())
      await page.context().grantPermissions(['notifications'], { origin })
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
      await choose(ines, 'Your profile', '.bar')
      await ines.getByRole('button', { name: 'Notify me' }).click()
      expect((await registered).status()).toBe(204)
      await ines.getByRole('button', { name: 'You are notified' }).waitFor()
      const { public_key } = await (await fetch(`${base()}/users/push-key`)).json()
      expect(await asked.jsonValue()).toEqual([public_key])

      const devtools = await page.context().newCDPSession(page)
      const registrations: { registrationId: string; scopeURL: string }[] = []
      devtools.on('ServiceWorker.workerRegistrationUpdated', (event) => registrations.push(...event.registrations))
      await devtools.send('ServiceWorker.enable')
      await eventually(() => registrations.length > 0, 50)
      expect(registrations[0]!.scopeURL).toBe(`${origin}/demo/`)
      const { registrationId } = registrations[0]!
      const deliver = (unread: number) =>
        devtools.send('ServiceWorker.deliverPushMessage', {
          origin,
          registrationId,
          data: JSON.stringify({ conversation_id: 7, name: 'Tomáš', unread, status: null, text: null }),
        })
      const shown = () =>
        page.evaluate(async () => {
          const registration = await navigator.serviceWorker.getRegistration('/demo/')
          return (await registration!.getNotifications()).map(({ title, body, tag, data }) => ({
            title,
            body,
            tag,
            data,
          }))
        })
      for (const [unread, body] of [[1, '1 unread message'], [3, '3 unread messages']] as const) {
        await deliver(unread)
        await expectSoon(shown).toEqual([{ title: 'Tomáš', body, tag: 'conversation-7', data: '/demo/c/7' }])
      }

      // The browser receives no pushes any more, also where the page does not hear from the service.
      const removed: number[] = []
      await page.route('**/users/me/devices/*', async (route) => {
        removed.push((await route.fetch()).status())
        await route.fulfill({ status: 503, headers: { 'X-Error-Code': 'unavailable' }, json: { error: 'Busy' } })
      })
      await choose(ines, 'Log out', '.bar')
      await ines.getByRole('button', { name: 'Log in', exact: true }).waitFor()
      expect([removed, await asked.jsonValue()]).toEqual([[204], [public_key, 'unsubscribe']])
    })
  })
