// Prints which steps of .ci/run failed, then a last line `N passed, M failed`. Fails if anything did, or no test ran.
// Usage: count_tests.mjs FOLDER, with STEP.status, the exit status of each step, and test:all.json, Vitest's report.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const [folder] = process.argv.slice(2)
const read = (name) => readFileSync(`${folder}/${name}`, 'utf8')
const report = 'test:all.json'
const { numPassedTests = 0, numFailedTests = 0 } = existsSync(`${folder}/${report}`) ? JSON.parse(read(report)) : {}
const broken = readdirSync(folder).filter((name) => name.endsWith('.status') && read(name).trim() !== '0')
for (const name of broken) console.log(`FAILED: ${name.replace('.status', '')}`)
// A step that failed without a failed test, as a file that does not load, counts as one failure.
const failed = numFailedTests + broken.filter((name) => !numFailedTests || name !== 'test:all.status').length
console.log(`${numPassedTests} passed, ${failed} failed`)
process.exitCode = failed > 0 || numPassedTests === 0 ? 1 : 0
