// Run by body_ends.test.ts: a body of no stated length that breaks off. Prints what its sender is told, and what is in the log.
import auth from '../../functions/auth/index.ts'

const lines: string[] = []
console.error = console.warn = (line: string) => lines.push(line)
console.info = () => {}
const body = new ReadableStream({
  start: (stream) => {
    stream.enqueue(new TextEncoder().encode('{"email":'))
    setTimeout(() => stream.error(new TypeError('planted')), 50)
  },
})
const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
const answer = await auth.fetch(new Request('http://x/auth/login', { method: 'POST', headers, body }))
console.log(JSON.stringify({ status: answer.status, body: await answer.json(), lines }))
Deno.exit(0)
