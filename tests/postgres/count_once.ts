/**
 * Run by pooler.test.ts: calls private.count_once with 200 numbers, ten at a time. Prints {"answers": [<number>, …]}.
 *   EDGE_DATABASE_URL=… DATABASE_POOL=… deno run -A tests/postgres/count_once.ts
 */
import process from 'node:process'
import { asService } from '../../functions/_shared/rpc.ts'

const answers: number[] = []
for (let from = 0; from < 200; from += 10) {
  const calls = Array.from({ length: 10 }, (_, index) => asService`count_once(${from + index})`)
  answers.push(...(await Promise.all(calls)).map(Number))
}
console.log(JSON.stringify({ answers }))
process.exit(0)
