/**
 * Run by answers.test.ts: one connection, one statement that takes too long, and callers that arrive meanwhile. Prints
 * which answer each caller got: {"<caller>": "<caller of the answer>" or "error"}.
 *   DATABASE_POOL=1 EDGE_DATABASE_URL=… deno run -A tests/postgres/give_up.ts
 */
import { actAs } from '../../functions/_shared/rpc.ts'

const told: Record<string, string> = {}
const ask = async (who: string, seconds: number): Promise<void> => {
  told[who] = await actAs(null, false)`echo_after(${seconds}, ${who})`.then(
    ({ body }) => JSON.parse(body),
    () => 'error',
  )
}
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

// Only prepared statements are pipelined.
await ask('beforehand', 0)
const asked = [ask('the slow one', 9)]
for (const who of ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']) {
  asked.push(ask(who, 0))
  await pause(1500)
}
await Promise.all(asked)
await ask('afterwards', 0)
console.log(JSON.stringify(told))
Deno.exit(0)
