import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pause } from '../tools/wait.ts'

export interface Server {
  log: () => string
  stop: () => Promise<void>
}

/** Starts a program, and waits until it answers under this URL. */
export const startServer = async (
  command: string,
  args: string[],
  { env, cwd, health }: { env: Record<string, string>; cwd?: string; health: string },
): Promise<Server> => {
  const server: ChildProcess = spawn(command, args, { env, ...(cwd && { cwd }), stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  server.stdout!.on('data', (text) => log += text)
  server.stderr!.on('data', (text) => log += text)
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill()
    // Auth waits for the requests that it is still answering.
    const killer = setTimeout(() => server.kill('SIGKILL'), 3000)
    await exited
    clearTimeout(killer)
  }
  for (let tries = 0; tries < 300; tries++) {
    if (server.exitCode !== null) break
    const isUp = await fetch(health).then(({ ok }) => ok, () => false)
    if (isUp) return { log: () => log, stop }
    await pause(100)
  }
  await stop()
  throw new Error(`${command} did not start: ${log.slice(-3000)}`)
}
