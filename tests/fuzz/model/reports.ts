import { expect } from 'vitest'
import type { Answer, Person } from '../../tools/people.ts'
import {
  accountError,
  asAdmin,
  type Command,
  command,
  expectStatus,
  type Model,
  type ModelReport,
  takesPart,
  talkAt,
} from './model.ts'

/** Keeps what admins see as evidence: the reported message, and the latest 20 of the two if they are shared. */
const addEvidence = ({ conversations }: Model, report: ModelReport): void => {
  const talk = conversations.find((one) => takesPart(one, report.reporter) && takesPart(one, report.subject))
  const copied = (talk?.messages ?? []).filter(({ id }, place, all) =>
    id === report.message || report.shares && place >= all.length - 20
  )
  for (const { id, content } of copied) if (!report.evidence.has(id)) report.evidence.set(id, content)
}

/** Of a message of a conversation, or with `index` null of a person. */
export const report = (
  caller: number,
  other: number,
  which: number,
  index: number | null,
  shares: boolean,
  blocks: boolean,
): Command =>
  command(
    `${caller} reports ${index ?? other} of ${which}, shares ${shares}, blocks ${blocks}`,
    async (model, real) => {
      const talk = talkAt(model, which)
      const message = index === null ? undefined : talk?.messages[index % Math.max(talk.messages.length, 1)]
      if (index !== null && !message) return
      const subject = message ? message.sender : other
      const answer = await real.users[caller]!.call('POST', '/users/me/reports', {
        ...(message ? { message_id: message.id } : { user_id: real.users[other]!.id }),
        ...{ reason: 'other', share_messages: shares, block: blocks },
      })
      const error = accountError(model, caller)
      if (error) return expectStatus(answer, error)
      if (message && !takesPart(talk!, caller)) return expectStatus(answer, 404)
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
      if (blocks && !person.erased) model.users[caller]!.blocked.add(subject)
    },
  )

export const resolve = (index: number, action: string): Command =>
  command(`an admin resolves report ${index} with ${action}`, async (model, real) => {
    const report = model.reports[index % Math.max(model.reports.length, 1)]
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

export const lift = (user: number, restriction: 'hide' | 'suspend'): Command =>
  command(`an admin lifts ${restriction} of ${user}`, async (model, real) => {
    const person = model.users[user]!
    const answer = await asAdmin(real, 'POST', 'rpc/lift_restriction', {
      ...{ person: real.users[user]!.id, restriction, note: 'Lifted' },
    })
    const isRestricted = restriction === 'hide' ? person.hidden : !person.active && !person.erased
    if (!isRestricted) return expectStatus(answer, 409)
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
