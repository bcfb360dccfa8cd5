import { nestsDeeper } from '../depth.ts'

/** One condition of a filter, as local_realtime.condition takes it. */
export interface Term {
  column: string
  operator: string
  not: boolean
  value: string | string[] | null
}

const operators = new Set('eq neq lt lte gt gte in like ilike is match imatch isdistinct'.split(' '))
const most = 100
const longest = 16_384

/** Splits at commas that stand outside of quotes and parentheses; null where those are not closed. */
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

// What keeps a regular expression from taking for ever, which on PGlite would stop everything: no repetition by numbers, no looking
// around, no references back.
const isCheap = (pattern: string): boolean => pattern.length <= 100 && !/[{\\]|\(\?/.test(pattern)

const readTerm = (text: string): Term | null => {
  const [, column, not, operator = '', rest = ''] = /^\s*([^=]+?)\s*=(not\.)?([a-z]+)\.(.*)$/s.exec(text) ?? []
  if (!column || !operators.has(operator) || rest.includes('\0')) return null
  const term = { column, operator, not: not !== undefined }
  if (operator === 'in') {
    const items = /^\s*\((.+)\)\s*$/s.exec(rest)?.[1]
    const values = items === undefined ? null : split(items)
    return values && values.length <= most ? { ...term, value: values.map(unquote) } : null
  }
  if (operator === 'is') return /^(null|true|false|unknown)$/.test(rest) ? { ...term, value: rest } : null
  const value = unquote(rest)
  if (operator.endsWith('match') && !isCheap(value)) return null
  return { ...term, value: operator === 'isdistinct' && rest === 'null' ? null : value }
}

/** Reads `column=operator.value,…`, of which every part must hold; null where it is no filter. */
export const readFilter = (text: string): Term[] | null => {
  if (text.trim() === '') return []
  // A value of a column of JSON is parsed, and nobody filters by so long a text.
  if (text.length > longest || nestsDeeper(text)) return null
  const terms = split(text)?.map(readTerm) ?? [null]
  return terms.every((term) => term !== null) ? terms : null
}
