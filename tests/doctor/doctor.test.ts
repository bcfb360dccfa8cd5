import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { claimsOf, encode } from '../tools/jwt.ts'
import { asAdmin } from '../tools/people.ts'
import { freePort, listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'
import { runDoctor } from './doctor.ts'
import { type Fault, openStandIn } from './stand_in.ts'

const { origin } = inject('stack')
const failed = (lines: Record<string, string>) => Object.entries(lines).filter(([, line]) => line.startsWith('FAIL'))

describe('a project as it should be', () => {
  test('every check is ok, or skipped because of this machine, and the status is 0', async () => {
    const { code, lines, output } = await runDoctor(['--remote', origin])
    expect(failed(lines)).toEqual([])
    expect(code, output).toBe(0)
    const skipped = Object.entries(lines).filter(([, line]) => line.startsWith('skip')).map(([what]) => what)
    expect(lines.functions).toMatch(/^ok \d\d of the API are not reachable/)
    expect(lines.migrations).toMatch(/^ok all \d+, up to 20261122000001$/)
    expect(skipped).toEqual(expect.arrayContaining(['tls', 'hsts', 'plain http']))
    expect(skipped.length).toBeLessThanOrEqual(6)
    expect(Object.keys(lines).length).toBeGreaterThan(35)
    // One line for each check, and the sums.
    expect(output.trimEnd().split('\n')).toHaveLength(Object.keys(lines).length + 1)
  })

  test('it changes nothing, and prints no key', async () => {
    const tables = ['users', 'profiles', 'interests', 'profile_interests', 'conversations', 'messages', 'reservations']
    // Written by functions alone, for the secret key too.
    const closed = ['reservation_history', 'reports', 'moderation_log', 'hidden_profiles']
    const view = 'moderation_queue'
    const requests: string[] = []
    const url = await openStandIn(origin, {
      http: ({ method, path, body }) => {
        requests.push(`${method} ${path} ${body}`)
        return null
      },
    })
    const { output } = await runDoctor(['--remote', url])
    for (const key of Object.values(testKeys)) expect(output).not.toContain(key)
    const writes = requests.filter((request) => /^(POST|PATCH|DELETE) \/rest/.test(request))
    expect(writes).toHaveLength(3 * (tables.length + closed.length) + 2)
    // With rights on everything these requests still change nothing.
    for (const request of writes) {
      const [, method, path, body] = /^(\w+) \/rest\/v1\/(\S+) (.*)$/.exec(request)!
      const changed = await asAdmin(method!, path!, body ? JSON.parse(body) : undefined)
        .then(({ body }) => body, ({ message }) => message)
      const table = path!.split('?')[0]!
      if (closed.includes(table)) expect(changed).toMatch(/"42501"/)
      else if (table === view) expect(changed).toMatch(/"55000"/)
      else if (method === 'POST') expect(changed).toMatch(/ 400 .*"23502"/)
      else expect(changed).toEqual([])
    }
  })

  test('without the secret key it checks the rest', async () => {
    const { code, lines } = await runDoctor(['--remote', origin], { SUPABASE_SECRET_KEY: '' })
    expect(code).toBe(0)
    for (const what of ['secret key', 'other tables', 'embedding queue', 'search index', 'migrations']) {
      expect(lines[what]).toMatch(/^skip SUPABASE_SECRET_KEY is not set/)
    }
  })

  test('it waits for a Realtime that is still connecting to its database', async () => {
    let joins = 0
    const url = await openStandIn(origin, {
      join: () => joins++ ? null : { status: 'error', response: { reason: 'InitializingProjectConnection: Wait' } },
    })
    const { lines } = await runDoctor(['--remote', url, '--only', 'realtime user:1'])
    expect(lines['realtime user:1']).toMatch(/^ok refused: Unauthorized/)
    expect(joins).toBe(2)
  })
})

describe('--write', () => {
  const names = ['accounts', 'token times', 'message and event', 'partner email', 'own rows', 'erased'].map((what) =>
    `write: ${what}`
  )

  test('two people exchange a message and are erased', async () => {
    const { code, lines, output } = await runDoctor(['--remote', origin, '--write', '--only', 'write'])
    expect(code, output).toBe(0)
    for (const name of names) expect(lines[name]).toMatch(/^ok /)
    expect(lines['write: partner email']).toContain('PARTNER_EMAIL=after_reply')
    const [, ids] = /users (\d+ and \d+)/.exec(lines['write: accounts']!)!
    const users = (await asAdmin('GET', `users?id=in.(${ids!.replace(' and ', ',')})&select=name,is_active`)).body
    expect(users).toEqual([1, 2].map(() => ({ name: 'Deleted user', is_active: false })))
  })

  test('without it nobody signs up', async () => {
    const { lines } = await runDoctor(['--remote', origin, '--only', 'sign-up'])
    expect(Object.keys(lines)).toEqual(['reachable', 'sign-up'])
  })

  test('where addresses are confirmed it creates accounts with the secret key, and none without it', async () => {
    const confirmed: Fault = {
      http: async ({ path, body, key }, forward) => {
        if (path === '/auth/v1/settings') {
          const reply = await forward()
          return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body), mailer_autoconfirm: false }) }
        }
        if (path !== '/auth/v1/admin/users') return null
        const { email, password, email_confirm, user_metadata: data } = JSON.parse(body)
        expect([key, email_confirm]).toEqual([testKeys.secretKey, true])
        const headers = new Headers({ apikey: testKeys.publishableKey, 'Content-Type': 'application/json' })
        return await forward({ path: '/auth/v1/signup', headers, body: JSON.stringify({ email, password, data }) })
      },
    }
    const args = ['--remote', await openStandIn(origin, confirmed), '--write', '--only', 'write']
    expect((await runDoctor(args)).code).toBe(0)
    const { lines } = await runDoctor(args, { SUPABASE_SECRET_KEY: '' })
    expect(lines['write: accounts']).toMatch(/^skip addresses are confirmed/)
    expect(lines['write: message and event']).toMatch(/^skip/)
  })

  test('events that do not arrive fail', async () => {
    const url = await openStandIn(origin, { forwards: ({ event }) => event !== 'broadcast' })
    const { code, lines } = await runDoctor(['--remote', url, '--write', '--only', 'write', '--timeout', '3'])
    expect(lines['write: message and event']).toMatch(/^FAIL .*its event does not arrive/)
    expect(lines['write: erased']).toMatch(/^ok/)
    expect(code).toBe(1)
  })

  test('an interrupt erases both accounts', async () => {
    const url = await openStandIn(origin, { forwards: ({ event }) => event !== 'broadcast' })
    const doctor = spawn('node', ['scripts/doctor/main.mjs', '--remote', url, '--write', '--only', 'write'], {
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

  test.each([
    ...['users', 'profiles', 'conversations', 'messages', 'profile_interests', 'reservations', 'reservation_history'],
  ])(
    'rows of others in %s fail',
    async (table) => {
      const url = await openStandIn(origin, {
        http: async ({ path, headers }, forward) => {
          if (!path.startsWith(`/rest/v1/${table}?`) || !headers.has('Authorization')) return null
          const reply = await forward()
          return { ...reply, body: JSON.stringify([...JSON.parse(reply.body), { id: 0 }]) }
        },
      })
      const { lines } = await runDoctor(['--remote', url, '--write', '--only', 'write'])
      expect(lines['write: own rows']).toMatch(new RegExp(`^FAIL ${table} shows others`))
    },
  )

  test('a clock of Auth that is behind fails', async () => {
    const real = new Map<string, string>()
    const url = await openStandIn(origin, {
      http: async ({ path, headers }, forward) => {
        const token = headers.get('Authorization')?.replace('Bearer ', '')
        const known = token && real.get(token)
        if (known) return await forward({ headers: new Headers([...headers, ['Authorization', `Bearer ${known}`]]) })
        if (!path.endsWith('/auth/login')) return null
        const reply = await forward()
        const body = JSON.parse(reply.body)
        const claims = claimsOf(body.access_token)
        const late = `a.${encode({ ...claims, iat: Number(claims.iat) - 120, exp: Number(claims.exp) - 120 })}.b`
        real.set(late, body.access_token)
        return { ...reply, body: JSON.stringify({ ...body, access_token: late }) }
      },
    })
    const { lines } = await runDoctor(['--remote', url, '--write', '--only', 'write'])
    expect(lines['write: token times']).toMatch(/^FAIL .*issued 12\d s from now/)
  })

  test('an account that cannot be erased is named, and the other one is erased', async () => {
    const tokens: string[] = []
    const url = await openStandIn(origin, {
      http: ({ method, path, headers }) => {
        if (method !== 'DELETE' || !path.endsWith('/users/me')) return null
        tokens.push(headers.get('Authorization')!)
        return tokens.length === 1 ? { status: 500, body: '{}' } : null
      },
    })
    const { lines } = await runDoctor(['--remote', url, '--write', '--only', 'write'])
    expect(lines['write: erased']).toMatch(/^FAIL user \d+ \(doctor-\S+@example.com\) was left behind: 500 {}$/)
    const statuses = tokens.map(async (token) =>
      (await fetch(`${origin}/functions/v1/users/me`, { headers: { Authorization: token } })).status
    )
    expect(await Promise.all(statuses)).toEqual([200, 401])
  })

  test('who asks for one of its checks leaves no account behind either', async () => {
    const { lines } = await runDoctor(['--remote', origin, '--write', '--only', 'write: accounts'])
    expect(lines['write: erased']).toBe('ok both accounts are gone')
  })
})

describe('a host that does not answer', () => {
  test('fails at once with one line, whether nothing listens or the name is unknown', async () => {
    for (
      const [url, reason] of [
        [`http://127.0.0.1:${await freePort()}`, 'nothing listens there'],
        ['https://project.invalid', 'no such host'],
      ]
    ) {
      const { code, output } = await runDoctor(['--remote', url!])
      expect(output).toMatch(new RegExp(`^FAIL  reachable +${reason}\n0 ok, 1 failed, 0 skipped\n$`))
      expect(code).toBe(1)
    }
  })

  test.each([
    ['accepts connections and says nothing', () => {}],
    ['begins an answer and never ends it', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nx')],
  ])('fails within the timeout if it %s', async (_, answer) => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}))
      answer(socket)
    })
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const began = Date.now()
    const { code, lines } = await runDoctor(['--remote', `http://127.0.0.1:${await listen(server)}`, '--timeout', '1'])
    expect(lines).toEqual({ reachable: 'FAIL no answer in time' })
    expect(code).toBe(1)
    expect(Date.now() - began).toBeLessThan(8000)
  })

  test('keys do not follow a redirect to another host', async () => {
    const received: string[] = []
    const elsewhere = await openStandIn(origin, {
      http: ({ path }) => {
        received.push(path)
        return null
      },
    })
    const redirect = { status: 307, headers: { Location: `${elsewhere}/rest/v1/users` }, body: '' }
    const url = await openStandIn(origin, { http: ({ path }) => path.startsWith('/rest') ? redirect : null })
    const { lines } = await runDoctor(['--remote', url])
    expect(lines['publishable key']).toMatch(/^FAIL .* 307/)
    expect(received).toEqual([])
  })

  test('control characters in its answers do not reach the terminal', async () => {
    const url = await openStandIn(origin, { http: () => ({ status: 500, body: 'a\u001b[2J\r\nok    tokens  fine' }) })
    const { lines, output } = await runDoctor(['--remote', url, '--only', 'tokens'])
    for (const character of ['\u001b', '\r']) expect(output).not.toContain(character)
    expect(lines.tokens).toMatch(/^FAIL/)
  })
})

describe('wrong calls print one line and the usage, send nothing, and end with 2', () => {
  const remote = ['--remote', 'https://project.invalid']
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
    [
      'a service_role key as the publishable',
      remote,
      { SUPABASE_PUBLISHABLE_KEY: `a.${encode({ role: 'service_role' })}.b` },
      /is a secret key/,
    ],
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

describe('with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'))
  const authority = { NODE_EXTRA_CA_CERTS: join(folder, 'long.crt') }
  const certificates: Record<string, { key: string; cert: string }> = {}
  beforeAll(() => {
    for (const [name, days] of [['long', '90'], ['short', '2']] as const) {
      const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)]
      execFileSync('openssl', [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', days],
        ...['-subj', '/CN=0.0.0.0', '-addext', 'subjectAltName = IP:0.0.0.0', '-keyout', key, '-out', cert],
      ], { stdio: 'ignore' })
      certificates[name] = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
    }
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const secured: Fault = {
    http: async (_, forward) => {
      const reply = await forward()
      const headers = { ...reply.headers, 'strict-transport-security': 'max-age=31536000; includeSubDomains' }
      return { ...reply, headers }
    },
  }

  test('TLS, HSTS and the redirect are ok', async () => {
    const url = await openStandIn(origin, secured, certificates.long)
    const { lines } = await runDoctor(['--remote', url], authority)
    expect(lines.tls).toMatch(/^ok TLSv1\.3, the certificate is valid for (89|90) days/)
    expect(lines.hsts).toMatch(/^ok max-age=31536000/)
    expect(lines['plain http']).toBe('ok redirects to https')
    expect(lines['realtime user:1']).toMatch(/^ok/)
    // What only one machine may have: sources that are not built, addresses that are not confirmed.
    expect(lines.releases).toMatch(/^FAIL not built/)
    expect(lines['auth settings']).toMatch(/^FAIL Confirm email is off/)
    expect(failed(lines).map(([what]) => what)).toEqual(['releases', 'auth settings'])
  })

  test('an unknown authority fails before any key is sent', async () => {
    const url = await openStandIn(origin, secured, certificates.long)
    const { lines } = await runDoctor(['--remote', url], { NODE_EXTRA_CA_CERTS: '' })
    expect(lines).toEqual({ reachable: expect.stringMatching(/^FAIL .*self.signed/i) })
  })

  test('a certificate that expires in two days fails', async () => {
    const url = await openStandIn(origin, secured, certificates.short)
    const { lines } = await runDoctor(['--remote', url, '--only', 'tls'], {
      NODE_EXTRA_CA_CERTS: join(folder, 'short.crt'),
    })
    expect(lines.tls).toMatch(/^FAIL the certificate expires on 20\d\d-/)
  })

  test('no HSTS fails', async () => {
    const url = await openStandIn(origin, {}, certificates.long)
    expect((await runDoctor(['--remote', url, '--only', 'hsts'], authority)).lines.hsts).toMatch(/^FAIL .*180 days/)
  })

  test('answers without TLS fail', async () => {
    const url = await openStandIn(origin, secured, certificates.long, (response) => response.end('{}'))
    const { lines } = await runDoctor(['--remote', url, '--only', 'plain http'], authority)
    expect(lines['plain http']).toBe('FAIL answers 200 without TLS')
  })
})
