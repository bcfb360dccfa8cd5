/** Posts to each URL and prints what became of it, or why. Arguments: allowed or refused, URLs. */
import { post } from '../../functions/notify/post.ts'

const [loopback, ...targets] = Deno.args
const request = { headers: { 'content-type': 'text/plain' }, body: new Uint8Array(100_000).fill(97) }
const options = { allowLoopback: loopback === 'allowed', timeoutMilliseconds: 10_000 }
const outcomes: string[] = []
for (const target of targets) {
  const { outcome, reason, retry_after } = await post(target, request, options)
  outcomes.push(`${reason ?? outcome}${retry_after ? `, again after ${retry_after} s` : ''}`)
}
console.log(JSON.stringify(outcomes))
Deno.exit(0)
