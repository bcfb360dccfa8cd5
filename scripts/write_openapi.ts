/**
 * Writes docs/openapi.json, which joins what the functions serve at /openapi.json with docs/reference, and its types,
 * clients/openapi.ts. `--check` only compares.
 */
import openapiTypes, { astToString } from 'openapi-typescript'
import auth from '../functions/auth/index.ts'
import conversations from '../functions/conversations/index.ts'
import embed from '../functions/embed/index.ts'
import notify from '../functions/notify/index.ts'
import health from '../functions/health/index.ts'
import users from '../functions/users/index.ts'
import packageJson from '../package.json' with { type: 'json' }
import { joinReference, tagList } from './join_reference.ts'

// `npm run check` prints nothing but errors.
Deno.env.set('ACCESS_LOG', 'off')

const read = (name: string): string => Deno.readTextFileSync(new URL(`../docs/reference/${name}`, import.meta.url))
const answers = JSON.parse(read('examples.json'))

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Messaging and profiles for voyagers and locals',
    version: packageJson.version,
    description: read('introduction.md'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '{project}/functions/v1', variables: { project: { default: 'http://127.0.0.1:54321' } } }],
  tags: tagList,
  paths: {},
  components: { schemas: {}, headers: {}, responses: {}, securitySchemes: {} },
}
for (const [name, edgeFunction] of Object.entries({ auth, users, conversations, health, embed, notify })) {
  const response = await edgeFunction.fetch(new Request(`http://localhost/${name}/openapi.json`))
  const { paths, components } = await response.json()
  Object.assign(document.paths, joinReference(paths, answers))
  for (const [kind, parts] of Object.entries(document.components)) Object.assign(parts, components[kind])
}

const types = astToString(await openapiTypes(JSON.stringify(document)))
const files = {
  'docs/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'clients/openapi.ts': `// Generated from docs/openapi.json by npm run openapi.\n\n${types}`,
}
for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!Deno.args.includes('--check')) {
    Deno.writeTextFileSync(file, text)
  } else if (Deno.readTextFileSync(file) !== text) {
    console.error(`${name} is not up to date; run npm run openapi`)
    Deno.exitCode = 1
  }
}
