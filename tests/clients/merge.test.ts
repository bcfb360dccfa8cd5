import { describe, expect, test } from 'vitest'
import { beforeUnread, lastId, markReadUpTo, merge, positionOf, unconfirmed } from '../../clients/merge.ts'
import type { Outgoing } from '../../clients/outbox.ts'
import type { Message } from '../../clients/types.ts'
import { seededRandom } from '../tools/random.ts'

const [ana, bob] = [1, 2]
const message = (id: number, more: Partial<Message> = {}) => ({
  ...{ id, user_id: ana, conversation_id: 7, content: `Message ${id}`, attachment: null, read: false },
  ...{ createdAt: '2026-11-21T08:00:00.000Z', Sender: { id: ana, name: 'Ana' }, ...more },
} as Message)
const messages = (...ids: number[]) => ids.map((id) => message(id))
const idsOf = (some: readonly Message[]) => some.map(({ id }) => id)

describe('merging a page', () => {
  test.each([
    ['appends the next page', [3, 5], [6, 9]],
    ['prepends an older page', [6, 9], [3, 5]],
    ['adds the new messages of an overlapping page once', [3, 5, 6], [5, 6, 9]],
  ])('%s', (_, known, page) => {
    const before = Object.freeze(messages(...known))
    expect(idsOf(merge(before, messages(...page)))).toEqual([...new Set([...known, ...page])].sort())
    expect(before).toEqual(messages(...known))
  })

  test('returns the same array for a page without changes, so that nothing is rendered again', () => {
    const known = messages(3, 5)
    expect(merge(known, messages(3, 5))).toBe(known)
    expect(merge(known, [])).toBe(known)
  })

  test('takes changed content, and never sets read back to false, because responses may arrive out of order', () => {
    expect(merge(messages(3), [message(3, { content: 'Corrected' })])[0]!.content).toBe('Corrected')
    const read = merge(messages(3), [message(3, { read: true })])
    expect(read[0]!.read).toBe(true)
    expect(merge(read, messages(3))[0]!.read).toBe(true)
  })

  test('reproduces the table from pages of any size, repeated and overlapping', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(seed)
      const table = messages(...Array.from({ length: 40 }, (_, index) => index * 3 + 1))
      let view: readonly Message[] = []
      while (view.length < table.length) {
        const end = table.findIndex(({ id }) => id === lastId(view)) + 1
        const from = Math.floor(random() * (end + 1))
        view = merge(view, table.slice(from, from + Math.ceil(random() * 9)))
        expect(idsOf(view)).toEqual(idsOf(table.slice(0, view.length)))
      }
      expect(view).toEqual(table)
    }
  })
})

test.each([
  ['the first message of an empty conversation', 5, null, 0, 'next'],
  ['the message after the last known', 9, 5, 5, 'next'],
  ['a message after another unknown one', 9, 7, 5, 'after gap'],
  ['a known message', 5, 3, 5, 'known'],
  ['an older message, late', 3, null, 5, 'known'],
])('the position of the event of %s', (_, id, previous_id, last, position) => {
  expect(positionOf({ conversation_id: 7, id, previous_id, user_id: ana }, last)).toBe(position)
})

test('read markers set read on received messages up to the given one, but not on own or later ones', () => {
  const known = [message(1), ...[2, 3, 4].map((id) => message(id, { user_id: bob }))]
  const marked = markReadUpTo(known, ana, 3)
  expect(marked.map(({ read }) => read)).toEqual([false, true, true, false])
  // Nothing is rendered again if nothing changes.
  expect(markReadUpTo(marked, ana, 3)).toBe(marked)
})

test('messages are reread from before the first unread one, or from the end', () => {
  const [read, unread] = [message(3, { read: true }), message(5)]
  expect([[read, unread, message(6, { read: true })], [read], []].map(beforeUnread)).toEqual([4, 3, 0])
})

const attachment = { url: 'a/b', name: 'b', mime_type: 'image/png', size: 1 }
const sent = (client_id: string, more: Partial<Outgoing> = {}): Outgoing => ({
  ...{
    client_id,
    content: 'Hi',
    attachment: null,
    state: 'sending',
    error: null,
    progress: null,
    message: null,
    after: 5,
  },
  ...{ createdAt: '2026-11-21T08:00:00.000Z', ...more },
})
const answered = sent('answered', { state: 'sent', message: message(9) })
const known = (id: number, more: Partial<Message> = {}) => message(id, { content: 'Hi', ...more })

// deno-fmt-ignore
test.each<[string, Outgoing[], Message[], number[], string[]]>([
  ['an answered one stays until its message is in the list', [answered], messages(5), [], ['answered']],
  ['an answered one goes when its message is in the list', [answered], messages(5, 9), [], []],
  ['one without an answer is hidden once its message is in the list', [sent('A')], [...messages(5), known(9)], [], []],
  ['it stays if the message is older', [sent('A')], [known(5)], [], ['A']],
  ['it stays if the message is of the other', [sent('A')], [known(9, { user_id: bob })], [], ['A']],
  ['it stays if the message has other content', [sent('A')], [message(9, { content: 'Hello' })], [], ['A']],
  ['it stays if the message has an attachment', [sent('A')], [known(9, { attachment })], [], ['A']],
  ['it stays if the message was the answer to another send', [sent('A')], [known(9)], [9], ['A']],
  ['one message confirms only one of two sends with the same content', [sent('A'), sent('B')], [known(9)], [], ['B']],
  ['a refused one stays', [sent('A', { state: 'refused' })], [known(9)], [], ['A']],
])('of the unconfirmed messages %s', (_, outgoing, list, answers, left) => {
  expect(unconfirmed(outgoing, list, ana, new Set(answers)).map(({ client_id }) => client_id)).toEqual(left)
})
