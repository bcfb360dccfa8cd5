import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { type OperationId, reference } from '../../docs/reference/index.ts'
import type { Example } from '../../docs/reference/types.ts'
import { expectSoon, hasBrowser, openBrowser } from '../demo/browser.ts'
import { shortMetrics, toExample } from '../tools/example_values.ts'
import { faults, operations } from '../tools/openapi.ts'
import { useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'
import { dashboardCookie, testKeys } from '../tools/stack.ts'

const stack = useStack({ SEED: 'demo' })
const run = promisify(execFile)
const addresses = { tomas: 'tomas.novak@example.com', ines: 'ines.carvalho@example.com' }

test('the demo world has something for an admin to do', async () => {
  const { origin } = new URL(stack.base)
  const dataApi = async (path: string, json?: object) =>
    (await call(json ? 'POST' : 'GET', `${origin}/rest/v1/${path}`, json, { headers: { apikey: testKeys.secretKey } }))
      .body
  const reports = await dataApi('moderation_queue?order=report&select=report,reason')
  expect(reports.map((report: { reason: string }) => report.reason)).toEqual(['harassment', 'spam', 'impersonation'])
  const evidence = await dataApi('rpc/read_evidence', { report: reports[0].report })
  expect(evidence.map((message: { is_by_reported: boolean }) => message.is_by_reported)).toEqual([true, false, true])
  const restricted = await dataApi('rpc/find_people', { query: '', restricted: true })
  expect(restricted).toHaveLength(2)
  expect(restricted).toEqual(expect.arrayContaining([
    expect.objectContaining({ is_hidden: true }),
    expect.objectContaining({ status: 'suspended', is_hidden: false }),
  ]))
  const expectDeadMail = async () => {
    const queues: { queue: string; dead: number }[] = await dataApi('rpc/describe_queues', {})
    expect(queues.filter(({ dead }) => dead).map(({ queue }) => queue)).toEqual(['mail'])
  }
  await expectDeadMail()
  const headers = { Cookie: await dashboardCookie(stack.dashboard) }
  await vi.waitUntil(async () => {
    const page = await (await fetch(`${origin}/mail`, { headers })).text()
    return Object.values(addresses).every((address) => page.includes(`to ${address}`))
  }, { timeout: 250_000, interval: 500 })
  // The worker leaves it to the operator.
  await expectDeadMail()
})

test('the calls of the client in the reference compile', async () => {
  const calls = operations.flatMap(({ samples }) => samples.filter(({ label }) => label === 'client'))
  expect(calls.length).toBeGreaterThan(40)
  const folder = mkdtempSync('tests/reference/calls-')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const head = "import type { ApiClient } from '../../../clients/api_client.ts'\ndeclare const api: ApiClient\n"
  writeFileSync(`${folder}/calls.ts`, head + calls.map(({ source }) => `{\n  ${source}\n}\n`).join(''))
  await run('node_modules/.bin/deno', ['check', '--quiet', `${folder}/calls.ts`])
})

const violationsOf = async (page: Page): Promise<unknown> => {
  await page.evaluate(axe.source)
  return page.evaluate('axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].target]))')
}

/** Logs the two people in, and signs somebody up who leaves. */
const logIn = async () => {
  const of = async (path: string, json: object) => (await call('POST', `${stack.base}/auth/${path}`, json)).body
  const session = (email: string) => of('login', { email, password: 'voyage-2026' })
  const [tomas, ines] = [await session(addresses.tomas), await session(addresses.ines)]
  const leaving = await of('signup', { email: 'sam.lee@example.com', password: 'leaving-2026', name: 'Sam Lee' })
  return { tomas, ines, leaving }
}

/** Runs the command of the reference. */
const send = async (id: OperationId, { as }: Example, sessions: Awaited<ReturnType<typeof logIn>>) => {
  const { samples } = operations.find(({ operationId }) => operationId === id)!
  const command = samples.find(({ label }) => label === 'curl')!.source
    // A refresh token works once, in one session.
    .replace(reference.refreshSession.example.json!.refresh_token as string, sessions.tomas.refresh_token)
  const token = as && as !== 'secret key' ? sessions[as].access_token : ''
  const env = { ...process.env, URL: stack.base, TOKEN: token, SECRET_KEY: testKeys.secretKey }
  const { stdout } = await run('sh', ['-c', `${command} --silent --globoff --write-out '\\n%{http_code}'`], { env })
  const [, text, status] = /^(.*)\n(\d+)$/s.exec(stdout)! as unknown as [string, string, string]
  return { status: Number(status), text, body: /^[[{]/.test(text) ? JSON.parse(text) : undefined }
}

test(
  'every example of the reference works on the demo world, as it says',
  async () => {
    const sessions = await logIn()
    const answers: Record<string, unknown> = {}
    const wrong: string[] = []
    for (const [id, { example }] of Object.entries(reference) as [OperationId, { example: Example }][]) {
      const { status, body, text } = await send(id, example, sessions)
      if (example.answer) {
        if (status !== 404) wrong.push(`${id}: ${status} instead of 404`)
        continue
      }
      if (status >= 300) wrong.push(`${id}: ${status} ${text}`)
      const schema = operations.find(({ operationId }) => operationId === id)!.answers[status]
      const answer = body ?? (id === 'getMetrics' ? shortMetrics(text) : text || undefined)
      if (schema) wrong.push(...faults(schema, answer, id))
      answers[id] = { status, body: toExample(answer, JSON.stringify(reference)) }
    }
    expect(wrong).toEqual([])
    // `npx vitest run tests/reference/examples.test.ts -u` records them; then `npm run openapi`.
    await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot('../../docs/reference/examples.json')
  },
)

test.skipIf(!hasBrowser)(
  'the page shows and tries operations, in both themes, as people and nobody',
  async () => {
    const browser = await openBrowser()
    onTestFinished(() => browser.close())
    const errors: string[] = []
    const open = async (origin: string, id: string) => {
      const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 390, height: 844 } })
      page.setDefaultTimeout(120_000)
      page.on('console', (message) => {
        const isRefused = message.text().includes('status of 401')
        if (['error', 'warning'].includes(message.type()) && !isRefused) errors.push(message.text())
      })
      page.on('pageerror', ({ message }) => errors.push(message))
      page.on('request', (request) => request.url().startsWith(origin) || errors.push(request.url()))
      await page.goto(`${origin}/docs/#${id}`)
      const operation = page.locator(`#${id}`)
      const answer = async (): Promise<string> => {
        await operation.getByRole('button', { name: 'Send' }).click()
        await operation.locator('.answer h4').waitFor()
        return await operation.locator('.answer').innerText()
      }
      await operation.getByText('Try it').click()
      return { page, operation, answer, people: page.getByLabel('Try it as') }
    }
    const backgroundOf = (page: Page) => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const { page, operation, people, answer } = await open(inject('stack').origin, 'listInterests')
    await operation.getByText('"Archaeology"').waitFor()
    await operation.getByRole('group', { name: /^Samples/ }).getByText('curl "$URL/users/interests"').waitFor()
    // Without demo people.
    expect(await people.count()).toBe(0)
    await expectSoon(answer).toContain('"Astronomy"')
    expect(await backgroundOf(page)).toBe('rgb(255, 255, 255)')
    for (const [colorScheme, width] of [['light', 320], ['dark', 1360]] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 844 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      expect([colorScheme, width, await violationsOf(page)]).toEqual([colorScheme, width, []])
    }
    expect(await backgroundOf(page)).toBe('rgb(22, 25, 27)')
    const contents = page.getByRole('navigation', { name: 'Operations' })
    await contents.getByLabel('Search').fill('send a message')
    expect(await contents.getByRole('listitem').filter({ visible: true }).getByRole('link').allInnerTexts())
      .toEqual([
        'Messages',
        'Send a message; with an Idempotency-Key, exactly once',
        "Take a message of one's own back",
      ])

    const me = await open(new URL(stack.base).origin, 'getMe')
    expect((await me.people.textContent())!).toMatch(/Inês.*Tomáš.*nobody/)
    // The page logs the chosen person in, and until then asks as nobody.
    await expectSoon(me.answer).toContain(addresses.ines)
    await me.people.selectOption({ index: 1 })
    await expectSoon(me.answer).toContain(addresses.tomas)
    await me.people.selectOption('nobody')
    await expectSoon(me.answer).toContain('401')

    const sending = await open(new URL(stack.base).origin, 'sendMessage')
    await expectSoon(sending.answer).toContain('201')
    await sending.operation.getByLabel('Body').fill('{"content": "Another text"}')
    expect(await sending.answer()).toContain('Another text')
    expect(errors).toEqual([])
  },
)
