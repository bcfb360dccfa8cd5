import { beforeAll, describe, expect, test } from 'vitest'
import { faults, type Operation, operations } from '../tools/openapi.ts'
import { type Answer, freshEmail, type Person, signUp } from '../tools/people.ts'
import { assemble, callAs, type Cast, indiscretions, type Role, roles, rowsOf } from './cast.ts'

// Whose object a request is about: the caller's own, another user's, or an unknown one.
const whoses = ['own', "another's", 'unknown'] as const
type Whose = typeof whoses[number]
type Parameters = Record<string, number>

/** How a route is called, and the status for an active user. */
interface Row {
  path?: (role: Role, whose: Whose) => Parameters
  body?: (role: Role, whose: Whose) => unknown
  own: number
  "another's": number
  unknown: number
  /** Ends the caller's session or account, so a new user calls it. */
  ends?: boolean
  /** Creates an account, which takes a tenth of a second, so it is called once for each role. */
  isSlow?: boolean
  /** Exceptions that depend on more than the token. */
  but?: Partial<Record<Role, Partial<Record<Whose, number>>>>
}

const nobody = 2 ** 40
let cast: Cast
beforeAll(async () => {
  cast = await assemble()
})

const somebody = (role: Role) => role === 'anonymous' ? 'voyager' : role
const conversationOf = (role: Role, whose: Whose) => {
  if (whose === 'unknown') return { id: nobody, received: nobody, sent: nobody }
  if (whose === 'own') return cast.conversations[somebody(role)]
  return cast.conversations[role === 'voyager' || role === 'local' ? 'outsider' : 'voyager']
}
const userOf = (role: Role, whose: Whose): number =>
  whose === 'unknown' ? nobody : whose === 'own' ? cast.people[somebody(role)].id : cast.stranger.id
const partnerOf = (
  role: Role,
): Person => ({ voyager: cast.people.local, outsider: cast.friend }[role as string] ?? cast.people.voyager)

// About the caller alone: other ids in the request are ignored.
const personal = (status: number, body?: Row['body']): Row => ({
  body,
  own: status,
  "another's": status,
  unknown: status,
})
const open = personal
const ofConversation = (status: number, body?: Row['body']): Row => ({
  path: (role, whose) => ({ id: conversationOf(role, whose).id }),
  body,
  own: status,
  "another's": 404,
  unknown: 404,
})
/** For the secret key only: user tokens make no difference. */
const forTheSecretKey = { ...open(401), but: { deactivated: { own: 401, "another's": 401, unknown: 401 } } }

/** The expected statuses of every route. The first test fails if a documented route is missing. */
const matrix: Record<string, Row> = {
  'POST /auth/signup': {
    ...open(201, () => ({ email: freshEmail(), password: 'correct horse', name: 'New' })),
    isSlow: true,
  },
  'POST /auth/login': {
    body: (role, whose) => ({
      email: whose === 'own'
        ? cast.people[somebody(role)].email
        : whose === 'unknown'
        ? freshEmail()
        : cast.stranger.email,
      password: whose === 'own' ? cast.people[somebody(role)].password : 'somebody else’s',
    }),
    own: 200,
    "another's": 401,
    unknown: 401,
    but: { deactivated: { own: 403 }, erased: { own: 401 } },
  },
  'POST /auth/refresh': open(401, () => ({ refresh_token: 'guessed' })),
  'POST /auth/logout': { ...personal(204), ends: true },
  'POST /auth/recover': open(202, (role, whose) => ({
    email: whose === 'unknown'
      ? freshEmail()
      : whose === 'own'
      ? cast.people[somebody(role)].email
      : cast.stranger.email,
  })),
  'POST /users': { ...open(201, () => ({ email: freshEmail(), name: 'New', role: 'admin' })), isSlow: true },
  'GET /users/me': personal(200),
  'DELETE /users/me': { ...personal(204), ends: true },
  'GET /users/me/export': personal(200),
  'GET /users/me/blocks': personal(200),
  'PUT /users/me/blocks/{user_id}': {
    path: (role, whose) => ({ user_id: userOf(role, whose) }),
    own: 400,
    "another's": 204,
    unknown: 404,
  },
  'DELETE /users/me/blocks/{user_id}': {
    path: (role, whose) => ({ user_id: userOf(role, whose) }),
    own: 400,
    "another's": 204,
    unknown: 404,
  },
  'PATCH /users/profile': personal(
    200,
    (role, whose) => ({ id: userOf(role, whose), user_id: userOf(role, whose), first_name: role }),
  ),
  'PUT /users/profile/interests': personal(
    200,
    (role, whose) => ({ user_id: userOf(role, whose), interest_ids: [cast.interest] }),
  ),
  'PATCH /users/searchable': personal(200, (role, whose) => ({
    user_id: userOf(role, whose),
    is_searchable: role !== 'outsider',
  })),
  'GET /users/interests': open(200),
  'GET /users/search': open(200),
  'GET /users/{id}': {
    path: (role, whose) => ({
      id: whose === 'unknown'
        ? nobody
        : whose === 'own'
        ? cast.people[somebody(role)].profileId
        : role === 'outsider'
        ? cast.friend.profileId
        : cast.people.outsider.profileId,
    }),
    own: 200,
    // Hidden even from its owner: this is the public view.
    "another's": 403,
    unknown: 404,
    but: { outsider: { own: 403 }, deactivated: { own: 403 }, erased: { own: 404 } },
  },
  'GET /conversations': personal(200),
  'POST /conversations': {
    body: (role, whose) => ({
      other_user_id: whose === "another's" ? partnerOf(role).id : userOf(role, whose),
      voyager_id: cast.stranger.id,
      user_id: cast.stranger.id,
    }),
    own: 400,
    "another's": 409,
    unknown: 404,
  },
  'GET /conversations/unread': personal(200),
  'GET /conversations/{id}': ofConversation(200),
  'GET /conversations/{id}/messages': ofConversation(200),
  'POST /conversations/{id}/messages': ofConversation(201, () => ({ content: 'Attempted', user_id: cast.stranger.id })),
  'PATCH /conversations/{id}/messages/{messageId}/read': {
    path: (role, whose) => {
      const { id, received } = conversationOf(role, whose)
      return { id, messageId: received }
    },
    own: 200,
    "another's": 404,
    unknown: 404,
  },
  'POST /conversations/{id}/read': ofConversation(200, (role, whose) => ({
    up_to_message_id: conversationOf(role, whose).received,
  })),
  'GET /health': open(200),
  'GET /health/metrics': forTheSecretKey,
  'POST /embed': forTheSecretKey,
}

const expected = ({ name, token }: Operation, role: Role, whose: Whose): number => {
  const row = matrix[name]!
  const exception = row.but?.[role]?.[whose]
  if (exception) return exception
  if (token === 'needed') {
    if (role === 'anonymous' || role === 'erased') return 401
    if (role === 'deactivated') return 403
  }
  return row[whose]
}

const ask = async ({ name, method, path, token }: Operation, role: Role, whose: Whose): Promise<Answer> => {
  const { path: parameters, body, ends } = matrix[name]!
  const values = parameters?.(role, whose) ?? {}
  const address = path.replace(/\{(\w+)\}/g, (_, parameter: string) => String(values[parameter]))
  const isActive = !['anonymous', 'deactivated', 'erased'].includes(role)
  if (ends && token === 'needed' && isActive) {
    return await (await signUp('Doomed')).call(method, address, body?.(role, whose))
  }
  return await callAs(cast, role, method, address, body?.(role, whose))
}

test('every documented route is in the matrix', () => {
  expect(operations.map(({ name }) => name).filter((name) => !(name in matrix))).toEqual([])
})

describe.each(operations.filter(({ name }) => name in matrix))('$name', (operation) => {
  const asked = matrix[operation.name]!.isSlow ? ['own'] as const : whoses
  const cells = roles.flatMap((role) =>
    asked.map((whose) => ({ role, whose, status: expected(operation, role, whose) }))
  )
  const check = async ({ role, whose, status }: typeof cells[number]): Promise<Answer> => {
    const answer = await ask(operation, role, whose)
    // A log-in returns the data of the account that logs in.
    const seer = operation.name === 'POST /auth/login' ? somebody(role) : role
    expect({ role, whose, status: answer.status, told: indiscretions(seer, answer, cast) })
      .toEqual({ role, whose, status, told: [] })
    const schema = operation.answers[answer.status]
    if (schema) expect(faults(schema, answer.body)).toEqual([])
    return answer
  }

  test('refuses unauthorised callers and changes nothing', async () => {
    const before = await rowsOf(cast)
    const refusals: Record<string, Answer> = {}
    for (const cell of cells.filter(({ status }) => status >= 400)) {
      refusals[`${cell.role} ${cell.whose}`] = await check(cell)
    }
    expect(await rowsOf(cast)).toEqual(before)
    // A 404 must not reveal whether the object exists. A public profile may say that it is hidden.
    if (operation.token !== 'needed') return
    for (const role of ['voyager', 'local', 'outsider'] as const) {
      const other = refusals[`${role} another's`]
      if (other?.status === 404) expect(other.text).toBe(refusals[`${role} unknown`]!.text)
    }
  })

  // Some routes refuse every user token.
  const answered = cells.filter(({ status }) => status < 400)
  test.skipIf(answered.length === 0)('shows the other callers only permitted data', async () => {
    for (const cell of answered) await check(cell)
  })
})

test('deactivated and erased accounts get 403 and 401 without further details', async () => {
  const answers = await Promise.all(
    (['deactivated', 'erased'] as const).map((role) => callAs(cast, role, 'GET', '/users/me')),
  )
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
    [403, 'This account is deactivated'],
    [401, 'This account no longer exists'],
  ])
})
