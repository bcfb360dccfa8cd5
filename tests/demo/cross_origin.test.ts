import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { build } from 'rolldown'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openConversation, sendMessage, signUp, uniqueEmail } from '../tools/people.ts'
import { hasBrowser, openBrowser } from './browser.ts'

const { origin, publishableKey } = inject('stack')

/** The client examples of docs/tour.md and README.md with the URL, key and accounts of this test. */
const examples = (email: string, password: string, conversation: number): { imports: string; body: string } => {
  const [tour = '', readme = ''] = ['docs/tour.md', 'README.md'].map((page) =>
    /```ts\n(.*?)```/s.exec(readFileSync(page, 'utf8'))![1]
  )
  // They begin alike.
  const more = readme.split('\n').filter((line) => !tour.split('\n').includes(line))
  const lines = [tour, ...more].join('\n')
    .replace('voyagers-and-locals-client', './clients/index.ts')
    .replace('http://127.0.0.1:54321', origin)
    .replaceAll('ines.carvalho@example.com', email)
    .replaceAll('voyage-2026', password)
    .replace('inbox.open(1)', `inbox.open(${conversation})`)
    .split('\n')
  const isImport = (line: string) => line.startsWith('import ')
  return { imports: lines.filter(isImport).join('\n'), body: lines.filter((line) => !isImport(line)).join('\n') }
}

const bundle = async (code: string): Promise<string> => {
  const entry = resolve('example.ts')
  const { output: [script] } = await build({
    input: entry,
    platform: 'browser',
    tsconfig: false,
    write: false,
    logLevel: 'silent',
    plugins: [{
      name: 'example',
      resolveId: (id) => id === entry ? id : undefined,
      load: (id) => id === entry ? { code, moduleType: 'ts' } : undefined,
    }],
    output: { format: 'esm', codeSplitting: false },
  })
  return script.code
}

describe.runIf(hasBrowser)('a page on another origin', () => {
  let browser: Browser
  let server: Server
  let script = ''
  beforeAll(async () => {
    browser = await openBrowser()
    server = createServer(({ url }, response) => {
      response.setHeader('Content-Type', url === '/main.js' ? 'text/javascript' : 'text/html')
      response.end(url === '/main.js' ? script : '<!doctype html><script type="module" src="/main.js"></script>')
    })
    await once(server.listen(0, 'localhost'), 'listening')
  })
  afterAll(async () => {
    await browser.close()
    server.close()
  })

  test('signs up, logs in, reads, refreshes, receives, sends and logs out as README and tour show', async () => {
    const ben = await signUp('Ben')
    const ana = await signUp('Ana')
    const conversation = await openConversation(ana, ben)
    await sendMessage(ben, conversation, 'Welcome!')
    const { imports, body } = examples(ana.email, ana.password, conversation)
    script = await bundle(`${imports}
      const publishableKey = ${JSON.stringify(publishableKey)}
      const print = console.log
      const printed = []
      console.log = (...words) => { printed.push(words.join(' ')); print(...words) }
      const main = async () => {
        const newcomer = createClient(${JSON.stringify(origin)}, publishableKey, { auth: { storageKey: 'newcomer' } })
        const account = { email: ${JSON.stringify(uniqueEmail())}, password: 'correct horse' }
        const signedUp = await newcomer.auth.signUp({ ...account, options: { data: { name: 'Cat' } } })
        const again = await newcomer.auth.signUp(account)
        const wrong = await newcomer.auth.signInWithPassword({ ...account, password: 'wrong' })
        ${body}
        const refreshed = await supabase.auth.refreshSession()
        const { data: { user } } = await supabase.auth.getUser()
        const refused = await supabase.from('messages').insert({ content: 'x' })
        while (!printed.includes('Bring your ears, too.')) await new Promise((resolve) => setTimeout(resolve, 50))
        const out = await supabase.auth.signOut()
        const { data: after } = await supabase.auth.getSession()
        return {
          signedUp: [signedUp.error, signedUp.data.user?.email === account.email],
          again: again.error?.code,
          wrong: wrong.error?.code,
          read: data,
          refreshed: [refreshed.error, Boolean(refreshed.data.session)],
          user: user?.email,
          refused: refused.status,
          out: out.error,
          after: after.session,
        }
      }
      main().then((result) => { window.result = result }, (error) => { window.result = String(error) })`)
    const page = await browser.newPage()
    const corsErrors: string[] = []
    page.on('console', (message) => message.text().includes('CORS') && corsErrors.push(message.text()))
    const { port } = server.address() as AddressInfo
    await page.goto(`http://localhost:${port}/`)
    const result = await (await page.waitForFunction('window.result', undefined, { timeout: 30_000 })).jsonValue()
    expect(result).toEqual({
      signedUp: [null, true],
      again: 'user_already_exists',
      wrong: 'invalid_credentials',
      read: [{ id: expect.any(Number), content: 'Welcome!', read: expect.any(Boolean) }],
      refreshed: [null, true],
      user: ana.email,
      refused: 403,
      out: null,
      after: null,
    })
    expect(corsErrors).toEqual([])
    const { body: messages } = await ben.call('GET', `/conversations/${conversation}/messages`)
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['Bring your ears, too.', 'Welcome!'])
    await page.context().close()
  })
})
