import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { type OperationId, reference } from '../../docs/reference/index.ts'
import type { Example } from '../../docs/reference/types.ts'
import { hasBrowser, openBrowser } from '../demo/browser.ts'
import { shortMetrics, toExample } from '../tools/example_values.ts'
import { faults, operations } from '../tools/openapi.ts'
import { useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'
import { dashboardCookie, testKeys } from '../tools/stack.ts'

const stack = useStack({ SEED: 'demo' })

const addresses = { tomas: 'tomas.novak@example.com', ines: 'ines.carvalho@example.com' }

test('the demo world has something for an admin to do', async () => {
  const { origin } = new URL(stack.base)
  const headers = { apikey: testKeys.secretKey }
  const read = async (path: string) => (await call('GET', `${origin}/rest/v1/${path}`, undefined, { headers })).body
  const rpc = async (name: string, json: object = {}) =>
    (await call('POST', `${origin}/rest/v1/rpc/${name}`, json, { headers })).body
  const reports: { report: number; reason: string }[] = await read('moderation_queue?order=report')
  expect(reports.map(({ reason }) => reason)).toEqual(['harassment', 'spam', 'impersonation'])
  const evidence = await rpc('read_evidence', { report: reports[0]!.report })
  expect(evidence.map(({ is_by_reported }: { is_by_reported: boolean }) => is_by_reported)).toEqual([true, false, true])
  const restricted: { status: string; is_hidden: boolean }[] = await rpc('find_people', { query: '', restricted: true })
  expect(restricted.map(({ status, is_hidden }) => is_hidden ? 'hidden' : status).sort()).toEqual([
    'hidden',
    'suspended',
  ])
  const dead = async () =>
    (await rpc('describe_queues')).filter((queue: { dead: number }) => queue.dead).map(({ queue }: { queue: string }) =>
      queue
    )
  expect(await dead()).toEqual(['mail'])
  const headersOfPage = { Cookie: await dashboardCookie(stack.dashboard) }
  await vi.waitUntil(async () => {
    const page = await (await fetch(`${origin}/mail`, { headers: headersOfPage })).text()
    return page.includes('to ines.carvalho@example.com') && page.includes('to tomas.novak@example.com')
  }, { timeout: 30_000, interval: 500 })
  // The worker leaves it to the operator.
  expect(await dead()).toEqual(['mail'])
})

/** Logs the two people in, and signs somebody up who leaves. */
const logIn = async () => {
  const of = async (path: string, json: object) => (await call('POST', `${stack.base}/auth/${path}`, json)).body
  const session = (email: string) => of('login', { email, password: 'voyage-2026' })
  const [tomas, ines] = [await session(addresses.tomas), await session(addresses.ines)]
  const leaving = await of('signup', { email: 'sam.lee@example.com', password: 'leaving-2026', name: 'Sam Lee' })
  return { tomas, ines, leaving }
}

const run = promisify(execFile)

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

test('the calls of the client in the reference compile', async () => {
  const calls = operations.flatMap(({ samples }) => samples.filter(({ label }) => label === 'client'))
  expect(calls.length).toBeGreaterThan(40)
  const folder = mkdtempSync('tests/reference/calls-')
  try {
    const head = "import type { ApiClient } from '../../../clients/api_client.ts'\ndeclare const api: ApiClient\n"
    writeFileSync(`${folder}/calls.ts`, head + calls.map(({ source }) => `{\n  ${source}\n}\n`).join(''))
    await run('node_modules/.bin/deno', ['check', '--quiet', `${folder}/calls.ts`])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('every example of the reference works on the demo world, and is answered as the reference says', async () => {
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
    const answer = body ?? (id === 'getMetrics' ? shortMetrics(text) : undefined)
    if (schema) wrong.push(...faults(schema, answer, id))
    answers[id] = { status, body: toExample(answer, JSON.stringify(reference)) }
  }
  expect(wrong).toEqual([])
  // `npx vitest run tests/reference/examples.test.ts -u` records them; then `npm run openapi`.
  await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot('../../docs/reference/examples.json')
})

test.skipIf(!hasBrowser)('the page tries requests as a demo person, and as nobody', async () => {
  const browser = await openBrowser()
  try {
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    await page.goto(`${new URL(stack.base).origin}/docs/#/Profiles/getMe`)
    const people = page.getByLabel('Try it as')
    expect((await people.textContent())!).toMatch(/Inês.*Tomáš.*nobody/)
    const operation = page.locator('#operations-Profiles-getMe')
    const answer = async (): Promise<string> => {
      await operation.getByRole('button', { name: 'Execute' }).click()
      await operation.locator('.live-responses-table .loading-container').waitFor({ state: 'detached' })
      return await operation.locator('.live-responses-table').innerText()
    }
    await expect.poll(answer).toContain(addresses.ines)
    await people.selectOption({ index: 1 })
    await expect.poll(answer).toContain(addresses.tomas)
    await people.selectOption('nobody')
    await expect.poll(answer).toContain('401')
    expect(errors.filter((text) => !text.includes('401'))).toEqual([])
  } finally {
    await browser.close()
  }
})
