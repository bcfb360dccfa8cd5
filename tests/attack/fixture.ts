import { internals } from '../tools/internals.ts'
import type { Subject } from '../tools/example_requests.ts'
import { type Answer, asAdmin, call, openConversation, type Person } from '../tools/people.ts'
import { seededInterests, sendMessage, signUp } from '../tools/people.ts'

export const roles = ['voyager', 'local', 'outsider', 'anonymous', 'deactivated', 'erased'] as const
export type Role = typeof roles[number]
type UserRole = Exclude<Role, 'anonymous'>

export interface Fixture {
  people: Record<UserRole, Person>
  /** Has no conversation. */
  stranger: Person
  /** Of each their profile and conversation, with a message that they received and a pending reservation. */
  subjects: Record<UserRole, Subject>
  interest: number
  /** Unique texts in users' data, and the roles that may read each. */
  secrets: { text: string; readableBy: Role[] }[]
  /** Everybody's ids, the partner of the outsider included. */
  userIds: number[]
  profileIds: number[]
}

/** Creates the users, their conversations and secrets; then deactivates one user and erases another. */
export const createFixture = async (): Promise<Fixture> => {
  const stamp = `${process.pid}x${Date.now()}`
  const secrets: Fixture['secrets'] = []
  const secret = (text: string, ...readableBy: Role[]): string => {
    secrets.push({ text: `${text}-${stamp}`, readableBy })
    return `${text}-${stamp}`
  }
  const createUser = async (role: Role | 'friend', isSearchable: boolean): Promise<Person> => {
    const owner = role === 'friend' ? [] : [role]
    return await signUp(`The ${role}`, {
      bio: secret(`bio-${role}`, ...owner),
      location: secret(`location-${role}`, ...owner),
      biography: isSearchable ? `Biography of ${role}` : secret(`biography-${role}`, ...owner),
      is_searchable: isSearchable,
    })
  }
  const people = {
    voyager: await createUser('voyager', true),
    local: await createUser('local', true),
    outsider: await createUser('outsider', false),
    deactivated: await createUser('deactivated', true),
    erased: await createUser('erased', true),
  }
  const friend = await createUser('friend', false)
  const stranger = await signUp('The stranger')
  const interest = (await seededInterests())[0]!.id
  for (const { profileId } of Object.values(people)) {
    await asAdmin('POST', 'profile_interests', { profile_id: profileId, interest_id: interest })
  }

  /** A conversation of two, as each of them has it. */
  const startConversation = async (name: string, one: Person, other: Person, ...readableBy: Role[]) => {
    const conversation = await openConversation(one, other)
    const text = (part: string) => secret(`${part}-${name}`, ...readableBy)
    const said: number = (await sendMessage(one, conversation, text('said'))).id
    const answered: number = (await sendMessage(other, conversation, text('answered'))).id
    // The price of the example of a counter-offer, which then changes nothing. Offered by nobody, so either may answer.
    const stay = { conversation_id: conversation, price: 70, date: '2036-06-01T12:00:00Z' }
    const { body: rows } = await asAdmin('POST', 'reservations', [
      { ...stay, title: text('offer'), status: 'pending' },
      { ...stay, title: text('stay'), status: 'accepted' },
    ])
    const subject = { conversation, reservation: rows[0].id as number }
    return [
      { ...subject, message: answered, user: one.id, profile: one.profileId },
      { ...subject, message: said, user: other.id, profile: other.profileId },
    ] as const
  }
  const [voyager, local] = await startConversation('shared', people.voyager, people.local, 'voyager', 'local')
  const [outsider] = await startConversation('others', people.outsider, friend, 'outsider')
  // About each other, one of them resolved: neither learns of the other's, nor anybody of what the admin wrote.
  const accuse = async (one: Person, other: Person, role: Role) => {
    const note = secret(`accusation-${role}`, role)
    return (await one.call('POST', '/users/me/reports', { user_id: other.id, reason: 'other', note })).body.id
  }
  await accuse(people.voyager, people.local, 'voyager')
  const report = await accuse(people.local, people.voyager, 'local')
  await asAdmin('POST', 'rpc/resolve_report', { report, action: 'warn', note: secret('decision') })
  const [deactivated] = await startConversation('left', people.deactivated, people.local, 'local')
  const [erased] = await startConversation('gone', people.erased, people.local, 'local')

  // deno-fmt-ignore
  const addresses: [Person, ...Role[]][] = [
    [people.voyager, 'voyager', 'local'], [people.local, 'voyager', 'local'], [people.outsider, 'outsider'],
    [friend, 'outsider'], [stranger], [people.deactivated, 'local'], [people.erased],
  ]
  secrets.push(...addresses.map(([{ email }, ...readableBy]) => ({ text: email, readableBy })))
  await asAdmin('PATCH', `users?id=eq.${people.deactivated.id}`, { is_active: false })
  const { status } = await people.erased.call('DELETE', '/users/me')
  if (status !== 204) throw new Error(`erasing answered ${status}`)
  const all = [...Object.values(people), friend, stranger]
  const subjects = { voyager, local, outsider, deactivated, erased }
  const ids = { userIds: all.map(({ id }) => id), profileIds: all.map(({ profileId }) => profileId) }
  return { people, stranger, subjects, interest, secrets, ...ids }
}

export type Row = Record<string, unknown>

/** All rows of these users, by table. */
const rowsOf = async ({ userIds, profileIds }: Fixture): Promise<Record<string, Row[]>> => {
  const list = (ids: number[]) => `in.(${ids.join(',')})`
  const read = async (table: string, filter: string): Promise<Row[]> =>
    (await asAdmin('GET', `${table}?${filter}`)).body
  const users = list(userIds)
  const conversations = await read('conversations', `or=(voyager_id.${users},local_id.${users})`)
  const theirs = `conversation_id=${list(conversations.map(({ id }) => Number(id)))}`
  return {
    users: await read('users', `id=${users}`),
    profiles: await read('profiles', `user_id=${users}`),
    profile_interests: await read('profile_interests', `profile_id=${list(profileIds)}`),
    conversations,
    messages: await read('messages', theirs),
    reservations: await read('reservations', theirs),
    reservation_history: await read('reservation_history', theirs),
    reports: await read('reports', `reporter_id=${users}`),
    moderation_log: await read('moderation_log', `user_id=${users}`),
    moderation_queue: await read('moderation_queue', `person_id=${users}`),
  }
}

/** The same rows, each by its table and key. */
export const snapshot = async (fixture: Fixture): Promise<Record<string, Row>> => {
  const keyOf = ({ id, report, profile_id, interest_id, user_id }: Row) =>
    id ?? report ?? (interest_id ? `${profile_id}-${interest_id}` : user_id)
  return Object.fromEntries(
    Object.entries(await rowsOf(fixture)).flatMap(([table, rows]) =>
      rows.map((row) => [`${table} ${keyOf(row)}`, row])
    ),
  )
}

/** The secrets in an answer that this role may not read, and in errors any secret and internals. */
export const disclosures = (role: Role, { status, text }: Answer, { secrets }: Fixture): string[] => [
  ...status >= 400 && internals.test(text) ? [`exposes internals: ${text}`] : [],
  ...secrets.filter((secret) => text.includes(secret.text) && (status >= 400 || !secret.readableBy.includes(role)))
    .map((secret) => `leaks ${secret.text}`),
]

export const callAs = (fixture: Fixture, role: Role, method: string, path: string, body?: unknown): Promise<Answer> =>
  role === 'anonymous' ? call(method, path, body) : fixture.people[role].call(method, path, body)
