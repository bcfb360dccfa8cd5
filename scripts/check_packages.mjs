// Each package.json must pin exact versions, except of what the user of the client package brings (peerDependencies).
// Every package in the lock file must have a hash: for one that has none, npm installs whatever a registry sends.
import { readFileSync } from 'node:fs'

const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))

const versions = ['package.json', 'clients/package.json'].flatMap((file) => {
  const { dependencies, devDependencies } = read(file)
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
    .map(([name, version]) => `${file}: ${name} is ${version}, not an exact version`)
})
const hashes = Object.entries(read('package-lock.json').packages)
  .filter(([path, { link }]) => path.includes('node_modules/') && !link)
  .filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  .map(([path]) => `package-lock.json: ${path} has no integrity`)

const faults = [...versions, ...hashes]
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
