/**
 * Bundles each Edge Function with the packages that it uses into dist/functions/NAME/index.js, which is what is
 * deployed. Whole packages would be 38 MB a function, and the platform takes 20.
 *   deno run -A scripts/build_functions.ts [FOLDER]      (npm run build)
 */
import { execFileSync } from 'node:child_process'
import { builtinModules } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import packageJson from '../package.json' with { type: 'json' }

/** In bytes, without the model. A larger bundle starts slowly, and the largest has 0.75 MB. */
const sizeLimit = 1_000_000

/** The offline model, beside the bundles of those functions that supabase/config.toml gives it to: which embed. */
const model = 'wordnet/wordnet.bin'

const root = new URL('../', import.meta.url)
const config = Deno.readTextFileSync(new URL('supabase/config.toml', root))
const target = Deno.args[0] ?? fileURLToPath(new URL('dist/functions', root))

/** Packages import Node's modules without a prefix, which Deno takes for packages. */
const nodePrefix = {
  name: 'node-prefix',
  resolveId: (id: string) => builtinModules.includes(id) ? { id: `node:${id}`, external: true } : null,
}

/** What the bundles are made of. */
const sources = ['functions', 'scripts/build_functions.ts', 'package-lock.json']
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
/** The commit, or the time of the build where the sources are in no commit. */
const describeSources = (): string => {
  try {
    if (git('status', '--porcelain', '--', ...sources) === '') return git('rev-parse', '--short=12', 'HEAD')
  } catch {
    // No repository, or no git.
  }
  return `uncommitted.${new Date().toISOString()}`
}
/** What all functions of a build report as their release. */
const release = `${packageJson.version}+${describeSources()}`

for (const { name, isDirectory } of Deno.readDirSync(new URL('functions', root))) {
  if (!isDirectory || name === '_shared') continue
  const { output: [bundle] } = await build({
    input: fileURLToPath(new URL(`functions/${name}/index.ts`, root)),
    platform: 'node',
    tsconfig: false,
    external: [/^node:/],
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
    plugins: [nodePrefix],
    logLevel: 'silent',
    output: {
      file: `${target}/${name}/index.js`,
      format: 'esm',
      minify: true,
      codeSplitting: false,
      // To read the stack traces in the log. It is not uploaded.
      sourcemap: 'hidden',
    },
  })
  const { length } = new TextEncoder().encode(bundle.code)
  console.log(`${name.padEnd(15)}${Math.ceil(length / 1000)} kB`)
  if (length > sizeLimit) {
    console.error(`${name} is larger than ${sizeLimit / 1000} kB`)
    Deno.exit(1)
  }
  if (config.includes(`/${name}/${model}`)) {
    Deno.mkdirSync(dirname(`${target}/${name}/${model}`), { recursive: true })
    Deno.copyFileSync(new URL(`functions/_shared/embeddings/${model}`, root), `${target}/${name}/${model}`)
  }
}
