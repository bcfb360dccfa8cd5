import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/platform/realtime/*.test.ts', 'tests/clients/live.test.ts', 'tests/contract/realtime*.test.ts'],
    globalSetup: ['tests/platform/realtime/project.ts'],
    expect: { requireAssertions: true },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One server, which some tests restart.
    fileParallelism: false,
  },
})
