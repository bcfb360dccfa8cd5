import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { type Answer, openConversation, type Person, signUp } from '../tools/people.ts'
import { expectStatus, firstContactLimit, tally } from './model/model.ts'
import { runModel } from './model/run.ts'

const full = Number(process.env.FUZZ ?? 0)
const seeds = full ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
// A run has 50 commands and starts with new users.
const runs = full ? Math.ceil(full / 400) : 2
const parallel = full ? 4 : 2

const stack = useStack({
  FIRST_CONTACT_LIMIT: `${firstContactLimit}`,
  PARTNER_EMAIL: 'after_reply',
  ...(databaseUrl && { DATABASE_URL: databaseUrl }),
})

// Commands that never change anything test refusals only.
afterAll(() => {
  if (!full) return
  const lines = [...tally].map(([kind, { changed, unchanged }]) => `${changed} of ${changed + unchanged} ${kind}`)
  console.log(`How many commands changed something:\n${lines.toSorted().join('\n')}`)
})

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(Array.from({ length: parallel }, (_, index) => index))(
    'the service behaves as the model, whatever users do (%i)',
    async (index) => {
      await runModel(stack.base, { runs, seed: seed + index, shrink: Boolean(full) })
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
