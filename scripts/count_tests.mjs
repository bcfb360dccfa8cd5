// Prints which tests failed and why, then a last line `N passed, M failed`. Fails if anything did, or no test ran.
// Usage: count_tests.mjs NAME STATUS REPORT [NAME STATUS REPORT …]: the exit status of a step, and what Vitest's JSON
// reporter has written, or an empty string for a step without one. A step that failed without a failed test counts as
// one failure.
import { existsSync, readFileSync } from 'node:fs'

const steps = process.argv.slice(2)
let passed = 0
let failed = 0
while (steps.length > 0) {
  const [name, status, file] = steps.splice(0, 3)
  const report = file && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
  passed += report?.numPassedTests ?? 0
  const failedTests = report?.numFailedTests ?? 0
  const isBroken = status !== '0' || Boolean(file && !report) || report?.success === false
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
