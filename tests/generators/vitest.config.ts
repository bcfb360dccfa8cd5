import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/generators/*.test.ts'],
    globalSetup: ['tests/tools/stack.ts'],
    expect: { requireAssertions: true },
    // The first run fetches packages and compiles Go's standard library.
    testTimeout: 240_000,
    // Both files install their tools into one folder, so they run one after the other.
    fileParallelism: false,
  },
})
