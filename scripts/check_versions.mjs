// The functions run with package.json here and with functions/deno.json on Supabase: both must pin the same exact
// versions.
import { readFileSync } from 'node:fs'

const read = (path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url)))
const { dependencies, devDependencies } = read('package.json')
const { imports } = read('functions/deno.json')

const faults = Object.entries({ ...dependencies, ...devDependencies })
  .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  .map(([name, version]) => `package.json: ${name} is ${version}, not an exact version`)
for (const [name, version] of Object.entries(dependencies)) {
  const mapped = imports[name]
  if (mapped !== `npm:${name}@${version}`) {
    faults.push(`functions/deno.json: ${name} is ${mapped}, package.json has ${version}`)
  }
}
for (const fault of faults) console.error(fault)
process.exit(faults.length > 0 ? 1 : 0)
