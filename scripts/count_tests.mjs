// Prints which tests failed and why, then a last line `N passed, M failed`. Fails if anything did, or no test ran.
// Usage: count_tests.mjs FOLDER, with files STEP.status, the exit status of a step, and for the steps that are tests
// STEP.json, what Vitest's JSON reporter has written. A step that failed without a failed test counts as one failure.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2]
let passed = 0
let failed = 0
for (const name of readdirSync(folder).filter((file) => file.endsWith('.status')).map((file) => file.slice(0, -7))) {
  const status = readFileSync(join(folder, `${name}.status`), 'utf8').trim()
  const file = join(folder, `${name}.json`)
  const isTests = name.startsWith('test')
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
  passed += report?.numPassedTests ?? 0
  const failedTests = report?.numFailedTests ?? 0
  const isBroken = status !== '0' || (isTests && !report) || report?.success === false
  failed += Math.max(failedTests, isBroken ? 1 : 0)
  if (isBroken && failedTests === 0) console.log(`FAILED: ${name} (exit status ${status})`)
  for (const { name: path, message, status: result, assertionResults } of report?.testResults ?? []) {
    const test = path.replace(`${process.cwd()}/`, '')
    const failures = assertionResults.filter((assertion) => assertion.status === 'failed')
    for (const { fullName, failureMessages } of failures) {
      console.log(`FAILED: ${name}: ${test}: ${fullName}\n${failureMessages.join('\n')}`)
    }
    if (result === 'failed' && failures.length === 0) console.log(`FAILED: ${name}: ${test}\n${message}`)
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
