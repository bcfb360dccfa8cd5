// Run by full_queue.test.ts with a count: so many requests at once, on a database that holds them. Prints their
// answers, then those of five requests whose statements fail, and of five more.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import users from '../../functions/users/index.ts'

const held: { resolve: (rows: { body: string }[]) => void; reject: (error: Error) => void }[] = []
provideQuery(() => {
  const { promise, resolve, reject } = Promise.withResolvers<{ body: string }[]>()
  held.push({ resolve, reject })
  return promise
})

const get = async () => {
  const { status, headers } = await users.fetch(new Request('http://x/users/interests'))
  const cacheable = !headers.get('Cache-Control')?.includes('no-store')
  return { status, retryAfter: headers.get('Retry-After'), cacheable }
}

/** Sends all requests before the database answers, or fails. */
const send = async (count: number, fails = false) => {
  const answers = Array.from({ length: count }, get)
  await new Promise((resolve) => setTimeout(resolve, 300))
  for (const { resolve, reject } of held.splice(0)) fails ? reject(new Error('seeded')) : resolve([{ body: '[]' }])
  return await Promise.all(answers)
}

console.error = () => {}
const first = await send(Number(Deno.args[0]))
console.log(JSON.stringify({ first, failed: await send(5, true), then: await send(5) }))
