import { createServer } from 'node:http'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listen } from './ports.ts'

export const projectRef = 'abcdefghijklmnopqrst'

export interface Upload {
  metadata: { entrypoint_path: string; static_patterns?: string[]; verify_jwt: boolean }
  files: Map<string, Uint8Array<ArrayBuffer>>
}

/** Writes what was uploaded, and nothing else, into an empty folder. */
export const unpack = ({ files }: Upload, folder: string): void => {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), bytes)
  }
}

const time = '2026-01-01T00:00:00Z'
const organization = { organization_id: 'organisation', organization_slug: 'organisation' }
const database = { host: 'localhost', version: '17.6.1', postgres_engine: '17', release_channel: 'ga' }
const project = {
  ...{ id: projectRef, ref: projectRef, ...organization, name: 'voyagers', region: 'eu-west-1' },
  ...{ created_at: time, status: 'ACTIVE_HEALTHY', database },
}
const hostname = {
  ...{ id: '1', hostname: 'api.example.com', ssl: { status: 'active', validation_records: [] } },
  ...{ ownership_verification: { type: 'txt', name: 'x', value: 'y' }, verification_errors: [], status: 'active' },
  custom_origin_server: `${projectRef}.localhost`,
}
const customHostname = {
  ...{ status: '5_services_reconfigured', custom_hostname: hostname.hostname },
  data: { success: true, errors: [], messages: [], result: hostname },
}
const backups = {
  ...{ region: project.region, walg_enabled: true, pitr_enabled: false, physical_backup_data: {} },
  backups: [{ id: 1, is_physical_backup: true, status: 'COMPLETED', inserted_at: time }],
}

/**
 * A stand-in for the Management API, which the Supabase CLI calls. It keeps what is uploaded and the secrets that are
 * set, and answers the rest as for one project. `profile` is the file for the CLI's `--profile`.
 */
export const openManagementApi = async (folder: string, keys: { publishableKey: string; secretKey: string }) => {
  const uploads = new Map<string, Upload>()
  const secrets = new Map<string, string>()
  /** What has no answer here. */
  const unknown: string[] = []
  const functions = () =>
    [...uploads.keys()].map((slug) => ({
      ...{ id: slug, slug, name: slug, status: 'ACTIVE', version: 1, created_at: 1, updated_at: 1 },
    }))
  const apiKeys = Object.entries({ publishable: keys.publishableKey, secret: keys.secretKey })
    .map(([type, api_key]) => ({ name: 'default', id: type, type, api_key, inserted_at: time, updated_at: time }))
  const at = `/v1/projects/${projectRef}`
  const answers: Record<string, (body: string) => unknown> = {
    'GET /v1/profile': () => ({ gotrue_id: '1', primary_email: 'operator@example.com', username: 'operator' }),
    'GET /v1/organizations': () => [{ id: 'organisation', slug: 'organisation', name: 'Organisation' }],
    'POST /v1/projects': () => project,
    [`GET ${at}`]: () => project,
    [`GET ${at}/api-keys`]: () => apiKeys,
    [`GET ${at}/config/database/pooler`]: () => [],
    [`GET ${at}/config/storage`]: () => ({}),
    [`GET ${at}/functions`]: functions,
    [`GET ${at}/database/backups`]: () => backups,
    [`POST ${at}/custom-hostname/reverify`]: () => customHostname,
    [`POST ${at}/custom-hostname/activate`]: () => customHostname,
    [`PUT ${at}/functions`]: functions,
    [`POST ${at}/secrets`]: (body) => {
      for (const { name, value } of JSON.parse(body)) secrets.set(name, value)
      return ''
    },
  }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const slug = searchParams.get('slug')
    const type = request.headers['content-type']
    const send = (status: number, answer: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }
    if (slug && type?.startsWith('multipart/')) {
      const form = await new Response(body, { headers: { 'content-type': type } }).formData()
      const files = new Map<string, Uint8Array<ArrayBuffer>>()
      for (const file of form.getAll('file') as File[]) files.set(file.name, new Uint8Array(await file.arrayBuffer()))
      uploads.set(slug, { metadata: JSON.parse(form.get('metadata') as string), files })
      return send(201, functions().find((one) => one.slug === slug))
    }
    const answer = answers[`${request.method} ${pathname}`]
    if (answer) return send(request.method === 'POST' ? 201 : 200, answer(body.toString()))
    unknown.push(`${request.method} ${request.url}`)
    send(404, { message: 'Not found' })
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  const profile = join(folder, 'profile.yaml')
  writeFileSync(profile, `name: mock\napi_url: ${url}\ndashboard_url: ${url}\nproject_host: localhost\n`)
  return { uploads, secrets, unknown, profile, token: `sbp_${'0'.repeat(40)}`, close: () => server.close() }
}
