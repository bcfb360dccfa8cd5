/**
 * What the Data API refuses without the secret key. A slow statement cannot be cancelled on PGlite, which runs in this
 * process, so costly queries are refused before they start.
 */
import { exceedsDepth, queryNestingError } from './nesting.ts'
import { postgrestError } from './postgrest.ts'

const maxEmbedDepth = 3
const maxEmbeds = 10

/** A table has many rows for each one of a table with a lower number, such as messages for a conversation. */
const levels = new Map(Object.entries({
  ...{ users: 0, profiles: 0, conversations: 1, interests: 1, profile_interests: 1 },
  ...{ messages: 2, reservations: 2, reservation_history: 3 },
}))

/**
 * Whether a `select` embeds too much, or a table of many rows for each row of one that is itself repeated:
 * `reservations?select=conversations(messages(content))` has all messages of a conversation for each of its
 * reservations. A column or a foreign key in place of a table may be any table.
 */
const embedsTooMuch = (table: string, select: string): boolean => {
  const branch = [{ level: levels.get(table) ?? 0, isKnown: true, isRepeated: false }]
  let embeds = 0
  let word = ''
  for (const char of select.replaceAll(/["\s]/g, '')) {
    if (char === '(') {
      const parent = branch.at(-1)!
      const target = word.split(':').at(-1)!.replace('...', '').split('!')[0]!
      // An aggregate function, such as sum(), embeds nothing.
      if (/\.\w+$/.test(target) || target === 'count') branch.push(parent)
      else {
        const isKnown = levels.has(target)
        const level = levels.get(target) ?? 0
        const mayHaveMany = !isKnown || level > parent.level
        if (++embeds > maxEmbeds || branch.length > maxEmbedDepth) return true
        if (!parent.isKnown || parent.isRepeated && mayHaveMany) return true
        branch.push({ level, isKnown, isRepeated: parent.isRepeated || level < parent.level })
      }
    }
    if (char === ')' && branch.length > 1) branch.pop()
    word = /[(),]/.test(char) ? '' : word + char
  }
  return false
}

// One for each table that a select may embed, and some for paths into JSON.
const maxRepeats = 12

/** Whether a `select` repeats a column so often that its answer outgrows the data: 1000 times `content` took 3 GB. */
const repeatsColumns = (select: string): boolean => {
  const counts = new Map<string, number>()
  for (const word of select.replaceAll(/["\s]/g, '').split(/[(),]/)) {
    const name = word.replaceAll(/::\w+/g, '').split(':').at(-1)!.split(/->|\./)[0]!
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values()) > maxRepeats
}

// Each pattern scans every text again: 1500 of them on 300 messages of 5000 characters blocked everybody for 41 s.
const maxPatterns = 10
/** The parameters that have patterns may have this many characters in total: 15,000 blocked everybody for 5 s. */
const maxPatternLength = 200
const maxLogicDepth = 10

// Every other parameter is a filter.
const notFilters = new Set(['select', 'columns', 'order', 'limit', 'offset', 'on_conflict', 'apikey'])

/**
 * The error for an update or delete without a filter, which the platform refuses to everybody: its connections of the
 * Data API have the extension safeupdate.
 */
export const missingFilterError = (method: string, path: string, url: URL) => {
  if ((method !== 'PATCH' && method !== 'DELETE') || path.startsWith('/rest/v1/rpc/')) return null
  if ([...url.searchParams.keys()].some((name) => !notFilters.has(name))) return null
  const statement = method === 'PATCH' ? 'UPDATE' : 'DELETE'
  return postgrestError('21000', `${statement} requires a WHERE clause`)
}

/** The error for a Data API query that only the secret key may send; null if anybody may send it. */
export const dataApiLimitError = (path: string, url: URL): ReturnType<typeof postgrestError> | null => {
  const error = (message: string) => postgrestError('PGRST100', message)
  const parts = [...url.searchParams].flat()
  const selects = url.searchParams.getAll('select')
  // A regular expression, or a full-text search without an index, may never end.
  if (parts.some((part) => /\b(i?match|(pl|ph|w)?fts)(\(\w+\))?\./.test(part))) {
    return error('match, imatch and all variants of fts need the secret key')
  }
  const patterns = parts.map((part) => {
    const found = part.match(/\bi?like(\(\w+\))?\./g)?.length ?? 0
    // In a list of patterns every comma counts.
    return { part, count: found + (/\bi?like\(/.test(part) ? part.split(',').length - 1 : 0) }
  }).filter(({ count }) => count > 0)
  if (patterns.reduce((sum, { count }) => sum + count, 0) > maxPatterns) {
    return error(`like and ilike may have ${maxPatterns} patterns in total`)
  }
  if (patterns.map(({ part }) => part).join('').length > maxPatternLength) {
    return error(`filters with like and ilike may have ${maxPatternLength} characters in total`)
  }
  if (selects.some((select) => embedsTooMuch(path.split('/')[3] ?? '', select))) {
    return error('select may embed ten tables, three deep, and none with many rows for one that is repeated')
  }
  if (selects.some(repeatsColumns)) return error('select names the same column too often')
  const isLogic = (name: string) => /(^|\.)(or|and)$/.test(name)
  if ([...url.searchParams].some(([name, value]) => isLogic(name) && exceedsDepth(value, maxLogicDepth))) {
    return error('or and and may be nested ten deep')
  }
  const nestingError = queryNestingError(url)
  return nestingError === null ? null : error(nestingError)
}
