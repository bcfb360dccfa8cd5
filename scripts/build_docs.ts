/**
 * Writes the API reference as static files, to publish anywhere: the page, its script and style, and openapi.json.
 *   deno run -A scripts/build_docs.ts [FOLDER]      (npm run docs: dist/docs)
 */
import { fileURLToPath } from 'node:url'
import { referenceFiles } from '../supabase/local/pages.ts'

const target = Deno.args[0] ?? fileURLToPath(new URL('../dist/docs', import.meta.url))
Deno.mkdirSync(target, { recursive: true })
for (const [name, file] of Object.entries(referenceFiles)) Deno.copyFileSync(file, `${target}/${name}`)
console.log(`${target}/index.html`)
