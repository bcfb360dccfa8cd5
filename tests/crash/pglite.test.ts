import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { killServer, runCrashLoad, sends, timeout } from './crash_load.ts'

const crashes = Number(process.env.CRASHES || 2)

test(`${crashes} kills of the stack and its database neither lose nor duplicate a message`, async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'crash-'))
  onTestFinished(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const { violations, figures } = await runCrashLoad(
    { DATA_DIR },
    sends,
    Array(crashes).fill(['kill -9 of the stack', killServer]),
  )
  expect(violations).toEqual([])
  expect(figures.acknowledged).toBeGreaterThanOrEqual(sends)
  expect(figures.droppedConnections.afterRequest + figures.droppedConnections.beforeResponse).toBeGreaterThan(0)
  expect(figures.worstRecoveryMs).toBeLessThan(60_000)
}, timeout)
