import { exceedsDepth } from '../nesting.ts'

/** One condition of a filter, as local_realtime.filter_condition takes it. */
export interface Condition {
  column: string
  operator: string
  not: boolean
  value: string | string[]
}

const operators = new Set('eq neq lt lte gt gte in like ilike is match imatch isdistinct'.split(' '))
const maxItems = 100
const maxLength = 16_384

/** Splits at commas outside quotes and parentheses; null if either is unbalanced. */
const split = (text: string): string[] | null => {
  const parts = ['']
  let depth = 0
  let quoted = false
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]!
    if (quoted && letter === '\\') {
      parts[parts.length - 1] += letter + (text[++index] ?? '')
      continue
    }
    if (letter === '"') quoted = !quoted
    else if (!quoted && letter === '(') depth++
    else if (!quoted && letter === ')') depth--
    if (letter === ',' && !quoted && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return quoted || depth !== 0 ? null : parts
}

const unquote = (text: string): string =>
  /^".*"$/s.test(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text.trim()

// A slow regular expression would block PGlite and this process. So no counted repetition, no lookaround and no back
// references.
const isCheap = (pattern: string): boolean => pattern.length <= 100 && !/[{\\]|\(\?/.test(pattern)

const readCondition = (text: string): Condition | null => {
  // Without white space in the pattern: of a long row of it every place would be tried.
  const [, name = '', not, operator = '', rest = ''] = /^([^=]+)=(not\.)?([a-z]+)\.(.*)$/s.exec(text) ?? []
  const column = name.trim()
  if (!column || !operators.has(operator) || rest.includes('\0')) return null
  const condition = { column, operator, not: not !== undefined }
  if (operator === 'in') {
    const items = /^\s*\((.+)\)\s*$/s.exec(rest)?.[1]
    const values = items === undefined ? null : split(items)
    return values && values.length <= maxItems ? { ...condition, value: values.map(unquote) } : null
  }
  if (operator === 'is') return /^(null|true|false|unknown)$/.test(rest) ? { ...condition, value: rest } : null
  const value = unquote(rest)
  if (operator.endsWith('match') && !isCheap(value)) return null
  return { ...condition, value }
}

/** Parses `column=operator.value,…`, whose conditions are combined with `and`; null if it is invalid. */
export const readFilter = (text: string): Condition[] | null => {
  if (text.trim() === '') return []
  // Postgres parses the value of a json column.
  if (text.length > maxLength || exceedsDepth(text)) return null
  const conditions = split(text)?.map(readCondition) ?? [null]
  return conditions.every((condition) => condition !== null) ? conditions : null
}
