/// <reference lib="dom" />
import { describe, expect, test } from 'vitest'
import { call, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { expectSoon, hasBrowser, isFocused, isShown, openDemo, Part, type Side } from './browser.ts'

describe.skipIf(!hasBrowser)('two people of the demo', () => {
  const { open, openOne, openTwo, callAsInes, base, url } = openDemo()

  test('begin with a first message, which is kept until it is sent; a block and its end are shown', async () => {
    const ida = await signUp('Ida', { is_searchable: true }, base())
    const conversations = async () => (await ida.call('GET', '/conversations')).body
    const you = await openOne(`/demo/people/${ida.profileId}`, { refusals: [409] })
    const { page } = you
    const text = you.node.getByLabel('Your first message to Ida')
    await you.button('Write to Ida').focus()
    await you.keys('Enter')
    await expectSoon(() => isFocused(text)).toBe(true)
    await page.keyboard.type('Do you know a quiet place?')
    await page.reload()
    await expectSoon(() => text.inputValue()).toBe('Do you know a quiet place?')
    expect(await conversations()).toEqual([])
    await text.fill(' ')
    await you.press('Send', { alerts: 'Write something first' })
    await text.fill(`<b>Do you</b> know a quiet place?${'\nWithout cars.'.repeat(30)}`)
    await you.keys('Tab', 'Enter')
    // It is the only message, and folds.
    const sent = you.stored('<b>Do you</b> know a quiet place?')
    await sent.node.waitFor()
    await expectSoon(() => you.find('.message').count()).toBe(1)
    await you.find('.preview', 'You: <b>Do you</b> know a quiet place?').waitFor()
    const lines = async () => (await sent.find('.content').textContent())!.split('\n').length
    expect(await lines()).toBe(12)
    await sent.button('Show more').focus()
    await you.keys('Enter')
    await expectSoon(() => isFocused(sent.button('Show less'))).toBe(true)
    expect(await lines()).toBe(31)
    await you.keys('Enter')
    await expectSoon(lines).toBe(12)

    await you.block()
    await you.shows('You have blocked Ida. ')
    expect([await you.box.count(), await you.button('Offer a reservation').count()]).toEqual([0, 0])
    await you.button('Unblock').focus()
    await you.keys('Enter')
    await expectSoon(() => isFocused(you.box)).toBe(true)
    await page.goto(url(`/demo/people/${ida.profileId}`))
    await you.press('Open the conversation with Ida')
    await sent.node.waitFor()
    expect((await conversations()).length).toBe(1)
  })

  test('offer, change, accept and cancel a reservation, and both see each step at once', async () => {
    const [ines, tomas] = await openTwo({ refusals: [400, 409] }, true)
    await ines.press('Offer a reservation')
    await ines.dialog.press('Send the offer', {
      fill: { What: 'A walk through Graça', From: '2001-05-14T18:00' },
      alerts: /^The beginning must/,
    })
    await ines.dialog.press('Send the offer', {
      fill: { From: '2031-05-14T18:00', Until: '2031-05-14T20:30', Price: '12.5' },
    })
    const of = (side: Side) => new Part(side.find('[data-reservation]', 'A walk through Graça'))
    const buttons = (side: Side) => of(side).role('button').allTextContents()
    const waiting = () => tomas.entry('Inês Carvalho').getByText('Your answer?').count()
    await of(ines).shows('Waiting for Tomáš Novák')
    await of(tomas).shows('Your answer?')
    await expectSoon(waiting).toBe(1)
    expect(await buttons(tomas)).toEqual(['Accept', 'Decline', 'Change'])
    await tomas.find('.next').getByRole('button', { name: /^Your answer\?/ }).click()
    const terms = await of(tomas).find('p').allTextContents()
    expect([terms[0], terms.at(-1)]).toEqual([expect.stringMatching(/^Wed,? 14 May 2031,? 18:00.20:30 \S+$/), '€12.50'])
    await expectSoon(() => buttons(ines)).toEqual(['Change', 'Cancel…'])

    const change = async (Price: string) => {
      await of(tomas).press(/^Change/)
      await tomas.dialog.press('Send the change', { fill: { Price } })
    }
    await change('10')
    await of(ines).shows('Your answer?')
    await of(ines).shows('Tomáš Novák: €12.50 → €10.00')
    await expectSoon(waiting).toBe(0)
    // An acceptance that is on its way when the offer changes agrees to nothing, and the change is shown.
    let letThrough = () => {}
    const held = new Promise<void>((resolve) => letThrough = resolve)
    await ines.page.route('**/accept', (route) => held.then(() => route.continue()), { times: 1 })
    await of(ines).press(/^Accept/)
    await ines.dialog.press('Accept')
    await change('90')
    await of(tomas).shows('€90.00')
    letThrough()
    await ines.dialog.alerts('This offer has changed since it was read')
    await ines.dialog.press('Not yet')
    await of(ines).shows('Tomáš Novák: €12.50 → €90.00')
    await of(ines).shows('Your answer?')
    await of(ines).press(/^Accept/)
    await ines.dialog.press('Accept')
    for (const side of [ines, tomas]) await of(side).shows('Agreed')
    const [file] = await Promise.all([tomas.page.waitForEvent('download'), of(tomas).press(/^Add to calendar/)])
    expect(file.suggestedFilename()).toMatch(/^reservation-\d+\.ics$/)
    await of(tomas).press(/^Cancel…/)
    await tomas.dialog.press('Keep it')
    await of(tomas).press(/^Cancel…/)
    await tomas.dialog.press('Cancel the reservation', { fill: { 'A word about it': 'My train does not run' } })
    await of(ines).shows(/^Cancelled by Tomáš Novák, \d\d:\d\d: My train does not run$/)
    await of(tomas).shows(/^Cancelled by you, /)
    await expectSoon(() => buttons(ines)).toEqual([])
  })

  test('read after an absence who has changed what, and why not; changed terms are asked about twice', async () => {
    const ida = await signUp('Ida', {}, base())
    const { id: host_id } = await callAsInes('GET', '/users/me')
    const { body: { id } } = await ida.call('POST', '/conversations', { other_user_id: host_id })
    const asIda = async (method: string, path: string, body: object) =>
      (await ida.call(method, `/conversations/${id}/reservations${path}`, body)).body
    const thursday = { date: '2031-05-15T11:00:00Z', ends_at: '2031-05-15T14:00:00Z' }
    const walk = await asIda('POST', '', { title: 'A walk', price: 99, ...thursday, host_id })
    await asIda('PATCH', `/${walk.id}`, { revision: 1, price: 200 })
    const saturday = { date: '2031-05-17T19:00:00Z', ends_at: null }
    await asIda('PATCH', `/${walk.id}`, { revision: 2, price: 499, ...saturday })
    const ines = await openOne(`/demo/c/${id}`, { refusals: [409], timezoneId: 'UTC' })
    const of = (title: string) => new Part(ines.find('[data-reservation]', title))
    const change = 'Ida: €99.00 → €499.00, Thu 11:00 → Sat 19:00, end Thu 14:00 → none'
    await of('A walk').shows(change)
    await ines.page.reload()
    await of('A walk').shows(change)
    await of('A walk').press(/^Accept/)
    await ines.dialog.shows(change)
    await ines.dialog.press('Not yet')
    const [waiting] = await callAsInes('GET', '/users/me/reservations?limit=1')
    expect(waiting).toMatchObject({ title: 'A walk', status: 'pending' })
    await of('A walk').press(/^Decline/)
    await of('A walk').shows('Declined by you')
    expect(await of('A walk').find('.changed').count()).toBe(0)

    // What the host has agreed on is named where it is in the way, until the offer changes.
    const agreed = await asIda('POST', '', { title: 'Tiles', price: 0, ...thursday, host_id })
    await callAsInes('POST', `/conversations/${id}/reservations/${agreed.id}/accept`, { revision: 1 })
    const lunch = await asIda('POST', '', { title: 'Lunch', price: 0, ...thursday, host_id })
    await of('Lunch').press(/^Accept/)
    const overlap = /^You have “Tiles” then: Thu,? 15 May 2031,? 11:00.14:00 UTC\./
    await of('Lunch').alerts(overlap)
    await ines.press('Offer a reservation')
    const times = { From: '2031-05-15T13:59', Until: '2031-05-15T20:00' }
    await ines.dialog.press('Send the offer', { fill: { What: 'Dinner', ...times }, alerts: overlap })
    await ines.dialog.press('Send the offer')
    await of('Dinner').shows('Waiting for Ida')
    await of('Lunch').alerts(overlap)
    await of('Lunch').button(/^Change/).focus()
    await asIda('PATCH', `/${lunch.id}`, { revision: 1, ...saturday })
    await of('Lunch').shows(/→ Sat 19:00/)
    expect(await of('Lunch').role('alert').count()).toBe(0)
    expect(await isFocused(of('Lunch').button(/^Change/))).toBe(true)
    await asIda('POST', `/${agreed.id}/cancel`, { note: 'The kiln is cold' })
    await of('Tiles').shows(/^Cancelled by Ida, \d\d:\d\d: The kiln is cold$/)
  })

  test('arrange their lists: pinned, muted, archived, back with the next message, which moves no focus', async () => {
    const [ines, tomas] = await openTwo()
    const entries = tomas.find('.entry')
    await entries.nth(1).waitFor()
    const last = (await entries.last().locator('.name').textContent())!
    await entries.last().click()
    await tomas.find('.message').first().waitFor()
    await tomas.choose('Pin to the top')
    await entries.first().filter({ hasText: last }).getByText('pinned').waitFor({ state: 'attached' })
    await tomas.choose('Mute for 8 hours')
    await entries.first().getByText('muted').waitFor({ state: 'attached' })
    await tomas.choose('Unpin')
    await tomas.choose('Unmute')
    await expectSoon(() => entries.getByText(/pinned|muted/).count()).toBe(0)

    const entry = tomas.entry('Inês Carvalho')
    await tomas.openWith('Inês Carvalho')
    await tomas.choose('Archive')
    await entry.waitFor({ state: 'detached' })
    await tomas.press('Undo')
    await entry.waitFor({ state: 'attached' })
    await tomas.choose('Archive')
    await entry.waitFor({ state: 'detached' })
    await tomas.press('Archived (1)')
    await entry.waitFor()
    await ines.openWith('Tomáš Novák')
    await ines.send('Did you forget me?')
    await tomas.button('Back to the inbox').waitFor({ state: 'hidden' })
    await entry.getByText('Did you forget me?').waitFor()
    await expectSoon(() => entries.count()).toBeGreaterThan(1)

    await tomas.openWith('Daisuke Morimoto')
    await tomas.send('Is it open on Sundays?')
    await entries.first().filter({ hasText: 'Is it open on Sundays?' }).waitFor()
    await entry.focus()
    await ines.send('Are you still there?')
    await entries.first().filter({ hasText: 'Are you still there?' }).waitFor()
    expect(await isFocused(entry)).toBe(true)
  })

  test('are reported once, and nobody is told; whoever is blocked has no face any more', async () => {
    const you = await openOne('/demo', { refusals: [403] })
    await you.openWith('Tomáš Novák')
    await isShown(you.find('.chat-bar .face img'), 192)
    await you.press('Tomáš Novák')
    await isShown(you.find('.portrait img'), 192)
    await you.page.goBack()
    await isShown(you.find('.chat-bar .face img'), 192)
    await you.choose('Report…')
    await you.dialog.node.getByLabel('What is wrong?').selectOption('A scam, or money')
    await you.dialog.fill({ 'What happened?': 'Asked for money before we had met' })
    await you.dialog.node.getByLabel('Show the moderators').check()
    await you.dialog.press('Send the report')
    await you.shows('learns nothing but a warning')
    await you.block()
    await you.shows('You have blocked')
    await you.find('.chat-bar .face img').waitFor({ state: 'detached' })
    expect([await you.box.count(), await you.dialog.node.count()]).toEqual([0, 0])
    await you.page.goto(url('/demo'))
    await isShown(you.find('.entry .avatar img').first(), 192)
    // Until the service has answered the list is that of before.
    await expectSoon(() => you.entry('Tomáš Novák').locator('.avatar img').count()).toBe(0)
    await you.page.goto(url('/demo/me'))
    await you.region('Your reports').shows('A scam, or money')
    await you.press('Unblock Tomáš Novák', { shows: 'Tomáš Novák is not blocked any more.' })
    const { reports } = await callAsInes('GET', '/users/me/export')
    const { id } = reports.find(({ reason }: { reason: string }) => reason === 'scam')
    const decision = { report: id, action: 'warn', note: 'Asked for money' }
    const headers = { apikey: testKeys.secretKey }
    await call('POST', `${new URL(base()).origin}/rest/v1/rpc/resolve_report`, decision, { headers })
    const tomas = await open()
    await tomas.logIn(/Walk in as Tomáš/)
    await tomas.alerts('Today a moderator warned you: A scam, or money.')
    await tomas.press('Understood')
    await tomas.page.goto(url('/demo/me'))
    await tomas.region('Warnings').shows('A scam, or money')
    // It comes with one's own photo.
    await isShown(tomas.find('.bar .face img'), 192)
    expect(await tomas.button('Understood').count()).toBe(0)
  })
})
