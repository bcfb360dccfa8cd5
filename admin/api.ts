/** What the database says about a refused edit, in plain words; constraints are named as sentences. */
export const plainWords = (message: string): string => {
  const [, constraint] = /violates \w+(?: \w+)? constraint "([^"]* [^"]*)"/.exec(message) ?? []
  if (constraint) return `Not saved. The rule is: ${constraint}`
  const [, empty] = /null value in column "(\w+)"/.exec(message) ?? []
  if (empty) return `Not saved: ${empty} must not be empty`
  const [, type, value] = /invalid input syntax for type ([\w ]+): "(.*)"/s.exec(message) ?? []
  if (type) return `Not saved: “${value}” is not a ${type === 'numeric' ? 'number' : type}`
  // The functions name the parameter, which the form has as its label.
  const [, wrong] = /^note: (.+)$/s.exec(message) ?? []
  if (wrong) return `Not done: ${wrong}`
  return message.replace(/^error: /, '')
}

const closed = 'Your session has ended, perhaps by a restart. Open /admin in another tab, then try again here.'

/**
 * Sends one request to the Data API, with the cookie that opened this page. Throws an error with what the database
 * says.
 */
export const dataApi = async <Body>(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<Body> => {
  const headers = { 'Content-Type': 'application/json', Prefer: 'return=representation' }
  const content = body === undefined ? null : JSON.stringify(body)
  const response = await fetch(`/rest/v1/${path}`, { method, headers, body: content }).catch(() => {
    throw new Error('The service cannot be reached')
  })
  const answer = await response.json().catch(() => null)
  if (response.ok) return answer
  if (response.status === 401) throw new Error(closed)
  throw new Error(answer?.message ? plainWords(answer.message) : `The service answered ${response.status}`)
}

/** Calls a function of the database. */
export const rpc = <Body>(name: string, parameters: Record<string, unknown> = {}): Promise<Body> =>
  dataApi<Body>('POST', `rpc/${name}`, parameters)

/** Changes one row; throws if it is gone. */
export const update = async (table: string, id: number, changes: Record<string, unknown>): Promise<void> => {
  const rows = await dataApi<unknown[]>('PATCH', `${table}?id=eq.${id}`, changes)
  if (rows.length === 0) throw new Error('Not saved: this is gone')
}
