// Run by full_queue.test.ts: so many as its argument says ask at once, while the database keeps them waiting. Prints what they were told; then what
// five were told whose statements failed, and five who came after them.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import users from '../../functions/users/index.ts'

const held: { resolve: (rows: { body: string }[]) => void; reject: (error: Error) => void }[] = []
provideQuery(() => {
  const { promise, resolve, reject } = Promise.withResolvers<{ body: string }[]>()
  held.push({ resolve, reject })
  return promise
})

const told = async (answer: Response | Promise<Response>) => {
  const { status, headers } = await answer
  return { status, retryAfter: headers.get('Retry-After'), kept: !headers.get('Cache-Control')?.includes('no-store') }
}

/** All ask before the database answers, or fails. */
const ask = async (times: number, fails = false) => {
  const answers = Array.from({ length: times }, () => told(users.fetch(new Request('http://x/users/interests'))))
  await new Promise((resolve) => setTimeout(resolve, 300))
  for (const { resolve, reject } of held.splice(0)) fails ? reject(new Error('planted')) : resolve([{ body: '[]' }])
  return await Promise.all(answers)
}

console.error = () => {}
console.log(JSON.stringify({ first: await ask(Number(Deno.args[0])), failed: await ask(5, true), then: await ask(5) }))
