import { describe, expect, test } from 'vitest'
import { beforeUnread, lastId, markReadUpTo, merge, positionOf, unconfirmed } from '../../clients/merge.ts'
import type { Outgoing } from '../../clients/outbox.ts'
import type { Message } from '../../clients/types.ts'
import { seededRandom } from '../tools/random.ts'

const ana = 1
const bob = 2

const message = (id: number, more: Partial<Message> = {}): Message => ({
  id,
  user_id: ana,
  conversation_id: 7,
  content: `Message ${id}`,
  attachment: null,
  read: false,
  createdAt: '2026-11-21T08:00:00.000Z',
  Sender: { id: ana, name: 'Ana' },
  ...more,
})
const messages = (...ids: number[]) => ids.map((id) => message(id))
const idsOf = (some: readonly Message[]) => some.map(({ id }) => id)

describe('merging a page', () => {
  test('appends the next page', () => {
    expect(idsOf(merge(messages(3, 5), messages(6, 9)))).toEqual([3, 5, 6, 9])
  })

  test('prepends an older page', () => {
    expect(idsOf(merge(messages(6, 9), messages(3, 5)))).toEqual([3, 5, 6, 9])
  })

  test('adds the new messages of an overlapping page once', () => {
    expect(idsOf(merge(messages(3, 5, 6), messages(5, 6, 9)))).toEqual([3, 5, 6, 9])
  })

  test('returns the same array for a page without changes, so that nothing is rendered again', () => {
    const known = messages(3, 5)
    expect(merge(known, messages(3, 5))).toBe(known)
    expect(merge(known, [])).toBe(known)
  })

  test('takes changed content from the page', () => {
    expect(merge(messages(3), [message(3, { content: 'Corrected' })])[0]!.content).toBe('Corrected')
  })

  test('never sets read back to false, because responses may arrive out of order', () => {
    const read = merge(messages(3), [message(3, { read: true })])
    expect(read[0]!.read).toBe(true)
    expect(merge(read, messages(3))[0]!.read).toBe(true)
  })

  test('does not modify its arguments', () => {
    const known = Object.freeze(messages(3, 5))
    merge(known, [message(5, { read: true }), message(6)])
    expect(known).toEqual(messages(3, 5))
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

describe('the position of an event', () => {
  const event = (id: number, previous_id: number | null) => ({ conversation_id: 7, id, previous_id, user_id: ana })

  test.each([
    ['the first message of an empty conversation', event(5, null), 0, 'next'],
    ['the message after the last known', event(9, 5), 5, 'next'],
    ['a message after another unknown one', event(9, 7), 5, 'after gap'],
    ['a known message', event(5, 3), 5, 'known'],
    ['an older message, late', event(3, null), 5, 'known'],
  ])('%s', (_, payload, last, position) => {
    expect(positionOf(payload, last)).toBe(position)
  })
})

describe('read markers', () => {
  test('set read on received messages up to the given one, but not on own or later ones', () => {
    const known = [message(1), message(2, { user_id: bob }), message(3, { user_id: bob }), message(4, { user_id: bob })]
    expect(markReadUpTo(known, ana, 3).map(({ read }) => read)).toEqual([false, true, true, false])
  })

  test('return the same array if nothing changes', () => {
    const known = [message(1), message(2, { user_id: bob, read: true })]
    expect(markReadUpTo(known, ana, 9)).toBe(known)
  })

  test('are reread from before the first unread message, or from the end', () => {
    expect(beforeUnread([message(3, { read: true }), message(5), message(6, { read: true })])).toBe(4)
    expect(beforeUnread([message(3, { read: true })])).toBe(3)
    expect(beforeUnread([])).toBe(0)
  })
})

describe('unconfirmed outgoing messages', () => {
  const sent = (content: string, more: Partial<Outgoing> = {}): Outgoing => ({
    client_id: content,
    content,
    attachment: null,
    state: 'sending',
    error: null,
    message: null,
    createdAt: '2026-11-21T08:00:00.000Z',
    after: 5,
    ...more,
  })
  const left = (outgoing: Outgoing[], known: Message[], answered: number[] = []) =>
    unconfirmed(outgoing, known, ana, new Set(answered)).map(({ client_id }) => client_id)

  test('an answered one stays until its message is in the list', () => {
    const answered = sent('Hi', { state: 'sent', message: message(9) })
    expect(left([answered], messages(5))).toEqual(['Hi'])
    expect(left([answered], messages(5, 9))).toEqual([])
  })

  test('one without an answer is hidden once its message is in the list', () => {
    expect(left([sent('Hi')], [...messages(5), message(9, { content: 'Hi' })])).toEqual([])
  })

  test.each([
    ['is older', message(5, { content: 'Hi' }), []],
    ['is the other participant’s', message(9, { content: 'Hi', user_id: bob }), []],
    ['has other content', message(9, { content: 'Hello' }), []],
    ['was the answer to another send', message(9, { content: 'Hi' }), [9]],
    [
      'has an attachment',
      message(9, {
        content: 'Hi',
        attachment: { url: 'a/b', name: 'b', mime_type: 'image/png', size: 1 },
      }),
      [],
    ],
  ])('one without an answer stays if the message %s', (_, known, answered) => {
    expect(left([sent('Hi')], [known], answered)).toEqual(['Hi'])
  })

  test('one message confirms only one of two sends with the same content', () => {
    const twice = [sent('Hi', { client_id: 'first' }), sent('Hi', { client_id: 'second' })]
    expect(left(twice, [message(9, { content: 'Hi' })])).toEqual(['second'])
  })

  test('a refused one stays', () => {
    expect(left([sent('Hi', { state: 'refused' })], [message(9, { content: 'Hi' })])).toEqual(['Hi'])
  })
})
