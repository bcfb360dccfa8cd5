import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { expect, inject, test } from 'vitest'

const { origin, base } = inject('stack')
const names = ['index.html', 'main.js', 'openapi.json', 'style.css']

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

test('npm run docs writes the same page as files, but for the server that the document names', async () => {
  const folder = 'dist/docs'
  rmSync(folder, { recursive: true, force: true })
  execFileSync('npm', ['run', 'docs'])
  expect(readdirSync(folder).sort()).toEqual(names)
  const read = (path: string) => readFileSync(path, 'utf8')
  const page = await (await fetch(`${origin}/docs/`)).text()
  expect(read(`${folder}/index.html`)).toBe(page.replaceAll(/\?v=\w+/g, ''))
  expect(read(`${folder}/openapi.json`)).toBe(read('docs/openapi.json'))
  const { servers, ...document } = await (await fetch(`${origin}/docs/openapi.json`)).json()
  expect(servers).toEqual([{ url: base }])
  expect(JSON.parse(read('docs/openapi.json'))).toMatchObject(document)
})
