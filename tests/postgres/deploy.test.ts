import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { denoVersions } from '../tools/deno_versions.ts'
import { openEmbeddingsApi } from '../tools/embeddings_api.ts'
import { openManagementApi, projectRef, unpack, type Upload } from '../tools/management_api.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { type Outcome, platform, supabase } from '../tools/supabase.ts'

const names = readdirSync('functions', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(`functions/${entry.name}`).includes('index.ts'))
  .map(({ name }) => name)
  .sort()
const folder = mkdtempSync(join(tmpdir(), 'deployed-'))
let uploads: Map<string, Upload>
let closeManagementApi: () => void
let deployed: Outcome
/** What the functions report; one build has one. */
const releases = new Set<string>()

beforeAll(async () => {
  const { profile, token, ...management } = await openManagementApi(folder, testKeys)
  uploads = management.uploads
  closeManagementApi = management.close
  // run.sh has built the bundles.
  deployed = await supabase(
    ['functions', 'deploy', '--use-api', '--yes', `--project-ref=${projectRef}`, '--profile', profile],
    { SUPABASE_ACCESS_TOKEN: token },
  )
})
afterAll(() => {
  closeManagementApi()
  rmSync(folder, { recursive: true, force: true })
})

describe('npm run deploy', () => {
  test('uploads one bundle for every function, of 1 MB at most', () => {
    expect(deployed.code, deployed.stderr).toBe(0)
    expect([...uploads.keys()].sort()).toEqual(names)
    for (const [name, { metadata, files }] of uploads) {
      const entrypoint = `dist/functions/${name}/index.js`
      expect([...files.keys()]).toEqual([entrypoint])
      expect(metadata).toMatchObject({ entrypoint_path: entrypoint, verify_jwt: false })
      expect(files.get(entrypoint)!.length).toBeLessThan(1_000_000)
    }
  })
})

let embeddings: Awaited<ReturnType<typeof openEmbeddingsApi>>
beforeAll(async () => {
  embeddings = await openEmbeddingsApi()
})
afterAll(() => embeddings.close())

/** A module that serves the bundle, and at /heap how many bytes of V8's heap are in use after a collection. */
const measured = (entrypoint: string): string => `
import served from './${entrypoint}'
export default {
  fetch(request) {
    if (!request.url.endsWith('/heap')) return served.fetch(request)
    gc()
    return Response.json(Deno.memoryUsage().heapUsed)
  },
}
`

/** Serves the uploaded bundle alone, outside of the repository and its packages. */
const serveUpload = (name: string, deno: string, database = platform('scripted')): Promise<ServedFunction> => {
  const upload = uploads.get(name)!
  const cwd = mkdtempSync(join(folder, name))
  unpack(upload, cwd)
  const env = {
    SUPABASE_URL: 'http://127.0.0.1:9',
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_booted"}',
    SUPABASE_SECRET_KEYS: '{"default": "sb_secret_booted"}',
    SUPABASE_DB_URL: database,
    DATABASE_POOL: '1',
    ...embeddings.settings,
    RATE_LIMIT_SEARCH_ANONYMOUS: 'off',
  }
  writeFileSync(join(cwd, 'measured.js'), measured(upload.metadata.entrypoint_path))
  const options = ['--no-config', '--no-lock', '--no-npm', '--v8-flags=--expose-gc']
  return serveFunction('measured.js', env, { deno, cwd, options })
}

/** A request for each function and the expected status with only its own files and a database. */
const requests: Record<string, [path: string, request: RequestInit, status: number]> = {
  auth: ['/login', { method: 'POST', body: '{}' }, 400],
  conversations: ['', {}, 401],
  embed: ['', { method: 'POST' }, 401],
  health: ['', {}, 200],
  notify: ['', { method: 'POST' }, 401],
  users: ['/search?q=chess', {}, 200],
}

/** Embeds a new profile with the OpenAI SDK. Returns the number of vectors. */
const embedProfile = async (base: string): Promise<number> => {
  const sql = postgres(platform('scripted'), { max: 1 })
  try {
    const [user] = await sql`
      insert into public.users (name, email) values ('Ana', ${`${randomUUID()}@example.com`}) returning id
    `
    await sql`
      insert into public.profiles (user_id, biography, is_searchable)
      values (${user!.id}, 'I repair boats and play chess', true)
    `
  } finally {
    await sql.end()
  }
  const answer = await fetch(base, { method: 'POST', headers: { apikey: 'sb_secret_booted' } })
  return (await answer.json()).made
}

/** Resident memory of a process, in MB. */
const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1000

describe.each(denoVersions())('started alone from the uploaded bundle, on $version', ({ version, deno }) => {
  // One after the other, because the times are printed.
  test.each(names)('%s serves its OpenAPI document and answers', async (name) => {
    const began = performance.now()
    const served = await serveUpload(name, deno)
    const base = `${served.base}/${name}`
    try {
      const document = await fetch(`${base}/openapi.json`)
      const boot = performance.now() - began
      expect(document.status).toBe(200)
      const release = document.headers.get('X-Release')!
      expect(release).toMatch(/^\d+\.\d+\.\d+\+([0-9a-f]{12}|uncommitted\.\d{4}-.*Z)$/)
      releases.add(release)
      expect([...releases]).toEqual([release])
      expect(Object.keys((await document.json()).paths)[0]).toMatch(new RegExp(`^/${name}`))
      const [path, request, status] = requests[name] ?? ['/no-such-path', {}, 404]
      const send = () => fetch(base + path, { ...request, headers: { 'Content-Type': 'application/json' } })
      const heap = async (): Promise<number> => await (await fetch(`${served.base}/heap`)).json() / 1e6
      let heapBefore = 0
      for (let round = 0; round < 100; round++) {
        if (round === 20) heapBefore = await heap()
        for (const answer of await Promise.all(Array.from({ length: 10 }, send))) {
          expect(answer.status, await answer.text()).toBe(status)
        }
      }
      const memory = memoryOf(served.pid)
      const heapAfter = await heap()
      console.log(
        `${name} on ${version}: first answer after ${Math.round(boot)} ms, ${
          Math.round(memory)
        } MB after 1,000, of which ` +
          `${heapAfter.toFixed(1)} MB live heap, ${heapBefore.toFixed(1)} after 200`,
      )
      // The platform ends a worker at 256 MB.
      expect(memory).toBeLessThan(200)
      // What requests leave behind would grow.
      expect(heapAfter - heapBefore).toBeLessThan(2)
      if (name === 'embed') expect(await embedProfile(base)).toBeGreaterThan(0)
    } finally {
      served.stop()
    }
  })
})

// Of the offline model the bundle has the words alone. Without them it takes a word that no profile has for a typing
// error, and the nDCG falls from .85 to .71.
test('the search of the uploaded bundle ranks the graded queries as the sources do', async () => {
  const database = await makeDatabase('ranked')
  const served = await serveUpload('users', denoVersions()[1]!.deno, database)
  try {
    const args = [`--deployed=${served.base}/users`]
    const figures = await runScript<Record<string, Record<string, number>>>(
      'bench/search/quality.ts',
      args,
      { DATABASE_URL: database },
    )
    const of = (mode: string) => Object.entries(figures).map(([kind, ndcg]) => [kind, ndcg[mode]])
    expect(of('deployed')).toEqual(of('both'))
  } finally {
    served.stop()
  }
})
