// Workers that are killed while they embed, and the processor time that an isolate of Supabase has: 2 s, after 1 s no
// further request (github.com/supabase/edge-runtime, crates/base/src/worker/supervisor/strategy_per_worker.rs).
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { listen } from '../tools/ports.ts'
import { serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const { owner: sql, url } = await useCopy('embedded')
const [softLimit, hardLimit] = [1000, 2000]
const { deno } = denoVersions()[1]!
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of all threads of a process in milliseconds; null if it has ended. */
const processorTime = (pid: number): number | null => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return fields[0] === 'Z' ? null : (Number(fields[11]) + Number(fields[12])) * 1000 / ticksPerSecond
  } catch {
    return null
  }
}

/**
 * Starts the function's bundle, and kills it with SIGKILL when it has used 2 s of processor time, without the start.
 */
const startIsolate = async (env: Record<string, string>) => {
  const settings = { EDGE_DATABASE_URL: url('edge_functions'), SUPABASE_SECRET_KEY: testKeys.secretKey, ...env }
  const options = ['--no-config', '--no-lock', '--no-npm']
  const { base, pid, stop } = await serveFunction('dist/functions/embed/index.js', settings, { deno, options })
  const atStart = processorTime(pid)!
  const used = (): number => (processorTime(pid) ?? atStart) - atStart
  const timer = setInterval(() => {
    if (used() > hardLimit) process.kill(pid, 'SIGKILL')
  }, 20)
  onTestFinished(() => {
    clearInterval(timer)
    stop()
  })
  return {
    used,
    pid,
    /** Calls the function as the schedule does: how many it made, or null if it was killed. */
    embed: async (): Promise<number | null> => {
      const ask = async (): Promise<number> => {
        const answer = await fetch(`${base}/embed`, { method: 'POST', headers: { apikey: testKeys.secretKey } })
        return (await answer.json()).made
      }
      try {
        return await ask()
      } catch {
        for (let tries = 0; tries < 20 && processorTime(pid) !== null; tries++) await pause(50)
        // It lives: the connection was left of an earlier isolate at this port.
        return processorTime(pid) === null ? null : await ask()
      }
    },
  }
}

const addProfiles = async (...biographies: string[]): Promise<void> => {
  for (const biography of biographies) {
    const email = `${crypto.randomUUID()}@example.com`
    // In this order: one after another, and for the worker's model, whose adoption would make all due at one time.
    await sql`
      with person as (insert into public.users (name, email) values ('Ana', ${email}) returning id)
      insert into public.profiles (user_id, biography, is_searchable) select id, ${biography}, true from person`
    await sql`
      update private.embedding_queue set due_at = now() - interval '1 hour' + id * interval '1 millisecond',
        model = 'text-embedding-3-small' where id = (select max(id) from public.profiles)`
  }
}
const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${String(index).padStart(3, '0')}`)
const embedded = async (): Promise<string[]> => {
  const rows = await sql`select biography from private.search_entries where embedding is not null order by biography`
  return rows.map(({ biography }) => biography)
}
const queued = async () => [
  ...await sql`
    select entry.biography, attempts, due_at <= now() as due, due_at <= now() + interval '1 minute' as soon
    from private.embedding_queue
    join private.search_entries as entry on kind = 'profile' and entry.profile_id = id
    order by entry.biography`,
]
const passTime = () => sql`update private.embedding_queue set due_at = now() - interval '1 second' where due_at > now()`

beforeEach(async () => {
  // Not truncated, which the history of reservations refuses.
  await sql`delete from public.users`
  await sql`delete from private.embedding_queue`
})

/** An API as OpenAI's. At a text that contains `dies` it calls `kill`. */
const startProvider = async () => {
  const provider = { batches: [] as string[][], env: {}, kill: () => {} }
  const server = createServer(async (request, answer) => {
    const { input } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { input: string[] }
    provider.batches.push(input)
    if (input.some((text) => text.includes('dies'))) provider.kill()
    const embedding = Array.from({ length: 384 }, (_, index) => Math.cos(index))
    answer.writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding })) }))
  })
  provider.env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `http://127.0.0.1:${await listen(server)}/v1` }
  onTestFinished(() => void server.close())
  return provider
}

test('with the offline model a backlog stays within the processor time of an isolate', async () => {
  const sentence = (n: number) => `Every ${n} weeks I hike in the mountains, cook for friends and repair old bicycles`
  const biography = Array.from({ length: 40 }, (_, n) => sentence(n)).join('. ')
  await sql`
    with people as (
      insert into public.users (name, email) select 'Ana', n || '@example.com' from generate_series(1, 400) as n
      returning id
    )
    insert into public.profiles (user_id, biography, is_searchable) select id, ${biography}, true from people`
  let [isolate, made] = [await startIsolate({}), 0]
  // On a busy machine a call makes a single batch, of 16.
  for (let calls = 0; calls <= 400 / 16; calls++) {
    // The platform gives a request to another isolate after 1 s.
    if (isolate.used() > softLimit) isolate = await startIsolate({})
    const answer = await isolate.embed()
    expect(answer).not.toBe(null)
    made += answer!
    if (answer === 0) break
  }
  expect(made).toBe(400)
  const [counts] = await sql`
    select count(*)::integer as sentences, count(distinct profile_id)::integer as profiles
    from private.search_sentences`
  expect(counts).toEqual({ sentences: 400 * 32, profiles: 400 })
})

test('if a worker is killed, its embeddings stay, and only what it had begun has an attempt', async () => {
  const provider = await startProvider()
  const isolate = await startIsolate(provider.env)
  provider.kill = () => process.kill(isolate.pid, 'SIGKILL')
  const good = texts(16)
  await addProfiles(...good, 'w dies', 'x begun')
  expect(await isolate.embed()).toBe(null)
  expect(await embedded()).toEqual(good)
  expect(await queued()).toEqual([
    { biography: 'w dies', attempts: 1, due: false, soon: true },
    { biography: 'x begun', attempts: 1, due: false, soon: true },
  ])
})

test('a text that kills its worker each time becomes a dead letter, and kills no other text', async () => {
  const provider = await startProvider()
  await addProfiles('0 dies', '1 good', '2 good')
  const kill = async () => {
    // Due first, so that each worker meets it first.
    await sql`
      update private.embedding_queue set due_at = now() - interval '1 day' + id * interval '1 second'
      where attempts > 0`
    const { embed, pid } = await startIsolate(provider.env)
    provider.kill = () => process.kill(pid, 'SIGKILL')
    expect(await embed()).toBe(null)
    return provider.batches.at(-1)!.length
  }
  // From the second time on alone.
  expect(await kill()).toBe(3)
  await addProfiles('3 changed meanwhile')
  expect(await kill()).toBe(1)
  await sql`update private.embedding_queue set attempts = 7 where attempts = 2`
  expect(await kill()).toBe(1)
  const others = ['1 good', '2 good', '3 changed meanwhile']
  expect(await queued()).toMatchObject([
    { biography: '0 dies', attempts: 8 },
    ...[1, 1, 0].map((attempts, n) => ({ biography: others[n], attempts })),
  ])
  await passTime()
  expect(await (await startIsolate(provider.env)).embed()).toBe(3)
  expect(await embedded()).toEqual(others)
})
