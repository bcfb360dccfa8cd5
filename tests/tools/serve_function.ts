import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

export type ServedFunction = { base: string; pid: number; log: () => string; stop: () => void }

const listen = ['--host', '127.0.0.1', '--port', '0']

/** Serves one Edge Function alone, as the platform does, with these settings only. */
export const serveFunction = async (
  entrypoint: string,
  env: Record<string, string>,
  { deno = resolve('node_modules/.bin/deno'), cwd = process.cwd(), options = ['--config', 'deno.json'] } = {},
): Promise<ServedFunction> => {
  const args = ['serve', '-A', ...listen, '--cached-only', ...options, entrypoint]
  const server = spawn(deno, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  server.stdout.on('data', (chunk) => log += chunk)
  for await (const line of createInterface(server.stderr)) {
    log += `${line}\n`
    const base = /Listening on (http:\S+?)\/?$/.exec(line)?.[1]
    if (!base) continue
    server.stderr.on('data', (chunk) => log += chunk)
    // On SIGTERM `deno serve` waits for its connections to the database, which do not end.
    return { base, pid: server.pid!, log: () => log, stop: () => server.kill('SIGKILL') }
  }
  throw new Error(`${entrypoint} did not start: ${log}`)
}
