/**
 * Run by pooler.test.ts: a queue that is full behind one slow statement. Prints what each caller got, its own name or
 * the status of an error, and after how many milliseconds.
 *   DATABASE_POOL=1 DATABASE_QUEUE=… EDGE_DATABASE_URL=… deno run -A tests/postgres/full_queue.ts CALLERS SECONDS
 */
import { actAs } from '../../functions/_shared/rpc.ts'

const [callers, seconds] = Deno.args.map(Number)
const call = async (caller: string, seconds: number) => {
  const begin = performance.now()
  const answer = await actAs(null, false)`echo_after(${seconds}, ${caller})`.then(
    ({ body }) => JSON.parse(body),
    (error) => error.status ?? error.code,
  )
  return { caller, answer, milliseconds: Math.round(performance.now() - begin) }
}
// The connection is open before the rest.
await call('before', 0)
const calls = [call('slow', seconds!)]
for (let index = 0; index < callers!; index++) calls.push(call(`caller ${index}`, 0))
console.log(JSON.stringify({ calls: await Promise.all(calls), after: await call('after', 0) }))
Deno.exit(0)
