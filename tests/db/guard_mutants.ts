/** Mutants of guards: each changes one text of a function, or runs one statement, in a transaction that is undone. */
import type { Database } from '../../supabase/local/database.ts'
import { read, runFile } from './database.ts'

export type Change = [from: string, to: string]

export interface Guards {
  /** The texts of a function, by its name, and what each becomes; every text must occur. */
  changes: Record<string, Change[]>
  /** Descriptions and statements of other mutants. */
  statements: [what: string, statement: string][]
}

const quote = (text: string): string => `$mutant$${text}$mutant$`

const mutantsOf = ({ changes, statements }: Guards): { what: string; statement: string }[] => [
  ...Object.entries(changes).flatMap(([name, list]) =>
    list.map(([from, to]) => ({
      what: `${name}: ${from} → ${to}`,
      statement: `
        do $do$
        declare
          before text := pg_get_functiondef(${quote(name)}::regproc);
        begin
          if strpos(before, ${quote(from)}) = 0 then raise 'The text does not occur'; end if;
          execute replace(before, ${quote(from)}, ${quote(to)});
        end
        $do$
      `,
    }))
  ),
  ...statements.map(([what, statement]) => ({ what, statement })),
]

/**
 * Tries every mutant, or each one in so many, and prints as JSON which ones neither these pgTAP files nor, after them,
 * `explore` noticed, and which file noticed how many. `explore` must notice nothing without a mutant.
 */
export const tryMutants = async (
  database: Database,
  guards: Guards,
  files: string[],
  oneIn = 1,
  explore?: () => Promise<boolean>,
): Promise<void> => {
  const mutants = mutantsOf(guards).filter((_, index) => index % oneIn === 0)
  const started = performance.now()
  const survivors: string[] = []
  const impossible: string[] = []
  const detectedBy: Record<string, number> = {}

  const fails = async (file: string): Promise<boolean> => {
    const lines = await runFile(database, 'savepoint before_file', file)
    await database.run('rollback to savepoint before_file')
    return lines.some((line) => /^not ok|^# Looks like/.test(line))
  }
  let last = files[0]!
  const detect = async (): Promise<string | undefined> => {
    // What noticed the last mutant is likely to notice the next.
    for (const file of new Set([last, ...files])) if (await fails(file)) return last = file
    return await explore?.() ? 'schedules' : undefined
  }
  await database.run(read('first_failure.sql'))
  for (const { what, statement } of mutants) {
    try {
      await database.run(`begin; ${statement}`)
    } catch (error) {
      impossible.push(`${what}: ${(error as Error).message}`)
      await database.run('rollback')
      continue
    }
    // A mutant that breaks the detection itself is detected as well.
    const detector = await detect().catch(() => 'an error')
    await database.run('rollback')
    if (!detector) survivors.push(what)
    else detectedBy[detector] = (detectedBy[detector] ?? 0) + 1
  }
  // What fails without a mutant, also after others, notices nothing.
  await database.run('begin')
  for (const file of files) if (await fails(file)) throw new Error(`${file} fails without a mutant`)
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(JSON.stringify({ mutants: mutants.length, detectedBy, survivors, impossible, seconds }))
}
