/** Writes docs/openapi.json: the documents that the doors give at /openapi.json, as one. `--check` only compares. */
import auth from '../functions/auth/index.ts'
import conversations from '../functions/conversations/index.ts'
import embed from '../functions/embed/index.ts'
import health from '../functions/health/index.ts'
import users from '../functions/users/index.ts'

// Standard output is for what went wrong.
Deno.env.set('ACCESS_LOG', 'off')

const whole = {
  openapi: '3.1.0',
  info: { title: 'Messaging and profiles for voyagers and locals', version: '1' },
  servers: [{ url: '{project}/functions/v1', variables: { project: { default: 'http://127.0.0.1:54321' } } }],
  paths: {},
  components: { schemas: {}, securitySchemes: {} },
}
for (const [name, door] of Object.entries({ auth, users, conversations, health, embed })) {
  const response = await door.fetch(new Request(`http://localhost/${name}/openapi.json`))
  const { paths, components } = await response.json()
  Object.assign(whole.paths, paths)
  Object.assign(whole.components.schemas, components.schemas)
  Object.assign(whole.components.securitySchemes, components.securitySchemes)
}

const file = new URL('../docs/openapi.json', import.meta.url)
const text = `${JSON.stringify(whole, null, 2)}\n`
if (!Deno.args.includes('--check')) {
  Deno.writeTextFileSync(file, text)
} else if (Deno.readTextFileSync(file) !== text) {
  console.error('docs/openapi.json is not what the doors say; run npm run openapi')
  Deno.exit(1)
}
