// Run by search_concurrency.test.ts: so many as its first argument says search at once, while the database keeps them waiting for as many
// milliseconds as its second says. Prints how many statements
// reached it, what somebody was told meanwhile who did not search, and what those who searched were told.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import users from '../../functions/users/index.ts'

const held: (() => void)[] = []
provideQuery(async (text) => {
  if (text.includes('search_profiles')) await new Promise<void>((resolve) => held.push(resolve))
  return [{ body: '[]' }]
})

const ask = async (path: string) => {
  const { status, headers } = await users.fetch(new Request(`http://x/users/${path}`))
  return { status, retryAfter: headers.get('Retry-After') }
}
const settle = () => new Promise((resolve) => setTimeout(resolve, Number(Deno.args[1])))

const searches = Array.from({ length: Number(Deno.args[0]) }, () => ask('search'))
await settle()
const underWay = held.length
const { status: meanwhile } = await ask('interests')
const answers = Promise.all(searches)
let most = underWay
let done = false
void answers.then(() => done = true)
while (!done) {
  most = Math.max(most, held.length)
  for (const release of held.splice(0)) release()
  await new Promise((resolve) => setTimeout(resolve))
}
console.log(JSON.stringify({ underWay, most, meanwhile, answers: await answers }))
