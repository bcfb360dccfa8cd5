// Where the worker connects to, on both versions of Deno: addresses that are checked after the name was resolved,
// redirects, certificates, and answers that are none.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { denoVersions } from '../tools/deno_versions.ts'
import { listen } from '../tools/ports.ts'

const folder = mkdtempSync(join(tmpdir(), 'post-'))
const read = (name: string) => readFileSync(join(folder, name))
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
openssl('req', '-x509', ...newKey, '-subj', '/CN=Test authority', '-keyout', 'ca.key', '-out', 'ca.crt')
openssl('req', ...newKey.slice(0, -2), '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr')
writeFileSync(join(folder, 'extensions'), 'subjectAltName = DNS:localhost\nbasicConstraints = CA:FALSE\n')
openssl(
  ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'],
  ...['-extfile', 'extensions', '-out', 'server.crt'],
)

const bodies: number[] = []
const secure = createHttpsServer({ key: read('server.key'), cert: read('server.crt') }, async (request, response) => {
  bodies.push(Buffer.concat(await request.toArray()).length)
  response.writeHead(201).end()
})
const plain = createHttpServer(async (request, response) => {
  bodies.push(Buffer.concat(await request.toArray()).length)
  if (request.url === '/elsewhere') return response.writeHead(302, { location: '/' }).end()
  response.writeEarlyHints({ link: '</x>; rel=preload' })
  response.writeHead(202).end('x'.repeat(1_000_000))
})
const noise = createTcpServer((socket) => socket.on('error', () => {}).end('220 mail ready\r\n\r\n'))
let ports: { secure: number; plain: number; noise: number }
beforeAll(async () => {
  ports = { secure: await listen(secure), plain: await listen(plain), noise: await listen(noise) }
})
afterAll(() => {
  for (const server of [secure, plain, noise]) server.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(denoVersions())('on $version', ({ deno }) => {
  const postAll = async (loopback: string, ...targets: string[]): Promise<unknown[]> => {
    const args = ['run', '-A', 'tests/notifications/post_all.ts', loopback, ...targets]
    const env = { ...process.env, DENO_CERT: join(folder, 'ca.crt') }
    return JSON.parse((await promisify(execFile)(deno, args, { env })).stdout)
  }

  test('a name that resolves to this machine, and its addresses, are not connected to', async () => {
    bodies.length = 0
    const { secure, plain } = ports
    const hosts = ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '127.1', '2130706433']
    const targets = [...hosts.map((host) => `https://${host}:${secure}/`), `http://localhost:${plain}/`]
    expect(await postAll('refused', ...targets)).toEqual(targets.map(() => 'the address is private'))
    expect(await postAll('refused', 'https://nowhere.invalid/')).toEqual(['the host name cannot be resolved'])
    expect(await postAll('allowed', 'http://10.0.0.1/', 'https://169.254.169.254/')).toEqual(
      Array(2).fill('the address is private'),
    )
    expect(bodies).toEqual([])
  })

  test('a server is asked once, whole, by the name that its certificate has; a redirect is not followed', async () => {
    bodies.length = 0
    const { secure, plain, noise } = ports
    expect(
      await postAll(
        'allowed',
        `https://localhost:${secure}/`,
        `http://127.0.0.1:${plain}/`,
        `http://127.0.0.1:${plain}/elsewhere`,
        `http://127.0.0.1:${noise}/`,
        `https://127.0.0.1:${secure}/`,
      ),
    ).toEqual([201, 202, 302, 'the answer is not HTTP', expect.stringMatching(/^InvalidData$|^Error$|TLS|cert/i)])
    expect(bodies).toEqual([100_000, 100_000, 100_000])
  })
})
