import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { expectNoLoss, killServer, runCrashLoad, timeout } from './crash_load.ts'

test('kills of the stack and its database neither lose nor duplicate a message', async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'crash-'))
  onTestFinished(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const crashes = Array(Number(process.env.CRASHES || 2)).fill(['kill -9 of the stack', killServer])
  expectNoLoss(await runCrashLoad({ DATA_DIR }, crashes))
}, timeout)
