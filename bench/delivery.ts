/**
 * How long from the answer that a sender gets until the receiver hears of the message.
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
  let said = ''
  for await (const text of stack.stdout.pipeThrough(new TextDecoderStream())) {
    const base = /^ready (\S+)$/m.exec(said += text)?.[1]
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
const heard = new Map<number, number>()
const channel = client.channel(`user:${ben.user.id}`, { config: { private: true } })
channel.on('broadcast', { event: 'message.created' }, ({ payload }) => heard.set(payload.id, performance.now()))
await new Promise<void>((resolve) => channel.subscribe((status) => status === 'SUBSCRIBED' && resolve()))

const percentile = (values: number[], share: number): string =>
  values.toSorted((one, other) => one - other)[Math.floor(share * (values.length - 1))]!.toFixed(1).padStart(8)

console.log(`${count} messages             p50      p95      max   (ms)`)
for (const [label, width] of [['one after another', 1], ['eight at a time', 8]] as const) {
  heard.clear()
  const sent: { id: number; asked: number; answered: number }[] = []
  const send = async () => {
    while (sent.length < count) {
      const asked = performance.now()
      const { id } = await post(`/conversations/${conversation}/messages`, { content: 'Hello' }, ana.access_token)
      sent.push({ id, asked, answered: performance.now() })
    }
  }
  await Promise.all(Array.from({ length: width }, send))
  while (sent.some(({ id }) => !heard.has(id))) await new Promise((resolve) => setTimeout(resolve, 5))
  const rows = {
    // Below zero the receiver knew before the sender.
    'answer to event': sent.map(({ id, answered }) => heard.get(id)! - answered),
    'request to event': sent.map(({ id, asked }) => heard.get(id)! - asked),
  }
  for (const [what, values] of Object.entries(rows)) {
    console.log(
      `${label.padEnd(18)} ${what.padEnd(17)}${[0.5, 0.95, 1].map((share) => percentile(values, share)).join(' ')}`,
    )
  }
}
stack.kill('SIGTERM')
await stack.status
Deno.exit(0)
