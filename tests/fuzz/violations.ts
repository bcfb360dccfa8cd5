import { internals } from '../tools/internals.ts'
import { faults, type Operation } from '../tools/openapi.ts'
import type { GeneratedRequest } from './requests.ts'
import type { HttpResponse } from '../tools/http_client.ts'

const refusals = new Set([400, 413, 415])

/** How a response violates the OpenAPI document or the rules for every response. */
export const findViolations = (
  operation: Operation,
  request: GeneratedRequest,
  { status, headers, text }: HttpResponse,
  secrets: string[],
): string[] => {
  const found: string[] = []
  const expect = (holds: boolean, violation: string) => void (holds || found.push(violation))
  expect(status < 500, `${status} ${text.slice(0, 300)}`)
  expect(String(status) in operation.answers, `${status} is not documented: ${text.slice(0, 300)}`)
  expect(Boolean(headers['x-request-id']), 'no X-Request-Id')
  expect(secrets.every((secret) => !text.includes(secret)), 'contains data of another user')

  const schema = operation.answers[status]
  if (schema) {
    const type = operation.types[status]!
    expect(headers['content-type']?.includes(type) ?? false, `type ${headers['content-type']}`)
    try {
      found.push(...faults(schema, type === 'application/json' ? JSON.parse(text) : text, 'body', true))
    } catch {
      found.push(`${status} with a body that is not JSON: ${text.slice(0, 300)}`)
    }
  } else expect(text === '', `${status} with a body: ${text.slice(0, 300)}`)

  for (const name of ['X-Request-Id', 'X-Error-Code', 'WWW-Authenticate', 'Allow', 'Link', 'Idempotency-Replayed']) {
    const isDocumented = name in (operation.headers[status] ?? {})
    expect(isDocumented || !headers[name.toLowerCase()], `${name} is not documented for ${status}`)
  }
  if (status >= 400) {
    const code = String(headers['x-error-code'])
    const codes = operation.headers[status]?.['X-Error-Code']?.schema?.enum ?? []
    expect(codes.includes(code), `${status} with the X-Error-Code ${code}, not ${codes.join(' or ')}`)
    expect(!internals.test(text), `exposes internals: ${text.slice(0, 300)}`)
    expect(
      String(headers['cache-control']).includes('no-store'),
      `allows caching an error: ${headers['cache-control']}`,
    )
  }
  if (status === 401) {
    expect(
      /^Bearer/.test(String(headers['www-authenticate'] ?? (operation.token === 'ignored' ? 'Bearer' : ''))),
      'no WWW-Authenticate',
    )
  }
  // A cursor of one's own does not follow from its schema.
  const isComplete = request.valid && operation.name !== 'GET /conversations/changes'
  if (isComplete) expect(!refusals.has(status), `rejects a valid request: ${text.slice(0, 300)}`)
  if (request.faults.length > 0) expect(status >= 400, `accepts an invalid request: ${request.faults.join(', ')}`)
  return found
}
