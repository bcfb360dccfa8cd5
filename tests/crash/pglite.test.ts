import { rmSync } from 'node:fs'
import { onTestFinished, test } from 'vitest'
import { copyPreparedData } from '../tools/stack.ts'
import { expectNoLoss, killServer, runCrashLoad, timeout } from './crash_load.ts'

test('kills of the stack and its database neither lose nor duplicate a message', async () => {
  const DATA_DIR = await copyPreparedData()
  onTestFinished(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const crashes = Array(Number(process.env.CRASHES || 2)).fill(['kill -9 of the stack', killServer])
  expectNoLoss(await runCrashLoad({ DATA_DIR }, crashes))
}, timeout)
