/**
 * Run by answers.test.ts: one connection, one statement that takes too long, and callers that arrive meanwhile. Prints
 * which answer each caller got: {"<caller>": "<caller of the answer>" or "error"}.
 *   DATABASE_POOL=1 EDGE_DATABASE_URL=… deno run -A tests/postgres/give_up.ts
 */
import { actAs } from '../../functions/_shared/rpc.ts'
import { pause } from '../tools/wait.ts'

const answers: Record<string, string> = {}
const call = async (caller: string, seconds: number): Promise<void> => {
  answers[caller] = await actAs(null, false)`echo_after(${seconds}, ${caller})`.then(
    ({ body }) => JSON.parse(body),
    () => 'error',
  )
}

// Only prepared statements are pipelined.
await call('before', 0)
const calls = [call('slow', 9)]
for (const caller of ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']) {
  calls.push(call(caller, 0))
  await pause(1500)
}
await Promise.all(calls)
await call('after', 0)
console.log(JSON.stringify(answers))
Deno.exit(0)
