// Checks what the formatter does not: lines in comments, strings and SQL, and words that this project has replaced by the field's own.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const lineWidth = JSON.parse(readFileSync('deno.json', 'utf8')).fmt.lineWidth

// Refused in code, comments and documents alike, also as a part of a name.
const words = {
  door: 'Edge Function',
  tamed: 'patched',
  hurry: 'runNow',
  surviveCuts: 'connection loss',
  settle_in: 'handle_new_user',
  retire_user: 'handle_deleted_user',
  tell_door: 'response metadata',
  look_at: 'scope_to_conversation',
  whole_at: 'tat',
  take_turn: 'consume_rate_limit',
  is_sought: 'matches_filter',
  holders_of: 'keyword_matches',
  bearing_terms: 'selective_terms',
  nothing_alike: 'similarity_floor',
  much_alike: 'similarity_ceiling',
  near_enough: 'similarity_threshold',
}

// Refused as a name in code. In a sentence each is an ordinary word.
const names = {
  aside: 'metadata',
  verb: 'API function, rpc or privilege',
  knownCaller: 'requireUser',
  maybeCaller: 'optionalUser',
  anyCaller: 'anonymousUser',
  refuse: 'httpError',
  problem: 'error',
  says: 'route',
  gate: 'mutex',
  reach: 'platformFetch',
  traces: 'describeError',
  observed: 'requestMetrics',
  standing: 'account_status',
  turns: 'rate_limits',
  receipts: 'idempotent_replies',
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

/** Where a word is allowed, and why. */
const exceptions = []

const generated =
  /^(supabase\/migrations|sql\/seed)\/|openapi\.json$|package-lock\.json$|deno\.lock$|wordnet\.bin$|\.(png|svg|txt|tsv)$/
const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
  .filter((file) => !generated.test(file) && file !== 'scripts/check_style.mjs')

/** The parts of a name: sendMessage, send_message and SEND_MESSAGE are all `send message`. */
const partsOf = (name) => name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase().split('_').filter(Boolean)

/** The code of a line, without comments and without what stands in quotation marks. */
const codeOf = (line, file) => {
  const comment = /\.(sql)$/.test(file) ? /--.*$/ : /(^|\s)(\/\/|\/?\*).*$/
  return line.replace(comment, '').replace(/'[^']*'|"[^"]*"|`[^`]*`/g, '')
}

const isAllowed = (file, word) => exceptions.some((one) => one.word === word && one.files.test(file))

const faults = []
for (const file of files) {
  const isCode = /\.(ts|mjs|js|sql|sh)$/.test(file)
  if (!isCode && !file.endsWith('.md')) continue
  let inString = false
  readFileSync(file, 'utf8').split('\n').forEach((line, index) => {
    const at = `${file}:${index + 1}`
    // An address, a regular expression or a hash cannot be broken.
    if (isCode && line.length > lineWidth && !/\S{60}/.test(line)) {
      faults.push(`${at}: ${line.length} characters, not ${lineWidth}`)
    }
    for (const [word, better] of Object.entries(words)) {
      if (new RegExp(`(?<![a-z])${word}s?(?![a-z])`, 'i').test(line) && !isAllowed(file, word)) {
        faults.push(`${at}: ${word} → ${better}`)
      }
    }
    if (!isCode) return
    // A multi-line comment on a table is prose, too.
    const quotes = (line.match(/'/g) ?? []).length
    const wasInString = inString
    if (file.endsWith('.sql') && quotes % 2) inString = !inString
    if (wasInString) return
    for (const name of codeOf(line, file).match(/[A-Za-z_]\w*/g) ?? []) {
      for (const [word, better] of Object.entries(names)) {
        if (partsOf(name).join('_') === partsOf(word).join('_') && !isAllowed(file, word)) {
          faults.push(`${at}: ${word} → ${better}`)
        }
      }
    }
  })
}
for (const fault of new Set(faults)) console.error(fault)
if (faults.length) process.exit(1)
