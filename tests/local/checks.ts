/**
 * Runs the checks of *.checks.ts: of parts of the functions and the stack that need Deno, and globals and settings of
 * their own. Each runs in a new worker, where no module has been loaded. Prints the results as JSON.
 *   deno run -A tests/local/checks.ts [part of a name]     STACK_LOG=1 shows what they log
 */
import { checks, run } from './check.ts'

export interface Result {
  name: string
  error: string | null
}

for (const name of ['client_address', 'database', 'embeddings', 'requests']) await import(`./${name}.checks.ts`)

const minutes = 10
const runInWorker = async (name: string): Promise<string | null> => {
  const worker = new Worker(import.meta.url, { type: 'module', name })
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const timer = setTimeout(() => resolve(`does not end within ${minutes} minutes`), minutes * 60_000)
  worker.onmessage = ({ data }) => resolve(data)
  // What nobody has caught.
  worker.onerror = (event) => {
    event.preventDefault()
    resolve(event.message)
  }
  return await promise.finally(() => {
    clearTimeout(timer)
    worker.terminate()
  })
}

const { name, postMessage } = globalThis as unknown as { name: string; postMessage: (error: string | null) => void }
if (name) {
  if (!Deno.env.get('STACK_LOG')) Object.assign(console, { log() {}, info() {}, warn() {}, error() {} })
  postMessage(await run(name))
} else {
  const results: Result[] = []
  const { PATH = '', HOME = '', STACK_LOG = '', PREPARED_DATA = '' } = Deno.env.toObject()
  const kept = { PATH, HOME, STACK_LOG, PREPARED_DATA, TMPDIR: Deno.makeTempDirSync() }
  // One after the other, because workers share the environment.
  for (const { name, settings } of checks.filter(({ name }) => name.includes(Deno.args[0] ?? ''))) {
    for (const setting of Object.keys(Deno.env.toObject())) Deno.env.delete(setting)
    for (const [setting, value] of Object.entries({ ...kept, ...settings })) Deno.env.set(setting, value)
    results.push({ name, error: await runInWorker(name) })
  }
  Deno.removeSync(kept.TMPDIR, { recursive: true })
  console.log(JSON.stringify(results))
  Deno.exit(0)
}
