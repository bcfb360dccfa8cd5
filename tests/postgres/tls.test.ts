// A server that enforces TLS, as a project on Supabase can with "Enforce SSL".
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../tools/certificates.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { startPostgres } from '../tools/own_postgres.ts'
import { runScript } from '../tools/run_script.ts'

let server: Awaited<ReturnType<typeof startPostgres>>
let certificate: string

beforeAll(async () => {
  server = await startPostgres((folder) => {
    makeCertificates(folder)
    certificate = readFileSync(join(folder, 'ca.crt'), 'utf8')
    // As root the server runs as nobody, and accepts only a key that it owns.
    if (process.getuid!() === 0) execFileSync('chown', ['nobody:nogroup', join(folder, 'server.key')])
    return `ssl = on\nssl_cert_file = '${folder}/server.crt'\nssl_key_file = '${folder}/server.key'`
  })
  const rules = join(server.folder, 'data/pg_hba.conf')
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/^host\b/gm, 'hostssl'))
  server.signal('SIGHUP')
})
afterAll(() => server.remove())

describe.each(denoVersions())('on $version', ({ version, deno }) => {
  const connect = (host: string, mode: string, DATABASE_CA_CERTIFICATE = '') => {
    const EDGE_DATABASE_URL = `postgresql://supabase_admin@${host}:${server.port}/postgres${mode && `?sslmode=${mode}`}`
    const env = { EDGE_DATABASE_URL, DATABASE_CA_CERTIFICATE }
    return runScript('tests/postgres/statements.ts', ['encrypt'], env, 0, deno)
  }
  // Deno 2.1 checks the host name in every mode.
  const address = version === 'the pinned Deno' ? '127.0.0.1' : 'localhost'
  // deno-fmt-ignore
  const modes = [
    ['', 'localhost'], ['prefer', address], ['require', 'localhost'], ['verify-full', 'localhost'],
  ] as const

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
