import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { withoutLength } from '../../functions/_shared/app.ts'
import { log } from '../../functions/_shared/log.ts'
import { CannotStart } from './cannot_start.ts'
import type { Keys, Settings } from './settings.ts'

export type EdgeFunction = { fetch: (request: Request) => Response | Promise<Response> }

export interface EdgeFunctions {
  byName: Record<string, EdgeFunction>
  /** Makes the embeddings that are due. */
  drain: () => void
  /** Sends the notifications that are due. */
  notify: () => void
  close: () => void
}

/** The functions' sources, in this process. */
const inThisProcess = async (): Promise<EdgeFunctions> => {
  const { drainInBackground } = await import('../../functions/_shared/embeddings/drain.ts')
  const { notify } = await import('../../functions/notify/run.ts')
  return {
    byName: {
      auth: (await import('../../functions/auth/index.ts')).default,
      users: (await import('../../functions/users/index.ts')).default,
      conversations: (await import('../../functions/conversations/index.ts')).default,
      health: (await import('../../functions/health/index.ts')).default,
      embed: (await import('../../functions/embed/index.ts')).default,
      notify: (await import('../../functions/notify/index.ts')).default,
    },
    drain: drainInBackground,
    notify: () => void notify().catch(({ name, code }) => log('warn', 'Sending notifications failed', { name, code })),
    close: () => {},
  }
}

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const bundles = pathOf('../../dist/functions')

/** Starts the bundles on this Deno; returns their address. Their log goes where ours goes. */
const serveBundles = async (deno: string): Promise<{ base: string; close: () => void }> => {
  const process = new Deno.Command(deno, {
    args: ['run', '-A', '--no-config', '--no-lock', '--no-npm', pathOf('serve_bundles.ts'), bundles],
    stdin: 'piped',
    stdout: 'inherit',
    stderr: 'piped',
  }).spawn()
  let isRunning = true
  const ended = process.status.then(() => isRunning = false)
  const lines = createInterface(Readable.fromWeb(process.stderr as never))
  return await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const base = /^ready (\S+)$/.exec(line)?.[1]
      if (base) resolve({ base, close: () => isRunning && process.kill() })
      else console.error(line)
    })
    ended.then(() => reject(new Error('It ended')))
  })
}

/**
 * A connection for each request. Deno 2.1 closes one when it has answered before the body has arrived, and the next
 * request on it would fail.
 */
const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 })

const forwardedBytes = 1_048_576

/** Passes on no more than a function would read, and waits for its answer with the rest. */
const mostOf = (body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> => {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream({
      transform: async (chunk, controller) => {
        bytes += chunk.byteLength
        if (bytes > forwardedBytes) await new Promise(() => {})
        controller.enqueue(chunk)
      },
    }),
  )
}

const forward = async (request: Request, base: string): Promise<Response> => {
  const { pathname, search } = new URL(request.url)
  const headers = new Headers(request.headers)
  // This server compresses, as on the platform the server in front of the functions does.
  headers.set('Accept-Encoding', 'identity')
  const { method, signal } = request
  const body = request.body && mostOf(request.body)
  const init = { method, headers, body, signal, redirect: 'manual', client } as const
  try {
    const answer = await fetch(`${base}${pathname}${search}`, init)
    const forwarded = new Response(answer.body, answer)
    return method === 'HEAD' ? withoutLength(forwarded) : forwarded
  } catch {
    return Response.json({ error: 'The functions do not answer' }, { status: 502 })
  }
}

/** The functions as they are deployed, in a process of their own. */
const asBundles = async (deno: string, keys: Keys): Promise<EdgeFunctions> => {
  if (!existsSync(bundles)) throw new CannotStart('FUNCTIONS_DENO needs the bundles; run npm run build')
  const names = [...Deno.readDirSync(bundles)].map(({ name }) => name)
  const { base, close } = await serveBundles(deno).catch((error) => {
    throw new CannotStart(`FUNCTIONS_DENO is "${deno}", which could not serve the bundles: ${error.message}`)
  })
  const run = (name: string) =>
    void fetch(`${base}/${name}`, { method: 'POST', headers: { apikey: keys.secretKey } })
      .then((answer) => answer.body?.cancel()).catch(() => {})
  return {
    byName: Object.fromEntries(names.map((name) => [name, { fetch: (request) => forward(request, base) }])),
    drain: () => run('embed'),
    notify: () => run('notify'),
    close,
  }
}

export const openEdgeFunctions = ({ functionsDeno }: Settings, keys: Keys): Promise<EdgeFunctions> =>
  functionsDeno ? asBundles(functionsDeno, keys) : inThisProcess()
