// Run by truncated_body.test.ts: sends a body without a length that ends in an error. Prints the answer and the log.
import auth from '../../functions/auth/index.ts'

const lines: string[] = []
console.error = console.warn = (line: string) => lines.push(line)
console.info = () => {}
const body = new ReadableStream({
  start: (stream) => {
    stream.enqueue(new TextEncoder().encode('{"email":'))
    setTimeout(() => stream.error(new TypeError('connection lost')), 50)
  },
})
const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
const answer = await auth.fetch(new Request('http://x/auth/login', { method: 'POST', headers, body }))
console.log(JSON.stringify({ status: answer.status, body: await answer.json(), lines }))
Deno.exit(0)
