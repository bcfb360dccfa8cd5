/** Runs wrk and pgbench, and the servers under test. */
import type postgres from 'postgres'
import { type Case, type CaseRequest, statementOf } from './cases/case.ts'
import type { Defer } from './defer.ts'
import { asEdgeFunctions, type Fixture } from './fixture.ts'
import { jwtSecret } from './keys.ts'

export interface Measurement {
  requests: number
  /** Requests per second. */
  rate: number
  p50: number
  p99: number
  failed: number
  /** Processor time per request in µs, of Postgres and of the server in front of it. */
  database: number
  server: number
}

export interface Server {
  base: string
  pid: number
  stop: () => Promise<void>
}

export interface Load {
  seconds: number
  connections: number
}

const run = async (command: string, args: string[]): Promise<string> => {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output()
  const output = new TextDecoder().decode(stdout)
  if (!success) throw new Error(`${command} failed: ${output}${new TextDecoder().decode(stderr)}`)
  return output
}

// utime, stime, cutime and cstime in hundredths of a second: of a process, and of its children that have ended.
const ticks = (pid: number): number[] => {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 15).map(Number)
}
const ticksOfServer = (pid: number): number => ticks(pid)[0]! + ticks(pid)[1]!
const ticksOfPostgres = (postmaster: number): number => {
  const [, , user, system] = ticks(postmaster)
  const children = Deno.readTextFileSync(`/proc/${postmaster}/task/${postmaster}/children`)
  return children.trim().split(' ').reduce((sum, child) => sum + ticksOfServer(Number(child)), user! + system!)
}

/** Processor time of an idle process of one thread, in milliseconds and finer than in ticks. */
export const processorTime = (pid: number): number =>
  Number(Deno.readTextFileSync(`/proc/${pid}/schedstat`).split(' ')[0]) / 1e6

export const backendOf = async (sql: postgres.Sql): Promise<number> =>
  (await sql`select pg_backend_pid() as pid`)[0]!.pid

type Output = Omit<Measurement, 'database' | 'server'>

/** Adds the processor time, which other work on the machine disturbs less than the rate. */
const withProcessorTime = async (
  fixture: Fixture,
  pid: number | null,
  work: () => Promise<Output>,
): Promise<Measurement> => {
  const now = () => [ticksOfPostgres(fixture.postmaster), pid ? ticksOfServer(pid) : 0] as const
  const before = now()
  const output = await work()
  // The time of backends that end is added to the postmaster's a moment later.
  if (!pid) await new Promise((resolve) => setTimeout(resolve, 200))
  const [database, server] = now().map((ticks, index) => (ticks - before[index]!) * 10_000 / output.requests)
  return { ...output, database: database!, server: server! }
}

/** Starts a server of this folder. Its access log is discarded, because reading it would take processor time. */
export const start = async (
  script: string,
  args: string[],
  env: Record<string, string>,
  defer: Defer,
  [runtime, ...options]: [string, ...string[]] = [Deno.execPath(), 'run', '-A'],
): Promise<Server> => {
  const process = new Deno.Command(runtime, {
    args: [...options, new URL(script, import.meta.url).pathname, ...args],
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
  defer(stop)
  let output = ''
  const stderr = process.stderr.pipeThrough(new TextDecoderStream())
  const reader = stderr.getReader()
  while (true) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`${script} did not start: ${output}`)
    const base = /^ready (\S+)$/m.exec(output += value)?.[1]
    if (!base) continue
    // Drain the pipe: a full one would block the server.
    reader.releaseLock()
    stderr.pipeTo(new WritableStream()).catch(() => {})
    return { base, pid: process.pid, stop }
  }
}

/** Sends requests with wrk; with `from`, they go in order from that index. */
export const runWrk = (
  fixture: Fixture,
  { base, pid }: Server,
  file: string,
  { seconds, connections }: Load,
  from?: number,
) =>
  withProcessorTime(fixture, pid, async () => {
    const output = await run(fixture.wrk, [
      ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '20s'],
      ...['-s', new URL('load.lua', import.meta.url).pathname, base],
      ...['--', file, String(Math.floor(Math.random() * 1e6))],
      ...from === undefined ? [] : [String(from)],
    ])
    const { seconds: took, ...result } = JSON.parse(output.trim().split('\n').at(-1)!)
    return { ...result, rate: result.requests / took } as Output
  })

/** Runs the statement of a case's Edge Function with pgbench, with the Edge Functions' role. */
export const runStatement = (fixture: Fixture, testCase: Case, { seconds, connections }: Load, from = 0) =>
  withProcessorTime(fixture, null, async () => {
    // Each of pgbench's clients takes its share of the requests: with 16 clients every sixteenth.
    const inOrder = `\\set step :step + 1\n\\set index ${from} + :step * ${connections} + :client_id\n`
    const statement = statementOf(testCase).replaceAll(/\n */g, ' ')
    const file = await Deno.makeTempFile({ suffix: '.sql' })
    await Deno.writeTextFile(file, `${testCase.once ? inOrder : ''}${testCase.variables}\n${statement};\n`)
    const output = await run(`${fixture.bin}/pgbench`, [
      ...['-n', '-M', 'prepared', '-D', 'step=-1', '-c', String(connections)],
      ...['-T', String(seconds), '-f', file, asEdgeFunctions(fixture.url)],
    ])
    await Deno.remove(file)
    const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1])
    return {
      rate: number(/tps = ([\d.]+)/),
      requests: number(/actually processed: (\d+)/),
      p50: number(/latency average = ([\d.]+)/),
      p99: NaN,
      failed: number(/failed transactions: (\d+)/),
    }
  })

const tokens = new Map<number, string>()

/** Writes the requests of a case for load.lua and returns the file's name. */
export const writeRequests = async (
  fixture: Fixture,
  { method, requests }: Case,
  pathOf: (request: CaseRequest) => string = ({ path }) => path,
) => {
  const file = await Deno.makeTempFile({ suffix: '.tsv' })
  const lines: string[] = []
  for (const request of requests) {
    const { user, body = '' } = request
    if (!tokens.has(user)) tokens.set(user, await fixture.token(user))
    lines.push([method, pathOf(request), tokens.get(user), body].join('\t'))
  }
  await Deno.writeTextFile(file, lines.join('\n') + '\n')
  return file
}
