import { inside } from '../tools/inside.ts'
import { faults, type Operation } from '../tools/openapi.ts'
import type { Attempt } from './requests.ts'
import type { Got } from './wire.ts'

const refusals = new Set([400, 413, 415])

/** What an answer does that neither the document nor a careful service would; empty where all is well. */
export const offences = (
  operation: Operation,
  attempt: Attempt,
  { status, headers, text }: Got,
  secrets: string[],
): string[] => {
  const found: string[] = []
  const expect = (holds: boolean, offence: string) => void (holds || found.push(offence))
  expect(status < 500, `${status} ${text.slice(0, 300)}`)
  expect(String(status) in operation.answers, `${status} is not documented: ${text.slice(0, 300)}`)
  expect(Boolean(headers['x-request-id']), 'no X-Request-Id')
  expect(secrets.every((secret) => !text.includes(secret)), 'tells what is somebody else’s')

  const schema = operation.answers[status]
  if (schema) {
    const type = operation.types[status]!
    expect(headers['content-type']?.includes(type) ?? false, `type ${headers['content-type']}`)
    try {
      found.push(...faults(schema, type === 'application/json' ? JSON.parse(text) : text))
    } catch {
      found.push(`${status} with a body that is no JSON: ${text.slice(0, 300)}`)
    }
  } else expect(text === '', `${status} with a body: ${text.slice(0, 300)}`)

  if (status >= 400) {
    expect(!inside.test(text), `tells of the inside: ${text.slice(0, 300)}`)
    expect(String(headers['cache-control']).includes('no-store'), `keeps a refusal: ${headers['cache-control']}`)
  }
  if (status === 401) {
    expect(
      /^Bearer/.test(String(headers['www-authenticate'] ?? (operation.token === 'ignored' ? 'Bearer' : ''))),
      'no WWW-Authenticate',
    )
  }
  if (attempt.wholesome) expect(!refusals.has(status), `refuses what is right: ${text.slice(0, 300)}`)
  if (attempt.wrong.length > 0) expect(status >= 400, `takes what is wrong: ${attempt.wrong.join(', ')}`)
  return found
}
