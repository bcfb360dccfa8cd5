import { defineConfig } from 'vitest/config'

// What only a Postgres server can show; tests/postgres/run.sh starts one.
const hasServer = Boolean(process.env.PLATFORM_URL)

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: hasServer ? [] : ['tests/postgres/**', 'tests/crash/postgres.test.ts'],
    globalSetup: [...(hasServer ? ['tests/postgres/build.ts'] : []), 'tests/tools/stack.ts'],
    // Every file shares the one stack that the run starts; people that a test needs, it makes.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
})
