// Compiles clients/ to clients/dist, which `npm pack` packs: JavaScript with source maps, and declarations.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const dist = new URL('clients/dist/', root)

rmSync(dist, { recursive: true, force: true })
const compile = (...options) =>
  execFileSync('node_modules/.bin/tsc', ['-p', 'clients', ...options], { cwd: root, stdio: 'inherit' })
compile('--emitDeclarationOnly')
// The comments are in the declarations and in the sources of the maps: a third time they were a tenth of the package.
compile('--declaration', 'false', '--removeComments')

// The generated types of the endpoints are mostly indentation and examples, which the reference has.
const example = /^ *\* @example .*\n( *\* {2,}.*\n)*/gm
const shortened = (text) => text.replaceAll(example, '').replaceAll(/^ +/gm, '').replaceAll('/**\n*/\n', '')
for (const name of readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
  const file = new URL(name, dist)
  // tsc leaves `./inbox.ts` in declarations, which it finds as inbox.d.ts. Deno does not.
  const text = readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'")
  writeFileSync(file, name.endsWith('openapi.d.ts') ? shortened(text) : text)
}
copyFileSync(new URL('LICENSE', root), new URL('LICENSE', dist))
