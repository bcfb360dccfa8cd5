// Every package in the lock file must have a hash: for one that has none, npm installs whatever a registry sends.
// `--mend` asks the registry for the missing hashes and changes nothing else.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))

// Binaries for platforms other than Linux on x64: the registry that wrote this file does not have them. When one has
// got its hash, remove it here.
const unknown = [
  ...['darwin-arm64', 'darwin-x64', 'linux-arm64-glibc', 'win32-arm64', 'win32-x64'].map((name) => `@deno/${name}`),
  ...['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-arm64-musl', 'linux-x64-musl', 'windows-arm64', 'windows-x64']
    .map((name) => `@supabase/cli-${name}`),
]

const entries = Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && !link)
const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
const isKnown = ({ integrity }) => /^sha512-[\w+/]{86}==$/.test(integrity ?? '')

if (process.argv.includes('--mend')) {
  for (const [path, entry] of entries.filter(([, entry]) => !isKnown(entry))) {
    const asked = `${nameOf(path)}@${entry.version}`
    try {
      const integrity = execFileSync('npm', ['view', asked, 'dist.integrity'], { encoding: 'utf8' }).trim()
      if (!isKnown({ integrity })) throw new Error('no integrity')
      const { version, ...rest } = entry
      lock.packages[path] = { version, integrity, ...rest }
    } catch {
      console.error(`The registry does not have ${asked}`)
    }
  }
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}

const missing = entries.filter(([path]) => !isKnown(lock.packages[path])).map(([path]) => nameOf(path))
const faults = [
  ...missing.filter((name) => !unknown.includes(name)).map((name) => `package-lock.json: ${name} has no integrity`),
  ...unknown.filter((name) => !missing.includes(name)).map((name) =>
    `scripts/check_lock.mjs: ${name} has an integrity, so it is no exception any more`
  ),
]
for (const fault of faults) console.error(fault)
process.exit(faults.length > 0 ? 1 : 0)
