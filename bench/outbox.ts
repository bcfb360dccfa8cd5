/**
 * What the outbox adds to sending a message: processor time of the backend and pages that it touches, in one session,
 * without it, with it, and with it and a webhook, in turns. Without it the trigger of messages lacks the part that
 * writes the outbox. On a Postgres on this machine that has the migrations:
 *   npx deno run -A bench/outbox.ts postgresql://postgres@127.0.0.1:5432/postgres [ROUNDS]
 */
import postgres from 'postgres'

const [url, rounds = '15'] = Deno.args
const sends = 1000
const sql = postgres(url!, { max: 1, fetch_types: false, onnotice: () => {} })
const [{ pid, voyager, conversation }] = await sql`
  with people as (
    insert into public.users (name, email)
    select 'Bench', gen_random_uuid() || '@bench.example' from generate_series(1, 2)
    returning id
  ),
  pair as (select min(id) as voyager, max(id) as local from people)
  insert into public.conversations (voyager_id, local_id) select voyager, local from pair
  returning pg_backend_pid() as pid, voyager_id as voyager, id as conversation
` as unknown as [{ pid: number; voyager: string; conversation: string }]
await sql`select set_config('api.caller', ${voyager}, false)`

/** Seconds of processor time of the backend: utime and stime in hundredths. */
const processorTime = (): number => {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const [{ trigger }] = await sql`
  select pg_get_functiondef('private.handle_new_message'::regproc) as trigger
` as unknown as [{ trigger: string }]
const withoutOutbox = trigger.replace(
  / {2}perform private\.notify\([^]*?(?= {2}perform private\.broadcast_to_users)/,
  '',
)
if (withoutOutbox === trigger) throw new Error('private.handle_new_message has changed: adapt what is taken out of it')
const variants: Record<string, string> = {
  off: withoutOutbox,
  on: `${trigger}; select private.adopt_outbox_settings(600, false)`,
  webhook: `${trigger}; select private.adopt_outbox_settings(600, true)`,
}
const milliseconds: Record<string, number[]> = { off: [], on: [], webhook: [] }

const send = async (): Promise<void> => {
  for (let number = 0; number < sends; number++) {
    await sql`select api.send_message(${conversation}, '{"content": "Hello"}')`
  }
}

await send()
for (let round = 0; round < Number(rounds); round++) {
  for (const [name, setUp] of Object.entries(variants)) {
    await sql.unsafe(setUp)
    const before = processorTime()
    await send()
    milliseconds[name]!.push((processorTime() - before) * 1000 / sends)
    await sql`delete from public.messages where conversation_id = ${conversation}`
    await sql`delete from private.outbox`
  }
}
const median = (values: number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!
const [off, on, webhook] = ['off', 'on', 'webhook'].map((name) => median(milliseconds[name]!)) as [
  number,
  number,
  number,
]
const share = (value: number) => `${Math.round((value / off - 1) * 100)} %`
console.log(
  `off ${off.toFixed(3)} ms, on ${on.toFixed(3)} ms (+${share(on)}), webhook ${webhook.toFixed(3)} ms (+${
    share(webhook)
  })`,
)
await sql.unsafe(variants.on!)
await sql.end()
