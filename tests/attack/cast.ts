import { inside } from '../tools/inside.ts'
import { type Answer, asAdmin, call, converse, type Person, say, seededInterests, signUp } from '../tools/people.ts'

export const roles = ['voyager', 'local', 'outsider', 'anonymous', 'deactivated', 'erased'] as const
export type Role = typeof roles[number]
type Somebody = Exclude<Role, 'anonymous'>

/** What stands in the rows of one person, and who may read it where no profile is public. */
export interface Mark {
  text: string
  seenBy: Role[]
}

export interface Cast {
  people: Record<Somebody, Person>
  /** Who talks to the outsider, and takes no part otherwise. */
  friend: Person
  /** Whom nobody knows. */
  stranger: Person
  /** The conversation of each, with a message to them and one by them. */
  conversations: Record<Somebody, { id: number; received: number; sent: number }>
  interest: number
  marks: Mark[]
}

const erase = async (person: Person): Promise<void> => {
  const { status } = await person.call('DELETE', '/users/me')
  if (status !== 204) throw new Error(`erasing answered ${status}`)
}

/** Everybody the attacks need: who talks to whom, what each keeps to themselves, and then two of them go. */
export const assemble = async (): Promise<Cast> => {
  const stamp = `${process.pid}x${Date.now()}`
  const marks: Mark[] = []
  const mark = (text: string, ...seenBy: Role[]): string => {
    marks.push({ text: `${text}-${stamp}`, seenBy })
    return `${text}-${stamp}`
  }
  const makeOne = async (role: Role | 'friend', isSearchable: boolean): Promise<Person> => {
    const own = role === 'friend' ? [] : [role]
    const biography = isSearchable ? `Biography of ${role}` : mark(`biography-${role}`, ...own)
    return await signUp(`The ${role}`, {
      bio: mark(`bio-${role}`, ...own),
      location: mark(`location-${role}`, ...own),
      biography,
      is_searchable: isSearchable,
    })
  }
  const people = {
    voyager: await makeOne('voyager', true),
    local: await makeOne('local', true),
    outsider: await makeOne('outsider', false),
    deactivated: await makeOne('deactivated', true),
    erased: await makeOne('erased', true),
  }
  const friend = await makeOne('friend', false)
  const stranger = await signUp('The stranger')
  const interest = (await seededInterests())[0]!.id
  for (const { profileId } of Object.values(people)) {
    await asAdmin('POST', 'profile_interests', { profile_id: profileId, interest_id: interest })
  }

  const talk = async (name: string, one: Person, other: Person, ...seenBy: Role[]) => {
    const id = await converse(one, other)
    const text = (part: string) => mark(`${part}-${name}`, ...seenBy)
    const mine: number = (await say(one, id, text('said'))).id
    const theirs: number = (await say(other, id, text('answered'))).id
    const stay = { title: text('stay'), price: 20, date: '2026-06-01T12:00:00Z', status: 'accepted' }
    await asAdmin('POST', 'reservations', { conversation_id: id, ...stay })
    return { ofOne: { id, received: theirs, sent: mine }, ofOther: { id, received: mine, sent: theirs } }
  }
  const shared = await talk('shared', people.voyager, people.local, 'voyager', 'local')
  const others = await talk('others', people.outsider, friend, 'outsider')
  const left = await talk('left', people.deactivated, people.local, 'local')
  const gone = await talk('gone', people.erased, people.local, 'local')

  marks.push(
    { text: people.voyager.email, seenBy: ['voyager', 'local'] },
    { text: people.local.email, seenBy: ['voyager', 'local'] },
    { text: people.outsider.email, seenBy: ['outsider'] },
    { text: friend.email, seenBy: ['outsider'] },
    { text: stranger.email, seenBy: [] },
    { text: people.deactivated.email, seenBy: ['local'] },
    { text: people.erased.email, seenBy: [] },
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
    marks,
  }
}

/** Every row that is about somebody of the cast, by table and key. */
export const rowsOf = async ({ people, friend, stranger }: Cast): Promise<Record<string, Record<string, unknown>>> => {
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
  ])
}

/** What an answer tells that is somebody else's; a refusal tells nothing of anybody. */
export const leaks = (role: Role, { status, text }: Answer, { marks }: Cast): string[] =>
  marks.filter(({ text: mark, seenBy }) => text.includes(mark) && (status >= 400 || !seenBy.includes(role)))
    .map(({ text: mark }) => `tells ${mark}`)

/** What an answer of the doors tells that it should not: of the inside, or of somebody else. */
export const indiscretions = (role: Role, answer: Answer, cast: Cast): string[] => [
  ...answer.status >= 400 && inside.test(answer.text) ? [`tells of the inside: ${answer.text}`] : [],
  ...leaks(role, answer, cast),
]

export const callAs = (cast: Cast, role: Role, method: string, path: string, body?: unknown): Promise<Answer> =>
  role === 'anonymous' ? call(method, path, body) : cast.people[role].call(method, path, body)
