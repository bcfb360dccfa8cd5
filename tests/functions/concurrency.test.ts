import { expect, test } from 'vitest'
import { limitConcurrency } from '../../functions/_shared/concurrency.ts'

/** As PGlite does: nothing else runs in this process meanwhile. */
const block = (milliseconds: number): void => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

test('others are served between work that blocks the process, and a wait ends when its time is up', async () => {
  const { run } = limitConcurrency(() => 1, 100, 200)
  const order: string[] = []
  const work = (name: string) => run(async () => void order.push(name) ?? block(300)).catch(() => order.push('refused'))
  const all = ['first', 'second', 'third', 'fourth'].map(work)
  setTimeout(() => order.push('another'))
  await Promise.all(all)
  expect(order).toEqual(['first', 'another', 'second', 'refused', 'refused'])
  expect(await run(() => Promise.resolve('next'))).toBe('next')
})
