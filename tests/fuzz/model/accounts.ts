import { expect } from 'vitest'
import type { Answer } from '../../tools/people.ts'
import * as m from './model.ts'
import { move } from './reservations.ts'

export const setSearchable = async (fixture: m.Fixture, caller: number, searchable: boolean, byProfile: boolean) => {
  const user = fixture.model.users[caller]!
  const path = byProfile ? '/users/profile' : '/users/searchable'
  const request: m.Request = ['PATCH', path, { is_searchable: searchable }]
  if (await m.ask(fixture, caller, request, [searchable && user.hidden && 403])) user.searchable = searchable
}

/** Activates one of those who are not active, if there are any. */
export const activate = async (fixture: m.Fixture, someone: number, active: boolean) => {
  const { users } = fixture.model
  const inactive = users.filter((one) => !one.active && !one.erased)
  const user = (active && inactive[someone % inactive.length]) || users[someone]!
  // A constraint forbids activating an erased user.
  if (user.erased) return
  await m.askAdmin(fixture, ['PATCH', `users?id=eq.${fixture.users[users.indexOf(user)]!.id}`, { is_active: active }])
  user.active = active
}

export const erase = async (fixture: m.Fixture, caller: number) => {
  const { model } = fixture
  if (!await m.ask(fixture, caller, ['DELETE', '/users/me'], [], 204)) return
  Object.assign(model.users[caller]!, { searchable: false, active: false, erased: true, hidden: false })
  for (const [user, { blocked }] of model.users.entries()) if (blocked.delete(caller)) m.logBlock(model, user, caller)
  model.users[caller]!.blocked.clear()
  for (const talk of model.talks.filter((one) => m.takesPart(one, caller))) {
    talk.states.delete(caller)
    m.logForBoth(model, 'conversation', talk)
    for (const one of talk.reservations.filter(({ status }) => status === 'pending' || status === 'accepted')) {
      move(one, 'cancelled', caller)
      m.logForBoth(model, 'reservation', talk, one.id)
    }
  }
}

/** Unblocks one of those whom the caller has blocked, if there are any. */
export const block = async (fixture: m.Fixture, caller: number, someone: number, on: boolean) => {
  const { model, users } = fixture
  const { blocked } = model.users[caller]!
  const known = [...blocked]
  const other = on || known.length === 0 ? someone : known[someone % known.length]!
  const request: m.Request = [on ? 'PUT' : 'DELETE', `/users/me/blocks/${users[other]!.id}`]
  const answer = await m.ask(fixture, caller, request, [
    caller === other && 400,
    !model.users[other]!.active && (on || !blocked.has(other)) && 404,
  ], 204)
  if (!answer || blocked.has(other) === on) return
  if (on) blocked.add(other)
  else blocked.delete(other)
  m.logBlock(model, caller, other)
}

/** Keeps what admins see as evidence: the reported message, and the latest 20 of the two if they are shared. */
const addEvidence = ({ talks }: m.Model, { reporter, subject, message, shares, evidence }: m.Report): void => {
  const talk = talks.find((one) => m.takesPart(one, reporter) && m.takesPart(one, subject))
  const copied = (talk?.messages ?? []).filter(({ id }, place, all) =>
    id === message || shares && place >= all.length - 20
  )
  for (const { id, content } of copied) if (!evidence.has(id)) evidence.set(id, content)
}

/** Of a message of a conversation, or with `index` null of a person. A participant reports the other one. */
export const report = async (
  fixture: m.Fixture,
  talk: m.Talk,
  who: number,
  someone: number,
  index: number | null,
  shares: boolean,
  blocks: boolean,
) => {
  const { model, users } = fixture
  const message = index === null ? undefined : m.nth(talk.messages, index)
  if (index !== null && !message) return
  const isParticipant = who === m.voyagerSide || who === m.localSide
  const caller = isParticipant && message ? m.partnerIn(talk, message.sender) : m.userIn(talk, who)
  const subject = message ? message.sender : isParticipant ? m.partnerIn(talk, caller) : someone
  const person = model.users[subject]!
  const about = { reporter: caller, subject, message: message?.id ?? null }
  let known = model.reports.find((one) =>
    one.isOpen && one.reporter === caller && one.subject === subject && one.message === about.message
  )
  const answer = await m.ask(fixture, caller, ['POST', '/users/me/reports', {
    ...(message ? { message_id: message.id } : { user_id: users[subject]!.id }),
    ...{ reason: 'other', share_messages: shares, block: blocks },
  }], [
    message !== undefined && !m.takesPart(talk, caller) && 404,
    subject === caller && 400,
    !known && !message && !person.active && 404,
  ], known ? 200 : 201)
  if (!answer) return
  const isNew = !known
  if (!known) model.reports.push(known = { ...about, id: answer.body.id, shares, isOpen: true, evidence: new Map() })
  const isMore = shares && !known.shares
  known.shares ||= shares
  if (isNew || isMore) addEvidence(model, known)
  expect(answer.body).toMatchObject({ id: known.id, status: 'open' })
  const { blocked } = model.users[caller]!
  if (!blocks || person.erased || blocked.has(subject)) return
  blocked.add(subject)
  m.logBlock(model, caller, subject)
}

export const resolve = async (fixture: m.Fixture, index: number, action: string) => {
  const { users, reports } = fixture.model
  const pending = reports.filter(({ isOpen }) => isOpen)
  const known = index > 0 && pending.length > 0 ? pending : reports
  const report = known[index % Math.max(known.length, 1)]
  if (!report) return
  const { body } = await m.askAdmin(fixture, ['POST', 'rpc/read_evidence', { report: report.id }])
  const contents = [...report.evidence].toSorted(([one], [other]) => one - other)
  expect(body.map((one: Answer['body']) => [one.message_id, one.content])).toEqual(contents)
  const decision = { report: report.id, action, note: 'Decided' }
  await m.askAdmin(fixture, ['POST', 'rpc/resolve_report', decision], report.isOpen ? 200 : 409)
  if (!report.isOpen) return
  report.isOpen = false
  const person = users[report.subject]!
  if (action === 'suspend') person.active = false
  if (action === 'hide' && !person.erased) Object.assign(person, { hidden: true, searchable: false })
}

/** Of one of those who are restricted so, if there are any. */
export const lift = async (fixture: m.Fixture, someone: number, restriction: 'hide' | 'suspend') => {
  const { users } = fixture.model
  const restricted = users.filter(({ hidden, active, erased }) => restriction === 'hide' ? hidden : !active && !erased)
  const person = restricted[someone % restricted.length] ?? users[someone]!
  const decision = { person: fixture.users[users.indexOf(person)]!.id, restriction, note: 'Lifted' }
  await m.askAdmin(fixture, ['POST', 'rpc/lift_restriction', decision], restricted.length > 0 ? 200 : 409)
  if (restricted.length > 0) person[restriction === 'hide' ? 'hidden' : 'active'] = restriction !== 'hide'
}
