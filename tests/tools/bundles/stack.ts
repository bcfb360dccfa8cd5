/**
 * The local stack with the functions as they are deployed: the bundles of `npm run build`, on the Deno of
 * FUNCTIONS_DENO, in a process of their own. Needs DATABASE_URL, because PGlite is in the stack's process.
 */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { withoutLength } from '../../../functions/_shared/app.ts'
import { type OpenFunctions, run } from '../../../supabase/local/main.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const bundles = pathOf('../../../dist/functions')

// The bundles count log-ins themselves. They call Auth from outside, which would count them once more.
const logIns = Deno.env.get('RATE_LIMIT_LOGIN')
Deno.env.delete('RATE_LIMIT_LOGIN')

/** Starts the bundles; returns their address. Their log goes where ours goes. */
const serveBundles = async (): Promise<{ base: string; close: () => void }> => {
  const process = new Deno.Command(Deno.env.get('FUNCTIONS_DENO')!, {
    args: ['run', '-A', '--no-config', '--no-lock', '--no-npm', pathOf('serve.ts'), bundles],
    ...(logIns && { env: { RATE_LIMIT_LOGIN: logIns } }),
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

const openBundles: OpenFunctions = async ({ secretKey }) => {
  const names = [...Deno.readDirSync(bundles)].map(({ name }) => name)
  const { base, close } = await serveBundles()
  const call = (name: string) =>
    void fetch(`${base}/${name}`, { method: 'POST', headers: { apikey: secretKey } })
      .then((answer) => answer.body?.cancel()).catch(() => {})
  return {
    byName: Object.fromEntries(names.map((name) => [name, { fetch: (request) => forward(request, base) }])),
    drain: () => call('embed'),
    notify: () => call('notify'),
    close,
  }
}

await run(openBundles)
