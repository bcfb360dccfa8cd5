import { gzipSync } from 'node:zlib'
import { expect, inject, test, vi } from 'vitest'
import { demo } from '../../supabase/local/demo.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { testKeys } from '../tools/stack.ts'

const { origin } = inject('stack')

test('the Content-Security-Policy allows the page to load from and connect to its own server only', async () => {
  const { status, headers } = await fetch(`${origin}/demo`)
  expect(status).toBe(200)
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  const policy = headers.get('Content-Security-Policy')!.split('; ')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).toContain(`connect-src 'self' ws://${new URL(origin).host} wss://${new URL(origin).host}`)
  expect(policy).toEqual(expect.arrayContaining(["require-trusted-types-for 'script'", 'trusted-types service-worker']))
  for (const file of ['main.js', 'style.css', 'icon.svg', 'config.json']) {
    const { status, headers } = await fetch(`${origin}/demo/${file}`)
    expect([file, status, headers.get('X-Content-Type-Options')]).toEqual([file, 200, 'nosniff'])
    expect(headers.get('Access-Control-Allow-Origin')).toBeNull()
  }
  for (const path of ['/side-by-side', '/people?q=jazz', '/people/12', '/c/7', '/c/seven', '/me']) {
    const response = await fetch(`${origin}/demo${path}`)
    expect([path, response.status, await response.text()]).toEqual([
      path,
      200,
      expect.stringContaining('"/demo/main.js"'),
    ])
  }
  for (const path of ['/pane.ts', '/styles/base.css', '/people/1/2', '/you']) {
    expect([path, (await fetch(`${origin}/demo${path}`)).status]).toEqual([path, 404])
  }
  expect((await fetch(`${origin}/demo/`, { redirect: 'manual' })).headers.get('Location')).toBe('/demo')
})

test('the page contains the publishable key and no secret', async () => {
  const config = await (await fetch(`${origin}/demo/config.json`)).text()
  expect(config).toContain(testKeys.publishableKey)
  for (const path of ['', '/config.json', '/main.js']) {
    const text = await (await fetch(`${origin}/demo${path}`)).text()
    for (const secret of [testKeys.secretKey, testKeys.jwtSecret]) expect(text).not.toContain(secret)
  }
})

test('all scripts together have less than 100 kB when they are compressed', async () => {
  const sizes = await Promise.all(['main', 'service_worker'].map(async (name) => {
    const response = await fetch(`${origin}/demo/${name}.js`)
    return gzipSync(await response.text()).length
  }))
  expect(sizes[0]! + sizes[1]!).toBeLessThan(100_000)
})

test('a failed build answers 500 with the reason, and the next request builds again', async () => {
  let broken = true
  const make = () => broken ? Promise.reject(new Error('no bundler here')) : Promise.resolve('run()')
  const page = demo(readSettings({}), testKeys, make)
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const refused = await page.request('/')
  expect([refused.status, await refused.text()]).toEqual([
    500,
    'The demo page could not be built, everything else works: no bundler here\n',
  ])
  expect(logged).toHaveBeenCalledOnce()
  logged.mockRestore()
  broken = false
  expect((await page.request('/')).status).toBe(200)
  expect(await (await page.request('/main.js')).text()).toBe('run()')
})

test('passwords are included for demo accounts only, and only on a loopback host', async () => {
  const logIns = async (env: Record<string, string>) =>
    (await (await demo(readSettings(env), testKeys).request('/config.json')).json()).logIns
  expect(await logIns({ SEED: 'demo' })).toHaveLength(2)
  expect(await logIns({ SEED: 'demo', HOST: '127.0.0.1' })).toHaveLength(2)
  expect(await logIns({ SEED: 'demo', HOST: '0.0.0.0' })).toEqual([])
  expect(await logIns({ SEED: 'none' })).toEqual([])
  expect((await (await fetch(`${origin}/demo/config.json`)).json()).logIns).toEqual([])
})
