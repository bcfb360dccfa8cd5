/**
 * A mail server or push service in a process of its own, to be killed. Writes a line for each mail or push before it
 * answers, so that what was accepted is known whenever it dies.
 *   deno run -A tests/notifications/serve_receiver.ts mail|push PORT FILE
 */
import { appendFileSync } from 'node:fs'
import { openMailServer, openPushService } from './receivers.ts'

const [kind, port, file] = Deno.args
const write = (line: object): void => appendFileSync(file!, `${JSON.stringify({ ...line, at: Date.now() })}\n`)
if (kind === 'mail') await openMailServer(Number(port), ({ recipients, messageId }) => write({ recipients, messageId }))
else await openPushService(Number(port), ({ name, body }) => write({ name, body: body.toString('base64') }))
console.error(`ready http://127.0.0.1:${port}`)
