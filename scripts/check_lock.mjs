// Every package in the lock file must have a hash: for one that has none, npm installs whatever a registry sends.
// `--mend` asks the registry for the missing hashes and changes nothing else.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))

const entries = Object.entries(lock.packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
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
const faults = missing.map((name) => `package-lock.json: ${name} has no integrity`)
for (const fault of faults) console.error(fault)
process.exit(faults.length > 0 ? 1 : 0)
