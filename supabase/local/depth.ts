/**
 * How deep JSON may be nested, and anything else that Postgres parses by brackets. A Postgres of its own says when its stack ends. PGlite does not:
 * what it was doing is cut off, answers with no rows and no error, and soon nobody is answered any more. 1000 levels of JSON went well, 10,000 did not.
 */
const mostNested = 100
// Below 16 kB each of the lists of an address, in() and or() too, stayed far from the end of the stack.
const longestQuery = 16_384
const mostArrows = 20

const letters = new Map<number, number>(
  [['[', 1], ['{', 1], ['(', 1], [']', -1], ['}', -1], [')', -1]].map(([letter, step]) => [
    String(letter).charCodeAt(0),
    Number(step),
  ]),
)
const quote = 34
const backslash = 92

/** Whether brackets are nested deeper than that. */
export const nestsDeeper = (text: string, most = mostNested): boolean => {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    depth = Math.max(0, depth + (letters.get(text.charCodeAt(index)) ?? 0))
    if (depth > most) return true
  }
  return false
}

/** Whether JSON is nested deeper than that; what stands in its texts does not count. */
export const isDeepJson = (json: Uint8Array, most = mostNested): boolean => {
  let depth = 0
  let isText = false
  for (let index = 0; index < json.length; index++) {
    const letter = json[index]!
    if (letter === quote) isText = !isText
    else if (isText) index += letter === backslash ? 1 : 0
    else if ((depth += letters.get(letter) ?? 0) > most) return true
  }
  return false
}

/** Why a query of the Data API is more than Postgres should have to parse; null where it is not. */
export const tooDeepQuery = (url: URL): string | null => {
  if (url.search.length > longestQuery) return `The query must be no longer than ${longestQuery} characters`
  const parts = [...url.searchParams].flat()
  if (parts.some((part) => nestsDeeper(part))) return `Brackets may be nested ${mostNested} deep`
  const hasLongPath = parts.some((part) =>
    part.split(/[,().:&=]/).some((path) => path.split('->').length - 1 > mostArrows)
  )
  return hasLongPath ? `A path into JSON may have ${mostArrows} arrows` : null
}
