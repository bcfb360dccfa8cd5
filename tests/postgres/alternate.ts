/**
 * Callers take turns on the doors' own handle of the database: the accounts of the arguments, somebody anonymous, and the doors themselves.
 * Prints what each was told, counted: {"<who asked>": {"<answer>": times}}.
 *   deno run -A tests/postgres/alternate.ts ROUNDS ACCOUNT…        (EDGE_DATABASE_URL)
 */
import { actAs, asService } from '../../functions/_shared/rpc.ts'

const [rounds, ...accounts] = Deno.args
const exp = Date.now() / 1000 + 3600
const callers: [string, () => Promise<string>][] = [
  ...accounts.map((sub): [string, () => Promise<string>] => [
    sub,
    async () => (await actAs({ sub, exp }, true)`tell_who_i_am(${{}})`).body,
  ]),
  ['anonymous', async () => (await actAs(null, false)`tell_who_i_am(${{}})`).body],
  ['doors', () => asService`tell_who_i_am()`],
]

const told: Record<string, Record<string, number>> = {}
for (let round = 0; round < Number(rounds); round++) {
  await Promise.all(callers.map(async ([who, ask]) => {
    const answer = await ask().catch((error: Error) => `error: ${error.message}`)
    const answers = told[who] ??= {}
    answers[answer] = (answers[answer] ?? 0) + 1
  }))
}
console.log(JSON.stringify(told))
Deno.exit(0)
