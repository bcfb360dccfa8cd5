import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describeAnswer } from './project.mjs'
import { fail, skip } from './outcome.mjs'

/** The metrics, without an audit by this request, which would write its findings. */
const readMetrics = async ({ call, secretKey }) => {
  if (!secretKey) skip('SUPABASE_SECRET_KEY is not set')
  const answer = await call('/health/metrics?oldest_audit=999999', { key: secretKey })
  if (answer.status !== 200) fail(describeAnswer(answer))
  return [...answer.text.matchAll(/^(\w+)(?:\{(\S*)\})? (\S+)$/gm)]
    .map(([, name, labels = '', value]) => ({ name, labels, value: Number(value) }))
}

const valueOf = (metrics, name) => metrics.find((metric) => metric.name === name)?.value ?? fail(`${name} is missing`)

// The schedule runs every minute.
const maxAge = 300

const queue = async (project) => {
  const metrics = await readMetrics(project)
  if (valueOf(metrics, 'database_up') !== 1) fail('the database does not answer')
  const [waiting, oldest, dead] = ['waiting', 'oldest_seconds', 'dead']
    .map((name) => valueOf(metrics, `embedding_queue_${name}`))
  const state = `${waiting} waiting, the oldest for ${Math.round(oldest)} s, ${dead} dead`
  if (oldest > maxAge) fail(`${state}: the schedule does not run, or the provider fails`)
  if (dead > 0) fail(state)
  return state
}

const searchIndex = async (project) => {
  const metrics = await readMetrics(project)
  const findings = metrics.filter(({ name }) => name === 'search_audit_findings')
  if (valueOf(metrics, 'search_audit_failed') > 0) fail('its audit failed')
  if (findings.length === 0) skip('not audited yet')
  const found = findings.filter(({ value }) => value > 0).map(({ labels, value }) => `${labels} ${value}`)
  if (found.length > 0) fail(`differs from the profiles: ${found.join(', ')}`)
  return `as the profiles, ${Math.round(valueOf(metrics, 'search_audit_age_seconds'))} s ago`
}

/**
 * Without its dictionary the search leaves out every word that no profile has, and says nothing of it. Nobody writes
 * these words, so only the dictionary of the function that searches can know the first two.
 */
const vocabulary = async ({ call }) => {
  const answer = await call('/users/search?q=rhabdomancy+philately+qzxvbnk&limit=1&explain=true')
  if (answer.status !== 200) fail(describeAnswer(answer))
  const { embedded } = answer.body._understood ?? {}
  if (embedded !== 'rhabdomancy philately') fail('the search knows no words: deploy with npm run deploy')
  return 'the search tells words from letters that mean nothing'
}

const folder = new URL('../../supabase/migrations/', import.meta.url)
/** Each version of this folder with its hash, as private.list_migrations computes it. */
const ours = new Map(
  readdirSync(folder).filter((file) => /^\d+_.*\.sql$/.test(file)).sort().map((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8').replace(/[ \t\r\n;]+/g, '')
    return [file.split('_')[0], createHash('sha256').update(text).digest('hex')]
  }),
)

const migrations = async (project) => {
  const metrics = await readMetrics(project)
  const applied = new Map(
    metrics.filter(({ name }) => name === 'database_migration')
      .map(({ labels }) => [/version="(.*?)"/.exec(labels)?.[1], /sha256="(.*?)"/.exec(labels)?.[1]]),
  )
  if (applied.size === 0) fail('the database has noted none: db push, or functions from before this check')
  const missing = [...ours.keys()].filter((version) => !applied.has(version))
  if (missing.length > 0) fail(`the database lacks ${missing.join(', ')}: push the migrations`)
  const unknown = [...applied.keys()].filter((version) => !ours.has(version))
  if (unknown.length > 0) fail(`the database has ${unknown.join(', ')}, which is not in this folder: it is older`)
  const changed = [...ours].filter(([version, hash]) => applied.get(version) !== hash).map(([version]) => version)
  if (changed.length > 0) fail(`${changed.join(', ')} had another text when it was pushed: docs/deploy.md, Upgrades`)
  return `all ${ours.size}, up to ${[...ours.keys()].at(-1)}`
}

export const databaseChecks = [['embedding queue', queue], ['search index', searchIndex], ['vocabulary', vocabulary], [
  'migrations',
  migrations,
]]
