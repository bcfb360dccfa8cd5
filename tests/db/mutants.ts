/**
 * Mutation tests for policies and grants: applies each mutant of mutants.sql in a transaction that is rolled back, and
 * prints as JSON which mutants no pgTAP file detected. Arguments are the kinds to try; without any, all.
 */
import { files, openTestDatabase, read, runFile } from './database.ts'

interface Mutant {
  kind: string
  what: string
  statement: string
}

const database = await openTestDatabase()
const all = await database.query(read('mutants.sql'), []) as unknown as Mutant[]
const mutants = all.filter(({ kind }) => Deno.args.length === 0 || Deno.args.includes(kind))

// The first failing file is enough, so those that are likely to fail come first: files about rights, then those that
// have detected the most mutants so far.
const isAboutRights = (file: string): boolean => /^(access|act_as)\/|\/(rights|join_topic)\./.test(file)
// A file that ends its own transaction would end the mutant's as well. Those about cost look at plans, and a connection
// that has run other files has others.
const usable = files.filter((file) => !/\/cost\./.test(file) && !/^(commit|rollback)/m.test(read(file)))
const order = usable.toSorted((one, other) => Number(isAboutRights(other)) - Number(isAboutRights(one)))
const lastDetector = new Map<string, string>()
/** Mutants that one file is likely to detect. */
const groupOf = ({ kind, statement }: Mutant): string =>
  `${kind} ${/\b(public|private|api|realtime|storage)\b/.exec(statement)?.[0]}`

const failures = async (file: string): Promise<string[]> => {
  const lines = await runFile(database, 'savepoint before_file', file)
  await database.run('rollback to savepoint before_file')
  return lines.some((line) => line.startsWith('not ok')) ? lines.filter((line) => !line.startsWith('ok')) : []
}

await database.run(read('first_failure.sql'))
const detectedBy: Record<string, number> = {}
const survivors: Mutant[] = []
const impossible: (Mutant & { reason: string })[] = []
const started = performance.now()
/** The file that detects a mutant, if there is one. */
const detect = async (mutant: Mutant): Promise<string | undefined> => {
  try {
    await database.run(`begin; ${mutant.statement}`)
    // The quickest file, which detects nine mutants of ten.
    const quickest = 'access/grants.test.sql'
    const favourite = lastDetector.get(groupOf(mutant)) ?? quickest
    const successful = order.toSorted((one, other) => (detectedBy[other] ?? 0) - (detectedBy[one] ?? 0))
    for (const file of new Set([quickest, favourite, ...successful])) {
      if ((await failures(file)).length > 0) return file
    }
    return undefined
  } finally {
    await database.run('rollback')
  }
}
for (const mutant of mutants) {
  try {
    // Twice, because a transaction of anonymous statements is ended after 3 s, which a busy machine may need.
    const detector = await detect(mutant).catch(() => detect(mutant))
    if (detector) {
      lastDetector.set(groupOf(mutant), detector)
      detectedBy[detector] = (detectedBy[detector] ?? 0) + 1
    } else survivors.push(mutant)
  } catch (error) {
    impossible.push({ ...mutant, reason: (error as Error).message })
  }
}
// What fails without a mutant, also after others, detects nothing.
await database.run('begin')
for (const file of Object.keys(detectedBy)) {
  const lines = await failures(file)
  if (lines.length > 0) throw new Error(`${file} fails without a mutant: ${lines.join('\n')}`)
}
const kinds = Object.fromEntries(
  Object.entries(Object.groupBy(mutants, ({ kind }) => kind)).map(([kind, list]) => [kind, list!.length]),
)
const seconds = Math.round((performance.now() - started) / 1000)
console.log(JSON.stringify({ mutants: mutants.length, kinds, detectedBy, survivors, impossible, seconds }))
await database.close()
Deno.exit(0)
