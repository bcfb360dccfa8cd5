import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { build } from 'rolldown'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openConversation, sendMessage, signUp, uniqueEmail } from '../tools/people.ts'
import { hasBrowser, openBrowser, patient } from './browser.ts'

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
  const resolveId = (id: string) => id === entry ? id : undefined
  const load = (id: string) => id === entry ? { code, moduleType: 'ts' as const } : undefined
  const { output: [script] } = await build({
    input: entry,
    platform: 'browser',
    tsconfig: false,
    write: false,
    logLevel: 'silent',
    plugins: [{ name: 'example', resolveId, load }],
    output: { format: 'esm', codeSplitting: false },
  })
  return script.code
}

test.runIf(hasBrowser)(
  'a page on another origin does what README and tour show, from the sign-up on',
  patient,
  async () => {
    const ben = await signUp('Ben')
    const ana = await signUp('Ana')
    const conversation = await openConversation(ana, ben)
    await sendMessage(ben, conversation, 'Welcome!')
    const { imports, body } = examples(ana.email, ana.password, conversation)
    const account = JSON.stringify({ email: uniqueEmail(), password: 'correct horse' })
    const script = await bundle(`${imports}
    const publishableKey = ${JSON.stringify(publishableKey)}
    const print = console.log
    const printed = []
    console.log = (...words) => { printed.push(words.join(' ')); print(...words) }
    const main = async () => {
      const newcomer = createClient(${JSON.stringify(origin)}, publishableKey, { auth: { storageKey: 'newcomer' } })
      const signedUp = await newcomer.auth.signUp({ ...${account}, options: { data: { name: 'Cat' } } })
      const again = await newcomer.auth.signUp(${account})
      const wrong = await newcomer.auth.signInWithPassword({ ...${account}, password: 'wrong' })
      ${body}
      const refreshed = await supabase.auth.refreshSession()
      const { data: { user } } = await supabase.auth.getUser()
      const refused = await supabase.from('messages').insert({ content: 'x' })
      while (!printed.includes('Bring your ears, too.')) await new Promise((resolve) => setTimeout(resolve, 50))
      const out = await supabase.auth.signOut()
      const { data: after } = await supabase.auth.getSession()
      return {
        signedUp: [signedUp.error, signedUp.data.user?.email === ${account}.email],
        codes: [again.error?.code, wrong.error?.code, refused.status],
        read: data,
        refreshed: [refreshed.error, Boolean(refreshed.data.session), user?.email],
        out: [out.error, after.session],
      }
    }
    main().then((result) => { window.result = result }, (error) => { window.result = String(error) })`)
    const server = createServer(({ url }, response) => {
      response.setHeader('Content-Type', url === '/main.js' ? 'text/javascript' : 'text/html')
      response.end(url === '/main.js' ? script : '<!doctype html><script type="module" src="/main.js"></script>')
    })
    await once(server.listen(0, 'localhost'), 'listening')
    const browser = await openBrowser()
    onTestFinished(async () => {
      await browser.close()
      server.close()
    })
    const page = await browser.newPage()
    const corsErrors: string[] = []
    page.on('console', (message) => message.text().includes('CORS') && corsErrors.push(message.text()))
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`)
    const result = await (await page.waitForFunction('window.result', undefined, { timeout: 240_000 })).jsonValue()
    expect(result).toEqual({
      signedUp: [null, true],
      codes: ['user_already_exists', 'invalid_credentials', 403],
      read: [{ id: expect.any(Number), content: 'Welcome!', read: expect.any(Boolean) }],
      refreshed: [null, true, ana.email],
      out: [null, null],
    })
    expect(corsErrors).toEqual([])
    const { body: messages } = await ben.call('GET', `/conversations/${conversation}/messages`)
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['Bring your ears, too.', 'Welcome!'])
  },
)
