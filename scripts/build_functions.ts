/**
 * Bundles each Edge Function with the packages that it uses into dist/functions/NAME/index.js, which is what is
 * deployed. Whole packages would be 38 MB a function, and the platform takes 20.
 *   deno run -A scripts/build_functions.ts [FOLDER]      (npm run build)
 */
import { spawnSync } from 'node:child_process'
import { builtinModules } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import packageJson from '../package.json' with { type: 'json' }

/** The offline model, beside the bundles of those functions that supabase/config.toml gives it to: which embed. */
const model = 'wordnet/wordnet.bin'

const root = new URL('../', import.meta.url)
const config = Deno.readTextFileSync(new URL('supabase/config.toml', root))
const target = Deno.args[0] ?? fileURLToPath(new URL('dist/functions', root))

const commit = 'test -z "$(git status --porcelain -- functions scripts/build_functions.ts package-lock.json)" && ' +
  'git rev-parse --short=12 HEAD'
const { status, stdout } = spawnSync('sh', ['-c', commit], { cwd: root, encoding: 'utf8' })
/** What all functions of a build report as their release: with the time of the build if there is no commit. */
const release = `${packageJson.version}+${status === 0 ? stdout.trim() : `uncommitted.${new Date().toISOString()}`}`

for (const { name, isDirectory } of Deno.readDirSync(new URL('functions', root))) {
  if (!isDirectory || name === '_shared') continue
  const { output: [bundle] } = await build({
    input: fileURLToPath(new URL(`functions/${name}/index.ts`, root)),
    platform: 'node',
    tsconfig: false,
    external: [/^node:/, ...builtinModules],
    // Deno 2.1, the version of the platform's runtime, has these globals only within packages.
    transform: {
      define: { RELEASE: JSON.stringify(release), global: 'globalThis' },
      inject: {
        Buffer: ['node:buffer', 'Buffer'],
        process: ['node:process', 'default'],
        setImmediate: ['node:timers', 'setImmediate'],
        clearImmediate: ['node:timers', 'clearImmediate'],
      },
    },
    logLevel: 'silent',
    output: {
      file: `${target}/${name}/index.js`,
      format: 'esm',
      minify: true,
      codeSplitting: false,
      // Packages import Node's modules without a prefix, which Deno takes for packages.
      paths: (id) => id.replace(/^(?!node:)/, 'node:'),
      // To read the stack traces in the log. It is not uploaded.
      sourcemap: 'hidden',
    },
  })
  console.log(`${name.padEnd(15)}${Math.ceil(bundle.code.length / 1000)} kB`)
  if (config.includes(`/${name}/${model}`)) {
    Deno.mkdirSync(dirname(`${target}/${name}/${model}`), { recursive: true })
    Deno.copyFileSync(new URL(`functions/_shared/embeddings/${model}`, root), `${target}/${name}/${model}`)
  }
}
