import { describeAnswer } from './project.mjs'
import { fail, skip } from './outcome.mjs'
import { exposedFunctions, exposedTables, knownFunctions, knownTables } from './schema.mjs'

/** Everybody may read these. */
const publicTables = ['interests']

// 55000: a view of several tables cannot be written by anybody, and that is said before rights are checked.
const isRefusal = ({ status, body }) =>
  (status === 401 || status === 403) && body?.code === '42501' || body?.code === '55000'

const describeRead = ({ status, body, text }) =>
  status === 200 && Array.isArray(body)
    ? body.length > 0 ? 'can read rows' : 'can read, though there is no row to see'
    : `reads get ${describeAnswer({ status, text })}`

/**
 * Tries to write without a token. None of it changes anything if it is allowed: no row matches the filter, and the row
 * to insert lacks a column that it needs.
 */
const allowedWrites = async ({ query }, { name, column, required }) => {
  // A column may be called order or limit, which would be no filter by themselves.
  const isWord = /^\w+$/.test(column) && !/^(and|or|not)$/.test(column)
  const field = isWord ? column : encodeURIComponent(`"${column}"`)
  const nowhere = `${encodeURIComponent(name)}?and=(${field}.is.null,${field}.not.is.null)`
  const attempts = {
    update: () => query(nowhere, { method: 'PATCH', json: { [column]: null } }),
    delete: () => query(nowhere, { method: 'DELETE' }),
    ...(required && { insert: () => query(encodeURIComponent(name), { method: 'POST', json: { [required]: null } }) }),
  }
  const allowed = []
  for (const [write, attempt] of Object.entries(attempts)) {
    const answer = await attempt()
    if (!isRefusal(answer)) allowed.push(`can ${write} (${describeAnswer(answer)})`)
  }
  return allowed
}

const checkTable = async (project, table, isKnown) => {
  const read = await project.query(`${encodeURIComponent(table.name)}?select=*&limit=1`)
  if (read.body?.code === 'PGRST205') fail('it does not exist: push the migrations')
  const allowed = await allowedWrites(project, table)
  const isPublic = isKnown && publicTables.includes(table.name)
  const rows = Array.isArray(read.body) ? read.body.length : 0
  if (isPublic ? read.status !== 200 : isKnown ? !isRefusal(read) : rows > 0) allowed.unshift(describeRead(read))
  if (allowed.length > 0) fail(`without a token one ${allowed.join(', ')}`)
  return isPublic ? 'reads are public, writes refused' : 'reads and writes without a token are refused'
}

const tableChecks = knownTables.map((table) => [`table ${table.name}`, (project) => checkTable(project, table, true)])

/** What somebody created beside the migrations. */
const otherTables = async (project) => {
  if (!project.secretKey) skip('SUPABASE_SECRET_KEY is not set; the Data API lists its tables for nobody else')
  const answer = await project.query('', { key: project.secretKey })
  if (answer.status !== 200) fail(describeAnswer(answer))
  if (!answer.body?.definitions) skip('this Data API lists no tables')
  const others = exposedTables(answer.body).filter(({ name }) => !knownTables.some((known) => known.name === name))
  const faults = []
  for (const table of others) {
    await checkTable(project, table, false).catch((error) => faults.push(`${table.name}: ${error.message}`))
  }
  if (faults.length > 0) fail(faults.join('; '))
  return others.length > 0 ? `${others.map(({ name }) => name).join(', ')}: closed` : 'none'
}

const isMissing = (name, { status, body }) =>
  // Of a function with other parameters PostgREST says only in the hint that there is one.
  status === 404 && body?.code === 'PGRST202' && !new RegExp(`\\.${name}\\b`).test(body.hint ?? '')

/**
 * Calls without a token, by GET, which runs in a transaction that cannot write. Whether the caller may execute a
 * function is checked before its parameters are read.
 */
const callFunction = ({ query }, name, parameters = []) => {
  const given = new URLSearchParams(parameters.map((parameter) => [parameter, '']))
  return query(`rpc/${encodeURIComponent(name)}${given.size > 0 ? `?${given}` : ''}`)
}

/** Only tables are for the Data API: no function of the migrations, and none that somebody created beside them. */
const functions = async (project) => {
  const open = []
  for (const name of knownFunctions) {
    const answer = await callFunction(project, name)
    if (!isMissing(name, answer) && !isRefusal(answer)) open.push(`${name} (${describeAnswer(answer)})`)
  }
  if (open.length > 0) fail(`without a token one can call ${open.join(', ')}`)
  const ours = `${knownFunctions.length} of the API are not reachable`
  if (!project.secretKey) return `${ours}; others are listed for the secret key alone`

  const answer = await project.query('', { key: project.secretKey })
  if (answer.status !== 200) fail(describeAnswer(answer))
  const others = exposedFunctions(answer.body)
  for (const { name, parameters } of others) {
    const answer = await callFunction(project, name, parameters)
    if (!isMissing(name, answer) && !isRefusal(answer)) open.push(`${name} (${describeAnswer(answer)})`)
  }
  if (open.length > 0) fail(`without a token one can call ${open.join(', ')}`)
  return others.length > 0 ? `${ours}; ${others.map(({ name }) => name).join(', ')}: closed` : ours
}

const tableList = async ({ query }) => {
  const answer = await query('')
  if (answer.status === 200 && answer.body?.paths) fail('the Data API lists its tables for the publishable key')
  return `refused with ${answer.status}`
}

const closedSchemas = [
  ...['private', 'api', 'auth', 'storage', 'realtime', 'extensions', 'net', 'cron', 'vault', 'local_realtime'],
  ...['supabase_functions', 'supabase_migrations', 'pg_catalog', 'information_schema'],
]

const schemas = async ({ query }) => {
  const open = []
  for (const schema of closedSchemas) {
    const answer = await query('users?select=id&limit=1', { headers: { 'Accept-Profile': schema } })
    if (answer.status !== 406) open.push(`${schema} (${answer.status})`)
  }
  if (open.length > 0) fail(`exposed: ${open.join(', ')}`)
  return `${closedSchemas.length} are not exposed: ${closedSchemas.join(', ')}`
}

const graphql = async ({ send, publishableKey }) => {
  const answer = await send('/graphql/v1', {
    method: 'POST',
    key: publishableKey,
    json: { query: '{ __type(name: "Query") { fields { name } } }' },
  })
  if (answer.status >= 500) fail(describeAnswer(answer))
  const fields = answer.body?.data?.__type?.fields
  if (!fields) return `off (${answer.status})`
  const open = fields.map(({ name }) => name).filter((name) =>
    /Collection$/.test(name) && name !== 'interestsCollection'
  )
  if (open.length > 0) fail(`without a token it offers ${open.join(', ')}`)
  return 'nothing but interests without a token'
}

export const dataApiChecks = [
  ...tableChecks,
  ['other tables', otherTables],
  ['functions', functions],
  ['list of tables', tableList],
  ['schemas', schemas],
  ['graphql', graphql],
]
