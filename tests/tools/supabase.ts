import { execFile } from 'node:child_process'

/** The URL of a database with the platform stub, for the role that runs migrations. */
export const platform = (database: string, role = 'postgres'): string => {
  const url = new URL(`/${database}`, process.env.PLATFORM_URL)
  url.username = role
  return url.href
}

export type Outcome = { code: number; stdout: string; stderr: string }

/** Runs a program of node_modules. */
export const run = (command: string, args: string[], env: Record<string, string> = {}): Promise<Outcome> =>
  new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 1e8 }
    execFile(`node_modules/.bin/${command}`, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })

/** The CLI sends no telemetry and looks for no newer version; the servers of tests have no TLS. */
export const quietly = {
  DO_NOT_TRACK: '1',
  SUPABASE_TELEMETRY_DISABLED: '1',
  SUPABASE_NO_UPDATE_NOTIFIER: '1',
  PGSSLMODE: 'disable',
}

/** Runs the Supabase CLI without its output mode for agents. */
export const supabase = (args: string[], env: Record<string, string> = {}): Promise<Outcome> =>
  run('supabase', [...args, '--agent', 'no'], { ...quietly, ...env })
