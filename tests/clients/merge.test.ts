import { describe, expect, test } from 'vitest'
import { beforeUnread, lastId, markedUpTo, merge, placeOf, unconfirmed } from '../../clients/merge.ts'
import type { Outgoing } from '../../clients/outbox.ts'
import type { Message } from '../../clients/shapes.ts'
import { numbersFrom } from '../tools/random.ts'

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
  test('a page that follows is added at the end', () => {
    expect(idsOf(merge(messages(3, 5), messages(6, 9)))).toEqual([3, 5, 6, 9])
  })

  test('a page of older messages is added before', () => {
    expect(idsOf(merge(messages(6, 9), messages(3, 5)))).toEqual([3, 5, 6, 9])
  })

  test('a page that overlaps adds what is new, once', () => {
    expect(idsOf(merge(messages(3, 5, 6), messages(5, 6, 9)))).toEqual([3, 5, 6, 9])
  })

  test('a page that says nothing new leaves the very same messages, so that nobody draws them again', () => {
    const known = messages(3, 5)
    expect(merge(known, messages(3, 5))).toBe(known)
    expect(merge(known, [])).toBe(known)
  })

  test('a page says what a message holds now', () => {
    expect(merge(messages(3), [message(3, { content: 'Corrected' })])[0]!.content).toBe('Corrected')
  })

  test('read comes, and never goes: an answer that was overtaken does not take it back', () => {
    const read = merge(messages(3), [message(3, { read: true })])
    expect(read[0]!.read).toBe(true)
    expect(merge(read, messages(3))[0]!.read).toBe(true)
  })

  test('the messages given are not changed', () => {
    const known = Object.freeze(messages(3, 5))
    merge(known, [message(5, { read: true }), message(6)])
    expect(known).toEqual(messages(3, 5))
  })

  test('pages of any sizes, repeated and overlapping, end as the table', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = numbersFrom(seed)
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

describe('what an event means', () => {
  const hint = (id: number, previous_id: number | null) => ({ conversation_id: 7, id, previous_id, user_id: ana })

  test.each([
    ['the first message of an empty conversation', hint(5, null), 0, 'next'],
    ['the message after the last one', hint(9, 5), 5, 'next'],
    ['a message with another one between', hint(9, 7), 5, 'after a hole'],
    ['a message that was seen', hint(5, 3), 5, 'seen'],
    ['an old one, late', hint(3, null), 5, 'seen'],
  ])('%s', (_, event, last, place) => {
    expect(placeOf(event, last)).toBe(place)
  })
})

describe('marks', () => {
  test('what was received up to a message becomes read, and nothing of one’s own or after it', () => {
    const known = [message(1), message(2, { user_id: bob }), message(3, { user_id: bob }), message(4, { user_id: bob })]
    expect(markedUpTo(known, ana, 3).map(({ read }) => read)).toEqual([false, true, true, false])
  })

  test('where nothing changes they are the very same messages', () => {
    const known = [message(1), message(2, { user_id: bob, read: true })]
    expect(markedUpTo(known, ana, 9)).toBe(known)
  })

  test('marks are looked for from before the first unread message, or from the end', () => {
    expect(beforeUnread([message(3, { read: true }), message(5), message(6, { read: true })])).toBe(4)
    expect(beforeUnread([message(3, { read: true })])).toBe(3)
    expect(beforeUnread([])).toBe(0)
  })
})

describe('what is sent and not yet there', () => {
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

  test('an answered one stays until its message is there', () => {
    const answered = sent('Hi', { state: 'sent', message: message(9) })
    expect(left([answered], messages(5))).toEqual(['Hi'])
    expect(left([answered], messages(5, 9))).toEqual([])
  })

  test('one without an answer goes when its message came first', () => {
    expect(left([sent('Hi')], [...messages(5), message(9, { content: 'Hi' })])).toEqual([])
  })

  test.each([
    ['is older', message(5, { content: 'Hi' }), []],
    ['is the other one’s', message(9, { content: 'Hi', user_id: bob }), []],
    ['says something else', message(9, { content: 'Hello' }), []],
    ['answered another send', message(9, { content: 'Hi' }), [9]],
    [
      'carries an attachment',
      message(9, {
        content: 'Hi',
        attachment: { url: 'a/b', name: 'b', mime_type: 'image/png', size: 1 },
      }),
      [],
    ],
  ])('but not for a message that %s', (_, known, answered) => {
    expect(left([sent('Hi')], [known], answered)).toEqual(['Hi'])
  })

  test('one message is taken for one send, also where two say the same', () => {
    const twice = [sent('Hi', { client_id: 'first' }), sent('Hi', { client_id: 'second' })]
    expect(left(twice, [message(9, { content: 'Hi' })])).toEqual(['second'])
  })

  test('a refused one stays', () => {
    expect(left([sent('Hi', { state: 'refused' })], [message(9, { content: 'Hi' })])).toEqual(['Hi'])
  })
})
