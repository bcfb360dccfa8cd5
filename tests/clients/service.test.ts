import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

const seeds = process.env.SEEDS ?? '2'
const actions = '100'

test('the simulated service answers, broadcasts and logs what the service does', async () => {
  expect(await runScript('tests/clients/beside_the_service.ts', [seeds, actions])).toEqual([])
})
