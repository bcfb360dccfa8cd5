import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Answer, asAdmin, openConversation, type Person, signUp } from '../tools/people.ts'
import { search, uniqueCity } from '../tools/search.ts'

const full = Number(process.env.FUZZ ?? 0)
const seeds = full ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
// A run has 50 commands at most and starts with new users; signing up is the slow part.
const runs = full ? Math.ceil(full / 400) : 3
const userCount = 4
const parallel = full ? 4 : 2

/** A model of the service: four users, their conversations, and who is searchable. */
interface Model {
  conversations: {
    voyager: number
    local: number
    id?: number
    messages: { id: number; sender: number; content: string; read: boolean }[]
  }[]
  users: {
    searchable: boolean
    active: boolean
    erased: boolean
    blocked: Set<number>
    /** Message ids by client_id. */
    sent: Map<string, number>
  }[]
}
interface Real {
  users: Person[]
  city: string
}
type Command = fc.AsyncCommand<Model, Real>

const isPair = (one: number, other: number) => (pair: { voyager: number; local: number }): boolean =>
  [[one, other], [other, one]].some(([voyager, local]) => pair.voyager === voyager && pair.local === local)
const isBlocked = ({ users }: Model, one: number, other: number): boolean =>
  users[one]!.blocked.has(other) || users[other]!.blocked.has(one)

/** A command that any user may try at any time; the model predicts the response. */
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
})
/** 401 for an erased user, 403 for a deactivated one, else null. */
const accountError = (model: Model, caller: number): number | null => {
  const { erased, active } = model.users[caller]!
  return erased ? 401 : active ? null : 403
}
const expectStatus = (answer: Answer, expected: number): void => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: expected, text: expect.any(String) })
}

const open = (caller: number, other: number): Command =>
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
    model.conversations.push({ voyager: caller, local: other, id: answer.body.id, messages: [] })
  })

const send = (caller: number, which: number, content: string, clientId: string | null): Command =>
  command(`${caller} sends ${JSON.stringify(content)} to ${which} as ${clientId}`, async (model, { users }) => {
    const talk = model.conversations[which % Math.max(model.conversations.length, 1)]
    if (!talk) return
    const me = model.users[caller]!
    const answer = await users[caller]!.call('POST', `/conversations/${talk.id}/messages`, {
      content,
      ...(clientId && { client_id: clientId }),
    })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (talk.voyager !== caller && talk.local !== caller) return expectStatus(answer, 404)
    const before = clientId ? me.sent.get(clientId) : undefined
    const partner = talk.voyager === caller ? talk.local : talk.voyager
    if (before !== undefined) {
      const same = talk.messages.find(({ id }) => id === before)
      if (same?.content !== content) return expectStatus(answer, 422)
      expectStatus(answer, 201)
      expect(answer.headers.get('Idempotency-Replayed')).toBe('true')
      return expect(answer.body.id).toBe(before)
    }
    if (isBlocked(model, caller, partner) || model.users[partner]!.erased) return expectStatus(answer, 403)
    expectStatus(answer, 201)
    expect(answer.body).toMatchObject({ user_id: users[caller]!.id, conversation_id: talk.id, content, read: false })
    expect(answer.body.id).toBeGreaterThan(Math.max(0, ...talk.messages.map(({ id }) => id)))
    talk.messages.push({ id: answer.body.id, sender: caller, content, read: false })
    if (clientId) me.sent.set(clientId, answer.body.id)
  })

const read = (caller: number, which: number, index: number, andBefore: boolean): Command =>
  command(`${caller} reads ${andBefore ? 'up to ' : ''}${index} of ${which}`, async (model, { users }) => {
    const talk = model.conversations[which % Math.max(model.conversations.length, 1)]
    const message = talk?.messages[index % Math.max(talk.messages.length, 1)]
    if (!talk || !message) return
    const answer = andBefore
      ? await users[caller]!.call('POST', `/conversations/${talk.id}/read`, { up_to_message_id: message.id })
      : await users[caller]!.call('PATCH', `/conversations/${talk.id}/messages/${message.id}/read`)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (talk.voyager !== caller && talk.local !== caller) return expectStatus(answer, 404)
    expectStatus(answer, 200)
    for (const one of talk.messages) {
      if (one.sender !== caller && (one === message || andBefore && one.id < message.id)) one.read = true
    }
  })

const setSearchable = (caller: number, searchable: boolean, byProfile: boolean): Command =>
  command(`${caller} becomes ${searchable ? '' : 'not '}searchable`, async (model, { users }) => {
    const path = byProfile ? '/users/profile' : '/users/searchable'
    const answer = await users[caller]!.call('PATCH', path, { is_searchable: searchable })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    expectStatus(answer, 200)
    model.users[caller]!.searchable = searchable
  })

const activate = (user: number, active: boolean): Command =>
  command(`an admin ${active ? '' : 'de'}activates ${user}`, async (model, { users }) => {
    // A constraint forbids activating an erased user.
    if (model.users[user]!.erased) return
    await asAdmin('PATCH', `users?id=eq.${users[user]!.id}`, { is_active: active })
    model.users[user]!.active = active
  })

const erase = (caller: number): Command =>
  command(`${caller} deletes their account`, async (model, { users }) => {
    const answer = await users[caller]!.call('DELETE', '/users/me')
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    expectStatus(answer, 204)
    Object.assign(model.users[caller]!, { searchable: false, active: false, erased: true })
    for (const one of model.users) one.blocked.delete(caller)
    model.users[caller]!.blocked.clear()
  })

const block = (caller: number, other: number, on: boolean): Command =>
  command(`${caller} ${on ? '' : 'un'}blocks ${other}`, async (model, { users }) => {
    const answer = await users[caller]!.call(on ? 'PUT' : 'DELETE', `/users/me/blocks/${users[other]!.id}`)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (caller === other) return expectStatus(answer, 400)
    const { blocked } = model.users[caller]!
    if (!model.users[other]!.active && (on || !blocked.has(other))) return expectStatus(answer, 404)
    expectStatus(answer, 204)
    if (on) blocked.add(other)
    else blocked.delete(other)
  })

const compare = (caller: number): Command =>
  command(`${caller} compares everything with the model`, async (model, { users, city }) => {
    const me = model.users[caller]!
    const { token, id } = users[caller]!
    // Search returns active searchable users, except the caller and blocked ones. An inactive caller is anonymous.
    const found = await search({ filterCity: city, limit: 100 }, token)
    const seen = users.filter((_, one) =>
      model.users[one]!.searchable && model.users[one]!.active &&
      !(me.active && (one === caller || isBlocked(model, caller, one)))
    )
    expectStatus(found, 200)
    expect(found.body.hits.map((hit: { user_id: number }) => hit.user_id).toSorted()).toEqual(
      seen.map((one) => one.id).toSorted(),
    )
    expect(found.body.estimatedTotalHits).toBe(seen.length)

    const unread = await users[caller]!.call('GET', '/conversations/unread')
    const error = accountError(model, caller)
    if (error) return expectStatus(unread, error)
    const mine = model.conversations.filter(({ voyager, local }) => voyager === caller || local === caller)
    const counts = mine.map((talk) => ({
      conversation_id: talk.id!,
      unread: talk.messages.filter(({ sender, read }) => sender !== caller && !read).length,
    })).filter((count) => count.unread > 0).toSorted((one, other) => one.conversation_id - other.conversation_id)
    expect(unread.body).toEqual({ total: counts.reduce((sum, count) => sum + count.unread, 0), conversations: counts })

    const list = await users[caller]!.call('GET', '/conversations')
    expect(list.body.map((one: { id: number }) => one.id).toSorted()).toEqual(mine.map((one) => one.id!).toSorted())
    for (const talk of mine) {
      const shown = list.body.find((one: { id: number }) => one.id === talk.id)
      expect([shown.voyager_id, shown.local_id]).toEqual([users[talk.voyager]!.id, users[talk.local]!.id])
      expect(shown.Messages.map((one: { id: number }) => one.id)).toEqual(talk.messages.slice(-1).map((one) => one.id))
      const { body } = await users[caller]!.call('GET', `/conversations/${talk.id}/messages?order=asc&limit=100`)
      expect(body.map((one: Answer['body']) => [one.id, one.user_id, one.content, one.read]))
        .toEqual(talk.messages.map((one) => [one.id, users[one.sender]!.id, one.content, one.read]))
    }
    expect((await users[caller]!.call('GET', '/users/me')).body).toMatchObject({
      id,
      Profile: { is_searchable: me.searchable },
    })
  })

const caller = fc.nat({ max: userCount - 1 })
const which = fc.nat({ max: 5 })
const clientIds = [
  null,
  null,
  ...Array.from({ length: 3 }, (_, index) => `00000000-0000-4000-8000-00000000000${index}`),
]
const commands = [
  fc.tuple(caller, caller).map(([one, other]) => open(one, other)),
  fc.tuple(caller, caller).map(([one, other]) => open(one, other)),
  fc.tuple(caller, which, fc.constantFrom('a', 'b', '🏔️ ñ', '<i>'), fc.constantFrom(...clientIds)).map((all) =>
    send(...all)
  ),
  fc.tuple(caller, which, fc.constantFrom('a', 'b'), fc.constantFrom(...clientIds)).map((all) => send(...all)),
  fc.tuple(caller, which, fc.nat({ max: 20 }), fc.boolean()).map((all) => read(...all)),
  fc.tuple(caller, fc.boolean(), fc.boolean()).map((all) => setSearchable(...all)),
  fc.tuple(caller, fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false))).map((all) =>
    activate(...all)
  ),
  fc.tuple(caller, caller, fc.boolean()).map((all) => block(...all)),
  // Rarely, so that some of the four users remain.
  fc.oneof({ weight: 4, arbitrary: caller.map(compare) }, caller.map(erase)),
  caller.map(compare),
  caller.map(compare),
]

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(Array.from({ length: parallel }, (_, index) => index))(
    'the service behaves as the model, whatever users do (%i)',
    async (index) => {
      const runCommands = async (commands: Iterable<Command>): Promise<void> => {
        const city = uniqueCity('Modelled')
        const users = await Promise.all(
          Array.from({ length: userCount }, (_, one) => signUp(`Person ${one}`, { city })),
        )
        const model: Model = {
          conversations: [],
          users: users.map(() => ({
            searchable: false,
            active: true,
            erased: false,
            blocked: new Set(),
            sent: new Map(),
          })),
        }
        await fc.asyncModelRun(() => ({ model, real: { users, city } }), [
          ...commands,
          ...users.map((_, one) => compare(one)),
        ])
      }
      await fc.assert(fc.asyncProperty(fc.commands(commands, { maxCommands: 50, size: 'max' }), runCommands), {
        numRuns: runs,
        seed: seed + index,
        endOnFailure: !full,
      })
    },
    30 * 60_000,
  )

  test.concurrent(
    'two users with three devices each send messages at once, and none is lost, duplicated or out of order',
    async () => {
      const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
      const opened = await Promise.all(Array.from({ length: 12 }, (_, index) => {
        const [one, other] = index % 2 ? [ana, ben] : [ben, ana]
        return one.call('POST', '/conversations', { other_user_id: other.id })
      }))
      const id: number = opened.find((answer) => answer.status === 201)!.body.id
      expect(opened.map((answer) => answer.status).toSorted()).toEqual([201, ...Array(11).fill(409)])
      expect(new Set(opened.map(({ body }) => body.id ?? body.conversation_id))).toEqual(new Set([id]))

      const random = fc.sample(fc.nat({ max: 2 }), { numRuns: 1000, seed })
      const each = full ? 60 : 12
      const acknowledged: { id: number; content: string; device: string }[] = []
      const device = async (person: Person, name: string, start: number): Promise<void> => {
        for (let count = 0; count < each; count++) {
          const content = `${name} ${count}`
          const client_id = crypto.randomUUID()
          const send = () => person.call('POST', `/conversations/${id}/messages`, { content, client_id })
          // Some are sent twice, at once or one after the other, as by a client that did not receive the response.
          const mode = random[(start * each + count) % 1000]!
          const answers = mode === 0
            ? [await send()]
            : mode === 1
            ? await Promise.all([send(), send()])
            : [await send(), await send()]
          expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201))
          expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
          acknowledged.push({ id: answers[0]!.body.id, content, device: name })
          if (mode === 2) {
            const { body } = await person.call('GET', `/conversations/${id}/messages?limit=1`)
            expectStatus(await person.call('POST', `/conversations/${id}/read`, { up_to_message_id: body[0].id }), 200)
          }
        }
      }
      await Promise.all(
        [ana, ben].flatMap((person, one) =>
          [0, 1, 2].map((number) => device(person, `${person.name}${number}`, one * 3 + number))
        ),
      )

      const all: Answer['body'][] = []
      for (let after = 0;;) {
        const { body } = await ana.call(
          'GET',
          `/conversations/${id}/messages?limit=100${after ? `&after_id=${after}` : '&order=asc'}`,
        )
        if (body.length === 0) break
        all.push(...body)
        after = body.at(-1).id
      }
      expect(all.map((one) => [one.id, one.content])).toEqual(
        acknowledged.toSorted((one, other) => one.id - other.id).map((one) => [one.id, one.content]),
      )
      for (const name of new Set(acknowledged.map((one) => one.device))) {
        expect(all.filter(({ content }) => content.startsWith(`${name} `)).map(({ content }) => content))
          .toEqual(Array.from({ length: each }, (_, count) => `${name} ${count}`))
      }
      for (const [reader, writer] of [[ana, ben], [ben, ana]] as const) {
        const unread = all.filter((one) => one.user_id === writer.id && !one.read).length
        expect((await reader.call('GET', '/conversations/unread')).body.total).toBe(unread)
        expectStatus(await reader.call('POST', `/conversations/${id}/read`, { up_to_message_id: all.at(-1).id }), 200)
        expect((await reader.call('GET', '/conversations/unread')).body).toEqual({ total: 0, conversations: [] })
      }
      await expect(openConversation(ben, ana)).rejects.toThrow('409')
    },
    30 * 60_000,
  )
})
