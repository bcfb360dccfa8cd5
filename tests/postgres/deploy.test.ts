// What npm run deploy uploads, each function alone in its folder, under the platform's Deno.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { openManagementApi, projectRef } from '../tools/management_api.ts'
import { testKeys } from '../tools/stack.ts'
import { type Outcome, supabase } from '../tools/supabase.ts'
import { serveUpload } from './deployed_project.ts'

const names = readdirSync('functions').filter((name) => !/[_.]/.test(name)).toSorted()
const { owner, url } = await useCopy('uploaded')
const folder = mkdtempSync(join(tmpdir(), 'deployed-'))
let management: Awaited<ReturnType<typeof openManagementApi>>
let deployed: Outcome

beforeAll(async () => {
  management = await openManagementApi(folder, testKeys)
  // run.sh has built the bundles.
  deployed = await supabase(
    ['functions', 'deploy', '--use-api', '--yes', `--project-ref=${projectRef}`, '--profile', management.profile],
    { SUPABASE_ACCESS_TOKEN: management.token },
  )
})
afterAll(() => {
  management.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Whether a bundle embeds texts, and then needs the offline model: it has the error of a provider that fails. */
const embeds = (bundle: string): boolean => bundle.includes('texts did not come back as')

test('npm run deploy uploads one bundle for every function, of 1 MB at most, and the model where it is needed', () => {
  expect(deployed.code, deployed.stderr).toBe(0)
  expect([...management.uploads.keys()].toSorted()).toEqual(names)
  for (const [name, { metadata, files }] of management.uploads) {
    const entrypoint = `dist/functions/${name}/index.js`
    const model = `dist/functions/${name}/wordnet/wordnet.bin`
    const others = embeds(new TextDecoder().decode(files.get(entrypoint))) ? [model] : []
    expect([...files.keys()].toSorted()).toEqual([entrypoint, ...others])
    expect(metadata).toMatchObject({ entrypoint_path: entrypoint, verify_jwt: false, static_patterns: others })
    for (const file of others) expect(files.get(file)!.length).toBeGreaterThan(8_000_000)
    expect(files.get(entrypoint)!.length).toBeLessThan(1_000_000)
  }
})

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
const serve = (name: string, database: string) => {
  const upload = management.uploads.get(name)!
  const env = {
    SUPABASE_URL: 'http://127.0.0.1:9',
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_booted"}',
    SUPABASE_SECRET_KEYS: '{"default": "sb_secret_booted"}',
    SUPABASE_DB_URL: database,
    DATABASE_POOL: '1',
    RATE_LIMIT_SEARCH_ANONYMOUS: 'off',
  }
  return serveUpload(upload, folder, env, (cwd) => {
    writeFileSync(join(cwd, 'measured.js'), measured(upload.metadata.entrypoint_path))
    return ['measured.js', '--v8-flags=--expose-gc']
  })
}

const addProfile = (biography: string) =>
  owner`
    with person as (insert into public.users (name, email) values ('Ana', '') returning id)
    insert into public.profiles (user_id, biography, is_searchable) select id, ${biography}, true from person`

/** A request for each function and the expected status with only its own files and a database. */
const requests: Record<string, [path: string, request: RequestInit, status: number]> = {
  auth: ['/login', { method: 'POST', body: '{}' }, 400],
  conversations: ['', {}, 401],
  embed: ['', { method: 'POST' }, 401],
  health: ['', {}, 200],
  notify: ['', { method: 'POST' }, 401],
  users: ['/search?q=chess', {}, 200],
}
/** What the functions report; one build has one. */
const releases = new Set<string>()

// One after the other, because the times are printed.
test.each(names)('started alone from the uploaded bundle, %s serves its OpenAPI document and answers', async (name) => {
  const began = performance.now()
  const { base: origin, pid, stop } = await serve(name, url())
  try {
    const base = `${origin}/${name}`
    const document = await fetch(`${base}/openapi.json`)
    const boot = performance.now() - began
    expect(document.status).toBe(200)
    const release = document.headers.get('X-Release')!
    expect(release).toMatch(/^\d+\.\d+\.\d+\+([0-9a-f]{12}|uncommitted\.\d{4}-.*Z)$/)
    expect([...releases.add(release)]).toEqual([release])
    expect(Object.keys((await document.json()).paths)[0]).toMatch(new RegExp(`^/${name}`))
    const [path, request, status] = requests[name] ?? ['/no-such-path', {}, 404]
    const send = () => fetch(base + path, { ...request, headers: { 'Content-Type': 'application/json' } })
    const heap = async (): Promise<number> => await (await fetch(`${origin}/heap`)).json() / 1e6
    let before = 0
    for (let round = 0; round < 40; round++) {
      if (round === 20) before = await heap()
      for (const answer of await Promise.all(Array.from({ length: 10 }, send))) {
        expect(answer.status, await answer.text()).toBe(status)
      }
    }
    const memory = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1000
    const after = await heap()
    const times = `first answer after ${Math.round(boot)} ms, ${Math.round(memory)} MB after 400`
    console.log(`${name}: ${times}, live heap ${after.toFixed(1)} MB, ${before.toFixed(1)} after 200`)
    // The platform ends a worker at 256 MB.
    expect(memory).toBeLessThan(200)
    // What requests leave behind would grow.
    expect(after - before).toBeLessThan(2)
    if (name === 'embed') {
      await addProfile('I repair boats and play chess')
      const answer = await fetch(base, { method: 'POST', headers: { apikey: 'sb_secret_booted' } })
      expect((await answer.json()).made).toBeGreaterThan(0)
      const [entry] = await owner`select model from private.search_entries where embedding is not null`
      expect(entry).toEqual({ model: 'offline-wordnet-v3' })
    }
  } finally {
    stop()
  }
})

// Of the offline model the bundle has the words alone. Without them it takes a word that no profile has for a typing
// error, and the nDCG falls from .85 to .71.
test('the search of the uploaded bundle knows the words of the model', async () => {
  await addProfile('Trucking')
  const { base, stop } = await serve('users', url())
  try {
    const ask = async (q: string) => await (await fetch(`${base}/users/search?explain=true&q=${q}+`)).json()
    const understood = async (q: string) => (await ask(q))._understood.text
    expect([await understood('trecking'), await understood('trekking')]).toEqual(['trucking', 'trekking'])
  } finally {
    stop()
  }
})
