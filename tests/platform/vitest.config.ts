import { defineConfig } from 'vitest/config'

const common = { expect: { requireAssertions: true }, testTimeout: 60_000, hookTimeout: 120_000 }
const project = (EMAIL_CONFIRMATION: 'on' | 'off', include: string[]) => {
  const own = { name: `confirmation ${EMAIL_CONFIRMATION}`, include, env: { EMAIL_CONFIRMATION } }
  return { test: { ...own, ...common, globalSetup: ['tests/platform/project.ts'] } }
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('off', ['tests/contract/{auth,storage}.test.ts', 'tests/platform/*.test.ts']),
      project('on', ['tests/contract/auth.test.ts']),
    ],
  },
})
