/**
 * Checks a deployed project from outside, and prints one line for each check (docs/deploy.md, step 7).
 *   npm run doctor -- --remote https://<ref>.supabase.co
 * Exits with 1 if a check failed, and with 2 if it was called wrongly.
 */
import { parseArgs } from 'node:util'
import { checksOf } from './checks.mjs'
import { journey } from './journey.mjs'
import { failIf, report } from './outcome.mjs'
import { openProject } from './project.mjs'

const usage = `usage: npm run doctor -- --remote <project URL> [--write]
  SUPABASE_PUBLISHABLE_KEY   sb_publishable_…, or the older anon key
  SUPABASE_SECRET_KEY        sb_secret_…, or the older service_role key
  --write                    also signs up two people, lets them exchange a message, and erases them`

/** Whether a key is a secret one; an older one is a token of this role. */
const isSecret = (key) => {
  const claims = Buffer.from(key.split('.')[1] ?? '', 'base64url').toString()
  return key.startsWith('sb_secret_') || /"role": ?"service_role"/.test(claims)
}

const open = () => {
  const { values } = parseArgs({ options: { remote: { type: 'string' }, write: { type: 'boolean' } } })
  const { remote = '', write } = values
  const { SUPABASE_PUBLISHABLE_KEY: publishableKey = '', SUPABASE_SECRET_KEY: secretKey = '' } = process.env
  failIf({ '--remote is missing': !remote, '--remote is not a URL': !URL.canParse(remote) })
  const project = openProject({ url: new URL(remote), publishableKey, secretKey })
  const { protocol, username, password } = project.url
  failIf({
    'The URL must not have a password': username || password,
    'The URL must begin with https:, because the keys are sent to it': protocol !== 'https:' &&
      !(protocol === 'http:' && project.isLocal),
    'SUPABASE_PUBLISHABLE_KEY is not set': !publishableKey,
    'SUPABASE_PUBLISHABLE_KEY is a secret key': isSecret(publishableKey),
    'SUPABASE_SECRET_KEY is not set': !secretKey,
    // Fetch would print what it cannot send.
    'A key has a space, a line or a sign that none has': /[^!-~]/.test(publishableKey + secretKey),
  })
  return { ...checksOf(project), ...(write && { write: () => journey(project) }) }
}

let checks
try {
  checks = open()
} catch ({ message }) {
  console.error(`${message}\n${usage}`)
  process.exit(2)
}

// Whoever interrupts it leaves no account behind. A second signal ends it at once.
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => isInterrupted = true)

const counts = { ok: 0, FAIL: 0 }
for (const [name, work] of Object.entries(checks)) {
  counts[await report(name, work)]++
  // If nothing answers, each of the others would wait as long.
  if (isInterrupted || name === 'health' && counts.FAIL > 0) break
}
console.log(`${counts.ok} ok, ${counts.FAIL} failed`)
process.exit(counts.FAIL > 0 || isInterrupted ? 1 : 0)
