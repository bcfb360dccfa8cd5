import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { type Answer, type Person, signUp } from '../tools/people.ts'
import { firstContactLimit } from './model/model.ts'
import { runModel } from './model/run.ts'

const full = Number(process.env.FUZZ ?? 0)
const seeds = full ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
// A run has 50 commands and starts with new users.
const runs = full ? Math.ceil(full / 400) : 2
const each = full ? 60 : 12

const stack = useStack({
  ...{ FIRST_CONTACT_LIMIT: `${firstContactLimit}`, PARTNER_EMAIL: 'after_reply' },
  ...(databaseUrl && { DATABASE_URL: databaseUrl }),
})

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(full ? [0, 1, 2, 3] : [0, 1])(
    'the service behaves as the model, whatever users do (%i)',
    async (index) => {
      await runModel(stack.base, runs, seed + index, Boolean(full))
      expect(index).toBeGreaterThanOrEqual(0)
    },
    30 * 60_000,
  )

  test.concurrent('of messages of two users with three devices each none is lost, double or out of order', async () => {
    const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
    const opened = await Promise.all(Array.from({ length: 12 }, (_, index) => {
      const [one, other] = index % 2 ? [ana, ben] : [ben, ana]
      return one.call('POST', '/conversations', { other_user_id: other.id })
    }))
    expect(opened.map(({ status }) => status).toSorted()).toEqual([201, ...Array(11).fill(409)])
    const [id, ...others] = new Set<number>(opened.map(({ body }) => body.id ?? body.conversation_id))
    expect(others).toEqual([])
    const path = `/conversations/${id}`

    // Some are sent twice, at once or one after the other, as by a client that did not receive the answer.
    const modes = fc.sample(fc.nat({ max: 2 }), { numRuns: 6 * each, seed })
    const acknowledged: { id: number; content: string; device: string }[] = []
    const device = async (person: Person, number: number): Promise<void> => {
      for (let count = 0; count < each; count++) {
        const content = `${number} ${count}`
        const client_id = crypto.randomUUID()
        const send = () => person.call('POST', `${path}/messages`, { content, client_id })
        const mode = modes[number * each + count]
        const answers = mode === 1 ? await Promise.all([send(), send()]) : [await send()]
        if (mode === 2) {
          answers.push(await send())
          await person.call('POST', `${path}/read`, { up_to_message_id: answers[0]!.body.id })
        }
        for (const { status, text } of answers) expect([status, text]).toEqual([201, answers[0]!.text])
        acknowledged.push({ id: answers[0]!.body.id, content, device: `${number}` })
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map((number) => device(number < 3 ? ana : ben, number)))

    const all: Answer['body'][] = []
    for (let after = 0, page: Answer['body'][] = [{}]; page.length > 0; after = page.at(-1)?.id) {
      page = (await ana.call('GET', `${path}/messages?limit=100&after_id=${after}`)).body
      all.push(...page)
    }
    expect(all.map((one) => [one.id, one.content])).toEqual(
      acknowledged.toSorted((one, other) => one.id - other.id).map((one) => [one.id, one.content]),
    )
    for (const number of [0, 1, 2, 3, 4, 5]) {
      expect(all.map(({ content }) => content).filter((content) => content.startsWith(`${number} `)))
        .toEqual(Array.from({ length: each }, (_, count) => `${number} ${count}`))
    }
    for (const [reader, writer] of [[ana, ben], [ben, ana]] as const) {
      const unread = all.filter((one) => one.user_id === writer.id && !one.read).length
      expect((await reader.call('GET', '/conversations/unread')).body.total).toBe(unread)
      await reader.call('POST', `${path}/read`, { up_to_message_id: all.at(-1).id })
      expect((await reader.call('GET', '/conversations/unread')).body).toEqual({ total: 0, conversations: [] })
    }
  }, 30 * 60_000)
})
