import { request } from 'node:http'
import { expect, inject, test } from 'vitest'
import { send } from '../../tools/raw_request.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, publishableKey, dashboard: link } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)

/** Starts to send megabytes; resolves with the status and the megabytes sent. `declared` sends a Content-Length. */
const pour = (path: string, megabytes: number, declared: boolean, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; sent: number }>((resolve) => {
    const size = megabytes * 1_048_576
    const type = { 'Content-Type': 'application/json', ...headers }
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: false }
    const wire = request({ ...options, headers: declared ? { ...type, 'Content-Length': size } : type })
    const chunk = Buffer.alloc(65_536, 0x20)
    let sent = 0
    let status = 0
    const end = () => {
      resolve({ status, sent: sent / 1_048_576 })
      wire.destroy()
    }
    const write = (): void => {
      while (!status && sent < size) {
        sent += chunk.length
        if (!wire.write(chunk)) return void wire.once('drain', write)
      }
      if (!status) wire.end()
    }
    wire.on('response', (response) => {
      status = response.statusCode!
      response.resume().on('end', end)
    })
    // After a refusal the server may close the connection.
    wire.on('error', () => setTimeout(end, 100))
    write()
  })

test.each([
  ['/auth/v1/signup', { apikey: publishableKey }, 413],
  ['/rest/v1/users', { apikey: publishableKey }, 413],
  ...['/auth/v1/nothing', '/functions/v1/auth/login'].map((path) => [path, {}, 413]),
  ...['/rest/v1/users', '/functions/v1/auth/logout'].map((path) => [path, {}, 401]),
  ['/storage/v1/object/attachments/1/map.png', {}, 400],
  ...['/', '/nothing', '/_system/info', '/demo', '/realtime/v1/nothing', '/functions/v1/nothing']
    .map((path) => [path, {}, 404]),
] as [string, Record<string, string>, number][])(
  'a body of 256 MB to %s (%j) is refused early',
  async (path, headers, status) => {
    for (const declared of [true, false]) {
      const answer = await pour(path, 256, declared, headers)
      expect({ path, declared, status: answer.status }).toEqual({ path, declared, status })
      // Socket buffers, and on a busy machine the client reads the answer late: up to 62 MB were seen.
      expect(answer.sent).toBeLessThan(128)
    }
  },
)

test('a body of 64 MB to the dashboard is refused', async () => {
  for (const path of ['/', '/nothing', '/rest/v1/users', '/_system/ping']) {
    expect((await pour(path, 64, false, { Cookie: cookie })).status).toBe(413)
  }
})

test('a body of 1 MiB is accepted by Auth and the Data API; one byte more is refused', async () => {
  const headers = { apikey: publishableKey, 'Content-Type': 'application/json' }
  const filled = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
  expect((await send('/auth/v1/signup', headers, 'POST', filled(1_048_576))).status).toBe(422)
  expect((await send('/auth/v1/signup', headers, 'POST', filled(1_048_577))).status).toBe(413)
})
