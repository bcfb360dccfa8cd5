// Each package.json must pin exact versions, except of what the user of the client package brings (peerDependencies).
import { readFileSync } from 'node:fs'

const faults = ['package.json', 'clients/package.json'].flatMap((file) => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url)))
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
    .map(([name, version]) => `${file}: ${name} is ${version}, not an exact version`)
})
for (const fault of faults) console.error(fault)
process.exit(faults.length > 0 ? 1 : 0)
