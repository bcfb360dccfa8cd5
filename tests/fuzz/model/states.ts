import { expect } from 'vitest'
import type { Answer, Person } from '../../tools/people.ts'
import {
  accountError,
  type Command,
  command,
  expectStatus,
  lastId,
  log,
  type ModelConversation,
  type ModelState,
  takesPart,
  talkAt,
  userIn,
} from './model.ts'

const later = '2036-07-01T12:00:00.000Z'

const stateOf = (talk: ModelConversation, user: number): ModelState =>
  talk.states.get(user) ?? { archivedAt: null, muted: false, pinned: false }
const shownState = (talk: ModelConversation, user: number) => {
  const { archivedAt, muted, pinned } = stateOf(talk, user)
  return {
    conversation_id: talk.id,
    archived: archivedAt !== null && archivedAt >= lastId(talk),
    muted_until: muted ? later : null,
    pinned,
  }
}

export const arrange = (who: number, which: number, what: 'archived' | 'muted' | 'pinned', on: boolean): Command =>
  command(`${who} makes ${which} ${on ? '' : 'not '}${what}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    if (!talk) return
    const caller = userIn(talk, who)
    const before = shownState(talk, caller)
    const changes = what === 'muted' ? { muted_until: on ? later : null } : { [what]: on }
    const answer = await users[caller]!.call('PUT', `/conversations/${talk.id}/state`, changes)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    expectStatus(answer, 200)
    const state = stateOf(talk, caller)
    if (what !== 'archived') state[what] = on
    // Archiving what is archived changes nothing.
    else if (on !== shownState(talk, caller).archived) state.archivedAt = on ? lastId(talk) : null
    talk.states.set(caller, state)
    const after = shownState(talk, caller)
    expect(answer.body).toEqual(after)
    if (JSON.stringify(after) !== JSON.stringify(before)) log(model, [caller], 'state', talk, talk.id)
  })

export const compareStates = async (caller: number, mine: ModelConversation[], users: Person[]): Promise<void> => {
  const me = users[caller]!
  const states = mine.map((talk) => shownState(talk, caller))
    .toSorted((one, other) => other.conversation_id - one.conversation_id)
  expect((await me.call('GET', '/conversations/states')).body)
    .toEqual(states.filter(({ archived, muted_until, pinned }) => archived || muted_until || pinned))
  const { body } = await me.call('GET', '/conversations?archived=false&pinned=first')
  const listed: number[] = body.map(({ id }: Answer['body']) => id)
  const isPinned = (id: number) => states.find((state) => state.conversation_id === id)!.pinned
  expect(listed.toSorted()).toEqual(
    states.filter(({ archived }) => !archived).map((state) => state.conversation_id).toSorted(),
  )
  expect(listed).toEqual([...listed.filter(isPinned), ...listed.filter((id) => !isPinned(id))])
}
