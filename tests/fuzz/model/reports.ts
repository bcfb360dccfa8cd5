import { expect } from 'vitest'
import type { Answer, Person } from '../../tools/people.ts'
import {
  accountError,
  asAdmin,
  type Command,
  command,
  expectStatus,
  localSide,
  logBlock,
  type Model,
  type ModelReport,
  partnerIn,
  takesPart,
  talkAt,
  userIn,
  voyagerSide,
} from './model.ts'

/** Keeps what admins see as evidence: the reported message, and the latest 20 of the two if they are shared. */
const addEvidence = ({ conversations }: Model, report: ModelReport): void => {
  const talk = conversations.find((one) => takesPart(one, report.reporter) && takesPart(one, report.subject))
  const copied = (talk?.messages ?? []).filter(({ id }, place, all) =>
    id === report.message || report.shares && place >= all.length - 20
  )
  for (const { id, content } of copied) if (!report.evidence.has(id)) report.evidence.set(id, content)
}

/** Of a message of a conversation, or with `index` null of a person. A participant reports the other one. */
export const report = (
  who: number,
  someone: number,
  which: number,
  index: number | null,
  shares: boolean,
  blocks: boolean,
): Command =>
  command(
    `${who} reports ${index === null ? 'the person' : 'message'} ${index ?? someone} of ${which}, ` +
      `shares ${shares}, blocks ${blocks}`,
    async (model, real) => {
      const talk = talkAt(model, which)
      const message = index === null ? undefined : talk?.messages.at(-1 - index % Math.max(talk.messages.length, 1))
      if (!talk || index !== null && !message) return
      const isParticipant = who === voyagerSide || who === localSide
      const caller = isParticipant && message ? partnerIn(talk, message.sender) : userIn(talk, who)
      const other = isParticipant ? partnerIn(talk, caller) : someone
      const subject = message ? message.sender : other
      const answer = await real.users[caller]!.call('POST', '/users/me/reports', {
        ...(message ? { message_id: message.id } : { user_id: real.users[other]!.id }),
        ...{ reason: 'other', share_messages: shares, block: blocks },
      })
      const error = accountError(model, caller)
      if (error) return expectStatus(answer, error)
      if (message && !takesPart(talk, caller)) return expectStatus(answer, 404)
      if (subject === caller) return expectStatus(answer, 400)
      const about = { reporter: caller, subject, message: message?.id ?? null }
      let known = model.reports.find((one) =>
        one.isOpen && one.reporter === caller && one.subject === subject && one.message === about.message
      )
      const person = model.users[subject]!
      if (!known && !message && !person.active) return expectStatus(answer, 404)
      expectStatus(answer, known ? 200 : 201)
      if (!known) {
        known = { ...about, id: answer.body.id, shares, isOpen: true, evidence: new Map() }
        model.reports.push(known)
        addEvidence(model, known)
      } else if (shares && !known.shares) {
        known.shares = true
        addEvidence(model, known)
      }
      expect(answer.body).toMatchObject({ id: known.id, status: 'open' })
      const { blocked } = model.users[caller]!
      if (!blocks || person.erased || blocked.has(subject)) return
      blocked.add(subject)
      logBlock(model, caller, subject)
    },
  )

export const resolve = (index: number, action: string): Command =>
  command(`an admin resolves report ${index} with ${action}`, async (model, real) => {
    const pending = model.reports.filter(({ isOpen }) => isOpen)
    const reports = index > 0 && pending.length > 0 ? pending : model.reports
    const report = reports[index % Math.max(reports.length, 1)]
    if (!report) return
    const evidence = await asAdmin(real, 'POST', 'rpc/read_evidence', { report: report.id })
    const contents = [...report.evidence].toSorted(([one], [other]) => one - other)
    expect(evidence.body.map((one: Answer['body']) => [one.message_id, one.content])).toEqual(contents)
    const answer = await asAdmin(real, 'POST', 'rpc/resolve_report', { report: report.id, action, note: 'Decided' })
    if (!report.isOpen) return expectStatus(answer, 409)
    expectStatus(answer, 200)
    report.isOpen = false
    const person = model.users[report.subject]!
    if (action === 'suspend') person.active = false
    if (action === 'hide' && !person.erased) Object.assign(person, { hidden: true, searchable: false })
  })

/** Of one of those who are restricted so, if there are any. */
export const lift = (someone: number, restriction: 'hide' | 'suspend'): Command =>
  command(`an admin lifts ${restriction} of ${someone}`, async (model, real) => {
    const restricted = [...model.users.keys()].filter((one) => {
      const { hidden, active, erased } = model.users[one]!
      return restriction === 'hide' ? hidden : !active && !erased
    })
    const user = restricted.length > 0 ? restricted[someone % restricted.length]! : someone
    const person = model.users[user]!
    const answer = await asAdmin(real, 'POST', 'rpc/lift_restriction', {
      ...{ person: real.users[user]!.id, restriction, note: 'Lifted' },
    })
    if (restricted.length === 0) return expectStatus(answer, 409)
    expectStatus(answer, 200)
    if (restriction === 'hide') person.hidden = false
    else person.active = true
  })

export const compareReports = async (caller: number, { reports }: Model, users: Person[]): Promise<void> => {
  const { body } = await users[caller]!.call('GET', '/users/me/reports?limit=100')
  expect(body.map(({ id, status }: Answer['body']) => [id, status])).toEqual(
    reports.filter(({ reporter }) => reporter === caller).toSorted((one, other) => other.id - one.id)
      .map(({ id, isOpen }) => [id, isOpen ? 'open' : 'resolved']),
  )
}
