// Checks what the formatter does not: the length of lines in comments, strings and SQL, and words of our own where the
// field has a standard one.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const { lineWidth } = JSON.parse(readFileSync('deno.json', 'utf8')).fmt

/** Refused everywhere, in documents as well, alone or as a part of a name; and the word to use instead. */
const words = {
  door: 'Edge Function',
  hurry: 'run now',
  survive_cuts: 'connection loss',
  tamed: 'patched',
  settle_in: 'handle_new_user',
  retire_user: 'handle_deleted_user',
  look_at: 'require_participant',
  take_turn: 'consume_rate_limit',
  whole_at: 'tat',
  is_sought: 'matches_filter',
  holders_of: 'keyword_matches',
  bearing_terms: 'selective_terms',
  nothing_alike: 'similarity_floor',
  much_alike: 'similarity_ceiling',
  near_enough: 'similarity_threshold',
}

/** Refused as names in code. In sentences they are ordinary words. */
const names = {
  aside: 'metadata',
  verb: 'API function, rpc or privilege',
  known_caller: 'requireUser',
  maybe_caller: 'optionalUser',
  any_caller: 'anonymousUser',
  refuse: 'httpError',
  problem: 'error',
  says: 'route',
  gate: 'mutex',
  reach: 'platformFetch',
  traces: 'describeError',
  observed: 'requestMetrics',
  standing: 'account_status',
  turns: 'rate_limits',
  spots: 'positions',
  most: 'max_results',
  few: 'exact_scan_limit',
  furthest: 'max_distance',
  besides: 'exclude_ids',
  hears: 'canRead',
  speaks: 'canWrite',
  attend: 'subscribe',
  passes: 'retryLoop',
  marks: 'readMarkers',
  hole: 'gap',
  world: 'fixture',
  storm: 'crashLoad',
}

/** Where a word may stand, and why. */
const exceptions = [
  { word: 'verb', file: 'embedder/wordnet.ts', reason: 'a file of WordNet is called data.verb' },
  { word: 'few', file: 'tests/search/embedder.test.ts', reason: 'it stands in patterns of error messages' },
]

const skipped =
  /^(supabase\/migrations|sql\/seed|tests\/search\/labelled)\/|^(clients\/openapi\.ts|scripts\/check_style\.mjs)$/
const files = execFileSync('git', ['ls-files', '*.md', '*.ts', '*.mjs', '*.sql', '*.sh'], { encoding: 'utf8' })
  .trim().split('\n').filter((file) => !skipped.test(file))

/** tellDoor, tell_door and TELL-DOOR are all `tell_door`. */
const snakeCase = (name) => name.replace(/([a-z\d])([A-Z])/g, '$1_$2').replaceAll('-', '_').toLowerCase()

const containsWord = (line, word) =>
  new RegExp(`(?<![a-z])${word}s?(?![a-z])`).test(snakeCase(line).replaceAll(/\s+/g, ' '))

const blank = (text) => text.replaceAll(/[^\n]/g, ' ')

/** The source with comments and quoted text blanked out, line by line where it was. Good enough for names. */
const codeOf = (source, file) =>
  file.endsWith('.sql')
    ? source.replaceAll(/--.*|'(?:[^']|'')*'|"[^"]*"/g, blank)
    : source.replaceAll(/\/\*[^]*?\*\/|(?<!:)\/\/.*|'[^'\n]*'|"[^"\n]*"|`[^`]*`|(?<=^|\s)#.*/gm, blank)

const faults = []
for (const file of files) {
  const source = readFileSync(file, 'utf8')
  const isAllowed = (word) => exceptions.some((one) => one.word === word && one.file === file)
  const report = (index, word, better) => {
    if (!isAllowed(word)) faults.push(`${file}:${index + 1}: "${word.replaceAll('_', ' ')}" is called ${better}`)
  }
  source.split('\n').forEach((line, index) => {
    // Tables in Markdown, URLs and regular expressions cannot be broken.
    if (line.length > lineWidth && !file.endsWith('.md') && !/\S{60}/.test(line)) {
      faults.push(`${file}:${index + 1}: ${line.length} characters; the limit is ${lineWidth}`)
    }
    for (const [word, better] of Object.entries(words)) if (containsWord(line, word)) report(index, word, better)
  })
  if (file.endsWith('.md')) continue
  codeOf(source, file).split('\n').forEach((line, index) => {
    for (const name of new Set(line.match(/[A-Za-z_]\w*/g))) {
      const better = Object.hasOwn(names, snakeCase(name)) && names[snakeCase(name)]
      if (better) report(index, snakeCase(name), better)
    }
  })
}
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
