// package.json must pin exact versions.
import { readFileSync } from 'node:fs'

const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)))
const faults = Object.entries({ ...dependencies, ...devDependencies })
  .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  .map(([name, version]) => `package.json: ${name} is ${version}, not an exact version`)
for (const fault of faults) console.error(fault)
process.exit(faults.length > 0 ? 1 : 0)
