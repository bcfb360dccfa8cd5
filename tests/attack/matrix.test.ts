import { beforeAll, describe, expect, test } from 'vitest'
import { faults, type Operation, operations } from '../tools/openapi.ts'
import { type Answer, type Person, signUp, uniqueEmail } from '../tools/people.ts'
import { callAs, createFixture, disclosures, type Fixture, type Role, roles, snapshot } from './fixture.ts'

// The object of a request: the caller's own, another user's, or an unknown one.
const ownerships = ['own', "another's", 'unknown'] as const
type Ownership = typeof ownerships[number]
type Parameters = Record<string, number | string>

/** How a route is called, and the status for an active user. */
interface Row {
  path?: (role: Role, ownership: Ownership) => Parameters
  body?: (role: Role, ownership: Ownership) => unknown
  own: number
  "another's": number
  unknown: number
  /** Ends the caller's session or account, so a new user calls it. */
  endsSession?: boolean
  /** Creates an account, which takes a tenth of a second, so it is called once for each role. */
  isSlow?: boolean
  /** Exceptions that depend on more than the token. */
  except?: Partial<Record<Role, Partial<Record<Ownership, number>>>>
}

const unknownId = 2 ** 40
let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})

const userRole = (role: Role) => role === 'anonymous' ? 'voyager' : role
const conversationOf = (role: Role, ownership: Ownership) => {
  if (ownership === 'unknown') return { id: unknownId, received: unknownId, sent: unknownId, offer: unknownId }
  if (ownership === 'own') return fixture.conversations[userRole(role)]
  return fixture.conversations[role === 'voyager' || role === 'local' ? 'outsider' : 'voyager']
}
const userOf = (role: Role, ownership: Ownership): number =>
  ownership === 'unknown' ? unknownId : ownership === 'own' ? fixture.people[userRole(role)].id : fixture.stranger.id
const partnerOf = (
  role: Role,
): Person => ({ voyager: fixture.people.local, outsider: fixture.friend }[role as string] ?? fixture.people.voyager)

// About the caller alone: other ids in the request are ignored.
const personal = (status: number, body?: Row['body']): Row => ({
  body,
  own: status,
  "another's": status,
  unknown: status,
})
const publicRoute = personal
const ofConversation = (status: number, body?: Row['body']): Row => ({
  path: (role, ownership) => ({ id: conversationOf(role, ownership).id }),
  body,
  own: status,
  "another's": 404,
  unknown: 404,
})
const ofReservation = (status: number, body?: Row['body']): Row => ({
  ...ofConversation(status, body),
  path: (role, ownership) => {
    const { id, offer } = conversationOf(role, ownership)
    return { id, rid: offer }
  },
})
/** For the secret key only: user tokens make no difference. */
const secretKeyOnly = { ...publicRoute(401), except: { deactivated: { own: 401, "another's": 401, unknown: 401 } } }

/** The expected statuses of every route. The first test fails if a documented route is missing. */
const matrix: Record<string, Row> = {
  'POST /auth/signup': {
    ...publicRoute(201, () => ({ email: uniqueEmail(), password: 'correct horse', name: 'New' })),
    isSlow: true,
  },
  'POST /auth/login': {
    body: (role, ownership) => ({
      email: ownership === 'own'
        ? fixture.people[userRole(role)].email
        : ownership === 'unknown'
        ? uniqueEmail()
        : fixture.stranger.email,
      password: ownership === 'own' ? fixture.people[userRole(role)].password : 'another password',
    }),
    own: 200,
    "another's": 401,
    unknown: 401,
    except: { deactivated: { own: 403 }, erased: { own: 401 } },
  },
  'POST /auth/refresh': publicRoute(401, () => ({ refresh_token: 'guessed' })),
  'POST /auth/logout': { ...personal(204), endsSession: true },
  'POST /auth/recover': publicRoute(202, (role, ownership) => ({
    email: ownership === 'unknown'
      ? uniqueEmail()
      : ownership === 'own'
      ? fixture.people[userRole(role)].email
      : fixture.stranger.email,
  })),
  'POST /users': { ...publicRoute(201, () => ({ email: uniqueEmail(), name: 'New', role: 'admin' })), isSlow: true },
  'GET /users/me': personal(200),
  'DELETE /users/me': { ...personal(204), endsSession: true },
  'GET /users/me/export': personal(200),
  'GET /users/me/reservations': personal(200),
  'GET /users/me/reports': personal(200),
  'POST /users/me/reports': {
    body: (role, ownership) => ({
      user_id: userOf(role, ownership),
      reason: 'other',
    }),
    own: 400,
    "another's": 201,
    unknown: 404,
  },
  'GET /users/me/blocks': personal(200),
  'PUT /users/me/blocks/{user_id}': {
    path: (role, ownership) => ({ user_id: userOf(role, ownership) }),
    own: 400,
    "another's": 204,
    unknown: 404,
  },
  'DELETE /users/me/blocks/{user_id}': {
    path: (role, ownership) => ({ user_id: userOf(role, ownership) }),
    own: 400,
    "another's": 204,
    unknown: 404,
  },
  'GET /users/me/devices': personal(200),
  'PUT /users/me/devices/{device}': {
    ...personal(204, () => ({
      endpoint: `https://push.example/${crypto.randomUUID()}`,
      keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
    })),
    path: () => ({ device: '6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f10' }),
  },
  'DELETE /users/me/devices/{device}': {
    ...personal(204),
    path: () => ({ device: '6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f10' }),
  },
  'GET /users/me/notifications': personal(200),
  'PATCH /users/me/notifications': personal(200, () => ({ previews: true })),
  'GET /users/push-key': publicRoute(200),
  'GET /users/unsubscribe': publicRoute(400),
  'POST /users/unsubscribe': publicRoute(400),
  'PATCH /users/profile': personal(
    200,
    (role, ownership) => ({ id: userOf(role, ownership), user_id: userOf(role, ownership), first_name: role }),
  ),
  'PUT /users/profile/interests': personal(
    200,
    (role, ownership) => ({ user_id: userOf(role, ownership), interest_ids: [fixture.interest] }),
  ),
  'PATCH /users/searchable': personal(200, (role, ownership) => ({
    user_id: userOf(role, ownership),
    is_searchable: role !== 'outsider',
  })),
  'GET /users/interests': publicRoute(200),
  'GET /users/search': publicRoute(200),
  'GET /users/search/complete': personal(200),
  'GET /users/{id}': {
    path: (role, ownership) => ({
      id: ownership === 'unknown'
        ? unknownId
        : ownership === 'own'
        ? fixture.people[userRole(role)].profileId
        : role === 'outsider'
        ? fixture.friend.profileId
        : fixture.people.outsider.profileId,
    }),
    own: 200,
    // Hidden even from its owner: this is the public view.
    "another's": 403,
    unknown: 404,
    except: { outsider: { own: 403 }, deactivated: { own: 403 }, erased: { own: 404 } },
  },
  'GET /conversations': personal(200),
  'POST /conversations': {
    body: (role, ownership) => ({
      other_user_id: ownership === "another's" ? partnerOf(role).id : userOf(role, ownership),
      voyager_id: fixture.stranger.id,
      user_id: fixture.stranger.id,
    }),
    own: 400,
    "another's": 409,
    unknown: 404,
  },
  'GET /conversations/unread': personal(200),
  'GET /conversations/{id}': ofConversation(200),
  'GET /conversations/{id}/messages': ofConversation(200),
  'POST /conversations/{id}/messages': ofConversation(
    201,
    () => ({ content: 'Attempted', user_id: fixture.stranger.id }),
  ),
  'PATCH /conversations/{id}/messages/{messageId}/read': {
    path: (role, ownership) => {
      const { id, received } = conversationOf(role, ownership)
      return { id, messageId: received }
    },
    own: 200,
    "another's": 404,
    unknown: 404,
  },
  'POST /conversations/{id}/read': ofConversation(200, (role, ownership) => ({
    up_to_message_id: conversationOf(role, ownership).received,
  })),
  'GET /conversations/states': personal(200),
  'GET /conversations/changes': personal(200),
  'PUT /conversations/{id}/state': ofConversation(200, () => ({ archived: true, pinned: true })),
  'POST /conversations/{id}/reservations': ofConversation(201, () => ({
    title: 'Attempted',
    price: 1,
    date: '2036-06-01T12:00:00Z',
  })),
  'GET /conversations/{id}/reservations/{rid}': ofReservation(200),
  'PATCH /conversations/{id}/reservations/{rid}': ofReservation(200, () => ({})),
  'POST /conversations/{id}/reservations/{rid}/accept': ofReservation(200, () => ({ revision: 1, note: 'Attempted' })),
  'POST /conversations/{id}/reservations/{rid}/decline': ofReservation(409, () => ({ note: 'Attempted' })),
  'POST /conversations/{id}/reservations/{rid}/cancel': ofReservation(200, () => ({ note: 'Attempted' })),
  'POST /conversations/{id}/reservations/{rid}/complete': ofReservation(409, () => ({ note: 'Attempted' })),
  'GET /health': publicRoute(200),
  'GET /health/metrics': secretKeyOnly,
  'POST /embed': secretKeyOnly,
  'POST /notify': secretKeyOnly,
}

const expected = ({ name, token }: Operation, role: Role, ownership: Ownership): number => {
  const row = matrix[name]!
  const exception = row.except?.[role]?.[ownership]
  if (exception) return exception
  if (token === 'needed') {
    if (role === 'anonymous' || role === 'erased') return 401
    if (role === 'deactivated') return 403
  }
  return row[ownership]
}

const request = async ({ name, method, path, token }: Operation, role: Role, ownership: Ownership): Promise<Answer> => {
  const { path: parameters, body, endsSession } = matrix[name]!
  const values = parameters?.(role, ownership) ?? {}
  const address = path.replace(/\{(\w+)\}/g, (_, parameter: string) => String(values[parameter]))
  const isActive = !['anonymous', 'deactivated', 'erased'].includes(role)
  if (endsSession && token === 'needed' && isActive) {
    return await (await signUp('Temporary')).call(method, address, body?.(role, ownership))
  }
  return await callAs(fixture, role, method, address, body?.(role, ownership))
}

test('every documented route is in the matrix', () => {
  expect(operations.map(({ name }) => name).filter((name) => !(name in matrix))).toEqual([])
})

describe.each(operations.filter(({ name }) => name in matrix))('$name', (operation) => {
  const asked = matrix[operation.name]!.isSlow ? ['own'] as const : ownerships
  const cells = roles.flatMap((role) =>
    asked.map((ownership) => ({ role, ownership, status: expected(operation, role, ownership) }))
  )
  const check = async ({ role, ownership, status }: typeof cells[number]): Promise<Answer> => {
    const answer = await request(operation, role, ownership)
    // A log-in returns the data of the account that logs in.
    const reader = operation.name === 'POST /auth/login' ? userRole(role) : role
    expect({ role, ownership, status: answer.status, disclosed: disclosures(reader, answer, fixture) })
      .toEqual({ role, ownership, status, disclosed: [] })
    if (status === 401 && operation.token === 'needed' && matrix[operation.name] !== secretKeyOnly) {
      const challenge = role === 'anonymous' ? 'Bearer' : 'Bearer error="invalid_token"'
      expect(answer.headers.get('WWW-Authenticate')).toBe(challenge)
    }
    const schema = operation.answers[answer.status]
    if (schema) expect(faults(schema, answer.body)).toEqual([])
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
    if (operation.token !== 'needed') return
    for (const role of ['voyager', 'local', 'outsider'] as const) {
      const other = refusals[`${role} another's`]
      if (other?.status !== 404) continue
      const unknown = refusals[`${role} unknown`]!
      expect(other.text).toBe(unknown.text)
      expect([...other.headers.keys()]).toEqual([...unknown.headers.keys()])
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
    (['deactivated', 'erased'] as const).map((role) => callAs(fixture, role, 'GET', '/users/me')),
  )
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
    [403, 'This account is deactivated'],
    [401, 'This account no longer exists'],
  ])
})
