import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { killServer, sends, storm, timeout } from './storm.ts'

const crashes = Number(process.env.CRASHES || 2)

test(`no message is lost or doubled by ${crashes} kills of the stack and its database`, async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'crash-'))
  onTestFinished(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const { problems, figures } = await storm(
    { DATA_DIR },
    sends,
    Array(crashes).fill(['kill -9 of the stack', killServer]),
  )
  expect(problems).toEqual([])
  expect(figures.acknowledged).toBeGreaterThanOrEqual(sends)
  expect(figures.cuts.afterRequest + figures.cuts.beforeResponse).toBeGreaterThan(0)
  expect(figures.worstRecoveryMs).toBeLessThan(60_000)
}, timeout)
