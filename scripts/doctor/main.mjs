/**
 * Checks a deployed project from outside, and prints one line for each check (docs/deploy.md, step 7).
 *   npm run doctor -- --remote https://<ref>.supabase.co
 * Exits with 1 if a check failed, and with 2 if it was called wrongly.
 */
import { parseArgs } from 'node:util'
import { checksOf } from './checks.mjs'
import { journeyOf } from './journey.mjs'
import { failIf, report } from './outcome.mjs'
import { openProject } from './project.mjs'

const usage = `usage: npm run doctor -- --remote <project URL> [--write] [--only <check>] [--timeout <seconds>]
  SUPABASE_PUBLISHABLE_KEY   needed: sb_publishable_…, or the older anon key
  SUPABASE_SECRET_KEY        optional: for the queue and the migrations
  --write                    also signs up two people, lets them exchange a message, and erases them
  --only                     runs the checks whose names begin with this`

/** Whether a key is a secret one; an older one is a token of this role. */
const isSecret = (key) => {
  const claims = Buffer.from(key.split('.')[1] ?? '', 'base64url').toString()
  return key.startsWith('sb_secret_') || /"role": ?"service_role"/.test(claims)
}

const open = () => {
  const text = { type: 'string' }
  const { values } = parseArgs({ options: { remote: text, write: { type: 'boolean' }, only: text, timeout: text } })
  const { remote = '', write, only = '', timeout = '10' } = values
  const { SUPABASE_PUBLISHABLE_KEY: publishableKey = '', SUPABASE_SECRET_KEY: secretKey = '' } = process.env
  failIf({ '--remote is missing': !remote, [`"${remote}" is not a URL`]: !URL.canParse(remote) })
  const project = openProject({ url: new URL(remote), publishableKey, secretKey, timeout: timeout * 1000 })
  const { protocol, username, password } = project.url
  failIf({
    'The URL must not have a password': username || password,
    'The URL must begin with https:, because the keys are sent to it': protocol !== 'https:' &&
      !(protocol === 'http:' && project.isLocal),
    'SUPABASE_PUBLISHABLE_KEY is not set': !publishableKey,
    'SUPABASE_PUBLISHABLE_KEY is a secret key': isSecret(publishableKey),
    [`--timeout is "${timeout}", and must be a number of seconds up to 300`]: !(timeout > 0 && timeout <= 300),
  })
  const isWanted = ([name]) => name.startsWith(only)
  const [reachable, ...checks] = checksOf(project)
  const journey = write ? journeyOf(project) : []
  // The journey whole or not at all: each needs the ones before it, and the last erases the accounts.
  const wanted = [...checks.filter(isWanted), ...(journey.some(isWanted) ? journey : [])]
  failIf({ [`No check begins with "${only}"`]: wanted.length === 0 })
  return { reachable, wanted }
}

const openOrExit = () => {
  try {
    return open()
  } catch (error) {
    console.error(`${error.message}\n${usage}`)
    return process.exit(2)
  }
}

const { reachable, wanted } = openOrExit()
const counts = { ok: 0, FAIL: 0, skip: 0 }
const run = async ([name, work]) => {
  const status = await report(name, work)
  counts[status]++
  return status
}

// Whoever interrupts it leaves no account behind. A second signal ends it at once.
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => isInterrupted = true)

// If nothing answers, each of the others would wait as long.
if (await run(reachable) === 'ok') {
  for (const check of wanted) if (!isInterrupted || check[0] === 'write: erased') await run(check)
}
console.log(`${counts.ok} ok, ${counts.FAIL} failed, ${counts.skip} skipped`)
process.exit(counts.FAIL > 0 || isInterrupted ? 1 : 0)
