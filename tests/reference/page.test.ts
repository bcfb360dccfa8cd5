import { readFileSync } from 'node:fs'
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

test('it serves the document of the repository, but for the server', async () => {
  const { servers, ...document } = await (await fetch(`${origin}/docs/openapi.json`)).json()
  expect(servers).toEqual([{ url: base }])
  expect(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))).toMatchObject(document)
})
