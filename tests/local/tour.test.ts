import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'

const stack = useStack({ SEED: 'demo' })
const page = readFileSync('docs/tour.md', 'utf8')
const tour = page.slice(0, page.indexOf('## Search'))
const steps = [...tour.matchAll(/```sh\n(.*?)```\n\n```json\n(.*?)```/gs)].map(([, command, answer]) => ({
  command: command!,
  answer: answer!,
}))

/** Replaces timestamps and the port of photos, which differ from run to run. */
const withoutTimes = (text: string): unknown =>
  JSON.parse(
    text.replaceAll(/127\.0\.0\.1:\d+(?=\/storage)/g, '127.0.0.1:54321')
      .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"<time>"'),
  )

test('the commands of docs/tour.md answer as shown', async () => {
  expect(steps.length).toBeGreaterThanOrEqual(10)
  // The embeddings of the demo data are made in the first seconds.
  const pending = async () => (await call('GET', `${stack.base}/health`)).body.embeddings.pending
  await vi.waitUntil(async () => await pending() === 0, { timeout: 200_000 })
  const script = steps.map(({ command }) => `${command}\necho '\n~~'`).join('\n')
    .replaceAll('http://127.0.0.1:54321/functions/v1', stack.base)
  const { stdout } = await promisify(execFile)('bash', ['-c', script])
  const answers = stdout.split('~~').map((answer) => answer.trim()).filter((answer) => answer !== '')
  expect(answers.map(withoutTimes)).toEqual(steps.map(({ answer }) => withoutTimes(answer)))
})

test('every portrait of the demo data is there', async () => {
  const { origin } = new URL(stack.base)
  const path = `${origin}/rest/v1/profiles?select=image_url&image_url=like.*avatars*`
  const { body } = await call('GET', path, undefined, { headers: { apikey: testKeys.secretKey } })
  expect(body.length).toBeGreaterThan(200)
  const statuses = await Promise.all(
    body.map(async ({ image_url }: { image_url: string }) =>
      (await fetch(origin + new URL(image_url).pathname)).status
    ),
  )
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('the README shows steps of the tour', () => {
  const readme = readFileSync('README.md', 'utf8')
  const commands = [...readme.slice(readme.indexOf('## Try it')).matchAll(/```sh\n(.*?)```/gs)].map((all) => all[1]!)
  expect(commands.length).toBeGreaterThan(3)
  expect(steps.map(({ command }) => command)).toEqual(expect.arrayContaining(commands))
})
