import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { testKeys } from '../tools/stack.ts'

test('where the audit of the index takes too long, the database is up, and all but the audit is told', async () => {
  const env = { ...process.env, SUPABASE_SECRET_KEY: testKeys.secretKey }
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', ['run', '-A', 'tests/local/audit_fails.ts'], {
    env,
  })
  const rest = { database_up: 1, embedding_queue_waiting: 3, search_audit_failed: 1 }
  expect(JSON.parse(stdout)).toEqual([
    rest,
    { ...rest, 'search_audit_findings{finding="missing"}': 2, search_audit_age_seconds: 301 },
  ])
})
