import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build, type Rolldown } from 'vite'
import { afterAll, expect, inject, test } from 'vitest'
import { hasBrowser, openBrowser } from '../demo/browser.ts'
import { installPackage } from '../tools/installed_package.ts'
import { openConversation, sendMessage, signUp } from '../tools/people.ts'
import { checkOutRelease } from '../tools/release.ts'
import { until } from '../tools/wait.ts'

const { origin, publishableKey } = inject('stack')
const { folder, files, size } = installPackage(['ws', '@types/react', 'react-dom'])
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (command: string, args: string[], cwd = folder) => promisify(execFile)(command, args, { cwd })
const bin = (name: string) => resolve('node_modules/.bin', name)

/** What talk.js needs, its end of the conversation (the partner who answers), and what it should print. */
const openTalk = async (text: string) => {
  const [ana, ben] = [await signUp('Ana'), await signUp('Ben', { is_searchable: true })]
  const id = await openConversation(ana, ben)
  const answer = async () => {
    const read = () => ben.call('GET', `/conversations/${id}/messages`)
    await until(async () => (await read()).body.some(({ content }: { content: string }) => content === text), 200)
    await sendMessage(ben, id, `${text} Yes.`)
  }
  const settings = { origin, key: publishableKey, email: ana.email, password: ana.password, partner: ben.id, text }
  return { ana, ben, id, answer, settings, expected: { messages: [text, `${text} Yes.`], partner: 'Ben', error: null } }
}

test('the package is small and has what it exports, and sources in its source maps', () => {
  const read = (name: string) => readFileSync(join(folder, 'node_modules/voyagers-and-locals-client', name), 'utf8')
  expect(size).toBeLessThan(126_000)
  const { exports } = JSON.parse(read('package.json'))
  const entries = Object.values(exports).flatMap((entry) => typeof entry === 'string' ? entry : Object.values(entry!))
  expect(entries.filter((entry) => !files.includes(entry.slice(2)))).toEqual([])
  expect(files).toContain('README.md')
  expect(files).toContain('dist/LICENSE')
  const scripts = files.filter((file) => file.endsWith('.js'))
  for (const script of scripts) {
    expect(read(script)).toContain(`//# sourceMappingURL=`)
    const { sourcesContent, sources } = JSON.parse(read(`${script}.map`))
    expect(sourcesContent[0]).toBe(readFileSync(resolve('clients', sources[0].split('/').at(-1)), 'utf8'))
  }
  const relative = files.filter((file) => /\.(js|d\.ts)$/.test(file)).flatMap((file) => {
    const specifiers = [...read(file).matchAll(/(?:from|import) ['"](\.[^'"]*)['"]/g)].map(([, name]) => name!)
    return specifiers.map((name) => join(file, '..', name.replace(/\.js$/, file.endsWith('.js') ? '.js' : '.d.ts')))
  })
  expect(relative.filter((file) => !files.includes(file))).toEqual([])
})

// After the last channel supabase-js leaves a timer of ten seconds, so these run at the same time.
test.concurrent.for(
  [
    ['Node', process.execPath, ['node.js']],
    ['Deno, with types,', bin('deno'), ['run', '--check', '-A', 'deno.ts']],
  ] as const,
)('a program on %s signs in, writes, hears an answer, reads it, closes and ends', async (
  [runtime, command, args],
  { expect },
) => {
  const { settings, answer, expected } = await openTalk(`${runtime}?`)
  const [{ stdout }] = await Promise.all([run(command, [...args, JSON.stringify(settings)]), answer()])
  expect(JSON.parse(stdout)).toEqual(expected)
})

test.concurrent('so does a program with the client of the last release', async ({ expect, onTestFinished }) => {
  const release = checkOutRelease()
  const { folder } = installPackage(['ws'], release)
  onTestFinished(() => [release, folder].forEach((made) => rmSync(made, { recursive: true })))
  const { settings, answer, expected } = await openTalk('Still?')
  const [{ stdout }] = await Promise.all([
    run(process.execPath, ['node.js', JSON.stringify(settings)], folder),
    answer(),
  ])
  expect(JSON.parse(stdout)).toEqual(expected)
})

test.concurrent('so does the script in docs/tour.md', async ({ expect }) => {
  const word = `azulejo${process.pid}x${Date.now()}`
  const ines = await signUp('Inês', { is_searchable: true, biography: `I repair ${word}` })
  const tour = readFileSync('docs/tour.md', 'utf8')
  const script = /```js\n(.*?)```/s.exec(tour.slice(tour.indexOf('hello.mjs')))![1]!
  expect(script.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(16)
  const own = script.replace('http://127.0.0.1:54321', origin).replace("'azulejos'", `'${word}'`)
    .replace('ines.carvalho@example.com', ines.email).replace('voyage-2026', ines.password)
  writeFileSync(join(folder, 'hello.mjs'), own)
  const { stdout } = await run(process.execPath, ['hello.mjs', publishableKey])
  expect(stdout).toBe('Inês answers: Come on Tuesday!\n')
})

test('the types are strict for the moduleResolutions bundler and node16', async () => {
  const result = run(bin('tsc'), ['-b', 'tsconfig.bundler.json', 'tsconfig.node16.json'])
  await expect(result.catch(({ stdout }) => ({ stdout }))).resolves.toMatchObject({ stdout: '' })
})

test.runIf(hasBrowser)('so does a page made with Vite, on another origin, and its React hooks follow', async () => {
  const { output } = await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: { write: false, minify: false, rolldownOptions: { input: join(folder, 'page.js') } },
  }) as Rolldown.RolldownOutput
  const server = createServer(({ url }, response) => {
    response.setHeader('Content-Type', url === '/page.js' ? 'text/javascript' : 'text/html')
    response.end(
      url === '/page.js' ? output[0].code : '<!doctype html><script type="module" src="/page.js"></script>',
    )
  })
  await once(server.listen(0, 'localhost'), 'listening')
  const browser = await openBrowser()
  try {
    const { ana, ben, id, settings, answer, expected } = await openTalk('Vite?')
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('console', (message) => {
      // The conversation exists; openWith takes its id from the refusal.
      if (message.type() === 'error' && !message.text().includes('status of 409')) errors.push(message.text())
    })
    page.on('pageerror', ({ message }) => errors.push(message))
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`)
    await page.waitForFunction('window.run')
    const [result] = await Promise.all([page.evaluate(`run(${JSON.stringify(settings)})`), answer()])
    expect(result).toEqual(expected)

    const shown = () => page.locator('li').allTextContents()
    await page.getByRole('heading', { name: 'Ana' }).waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('li', { hasText: 'Goodbye.' }).waitFor()
    await sendMessage(ben, id, 'See you.')
    await page.locator('li', { hasText: 'See you.' }).waitFor()
    expect(await shown()).toEqual(['Vite?', 'Vite? Yes.', 'Goodbye.', 'See you.'])

    // The next user of the page sees nothing of the last.
    await page.evaluate('signOut()')
    await page.getByText('Signed out').waitFor()
    await page.evaluate(`signIn(${JSON.stringify({ email: ben.email, password: ben.password })})`)
    await page.getByRole('heading', { name: 'Ben' }).waitFor()
    expect(await page.getByRole('heading', { name: ana.name }).count()).toBe(0)
    expect(errors).toEqual([])
  } finally {
    await browser.close()
    server.close()
  }
})
