import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, converse, type Person, say, signUp } from '../tools/people.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { hasBrowser, openBrowser } from './browser.ts'

describe.runIf(hasBrowser)('in a browser the dashboard', () => {
  let browser: Browser
  // Its own, because the table editor shows the first rows of a table, and here it is to show those of the test.
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
  afterAll(async () => {
    await browser.close()
    await stopStack(stack.process)
  })

  /** A page, and what went wrong on it. Its own libraries complain of what they miss for screen readers. */
  const visit = async (): Promise<{ page: Page; faults: string[] }> => {
    const page = await (await browser.newContext({ viewport: { width: 1360, height: 820 } })).newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('DialogTitle')) faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('dialog', (dialog) => {
      faults.push(`it says ${dialog.message()}`)
      void dialog.dismiss()
    })
    return { page, faults }
  }

  test('opens by its link, which leaves no token in the address, and shows and changes rows', async () => {
    const { page, faults } = await visit()
    await page.goto(link)
    await page.getByRole('link', { name: 'users' }).or(page.getByText('users', { exact: true })).first().waitFor()
    expect(page.url()).toBe(`${origin}/editor`)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.goto(`${origin}/editor/users`)
    await page.getByText(ana.email).waitFor()
    await page.getByText('auth_id', { exact: true }).waitFor()
    expect(await page.getByText('encrypted_password').count()).toBe(0)
    // What the table editor does when a cell is left: the Data API, without a key.
    const changed = await page.evaluate(async (id) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch(`/rest/v1/users?id=eq.${id}`, { method: 'PATCH', headers, body: '{"bio": "Changed"}' }))
        .status
    }, ana.id)
    expect(changed).toBeLessThan(300)
    const read = `${origin}/rest/v1/users?id=eq.${ana.id}&select=bio`
    const { body } = await call('GET', read, undefined, { headers: { apikey: testKeys.secretKey } })
    expect(body).toEqual([{ bio: 'Changed' }])
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('opens from a link in a page of another site, too', async () => {
    const { page, faults } = await visit()
    const elsewhere = `<a href="${link}">open</a>`
    await page.route(
      'http://elsewhere.example/',
      (route) => route.fulfill({ contentType: 'text/html', body: elsewhere }),
    )
    await page.goto('http://elsewhere.example/')
    await page.getByText('open').click()
    await page.waitForURL(`${origin}/editor`)
    await page.getByText('conversations', { exact: true }).first().waitFor()
    await page.goBack()
    expect(page.url()).not.toContain('token')
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('says where the link is to whoever has not come by it, and asks for nothing more', async () => {
    const { page, faults } = await visit()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(origin)
    await page.getByRole('heading', { name: 'The dashboard is closed' }).waitFor()
    expect(asked.filter((path) => path !== '/favicon.ico')).toEqual(['/'])
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([])
    await page.context().close()
  })

  test('shows what people wrote as text, whatever they wrote', async () => {
    const trap = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>`
    const mallory = await signUp(trap.slice(0, 100), {}, stack.base)
    const conversation = await converse(mallory, ana)
    const { status } = await mallory.call('PATCH', '/users/profile', {
      bio: 'javascript:alert(document.domain)',
      biography: `<a href="javascript:alert(1)">look</a>${trap}`,
      city: '<svg onload=alert(1)>',
    })
    expect(status).toBe(200)
    await say(mallory, conversation, `${trap} javascript:alert(1)`)
    await say(mallory, conversation, 'javascript:alert(document.cookie)')
    const { page, faults } = await visit()
    await page.goto(link)
    for (
      const [table, sought] of [
        ['users', 'javascript:alert(document.domain)'],
        ['profiles', '<a href='],
        ['messages', 'javascript:alert(document.cookie)'],
      ]
    ) {
      await page.goto(`${origin}/editor/${table}`)
      const cell = page.getByText(sought!).first()
      await cell.waitFor()
      await cell.dblclick()
      await page.keyboard.press('Escape')
      expect(await page.title()).not.toBe('caught')
      expect(await page.locator('img[src="x"], a[href^="javascript:"], svg[onload]').count()).toBe(0)
    }
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('runs no script that somebody got into it all the same', async () => {
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
    await page.context().close()
  })

  test('is in no frame of another page, and answers none, on another port of the same host either', async () => {
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(`<title>elsewhere</title><iframe src="${origin}/editor/users"></iframe>`)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const { page } = await visit()
    await page.goto(link)
    await page.waitForURL(`${origin}/editor`)
    // The browser sends the cookie there, and from there: cookies know no ports.
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
    await page.context().close()
    server.close()
  })
})
