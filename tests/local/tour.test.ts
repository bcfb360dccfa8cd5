import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'

const page = readFileSync('docs/tour.md', 'utf8')
const tour = page.slice(0, page.indexOf('## Search'))
const steps = [...tour.matchAll(/```sh\n(.*?)```\n\n```json\n(.*?)```/gs)].map(([, command, answer]) => ({
  command: command!,
  answer: answer!,
}))

/** Replaces timestamps and the port of photos, which differ from run to run. */
const withoutTimes = (text: string): unknown =>
  JSON.parse(
    text.replaceAll(/127\.0\.0\.1:\d+(?=\/storage)/g, '127.0.0.1:54321').replaceAll(
      /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g,
      '"<time>"',
    ),
  )

test('the commands of docs/tour.md answer as shown', { timeout: 180_000 }, async () => {
  expect(steps.length).toBeGreaterThanOrEqual(10)
  const { base, process: process_ } = await startStack({ SEED: 'demo' })
  try {
    // The embeddings of the demo data are made in the first seconds.
    await vi.waitUntil(async () => (await (await fetch(`${base}/health`)).json()).embeddings.pending === 0, {
      timeout: 60_000,
    })
    const script = steps.map(({ command }) => `${command}\necho '\n~~'`).join('\n')
      .replaceAll('http://127.0.0.1:54321/functions/v1', base)
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    const answers = stdout.split('~~').map((answer) => answer.trim()).filter((answer) => answer !== '')
    expect(answers.map(withoutTimes)).toEqual(steps.map(({ answer }) => withoutTimes(answer)))

    const { origin } = new URL(base)
    const profiles = await fetch(`${origin}/rest/v1/profiles?select=image_url&image_url=like.*avatars*`, {
      headers: { apikey: testKeys.secretKey },
    })
    const images = (await profiles.json() as { image_url: string }[]).map(({ image_url }) => image_url)
    expect(images.length).toBeGreaterThan(200)
    const statuses = await Promise.all(images.map(async (url) => (await fetch(origin + new URL(url).pathname)).status))
    expect(new Set(statuses)).toEqual(new Set([200]))
  } finally {
    await stopStack(process_)
  }
})

test('the README shows steps of the tour', () => {
  const readme = readFileSync('README.md', 'utf8')
  const shown = readme.slice(readme.indexOf('## Try it')).matchAll(/```sh\n(.*?)```/gs)
  const commands = [...shown].map(([, command]) => command!)
  expect(commands.length).toBeGreaterThan(3)
  expect(steps.map(({ command }) => command)).toEqual(expect.arrayContaining(commands))
})
