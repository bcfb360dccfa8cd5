import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { dataApi } from '../tools/people.ts'
import { createFixture, type Fixture, leaks, roles, snapshot } from './fixture.ts'

const types = readFileSync('functions/_shared/database.types.ts', 'utf8')
const tables = [...types.matchAll(/^ {6}(\w+): \{\n {8}Row: /gm)].map(([, name]) => name!)

let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})

type Active = 'voyager' | 'local' | 'outsider'
interface Table {
  /** A filter for the rows of this user. */
  filter: (role: Active) => string
  row: (role: Active) => object
  change: () => object
  /** Whether the owner may change the rows. Others never may. */
  isOwners?: boolean
  /** Whether both participants may read the rows. */
  isShared?: boolean
  /** Whether no user may read any of the rows. */
  isModerators?: boolean
}
const byConversation = (column: string): Pick<Table, 'filter' | 'isShared'> => ({
  filter: (role) => `${column}=eq.${fixture.conversations[role].id}`,
  isShared: true,
})

/** What only the moderators can read and nobody can write: for a filter, any row that there is. */
const moderators = (row: object): Table => ({
  filter: () => 'user_id=gt.0',
  row: () => row,
  change: () => ({ note: 'Forged' }),
  isModerators: true,
})

/** Every table of the Data API except interests, which is public. */
const matrix: Record<string, Table> = {
  users: {
    filter: (role) => `id=eq.${fixture.people[role].id}`,
    row: () => ({ name: 'Forged', email: 'forged@example.com' }),
    change: () => ({ bio: 'Changed' }),
    isOwners: true,
  },
  profiles: {
    filter: (role) => `user_id=eq.${fixture.people[role].id}`,
    row: () => ({ user_id: fixture.stranger.id }),
    change: () => ({ city: 'Changed' }),
    isOwners: true,
  },
  profile_interests: {
    filter: (role) => `profile_id=eq.${fixture.people[role].profileId}`,
    row: (role) => ({ profile_id: fixture.people[role].profileId, interest_id: fixture.interest + 1 }),
    change: () => ({ interest_id: fixture.interest + 2 }),
  },
  conversations: {
    ...byConversation('id'),
    row: (role) => ({ voyager_id: fixture.people[role].id, local_id: fixture.stranger.id }),
    change: () => ({ created_at: '2001-01-01' }),
  },
  messages: {
    ...byConversation('conversation_id'),
    row: (role) => ({
      conversation_id: fixture.conversations[role].id,
      user_id: fixture.people[role].id,
      content: 'Forged',
    }),
    change: () => ({ read: true }),
  },
  reservations: {
    ...byConversation('conversation_id'),
    row: (role) => ({ conversation_id: fixture.conversations[role].id, title: 'Forged', price: 0, date: '2001-01-01' }),
    change: () => ({ status: 'cancelled' }),
  },
  reservation_history: {
    ...byConversation('conversation_id'),
    row: (role) => ({
      reservation_id: fixture.conversations[role].offer,
      conversation_id: fixture.conversations[role].id,
      status: 'accepted',
      title: 'Forged',
      price: 0,
      date: '2001-01-01',
      created_at: '2001-01-01',
    }),
    change: () => ({ note: 'Forged' }),
  },
  reports: moderators({ reporter_id: 1, user_id: 2, reason: 'spam' }),
  hidden_profiles: moderators({ user_id: 1, report_id: 1 }),
  moderation_log: moderators({ action: 'warn', user_id: 1, by_whom: 'nobody', note: 'Forged' }),
  moderation_queue: { ...moderators({ person: 'Forged' }), filter: () => 'person_id=gt.0' },
}

test('every table of the Data API is in the matrix', () => {
  expect(tables.length).toBeGreaterThan(5)
  expect(tables.filter((name) => !(name in matrix) && name !== 'interests')).toEqual([])
})

describe.each(Object.keys(matrix))('/rest/v1/%s', (name) => {
  const { filter, row, change, isOwners, isShared, isModerators } = matrix[name]!
  const owners: Active[] = ['voyager', 'local', 'outsider']

  test.each(roles)('%s can read and change only permitted rows', async (role) => {
    const token = role === 'anonymous' ? undefined : fixture.people[role].token
    const request = async (method: string, path: string, body?: unknown) => {
      const answer = await dataApi(token, method, path, body)
      // PostgREST's own error messages may name tables and policies.
      expect({ role, method, path, leaks: leaks(role, answer, fixture) }).toEqual({ role, method, path, leaks: [] })
      return { count: answer.status < 300 ? answer.body?.length ?? 0 : 0, status: answer.status }
    }
    const before = await snapshot(fixture)
    for (const owner of owners) {
      const isOwn = role === owner
      const isParticipant = (who: string): boolean => who === 'voyager' || who === 'local'
      const mayRead = isModerators ? false : isOwn || isShared === true && isParticipant(role) && isParticipant(owner)
      const rows = await request('GET', `${name}?${filter(owner)}`)
      expect({ owner, reads: rows.count > 0 }).toEqual({ owner, reads: mayRead })
      if (role === 'anonymous') expect(rows.status).toBeGreaterThanOrEqual(400)

      if (!(isOwn && name === 'profile_interests')) {
        expect((await request('POST', name, row(owner))).status).toBeGreaterThanOrEqual(400)
        expect((await request('DELETE', `${name}?${filter(owner)}`)).count).toBe(0)
      }
      if (!(isOwn && isOwners)) expect((await request('PATCH', `${name}?${filter(owner)}`, change())).count).toBe(0)
    }
    expect(await snapshot(fixture)).toEqual(before)

    // An unfiltered request reaches only own rows, and none without rights.
    const max = role === 'anonymous' || role === 'deactivated' || role === 'erased' ? 0 : 9
    expect((await request('GET', `${name}?select=*&limit=1000`)).count).toBeLessThanOrEqual(max)
    const column = name === 'profile_interests' ? 'interest_id' : 'id'
    expect((await request('GET', `${name}?or=(${column}.gt.0,${column}.is.null)`)).count).toBeLessThanOrEqual(max)
    expect((await request('PATCH', `${name}?${column}=gt.0`, change())).count).toBe(isOwners && max > 0 ? 1 : 0)
  })
})
