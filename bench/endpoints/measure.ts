/** Runs wrk and pgbench, and the servers they ask. */
import type { Ask, Case } from './cases/case.ts'
import { statementOf } from './cases.ts'
import { jwtSecret } from './keys.ts'
import type { World } from './world.ts'

export interface Measured {
  answers: number
  /** Answers a second. */
  rate: number
  p50: number
  p99: number
  failed: number
  /** What an answer cost, in µs of processor time: of Postgres, and of the server before it. */
  database: number
  server: number
}

export interface Server {
  base: string
  pid: number
  stop: () => Promise<void>
}

/** Takes what is to be done in the end, whether all went well or not. */
export type WhenDone = (ending: () => Promise<void>) => void

export interface Effort {
  seconds: number
  connections: number
}

const output = async (command: string, args: string[], env: Record<string, string> = {}): Promise<string> => {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, env }).output()
  const said = new TextDecoder().decode(stdout)
  if (!success) throw new Error(`${command} failed: ${said}${new TextDecoder().decode(stderr)}`)
  return said
}

// utime, stime, cutime, cstime in hundredths of a second: what a process has used, and what its children had that have ended.
const ticks = (pid: number): number[] => {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 15).map(Number)
}
const used = (pid: number): number => ticks(pid)[0]! + ticks(pid)[1]!
const usedByPostgres = (postmaster: number): number => {
  const [, , user, system] = ticks(postmaster)
  const children = Deno.readTextFileSync(`/proc/${postmaster}/task/${postmaster}/children`).trim().split(' ').map(
    Number,
  )
  return children.reduce((sum, child) => sum + used(child), user! + system!)
}

type Told = Omit<Measured, 'database' | 'server'>

/** Processor time does not mind who else uses the machine, where rates do. */
const withCost = async (
  world: World,
  pid: number | null,
  work: () => Promise<Told>,
): Promise<Measured> => {
  const now = () => [usedByPostgres(world.postmaster), pid ? used(pid) : 0] as const
  const before = now()
  const told = await work()
  // Backends that end are counted a moment later.
  if (!pid) await new Promise((resolve) => setTimeout(resolve, 200))
  const [database, server] = now().map((ticks, index) => (ticks - before[index]!) * 10_000 / told.answers)
  return { ...told, database: database!, server: server! }
}

/** Starts one of the servers beside this file. What it says of each request goes nowhere: to read it would take turns from whom is measured. */
export const start = async (
  script: string,
  args: string[],
  env: Record<string, string>,
  whenDone: WhenDone,
): Promise<Server> => {
  const process = new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', new URL(script, import.meta.url).pathname, ...args],
    env: { JWT_SECRET: jwtSecret, ...env },
    stdout: 'null',
    stderr: 'piped',
  }).spawn()
  let running = true
  const stop = async () => {
    if (running) process.kill('SIGKILL')
    running = false
    await process.status
  }
  whenDone(stop)
  let said = ''
  const rest = process.stderr.pipeThrough(new TextDecoderStream())
  const reader = rest.getReader()
  while (true) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`${script} did not start: ${said}`)
    const base = /^ready (\S+)$/m.exec(said += value)?.[1]
    if (!base) continue
    // A pipe that nobody empties halts who writes into it.
    reader.releaseLock()
    rest.pipeTo(new WritableStream()).catch(() => {})
    return { base, pid: process.pid, stop }
  }
}

/** Asks over HTTP from so many connections; each waits `pause` ms in the mean before it asks again. In order where it begins `from` one. */
export const overHttp = (
  world: World,
  { base, pid }: Server,
  file: string,
  effort: Effort,
  { pause = 0, from }: { pause?: number; from?: number } = {},
) =>
  withCost(world, pid, async () => {
    const said = await output(world.wrk, [
      ...['-t1', `-c${effort.connections}`, `-d${effort.seconds}s`, '--timeout', '20s'],
      ...['-s', new URL('load.lua', import.meta.url).pathname, base],
      ...['--', file, String(pause), String(Math.floor(Math.random() * 1e6))],
      ...from === undefined ? [] : [String(from)],
    ])
    const { requests, seconds, ...rest } = JSON.parse(said.trim().split('\n').at(-1)!)
    return { rate: requests / seconds, answers: requests, ...rest } as Told
  })

const byPgbench = (world: World, at: string, script: string, effort: Effort, user: string, options: string) =>
  withCost(world, null, async () => {
    const file = await Deno.makeTempFile({ suffix: '.sql' })
    await Deno.writeTextFile(file, script)
    const url = new URL(at)
    url.username = user
    const said = await output(`${world.bin}/pgbench`, [
      ...['-n', '-M', 'prepared', '-D', 'step=-1', '-c', String(effort.connections)],
      ...['-T', String(effort.seconds), '-f', file, url.href],
    ], { PGOPTIONS: options })
    await Deno.remove(file)
    const number = (pattern: RegExp) => Number(pattern.exec(said)?.[1])
    return {
      rate: number(/tps = ([\d.]+)/),
      answers: number(/actually processed: (\d+)/),
      p50: number(/latency average = ([\d.]+)/),
      p99: NaN,
      failed: number(/failed transactions: (\d+)/),
    }
  })

/** The statement of a case's door by pgbench, as the doors log in, in the world or in its copy without policies. */
export const asStatement = (
  world: World,
  some: Case,
  effort: Effort,
  { at = world.url, options = '', from = 0 }: { at?: string; options?: string; from?: number } = {},
) => {
  // Each of its clients takes its share: of 16 clients every sixteenth.
  const inOrder = `\\set step :step + 1\n\\set turn ${from} + :step * ${effort.connections} + :client_id\n`
  const script = `${some.once ? inOrder : ''}${some.draw ?? ''}\n${statementOf(some)};\n`
  return byPgbench(world, at, script.replaceAll(/\n +/g, ' '), effort, 'edge_functions', options)
}

/** The bare SQL of a case by pgbench, as the owner. */
export const asBare = (world: World, some: Case, effort: Effort, options = ''): Promise<Measured> =>
  byPgbench(
    world,
    world.url,
    `${some.draw}\n${some.bare!.replaceAll('\n', ' ')};\n`,
    effort,
    'supabase_admin',
    `-c session_replication_role=replica ${options}`,
  )

/** Writes the requests of a case for load.lua; answers with the file's name. */
export const writeRequests = async (
  world: World,
  some: Case,
  pathOf: (ask: Ask) => string,
  tokens: Map<number, string>,
) => {
  const file = await Deno.makeTempFile({ suffix: '.tsv' })
  const lines: string[] = []
  for (const ask of some.asks) {
    if (!tokens.has(ask.user)) tokens.set(ask.user, await world.token(ask.user))
    lines.push([some.method, pathOf(ask), ask.token ?? tokens.get(ask.user), ask.body ?? ''].join('\t'))
  }
  await Deno.writeTextFile(file, lines.join('\n') + '\n')
  return file
}
