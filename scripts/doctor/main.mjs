/**
 * Checks a deployed project from outside, and prints one line for each check (docs/deploy.md, step 7).
 *   npm run doctor -- --remote https://<ref>.supabase.co
 * Exits with 1 if a check failed, and with 2 if it was called wrongly.
 */
import { parseArgs } from 'node:util'
import { dataApiChecks } from './data_api.mjs'
import { journeyChecks } from './journey.mjs'
import { keyChecks } from './keys.mjs'
import { openProject } from './project.mjs'
import { databaseChecks } from './database.mjs'
import { realtimeChecks } from './realtime.mjs'
import { runCheck } from './outcome.mjs'
import { serviceChecks } from './service.mjs'
import { storageChecks } from './storage.mjs'
import { readClaims } from './tokens.mjs'
import { reachability, transportChecks } from './transport.mjs'

const usage = `usage: npm run doctor -- --remote <project URL> [--write] [--only <check>] [--timeout <seconds>]
  SUPABASE_PUBLISHABLE_KEY   needed: sb_publishable_…, or the older anon key
  SUPABASE_SECRET_KEY        optional: checks the queue, the migrations, and tables and functions beside them
  --write                    also signs up two people, lets them exchange a message, and erases them
  --only                     runs the checks whose names begin with this`

const exitWithUsage = (error) => {
  console.error(`${error}\n${usage}`)
  process.exit(2)
}

const readArguments = () => {
  try {
    const options = {
      remote: { type: 'string' },
      write: { type: 'boolean' },
      only: { type: 'string' },
      timeout: { type: 'string' },
    }
    return parseArgs({ options }).values
  } catch (error) {
    return exitWithUsage(error.message)
  }
}

const readUrl = (text) => {
  if (!text) exitWithUsage('--remote is missing')
  if (!URL.canParse(text)) exitWithUsage(`"${text}" is not a URL`)
  const url = new URL(text)
  if (url.username || url.password) exitWithUsage('The URL must not have a password')
  if (url.pathname !== '/' || url.search || url.hash) {
    exitWithUsage(`Give the project's URL without a path: ${url.origin}`)
  }
  const isLoopback = openProject({ url }).isLoopback
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback)) {
    exitWithUsage('The URL must begin with https:, because the keys are sent to it')
  }
  return url
}

const roleOf = (key) => readClaims(key)?.role
const readKeys = ({ SUPABASE_PUBLISHABLE_KEY: publishableKey, SUPABASE_SECRET_KEY: secretKey }) => {
  if (!publishableKey) exitWithUsage('SUPABASE_PUBLISHABLE_KEY is not set')
  if (publishableKey.startsWith('sb_secret_') || roleOf(publishableKey) === 'service_role') {
    exitWithUsage('SUPABASE_PUBLISHABLE_KEY is a secret key')
  }
  if (secretKey && (secretKey.startsWith('sb_publishable_') || roleOf(secretKey) === 'anon')) {
    exitWithUsage('SUPABASE_SECRET_KEY is a publishable key')
  }
  return { publishableKey, secretKey }
}

const readTimeout = (text = '10') => {
  const seconds = Number(text)
  if (!(seconds > 0 && seconds <= 300)) {
    exitWithUsage(`--timeout is "${text}", and must be a number of seconds up to 300`)
  }
  return seconds * 1000
}

const { remote, write, only = '', timeout } = readArguments()
const project = openProject({ url: readUrl(remote), ...readKeys(process.env), timeout: readTimeout(timeout) })

const counts = { ok: 0, FAIL: 0, skip: 0 }
const run = async ([what, check]) => {
  const status = await runCheck(what, () => check(project))
  counts[status]++
  return status
}

const isWanted = ([what]) => what.startsWith(only)
const journey = write ? journeyChecks(project) : []
const checks = [
  ...[transportChecks, serviceChecks, keyChecks, dataApiChecks, realtimeChecks, storageChecks, databaseChecks].flat()
    .filter(isWanted),
  // Whole or not at all: each needs the ones before it, and the last erases the accounts.
  ...(journey.some(isWanted) ? journey : []),
]
if (checks.length === 0) exitWithUsage(`No check begins with "${only}"`)

// Whoever interrupts it leaves no account behind. No further check begins, because the last would erase them again.
let interruption = null
if (journey.some(isWanted)) {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      interruption ??= run(journey.at(-1)).then(() => process.exit(1))
    })
  }
}

// If nothing answers, each of the others would wait as long.
if (await run(reachability) === 'ok') {
  for (const check of checks) {
    if (!interruption) await run(check)
  }
}
await interruption
console.log(`${counts.ok} ok, ${counts.FAIL} failed, ${counts.skip} skipped`)
process.exit(counts.FAIL > 0 ? 1 : 0)
