import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a Deno script of the repository and returns the JSON in the last line that it prints. */
export const runScript = async <Result>(
  script: string,
  args: string[] = [],
  env: Record<string, string> = {},
  timeout = 0,
  deno = 'node_modules/.bin/deno',
): Promise<Result> => {
  const options = { env: { ...process.env, ...env }, timeout, maxBuffer: 1e8 }
  const { stdout } = await promisify(execFile)(deno, ['run', '-A', script, ...args], options)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}
