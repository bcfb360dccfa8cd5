// A server that enforces TLS, as a project on Supabase can with "Enforce SSL".
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../tools/certificates.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { freePort } from '../tools/ports.ts'

const folder = mkdtempSync(join(tmpdir(), 'tls-'))
const data = join(folder, 'data')
let port: number
let certificate: string

beforeAll(async () => {
  chmodSync(folder, 0o755)
  makeCertificates(folder)
  certificate = readFileSync(join(folder, 'ca.crt'), 'utf8')
  // As root the server runs as nobody, and accepts only a key that it owns.
  if (process.getuid!() === 0) execFileSync('chown', ['nobody:nogroup', join(folder, 'server.key')])
  port = await freePort()
  execFileSync('bash', ['tests/postgres/server.sh', 'start', data, String(port)], {
    env: {
      ...process.env,
      POSTGRES_CONF: `ssl = on\nssl_cert_file = '${folder}/server.crt'\nssl_key_file = '${folder}/server.key'`,
    },
  })
  const rules = join(data, 'pg_hba.conf')
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/^host\b/gm, 'hostssl'))
  process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP')
})
afterAll(() => {
  execFileSync('bash', ['tests/postgres/server.sh', 'stop', data])
  rmSync(folder, { recursive: true, force: true })
})

const connect = async (deno: string, host: string, mode: string, authority = '') => {
  const url = `postgresql://supabase_admin@${host}:${port}/postgres${mode && `?sslmode=${mode}`}`
  const { stdout } = await promisify(execFile)(deno, ['run', '-A', 'tests/postgres/connect_with_tls.ts', url], {
    env: { ...process.env, DATABASE_CA_CERTIFICATE: authority },
  })
  return JSON.parse(stdout)
}
const encrypted = { answers: 20, tls: ['TLSv1.3'] }

describe.each(denoVersions())('on $version', ({ version, deno }) => {
  test.concurrent.each([['', 'localhost'], ['prefer', '127.0.0.1'], ['require', 'localhost'], [
    'verify-full',
    'localhost',
  ]])(
    'a server that enforces TLS is reached with sslmode "%s" at %s',
    async (mode, host) => {
      // Deno 2.1 checks the host name in every mode.
      const reachable = version === 'the pinned Deno' ? host : 'localhost'
      expect(await connect(deno, reachable, mode, certificate)).toEqual(encrypted)
    },
  )

  test.concurrent('sslmode verify-full refuses an unknown authority and another host', async () => {
    expect(await connect(deno, 'localhost', 'verify-full')).toEqual({
      error: expect.stringMatching(/UNABLE_TO_VERIFY|UnknownIssuer/),
    })
    expect(await connect(deno, '127.0.0.1', 'verify-full', certificate)).toEqual({
      error: expect.stringMatching(/ALTNAME_INVALID|NotValidForName/),
    })
  })

  test.concurrent('sslmode disable is refused by the server', async () => {
    expect(await connect(deno, 'localhost', 'disable')).toEqual({ error: '28000' })
  })
})
