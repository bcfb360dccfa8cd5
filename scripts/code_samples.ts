import { inspect } from 'node:util'
import type { Example } from '../docs/reference/types.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (method: string, path: string, example: Example): string => {
  const { as, path: ids = {}, query = {}, headers = {}, json } = example
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => String(ids[name]))
  const search = new URLSearchParams(query as Record<string, string>)
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$URL${filled}${search.size > 0 ? `?${search}` : ''}"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    as === 'secret key' ? '-H "apikey: $SECRET_KEY"' : as && '-H "Authorization: Bearer $TOKEN"',
    json && `-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(json))}`,
  ].filter(Boolean).join(' \\\n  ')
}

const oneLine = { depth: null, compact: true, breakLength: Infinity, maxStringLength: null }

const client = (method: string, path: string, { path: ids, query, headers, json }: Example): string => {
  // As the generated types have them.
  const header = headers && Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const params = { path: ids, query, header: header && Object.fromEntries(header) }
  const given = JSON.stringify({ params: ids || query || header ? params : undefined, body: json })
  const literal = inspect(JSON.parse(given), oneLine)
  const options = given === '{}' ? '' : `, ${literal.replaceAll('[ ', '[').replaceAll(' ]', ']')}`
  return `const { data, error } = await api.${method}('${path}'${options})`
}

/**
 * The example of an operation as a command, and as a call of the client package's typed client, for the extension
 * `x-codeSamples` as Redoc and other viewers read it. What needs the secret key is for servers, which have no client.
 */
export const codeSamples = (method: string, path: string, example: Example) => [
  { lang: 'Shell', label: 'curl', source: curl(method, path, example) },
  ...example.as === 'secret key'
    ? []
    : [{ lang: 'TypeScript', label: 'client', source: client(method, path, example) }],
]
