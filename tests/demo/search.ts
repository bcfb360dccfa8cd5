/// <reference lib="dom" />
import { describe, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { type Demo, expectSoon, findPeople, isFocused, isPhone, onDesktop, openFilters } from './browser.ts'

export const search = ({ open, openOne, base }: Demo) =>
  describe('the search of the demo page', () => {
    const openPeople = async () => {
      const { page, you } = await openOne()
      await findPeople(you)
      return { page, you, box: you.getByRole('combobox', { name: 'Search people' }), hits: you.locator('.hit') }
    }

    onDesktop('marks the words that were looked for, and suggests a correction', async () => {
      const { you, box, hits } = await openPeople()
      await box.fill('architecure ')
      const marked = () => hits.first().locator('mark').allTextContents()
      await expectSoon(marked).toEqual(expect.arrayContaining(['Architecture']))
      expect(await hits.first().locator('.fit').textContent()).toMatch(/^found by interests/)
      await you.getByText('Did you mean').getByRole('button').click()
      await you.getByText('Did you mean').waitFor({ state: 'hidden' })
      expect((await box.inputValue()).trim()).toBe('architecture')
      await expectSoon(() => isFocused(box)).toBe(true)
    })

    onDesktop('completes with the keyboard and tells assistive technology', async () => {
      const { page, you, box, hits } = await openPeople()
      expect(await box.getAttribute('aria-expanded')).toBe('false')
      await box.pressSequentially('lisb')
      const list = you.getByRole('listbox', { name: 'Completions' })
      const lisbon = list.getByRole('group', { name: 'Cities' }).getByRole('option', { name: 'Lisbon' })
      await lisbon.waitFor()
      await expectSoon(() => box.getAttribute('aria-expanded')).toBe('true')
      expect(await box.getAttribute('aria-controls')).toBe(await list.getAttribute('id'))
      expect(await box.getAttribute('aria-activedescendant')).toBeNull()
      await page.keyboard.press('ArrowDown')
      await expectSoon(() => box.getAttribute('aria-activedescendant')).toBe(await lisbon.getAttribute('id'))
      await expectSoon(() => lisbon.getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('Enter')
      await expectSoon(() => box.inputValue()).toBe('Lisbon')
      await list.waitFor({ state: 'hidden' })
      await expectSoon(() => hits.first().locator('.where').textContent()).toMatch(/^Lisbon/)
    })

    test('Escape closes the completions and nothing else, and a click takes one', async () => {
      const { page, you, box } = await openPeople()
      const list = you.getByRole('listbox', { name: 'Completions' })
      await box.pressSequentially('por')
      await list.waitFor()
      await page.keyboard.press('ArrowUp')
      await expectSoon(() => box.getAttribute('aria-activedescendant')).not.toBeNull()
      await page.keyboard.press('Escape')
      await list.waitFor({ state: 'hidden' })
      await expectSoon(() => box.getAttribute('aria-activedescendant')).toBeNull()
      expect(await box.inputValue()).toBe('por')
      await box.pressSequentially('t')
      const first = list.getByRole('option').first()
      const text = (await first.textContent())!
      await first.click()
      await expectSoon(() => box.inputValue()).toBe(text)
      await expectSoon(() => isFocused(box)).toBe(true)
      await list.waitFor({ state: 'hidden' })
    })

    test('unfolds the filters where there is room, and folds them beside a profile', async () => {
      const { you, hits } = await openPeople()
      const isUnfolded = () => you.getByRole('group', { name: 'Interests' }).isVisible()
      await expectSoon(isUnfolded).toBe(!isPhone)
      await hits.first().getByRole('link').click()
      await you.getByRole('article').waitFor()
      await expectSoon(isUnfolded).toBe(false)
    })

    test('counts facets under the filters, which keep the focus when clicked', async () => {
      const { you, box, hits } = await openPeople()
      const all = (await you.locator('.total').textContent())!
      await openFilters(you)
      const chip = you.getByRole('group', { name: 'Interests' }).getByRole('button').first()
      const name = (await chip.getAttribute('data-name'))!
      const people = (await chip.getAttribute('aria-description'))!
      expect(await chip.textContent()).toBe(`${name} ${parseInt(people)}`)
      await chip.click()
      await expectSoon(() => you.locator('.total').textContent()).toBe(people)
      const pressed = you.getByRole('button', { name, exact: true, pressed: true })
      await expectSoon(() => isFocused(pressed)).toBe(true)
      await expectSoon(() => hits.first().locator('.tags').textContent()).toContain(name)
      await pressed.click()
      await expectSoon(() => you.locator('.total').textContent()).toBe(all)
      await box.fill('jazz')
      await expectSoon(() => you.locator('.total').textContent()).not.toBe(all)
    })

    onDesktop('finds more people like one, without that one, and goes back to everybody', async () => {
      const { you, hits } = await openPeople()
      const name = (await hits.first().getByRole('heading').textContent())!
      await hits.first().getByRole('button', { name: `More like this (${name})` }).click()
      await you.getByText(`People like ${name}`).waitFor()
      await expectSoon(() => hits.getByRole('heading').allTextContents()).not.toContain(name)
      const clear = you.getByRole('button', { name: 'Show everybody' })
      await expectSoon(() => isFocused(clear)).toBe(true)
      await clear.click()
      await expectSoon(() => hits.getByRole('heading').allTextContents()).toContain(name)
    })

    onDesktop('shows that it loads, tries again after an error, and advises where nobody is found', async () => {
      const { page, you } = await open('/demo/people', [500])
      let release = () => {}
      let fails = true
      let asked = 0
      // Not that of the start page, which asks for seven.
      await page.route(/users\/search\?(?!limit=7&)/, async (route) => {
        if (!fails) return route.continue()
        if (++asked === 1) {
          return route.fulfill({ status: 503, headers: { 'X-Error-Code': 'unavailable' }, json: { error: 'Busy' } })
        }
        await new Promise<void>((resolve) => release = resolve)
        await route.fulfill({
          status: 500,
          headers: { 'X-Error-Code': 'internal' },
          json: { error: 'Internal server error' },
        })
      })
      await you.getByRole('button', { name: /^Walk in/ }).first().click()
      await you.locator('.skeleton').waitFor()
      await you.getByText('Searching…').waitFor()
      await expectSoon(() => asked).toBe(2)
      release()
      await you.getByRole('alert').filter({ hasText: 'Internal server error' }).waitFor()
      await expectSoon(() => you.locator('.skeleton').isVisible()).toBe(false)
      fails = false
      await you.getByRole('button', { name: 'Try again' }).click()
      const hits = you.locator('.hit')
      await hits.first().waitFor()

      const box = you.getByRole('combobox', { name: 'Search people' })
      await box.fill('zzzzqqq')
      await you.getByText('Nobody was found for “zzzzqqq”.').waitFor()
      await you.locator('.people .empty').getByRole('button', { name: 'Show everybody' }).click()
      await you.locator('.hit').first().waitFor()
      expect([await box.inputValue(), await box.evaluate((input) => input === document.activeElement)]).toEqual([
        '',
        true,
      ])

      // After an error nobody is shown who was found before.
      fails = true
      await box.fill('jazz')
      await expectSoon(() => asked).toBe(3)
      release()
      await you.getByRole('alert').filter({ hasText: 'Internal server error' }).waitFor()
      await expectSoon(() => hits.count()).toBe(0)
      await expectSoon(() => you.getByRole('button', { name: 'More people' }).isVisible()).toBe(false)
    })

    onDesktop('shows markup in names, cities and biographies as text, highlighted or completed', async () => {
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
      const { page, you, box, hits } = await openPeople()
      await box.pressSequentially('zwartkop')
      await you.getByRole('option', { name }).waitFor()
      const first = hits.first()
      await expectSoon(() => first.getByRole('heading').textContent()).toBe(name)
      await expectSoon(() => first.locator('.biography').textContent()).toBe(markup)
      await expectSoon(() => first.locator('.where').textContent()).toBe('<i>Zwartkop</i>, Here, there')
      await expectSoon(() => first.locator('mark').allTextContents()).toEqual(['Zwartkop', 'Zwartkop', 'zwartkop'])
      expect(await you.locator('.people').locator('img, script, b, i').count()).toBe(0)
      // The service would take a value with a comma for two.
      const filters = () =>
        you.locator('.filters .chip').evaluateAll((chips) => chips.map((chip) => chip.getAttribute('data-name')))
      await expectSoon(filters).toContain('<i>Zwartkop</i>')
      expect(await filters()).not.toContain('Here, there')
      expect(await page.title()).toMatch(/People – Voyagers and locals$/)
    })
  })
