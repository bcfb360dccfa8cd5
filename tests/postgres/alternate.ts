/**
 * Calls the functions' database handle as several callers in alternation: the accounts of the arguments, an anonymous
 * one and edge_functions itself. Prints how often each caller got which answer: {"<caller>": {"<answer>": count}}.
 *   deno run -A tests/postgres/alternate.ts ROUNDS ACCOUNT…        (EDGE_DATABASE_URL)
 */
import { actAs, asService } from '../../functions/_shared/rpc.ts'

const [rounds, ...accounts] = Deno.args
const exp = Date.now() / 1000 + 3600
const callers: [string, () => Promise<string>][] = [
  ...accounts.map((sub): [string, () => Promise<string>] => [
    sub,
    async () => (await actAs({ sub, exp }, true)`describe_caller(${{}})`).body,
  ]),
  ['anonymous', async () => (await actAs(null, false)`describe_caller(${{}})`).body],
  ['edge_functions', () => asService`describe_caller()`],
]

const counts: Record<string, Record<string, number>> = {}
for (let round = 0; round < Number(rounds); round++) {
  await Promise.all(callers.map(async ([caller, call]) => {
    const answer = await call().catch((error: Error) => `error: ${error.message}`)
    const answers = counts[caller] ??= {}
    answers[answer] = (answers[answer] ?? 0) + 1
  }))
}
console.log(JSON.stringify(counts))
Deno.exit(0)
