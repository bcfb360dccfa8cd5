import { execFile } from 'node:child_process'
import { testKeys } from '../tools/stack.ts'

interface Diagnosis {
  code: number
  /** The check's status and detail by its name. */
  lines: Record<string, string>
  output: string
  errors: string
}

/** Runs `npm run doctor`. */
export const runDoctor = (args: string[], env: Record<string, string | undefined> = {}): Promise<Diagnosis> =>
  new Promise((resolve) => {
    const keys = { SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey, SUPABASE_SECRET_KEY: testKeys.secretKey }
    const options = { env: { ...process.env, ...keys, ...env } }
    execFile('node', ['scripts/doctor/main.mjs', ...args], options, (error, output, errors) => {
      const found = [...output.matchAll(/^(ok|FAIL|skip) {2,4}(\S.*?) {2,}(.*)$/gm)]
      resolve({
        code: error ? Number(error.code) : 0,
        lines: Object.fromEntries(found.map(([, status, what, detail]) => [what, `${status} ${detail}`])),
        output,
        errors,
      })
    })
  })
