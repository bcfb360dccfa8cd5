// What a narrow page could hide, or a tap do otherwise than a click: run with the screen of a desktop and of a phone.
/// <reference lib="dom" />
import axe from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { signUp } from '../tools/people.ts'
import { expectSoon, hasBrowser, isFocused, isPhone, openDemo, type Side } from './browser.ts'

/** What axe-core finds on the page as it is now, ids that are there twice, and whether the page fits the width. */
const findings = (page: Page): Promise<unknown[]> =>
  page.evaluate(async () => {
    // The size of targets is off unless it is asked for.
    const options = { rules: { 'target-size': { enabled: true } } }
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(options)
    const excess = document.documentElement.scrollWidth - innerWidth
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
    return [
      ...violations.map((
        { id, nodes },
      ) => [id, ...nodes.map(({ target, failureSummary }) => [target, failureSummary])]),
      ...ids.filter((id, index) => ids.indexOf(id) !== index),
      ...[...document.querySelectorAll('.chat-bar')].map((bar) => bar.clientHeight).filter((height) => height > 60),
      ...excess > 0 ? [`${excess} pixels too wide`] : [],
    ]
  })

const boxOf = async (part: Locator) => (await part.boundingBox())!
/** A keyboard takes half of the height; a long message, the messages and the button to send still have room. */
const checkWithKeyboard = async (you: Side) => {
  const screen = you.page.viewportSize()!
  await you.page.setViewportSize({ ...screen, height: 440 })
  await you.box.fill('A line\n'.repeat(12))
  await expectSoon(async () => (await boxOf(you.find('.log'))).height).toBeGreaterThan(80)
  const { y, height } = await boxOf(you.button('Send'))
  expect(y + height).toBeLessThanOrEqual(440)
  await you.box.fill('')
  await you.page.setViewportSize(screen)
}
/** A phone that lies on its side shows the list, with its header, beside what is open. */
const checkOnItsSide = async (you: Side) => {
  const { width, height } = you.page.viewportSize()!
  await you.page.setViewportSize({ width: height, height: width })
  await you.role('navigation', /^Pages/).waitFor()
  await you.box.waitFor()
  await you.page.setViewportSize({ width, height })
}

describe.skipIf(!hasBrowser)('every page of the demo', () => {
  const { open, openOne, openSideBySide, callAsInes, base, url } = openDemo()

  test('has nothing that axe-core finds, and nothing that is cut off', async () => {
    const [uma, hidden] = [await signUp('Uma', { is_searchable: true }, base()), await signUp('Hidden', {}, base())]
    const you = await open('/demo', { refusals: [403, 404], reducedMotion: 'reduce' })
    const { page } = you
    const check = async (what: string) => expect.soft([what, await findings(page)]).toEqual([what, []])
    // Evaluated by the debugger, which the page's policy does not restrict.
    const addAxe = () => page.evaluate(axe.source)
    const go = async (path: string, first: string, what: string) => {
      await page.goto(url(path))
      await page.locator(first).first().waitFor()
      await addAxe()
      await check(what)
    }
    await addAxe()
    await expectSoon(() => you.role('list', 'Some of the people here').locator('img').count()).toBe(7)
    await check('logging in')
    const names = you.find('.walk-in .name')
    expect((await boxOf(names.first())).y).toBe((await boxOf(names.last())).y)
    await you.logIn()
    await you.region('Coming up').find('.tile').first().waitFor()
    await check('conversations')

    await go('/demo/c/1', '[data-reservation]', 'a conversation with its reservations')
    if (isPhone) {
      await checkWithKeyboard(you)
      await checkOnItsSide(you)
    }
    await you.find('.chat-bar .menu summary').click()
    await check('the menu of a conversation')
    await you.keys('Escape')
    await you.press('Offer a reservation')
    await check('an offer')
    await you.keys('Escape')
    await you.press('Send', { fill: { 'Message to': 'Not for long' } })
    await you.stored('Not for long').find('summary').click()
    await check('the menu of a message')
    await you.press('Take back…')
    await check('taking back')
    await you.dialog.press('Take back')
    await you.stored('Message taken back').node.waitFor()
    await check('a message taken back')

    await go('/demo/people?q=architecure', '.hit', 'people and a suggestion')
    await you.openFilters()
    await check('filters')
    await you.role('combobox').fill('ja')
    await you.role('option').first().waitFor()
    await you.find('.people:not([aria-busy])').waitFor()
    await check('completions')
    await go('/demo/people?q=zzzzqqq', '.people .empty', 'nobody found')
    await go('/demo/people/1', '.profile .text', 'a profile')
    await go(`/demo/people/${uma.profileId}`, '.profile .text', 'the profile of a stranger')
    await you.press('Write to Uma')
    await check('a first message')
    await you.press('Send', { fill: { 'Your first message': 'Quite a lot to say. '.repeat(200) } })
    await you.stored('Quite a lot to say').button('Show more').waitFor()
    await check('a long message')
    await you.block()
    await you.button('Unblock').waitFor()
    await check('a block')

    await go('/demo/me', 'section', "one's own profile")
    await you.role('switch', 'Quiet hours').check()
    await you.node.getByText('Change the e-mail address').click()
    await check('a profile with all fields')
    await you.region('Photo').find('input').setInputFiles('demo/portraits/tomas.novak.webp')
    await you.dialog.role('application').waitFor()
    await check('cutting out a photo')

    // What is not there, or not for everybody, is explained in a sentence.
    const missing = {
      '/demo/people/99999': 'There is no such person here.',
      [`/demo/people/${hidden.profileId}`]: 'This profile is not shown',
      '/demo/c/99999': 'There is no such conversation, or it is not yours.',
      '/demo/c/seven': 'There is no such page.',
    }
    for (const [path, text] of Object.entries(missing)) {
      await go(path, `.empty:has-text("${text}")`, text)
      expect([await you.box.count(), await you.button(/^Write/).count()]).toEqual([0, 0])
    }
    await you.toList()
    await you.find('.entry').first().waitFor()
    await go('/demo/side-by-side', '.message', 'two people side by side')
    await go('/', '.front .button', 'the front page')
    await go('/nope', '.front .notice', 'an address that nobody has')
  })

  test('has a link, to which back, forward and reload lead again, with the focus and the title', async () => {
    const you = await openOne()
    const { page } = you
    const message = you.find('.message').first()
    await you.openWith('Tomáš Novák')
    const conversation = page.url()
    expect(conversation).toMatch(/\/demo\/c\/\d+$/)
    await expectSoon(() => page.title()).toMatch(/Tomáš Novák – Voyagers and locals$/)
    // A keyboard would hide half of a phone.
    await you.find(isPhone ? '.chat-bar .plain:focus' : 'textarea:focus').waitFor()
    await you.press('Tomáš Novák')
    await you.find('.profile .text').waitFor()
    await expectSoon(() => page.url()).toMatch(/\/demo\/people\/\d+$/)
    await expectSoon(() => page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Profile/)
    await page.goBack()
    await message.waitFor()
    await expectSoon(() => page.url()).toBe(conversation)
    await page.reload()
    await message.waitFor()
    // The list may come after the messages.
    await you.entry('Tomáš Novák').waitFor({ state: 'attached' })
    await page.goBack()
    await expectSoon(() => page.url()).toBe(url('/demo'))
    await you.find('.entry:focus').waitFor()
    await page.goForward()
    await message.waitFor()
  })

  test('of two people side by side has one address and two sessions; a phone shows one of them', async () => {
    const [ines, tomas] = await openSideBySide(isPhone ? { viewport: { width: 360, height: 700 } } : {})
    const { page } = ines
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
    const shown = (side: Side) =>
      side.find('.message:has-text("jazz evening at a friend")').waitFor({ state: 'attached' })
    const showTomas = async () => {
      if (isPhone) await page.locator('#panes-shown button').last().click()
    }
    await shown(ines)
    await shown(tomas)
    expect([await tomas.node.isVisible(), await fits()]).toEqual([!isPhone, true])
    await ines.press('Back')
    await ines.role('link', 'People').click()
    await ines.find('.hit a').first().click()
    await ines.find('.profile .text').waitFor()
    expect([page.url().startsWith(url('/demo/side-by-side?')), await fits()]).toEqual([true, true])
    await page.reload()
    await ines.find('.profile .text').waitFor()
    await showTomas()
    expect([await ines.node.isVisible(), await fits()]).toEqual([!isPhone, true])
    await page.getByRole('link', { name: 'Start over' }).click()
    await page.waitForURL(url('/demo/side-by-side'))
    await shown(ines)
    await shown(tomas)
    await showTomas()
    await tomas.logOut()
    await page.reload()
    await tomas.find('.walk-in').first().waitFor({ state: 'attached' })
    await expectSoon(() => ines.find('.bar h2').textContent()).toBe('Inês Carvalho')
    await page.getByRole('link', { name: 'One person' }).click()
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor()
    expect(page.url()).toBe(url('/demo'))
  })

  test('shows all of a reservation, however long its texts are and narrow the screen', async () => {
    const other = await signUp('W'.repeat(100), {}, base())
    const { id: other_user_id } = await callAsInes('GET', '/users/me')
    const { body: { id } } = await other.call('POST', '/conversations', { other_user_id })
    const path = `/conversations/${id}/reservations`
    const terms = { price: 99_999.99, date: '9998-12-30T22:22:22Z', ends_at: '9999-12-31T22:22:22Z' }
    const changed = { title: 'M'.repeat(120), price: 88_888.88, date: '9999-12-30T22:22:22Z' }
    const offer = async () => (await other.call('POST', path, { title: 'W'.repeat(120), ...terms })).body.id
    await other.call('PATCH', `${path}/${await offer()}`, { revision: 1, ...changed })
    await other.call('POST', `${path}/${await offer()}/cancel`, { note: 'W'.repeat(500) })
    const own = await callAsInes('POST', path, { title: 'W'.repeat(120), ...terms })
    expect(own).toMatchObject({ status: 'pending' })
    const you = await openOne(`/demo/c/${id}`, { timezoneId: 'Asia/Kathmandu' })
    /** The texts, and the elements, that reach out of their card or dialog, or a card out of the screen. */
    const cutOff = (side: Side, box: string) =>
      side.page.locator(box).evaluateAll((boxes) =>
        boxes.flatMap((box) => {
          const { left, right } = box.getBoundingClientRect()
          const range = document.createRange()
          range.selectNodeContents(box)
          const wide = [...range.getClientRects()].filter((part) => part.left < left - 1 || part.right > right + 1)
          return [...wide.map((part) => part.width), ...left < 0 || right > innerWidth ? ['the card'] : []]
        })
      )
    const cards = you.find('.reservation')
    await expectSoon(() => cards.count()).toBe(3)
    await you.shows(/^Cancelled by W/)
    await cards.getByRole('button', { name: 'Accept' }).click()
    for (const width of [320, 390, 1360]) {
      await you.page.setViewportSize({ width, height: 800 })
      for (const box of ['.reservation', 'dialog']) {
        expect([width, box, await cutOff(you, box)]).toEqual([width, box, []])
      }
    }
    const [first] = await openSideBySide(isPhone ? {} : { viewport: { width: 1360, height: 800 } })
    await first.waitUntilLive()
    await (isPhone ? first.toList() : first.press('Back'))
    await first.entry('WWW').click()
    await expectSoon(() => first.find('.reservation').count()).toBe(3)
    expect(await cutOff(first, '.reservation')).toEqual([])
  })

  test('of people has filters where there is room, with numbers, which keep the focus when clicked', async () => {
    const you = await openOne()
    await you.findPeople()
    const total = () => you.find('.total').textContent()
    const isUnfolded = () => you.role('group', 'Interests').isVisible()
    await expectSoon(isUnfolded).toBe(!isPhone)
    const all = (await total())!
    await you.openFilters()
    const chip = you.role('group', 'Interests').getByRole('button').first()
    const [name, people] = [await chip.getAttribute('data-name'), await chip.getAttribute('aria-description')]
    expect(await chip.textContent()).toBe(`${name} ${parseInt(people!)}`)
    await chip.click()
    await expectSoon(total).toBe(people)
    const pressed = you.node.getByRole('button', { name: name!, exact: true, pressed: true })
    await expectSoon(() => isFocused(pressed)).toBe(true)
    await expectSoon(() => you.find('.hit .tags').first().textContent()).toContain(name)
    await pressed.click()
    await expectSoon(total).toBe(all)

    // A completion is taken by a click, and the focus stays in the box.
    const box = you.role('combobox', 'Search people')
    await box.fill('port')
    const completion = you.role('option').first()
    const text = (await completion.textContent())!
    await completion.click()
    await expectSoon(() => box.inputValue()).toBe(text)
    await expectSoon(() => isFocused(box)).toBe(true)
    await completion.waitFor({ state: 'hidden' })
    await expectSoon(total).not.toBe(all)
    await you.find('.hit a').first().click()
    await you.role('article').waitFor()
    await expectSoon(isUnfolded).toBe(false)
  })

  test('of a conversation loads older messages when one scrolls up, without moving what is read', async () => {
    const numbers = Array.from({ length: 60 }, (_, index) => `number ${index + 1}`)
    const { id } = await callAsInes('POST', '/conversations', { other_user_id: 1 })
    for (const content of numbers) await callAsInes('POST', `/conversations/${id}/messages`, { content })
    const you = await openOne()
    await you.openWith('number 60')
    const messages = you.find('.message .content')
    await expectSoon(() => messages.allTextContents()).toEqual(numbers.slice(10))
    const log = you.role('region', /^Messages/)
    const fromEnd = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
    await expectSoon(fromEnd).toBeLessThan(2)
    const moved = await log.evaluate(async (box) => {
      const topOf = (text: string) => {
        const texts = [...box.querySelectorAll('.message .content')]
        return texts.find(({ textContent }) => textContent === text)?.getBoundingClientRect().top
      }
      box.scrollTop = 10
      const before = topOf('number 11')!
      while (topOf('number 1') === undefined) await new Promise(requestAnimationFrame)
      return topOf('number 11')! - before
    })
    expect(Math.abs(moved)).toBeLessThan(2)
    expect(await messages.allTextContents()).toEqual(numbers)
    await you.button('Older messages').waitFor({ state: 'hidden' })
    // Whoever writes sees what they have written.
    await you.box.fill('And one more')
    // On a touch screen Enter begins another line.
    if (isPhone) await you.keys('Enter')
    expect(await you.box.inputValue()).toBe(`And one more${isPhone ? '\n' : ''}`)
    await you.press('Send')
    await you.stored('And one more').node.waitFor()
    await expectSoon(fromEnd).toBeLessThan(2)
  })

  test('of a conversation shows the message that a search has found, however far up it is', async () => {
    const { id: other_user_id } = await signUp('Reader', {}, base())
    const { id } = await callAsInes('POST', '/conversations', { other_user_id })
    const texts = ['A needle in the hay', ...Array.from({ length: 110 }, (_, index) => `Straw ${index + 1}`)]
    for (const content of texts) await callAsInes('POST', `/conversations/${id}/messages`, { content })
    const you = await openOne()
    await you.toList()
    await you.fill({ 'Search messages': 'zzzz' })
    await you.shows('No message says that.')
    expect(await you.find('.entry:visible').count()).toBe(0)
    await you.fill({ 'Search messages': 'nedle' })
    await you.page.evaluate(axe.source)
    await you.entry('You: A needle in the hay').waitFor()
    expect(await findings(you.page)).toEqual([])
    await you.entry('A needle in the hay').click()
    const found = you.find('.message', 'A needle in the hay')
    await expectSoon(() => isFocused(found)).toBe(true)
    expect(await you.find('.message').count()).toBe(texts.length)
    await expectSoon(() => found.evaluate((node) => node.getBoundingClientRect().top > 0)).toBe(true)
    // Its address leads there as well.
    await you.page.reload()
    await expectSoon(() => isFocused(found)).toBe(true)
    await you.toList()
    await you.fill({ 'Search messages': 'straw' })
    await you.shows('20 messages')
    await you.button('Older messages').filter({ visible: true }).last().click()
    await you.shows('40 messages')
    await you.fill({ 'Search messages': '' })
    await you.entry('Tomáš Novák').first().waitFor()
  })
})
