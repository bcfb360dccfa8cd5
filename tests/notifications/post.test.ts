// Where the worker connects to, on both versions of Deno: addresses that are checked after the name was resolved,
// redirects, certificates, and answers that are none.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { makeCertificates } from '../tools/certificates.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { listen } from '../tools/ports.ts'

const folder = mkdtempSync(join(tmpdir(), 'post-'))
const read = (name: string) => readFileSync(join(folder, name))
makeCertificates(folder)

const bodies: number[] = []
const servers = [
  createHttpsServer({ key: read('server.key'), cert: read('server.crt') }, async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).length)
    response.writeHead(201).end()
  }),
  createHttpServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).length)
    if (request.url === '/elsewhere') return response.writeHead(302, { location: '/', 'retry-after': '900' }).end()
    response.writeEarlyHints({ link: '</x>; rel=preload' })
    response.writeHead(202).end('x'.repeat(1_000_000))
  }),
  createTcpServer((socket) => socket.on('error', () => {}).end('220 mail ready\r\n\r\n')),
]
const [secure, plain, noise] = await Promise.all(servers.map((server) => listen(server)))
beforeEach(() => void (bodies.length = 0))
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})
const postAll = async (deno: string, loopback: 'allowed' | 'refused', ...targets: string[]): Promise<unknown[]> => {
  const args = ['run', '-A', 'tests/notifications/post_all.ts', loopback, ...targets]
  const env = { ...process.env, DENO_CERT: join(folder, 'ca.crt') }
  return JSON.parse((await promisify(execFile)(deno, args, { env })).stdout)
}

test.each(denoVersions())('on $version this machine, by name or address, is not connected to', async ({ deno }) => {
  const hosts = ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '127.1', '2130706433']
  const targets = [...hosts.map((host) => `https://${host}:${secure}/`), `http://localhost:${plain}/`]
  expect(await postAll(deno, 'refused', ...targets)).toEqual(targets.map(() => 'the address is private'))
  expect(await postAll(deno, 'refused', 'https://nowhere.invalid/')).toEqual(['the host name cannot be resolved'])
  const others = ['http://10.0.0.1/', 'https://169.254.169.254/']
  expect(await postAll(deno, 'allowed', ...others)).toEqual(others.map(() => 'the address is private'))
  expect(bodies).toEqual([])
})

test.each(denoVersions())(
  'on $version a server is asked once, whole, by the name that its certificate has; a redirect is not followed',
  async ({ deno }) => {
    const outcomes = {
      [`https://localhost:${secure}/`]: 'sent',
      [`http://127.0.0.1:${plain}/`]: 'sent',
      [`http://127.0.0.1:${plain}/elsewhere`]: 'status 302, again after 900 s',
      [`http://127.0.0.1:${noise}/`]: 'the answer is not HTTP',
      [`https://127.0.0.1:${secure}/`]: expect.stringMatching(/^InvalidData$|^Error$|TLS|cert/i),
    }
    expect(await postAll(deno, 'allowed', ...Object.keys(outcomes))).toEqual(Object.values(outcomes))
    expect(bodies).toEqual([100_000, 100_000, 100_000])
  },
)
