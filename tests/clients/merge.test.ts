// What the random faults of network_faults.test.ts do not notice.
import { describe, expect, test } from 'vitest'
import { merge, unconfirmed } from '../../clients/merge.ts'
import type { Outgoing } from '../../clients/inbox.ts'
import type { Message } from '../../clients/types.ts'

const [ana, bob] = [1, 2]
const message = (id: number, more: Partial<Message> = {}) => ({
  ...{ id, user_id: ana, conversation_id: 7, content: `Message ${id}`, attachment: null, read: false },
  ...{ createdAt: '2026-11-21T08:00:00.000Z', Sender: { id: ana, name: 'Ana' }, ...more },
} as Message)
const messages = (...ids: number[]) => ids.map((id) => message(id))

describe('merging a page', () => {
  test('returns the same array for a page without changes, so that nothing is rendered again', () => {
    const known = messages(3, 5)
    expect(merge(known, messages(3, 5), 0, Infinity)).toBe(known)
    expect(merge(known, [], 5, Infinity)).toBe(known)
  })

  test('removes what is not in the page between its ends, and leaves the rest', () => {
    const merged = merge(messages(3, 5, 7, 9), messages(6), 3, 8)
    expect(merged.map(({ id }) => id)).toEqual([3, 6, 9])
  })
})

const attachment = { url: 'a/b', name: 'b', mime_type: 'image/png', size: 1 }
const sent = (client_id: string, more: Partial<Outgoing> = {}): Outgoing => ({
  ...{ client_id, content: 'Hi', attachment: null, state: 'sending', error: null, progress: null, message: null },
  after: 5,
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
