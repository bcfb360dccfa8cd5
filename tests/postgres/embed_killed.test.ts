// Workers that are killed while they embed, and the processor time that an isolate of Supabase has: 2 s, after 1 s no
// further request (github.com/supabase/edge-runtime, crates/base/src/worker/supervisor/strategy_per_worker.rs).
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import postgres from 'postgres'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { denoVersions } from '../tools/deno_versions.ts'
import { listen } from '../tools/ports.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { platform } from '../tools/supabase.ts'

const sql = postgres(platform('embedded'), { max: 1, onnotice: () => {} })
afterAll(() => sql.end())

const softLimit = 1000
const hardLimit = 2000
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of all threads of a process in milliseconds; null if it has ended. */
const processorTime = (pid: number): number | null => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    if (fields[0] === 'Z') return null
    return (Number(fields[11]) + Number(fields[12])) * 1000 / ticksPerSecond
  } catch {
    return null
  }
}

interface Isolate extends ServedFunction {
  used: () => number | null
  began: () => string[]
}

/**
 * Starts the function, and kills it with SIGKILL when it has used 2 s of processor time. The start is not counted: here
 * Deno compiles what the platform gets as a bundle.
 */
const startIsolate = async (deno: string, env: Record<string, string>): Promise<Isolate> => {
  const served = await serveFunction('tests/postgres/embed_with_model.ts', {
    EDGE_DATABASE_URL: platform('embedded', 'edge_functions'),
    SUPABASE_SECRET_KEY: testKeys.secretKey,
    ...env,
  }, { deno })
  const atStart = processorTime(served.pid)!
  const used = () => {
    const now = processorTime(served.pid)
    return now === null ? null : now - atStart
  }
  const timer = setInterval(() => {
    const time = used()
    if (time !== null && time > hardLimit) process.kill(served.pid, 'SIGKILL')
  }, 20)
  const stop = () => {
    clearInterval(timer)
    served.stop()
  }
  onTestFinished(stop)
  const began = () => [...served.log().matchAll(/^began \W*(.*)$/gm)].map(([, text]) => text!)
  return { ...served, used, began, stop }
}

/** Calls the function as the schedule does. Null if the isolate was killed. */
const embed = async ({ base }: Isolate): Promise<number | null> => {
  try {
    const answer = await fetch(`${base}/embed`, { method: 'POST', headers: { apikey: testKeys.secretKey } })
    const { made } = await answer.json()
    return made
  } catch {
    return null
  }
}

const addProfile = async (biography: string): Promise<number> => {
  const email = `${crypto.randomUUID()}@example.com`
  const [user] = await sql`insert into public.users (name, email) values ('Ana', ${email}) returning id`
  const [profile] = await sql`
    insert into public.profiles (user_id, biography, is_searchable) values (${user!.id}, ${biography}, true)
    returning id
  `
  // One after another, so that they are embedded in this order.
  await sql`
    update private.embedding_queue set due_at = now() - interval '1 hour' + id * interval '1 millisecond'
    where kind = 'profile' and id = ${profile!.id}
  `
  return Number(profile!.id)
}
const addProfiles = async (biographies: string[]) => {
  for (const biography of biographies) await addProfile(biography)
}

const texts = (rows: postgres.RowList<postgres.Row[]>) => rows.map(({ biography }) => biography)
const embedded = async () =>
  texts(await sql`select biography from private.search_entries where embedding is not null order by biography`)
const queued = () =>
  sql`
    select entry.biography, attempts, due_at <= now() as due, due_at <= now() + interval '1 minute' as soon
    from private.embedding_queue
    join private.search_entries as entry on kind = 'profile' and entry.profile_id = id
    order by entry.biography
  `
/** As time does: every job becomes due. */
const passTime = () => sql`update private.embedding_queue set due_at = now() - interval '1 second'`

beforeEach(async () => {
  // Not truncated, which the history of reservations refuses.
  await sql`delete from public.users`
  await sql`delete from private.embedding_queue`
})

describe.each(denoVersions())('on $version', ({ deno }) => {
  const model = { EACH: '150', LOAD: '1500' }

  test('a backlog is embedded within the processor time of each isolate, and no isolate is killed', async () => {
    const names = Array.from({ length: 16 }, (_, index) => `text ${String(index).padStart(2, '0')}`)
    await addProfiles(names)
    let isolate = await startIsolate(deno, model)
    let calls = 0
    for (; (await queued()).length > 0 && calls < 16; calls++) {
      // The platform gives a request to another isolate after 1 s.
      if (isolate.used()! > softLimit) isolate = await startIsolate(deno, model)
      const made = await embed(isolate)
      expect({ killed: made === null, progress: made !== 0 }).toEqual({ killed: false, progress: true })
    }
    expect(await embedded()).toEqual(names)
    // As many as fit: waiting for the model is not processor time.
    expect(calls).toBeLessThanOrEqual(6)
  }, 120_000)

  test('if a worker is killed, its embeddings stay, and only the text that it had begun has an attempt', async () => {
    await addProfiles(['1 good', '2 dies', '3 waits', '4 waits'])
    expect(await embed(await startIsolate(deno, { EACH: '1' }))).toBe(null)
    expect(await embedded()).toEqual(['1 good'])
    expect(await queued()).toEqual([
      { biography: '2 dies', attempts: 1, due: false, soon: true },
      { biography: '3 waits', attempts: 0, due: true, soon: true },
      { biography: '4 waits', attempts: 0, due: true, soon: true },
    ])
    // The next call makes them at once.
    expect(await embed(await startIsolate(deno, { EACH: '1' }))).toBe(2)
    expect(await embedded()).toEqual(['1 good', '3 waits', '4 waits'])
  })
})

const { deno } = denoVersions()[0]!

test('a text that kills its worker each time becomes a dead letter, and kills no other text', async () => {
  await addProfiles(['0 dies', '1 good', '2 good'])
  for (let kills = 1; kills <= 8; kills++) {
    if (kills === 2) await addProfile('3 changed meanwhile')
    await passTime()
    // Due first, so that each worker meets it first.
    await sql`
      update private.embedding_queue set due_at = now() - interval '1 day' where attempts > 0
    `
    const isolate = await startIsolate(deno, { EACH: '1' })
    expect(await embed(isolate)).toBe(null)
    expect(isolate.began()).toEqual(['0 dies'])
  }
  const others = { attempts: 0, due: true }
  expect(await queued()).toMatchObject([
    { biography: '0 dies', attempts: 8 },
    { biography: '1 good', ...others },
    { biography: '2 good', ...others },
    { biography: '3 changed meanwhile', ...others },
  ])
  await passTime()
  expect(await embed(await startIsolate(deno, { EACH: '1' }))).toBe(3)
  expect(await embedded()).toEqual(['1 good', '2 good', '3 changed meanwhile'])
}, 120_000)

test('workers that run at once embed every text once', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `text ${String(index).padStart(2, '0')}`)
  await addProfiles(names)
  const isolates = await Promise.all([1, 2, 3].map(() => startIsolate(deno, { EACH: '10' })))
  const made = await Promise.all(isolates.map(embed))
  expect(made.reduce((sum: number, count) => sum + count!, 0)).toBe(40)
  expect(Math.min(...made as number[])).toBeGreaterThan(0)
  expect(isolates.flatMap(({ began }) => began()).toSorted()).toEqual(names)
  expect(await embedded()).toEqual(names)
})

test('GET /health names the model without loading it', () => {
  const script = `
    globalThis.Supabase = { ai: { Session: class { constructor() { console.log('loads') } } } }
    const { default: health } = await import('./functions/health/index.ts')
    const answer = await health.fetch(new Request('http://localhost/health'))
    console.log(JSON.stringify(await answer.json()))
    Deno.exit()`
  const printed = execFileSync(deno, ['eval', '--ext=ts', '--no-check', script], {
    encoding: 'utf8',
    env: { ...process.env, EDGE_DATABASE_URL: platform('embedded', 'edge_functions'), OPENAI_API_KEY: '' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim().split('\n').filter((line) => !line.includes('"level"'))
  expect(printed).toEqual([JSON.stringify({
    status: 'ok',
    database: 'ok',
    embeddings: { provider: 'gte-small', model: 'gte-small', pending: 0 },
  })])
})

describe('with a provider that embeds a batch in one call', () => {
  const startProvider = async () => {
    const batches: number[] = []
    const provider = { batches, outage: null as number | 'drops' | null, env: {} as Record<string, string> }
    const server = createServer(async (request, answer) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const { input } = JSON.parse(body) as { input: string[] }
      batches.push(input.length)
      const json = (status: number, content: unknown) =>
        answer.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(content))
      if (provider.outage === 'drops') return answer.destroy()
      if (provider.outage) return json(provider.outage, { error: { message: 'Not now' } })
      if (input.some((text) => text.includes('refused'))) return json(400, { error: { message: 'Invalid input' } })
      const embedding = Array.from({ length: 384 }, (_, index) => Math.cos(index))
      const data = input.map((_, index) => ({ object: 'embedding', index, embedding }))
      json(200, { object: 'list', model: 'm', data, usage: { prompt_tokens: 1, total_tokens: 1 } })
    })
    const port = await listen(server)
    onTestFinished(() => void server.close())
    provider.env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` }
    return provider
  }

  test('a text that the provider refuses costs the others no attempt, and becomes a dead letter', async () => {
    const others = Array.from({ length: 20 }, (_, index) => `text ${String(index).padStart(2, '0')}`)
    await addProfiles(['refused', ...others])
    const { batches, env } = await startProvider()
    const isolate = await startIsolate(deno, env)
    expect(await embed(isolate)).toBe(0)
    expect(batches).toEqual([21])
    const made: (number | null)[] = []
    for (let round = 0; round < 2; round++) {
      await sql`update private.embedding_queue set due_at = now() - interval '1 second' where due_at > now()`
      made.push(await embed(isolate))
    }
    expect(await embedded()).toEqual(others)
    expect(made.at(-1)).toBeLessThanOrEqual(20)
    expect(Math.max(...batches.slice(1))).toBe(1)
    // The refusal of the batch does not count against it.
    expect(await queued()).toMatchObject([{ biography: 'refused', attempts: 2 }])
    for (let round = 0; round < 7; round++) {
      await passTime()
      await embed(isolate)
    }
    expect(await queued()).toMatchObject([{ biography: 'refused', attempts: 8 }])
  })

  test.each<[string, number | 'drops']>([
    ['answers 400 to everything', 400],
    ['answers 401', 401],
    ['answers 403', 403],
    ['answers 404', 404],
    ['answers 422 to everything', 422],
    ['answers 429', 429],
    ['answers 500', 500],
    ['answers 503', 503],
    ['drops connections', 'drops'],
  ])('while it %s, for however long, no text becomes a dead letter; afterwards all are embedded', async (_, outage) => {
    await addProfiles(['one', 'three', 'two'])
    const provider = await startProvider()
    provider.outage = outage
    const isolate = await startIsolate(deno, provider.env)
    // Each text alone more often than a text that is refused.
    for (let round = 0; round < 30; round++) {
      await passTime()
      expect(await embed(isolate)).toBe(0)
    }
    expect(await queued()).toEqual(
      ['one', 'three', 'two'].map((biography) => ({
        biography,
        attempts: 0,
        due: expect.any(Boolean),
        soon: expect.any(Boolean),
      })),
    )
    // At the end of the outage the longest wait is 16 minutes.
    const [queue] = await sql`
      select max(due_at) < now() + interval '16 minutes 1 second' as is_short from private.embedding_queue
    `
    expect(queue!.is_short).toBe(true)
    provider.outage = null
    await passTime()
    expect(await embed(isolate)).toBe(3)
    expect(await embedded()).toEqual(['one', 'three', 'two'])
  })

  test('a backlog is embedded in batches', async () => {
    await addProfiles(Array.from({ length: 130 }, (_, index) => `text ${index}`))
    const { batches, env } = await startProvider()
    expect(await embed(await startIsolate(deno, env))).toBe(130)
    expect(batches).toEqual([64, 64, 2])
  })
})
