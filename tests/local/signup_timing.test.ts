import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Answer {
  status: number
  text: string
  took: number
}

test(
  'a sign-up with a taken address takes as long as with a free one, however long Auth takes to send mail',
  async () => {
    const [taken, rejected, free] = await runScript<[Answer, Answer, Answer]>('tests/local/signup_timing.ts')
    for (const answer of [taken, rejected]) {
      expect(answer).toMatchObject({ status: 201, text: free.text })
      expect(Math.abs(answer.took - free.took)).toBeLessThan(300)
    }
  },
  30_000,
)
