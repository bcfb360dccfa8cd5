import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/platform/*.test.ts'],
    globalSetup: ['tests/platform/databases.ts'],
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
