import { expect } from 'vitest'
import {
  accountError,
  asAdmin,
  type Command,
  command,
  expectStatus,
  isBlocked,
  lastId,
  logForBoth,
  mayWriteFirst,
  partnerIn,
  takesPart,
  talkAt,
  userIn,
} from './model.ts'

const isPair = (one: number, other: number) => (pair: { voyager: number; local: number }): boolean =>
  [[one, other], [other, one]].some(([voyager, local]) => pair.voyager === voyager && pair.local === local)

export const open = (caller: number, other: number): Command =>
  command(`${caller} opens a conversation with ${other}`, async (model, { users }) => {
    const answer = await users[caller]!.call('POST', '/conversations', { other_user_id: users[other]!.id })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (caller === other) return expectStatus(answer, 400)
    const known = model.conversations.find(isPair(caller, other))
    if (!model.users[other]!.active) return expectStatus(answer, 404)
    if (known) {
      expectStatus(answer, 409)
      return expect(answer.body.conversation_id).toBe(known.id)
    }
    if (isBlocked(model, caller, other)) return expectStatus(answer, 403)
    expectStatus(answer, 201)
    expect(answer.body).toEqual({ id: expect.any(Number), voyager_id: users[caller]!.id, local_id: users[other]!.id })
    const talk = {
      ...{ voyager: caller, local: other, id: answer.body.id, messages: [], reservations: [] },
      ...{ written: new Set<number>(), states: new Map(), openedAt: ++model.clock },
    }
    model.conversations.push(talk)
    logForBoth(model, 'conversation', talk, talk.id)
  })

export const send = (who: number, which: number, content: string, clientId: string | null): Command =>
  command(`${who} sends ${JSON.stringify(content)} to ${which} as ${clientId}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    if (!talk) return
    const caller = userIn(talk, who)
    const me = model.users[caller]!
    const answer = await users[caller]!.call('POST', `/conversations/${talk.id}/messages`, {
      content,
      ...(clientId && { client_id: clientId }),
    })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    const before = clientId ? me.sent.get(clientId) : undefined
    const partner = partnerIn(talk, caller)
    if (before !== undefined) {
      const same = talk.messages.find(({ id }) => id === before)
      if (same?.content !== content) return expectStatus(answer, 422)
      expectStatus(answer, 201)
      expect(answer.headers.get('Idempotency-Replayed')).toBe('true')
      return expect(answer.body.id).toBe(before)
    }
    if (isBlocked(model, caller, partner) || model.users[partner]!.erased) return expectStatus(answer, 403)
    if (!mayWriteFirst(talk, caller)) return expectStatus(answer, 403)
    expectStatus(answer, 201)
    expect(answer.body).toMatchObject({ user_id: users[caller]!.id, conversation_id: talk.id, content, read: false })
    expect(answer.body.id).toBeGreaterThan(lastId(talk))
    talk.messages.push({ id: answer.body.id, at: ++model.clock, sender: caller, content, read: false })
    logForBoth(model, 'message', talk, answer.body.id)
    talk.written.add(caller)
    if (clientId) me.sent.set(clientId, answer.body.id)
  })

/** The index counts from the latest message. */
export const read = (who: number, which: number, index: number, andBefore: boolean): Command =>
  command(`${who} reads ${andBefore ? 'up to ' : ''}${index} of ${which}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    const message = talk?.messages.at(-1 - index % Math.max(talk.messages.length, 1))
    if (!talk || !message) return
    const caller = userIn(talk, who)
    const answer = andBefore
      ? await users[caller]!.call('POST', `/conversations/${talk.id}/read`, { up_to_message_id: message.id })
      : await users[caller]!.call('PATCH', `/conversations/${talk.id}/messages/${message.id}/read`)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    expectStatus(answer, 200)
    const marked = talk.messages.filter((one) =>
      one.sender !== caller && !one.read && (one === message || andBefore && one.id < message.id)
    )
    for (const one of marked) one.read = true
    if (marked.length > 0) logForBoth(model, 'read', talk, marked.at(-1)!.id)
  })

/** Whoever got the latest message reads up to it. */
export const readAll = (which: number): Command =>
  command(`the recipient reads all of ${which}`, async (model, real) => {
    const talk = talkAt(model, which)
    const latest = talk?.messages.at(-1)
    if (talk && latest) await read(partnerIn(talk, latest.sender), which, 0, true).run(model, real)
  })

export const removeLatest = (which: number): Command =>
  command(`an admin deletes the latest message of ${which}`, async (model, real) => {
    const talk = talkAt(model, which)
    const message = talk?.messages.pop()
    if (!talk || !message) return
    expectStatus(await asAdmin(real, 'DELETE', `messages?id=eq.${message.id}`), 200)
    logForBoth(model, 'message.removed', talk, message.id)
    const { sent } = model.users[message.sender]!
    for (const [clientId, id] of sent) if (id === message.id) sent.delete(clientId)
  })
