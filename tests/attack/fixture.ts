import { internals } from '../tools/internals.ts'
import {
  type Answer,
  asAdmin,
  call,
  openConversation,
  type Person,
  seededInterests,
  sendMessage,
  signUp,
} from '../tools/people.ts'

export const roles = ['voyager', 'local', 'outsider', 'anonymous', 'deactivated', 'erased'] as const
export type Role = typeof roles[number]
type UserRole = Exclude<Role, 'anonymous'>

/** A unique text in a user's data, and the roles that may read it. */
interface Secret {
  text: string
  readableBy: Role[]
}

export interface Fixture {
  people: Record<UserRole, Person>
  /** The outsider's partner. */
  friend: Person
  /** Has no conversation. */
  stranger: Person
  /** A conversation of each, with a message that they received and one that they sent, and a pending reservation. */
  conversations: Record<UserRole, { id: number; received: number; sent: number; offer: number }>
  interest: number
  secrets: Secret[]
}

const erase = async (person: Person): Promise<void> => {
  const { status } = await person.call('DELETE', '/users/me')
  if (status !== 204) throw new Error(`erasing answered ${status}`)
}

/** Creates the users, their conversations and secrets; then deactivates one user and erases another. */
export const createFixture = async (): Promise<Fixture> => {
  const stamp = `${process.pid}x${Date.now()}`
  const secrets: Secret[] = []
  const secret = (text: string, ...readableBy: Role[]): string => {
    secrets.push({ text: `${text}-${stamp}`, readableBy })
    return `${text}-${stamp}`
  }
  const createUser = async (role: Role | 'friend', isSearchable: boolean): Promise<Person> => {
    const owner = role === 'friend' ? [] : [role]
    const biography = isSearchable ? `Biography of ${role}` : secret(`biography-${role}`, ...owner)
    return await signUp(`The ${role}`, {
      bio: secret(`bio-${role}`, ...owner),
      location: secret(`location-${role}`, ...owner),
      biography,
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

  const startConversation = async (name: string, one: Person, other: Person, ...readableBy: Role[]) => {
    const id = await openConversation(one, other)
    const text = (part: string) => secret(`${part}-${name}`, ...readableBy)
    const mine: number = (await sendMessage(one, id, text('said'))).id
    const theirs: number = (await sendMessage(other, id, text('answered'))).id
    const stay = { title: text('stay'), price: 20, date: '2036-06-01T12:00:00Z', status: 'accepted' }
    await asAdmin('POST', 'reservations', { conversation_id: id, ...stay })
    // Offered by nobody, so that either may answer.
    const [{ id: offer }] = (await asAdmin('POST', 'reservations', {
      ...stay,
      conversation_id: id,
      title: text('offer'),
      status: 'pending',
    })).body
    return {
      ofOne: { id, received: theirs, sent: mine, offer },
      ofOther: { id, received: mine, sent: theirs, offer },
    }
  }
  const shared = await startConversation('shared', people.voyager, people.local, 'voyager', 'local')
  const others = await startConversation('others', people.outsider, friend, 'outsider')
  // About each other, one of them resolved: neither learns of the other's, nor anybody of what the admin wrote.
  const accuse = async (one: Person, other: Person, role: Role) => {
    const note = secret(`accusation-${role}`, role)
    const { body } = await one.call('POST', '/users/me/reports', { user_id: other.id, reason: 'other', note })
    return body.id
  }
  await accuse(people.voyager, people.local, 'voyager')
  const report = await accuse(people.local, people.voyager, 'local')
  await asAdmin('POST', 'rpc/resolve_report', { report, action: 'warn', note: secret('decision') })
  const left = await startConversation('left', people.deactivated, people.local, 'local')
  const gone = await startConversation('gone', people.erased, people.local, 'local')

  secrets.push(
    { text: people.voyager.email, readableBy: ['voyager', 'local'] },
    { text: people.local.email, readableBy: ['voyager', 'local'] },
    { text: people.outsider.email, readableBy: ['outsider'] },
    { text: friend.email, readableBy: ['outsider'] },
    { text: stranger.email, readableBy: [] },
    { text: people.deactivated.email, readableBy: ['local'] },
    { text: people.erased.email, readableBy: [] },
  )
  await asAdmin('PATCH', `users?id=eq.${people.deactivated.id}`, { is_active: false })
  await erase(people.erased)
  return {
    people,
    friend,
    stranger,
    conversations: {
      voyager: shared.ofOne,
      local: shared.ofOther,
      outsider: others.ofOne,
      deactivated: left.ofOne,
      erased: gone.ofOne,
    },
    interest,
    secrets,
  }
}

/** All rows of these users, by table and key. */
export const snapshot = async (
  { people, friend, stranger }: Fixture,
): Promise<Record<string, Record<string, unknown>>> => {
  const all = [...Object.values(people), friend, stranger]
  const list = (ids: number[]) => `in.(${ids.join(',')})`
  const users = list(all.map(({ id }) => id))
  const profiles = list(all.map(({ profileId }) => profileId))
  const read = async (table: string, filter: string, key = (row: Answer['body']) => row.id) => {
    const { body } = await asAdmin('GET', `${table}?${filter}`)
    return body.map((row: Answer['body']) => [`${table} ${key(row)}`, row])
  }
  const conversations = await read('conversations', `or=(voyager_id.${users},local_id.${users})`)
  const theirs = `conversation_id=${list(conversations.map(([, { id }]: [string, { id: number }]) => id))}`
  return Object.fromEntries([
    ...await read('users', `id=${users}`),
    ...await read('profiles', `user_id=${users}`),
    ...await read('profile_interests', `profile_id=${profiles}`, (row) => `${row.profile_id}-${row.interest_id}`),
    ...conversations,
    ...await read('messages', theirs),
    ...await read('reservations', theirs),
    ...await read('reservation_history', theirs),
    ...await read('reports', `reporter_id=${users}`),
    ...await read('moderation_log', `user_id=${users}`),
    ...await read('hidden_profiles', `user_id=${users}`, (row) => row.user_id),
  ])
}

/** The secrets in a response that this role may not read. Errors must contain none at all. */
export const leaks = (role: Role, response: Answer, { secrets }: Fixture): string[] =>
  secrets
    .filter(({ text, readableBy }) =>
      response.text.includes(text) && (response.status >= 400 || !readableBy.includes(role))
    )
    .map(({ text }) => `leaks ${text}`)

/** Leaked secrets and, in errors, internals. */
export const disclosures = (role: Role, response: Answer, fixture: Fixture): string[] => [
  ...response.status >= 400 && internals.test(response.text) ? [`exposes internals: ${response.text}`] : [],
  ...leaks(role, response, fixture),
]

export const callAs = (fixture: Fixture, role: Role, method: string, path: string, body?: unknown): Promise<Answer> =>
  role === 'anonymous' ? call(method, path, body) : fixture.people[role].call(method, path, body)
