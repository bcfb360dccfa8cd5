import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { describe, expect, inject, test } from 'vitest'
import { encode } from '../tools/jwt.ts'
import { asAdmin } from '../tools/people.ts'
import { freePort } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'
import { type Answer, diagnose, isJoined, openRealtime, runDoctor, serve } from './harness.ts'

const { origin } = inject('stack')
const remote = ['--remote', origin]

describe('a project as it should be', () => {
  test('every check is ok, and the status is 0', async () => {
    const { code, lines, output } = await runDoctor(remote)
    expect(code, output).toBe(0)
    for (const line of Object.values(lines)) expect(line).toMatch(/^ok |^skip not audited yet/)
    expect(lines.functions).toContain('erase_person')
    expect(lines.migrations).toMatch(/^ok all \d+, up to \d{14}, and places/)
    expect(Object.keys(lines).length).toBeGreaterThan(25)
    expect(output).not.toContain('write:')
    // One line for each check, and the sums.
    expect(output.trimEnd().split('\n')).toHaveLength(Object.keys(lines).length + 1)
    for (const key of Object.values(testKeys)) expect(output).not.toContain(key)
  })

  test('it changes nothing: with rights on everything its requests would not either', async () => {
    const writes: [method: string, path: string, body: string][] = []
    const answer: Answer = ({ method, path, body }) => {
      if (method !== 'GET' && path.startsWith('/rest')) writes.push([method, path.replace('/rest/v1/', ''), body])
      return null
    }
    await diagnose(origin, 'all', { answer })
    expect(writes.length).toBeGreaterThan(30)
    for (const [method, path, body] of writes) {
      const changed = await asAdmin(method, path, body ? JSON.parse(body) : undefined)
        .then(({ body }) => JSON.stringify(body), ({ message }) => message)
      // Nothing found, a column missing, or written by functions alone; the last is the view.
      expect(changed).toMatch(/^\[\]$| 400 .*"23502"|"42501"|"55000"/)
    }
  })

  test('without the secret key it checks the rest', async () => {
    const { code, lines } = await runDoctor(remote, { SUPABASE_SECRET_KEY: '' })
    expect(code).toBe(0)
    const skipped = Object.keys(lines).filter((name) => lines[name] === 'skip SUPABASE_SECRET_KEY is not set')
    expect(skipped).toEqual(['secret key', 'schedule', 'embedding queue', 'migrations'])
  })
})

describe('--write', () => {
  const write = [...remote, '--write', '--only']
  const erased = 'ok 2 accounts are gone'

  test('two people exchange a message and are erased, also for who asks for one check of it', async () => {
    const { code, lines, output } = await runDoctor([...write, 'write: accounts'])
    expect(code, output).toBe(0)
    for (const what of ['accounts', 'message and event', 'partner email', 'own rows', 'erased']) {
      expect(lines[`write: ${what}`]).toMatch(/^ok /)
    }
    expect(lines['write: partner email']).toContain('PARTNER_EMAIL=after_reply')
    const [, ids] = /users (\d+ and \d+)/.exec(lines['write: accounts']!)!
    const users = (await asAdmin('GET', `users?id=in.(${ids!.replace(' and ', ',')})&select=name,is_active`)).body
    expect(users).toEqual([1, 2].map(() => ({ name: 'Deleted user', is_active: false })))
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
    expect(lines['write: accounts']).toMatch(/^skip SUPABASE_SECRET_KEY is not set/)
    expect(lines['write: message and event']).toMatch(/^skip/)
  })

  test('events that do not arrive fail', async () => {
    const lines = await diagnose(origin, 'write', { url: await openRealtime(isJoined), milliseconds: 3000 })
    expect(lines['write: message and event']).toMatch(/^FAIL .*its event does not arrive/)
    expect(lines['write: erased']).toBe(erased)
  })

  test('an interrupt erases both accounts', async () => {
    // The project, but for Realtime, whose events the doctor waits for when it is interrupted.
    const server = createServer(async (request, response) => {
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const body = Buffer.concat(await request.toArray())
      const init = { method: request.method!, headers: headers as Record<string, string> }
      const answer = await fetch(origin + request.url, { ...init, body: body.length ? body : null })
      response.writeHead(answer.status).end(await answer.text())
    })
    const url = await openRealtime(isJoined, '', server)
    const args = ['scripts/doctor/main.mjs', '--remote', url, '--write', '--only', 'write', '--timeout', '3']
    const doctor = spawn('node', args, {
      env: { ...process.env, SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    let interrupted = false
    doctor.stdout.on('data', (text) => {
      output += text
      // A second one would end it at once.
      if (!interrupted && /^ok .*write: accounts/m.test(output)) interrupted = doctor.kill('SIGINT')
    })
    const [code] = await once(doctor, 'exit')
    expect(output).toMatch(/^ok +write: erased/m)
    expect(code).toBe(1)
  })

  test('an account that cannot be erased is named, and the other one is erased', async () => {
    const tokens: string[] = []
    const answer: Answer = ({ method, path, headers }) => {
      if (method !== 'DELETE' || !path.endsWith('/users/me')) return null
      return tokens.push(headers.get('Authorization')!) === 1 ? new Response('{}', { status: 500 }) : null
    }
    const { 'write: erased': line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(/^FAIL user \d+ \(doctor-\S+@example.com\) was left behind: DELETE: 500 {}$/)
    const me = (token: string) => fetch(`${origin}/functions/v1/users/me`, { headers: { Authorization: token } })
    expect((await Promise.all(tokens.map(me))).map(({ status }) => status)).toEqual([200, 401])
  })
})

const open = (answer: RequestListener) => serve(createServer(answer))

describe('a host that does not answer', () => {
  test('fails at once with one line, whether nothing listens or the name is unknown', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`
    for (const [url, reason] of [[nobody, 'ECONNREFUSED'], ['https://project.invalid', 'project\\.invalid']]) {
      const { code, output } = await runDoctor(['--remote', url!])
      expect(output).toMatch(new RegExp(`^FAIL  reachable .* ${reason}.*\n0 ok, 1 failed, 0 skipped\n$`))
      expect(code).toBe(1)
    }
  })

  test('fails within the timeout if it begins an answer and never ends it', async () => {
    const url = await open((_, response) => void response.write('x'))
    const { code, lines } = await runDoctor(['--remote', url, '--timeout', '1'])
    expect({ code, lines }).toEqual({ code: 1, lines: { reachable: expect.stringMatching(/^FAIL .*timeout/) } })
  })

  test('keys do not follow a redirect to another host', async () => {
    const received: unknown[] = []
    const elsewhere = await open(({ url }, response) => response.end(`${received.push(url)}`))
    const url = await open((_, response) => response.writeHead(307, { Location: `${elsewhere}/rest/v1/users` }).end())
    const { lines } = await runDoctor(['--remote', url, '--only', 'publishable'])
    expect(lines['publishable key']).toMatch(/^FAIL .* 307/)
    expect(received).toEqual([])
  })

  test('control characters in its answers do not reach the terminal', async () => {
    const url = await open((_, response) => response.writeHead(500).end('a\u001b[2J\r\nok    tokens  fine'))
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
    ['a password', ['--remote', 'https://a:b@project.invalid'], {}, /password/],
    ['no TLS', ['--remote', 'http://project.invalid'], {}, /https:/],
    ['a loopback name that is none', ['--remote', 'http://127.0.0.1.project.invalid'], {}, /https:/],
    ['another protocol', ['--remote', 'ftp://127.0.0.1'], {}, /https:/],
    ['no publishable key', remote, { SUPABASE_PUBLISHABLE_KEY: '' }, /SUPABASE_PUBLISHABLE_KEY is not set/],
    ['a secret key as the publishable', remote, { SUPABASE_PUBLISHABLE_KEY: 'sb_secret_x' }, /is a secret key/],
    ['a service_role key as the publishable', remote, { SUPABASE_PUBLISHABLE_KEY: serviceRole }, /is a secret key/],
    ['no number of seconds', [...remote, '--timeout', 'soon'], {}, /--timeout is "soon"/],
    ['an unknown check', [...remote, '--only', 'nothing'], {}, /No check begins with "nothing"/],
  ])('%s', async (_, args, env, reason) => {
    const { code, output, errors } = await runDoctor(args, env)
    expect(errors.split('\n')[0]).toMatch(reason)
    expect(errors).toContain('usage: npm run doctor')
    expect({ code, output }).toEqual({ code: 2, output: '' })
  })
})
