import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

export interface Door {
  base: string
  /** What it has logged so far. */
  log: () => string
  stop: () => void
}

/** Serves one function by itself, as the platform does, with these settings and no others. */
export const openApp = async (name: string, env: Record<string, string>): Promise<Door> => {
  const args = ['serve', '-A', '--host', '127.0.0.1', '--port', '0', '--cached-only', '--config', 'deno.json']
  const door = spawn(resolve('node_modules/.bin/deno'), [...args, `functions/${name}/index.ts`], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  door.stdout.on('data', (chunk) => said += chunk)
  for await (const line of createInterface(door.stderr)) {
    said += `${line}\n`
    const base = /Listening on (http:\S+?)\/?$/.exec(line)?.[1]
    if (!base) continue
    door.stderr.on('data', (chunk) => said += chunk)
    return { base, log: () => said, stop: () => door.kill() }
  }
  throw new Error(`${name} did not open: ${said}`)
}
