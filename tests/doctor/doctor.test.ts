import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, test } from 'vitest'
import { asAdmin } from '../tools/people.ts'
import { freePort } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'
import { type Answer, diagnose, isJoined, keys, openRealtime, runDoctor, serve } from './harness.ts'

const { origin } = inject('stack')
const remote = ['--remote', origin]

describe('a project as it should be', () => {
  test('every check is ok, and the status is 0', async () => {
    const { code, lines, output } = await runDoctor(remote)
    expect(code, output).toBe(0)
    for (const line of Object.values(lines)) expect(line).toMatch(/^ok /)
    expect(lines.tables).toContain('messages')
    expect(lines.migrations).toMatch(/^ok all \d+, up to \d{14}, and places/)
    expect(Object.keys(lines).length).toBeGreaterThan(10)
    expect(lines).not.toHaveProperty('write')
    // One line for each check, and the sums.
    expect(output.trimEnd().split('\n')).toHaveLength(Object.keys(lines).length + 1)
    for (const key of Object.values(testKeys)) expect(output).not.toContain(key)
  })

  test('it changes nothing: it only reads', async () => {
    const writes: string[] = []
    const answer: Answer = ({ method, path }) => {
      if (method !== 'GET' && !path.includes('/object/list/')) writes.push(`${method} ${path}`)
      return null
    }
    await diagnose(origin, 'all', { answer })
    expect(writes).toEqual([])
  })
})

describe('--write', () => {
  test('two people exchange a message and are erased', async () => {
    const { code, lines, output } = await runDoctor([...remote, '--write'])
    expect(code, output).toBe(0)
    expect(lines.write).toMatch(/^ok the event arrived \d+ ms after the answer; .*PARTNER_EMAIL=after_reply; users/)
    const [, ids] = /users (\d+ and \d+) are erased/.exec(lines.write!)!
    const users = (await asAdmin('GET', `users?id=in.(${ids!.replace(' and ', ',')})&select=name,is_active`)).body
    expect(users).toEqual([1, 2].map(() => ({ name: 'Deleted user', is_active: false })))
  })

  test('if events do not arrive it fails, and an interrupt meanwhile erases both accounts, too', async () => {
    const erased: number[] = []
    // The project, but for Realtime.
    const server = createServer(async (request, response) => {
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const body = Buffer.concat(await request.toArray())
      const init = { method: request.method!, headers: headers as Record<string, string> }
      const answer = await fetch(origin + request.url, { ...init, body: body.length ? body : null })
      if (request.method === 'DELETE' && request.url!.endsWith('/users/me')) erased.push(answer.status)
      response.writeHead(answer.status).end(await answer.text())
    })
    const url = await openRealtime(
      (topic) => {
        // The first one is not of the accounts. A second interrupt would end the doctor at once.
        if (topic !== 'user:1') doctor.kill('SIGINT')
        return isJoined()
      },
      '',
      server,
    )
    const doctor = spawn('node', ['scripts/doctor/main.mjs', '--remote', url, '--write'], {
      env: { ...process.env, ...keys },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, [code]] = await Promise.all([text(doctor.stdout), once(doctor, 'exit')])
    expect(output).toMatch(/^FAIL +write .*its event does not arrive$/m)
    expect({ code, erased }).toEqual({ code: 1, erased: [204, 204] })
  })

  test('an account that cannot be erased is named, and the other one is erased', async () => {
    const tokens: string[] = []
    const answer: Answer = ({ method, path, headers }) => {
      // What else fails says more than a line takes.
      if (path.startsWith('/rest/v1/')) return Response.json({ message: 'x'.repeat(300) })
      if (method !== 'DELETE' || !path.endsWith('/users/me')) return null
      return tokens.push(headers.get('Authorization')!) === 1 ? new Response('{}', { status: 500 }) : null
    }
    const { write: line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(/^FAIL user \d+ \(doctor-\S+@example.com\) was left behind: DELETE: 500 {}; users shows/)
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
      expect(output).toMatch(new RegExp(`^FAIL  health .* ${reason}.*\n0 ok, 1 failed\n$`))
      expect(code).toBe(1)
    }
  })

  test('fails within the timeout if it begins an answer and never ends it', async () => {
    const url = await open((_, response) => void response.write('x'))
    const { code, lines } = await runDoctor(['--remote', url])
    expect({ code, lines }).toEqual({ code: 1, lines: { health: expect.stringMatching(/^FAIL .*timeout/) } })
  })

  test('keys do not follow a redirect to another host', async () => {
    const received: unknown[] = []
    const elsewhere = await open(({ url }, response) => response.end(`${received.push(url)}`))
    const url = await open((_, response) => response.writeHead(307, { Location: `${elsewhere}/rest/v1/users` }).end())
    const { lines } = await runDoctor(['--remote', url])
    expect(lines.health).toMatch(/^FAIL .* 307/)
    expect(received).toEqual([])
  })

  test('control characters in its answers do not reach the terminal', async () => {
    const url = await open((_, response) => response.writeHead(500).end('a\u001b[2J\r\nok    tokens  fine'))
    const { lines, output } = await runDoctor(['--remote', url])
    for (const character of ['\u001b', '\r']) expect(output).not.toContain(character)
    expect(lines).toEqual({ health: expect.stringMatching(/^FAIL/) })
  })
})

describe('wrong calls print one line and the usage, send nothing, and end with 2', () => {
  const remote = ['--remote', 'https://project.invalid']
  // deno-fmt-ignore
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['no URL', [], {}, /--remote is missing/],
    ['an unknown option', [...remote, '--wrong'], {}, /--wrong/],
    ['no URL but a reference', ['--remote', 'abcdefghijklmnopqrst'], {}, /is not a URL/],
    ['no TLS', ['--remote', 'http://project.invalid'], {}, /https:/],
    ['a loopback name that is none', ['--remote', 'http://127.0.0.1.project.invalid'], {}, /https:/],
    ['another protocol', ['--remote', 'ftp://127.0.0.1'], {}, /https:/],
    ['a password', ['--remote', 'https://me:hunter2@project.invalid'], {}, /must not have a password/],
    ['a key of two lines', remote, { SUPABASE_SECRET_KEY: 'sb_secret_hunter2\nx' }, /A key has a space, a line/],
    ['a secret key to be public', remote, { SUPABASE_PUBLISHABLE_KEY: 'sb_secret_hunter2' }, /is a secret key/],
    ['no publishable key', remote, { SUPABASE_PUBLISHABLE_KEY: '' }, /SUPABASE_PUBLISHABLE_KEY is not set/],
    ['no secret key', remote, { SUPABASE_SECRET_KEY: '' }, /SUPABASE_SECRET_KEY is not set/],
  ])('%s', async (_, args, env, reason) => {
    const { code, output, errors } = await runDoctor(args, env)
    expect(errors.split('\n')[0]).toMatch(reason)
    expect(errors).toContain('usage: npm run doctor')
    expect(errors).not.toContain('hunter2')
    expect({ code, output }).toEqual({ code: 2, output: '' })
  })
})
