import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Answer, asAdmin, converse, type Person, signUp } from '../tools/people.ts'
import { madeUpCity, search } from '../tools/search.ts'

const full = Number(process.env.FUZZ ?? 0)
const seeds = full ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
// A run is 50 steps at most; each starts with new people, because signing up is what costs.
const runs = full ? Math.ceil(full / 400) : 3
const users = 4
const parallel = full ? 4 : 2

/** The whole service in a few lines: four people, what they said to each other, and who may be found. */
interface Model {
  conversations: {
    voyager: number
    local: number
    id?: number
    messages: { id: number; by: number; content: string; read: boolean }[]
  }[]
  people: { searchable: boolean; active: boolean; erased: boolean; blocked: Set<number>; keys: Map<string, number> }[]
}
interface Real {
  people: Person[]
  city: string
}
type Step = fc.AsyncCommand<Model, Real>

const isPair = (one: number, other: number) => (pair: { voyager: number; local: number }): boolean =>
  [[one, other], [other, one]].some(([voyager, local]) => pair.voyager === voyager && pair.local === local)
const apart = ({ people }: Model, one: number, other: number): boolean =>
  people[one]!.blocked.has(other) || people[other]!.blocked.has(one)

/** A step that anybody may try at any time; what is answered is the model's to say. */
const step = (name: string, run: (model: Model, real: Real) => Promise<void>): Step => ({
  check: () => true,
  run,
  toString: () => name,
})
/** Who has no account is told so, who is deactivated otherwise; null for everybody else. */
const refusal = (model: Model, who: number): number | null => {
  const { erased, active } = model.people[who]!
  return erased ? 401 : active ? null : 403
}
const status = (answer: Answer, expected: number): void => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: expected, text: expect.any(String) })
}

const open = (who: number, whom: number): Step =>
  step(`${who} opens with ${whom}`, async (model, { people }) => {
    const answer = await people[who]!.call('POST', '/conversations', { other_user_id: people[whom]!.id })
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    if (who === whom) return status(answer, 400)
    const known = model.conversations.find(isPair(who, whom))
    if (!model.people[whom]!.active) return status(answer, 404)
    if (known) {
      status(answer, 409)
      return expect(answer.body.conversation_id).toBe(known.id)
    }
    if (apart(model, who, whom)) return status(answer, 403)
    status(answer, 201)
    expect(answer.body).toEqual({ id: expect.any(Number), voyager_id: people[who]!.id, local_id: people[whom]!.id })
    model.conversations.push({ voyager: who, local: whom, id: answer.body.id, messages: [] })
  })

const sendIt = (who: number, which: number, content: string, key: string | null): Step =>
  step(`${who} says ${JSON.stringify(content)} in ${which} with ${key}`, async (model, { people }) => {
    const talk = model.conversations[which % Math.max(model.conversations.length, 1)]
    if (!talk) return
    const me = model.people[who]!
    const answer = await people[who]!.call('POST', `/conversations/${talk.id}/messages`, {
      content,
      ...(key && { client_id: key }),
    })
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    if (talk.voyager !== who && talk.local !== who) return status(answer, 404)
    const before = key ? me.keys.get(key) : undefined
    const partner = talk.voyager === who ? talk.local : talk.voyager
    if (before !== undefined) {
      const same = talk.messages.find(({ id }) => id === before)
      if (same?.content !== content) return status(answer, 422)
      status(answer, 201)
      expect(answer.headers.get('Idempotency-Replayed')).toBe('true')
      return expect(answer.body.id).toBe(before)
    }
    if (apart(model, who, partner) || model.people[partner]!.erased) return status(answer, 403)
    status(answer, 201)
    expect(answer.body).toMatchObject({ user_id: people[who]!.id, conversation_id: talk.id, content, read: false })
    expect(answer.body.id).toBeGreaterThan(Math.max(0, ...talk.messages.map(({ id }) => id)))
    talk.messages.push({ id: answer.body.id, by: who, content, read: false })
    if (key) me.keys.set(key, answer.body.id)
  })

const read = (who: number, which: number, place: number, andBefore: boolean): Step =>
  step(`${who} reads ${andBefore ? 'up to ' : ''}${place} of ${which}`, async (model, { people }) => {
    const talk = model.conversations[which % Math.max(model.conversations.length, 1)]
    const message = talk?.messages[place % Math.max(talk.messages.length, 1)]
    if (!talk || !message) return
    const answer = andBefore
      ? await people[who]!.call('POST', `/conversations/${talk.id}/read`, { up_to_message_id: message.id })
      : await people[who]!.call('PATCH', `/conversations/${talk.id}/messages/${message.id}/read`)
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    if (talk.voyager !== who && talk.local !== who) return status(answer, 404)
    status(answer, 200)
    for (const one of talk.messages) {
      if (one.by !== who && (one === message || andBefore && one.id < message.id)) one.read = true
    }
  })

const show = (who: number, searchable: boolean, byProfile: boolean): Step =>
  step(`${who} ${searchable ? 'shows' : 'hides'}`, async (model, { people }) => {
    const path = byProfile ? '/users/profile' : '/users/searchable'
    const answer = await people[who]!.call('PATCH', path, { is_searchable: searchable })
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    status(answer, 200)
    model.people[who]!.searchable = searchable
  })

const activate = (who: number, active: boolean): Step =>
  step(`an admin ${active ? '' : 'de'}activates ${who}`, async (model, { people }) => {
    // A constraint keeps who is gone from coming back.
    if (model.people[who]!.erased) return
    await asAdmin('PATCH', `users?id=eq.${people[who]!.id}`, { is_active: active })
    model.people[who]!.active = active
  })

const erase = (who: number): Step =>
  step(`${who} erases themselves`, async (model, { people }) => {
    const answer = await people[who]!.call('DELETE', '/users/me')
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    status(answer, 204)
    Object.assign(model.people[who]!, { searchable: false, active: false, erased: true })
    for (const one of model.people) one.blocked.delete(who)
    model.people[who]!.blocked.clear()
  })

const block = (who: number, whom: number, on: boolean): Step =>
  step(`${who} ${on ? '' : 'un'}blocks ${whom}`, async (model, { people }) => {
    const answer = await people[who]!.call(on ? 'PUT' : 'DELETE', `/users/me/blocks/${people[whom]!.id}`)
    const refused = refusal(model, who)
    if (refused) return status(answer, refused)
    if (who === whom) return status(answer, 400)
    const { blocked } = model.people[who]!
    if (!model.people[whom]!.active && (on || !blocked.has(whom))) return status(answer, 404)
    status(answer, 204)
    if (on) blocked.add(whom)
    else blocked.delete(whom)
  })

const look = (who: number): Step =>
  step(`${who} looks around`, async (model, { people, city }) => {
    const me = model.people[who]!
    const { token, id } = people[who]!
    // Searchable and active, but for oneself and whoever is kept apart; without rights one is anybody.
    const found = await search({ filterCity: city, limit: 100 }, token)
    const seen = people.filter((_, one) =>
      model.people[one]!.searchable && model.people[one]!.active &&
      !(me.active && (one === who || apart(model, who, one)))
    )
    status(found, 200)
    expect(found.body.hits.map((hit: { user_id: number }) => hit.user_id).toSorted()).toEqual(
      seen.map((one) => one.id).toSorted(),
    )
    expect(found.body.estimatedTotalHits).toBe(seen.length)

    const unread = await people[who]!.call('GET', '/conversations/unread')
    const refused = refusal(model, who)
    if (refused) return status(unread, refused)
    const mine = model.conversations.filter(({ voyager, local }) => voyager === who || local === who)
    const counts = mine.map((talk) => ({
      conversation_id: talk.id!,
      unread: talk.messages.filter(({ by, read }) => by !== who && !read).length,
    })).filter((count) => count.unread > 0).toSorted((one, other) => one.conversation_id - other.conversation_id)
    expect(unread.body).toEqual({ total: counts.reduce((sum, count) => sum + count.unread, 0), conversations: counts })

    const list = await people[who]!.call('GET', '/conversations')
    expect(list.body.map((one: { id: number }) => one.id).toSorted()).toEqual(mine.map((one) => one.id!).toSorted())
    for (const talk of mine) {
      const shown = list.body.find((one: { id: number }) => one.id === talk.id)
      expect([shown.voyager_id, shown.local_id]).toEqual([people[talk.voyager]!.id, people[talk.local]!.id])
      expect(shown.Messages.map((one: { id: number }) => one.id)).toEqual(talk.messages.slice(-1).map((one) => one.id))
      const { body } = await people[who]!.call('GET', `/conversations/${talk.id}/messages?order=asc&limit=100`)
      expect(body.map((one: Answer['body']) => [one.id, one.user_id, one.content, one.read]))
        .toEqual(talk.messages.map((one) => [one.id, people[one.by]!.id, one.content, one.read]))
    }
    expect((await people[who]!.call('GET', '/users/me')).body).toMatchObject({
      id,
      Profile: { is_searchable: me.searchable },
    })
  })

const who = fc.nat({ max: users - 1 })
const which = fc.nat({ max: 5 })
const keys = [null, null, ...Array.from({ length: 3 }, (_, place) => `00000000-0000-4000-8000-00000000000${place}`)]
const steps = [
  fc.tuple(who, who).map(([one, other]) => open(one, other)),
  fc.tuple(who, who).map(([one, other]) => open(one, other)),
  fc.tuple(who, which, fc.constantFrom('a', 'b', '🏔️ ñ', '<i>'), fc.constantFrom(...keys)).map((all) => sendIt(...all)),
  fc.tuple(who, which, fc.constantFrom('a', 'b'), fc.constantFrom(...keys)).map((all) => sendIt(...all)),
  fc.tuple(who, which, fc.nat({ max: 20 }), fc.boolean()).map((all) => read(...all)),
  fc.tuple(who, fc.boolean(), fc.boolean()).map((all) => show(...all)),
  fc.tuple(who, fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false))).map((all) =>
    activate(...all)
  ),
  fc.tuple(who, who, fc.boolean()).map((all) => block(...all)),
  // Now and then: of four people somebody has to stay.
  fc.oneof({ weight: 4, arbitrary: who.map(look) }, who.map(erase)),
  who.map(look),
  who.map(look),
]

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(Array.from({ length: parallel }, (_, place) => place))(
    'whatever people do, the service does as the model (%i)',
    async (place) => {
      const play = async (commands: Iterable<Step>): Promise<void> => {
        const city = madeUpCity('Modelled')
        const people = await Promise.all(Array.from({ length: users }, (_, one) => signUp(`Person ${one}`, { city })))
        const model: Model = {
          conversations: [],
          people: people.map(() => ({
            searchable: false,
            active: true,
            erased: false,
            blocked: new Set(),
            keys: new Map(),
          })),
        }
        await fc.asyncModelRun(() => ({ model, real: { people, city } }), [
          ...commands,
          ...people.map((_, one) => look(one)),
        ])
      }
      await fc.assert(fc.asyncProperty(fc.commands(steps, { maxCommands: 50, size: 'max' }), play), {
        numRuns: runs,
        seed: seed + place,
        endOnFailure: !full,
      })
    },
    30 * 60_000,
  )

  test.concurrent(
    'meanwhile two people with three devices each talk, and nothing is lost, doubled or out of order',
    async () => {
      const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
      const opened = await Promise.all(Array.from({ length: 12 }, (_, turn) => {
        const [one, other] = turn % 2 ? [ana, ben] : [ben, ana]
        return one.call('POST', '/conversations', { other_user_id: other.id })
      }))
      const id: number = opened.find((answer) => answer.status === 201)!.body.id
      expect(opened.map((answer) => answer.status).toSorted()).toEqual([201, ...Array(11).fill(409)])
      expect(new Set(opened.map(({ body }) => body.id ?? body.conversation_id))).toEqual(new Set([id]))

      const random = fc.sample(fc.nat({ max: 2 }), { numRuns: 1000, seed })
      const each = full ? 60 : 12
      const acknowledged: { id: number; content: string; device: string }[] = []
      const device = async (person: Person, name: string, start: number): Promise<void> => {
        for (let turn = 0; turn < each; turn++) {
          const content = `${name} ${turn}`
          const client_id = crypto.randomUUID()
          const say = () => person.call('POST', `/conversations/${id}/messages`, { content, client_id })
          // Some are sent twice, at once or one after the other, as by a client that never heard the answer.
          const how = random[(start * each + turn) % 1000]!
          const answers = how === 0
            ? [await say()]
            : how === 1
            ? await Promise.all([say(), say()])
            : [await say(), await say()]
          expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201))
          expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
          acknowledged.push({ id: answers[0]!.body.id, content, device: name })
          if (how === 2) {
            const { body } = await person.call('GET', `/conversations/${id}/messages?limit=1`)
            status(await person.call('POST', `/conversations/${id}/read`, { up_to_message_id: body[0].id }), 200)
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
        if (body.length === 0) {
          break
        }
        all.push(...body)
        after = body.at(-1).id
      }
      expect(all.map((one) => [one.id, one.content])).toEqual(
        acknowledged.toSorted((one, other) => one.id - other.id).map((one) => [one.id, one.content]),
      )
      for (const name of new Set(acknowledged.map((one) => one.device))) {
        expect(all.filter(({ content }) => content.startsWith(`${name} `)).map(({ content }) => content))
          .toEqual(Array.from({ length: each }, (_, turn) => `${name} ${turn}`))
      }
      for (const [reader, writer] of [[ana, ben], [ben, ana]] as const) {
        const unread = all.filter((one) => one.user_id === writer.id && !one.read).length
        expect((await reader.call('GET', '/conversations/unread')).body.total).toBe(unread)
        status(await reader.call('POST', `/conversations/${id}/read`, { up_to_message_id: all.at(-1).id }), 200)
        expect((await reader.call('GET', '/conversations/unread')).body).toEqual({ total: 0, conversations: [] })
      }
      await expect(converse(ben, ana)).rejects.toThrow('409')
    },
    30 * 60_000,
  )
})
