import type { Example } from '../docs/reference/types.ts'

/** The extension `x-codeSamples` as Redoc and other viewers read it. */
export interface CodeSample {
  lang: 'Shell' | 'TypeScript'
  label: string
  source: string
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (
  method: string,
  path: string,
  { as, path: ids = {}, query = {}, headers = {}, json }: Example,
): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => String(ids[name]))
  const values = Object.entries(query).map(([name, value]) => [name, String(value)])
  const search = values.length ? `?${new URLSearchParams(values)}` : ''
  const sent = [
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    as === 'secret key' ? '-H "apikey: $SECRET_KEY"' : as && '-H "Authorization: Bearer $TOKEN"',
    json && `-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(json))}`,
  ].filter(Boolean)
  const first = `curl ${method === 'GET' ? '' : `-X ${method} `}"$URL${filled}${search}"`
  return [first, ...sent].join(' \\\n  ')
}

// Names without quotes, as people write them.
const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/"((?:[^"\\]|\\.)*)"(:?)/g, (text, name, colon) => {
    if (colon) return /^[a-z_]\w*$/i.test(name) ? `${name}:` : `'${name}':`
    return name.includes("'") || name.includes('\\') ? text : `'${name}'`
  }).replace(/\n */g, ' ').replaceAll('[ ', '[').replaceAll(' ]', ']')

const client = (method: string, path: string, { path: ids, query, headers, json }: Example): string => {
  // As the generated types have them.
  const header = headers &&
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const params = { ...(ids && { path: ids }), ...(query && { query }), ...(header && { header }) }
  const given = { ...(Object.keys(params).length && { params }), ...(json && { body: json }) }
  const options = Object.keys(given).length ? `, ${literal(given)}` : ''
  return `const { data, error } = await api.${method}('${path}'${options})`
}

/**
 * The example of an operation as a command, and as a call of the client package's typed client. What needs the secret
 * key is for servers, which have no client.
 */
export const codeSamples = (method: string, path: string, example: Example): CodeSample[] => {
  const command = { lang: 'Shell', label: 'curl', source: curl(method.toUpperCase(), path, example) } as const
  const call = { lang: 'TypeScript', label: 'client', source: client(method.toUpperCase(), path, example) } as const
  return example.as === 'secret key' ? [command] : [command, call]
}
