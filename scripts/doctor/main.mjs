/**
 * Checks a deployed project from outside, and prints one line for each check (docs/deploy.md, step 7).
 *   npm run doctor -- --remote https://<ref>.supabase.co
 * Exits with 1 if a check failed, and with 2 if it was called wrongly.
 */
import { parseArgs } from 'node:util'
import { checks } from './checks.mjs'
import { journeyChecks } from './journey.mjs'
import { examine, firstOf, report } from './outcome.mjs'
import { openProject } from './project.mjs'

const usage = `usage: npm run doctor -- --remote <project URL> [--write] [--only <check>] [--timeout <seconds>]
  SUPABASE_PUBLISHABLE_KEY   needed: sb_publishable_…, or the older anon key
  SUPABASE_SECRET_KEY        optional: for the queue and the migrations
  --write                    also signs up two people, lets them exchange a message, and erases them
  --only                     runs the checks whose names begin with this`

const exitWithUsage = (error) => {
  console.error(`${error}\n${usage}`)
  process.exit(2)
}

const readArguments = () => {
  try {
    const text = { type: 'string' }
    return parseArgs({ options: { remote: text, write: { type: 'boolean' }, only: text, timeout: text } }).values
  } catch (error) {
    return exitWithUsage(error.message)
  }
}

/** Whether a key is of this kind; an older one is a token of this role. */
const isKey = (key, prefix, role) => {
  const claims = Buffer.from(key.split('.')[1] ?? '', 'base64url').toString()
  return key.startsWith(prefix) || claims.replaceAll(' ', '').includes(`"role":"${role}"`)
}

const { remote = '', write, only = '', timeout = '10' } = readArguments()
const { SUPABASE_PUBLISHABLE_KEY: publishableKey = '', SUPABASE_SECRET_KEY: secretKey = '' } = process.env
const url = URL.canParse(remote) ? new URL(remote) : new URL('https://unknown')
const project = openProject({ url, publishableKey, secretKey, timeout: Number(timeout) * 1000 })
const mistake = firstOf({
  '--remote is missing': !remote,
  [`"${remote}" is not a URL`]: !URL.canParse(remote),
  'The URL must not have a password': url.username || url.password,
  'The URL must begin with https:, because the keys are sent to it': url.protocol !== 'https:' &&
    !(url.protocol === 'http:' && project.isLoopback),
  'SUPABASE_PUBLISHABLE_KEY is not set': !publishableKey,
  'SUPABASE_PUBLISHABLE_KEY is a secret key': isKey(publishableKey, 'sb_secret_', 'service_role'),
  'SUPABASE_SECRET_KEY is a publishable key': isKey(secretKey, 'sb_publishable_', 'anon'),
  [`--timeout is "${timeout}", and must be a number of seconds up to 300`]: !(timeout > 0 && timeout <= 300),
})
if (mistake) exitWithUsage(mistake)

const counts = { ok: 0, FAIL: 0, skip: 0 }
const run = async ([name, work]) => {
  const status = await report(name, work)
  counts[status]++
  return status
}

const isWanted = ([name]) => name.startsWith(only)
const [reachable, ...others] = checks.map((check) => [check.name, () => examine(check, project)])
const journey = write ? journeyChecks(project) : []
// The journey whole or not at all: each needs the ones before it, and the last erases the accounts.
const wanted = [...others.filter(isWanted), ...(journey.some(isWanted) ? journey : [])]
if (wanted.length === 0) exitWithUsage(`No check begins with "${only}"`)

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
if (await run(reachable) === 'ok') {
  for (const check of wanted) {
    if (!interruption) await run(check)
  }
}
await interruption
console.log(`${counts.ok} ok, ${counts.FAIL} failed, ${counts.skip} skipped`)
process.exit(counts.FAIL > 0 ? 1 : 0)
