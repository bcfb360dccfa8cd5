/// <reference lib="dom" />
import type { Page, Request, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { signUp } from '../tools/people.ts'
import { expectSoon, hasBrowser, isFocused, isShown, openDemo } from './browser.ts'

describe.skipIf(!hasBrowser)('people of the demo', () => {
  const { open, openOne, base, url } = openDemo()
  const openPeople = async () => {
    const you = await openOne()
    await you.findPeople()
    const hits = you.find('.hit')
    const names = () => hits.getByRole('heading').allTextContents()
    return { page: you.page, you, box: you.role('combobox', 'Search people'), hits, names }
  }

  test('are found by words, which are marked and corrected, and by being like somebody', async () => {
    const { you, box, hits, names } = await openPeople()
    const all = await names()
    await box.fill('architecure ')
    await expectSoon(() => hits.first().locator('mark').allTextContents()).toContain('Architecture')
    const reason = hits.first().locator('.reason')
    expect([await reason.textContent(), await reason.getAttribute('title')])
      .toEqual([expect.stringMatching(/^likes architecture/), expect.stringMatching(/^Ranking score 0\.\d+$/)])
    await you.node.getByText('Did you mean').getByRole('button').click()
    await you.node.getByText('Did you mean').waitFor({ state: 'hidden' })
    expect((await box.inputValue()).trim()).toBe('architecture')
    await expectSoon(() => isFocused(box)).toBe(true)

    await box.fill('')
    await expectSoon(names).toEqual(all)
    await you.press(`More like this (${all[0]})`, { shows: `People like ${all[0]}` })
    await expectSoon(names).not.toContain(all[0])
    await expectSoon(() => isFocused(you.button('Show everybody'))).toBe(true)
    await you.press('Show everybody')
    await expectSoon(names).toEqual(all)
  })

  test('say why they were found; those of the place that was asked for are counted, the others are apart', async () => {
    const { you, box, hits } = await openPeople()
    const reasons = (list: string) => you.role('list', list).locator('.reason').allTextContents()
    expect([await you.find('.reason').count(), await you.find('.elsewhere').isVisible()]).toEqual([0, false])
    await box.fill('street art Berlin ')
    await expectSoon(() => you.find('.total').textContent()).toMatch(/^\d+ people · 5 in Berlin$/)
    const [there, others] = [await reasons('People found'), await reasons('Elsewhere')]
    expect([there.length, there.filter((reason) => /^lives in Berlin(, |$)/.test(reason)).length]).toEqual([5, 5])
    expect(others.every((reason) => reason.endsWith(', not in Berlin'))).toBe(true)
    expect(others).toEqual(
      expect.arrayContaining(['likes street art, not in Berlin', 'close in meaning, not in Berlin']),
    )

    await you.press('Not only in Berlin')
    await expectSoon(() => you.find('.total').textContent()).toMatch(/^\d+ people$/)
    expect([await box.inputValue(), await you.button('Not only in Berlin').isVisible()]).toEqual(['street art', false])

    await box.fill('somebody who paints murals ')
    await expectSoon(() => reasons('People found')).toContain('writes about “murals”')
    expect((await reasons('People found')).join()).not.toMatch(/“who”|not in/)
    expect(await you.find('.elsewhere').isVisible()).toBe(false)

    // A picture means nobody, and not everybody.
    await box.fill('📷')
    await you.shows('Nobody was found for “📷”.')
    expect(await hits.count()).toBe(0)
  })

  test('are completed with the keyboard, which assistive technology is told of; Escape does nothing else', async () => {
    const { page, you, box, hits } = await openPeople()
    const list = you.role('listbox', 'Completions')
    const active = () => box.getAttribute('aria-activedescendant')
    expect(await box.getAttribute('aria-expanded')).toBe('false')
    // All letters at once, because the answer to the first would come after the choice on a busy machine.
    await box.fill('por')
    await list.waitFor()
    await you.keys('ArrowUp')
    await expectSoon(active).not.toBeNull()
    await you.keys('Escape')
    await list.waitFor({ state: 'hidden' })
    expect([await active(), await box.inputValue()]).toEqual([null, 'por'])
    await box.fill('lisb')
    const lisbon = list.getByRole('group', { name: 'Cities' }).getByRole('option', { name: 'Lisbon' })
    await lisbon.waitFor()
    await expectSoon(() => box.getAttribute('aria-expanded')).toBe('true')
    expect([await box.getAttribute('aria-controls'), await active()]).toEqual([await list.getAttribute('id'), null])
    await you.keys('ArrowDown')
    await expectSoon(active).toBe(await lisbon.getAttribute('id'))
    await expectSoon(() => lisbon.getAttribute('aria-selected')).toBe('true')
    await you.keys('Enter')
    await expectSoon(() => box.inputValue()).toBe('Lisbon')
    await list.waitFor({ state: 'hidden' })
    await expectSoon(() => hits.first().locator('.where').textContent()).toMatch(/^Lisbon/)
    await you.keys('Tab', 'Enter')
    await expectSoon(() => isFocused(hits.first().getByRole('link'))).toBe(true)
    // After Enter none opens any more, whether it has been asked for or not.
    const asked: Route[] = []
    await page.route('**/users/search/complete?*', (route) => void asked.push(route))
    await box.fill('jazz in lisb')
    await you.keys('Enter')
    await expectSoon(() => page.url()).toContain('q=jazz+in+lisb')
    await you.find('.people[aria-busy]').waitFor({ state: 'detached' })
    expect(asked).toEqual([])
    await box.fill('jazz in port')
    await expectSoon(() => asked.length).toBe(1)
    const dropped = page.waitForEvent('requestfailed')
    await you.keys('Enter')
    await dropped
    expect(await list.isVisible()).toBe(false)
  })

  test('are looked for while one types, and a late answer shows nobody', async () => {
    const { page, you, box, names } = await openPeople()
    // The answer to the first letters comes after that to all.
    const isFirst = ({ pathname, searchParams }: URL) =>
      pathname.endsWith('/users/search') && searchParams.get('q') === 'ti'
    const isLate = (request: Request) => isFirst(new URL(request.url()))
    const held: Route[] = []
    await page.route(isFirst, (route) => void held.push(route))
    const over = Promise.race([
      page.waitForEvent('requestfailed', isLate),
      page.waitForEvent('requestfinished', isLate),
    ])
    await box.fill('ti')
    await expectSoon(() => held.length).toBe(1)
    const before = await names()
    await box.fill('tiled stoves')
    await expectSoon(() => page.url()).toContain('q=tiled+stoves')
    await you.find('.people[aria-busy]').waitFor({ state: 'detached' })
    const stoves = await names()
    expect(stoves).not.toEqual(before)
    // The page has given it up, so there may be nobody to answer.
    await held[0]!.continue().catch(() => {})
    await over
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect(await names()).toEqual(stoves)
  })

  test('are found and read without an account; who wants to write logs in, on the same page', async () => {
    const you = await open()
    await you.press('Find people', { fill: { 'Who would you like to meet?': 'street art in berlin' } })
    await you.find('.hit').first().waitFor()
    await expectSoon(() => new URL(you.page.url()).search).toBe('?q=street+art+in+berlin')
    // Completions are for accounts.
    await you.role('combobox', 'Search people').fill('murals in berlin')
    await expectSoon(() => new URL(you.page.url()).search).toBe('?q=murals+in+berlin')
    await you.find('.people:not([aria-busy])').waitFor()
    await you.find('.hit a').first().click()
    await you.find('.profile .text').waitFor()
    const profile = you.page.url()
    expect([profile, await you.button(/^Write/).count()]).toEqual([expect.stringMatching(/people\/\d+$/), 0])
    await you.button(/^Log in to write/).click()
    await you.logIn()
    await you.button(/^Write to/).waitFor()
    expect(you.page.url()).toBe(profile)
  })

  test('are loaded in sight, asked for again after an error, and if there are none, that is said', async () => {
    const asked: Route[] = []
    let fails = true
    const prepare = (page: Page) =>
      page.route(/users\/search\?/, (route) => fails ? void asked.push(route) : route.continue())
    const you = await open('/demo/people', { refusals: [500], prepare })
    const hits = you.find('.hit')
    const expectRefusal = async (count: number, status: number, code: string, error: string) => {
      await expectSoon(() => asked.length).toBe(count)
      await asked.at(-1)!.fulfill({ status, headers: { 'X-Error-Code': code }, json: { error } })
    }
    await you.find('.skeleton').waitFor()
    await you.shows('Searching…')
    // The client tries once more by itself.
    await expectRefusal(1, 503, 'unavailable', 'Busy')
    await expectRefusal(2, 500, 'internal', 'Internal server error')
    await you.alerts('Internal server error')
    expect(await you.find('.skeleton').isVisible()).toBe(false)
    fails = false
    await you.press('Try again')
    await hits.first().waitFor()
    expect(await you.button('Try again').isVisible()).toBe(false)
    const box = you.role('combobox', 'Search people')
    await box.fill('zzzzqqq')
    await you.shows('Nobody was found for “zzzzqqq”.')
    await you.press('Show everybody')
    await hits.first().waitFor()
    expect([await box.inputValue(), await isFocused(box)]).toEqual(['', true])
    // After an error nobody is shown who was found before.
    fails = true
    await box.fill('jazz')
    await expectRefusal(3, 500, 'internal', 'Internal server error')
    await you.alerts('Internal server error')
    expect([await hits.count(), await you.button('More people').isVisible()]).toEqual([0, false])
  })

  test('are asked for again when the network is back, and until then nothing says "live"', async () => {
    const you = await openOne('/demo/people')
    await you.find('.hit').first().waitFor()
    await you.page.context().setOffline(true)
    await you.find('.bar .status', 'offline').waitFor({ state: 'attached' })
    await you.role('combobox', 'Search people').fill('jazz')
    await you.alerts('The service cannot be reached. Is this device online?')
    expect(await you.find('.bar .status').textContent()).toBe('offline')
    await you.page.context().setOffline(false)
    await you.waitUntilLive()
    await you.find('.hit').first().waitFor()
    expect(await you.node.getByText('cannot be reached').filter({ visible: true }).count()).toBe(0)
  })

  test('may write markup, which is shown as text, marked and completed, here and on their profile', async () => {
    const name = '<img src=x onerror="document.title=1"> Zwartkop'
    const biography = '<script>document.title=2</script> zwartkop <b>bold</b>\nA line'
    const place = { city: '<i>Zwartkop</i>', country: 'Here, there' }
    const { profileId } = await signUp(name, { ...place, biography, is_searchable: true, interest_ids: [10] }, base())
    const { page, you, box, hits } = await openPeople()
    const shown = [name, biography, '<i>Zwartkop</i>, Here, there']
    const texts = (...parts: string[]) => Promise.all(parts.map((part) => you.find(part).first().textContent()))
    await box.fill('zwartkop')
    await you.role('option', name).waitFor()
    await expectSoon(() => texts('.hit h3', '.hit .biography', '.hit .where')).toEqual(shown)
    expect(await hits.first().locator('mark').allTextContents()).toEqual(['Zwartkop', 'Zwartkop', 'zwartkop'])
    // The service would take a value with a comma for two.
    const isFilter = async (name: string) => await you.find(`.filters .chip[data-name="${name}"]`).count() > 0
    expect([await isFilter('<i>Zwartkop</i>'), await isFilter('Here, there')]).toEqual([true, false])
    expect(await you.find('.people').locator('img, script, b, i').count()).toBe(0)
    expect(await page.title()).toMatch(/People – Voyagers and locals$/)

    await page.goto(url(`/demo/people/${profileId}`))
    await expectSoon(() => texts('.portrait .name', '.profile .text', '.portrait .where')).toEqual(shown)
    expect(await you.find('.profile').locator('img, script, b, i').count()).toBe(0)
    await expectSoon(() => page.title()).toMatch(/^(\(\d+\) )?<img src=x/)
    await you.press('Ceramics')
    await expectSoon(() => page.url()).toBe(url('/demo/people?interest=Ceramics'))
    await hits.first().waitFor()
  })

  test('have an address: words replace it while one types, and back undoes a filter', async () => {
    const { page, you, box, hits } = await openPeople()
    const expectAddress = (address: string) => expectSoon(() => page.url()).toBe(address)
    const summary = () => you.find('.filters summary').textContent()
    await box.pressSequentially('coffee')
    await expectAddress(url('/demo/people?q=coffee'))
    await you.keys('Tab')
    await you.openFilters()
    await you.role('group', 'Countries').getByRole('button').first().click()
    await expectSoon(() => page.url()).toMatch(/\/demo\/people\?q=coffee&country=\w+/)
    const filtered = page.url()
    await page.reload()
    await hits.first().waitFor()
    await expectSoon(() => box.inputValue()).toBe('coffee')
    await expectSoon(summary).toMatch(/^Filters: \w+/)
    await hits.first().getByRole('link').click()
    await you.find('.profile .text').waitFor()
    await page.goBack()
    await expectAddress(filtered)
    await you.find('.hit a:focus').waitFor()
    await page.goBack()
    await expectAddress(url('/demo/people?q=coffee'))
    await expectSoon(summary).toBe('Filters')
    await page.goBack()
    await expectAddress(url('/demo'))

    // Who leaves while typing stays where they went. The page looks after 200 ms; this timer comes after its own.
    await you.findPeople()
    await box.evaluate(async (input: HTMLInputElement) => {
      input.value = 'tea'
      input.dispatchEvent(new Event('input'))
      document.querySelector<HTMLElement>('nav a[href="/demo"]')!.click()
      await new Promise((resolve) => setTimeout(resolve, 300))
    })
    expect(page.url()).toBe(url('/demo'))
    // Who types beside an open profile keeps the focus while the profile closes.
    await you.findPeople()
    await hits.first().getByRole('link').click()
    await you.find('.profile .text').waitFor()
    await box.fill('li')
    await you.find('.profile').waitFor({ state: 'detached' })
    await page.keyboard.type('sbon')
    expect(await box.inputValue()).toBe('lisbon')
  })

  test('near to one’s interests are beside the list, with what waits for an answer, and have faces', async () => {
    const you = await open()
    const asked: (string | null)[] = []
    you.page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname.endsWith('/users/search')) asked.push(searchParams.get('q'))
    })
    await you.logIn()
    const people = you.region('People near to your interests')
    await expectSoon(() => people.role('listitem').count()).toBe(6)
    const name = (await people.find('.name').first().textContent())!
    await people.role('link').first().click()
    await you.find('.profile').getByRole('heading', { name }).waitFor()
    await you.page.goBack()
    const next = you.region('Coming up').find('.name').first()
    await expectSoon(() => next.textContent()).toBe('Morning in the tile workshop')
    await you.region('Waiting for your answer').role('link').first().click()
    await you.find('.next', 'Your answer?').waitFor()
    // One's own photo and those of the partners come without a search for each.
    await isShown(you.entry('Tomáš Novák').locator('.avatar img'), 192)
    await isShown(you.find('.bar .face img'), 192)
    expect(asked.filter((q) => q && q !== 'live music')).toEqual([])
  })
})
