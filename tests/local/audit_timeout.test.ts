import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import { testKeys } from '../tools/stack.ts'

test('if the audit of the search index times out, the metrics report the database as up, and all else', async () => {
  const SUPABASE_SECRET_KEY = testKeys.secretKey
  const rest = { database_up: 1, embedding_queue_waiting: 3, search_audit_failed: 1 }
  expect(await runScript('tests/local/audit_timeout.ts', [], { SUPABASE_SECRET_KEY })).toEqual([
    rest,
    { ...rest, 'search_audit_findings{finding="missing"}': 2, search_audit_age_seconds: 301 },
  ])
})
