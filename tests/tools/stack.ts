import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestProject } from 'vitest/node'
import { makeDatabase } from './postgres.ts'
import { pause } from './wait.ts'

/** The stack of this test run and its keys. */
export interface Stack {
  origin: string
  base: string
  jwtSecret: string
  publishableKey: string
  secretKey: string
  /** The link to the dashboard, with its token. */
  dashboard: string
}

declare module 'vitest' {
  interface ProvidedContext {
    stack: Stack
  }
}

export const testKeys = {
  jwtSecret: 'test-secret-of-at-least-32-characters',
  publishableKey: 'sb_publishable_test',
  secretKey: 'sb_secret_test',
}

/** The dashboard's cookie, which its link sets. */
export const dashboardCookie = async (link: string): Promise<string> => {
  const { headers } = await fetch(link, { redirect: 'manual' })
  return headers.getSetCookie()[0]!.split(';')[0]!
}

/**
 * A DATA_DIR of this seed, with all embeddings, made by whoever needs it first. A stack on a copy starts with a third
 * of the processor time of one that migrates a new database.
 */
const preparedData = async (seed: string): Promise<string> => {
  const folder = join(process.env.STACK_DATA!, seed)
  while (!existsSync(folder)) {
    try {
      mkdirSync(`${folder}.lock`)
    } catch {
      await pause(50)
      continue
    }
    try {
      // Made between the look and the lock.
      if (existsSync(folder)) break
      const { base, process: process_ } = await startStack({ DATA_DIR: `${folder}.new`, SEED: seed })
      while ((await (await fetch(`${base}/health`)).json()).embeddings.pending > 0) await pause(50)
      await stopStack(process_)
      renameSync(`${folder}.new`, folder)
    } finally {
      // If that failed, the next one tries, and fails with its own reason instead of waiting.
      rmSync(`${folder}.new`, { recursive: true, force: true })
      rmdirSync(`${folder}.lock`)
    }
  }
  return folder
}

/** A new folder with a copy of it, for who needs no first start. */
export const copyPreparedData = async (seed = 'none'): Promise<string> => {
  const copy = mkdtempSync(join(tmpdir(), 'stack-'))
  cpSync(await preparedData(seed), copy, { recursive: true })
  return copy
}

/**
 * Starts `supabase/local/main.ts` in this folder, or with FUNCTIONS_DENO that of the bundles; resolves when it has
 * printed its ready line. Without DATABASE_URL and DATA_DIR it has a database of its own.
 */
export const startStack = async (
  env: Record<string, string> = {},
  folder = process.cwd(),
  command?: string[],
): Promise<{ base: string; process: ChildProcess; dashboard: string }> => {
  // The bundles have a connection of their own, so they need a server.
  const needsServer = process.env.FUNCTIONS_DENO && !env.DATABASE_URL
  const copy = needsServer || env.DATABASE_URL || env.DATA_DIR ? null : await copyPreparedData(env.SEED)
  const onBundles = env.FUNCTIONS_DENO ?? process.env.FUNCTIONS_DENO
  const main = onBundles ? 'tests/tools/bundles/stack.ts' : 'supabase/local/main.ts'
  const [program, ...args] = command ?? [`${process.cwd()}/node_modules/.bin/deno`, 'run', '-A', main]
  const process_ = spawn(program!, args, {
    cwd: folder,
    env: {
      ...process.env,
      PORT: '0',
      DATA_DIR: copy ?? 'memory',
      // Cheap password hashes: hashing would be a tenth of the processor time of all tests.
      LITE_AUTH_BCRYPT_COST: '4',
      SEED: 'none',
      JWT_SECRET: testKeys.jwtSecret,
      SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey,
      SUPABASE_SECRET_KEY: testKeys.secretKey,
      ...(needsServer && { DATABASE_URL: await makeDatabase('own') }),
      ...env,
    },
    stdio: ['ignore', 'pipe', process.env.STACK_LOG ? 'inherit' : 'pipe'],
  })
  process_.stderr?.resume()
  if (copy) process_.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  let dashboard = ''
  for await (const line of createInterface(process_.stdout!)) {
    dashboard ||= /^ *Dashboard +(http\S+)$/.exec(line)?.[1] ?? ''
    const ready = /^ready (\S+)$/.exec(line)
    if (ready) {
      process_.stdout!.resume()
      return { base: ready[1]!, process: process_, dashboard }
    }
  }
  throw new Error('The stack ended before it was ready; run again with STACK_LOG=1')
}

export const stopStack = async (process_: ChildProcess): Promise<void> => {
  if (process_.exitCode !== null || process_.signalCode !== null) return
  const exited = once(process_, 'exit')
  process_.kill('SIGTERM')
  await exited
}

/**
 * The stack of the whole project: PGlite in memory, or the Postgres of TEST_DATABASE_URL, there with the bundles of the
 * functions if FUNCTIONS_DENO is set.
 */
export default async (project: TestProject) => {
  // With all tests the root's is that of the projects on PGlite.
  const isForPglite = process.env.ALL_TESTS && project.isRootProject()
  const { TEST_DATABASE_URL: databaseUrl, FUNCTIONS_DENO }: Record<string, string | undefined> = isForPglite
    ? {}
    : { ...process.env, ...project.config.env }
  const prepared = mkdtempSync(join(tmpdir(), 'stacks-'))
  process.env.STACK_DATA = prepared
  const { base, process: process_, dashboard } = await startStack({
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { DATA_DIR: 'memory' }),
    ...(FUNCTIONS_DENO && { FUNCTIONS_DENO }),
  })
  project.provide('stack', { base, origin: new URL(base).origin, dashboard, ...testKeys })
  return async () => {
    await stopStack(process_)
    rmSync(prepared, { recursive: true, force: true })
  }
}
