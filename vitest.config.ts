import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// What only a Postgres server can show; tests/postgres/run.sh starts one.
const hasServer = Boolean(process.env.PLATFORM_URL)

// Not twice what takes long and is one or the other's: each policy's mutants are quicker on a server, which takes those of the grants, too;
// and what starts a stack of its own on PGlite, or none, is no different beside a server.
const onServer = ['tests/postgres/**', 'tests/crash/postgres.test.ts', 'tests/attack/mutants.test.ts']
const onPglite = [
  'tests/demo/**',
  'tests/functions/**',
  'tests/local/{auth_refuses,body,dashboard,gate,lifecycle,provider_throws,readme}.test.ts',
  // Those on a network that is made up.
  'tests/clients/!(account_switch|deno|live).test.ts',
  'tests/fuzz/planted.test.ts',
  // The long run (npm run test:crash) takes both.
  ...(process.env.CRASH_SENDS ? [] : ['tests/crash/pglite.test.ts']),
]

// Half a minute to two and a half. Begun last, one of them is what everything else has to wait for.
const longest =
  /(attack\/mutants|clients\/live|functions\/pool|fuzz\/cost|http\/pending|demo\/page|http\/embeddings|http\/hostile|local\/lifecycle|postgres\/outage)\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShort = ({ moduleId }: TestSpecification) => Number(!longest.test(moduleId))
    return (await super.sort(files)).toSorted((one, other) => isShort(one) - isShort(other))
  }
}

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: hasServer ? onPglite : onServer,
    // Every file shares the one stack that the run starts; people that a test needs, it makes.
    globalSetup: [...(hasServer ? ['tests/postgres/build.ts'] : []), 'tests/tools/stack.ts'],
    // A test that asserts nothing is one that cannot fail.
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
  },
})
