// How much one run embeds with the model of Supabase's runtime, of a queue that never ends. A text takes 100 ms.
import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Run {
  claims: number
  claimed: string[]
  saved: number
  failed: number
  sessions: number
}
const run = (which: string) => runScript<Run>('tests/local/embedding_runs.ts', [which], { OPENAI_API_KEY: '' }, 30_000)

test.concurrent('a run takes texts one by one, until its time is up', async () => {
  const { claims, claimed, saved, failed } = await run('called by the schedule')
  // 8 fit into 800 ms. Fewer on a busy machine, and only one if the loading of the model counted.
  expect(claims).toBeGreaterThan(1)
  expect(claims).toBeLessThanOrEqual(8)
  expect(claimed).toEqual(['["gte-small",1,false]'])
  expect({ saved, failed }).toEqual({ saved: claims, failed: 0 })
})

test.concurrent('after a change a run takes half of the time, for the newest texts', async () => {
  const { claims, claimed, saved } = await run('after a change')
  expect(claims).toBeGreaterThan(0)
  expect(claims).toBeLessThanOrEqual(4)
  expect(claimed).toEqual(['["gte-small",1,true]'])
  expect(saved).toBe(claims)
})

test.concurrent('a text that takes longer than a run is embedded, and no other', async () => {
  expect(await run('a text takes longer than a run')).toMatchObject({ claims: 1, saved: 1 })
})

test.concurrent('if the model does not load, no text is claimed, and none has failed', async () => {
  expect(await run('the model does not load')).toMatchObject({ claims: 0, saved: 0, failed: 0 })
})
