import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { denoVersions } from './tests/tools/deno_versions.ts'

// tests/postgres/run.sh starts a Postgres server and sets this.
const hasServer = Boolean(process.env.PLATFORM_URL)

// npm run test:platform runs tests/platform, with Supabase's own servers; npm run test:generators tests/generators.
// Slow tests run once. Mutants, schedules and the quality of the search, which are SQL alone, are quicker on a server,
// and response times vary less there. Tests that start their own stack on PGlite, or no stack, do not depend on it.
const onServer = [
  'tests/postgres/**',
  'tests/crash/postgres.test.ts',
  'tests/notifications/{kills,post}.test.ts',
  'tests/mutants/**',
  'tests/{clients/live,db/schedules,doctor/doctor,fuzz/cost,fuzz/model_faults}.test.ts',
  'tests/search/quality.test.ts',
  // What differs on PGlite is the gateway, the Data API and the Realtime of one machine.
  'tests/http/{account_enumeration,auth,email_confirmation,embeddings,erase,export,limits}.test.ts',
  'tests/http/{first_contact,reservations,search*}.test.ts',
]
const onPglite = [
  // The mutants run the rules on a server.
  'tests/rules/**',
  'tests/demo/**',
  'tests/doctor/faults.test.ts',
  'tests/notifications/{addresses,cuts,worker}.test.ts',
  'tests/search/embedder.test.ts',
  'tests/functions/**',
  'tests/reference/**',
  'tests/local/**',
  // These use the network simulator.
  'tests/clients/!(account_switch|deno|live).test.ts',
  'tests/fuzz/seeded_faults.test.ts',
  // npm run test:crash runs all.
  ...(process.env.CRASH_SENDS ? [] : ['tests/crash/{pglite,storage}.test.ts']),
]

// These take half a minute to two and a half, so they start first.
const slow = [
  ...[
    'mutants/mutants',
    'attack/matrix',
    'attack/data_api',
    'crash/pglite',
    'clients/live',
    'clients/package',
    'clients/realtime',
    'demo/one_person',
    'demo/two_people',
    'doctor/doctor',
    'doctor/faults',
    'functions/pool',
    'fuzz/cost',
  ],
  ...[
    'http/embeddings',
    'http/hostile',
    'http/account_enumeration',
    'http/email_confirmation',
    'local/auth_errors',
    'local/embedding_failures',
    'local/lifecycle',
    'notifications/kills',
    'notifications/worker',
    'postgres/outage',
    'postgres/starvation',
    'postgres/walk',
    'realtime/events',
    'search/sync',
  ],
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slow.some((name) => moduleId.endsWith(`tests/${name}.test.ts`))
    return (await super.sort(files)).toSorted((one, other) => Number(isSlow(other)) - Number(isSlow(one)))
  }
}

const shared = {
  include: ['tests/**/*.test.ts'],
  // A test without an assertion cannot fail.
  expect: { requireAssertions: true },
  testTimeout: 60_000,
  // The first who needs a stack with demo data makes it.
  hookTimeout: 120_000,
  // A process for each file took a tenth of the processor time.
  isolate: false,
}

// All files of a project share one stack; each test creates its own users.
const stack = 'tests/tools/stack.ts'

/**
 * On a server the HTTP tests meet the functions as they are deployed: the bundles, on the platform's Deno. On PGlite
 * some meet the sources on the pinned one. npm run test:bundles meets the bundles on both.
 */
const onBundles = ({ version, deno }: { version: string; deno: string }, index: number) => ({
  test: {
    ...shared,
    name: `bundles on ${version}`,
    include: ['tests/http/**/*.test.ts'],
    globalSetup: [stack],
    env: { FUNCTIONS_DENO: deno, TEST_DATABASE_URL: `${process.env.TEST_DATABASE_URL}_on_bundles_${index}` },
  },
})

const onServerProjects = () => [
  {
    test: {
      ...shared,
      name: 'sources',
      exclude: [...onPglite, 'tests/http/**', 'tests/{platform,generators}/**'],
      globalSetup: ['tests/postgres/build.ts', stack],
    },
  },
  ...denoVersions().map(onBundles).slice(process.env.BUNDLES === 'both' ? 0 : 1),
]

// The root's stack is that of both.
const onPgliteProjects = () => [
  {
    test: {
      ...shared,
      name: 'desktop',
      exclude: [...onServer, 'tests/{platform,generators}/**'],
    },
  },
  // The demo's tests again, with the screen of a phone.
  {
    test: {
      ...shared,
      name: 'phone',
      include: ['tests/demo/{one_person,two_people}.test.ts'],
      env: { SCREEN: 'phone' },
    },
  },
]

export default defineConfig({
  test: {
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    ...(hasServer ? { projects: onServerProjects() } : { globalSetup: [stack], projects: onPgliteProjects() }),
  },
})
