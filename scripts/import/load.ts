import type { Query } from '../../functions/_shared/postgres.ts'
import { errorMap, explainErrors } from '../../functions/_shared/validate.ts'
import { formats, type Kind, kinds, type Row } from './format.ts'
import { batchesOf, type Line } from './read.ts'
import { audit, conclusions, preparations, statements, undo } from './statements.ts'

const number = (value: number): string => value.toLocaleString('en')

/**
 * Loads a folder, prints each line that does not fit and the sums, and returns whether all fit. Each batch is
 * committed, so that an import that was killed goes on when it is repeated; for a check, and from the first batch on in
 * which a line does not fit, nothing is.
 */
export const load = async (folder: string, query: Query, since: Date | null, isCheck: boolean): Promise<boolean> => {
  let amiss = 0
  const report = ({ file, line }: Line, reason: string): void => {
    if (amiss++ < 1000) console.log(`${file}:${line}: ${reason}`)
  }

  /** Writes these lines; of those that the database refuses it finds each by halves. */
  const write = async (kind: Kind, lines: Line[]): Promise<void> => {
    await query('savepoint batch', [])
    try {
      const rows = JSON.stringify(lines.map(({ row }) => row))
      for (const statement of statements[kind]) await query(statement, [rows])
    } catch (error) {
      const { code = '', message, detail } = error as { code?: string; message: string; detail: string }
      // Errors of data, and of constraints; the name of a unique one says less than its detail.
      if (!/^2[23]/.test(code)) throw error
      await query('rollback to savepoint batch', [])
      const half = lines.length >> 1
      if (half === 0) report(lines[0]!, code === '23505' ? detail : message)
      else for (const part of [lines.slice(0, half), lines.slice(half)]) await write(kind, part)
    }
    await query('release savepoint batch', [])
  }

  /** Also what has no time. */
  const isWanted = ({ updated_at, created_at }: Row): boolean =>
    since === null || !(new Date(String(updated_at ?? created_at)) < since)

  const begin = async (): Promise<void> => {
    for (const statement of ['begin', ...preparations]) await query(statement, [])
  }
  await begin()
  let written = 'nothing was written'
  const counts: string[] = []
  for (const kind of kinds) {
    const ids = new Set<unknown>()
    let count = 0
    for await (const lines of batchesOf(folder, kind)) {
      const fitting = lines.filter((line) => {
        const { row } = line
        const parsed = row && formats[kind].safeParse(row, { error: errorMap })
        if (!parsed) return report(line, 'is no JSON object')
        if (!parsed.success) return report(line, explainErrors(parsed.error, row))
        // The database would take it for a change.
        if (ids.has(row.id)) return report(line, `id: ${row.id} is there twice`)
        if ('id' in row) ids.add(row.id)
        return isWanted(row)
      })
      if (fitting.length > 0) await write(kind, fitting)
      if (amiss === 0 && !isCheck) {
        await query('commit', [])
        await begin()
        written = 'what comes before the first was written'
      }
      count += lines.length
      if (count % 100_000 === 0) console.log(`${number(count)} ${kind}`)
    }
    counts.push(`${number(count)} ${kind}`)
  }
  const isDone = amiss === 0 && !isCheck
  for (const statement of isDone ? conclusions : undo) await query(statement, [])
  console.log(counts.join(', '))
  if (isDone) console.log('Audit:', ...await query(audit, []))
  if (amiss > 0) console.log(`${number(amiss)} lines do not fit; ${written}`)
  return amiss === 0
}
