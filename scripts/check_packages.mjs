// Each package.json must pin exact versions, except of what the user of the client package brings (peerDependencies).
// Every package in the lock file must have a hash: for one that has none, npm installs whatever a registry sends.
import { readFileSync } from 'node:fs'

const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))

for (const file of ['package.json', 'clients/package.json']) {
  const { dependencies, devDependencies } = read(file)
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${file}: ${name} is ${version}, not an exact version`)
  }
}
for (const [path, { link, integrity = '' }] of Object.entries(read('package-lock.json').packages)) {
  const isPackage = path.includes('node_modules/') && !link
  if (isPackage && !/^sha512-[\w+/]{86}==$/.test(integrity)) {
    throw new Error(`package-lock.json: ${path} has no integrity`)
  }
}
