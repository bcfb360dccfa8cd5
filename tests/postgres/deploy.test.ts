import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen } from '../tools/ports.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { type Outcome, platform, run, supabase } from '../tools/supabase.ts'

interface Upload {
  metadata: { entrypoint_path: string; import_map_path: string; verify_jwt: boolean }
  files: Map<string, Uint8Array<ArrayBuffer>>
}

const dataFile = 'functions/_shared/embeddings/wordnet/wordnet.bin'
const names = readdirSync('functions', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(`functions/${entry.name}`).includes('index.ts'))
  .map(({ name }) => name)
  .sort()
const folder = mkdtempSync(join(tmpdir(), 'deployed-'))
const uploads = new Map<string, Upload>()
let deployed: Outcome

/** A stand-in for the Management API that keeps the uploads. */
const management = createServer(async (request, response) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const slug = new URL(request.url!, 'http://localhost').searchParams.get('slug')
  const type = request.headers['content-type']
  if (slug && type?.startsWith('multipart/')) {
    const form = await new Response(Buffer.concat(chunks), { headers: { 'content-type': type } }).formData()
    const files = new Map<string, Uint8Array<ArrayBuffer>>()
    for (const file of form.getAll('file') as File[]) files.set(file.name, new Uint8Array(await file.arrayBuffer()))
    uploads.set(slug, { metadata: JSON.parse(form.get('metadata') as string), files })
  }
  const answer = { id: slug, slug, name: slug, status: 'ACTIVE', version: 1, created_at: 1, updated_at: 1 }
  response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(request.method === 'GET' ? [] : answer))
})

beforeAll(async () => {
  const url = `http://127.0.0.1:${await listen(management)}`
  const profile = join(folder, 'profile.yaml')
  writeFileSync(profile, `name: mock\napi_url: ${url}\ndashboard_url: ${url}\nproject_host: localhost\n`)
  deployed = await supabase(
    ['functions', 'deploy', '--use-api', '--yes', '--remote=abcdefghijklmnopqrst', '--profile', profile],
    { SUPABASE_ACCESS_TOKEN: `sbp_${'0'.repeat(40)}` },
  )
})
afterAll(() => {
  management.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The files of this repository that a function imports, including type imports. */
const imported = async (name: string): Promise<string[]> => {
  const args = ['info', '--json', '--config', 'functions/deno.json', `functions/${name}/index.ts`]
  const { stdout } = await run('deno', args)
  const { modules } = JSON.parse(stdout) as { modules: { local?: string; kind?: string }[] }
  return modules.filter(({ kind }) => kind === 'esm').map(({ local }) => local!.slice(resolve('.').length + 1))
}

describe('supabase functions deploy', () => {
  test('deploys every function', () => {
    expect(deployed.code, deployed.stderr).toBe(0)
    expect([...uploads.keys()].sort()).toEqual(names)
  })

  test.each(names)('uploads the imports of %s, the import map and the data file of the embedder', async (name) => {
    const { metadata, files } = uploads.get(name)!
    const graph = await imported(name)
    const data = graph.includes('functions/_shared/embeddings/offline.ts') ? [dataFile] : []
    expect(graph.filter((path) => !path.startsWith('functions/'))).toEqual([])
    expect([...files.keys()].sort()).toEqual([...graph, ...data, 'functions/deno.json'].sort())
    for (const [path, bytes] of files) expect(Buffer.compare(bytes, readFileSync(path)), path).toBe(0)
    expect(metadata).toMatchObject({
      entrypoint_path: `functions/${name}/index.ts`,
      import_map_path: 'functions/deno.json',
      verify_jwt: false,
    })
  })
})

/** Serves a function from its uploaded files, its import map and the packages alone. */
const serveUpload = (name: string): Promise<ServedFunction> => {
  const { metadata, files } = uploads.get(name)!
  const cwd = join(folder, name)
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), bytes)
  }
  // Deno uses a package from here only if it has the version in the import map.
  symlinkSync(resolve('node_modules'), join(cwd, 'node_modules'))
  const env = {
    SUPABASE_URL: 'http://127.0.0.1:9',
    SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_booted"}',
    SUPABASE_SECRET_KEYS: '{"default": "sb_secret_booted"}',
    SUPABASE_DB_URL: platform('scripted'),
  }
  const options = ['--no-lock', '--node-modules-dir=manual', '--config', metadata.import_map_path]
  return serveFunction(metadata.entrypoint_path, env, { cwd, options })
}

/** A request for each function and the expected status with only its own files and a database. */
const requests: Record<string, [path: string, request: RequestInit, status: number]> = {
  auth: ['/login', { method: 'POST', body: '{}' }, 400],
  conversations: ['', {}, 401],
  embed: ['', { method: 'POST' }, 401],
  health: ['', {}, 200],
  users: ['/search?q=chess', {}, 200],
}

describe.concurrent('started alone from the uploaded files', () => {
  test.each(names)('%s serves its OpenAPI document and answers', async (name) => {
    const served = await serveUpload(name)
    const base = `${served.base}/${name}`
    try {
      const document = await fetch(`${base}/openapi.json`)
      expect(document.status).toBe(200)
      expect(Object.keys((await document.json()).paths)[0]).toMatch(new RegExp(`^/${name}`))
      const [path, request, status] = requests[name] ?? ['/no-such-path', {}, 404]
      const answer = await fetch(base + path, { ...request, headers: { 'Content-Type': 'application/json' } })
      expect(answer.status, await answer.text()).toBe(status)
      if (name === 'embed') expect(await embedded(base)).toBeGreaterThan(0)
    } finally {
      served.stop()
    }
  })

  /** Embeds a new profile, which needs the uploaded data file. Returns the number of vectors. */
  const embedded = async (base: string): Promise<number> => {
    const sql = postgres(platform('scripted'), { max: 1 })
    try {
      const [user] = await sql`insert into public.users (name, email) values ('Ana', 'ana@example.com') returning id`
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
})
