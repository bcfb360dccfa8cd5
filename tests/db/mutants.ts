/**
 * Breaks one policy or one grant after the other, each in a transaction that is rolled back, and prints as JSON which of these mutants no
 * pgTAP file noticed. Arguments are the kinds of mutants.sql to try; without any, all.
 */
import { files, hear, openWorld, read } from './open.ts'

interface Mutant {
  kind: string
  what: string
  statement: string
}

const database = await openWorld()
const all = await database.query(read('mutants.sql'), []) as unknown as Mutant[]
const mutants = all.filter(({ kind }) => Deno.args.length === 0 || Deno.args.includes(kind))

// The first file that fails is enough: what says most about rights comes first, and before it whatever noticed the most so far.
const isAboutRights = (file: string): boolean => /^(access|act_as|topics)\/|\/rights\./.test(file)
// A file that ends its transaction by itself would end the mutant's.
const usable = files.filter((file) => !/^(commit|rollback)/m.test(read(file)))
const order = usable.toSorted((one, other) => Number(isAboutRights(other)) - Number(isAboutRights(one)))
const lately = new Map<string, string>()

const complaints = async (file: string): Promise<string[]> => {
  const said = await hear(database, 'savepoint before_file', file)
  await database.run('rollback to savepoint before_file')
  return said.some((line) => line.startsWith('not ok')) ? said.filter((line) => !line.startsWith('ok')) : []
}

await database.run('begin')
for (const file of order) {
  const said = await complaints(file)
  if (said.length > 0) throw new Error(`${file} fails without any mutant, so it would notice none: ${said.join('\n')}`)
}
await database.run('rollback')

const noticedBy: Record<string, number> = {}
const survivors: Mutant[] = []
const impossible: (Mutant & { reason: string })[] = []
const started = performance.now()
for (const mutant of mutants) {
  try {
    await database.run(`begin; ${mutant.statement}`)
    const favourite = lately.get(mutant.kind) ?? 'access/grants.test.sql'
    let noticed: string | undefined
    const successful = order.toSorted((one, other) => (noticedBy[other] ?? 0) - (noticedBy[one] ?? 0))
    for (const file of new Set([favourite, ...successful])) {
      if ((await complaints(file)).length === 0) continue
      noticed = file
      break
    }
    if (noticed) {
      lately.set(mutant.kind, noticed)
      noticedBy[noticed] = (noticedBy[noticed] ?? 0) + 1
    } else survivors.push(mutant)
  } catch (error) {
    impossible.push({ ...mutant, reason: (error as Error).message })
  } finally {
    await database.run('rollback')
  }
}
const kinds = Object.fromEntries(
  Object.entries(Object.groupBy(mutants, ({ kind }) => kind)).map(([kind, list]) => [kind, list!.length]),
)
const seconds = Math.round((performance.now() - started) / 1000)
console.log(JSON.stringify({ mutants: mutants.length, kinds, noticedBy, survivors, impossible, seconds }))
await database.close()
Deno.exit(0)
