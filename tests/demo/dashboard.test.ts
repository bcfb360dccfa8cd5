import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { answerReport, comeSecond, enter, expectLog, makeHistory, readPerson, readToday, visitAll } from './admin.ts'
import { changeReservation, lookAfterPeople, loseAccess } from './admin_edits.ts'
import { hasBrowser, openBrowser } from './browser.ts'

describe.runIf(hasBrowser)('the dashboard in a browser', () => {
  let browser: Browser
  // A stack of its own, because the table editor shows the first rows of a table, which must be those of this test.
  let stack: Awaited<ReturnType<typeof startStack>>
  let origin: string
  let link: string
  let ana: Person
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack(), openBrowser()])
    origin = new URL(stack.base).origin
    link = stack.dashboard
    ana = await signUp('Ana', {}, stack.base)
  }, 120_000)
  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())))
  afterAll(async () => {
    await browser.close()
    await stopStack(stack.process)
  })

  /** A page and its errors, without the dashboard libraries' accessibility warnings. */
  const visit = async (): Promise<{ page: Page; errors: string[] }> => {
    const page = await (await browser.newContext({ viewport: { width: 1360, height: 820 } })).newPage()
    const errors: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('DialogTitle')) errors.push(message.text())
    })
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('dialog', (dialog) => {
      errors.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    return { page, errors }
  }

  test('opens by its link, removes the token from the URL, and shows and changes rows', async () => {
    const { page, errors } = await visit()
    await page.goto(link)
    await page.getByRole('link', { name: 'users' }).or(page.getByText('users', { exact: true })).first().waitFor()
    expect(page.url()).toBe(`${origin}/editor`)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.goto(`${origin}/editor/users`)
    await page.getByText(ana.email).waitFor()
    await page.getByText('auth_id', { exact: true }).waitFor()
    expect(await page.getByText('encrypted_password').count()).toBe(0)
    // The table editor saves a cell like this: through the Data API, without a key.
    const changed = await page.evaluate(async (id) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch(`/rest/v1/users?id=eq.${id}`, { method: 'PATCH', headers, body: '{"bio": "Changed"}' }))
        .status
    }, ana.id)
    expect(changed).toBeLessThan(300)
    const read = `${origin}/rest/v1/users?id=eq.${ana.id}&select=bio`
    const { body } = await call('GET', read, undefined, { headers: { apikey: testKeys.secretKey } })
    expect(body).toEqual([{ bio: 'Changed' }])
    expect(errors).toEqual([])
  })

  test('opens from a link on another site', async () => {
    const { page, errors } = await visit()
    const otherSite = `<a href="${link}">open</a>`
    await page.route(
      'http://other.example/',
      (route) => route.fulfill({ contentType: 'text/html', body: otherSite }),
    )
    await page.goto('http://other.example/')
    await page.getByText('open').click()
    await page.waitForURL(`${origin}/editor`)
    await page.getByText('conversations', { exact: true }).first().waitFor()
    await page.goBack()
    expect(page.url()).not.toContain('token')
    expect(errors).toEqual([])
  })

  test('without the cookie shows where the link is printed and requests nothing else', async () => {
    const { page, errors } = await visit()
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.goto(origin)
    await page.getByRole('heading', { name: 'The dashboard is closed' }).waitFor()
    expect(requested.filter((path) => path !== '/favicon.ico')).toEqual(['/'])
    expect(errors.filter((error) => !error.includes('404'))).toEqual([])
  })

  test('shows user content as text, including markup and script URLs', async () => {
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
    const { page, errors } = await visit()
    await page.goto(link)
    for (
      const [table, text] of [
        ['users', 'javascript:alert(document.domain)'],
        ['profiles', '<a href='],
        ['messages', 'javascript:alert(document.cookie)'],
      ]
    ) {
      await page.goto(`${origin}/editor/${table}`)
      const cell = page.getByText(text!).first()
      await cell.waitFor()
      await cell.dblclick()
      await page.keyboard.press('Escape')
      expect(await page.title()).not.toBe('caught')
      expect(await page.locator('img[src="x"], a[href^="javascript:"], svg[onload]').count()).toBe(0)
    }
    expect(errors).toEqual([])
  })

  test('runs no injected script, thanks to Trusted Types', async () => {
    const { page } = await visit()
    await page.goto(link)
    await page.waitForURL(`${origin}/editor`)
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = '<img src=x onerror="document.title=1">'
        return false
      } catch {
        return true
      }
    })
    expect(refused).toBe(true)
  })

  test('cannot be framed or read by a page on another port of the same host', async () => {
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(`<title>other origin</title><iframe src="${origin}/editor/users"></iframe>`)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const { page } = await visit()
    await page.goto(link)
    await page.waitForURL(`${origin}/editor`)
    // Cookies do not distinguish ports, so the browser sends the cookie in both directions.
    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
    await page.goto(`http://127.0.0.1:${port}/`)
    expect((await refused).text()).toContain("'none'")
    const read = await page.evaluate(async (address) => {
      const read = (init: RequestInit) =>
        fetch(`${address}/rest/v1/users`, init).then(({ status }) => status, () => 'not read')
      return [await read({}), await read({ credentials: 'include' })]
    }, origin)
    expect(read).toEqual([401, 'not read'])
    const answered = page.waitForResponse(`${origin}/_system/info`)
    await page.evaluate(
      (address) => fetch(`${address}/_system/info`, { mode: 'no-cors', credentials: 'include' }),
      origin,
    )
    expect((await answered).status()).toBe(404)
    server.close()
  })

  test("an admin's day on the page of their own", { timeout: 120_000 }, async () => {
    const { ana, bob, report, reservation } = await makeHistory(stack.base)
    const { page, errors } = await visit()
    await enter(page, origin)
    await readToday(page, stack.base)
    await answerReport(page, report)
    await comeSecond(page, report + 1, origin)
    await readPerson(page, bob.id, report, origin)
    await changeReservation(page, reservation)
    await lookAfterPeople(page, { ana, bob })
    await expectLog(page, bob.id, origin, ['lift suspend', 'suspend', 'dismiss', 'hide', 'read evidence'])
    await expectLog(page, ana.id, origin, ['erase'])
    await visitAll(page, origin)
    expect(await page.title()).toBe('Health – Admin')
    expect(await page.locator('img, main script').count()).toBe(0)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Secret key').waitFor()
    await page.goto(link)
    await loseAccess(page, origin)
    // Browsers log each refusal that this test is about.
    expect(errors.filter((error) => !/status of (400|401|409|500)/.test(error))).toEqual([])
  })
})
