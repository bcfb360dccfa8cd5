import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { claimsOf, encode } from '../tools/jwt.ts'
import { asAdmin } from '../tools/people.ts'
import { freePort, listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'
import { type Answer, diagnose, isJoined, isRefused, openRealtime, runDoctor } from './harness.ts'

const { origin } = inject('stack')
const remote = ['--remote', origin]

describe('a project as it should be', () => {
  test('every check is ok, or skipped because of this machine, and the status is 0', async () => {
    const { code, lines, output } = await runDoctor(remote)
    expect(code, output).toBe(0)
    const named = (status: string) => Object.keys(lines).filter((what) => lines[what]!.startsWith(status))
    expect(named('FAIL')).toEqual([])
    expect(lines.functions).toMatch(/^ok \d\d of the API are not reachable/)
    expect(lines.migrations).toMatch(/^ok all \d+, up to 20261122000001$/)
    expect(named('skip')).toEqual(expect.arrayContaining(['tls', 'hsts', 'plain http']))
    expect(named('skip').length).toBeLessThanOrEqual(6)
    expect(Object.keys(lines).length).toBeGreaterThan(35)
    // One line for each check, and the sums.
    expect(output.trimEnd().split('\n')).toHaveLength(Object.keys(lines).length + 1)
    for (const key of Object.values(testKeys)) expect(output).not.toContain(key)
  })

  test('it changes nothing', async () => {
    const tables = ['users', 'profiles', 'interests', 'profile_interests', 'conversations', 'messages', 'reservations']
    // Written by functions alone, for the secret key too.
    const closed = ['reservation_history', 'reports', 'moderation_log', 'hidden_profiles']
    const view = 'moderation_queue'
    const writes: { method: string; path: string; body: string }[] = []
    const answer: Answer = ({ method, path, body }) => {
      const isWrite = method !== 'GET' && path.startsWith('/rest')
      if (isWrite) writes.push({ method, path: path.replace('/rest/v1/', ''), body })
      return null
    }
    await diagnose(origin, 'all', { answer })
    expect(writes).toHaveLength(3 * (tables.length + closed.length) + 2)
    // With rights on everything these requests still change nothing.
    for (const { method, path, body } of writes) {
      const changed = await asAdmin(method, path, body ? JSON.parse(body) : undefined)
        .then(({ body }) => body, ({ message }) => message)
      const table = path.split('?')[0]!
      if (closed.includes(table)) expect(changed).toMatch(/"42501"/)
      else if (table === view) expect(changed).toMatch(/"55000"/)
      else if (method === 'POST') expect(changed).toMatch(/ 400 .*"23502"/)
      else expect(changed).toEqual([])
    }
  })

  test('without the secret key it checks the rest', async () => {
    const { code, lines } = await runDoctor(remote, { SUPABASE_SECRET_KEY: '' })
    expect(code).toBe(0)
    for (const what of ['secret key', 'other tables', 'embedding queue', 'search index', 'migrations']) {
      expect(lines[what]).toMatch(/^skip SUPABASE_SECRET_KEY is not set/)
    }
  })
})

describe('--write', () => {
  const write = [...remote, '--write', '--only']
  const erased = 'ok both accounts are gone'

  test('two people exchange a message and are erased', async () => {
    const { code, lines, output } = await runDoctor([...write, 'write'])
    expect(code, output).toBe(0)
    for (const what of ['accounts', 'token times', 'message and event', 'partner email', 'own rows', 'erased']) {
      expect(lines[`write: ${what}`]).toMatch(/^ok /)
    }
    expect(lines['write: partner email']).toContain('PARTNER_EMAIL=after_reply')
    const [, ids] = /users (\d+ and \d+)/.exec(lines['write: accounts']!)!
    const users = (await asAdmin('GET', `users?id=in.(${ids!.replace(' and ', ',')})&select=name,is_active`)).body
    expect(users).toEqual([1, 2].map(() => ({ name: 'Deleted user', is_active: false })))
  })

  test('who asks for one of its checks leaves no account behind either', async () => {
    expect((await runDoctor([...write, 'write: accounts'])).lines['write: erased']).toBe(erased)
  })

  test('without it nobody signs up', async () => {
    const { lines } = await runDoctor([...remote, '--only', 'sign-up'])
    expect(Object.keys(lines)).toEqual(['reachable', 'sign-up'])
  })

  test('where addresses are confirmed it creates accounts with the secret key, and none without it', async () => {
    const answer: Answer = async ({ path, body, key }, forward) => {
      if (path === '/auth/v1/settings') {
        return Response.json({ ...await (await forward()).json(), mailer_autoconfirm: false })
      }
      if (path !== '/auth/v1/admin/users') return null
      const { email, password, email_confirm, user_metadata: data } = JSON.parse(body)
      expect([key, email_confirm]).toEqual([testKeys.secretKey, true])
      const headers = new Headers({ apikey: testKeys.publishableKey, 'Content-Type': 'application/json' })
      return await forward({ path: '/auth/v1/signup', headers, body: JSON.stringify({ email, password, data }) })
    }
    expect((await diagnose(origin, 'write', { answer }))['write: erased']).toBe(erased)
    const lines = await diagnose(origin, 'write', { answer, secretKey: '' })
    expect(lines['write: accounts']).toMatch(/^skip addresses are confirmed/)
    expect(lines['write: message and event']).toMatch(/^skip/)
  })

  test('events that do not arrive fail', async () => {
    const lines = await diagnose(origin, 'write', { url: await openRealtime(isJoined), milliseconds: 3000 })
    expect(lines['write: message and event']).toMatch(/^FAIL .*its event does not arrive/)
    expect(lines['write: erased']).toBe(erased)
  })

  test('an interrupt erases both accounts', async () => {
    // The project, but for Realtime, whose events the doctor waits for until it is interrupted.
    const server = createServer(async (request, response) => {
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const body = Buffer.concat(await request.toArray())
      const init = {
        method: request.method!,
        headers: headers as Record<string, string>,
        body: body.length ? body : null,
      }
      const answer = await fetch(origin + request.url, init)
      response.writeHead(answer.status).end(await answer.text())
    })
    const url = await openRealtime(isJoined, '', server)
    const args = ['scripts/doctor/main.mjs', '--remote', url, '--write', '--only', 'write', '--timeout', '300']
    const doctor = spawn('node', args, {
      env: { ...process.env, SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    let interrupted = false
    doctor.stdout.on('data', (text) => {
      output += text
      // A second one would end it at once.
      if (!interrupted && /^ok .*write: token times/m.test(output)) interrupted = doctor.kill('SIGINT')
    })
    const [code] = await once(doctor, 'exit')
    expect(output).toMatch(/^ok +write: erased/m)
    expect(code).toBe(1)
  })

  const tables = ['users', 'profiles', 'conversations', 'messages', 'profile_interests', 'reservations']
  test.each([...tables, 'reservation_history'])('rows of others in %s fail', async (table) => {
    const answer: Answer = async ({ path, headers }, forward) => {
      if (!path.startsWith(`/rest/v1/${table}?`) || !headers.has('Authorization')) return null
      return Response.json([...await (await forward()).json(), { id: 0 }])
    }
    const { 'write: own rows': line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(new RegExp(`^FAIL ${table} shows others`))
  })

  test('a clock of Auth that is behind fails', async () => {
    const real = new Map<string, string>()
    const answer: Answer = async ({ path, headers }, forward) => {
      const known = real.get(headers.get('Authorization')?.replace('Bearer ', '') ?? '')
      if (known) return await forward({ headers: new Headers([...headers, ['Authorization', `Bearer ${known}`]]) })
      if (!path.endsWith('/auth/login')) return null
      const body = await (await forward()).json()
      const { iat, exp, ...claims } = claimsOf(body.access_token)
      const late = `a.${encode({ ...claims, iat: Number(iat) - 120, exp: Number(exp) - 120 })}.b`
      real.set(late, body.access_token)
      return Response.json({ ...body, access_token: late })
    }
    const { 'write: token times': line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(/^FAIL .*issued 12\d s from now/)
  })

  test('an account that cannot be erased is named, and the other one is erased', async () => {
    const tokens: string[] = []
    const answer: Answer = ({ method, path, headers }) => {
      if (method !== 'DELETE' || !path.endsWith('/users/me')) return null
      return tokens.push(headers.get('Authorization')!) === 1 ? new Response('{}', { status: 500 }) : null
    }
    const { 'write: erased': line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(/^FAIL user \d+ \(doctor-\S+@example.com\) was left behind: 500 {}$/)
    const me = (token: string) => fetch(`${origin}/functions/v1/users/me`, { headers: { Authorization: token } })
    expect((await Promise.all(tokens.map(me))).map(({ status }) => status)).toEqual([200, 401])
  })
})

const serve = async (answer: RequestListener) => {
  const server = createServer(answer)
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${await listen(server)}`
}

describe('a host that does not answer', () => {
  test('fails at once with one line, whether nothing listens or the name is unknown', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`
    for (const [url, reason] of [[nobody, 'nothing listens there'], ['https://project.invalid', 'no such host']]) {
      const { code, output } = await runDoctor(['--remote', url!])
      expect(output).toMatch(new RegExp(`^FAIL  reachable +${reason}\n0 ok, 1 failed, 0 skipped\n$`))
      expect(code).toBe(1)
    }
  })

  test.each([
    ['accepts connections and says nothing', () => {}],
    ['begins an answer and never ends it', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nx')],
  ])('fails within the timeout if it %s', async (_, answer) => {
    const sockets = new Set<Socket>()
    const server = createTcpServer((socket) => {
      sockets.add(socket.on('error', () => {}))
      answer(socket)
    })
    onTestFinished(() => {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    })
    const { code, lines } = await runDoctor(['--remote', `http://127.0.0.1:${await listen(server)}`, '--timeout', '1'])
    expect({ code, lines }).toEqual({ code: 1, lines: { reachable: 'FAIL no answer in time' } })
  })

  test('keys do not follow a redirect to another host', async () => {
    const received: unknown[] = []
    const elsewhere = await serve(({ url }, response) => response.end(`${received.push(url)}`))
    const url = await serve((_, response) => response.writeHead(307, { Location: `${elsewhere}/rest/v1/users` }).end())
    const { lines } = await runDoctor(['--remote', url, '--only', 'publishable'])
    expect(lines['publishable key']).toMatch(/^FAIL .* 307/)
    expect(received).toEqual([])
  })

  test('control characters in its answers do not reach the terminal', async () => {
    const url = await serve((_, response) => response.writeHead(500).end('a\u001b[2J\r\nok    tokens  fine'))
    const { lines, output } = await runDoctor(['--remote', url, '--only', 'tokens'])
    for (const character of ['\u001b', '\r']) expect(output).not.toContain(character)
    expect(lines.tokens).toMatch(/^FAIL/)
  })
})

describe('wrong calls print one line and the usage, send nothing, and end with 2', () => {
  const remote = ['--remote', 'https://project.invalid']
  const serviceRole = `a.${encode({ role: 'service_role' })}.b`
  // deno-fmt-ignore
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['no URL', [], {}, /--remote is missing/],
    ['no value', ['--remote'], {}, /--remote/],
    ['an unknown option', [...remote, '--wrong'], {}, /--wrong/],
    ['no URL but a reference', ['--remote', 'abcdefghijklmnopqrst'], {}, /is not a URL/],
    ['a path', ['--remote', 'https://project.invalid/functions/v1'], {}, /without a path/],
    ['a password', ['--remote', 'https://a:b@project.invalid'], {}, /password/],
    ['no TLS', ['--remote', 'http://project.invalid'], {}, /https:/],
    ['a loopback name that is none', ['--remote', 'http://127.0.0.1.project.invalid'], {}, /https:/],
    ['another protocol', ['--remote', 'ftp://127.0.0.1'], {}, /https:/],
    ['no publishable key', remote, { SUPABASE_PUBLISHABLE_KEY: '' }, /SUPABASE_PUBLISHABLE_KEY is not set/],
    ['a secret key as the publishable', remote, { SUPABASE_PUBLISHABLE_KEY: 'sb_secret_x' }, /is a secret key/],
    ['a service_role key as the publishable', remote, { SUPABASE_PUBLISHABLE_KEY: serviceRole }, /is a secret key/],
    ['a publishable key as the secret', remote, { SUPABASE_SECRET_KEY: 'sb_publishable_x' }, /is a publishable key/],
    ['no number of seconds', [...remote, '--timeout', 'soon'], {}, /--timeout is "soon"/],
    ['an unknown check', [...remote, '--only', 'nothing'], {}, /No check begins with "nothing"/],
  ])('%s', async (_, args, env, reason) => {
    const { code, output, errors } = await runDoctor(args, env)
    expect(errors.split('\n')[0]).toMatch(reason)
    expect(errors).toContain('usage: npm run doctor')
    expect({ code, output }).toEqual({ code: 2, output: '' })
  })
})

// 0.0.0.0 is no loopback address.
describe('with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'))
  const path = (name: string, type: string) => join(folder, `${name}.${type}`)
  beforeAll(() => {
    for (const [name, days] of [['long', '90'], ['short', '2']] as const) {
      execFileSync('openssl', [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', days],
        ...['-subj', '/CN=0.0.0.0', '-addext', 'subjectAltName = IP:0.0.0.0'],
        ...['-keyout', path(name, 'key'), '-out', path(name, 'crt')],
      ], { stdio: 'ignore' })
    }
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Runs a check against a server with this certificate, whose authority is known or not. */
  const check = async (name: string, only: string, isKnown = true) => {
    const certificate = { key: readFileSync(path(name, 'key')), cert: readFileSync(path(name, 'crt')) }
    const requests: unknown[] = []
    const server = createTlsServer(certificate, ({ url }, response) => {
      requests.push(url)
      response.end('{}')
    })
    const url = (await openRealtime(isRefused('Unauthorized'), '', server)).replace(
      'http://127.0.0.1',
      'https://0.0.0.0',
    )
    const env = { NODE_EXTRA_CA_CERTS: isKnown ? path(name, 'crt') : '' }
    return { ...await runDoctor(['--remote', url, '--only', only], env), requests }
  }

  test('the certificate is checked, and Realtime is reached with it', async () => {
    expect((await check('long', 'tls')).lines.tls).toMatch(/^ok TLSv1\.3, the certificate is valid for (89|90) days/)
    expect((await check('long', 'realtime user:1')).lines['realtime user:1']).toMatch(/^ok refused: Unauthorized/)
  })

  test('an unknown authority fails before any key is sent', async () => {
    const { lines, requests } = await check('long', 'tls', false)
    expect(lines).toEqual({ reachable: expect.stringMatching(/^FAIL .*self.signed/i) })
    expect(requests).toEqual([])
  })

  test('a certificate that expires in two days fails', async () => {
    expect((await check('short', 'tls')).lines.tls).toMatch(/^FAIL the certificate expires on 20\d\d-/)
  })
})
