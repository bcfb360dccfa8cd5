/** Every role on every documented operation, about what is their own, another's and what does not exist. */
import { beforeAll, describe, expect, test } from 'vitest'
import { exampleRequest, isAboutSomething, type Subject } from '../tools/example_requests.ts'
import { faults, type Operation, operations } from '../tools/openapi.ts'
import { type Answer, signUp } from '../tools/people.ts'
import { callAs, createFixture, disclosures, type Fixture, type Role, roles, snapshot } from './fixture.ts'

const ownerships = ['own', "another's", 'unknown'] as const
type Ownership = typeof ownerships[number]

let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})

const unknown: Subject = Object.fromEntries(
  ['user', 'profile', 'conversation', 'message', 'reservation'].map((name) => [name, 2 ** 40]),
) as unknown as Subject
const userRole = (role: Role) => role === 'anonymous' ? 'voyager' : role
const subjectOf = (role: Role, ownership: Ownership): Subject => {
  if (ownership === 'unknown') return unknown
  if (ownership === 'own') return fixture.subjects[userRole(role)]
  const other = fixture.subjects[role === 'voyager' || role === 'local' ? 'outsider' : 'voyager']
  return { ...other, user: fixture.stranger.id, profile: fixture.people.outsider.profileId }
}

const requestOf = (operation: Operation, role: Role, ownership: Ownership) => {
  const request = exampleRequest(operation, subjectOf(role, ownership))
  // Somebody has to stay hidden.
  if (role === 'outsider' && operation.name === 'PATCH /users/searchable') {
    return { ...request, body: { is_searchable: false } }
  }
  if (operation.name !== 'POST /auth/login' || ownership === 'unknown') return request
  const { email, password } = ownership === 'own' ? fixture.people[userRole(role)] : fixture.stranger
  return { ...request, body: { email, password: ownership === 'own' ? password : 'another password' } }
}

/** What an active user gets where it is not success for their own, and 404 for anybody else's and the unknown. */
const exceptions: Record<string, (role: Role, ownership: Ownership) => number | false> = {
  'POST /auth/login': (role, ownership) =>
    ownership !== 'own' || role === 'erased' ? 401 : role === 'deactivated' && 403,
  'POST /auth/refresh': () => 401,
  'PUT /users/me/blocks/{user_id}': (_, ownership) => ownership === 'own' ? 400 : ownership === "another's" && 204,
  'DELETE /users/me/blocks/{user_id}': (_, ownership) => ownership === 'own' ? 400 : ownership === "another's" && 204,
  'GET /users/unsubscribe': () => 404,
  'POST /users/unsubscribe': () => 404,
  // Hidden even from its owner: this is the public view.
  'GET /users/{id}': (role, ownership) =>
    ownership === "another's" || ownership === 'own' && ['outsider', 'deactivated'].includes(role)
      ? 403
      : role === 'erased' && 404,
  'POST /conversations': (_, ownership) => ownership === 'own' ? 400 : ownership === "another's" && 201,
  // They have received it.
  'PATCH /conversations/{id}/messages/{messageId}': () => 404,
  'DELETE /conversations/{id}/messages/{messageId}': () => 404,
  'GET /conversations/{id}/reservations/{rid}.ics': (_, ownership) => ownership === 'own' && 409,
  'POST /conversations/{id}/reservations/{rid}/decline': (_, ownership) => ownership === 'own' && 409,
  'POST /conversations/{id}/reservations/{rid}/complete': (_, ownership) => ownership === 'own' && 409,
}
/** These end the caller's session or account, so a new user calls them. */
const endsSession = ['POST /auth/logout', 'DELETE /users/me']

const expectedStatus = ({ name, token, needsSecretKey, answers }: Operation, role: Role, ownership: Ownership) => {
  if (needsSecretKey) return 401
  if (token === 'needed') {
    if (role === 'anonymous' || role === 'erased') return 401
    if (role === 'deactivated') return 403
  }
  const success = Object.keys(answers).filter((status) => status < '300').map(Number)
  return exceptions[name]?.(role, ownership) || (ownership === 'own' ? success.at(-1)! : 404)
}

describe.each(operations)('$name', (operation) => {
  const { name, method, token, needsSecretKey, answers, headers } = operation
  // An operation on the caller alone is asked once.
  const asked = isAboutSomething(operation) || name === 'POST /auth/login' ? ownerships : ['own'] as const
  const cells = roles.flatMap((role) =>
    asked.map((ownership) => ({ role, ownership, status: expectedStatus(operation, role, ownership) }))
  )
  const check = async ({ role, ownership, status }: typeof cells[number]): Promise<Answer> => {
    const { path, body } = requestOf(operation, role, ownership)
    const isActive = !['anonymous', 'deactivated', 'erased'].includes(role)
    const answer = endsSession.includes(name) && isActive
      ? await (await signUp('Temporary')).call(method, path, body)
      : await callAs(fixture, role, method, path, body)
    // A log-in returns the data of the account that logs in.
    const reader = name === 'POST /auth/login' ? userRole(role) : role
    const schema = answers[answer.status]
    expect({
      role,
      ownership,
      status: answer.status,
      text: answer.text,
      disclosed: disclosures(reader, answer, fixture),
      faults: schema ? faults(schema, answer.body) : [],
    }).toEqual({ role, ownership, status, text: expect.any(String), disclosed: [], faults: [] })
    const isPublic = ['GET /users/interests', 'GET /users/push-key', 'GET /users/{id}'].includes(name) && status < 400
    expect(answer.headers.get('Cache-Control')).toMatch(isPublic ? /^public, max-age=3600$/ : /no-store/)
    if (status >= 400) {
      const codes = headers[status]!['X-Error-Code']!.schema!.enum
      expect(codes).toContain(answer.headers.get('X-Error-Code'))
    }
    if (status === 401 && token === 'needed' && !needsSecretKey) {
      const challenge = role === 'anonymous' ? 'Bearer' : 'Bearer error="invalid_token"'
      expect(answer.headers.get('WWW-Authenticate')).toBe(challenge)
    }
    return answer
  }

  test('refuses unauthorised callers and changes nothing', async () => {
    const before = await snapshot(fixture)
    const refusals: Record<string, Answer> = {}
    for (const cell of cells.filter(({ status }) => status >= 400)) {
      refusals[`${cell.role} ${cell.ownership}`] = await check(cell)
    }
    expect(await snapshot(fixture)).toEqual(before)
    // A 404 must not reveal whether the object exists. A public profile may say that it is hidden.
    if (token !== 'needed') return
    for (const role of ['voyager', 'local', 'outsider'] as const) {
      const other = refusals[`${role} another's`]
      if (other?.status !== 404) continue
      const unknown = refusals[`${role} unknown`]!
      expect(other.text).toBe(unknown.text)
      expect([...other.headers.keys()]).toEqual([...unknown.headers.keys()])
    }
  })

  // Some operations refuse every user token.
  const answered = cells.filter(({ status }) => status < 400)
  test.skipIf(answered.length === 0)('shows the other callers only permitted data', async () => {
    for (const cell of answered) await check(cell)
  })
})
