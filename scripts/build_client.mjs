// Compiles clients/ to clients/dist, which `npm pack` packs: JavaScript with source maps, and declarations.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const dist = new URL('clients/dist/', root)

rmSync(dist, { recursive: true, force: true })
execFileSync(fileURLToPath(new URL('node_modules/.bin/tsc', root)), ['-p', fileURLToPath(new URL('clients/', root))], {
  stdio: 'inherit',
})
// tsc leaves `./inbox.ts` in declarations, which it finds as inbox.d.ts. Deno does not.
for (const name of readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
  const file = new URL(name, dist)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
}
copyFileSync(new URL('LICENSE', root), new URL('LICENSE', dist))
