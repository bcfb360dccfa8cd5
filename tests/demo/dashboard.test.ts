import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useStack } from '../tools/own_stack.ts'
import { call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { openAdmin } from './admin.ts'
import { hasBrowser, openBrowser } from './browser.ts'

describe.runIf(hasBrowser)('the dashboard in a browser', () => {
  // Of its own, because the table editor shows the first rows of a table, which must be those of this test.
  const stack = useStack({})
  let browser: Browser
  let page: Page
  let errors: string[]
  let origin: string
  let ana: Person
  beforeAll(async () => {
    browser = await openBrowser()
    origin = new URL(stack.base).origin
    ana = await signUp('Ana', {}, stack.base)
  })
  // A page and its errors, without the dashboard libraries' accessibility warnings.
  beforeEach(async () => {
    page = await (await browser.newContext({ viewport: { width: 1360, height: 820 } })).newPage()
    page.setDefaultTimeout(120_000)
    errors = []
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('DialogTitle')) errors.push(message.text())
    })
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('dialog', (dialog) => {
      errors.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
  })
  afterEach(() => page.context().close())
  afterAll(() => browser.close())

  test('opens by its link, removes the token from the URL, and shows and changes rows', async () => {
    await page.goto(stack.dashboard)
    await page.getByText('users', { exact: true }).first().waitFor()
    expect([page.url(), await page.evaluate(() => document.cookie)]).toEqual([`${origin}/editor`, ''])
    await page.goto(`${origin}/editor/users`)
    await page.getByText(ana.email).waitFor()
    await page.getByText('auth_id', { exact: true }).waitFor()
    expect(await page.getByText('encrypted_password').count()).toBe(0)
    // The table editor saves a cell like this: through the Data API, without a key.
    const changed = await page.evaluate(async (id) => {
      const init = { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"bio": "Changed"}' }
      return (await fetch(`/rest/v1/users?id=eq.${id}`, init)).status
    }, ana.id)
    expect(changed).toBeLessThan(300)
    const read = `${origin}/rest/v1/users?id=eq.${ana.id}&select=bio`
    const { body } = await call('GET', read, undefined, { headers: { apikey: testKeys.secretKey } })
    expect([body, errors]).toEqual([[{ bio: 'Changed' }], []])
  })

  test('opens from a link on another site', async () => {
    const body = `<a href="${stack.dashboard}">open</a>`
    await page.route('http://other.example/', (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto('http://other.example/')
    await page.getByText('open').click()
    await page.waitForURL(`${origin}/editor`)
    await page.getByText('conversations', { exact: true }).first().waitFor()
    await page.goBack()
    expect(page.url()).not.toContain('token')
    expect(errors).toEqual([])
  })

  test('shows user content as text, including markup and script URLs, and runs no injected script', async () => {
    const payload = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>`
    const mallory = await signUp(payload.slice(0, 100), {}, stack.base)
    const conversation = await openConversation(mallory, ana)
    const { status } = await mallory.call('PATCH', '/users/profile', {
      bio: 'javascript:alert(document.domain)',
      biography: `<a href="javascript:alert(1)">look</a>${payload}`,
      city: '<svg onload=alert(1)>',
      image_url: 'https://images.example.com/onerror=alert(1)',
    })
    expect(status).toBe(200)
    await sendMessage(mallory, conversation, `${payload} javascript:alert(1)`)
    await sendMessage(mallory, conversation, 'javascript:alert(document.cookie)')
    await page.goto(stack.dashboard)
    const shown = {
      users: 'javascript:alert(document.domain)',
      profiles: '<a href=',
      messages: 'javascript:alert(document.cookie)',
    }
    for (const [table, text] of Object.entries(shown)) {
      await page.goto(`${origin}/editor/${table}`)
      await page.getByText(text).first().dblclick()
      await page.keyboard.press('Escape')
      expect(await page.title()).not.toBe('caught')
      expect(await page.locator('img[src="x"], a[href^="javascript:"], svg[onload]').count()).toBe(0)
    }
    expect(errors).toEqual([])
    // Trusted Types expectRefusal even what the dashboard would write itself.
    const written = page.evaluate('document.body.innerHTML = \'<img src=x onerror="document.title=1">\'')
    await expect(written).rejects.toThrow('TrustedHTML')
  })

  test("an admin's day on the page of their own", async () => {
    const admin = await openAdmin(page, stack.base)
    await admin.enter()
    await admin.readToday()
    await admin.answerReport()
    await admin.comeSecond()
    await admin.readPerson()
    await admin.changeReservation()
    await admin.lookAfterPeople()
    await admin.visitAll()
    await admin.loseAccess(stack.dashboard)
    // Browsers log each refusal that this test is about.
    expect(errors.filter((error) => !/status of (400|401|409|500)/.test(error))).toEqual([])
  })
})
