import { expect } from 'vitest'
import * as m from './model.ts'

export const open = async (fixture: m.Fixture, caller: number, other: number) => {
  const { model, users } = fixture
  const answer = await m.ask(fixture, caller, ['POST', '/conversations', { other_user_id: users[other]!.id }], [
    caller === other && 400,
    !model.users[other]!.active && 404,
    model.talks.some((talk) => m.takesPart(talk, caller) && m.takesPart(talk, other)) && 409,
    m.isBlocked(model, caller, other) && 403,
  ], 201)
  if (!answer) return
  expect(answer.body).toEqual({ id: expect.any(Number), voyager_id: users[caller]!.id, local_id: users[other]!.id })
  const talk: m.Talk = {
    ...{ voyager: caller, local: other, id: answer.body.id, openedAt: ++model.clock },
    ...{ messages: [], reservations: [], written: new Set(), states: new Map() },
  }
  model.talks.push(talk)
  m.logForBoth(model, 'conversation', talk)
}

export const send = async (fixture: m.Fixture, talk: m.Talk, who: number, content: string, clientId: string | null) => {
  const { model, users } = fixture
  const caller = m.userIn(talk, who)
  const partner = m.partnerIn(talk, caller)
  const { sent } = model.users[caller]!
  const before = clientId ? sent.get(clientId) : undefined
  const isReplay = before !== undefined && talk.messages.some((one) => one.id === before && one.content === content)
  const body = { content, ...(clientId && { client_id: clientId }) }
  const answer = await m.ask(fixture, caller, ['POST', `/conversations/${talk.id}/messages`, body], [
    !m.takesPart(talk, caller) && 404,
    before !== undefined && !isReplay && 422,
    !isReplay && (m.isBlocked(model, caller, partner) || model.users[partner]!.erased) && 403,
    !isReplay && !m.mayWriteFirst(talk, caller) && 403,
  ], 201)
  if (!answer) return
  expect(answer.headers.get('Idempotency-Replayed')).toBe(isReplay ? 'true' : null)
  if (isReplay) return expect(answer.body.id).toBe(before)
  expect(answer.body).toMatchObject({ user_id: users[caller]!.id, conversation_id: talk.id, content, read: false })
  expect(answer.body.id).toBeGreaterThan(m.lastId(talk))
  talk.messages.push({ id: answer.body.id, at: ++model.clock, sender: caller, content, read: false })
  m.logForBoth(model, 'message', talk, answer.body.id)
  talk.written.add(caller)
  if (clientId) sent.set(clientId, answer.body.id)
}

export const read = async (fixture: m.Fixture, talk: m.Talk, who: number, index: number, andBefore: boolean) => {
  const caller = m.userIn(talk, who)
  const message = m.nth(talk.messages, index)
  if (!message) return
  const path = `/conversations/${talk.id}`
  const request: m.Request = andBefore
    ? ['POST', `${path}/read`, { up_to_message_id: message.id }]
    : ['PATCH', `${path}/messages/${message.id}/read`]
  if (!await m.ask(fixture, caller, request, [!m.takesPart(talk, caller) && 404])) return
  const marked = talk.messages.filter((one) =>
    one.sender !== caller && !one.read && (one === message || andBefore && one.id < message.id)
  )
  for (const one of marked) one.read = true
  if (marked.length === 0) return
  // Across a block nobody learns that the other has read.
  const told = m.isBlocked(fixture.model, talk.voyager, talk.local) ? [caller] : [talk.voyager, talk.local]
  m.log(fixture.model, told, 'read', talk, marked.at(-1)!.id)
}
/** Whoever got the latest message reads all. */
export const readAll = async (fixture: m.Fixture, talk: m.Talk) => {
  const latest = talk.messages.at(-1)
  if (latest) await read(fixture, talk, m.partnerIn(talk, latest.sender), 0, true)
}

export const removeLatest = async (fixture: m.Fixture, talk: m.Talk) => {
  const message = talk.messages.pop()
  if (!message) return
  await m.askAdmin(fixture, ['DELETE', `messages?id=eq.${message.id}`])
  m.logForBoth(fixture.model, 'message.removed', talk, message.id)
  const { sent } = fixture.model.users[message.sender]!
  for (const [clientId, id] of sent) if (id === message.id) sent.delete(clientId)
}

const later = '2036-07-01T12:00:00.000Z'
const stateOf = (talk: m.Talk, user: number): m.State =>
  talk.states.get(user) ?? { archivedAt: null, muted: false, pinned: false }
export const shownState = (talk: m.Talk, user: number) => {
  const { archivedAt, muted, pinned } = stateOf(talk, user)
  const archived = archivedAt !== null && archivedAt >= m.lastId(talk)
  return { conversation_id: talk.id, archived, muted_until: muted ? later : null, pinned }
}
export const arrange = async (fixture: m.Fixture, talk: m.Talk, who: number, what: keyof m.State, on: boolean) => {
  const caller = m.userIn(talk, who)
  const before = shownState(talk, caller)
  const change =
    { archivedAt: { archived: on }, muted: { muted_until: on ? later : null }, pinned: { pinned: on } }[what]
  const request: m.Request = ['PUT', `/conversations/${talk.id}/state`, change]
  const answer = await m.ask(fixture, caller, request, [!m.takesPart(talk, caller) && 404])
  if (!answer) return
  const state = stateOf(talk, caller)
  if (what !== 'archivedAt') state[what] = on
  // Archiving what is archived changes nothing.
  else if (on !== before.archived) state.archivedAt = on ? m.lastId(talk) : null
  talk.states.set(caller, state)
  const after = shownState(talk, caller)
  expect(answer.body).toEqual(after)
  if (JSON.stringify(after) !== JSON.stringify(before)) m.log(fixture.model, [caller], 'state', talk, talk.id)
}
