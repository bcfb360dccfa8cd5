/**
 * Serves the bundles of `npm run build` in one process (stack.ts starts it). Runs on the platform's version of
 * Deno as well, so it imports nothing.
 *   deno run -A tests/tools/bundles/serve.ts FOLDER
 */
const [folder] = Deno.args
const functions: Record<string, { fetch: (request: Request) => Response | Promise<Response> }> = {}
for (const { name, isDirectory } of Deno.readDirSync(folder!)) {
  if (isDirectory) functions[name] = (await import(`file://${folder}/${name}/index.js`)).default
}
const serve = async (request: Request): Promise<Response> => {
  const target = functions[new URL(request.url).pathname.split('/')[1]!]!
  if (!request.body) return await target.fetch(request)
  // Deno 2.1 resets a connection if its answer is complete and the body is not, and the answer may be lost. So the body
  // is read to its end, whether or not the function does. If that takes too long, the answer goes first.
  const [body, rest] = request.body.tee()
  const ended = rest.pipeTo(new WritableStream()).catch(() => {})
  const answer = await target.fetch(new Request(request, { body }))
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300))])
  return answer
}

Deno.serve({
  hostname: '127.0.0.1',
  port: 0,
  onListen: ({ port }) => console.error(`ready http://127.0.0.1:${port}`),
}, serve)

// Ends with the process that started it, however that ends.
for await (const _ of Deno.stdin.readable);
Deno.exit(0)
