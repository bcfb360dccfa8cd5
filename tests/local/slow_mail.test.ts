import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Told {
  status: number
  text: string
  took: number
}

test('signing up with a taken address takes as long as with a free one, however long Auth takes to mail', async () => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', ['run', '-A', 'tests/local/slow_mail.ts'])
  const [taken, told, free] = JSON.parse(stdout) as [Told, Told, Told]
  for (const answer of [taken, told]) {
    expect(answer).toMatchObject({ status: 201, text: free.text })
    expect(Math.abs(answer.took - free.took)).toBeLessThan(300)
  }
}, 30_000)
