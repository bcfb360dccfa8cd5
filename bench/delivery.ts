/**
 * The time from the sender's response until the receiver's event.
 *   deno run -A bench/delivery.ts [MESSAGES]        on PGlite in memory, or on the Postgres of DATABASE_URL
 */
import { createClient } from '@supabase/supabase-js'

const count = Number(Deno.args[0] ?? 500)
const environment = { PORT: '0', DATA_DIR: 'memory', SEED: 'none', SUPABASE_PUBLISHABLE_KEY: 'sb_publishable_bench' }
const stack = new Deno.Command(Deno.execPath(), {
  args: ['run', '-A', new URL('../supabase/local/main.ts', import.meta.url).pathname],
  env: environment,
  stdout: 'piped',
}).spawn()

const ready = async (): Promise<string> => {
  let output = ''
  for await (const text of stack.stdout.pipeThrough(new TextDecoderStream())) {
    const base = /^ready (\S+)$/m.exec(output += text)?.[1]
    if (base) return base
  }
  throw new Error('The stack did not start')
}
const base = await ready()

const post = async (path: string, body: unknown, token = '') => {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  if (response.status !== 201) throw new Error(`${path} answered ${response.status} ${await response.text()}`)
  return await response.json()
}

const signUp = (name: string) =>
  post('/auth/signup', { email: `${name}.${Date.now()}@example.com`, password: 'correct horse', name })
const [ana, ben] = [await signUp('ana'), await signUp('ben')]
const { id: conversation } = await post('/conversations', { other_user_id: ben.user.id }, ana.access_token)

const client = createClient(new URL(base).origin, environment.SUPABASE_PUBLISHABLE_KEY, {
  accessToken: () => Promise.resolve(ben.access_token),
})
await client.realtime.setAuth()
const receivedAt = new Map<number, number>()
const channel = client.channel(`user:${ben.user.id}`, { config: { private: true } })
channel.on('broadcast', { event: 'message.created' }, ({ payload }) => receivedAt.set(payload.id, performance.now()))
await new Promise<void>((resolve) => channel.subscribe((status) => status === 'SUBSCRIBED' && resolve()))

const percentile = (values: number[], share: number): string =>
  values.toSorted((one, other) => one - other)[Math.floor(share * (values.length - 1))]!.toFixed(1).padStart(8)

console.log(`${count} messages             p50      p95      max   (ms)`)
for (const [label, concurrency] of [['sequential', 1], ['8 concurrent', 8]] as const) {
  receivedAt.clear()
  const sent: { id: number; start: number; answered: number }[] = []
  const send = async () => {
    while (sent.length < count) {
      const start = performance.now()
      const { id } = await post(`/conversations/${conversation}/messages`, { content: 'Hello' }, ana.access_token)
      sent.push({ id, start, answered: performance.now() })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, send))
  while (sent.some(({ id }) => !receivedAt.has(id))) await new Promise((resolve) => setTimeout(resolve, 5))
  const rows = {
    // Negative if the event came before the response.
    'response to event': sent.map(({ id, answered }) => receivedAt.get(id)! - answered),
    'request to event': sent.map(({ id, start }) => receivedAt.get(id)! - start),
  }
  for (const [name, values] of Object.entries(rows)) {
    console.log(
      `${label.padEnd(18)} ${name.padEnd(17)}${[0.5, 0.95, 1].map((share) => percentile(values, share)).join(' ')}`,
    )
  }
}
stack.kill('SIGTERM')
await stack.status
Deno.exit(0)
