import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

/** `ended` is how it has ended, or null. */
export type ServedFunction = { base: string; pid: number; log: () => string; stop: () => void; ended: () => unknown }

const pinned = resolve('node_modules/.bin/deno')

/** Runs a server in Deno, with these settings only, which says at which address it listens. */
export const runServer = async (
  args: string[],
  env: Record<string, string>,
  { deno = pinned, cwd = process.cwd() } = {},
): Promise<ServedFunction> => {
  const server = spawn(deno, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  server.stdout.on('data', (chunk) => log += chunk)
  for await (const line of createInterface(server.stderr)) {
    log += `${line}\n`
    const base = /(?:Listening on|^ready) (http:\S+?)\/?$/.exec(line)?.[1]
    if (!base) continue
    server.stderr.on('data', (chunk) => log += chunk)
    const ended = () => server.exitCode ?? server.signalCode
    // On SIGTERM `deno serve` waits for its connections to the database, which do not end.
    return { base, pid: server.pid!, log: () => log, stop: () => server.kill('SIGKILL'), ended }
  }
  throw new Error(`${args.at(-1)} did not start: ${log}`)
}

const listen = ['--host', '127.0.0.1', '--port', '0']

/** Serves one Edge Function alone, as the platform does. */
export const serveFunction = (
  entrypoint: string,
  env: Record<string, string>,
  { deno = pinned, cwd = process.cwd(), options = ['--config', 'deno.json'] } = {},
): Promise<ServedFunction> =>
  runServer(['serve', '-A', ...listen, '--cached-only', ...options, entrypoint], env, { deno, cwd })
