import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { hasBrowser, openBrowser } from '../demo/browser.ts'

const { origin, base } = inject('stack')
const names = ['index.html', 'main.js', 'openapi.json', 'style.css', 'swagger-ui-bundle.js', 'swagger-ui.css']

test('/docs/ serves the page, its files and nothing else', async () => {
  expect((await fetch(`${origin}/docs`, { redirect: 'manual' })).headers.get('Location')).toBe('/docs/')
  for (const name of ['', ...names]) {
    const { status, headers } = await fetch(`${origin}/docs/${name}`)
    expect([name, status, headers.get('X-Content-Type-Options')]).toEqual([name, 200, 'nosniff'])
    const policy = headers.get('Content-Security-Policy')!.split('; ')
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]))
  }
  for (const name of ['reference.ts', 'constructor', '../openapi.ts', 'page/main.js']) {
    expect([name, (await fetch(`${origin}/docs/${name}`)).status]).toEqual([name, 404])
  }
  expect((await fetch(`${origin}/docs/`, { method: 'POST' })).status).toBe(404)
})

test('the document of the page names this server, and is otherwise docs/openapi.json', async () => {
  const { servers, ...document } = await (await fetch(`${origin}/docs/openapi.json`)).json()
  expect(servers).toEqual([{ url: base }])
  expect(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))).toMatchObject(document)
})

test('npm run docs writes the same page as files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'))
  try {
    execFileSync('node_modules/.bin/deno', ['run', '-A', 'scripts/build_docs.ts', folder])
    expect(readdirSync(folder).sort()).toEqual(names)
    expect(readFileSync(`${folder}/index.html`, 'utf8')).toBe(await (await fetch(`${origin}/docs/`)).text())
    expect(readFileSync(`${folder}/openapi.json`, 'utf8')).toBe(readFileSync('docs/openapi.json', 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe.skipIf(!hasBrowser)('in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('an operation is shown in both themes and on a phone, and its request goes to this server alone', async () => {
    const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 390, height: 844 } })
    const errors: string[] = []
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()))
    page.on('pageerror', ({ message }) => errors.push(message))
    page.on('request', (request) => request.url().startsWith(origin) || errors.push(request.url()))
    await page.goto(`${origin}/docs/#/Profiles/listInterests`)
    const operation = page.locator('#operations-Profiles-listInterests')
    await operation.getByText('"Archaeology"').waitFor()
    await operation.getByRole('region', { name: 'Samples' }).getByText('curl "$URL/users/interests"').waitFor()
    // Without demo people.
    expect(await page.getByLabel('Try it as').count()).toBe(0)
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.locator('.live-responses-table').getByText('"Astronomy"').waitFor()
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(await background()).toBe('rgb(255, 255, 255)')
    await page.emulateMedia({ colorScheme: 'dark' })
    // The colour fades.
    await expect.poll(background).toBe('rgb(28, 32, 34)')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(errors).toEqual([])
  })
})
