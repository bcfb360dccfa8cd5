import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// tests/postgres/run.sh starts a Postgres server and sets this.
const hasServer = Boolean(process.env.PLATFORM_URL)

// npm run test:platform runs tests/platform, with Supabase's own servers.
// Slow tests run once. The mutants of policies and grants are quicker on a server. Tests that start their own stack on
// PGlite, or no stack, do not depend on the server.
const onServer = ['tests/postgres/**', 'tests/crash/postgres.test.ts', 'tests/attack/mutants.test.ts']
const onPglite = [
  'tests/demo/**',
  'tests/doctor/faults.test.ts',
  'tests/functions/**',
  'tests/local/{auth_errors,body,dashboard,embedding_failures,embedding_runs,lifecycle,mutex,readme,settings}.test.ts',
  // These use the network simulator.
  'tests/clients/!(account_switch|deno|live).test.ts',
  'tests/fuzz/seeded_faults.test.ts',
  // npm run test:crash runs both.
  ...(process.env.CRASH_SENDS ? [] : ['tests/crash/pglite.test.ts']),
]

// These take half a minute to two and a half, so they start first.
const slow = [
  ...['attack/mutants', 'clients/live', 'demo/page', 'doctor/doctor', 'doctor/faults', 'functions/pool', 'fuzz/cost'],
  ...[
    'http/embeddings',
    'http/hostile',
    'http/account_enumeration',
    'http/email_confirmation',
    'local/lifecycle',
    'postgres/outage',
  ],
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slow.some((name) => moduleId.endsWith(`tests/${name}.test.ts`))
    return (await super.sort(files)).toSorted((one, other) => Number(isSlow(other)) - Number(isSlow(one)))
  }
}

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: [...(hasServer ? onPglite : onServer), 'tests/platform/**'],
    // All files share one stack; each test creates its own users.
    globalSetup: [...(hasServer ? ['tests/postgres/build.ts'] : []), 'tests/tools/stack.ts'],
    // A test without an assertion cannot fail.
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
  },
})
