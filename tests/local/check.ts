import { deepStrictEqual } from 'node:assert'

interface Check {
  name: string
  /** Of the functions; the others have their defaults. */
  settings: Record<string, string>
  run: () => Promise<void>
}
export const checks: Check[] = []
/** A check for checks.ts. It imports modules in `run`, where its settings and globals are in place. */
export const check = (name: string, settings: Check['settings'], run: Check['run']): void =>
  void checks.push({ name, settings, run })

let assertions = 0
export const equal = (actual: unknown, expected: unknown): void => {
  assertions++
  deepStrictEqual(actual, expected)
}

/** Waits until this holds. The time limit of the check ends what never does. */
export const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

/** The error of this check, or null. */
export const run = (name: string): Promise<string | null> =>
  checks.find((check) => check.name === name)!.run()
    .then(() => assertions > 0 ? null : 'asserts nothing', (error) => String(error.stack))
