// Run by search_concurrency.test.ts with a count and a time in ms: so many searches at once, on a database that holds
// each for so long. Prints how many statements reached it, the status of another request meanwhile, and the answers.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import users from '../../functions/users/index.ts'

const held: (() => void)[] = []
provideQuery(async (text) => {
  if (text.includes('search_profiles')) await new Promise<void>((resolve) => held.push(resolve))
  return [{ body: '[]' }]
})

const get = async (path: string) => {
  const { status, headers } = await users.fetch(new Request(`http://x/users/${path}`))
  return { status, retryAfter: headers.get('Retry-After') }
}

const searches = Array.from({ length: Number(Deno.args[0]) }, () => get('search'))
await new Promise((resolve) => setTimeout(resolve, Number(Deno.args[1])))
const running = held.length
const { status: meanwhile } = await get('interests')
const answers = Promise.all(searches)
let maxRunning = running
let done = false
void answers.then(() => done = true)
while (!done) {
  maxRunning = Math.max(maxRunning, held.length)
  for (const release of held.splice(0)) release()
  await new Promise((resolve) => setTimeout(resolve))
}
console.log(JSON.stringify({ running, maxRunning, meanwhile, answers: await answers }))
