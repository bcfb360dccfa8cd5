/**
 * Limits for nested JSON, and for anything else that Postgres parses recursively. A Postgres server reports a stack
 * overflow as an error. PGlite does not: the statement returns no rows and no error, and soon no statement is answered.
 * 1000 levels of JSON work, 10,000 do not.
 */
const maxDepth = 100
// Below 16 kB the lists of a query string, in() and or() included, stay far from the limit of the stack.
const maxQueryLength = 16_384
const maxArrows = 20

const [quote, backslash] = [34, 92]
// The codes of [ { ( and ] } ).
const steps: Record<number, number> = { 91: 1, 123: 1, 40: 1, 93: -1, 125: -1, 41: -1 }

/** Whether the brackets of a text are nested deeper than this. */
export const exceedsDepth = (text: string, max = maxDepth): boolean => {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    depth = Math.max(0, depth + (steps[text.charCodeAt(index)] ?? 0))
    if (depth > max) return true
  }
  return false
}

/** Whether JSON is nested deeper than this. Brackets inside strings do not count. */
export const jsonExceedsDepth = (json: Uint8Array, max = maxDepth): boolean => {
  let depth = 0
  let inString = false
  for (let index = 0; index < json.length; index++) {
    const char = json[index]!
    if (char === quote) inString = !inString
    else if (inString) index += char === backslash ? 1 : 0
    else if ((depth += steps[char] ?? 0) > max) return true
  }
  return false
}

/** The error message for a Data API query that is too long or too deeply nested to parse; null if it is fine. */
export const queryNestingError = (url: URL): string | null => {
  if (url.search.length > maxQueryLength) return `The query must be no longer than ${maxQueryLength} characters`
  const parts = [...url.searchParams].flat()
  if (parts.some((part) => exceedsDepth(part))) return `Brackets may be nested ${maxDepth} deep`
  const hasLongPath = parts.some((part) =>
    part.split(/[,().:&=]/).some((path) => path.split('->').length - 1 > maxArrows)
  )
  return hasLongPath ? `A path into JSON may have ${maxArrows} arrows` : null
}
