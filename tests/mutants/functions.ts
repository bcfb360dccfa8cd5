/**
 * Mutants of SQL functions, made from their definitions as the database has them: each changes one token of a body, or
 * leaves a statement out. A function that is added or changed later has its mutants without a list.
 */
export interface Mutant {
  /** The function, or the table of a policy or grant. */
  subject: string
  /** What is changed, on one line; the same while the text around it is. */
  what: string
  statement: string
}

/** What a token may become; `+1` is the number that follows it. */
// deno-fmt-ignore
const replacements: [pattern: RegExp, ...by: string[]][] = [
  [/(?<![:<>=!|])=(?![>=])/g, '<>'], [/<>/g, '='], [/<=/g, '<'], [/>=/g, '>'],
  [/(?<![-=<|])>(?![>=])/g, '>='], [/<(?![=>@-])/g, '<='],
  [/\bis not distinct from\b/g, 'is distinct from'], [/\bis distinct from\b/g, 'is not distinct from'],
  [/\bis not null\b/g, 'is null'], [/\bis null\b/g, 'is not null'],
  [/\band\b(?! if)/g, 'or', 'and true or', 'and false and'], [/\bor\b/g, 'and', 'or true or', 'or false and'],
  [/\bnot exists\b/g, 'exists'], [/\bnot (?=[a-z(])(?!exists|null|found|distinct)/g, ''],
  [/\bnot found\b/g, 'found', 'false'],
  [/(?<=\b(?:if|elsif|when)\s)(?=[^;]*?\bthen\b)/g, 'false and ', 'true or '],
  [/\bwhere\b(?! current)/g, 'where false and', 'where true or'],
  [/\btrue\b/g, 'false'], [/\bfalse\b/g, 'true'], [/\bdesc\b/g, 'asc'],
  [/\b(?:coalesce|greatest)\((?=([^(),]+),)/g, 'nullif(0, 0) || ('], [/\bmax\(/g, 'min('], [/\bmin\(/g, 'max('],
  [/(?<![\w.$'])\d+(?![\w.'])/g, '+1'], [/(?<=[\s(])'[a-z_ ]+'(?!::)/g, `'another'`],
  [/\b(?:me|partner|person)\b(?= *[,)])/g, 'null'],
]
const omissible =
  /(?<=(?:;|begin|then|else|loop)\s*)(?:perform|raise|delete from|update|insert into|[a-z_.]+ :=)\b[^;]*;/g

/** Every mutant of the function of this definition, as `pg_get_functiondef` prints it. Some are no valid SQL. */
export const mutantsOf = (name: string, definition: string): Mutant[] => {
  const [start, end] = [definition.indexOf('$function$') + 10, definition.lastIndexOf('$function$')]
  const comments = [...definition.matchAll(/--.*|\/\*[\s\S]*?\*\//g)].map(({ index, 0: text }) => [index, text.length])
  const isCode = (at: number) =>
    at >= start && at < end && !comments.some(([from, length]) => at >= from! && at < from! + length!)
  const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ')
  const mutants: Mutant[] = []
  const add = (at: number, from: string, by: string): void => {
    if (!isCode(at)) return
    const around = onOneLine(definition.slice(Math.max(at - 30, start), at + from.length + 30))
    mutants.push({
      subject: name,
      what: `${name}: “${onOneLine(from).slice(0, 60)}” → “${by}” in …${around}…`,
      statement: definition.slice(0, at) + by + definition.slice(at + from.length),
    })
  }
  for (const [pattern, ...alternatives] of replacements) {
    for (const { index, 0: token } of definition.matchAll(pattern)) {
      for (const by of alternatives) add(index, token, by === '+1' ? `${Number(token) + 1}` : by)
    }
  }
  for (const { index, 0: statement } of definition.matchAll(omissible)) add(index, statement, 'null;')
  return mutants
}

/** So many of the mutants, each time the same for a seed; another seed chooses others. */
export const sample = <T extends Mutant>(mutants: T[], count: number, seed: number): T[] => {
  const hash = (text: string) => [...text].reduce((sum, c) => (Math.imul(sum, 31) + c.charCodeAt(0)) | 0, seed)
  const rank = ({ statement }: T) => Math.imul(hash(statement) ^ Math.imul(seed, 2654435761), 1597334677) >>> 0
  return mutants.map((mutant) => [rank(mutant), mutant] as const).toSorted(([one], [other]) => one - other)
    .slice(0, count).map(([, mutant]) => mutant)
}
