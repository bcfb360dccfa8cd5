// A server that enforces TLS, as a project on Supabase can with "Enforce SSL".
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../tools/certificates.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { freePort } from '../tools/ports.ts'
import { runScript } from '../tools/run_script.ts'

const folder = mkdtempSync(join(tmpdir(), 'tls-'))
const data = join(folder, 'data')
const server = (args: string[], env = {}) =>
  execFileSync('bash', ['tests/postgres/server.sh', ...args], { env: { ...process.env, ...env } })
let port: number
let certificate: string

beforeAll(async () => {
  chmodSync(folder, 0o755)
  makeCertificates(folder)
  certificate = readFileSync(join(folder, 'ca.crt'), 'utf8')
  // As root the server runs as nobody, and accepts only a key that it owns.
  if (process.getuid!() === 0) execFileSync('chown', ['nobody:nogroup', join(folder, 'server.key')])
  port = await freePort()
  const files = `ssl_cert_file = '${folder}/server.crt'\nssl_key_file = '${folder}/server.key'`
  server(['start', data, `${port}`], { POSTGRES_CONF: `ssl = on\n${files}` })
  const rules = join(data, 'pg_hba.conf')
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/^host\b/gm, 'hostssl'))
  process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP')
})
afterAll(() => {
  server(['stop', data])
  rmSync(folder, { recursive: true, force: true })
})

describe.each(denoVersions())('on $version', ({ version, deno }) => {
  const connect = (host: string, mode: string, DATABASE_CA_CERTIFICATE = '') => {
    const EDGE_DATABASE_URL = `postgresql://supabase_admin@${host}:${port}/postgres${mode && `?sslmode=${mode}`}`
    const env = { EDGE_DATABASE_URL, DATABASE_CA_CERTIFICATE }
    return runScript('tests/postgres/statements.ts', ['encrypt'], env, 0, deno)
  }
  // Deno 2.1 checks the host name in every mode.
  const address = version === 'the pinned Deno' ? '127.0.0.1' : 'localhost'
  const modes = [['', 'localhost'], ['prefer', address], ['require', 'localhost'], [
    'verify-full',
    'localhost',
  ]] as const

  test.concurrent.each(modes)('it is reached with sslmode "%s" at %s', async (mode, host) => {
    expect(await connect(host, mode, certificate)).toEqual(Array(20).fill('TLSv1.3'))
  })

  test.concurrent('sslmode verify-full refuses an unknown authority and another host', async () => {
    const unknown = { error: expect.stringMatching(/UNABLE_TO_VERIFY|UnknownIssuer/) }
    expect(await connect('localhost', 'verify-full')).toEqual(unknown)
    const another = { error: expect.stringMatching(/ALTNAME_INVALID|NotValidForName/) }
    expect(await connect('127.0.0.1', 'verify-full', certificate)).toEqual(another)
  })

  test.concurrent('sslmode disable is refused by the server', async () => {
    expect(await connect('localhost', 'disable')).toEqual({ error: '28000' })
  })
})
