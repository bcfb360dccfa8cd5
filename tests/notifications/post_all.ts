/** Posts to each URL and prints what became of it: a status, or why not. Arguments: allowed or refused, URLs. */
import { post } from '../../functions/notify/post.ts'

const [loopback, ...targets] = Deno.args
const request = { headers: { 'content-type': 'text/plain' }, body: new Uint8Array(100_000).fill(97) }
const options = { allowLoopback: loopback === 'allowed', timeoutMilliseconds: 10_000 }
const outcomes: (number | string)[] = []
for (const target of targets) {
  const outcome = await post(target, request, options).catch(({ message }) => ({ message }))
  if ('message' in outcome) outcomes.push(outcome.message)
  else outcomes.push(outcome.retryAfter ? `${outcome.status}, again after ${outcome.retryAfter} s` : outcome.status)
}
console.log(JSON.stringify(outcomes))
Deno.exit(0)
