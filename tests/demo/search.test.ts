/// <reference lib="dom" />
import { describe, expect, test, vi } from 'vitest'
import { call } from '../tools/people.ts'
import { hasBrowser, logIn, openDemo } from './browser.ts'

const eventually = { timeout: 50_000, interval: 50 }

describe.skipIf(!hasBrowser)('the search of the demo page', { timeout: 120_000 }, () => {
  const { open, base } = openDemo()

  const openPeople = async (path?: string) => {
    const { page, ines } = await open(path)
    await logIn(ines)
    await ines.getByRole('link', { name: 'People', exact: true }).click()
    await ines.locator('.hit').first().waitFor()
    return { page, ines, box: ines.getByRole('combobox', { name: 'Search people' }), hits: ines.locator('.hit') }
  }

  test('marks the words that were looked for, and suggests a correction', async () => {
    const { ines, box, hits } = await openPeople()
    await box.fill('architecure ')
    const marked = () => hits.first().locator('mark').allTextContents()
    await vi.waitFor(async () => expect(await marked()).toEqual(expect.arrayContaining(['Architecture'])), eventually)
    await ines.getByText('Did you mean').getByRole('button').click()
    await ines.getByText('Did you mean').waitFor({ state: 'hidden' })
    expect((await box.inputValue()).trim()).toBe('architecture')
    expect(await box.evaluate((input) => input === document.activeElement)).toBe(true)
  })

  test('completes with the keyboard and tells assistive technology', async () => {
    const { page, ines, box, hits } = await openPeople()
    expect(await box.getAttribute('aria-expanded')).toBe('false')
    await box.pressSequentially('lisb')
    const list = ines.getByRole('listbox', { name: 'Completions' })
    const lisbon = list.getByRole('group', { name: 'Cities' }).getByRole('option', { name: 'Lisbon' })
    await lisbon.waitFor()
    expect(await box.getAttribute('aria-expanded')).toBe('true')
    expect(await box.getAttribute('aria-controls')).toBe(await list.getAttribute('id'))
    expect(await box.getAttribute('aria-activedescendant')).toBeNull()
    await page.keyboard.press('ArrowDown')
    expect(await box.getAttribute('aria-activedescendant')).toBe(await lisbon.getAttribute('id'))
    expect(await lisbon.getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Enter')
    expect(await box.inputValue()).toBe('Lisbon')
    expect(await list.isVisible()).toBe(false)
    await vi.waitFor(
      async () => expect(await hits.first().locator('.where').textContent()).toMatch(/^Lisbon/),
      eventually,
    )
  })

  test('Escape closes the completions and nothing else, and a click takes one', async () => {
    const { page, ines, box } = await openPeople()
    const list = ines.getByRole('listbox', { name: 'Completions' })
    await box.pressSequentially('por')
    await list.waitFor()
    await page.keyboard.press('ArrowUp')
    expect(await box.getAttribute('aria-activedescendant')).not.toBeNull()
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'hidden' })
    expect(await box.getAttribute('aria-activedescendant')).toBeNull()
    expect(await box.inputValue()).toBe('por')
    await box.pressSequentially('t')
    const first = list.getByRole('option').first()
    const text = (await first.textContent())!
    await first.click()
    expect(await box.inputValue()).toBe(text)
    expect(await box.evaluate((input) => input === document.activeElement)).toBe(true)
    await list.waitFor({ state: 'hidden' })
  })

  test('counts facets under the filters, which keep the focus when clicked', async () => {
    const { ines, box, hits } = await openPeople()
    const all = (await ines.locator('.found').textContent())!
    await ines.locator('.filters summary').click()
    const chip = ines.getByRole('group', { name: 'Interests' }).getByRole('button').first()
    const name = (await chip.getAttribute('data-name'))!
    const people = (await chip.getAttribute('aria-description'))!
    expect(await chip.textContent()).toBe(`${name} ${parseInt(people)}`)
    await chip.click()
    await vi.waitFor(async () => expect(await ines.locator('.found').textContent()).toBe(people), eventually)
    const pressed = ines.getByRole('button', { name, exact: true, pressed: true })
    expect(await pressed.evaluate((button) => button === document.activeElement)).toBe(true)
    expect(await hits.first().locator('.tags').textContent()).toContain(name)
    await pressed.click()
    await vi.waitFor(async () => expect(await ines.locator('.found').textContent()).toBe(all), eventually)
    await box.fill('jazz')
    await vi.waitFor(async () => expect(await ines.locator('.found').textContent()).not.toBe(all), eventually)
  })

  test('finds more people like one, without that one, and goes back to everybody', async () => {
    const { ines, hits } = await openPeople()
    const name = (await hits.first().getByRole('heading').textContent())!
    await hits.first().getByRole('button', { name: `More like this (${name})` }).click()
    await ines.getByText(`People like ${name}`).waitFor()
    await vi.waitFor(async () => {
      expect(await hits.getByRole('heading').allTextContents()).not.toContain(name)
    }, eventually)
    const clear = ines.getByRole('button', { name: 'Show everybody' })
    expect(await clear.evaluate((button) => button === document.activeElement)).toBe(true)
    await clear.click()
    await vi.waitFor(async () => {
      expect(await hits.getByRole('heading').allTextContents()).toContain(name)
    }, eventually)
  })

  test('has a placeholder while it loads, tries again after an error, and advises where nobody is found', async () => {
    const { page, ines } = await open('/demo/side-by-side', {}, [500])
    let release = () => {}
    let fails = true
    let asked = 0
    await page.route(/users\/search\?/, async (route) => {
      if (!fails) return route.continue()
      if (++asked === 1) return route.fulfill({ status: 503, json: { error: 'Busy' } })
      await new Promise<void>((resolve) => release = resolve)
      await route.fulfill({ status: 500, json: { error: 'Internal server error' } })
    })
    await logIn(ines)
    await ines.getByRole('link', { name: 'People', exact: true }).click()
    await ines.locator('.skeleton').waitFor()
    await ines.getByText('Searching…').waitFor()
    await vi.waitUntil(() => asked === 2, eventually)
    release()
    await ines.getByRole('alert').filter({ hasText: 'Internal server error' }).waitFor()
    expect(await ines.locator('.skeleton').isVisible()).toBe(false)
    fails = false
    await ines.getByRole('button', { name: 'Try again' }).click()
    const hits = ines.locator('.hit')
    await hits.first().waitFor()

    const box = ines.getByRole('combobox', { name: 'Search people' })
    await box.fill('zzzzqqq')
    await ines.getByText('Nobody was found for “zzzzqqq”.').waitFor()
    await ines.locator('.people .empty').getByRole('button', { name: 'Show everybody' }).click()
    await ines.locator('.hit').first().waitFor()
    expect([await box.inputValue(), await box.evaluate((input) => input === document.activeElement)]).toEqual([
      '',
      true,
    ])

    // After an error nobody is shown who was found before.
    fails = true
    await box.fill('jazz')
    await vi.waitUntil(() => asked === 3, eventually)
    release()
    await ines.getByRole('alert').filter({ hasText: 'Internal server error' }).waitFor()
    expect(await hits.count()).toBe(0)
    expect(await ines.getByRole('button', { name: 'More people' }).isVisible()).toBe(false)
  })

  test('shows markup in names, cities and biographies as text, highlighted or completed', async () => {
    const name = '<img src=x onerror="document.title=1"> Zwartkop'
    const markup = '<script>document.title=2</script> zwartkop <b>bold</b>'
    const { status } = await call('POST', new URL('/functions/v1/auth/signup', base()).href, {
      email: 'markup@example.com',
      password: 'correct horse',
      name,
      is_searchable: true,
      city: '<i>Zwartkop</i>',
      country: 'Here, there',
      biography: markup,
    })
    expect(status).toBe(201)
    const { page, ines, box, hits } = await openPeople()
    await box.pressSequentially('zwartkop')
    await ines.getByRole('option', { name }).waitFor()
    await vi.waitFor(async () => {
      expect(await hits.first().getByRole('heading').textContent()).toBe(name)
      expect(await hits.first().locator('.biography').textContent()).toBe(markup)
      expect(await hits.first().locator('.where').textContent()).toBe('<i>Zwartkop</i>, Here, there')
    }, eventually)
    expect(await hits.first().locator('mark').allTextContents()).toEqual(['Zwartkop', 'Zwartkop', 'zwartkop'])
    expect(await ines.locator('img, script, b, i').count()).toBe(0)
    // The service would take a value with a comma for two.
    const filters = ines.locator('.filters .chip').evaluateAll((chips) =>
      chips.map((chip) => chip.getAttribute('data-name'))
    )
    expect(await filters).toContain('<i>Zwartkop</i>')
    expect(await filters).not.toContain('Here, there')
    expect(await page.title()).not.toMatch(/\d/)
  })
})
