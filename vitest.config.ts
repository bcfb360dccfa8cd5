import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { denoVersions } from './tests/tools/deno_versions.ts'

// tests/postgres/run.sh starts a Postgres server and sets this.
const hasServer = Boolean(process.env.PLATFORM_URL)
// As .ci/run: what waits in one project lies beside what works in another.
const isAll = Boolean(process.env.ALL_TESTS)

// Each file runs once: on a server what needs one, or is quicker there, and the endpoints as they are deployed; on
// PGlite what the local stack has of its own.
const onServer = [
  'tests/postgres/**/*.test.ts',
  'tests/{fuzz,mutants}/*.test.ts',
  'tests/http/*.test.ts',
  'tests/attack/{mass_assignment,matrix}.test.ts',
  'tests/clients/live.test.ts',
  'tests/contract/{auth,realtime_client}.test.ts',
  'tests/crash/postgres.test.ts',
  'tests/doctor/doctor.test.ts',
  // These need half of the processor time that they do on PGlite, where `npm test` runs them.
  ...(isAll ? ['tests/{db,rules}/*.test.ts', 'tests/demo/{account,chat,pages,people}.test.ts'] : []),
  'tests/notifications/{kills,post}.test.ts',
  'tests/realtime/postgres.test.ts',
  'tests/search/quality.test.ts',
  // npm run test:crash runs all.
  ...(process.env.CRASH_SENDS ? ['tests/crash/*.test.ts'] : []),
]
// On a server these meet the functions as they are deployed.
const onBundled = ['tests/http/*.test.ts', 'tests/contract/auth.test.ts']
// npm run test:platform and test:generators run these, which need runtimes; with all tests the latter run, too.
const onDemand = ['tests/platform/**', ...(isAll ? [] : ['tests/generators/**'])]

// What takes longest starts first, the longest before the others.
const slow = [
  ...['mutants/mutants', 'postgres/walk', 'contract/auth', 'generators/generators', 'rules/rules'],
  ...['local/lifecycle', 'local/checks', 'clients/network_faults', 'contract/realtime_client', 'demo/people'],
  ...['demo/pages', 'fuzz/cost', 'demo/account', 'demo/chat', 'http/hostile', 'crash/pglite', 'http/limits'],
  ...['attack/matrix', 'clients/live', 'demo/together', 'postgres/deploy', 'search/quality', 'reference/examples'],
  ...['realtime/postgres', 'clients/package', 'postgres/embed_killed', 'postgres/pooler', 'doctor/doctor'],
  ...['demo/dashboard', 'crash/storage', 'clients/service', 'notifications/worker', 'crash/postgres', 'http/protocol'],
  ...['postgres/recipes', 'postgres/upgrade', 'postgres/restore', 'notifications/kills', 'postgres/locks'],
]
const place = ({ moduleId }: TestSpecification): number => {
  const index = slow.findIndex((name) => moduleId.endsWith(`tests/${name}.test.ts`))
  return index < 0 ? slow.length : index
}

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

const shared = {
  // A test without an assertion cannot fail.
  expect: { requireAssertions: true },
  // Ten times what the longest test takes on a quiet machine: only what hangs meets them.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // A process for each file took a tenth of the processor time.
  isolate: false,
}

// All files of a project share one stack; each test creates its own users.
const stack = 'tests/tools/stack.ts'

/**
 * On a server the HTTP tests meet the functions as they are deployed: the bundles, on the platform's Deno; with
 * npm run test:bundles on the pinned one, too.
 */
const onBundles = ({ version, deno }: { version: string; deno: string }, index: number) => ({
  test: {
    ...shared,
    name: `bundles on ${version}`,
    include: onBundled,
    globalSetup: [stack],
    env: { FUNCTIONS_DENO: deno, TEST_DATABASE_URL: `${process.env.TEST_DATABASE_URL}_on_bundles_${index}` },
  },
})

// The demo's pages again, with the screen of a phone.
const phone = { test: { ...shared, name: 'phone', include: ['tests/demo/pages.test.ts'], env: { SCREEN: 'phone' } } }

const onServerProjects = () => [
  ...(isAll ? [phone] : []),
  {
    test: {
      ...shared,
      name: 'sources',
      include: onServer,
      exclude: onBundled,
      globalSetup: ['tests/postgres/build.ts', stack],
    },
  },
  ...denoVersions().map(onBundles).slice(process.env.BUNDLES === 'both' ? 0 : 1),
]

// They share the root's stack; those on the server have their own.
const onPglite = { env: isAll ? { TEST_DATABASE_URL: '', PLATFORM_URL: '' } : {} }
const onPgliteProjects = () => [
  {
    test: {
      ...shared,
      ...onPglite,
      name: 'desktop',
      include: ['tests/**/*.test.ts'],
      exclude: [...onServer, ...onDemand],
    },
  },
  ...(isAll ? [] : [phone]),
]

const projects = () => {
  if (process.env.GENERATORS) {
    return [{ test: { ...shared, name: 'generators', include: ['tests/generators/*.test.ts'] } }]
  }
  if (!hasServer) return onPgliteProjects()
  return [...onServerProjects(), ...isAll ? onPgliteProjects() : []]
}

export default defineConfig({
  test: {
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    ...(hasServer && !isAll ? {} : { globalSetup: [stack] }),
    projects: projects(),
  },
})
