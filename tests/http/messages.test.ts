import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { errorOf, expectError, idsOf, isoTimestamp, nextPath, resultOf } from '../tools/responses.ts'

const send = (sender: Person, id: number, draft: unknown, headers = {}) =>
  sender.call('POST', `/conversations/${id}/messages`, draft, { headers })
const list = (reader: Person, id: number, query = '') => reader.call('GET', `/conversations/${id}/messages?${query}`)

let ana: Person, bob: Person, cleo: Person
let conversation: number
beforeAll(async () => {
  ;[ana, bob, cleo] = await Promise.all([signUp('Ana'), signUp('Bob'), signUp('Cleo')])
  conversation = await openConversation(ana, bob)
})

/** A conversation of two new users with this many messages; `ids` are oldest first. */
const conversationOf = async (count: number) => {
  const [voyager, local] = await Promise.all([signUp('Voyager'), signUp('Local')])
  const id = await openConversation(voyager, local)
  const messages = Array.from(
    { length: count },
    (_, index) => sendMessage(index % 2 ? local : voyager, id, `Message ${index}`),
  )
  return { id, voyager, local, ids: idsOf(await Promise.all(messages)).sort((a, b) => a - b) }
}

describe('sending', () => {
  test('both participants send, and both read the documented shape', async () => {
    for (const [sender, reader] of [[ana, bob], [bob, ana]] as const) {
      const sent = await send(sender, conversation, { content: 'Hello' })
      expect(resultOf(sent)).toEqual({
        status: 201,
        body: {
          id: expect.any(Number),
          user_id: sender.id,
          conversation_id: conversation,
          content: 'Hello',
          attachment: null,
          read: false,
          createdAt: isoTimestamp,
          Sender: { id: sender.id, name: sender.name },
        },
      })
      expect(Number.isInteger(sent.body.id)).toBe(true)
      expect(Math.abs(Date.parse(sent.body.createdAt) - Date.now())).toBeLessThan(60_000)
      for (const person of [sender, reader]) {
        expect(resultOf(await list(person, conversation, 'limit=1'))).toEqual({ status: 200, body: [sent.body] })
      }
    }
  })

  test('an admin writes and corrects a message in the dashboard', async () => {
    const row = { conversation_id: await openConversation(bob, cleo), user_id: cleo.id, content: 'Wlecome' }
    const { body: [{ id }] } = await asAdmin('POST', 'messages', row)
    await asAdmin('PATCH', `messages?id=eq.${id}`, { content: 'Welcome' })
    const expected = [{ id, user_id: cleo.id, content: 'Welcome', read: false, createdAt: isoTimestamp }]
    expect((await list(bob, row.conversation_id)).body).toMatchObject(expected)
  })

  test.each([
    ['one character', 'x'],
    ['one emoji', '🚶'],
    ['spaces and newlines around it', '  \n\t Hello \r\n\r\n '],
    ['text from right to left', 'שלום، مرحبا \u202Eabc\u202C'],
    ['emoji of several code points', '👩‍👩‍👧‍👦🏳️‍🌈👍🏽'],
    ['letters with separate accents', 'Cafe\u0301 Caf\u00e9'],
    ['HTML', '<script>alert("1")</script>&amp;<b>'],
    ['SQL', `'; drop table messages; -- $1 $$ %s {}`],
    ['escapes and controls', 'a\\u0041\\n\u0001\u007f\u2028\ufeff'],
    ['something that looks like JSON', '{"content": null}'],
    ['5,000 letters', 'é'.repeat(5000)],
    ['5,000 emoji', '🚶'.repeat(5000)],
  ])('%s is stored as sent', async (_, content) => {
    expect(await send(ana, conversation, { content })).toMatchObject({ status: 201, body: { content } })
    expect((await list(bob, conversation, 'limit=1')).body[0].content).toBe(content)
    const { body } = await bob.call('GET', '/conversations')
    expect(body[0].Messages[0].content).toBe(content)
  })

  test.each([
    ['nothing', {}],
    ['no character', { content: '' }],
    ['null', { content: null }],
    ['a number', { content: 5 }],
    ['a list', { content: ['Hello'] }],
    ['a space', { content: ' ' }],
    ['newlines and tabs', { content: '\n\t\r\n ' }],
    ['spaces of other scripts', { content: '\u00a0\u3000\u2003' }],
    ['5,001 letters', { content: 'é'.repeat(5001) }],
    ['5,001 emoji', { content: '🚶'.repeat(5001) }],
    ['a NUL', { content: 'a\0b' }],
    ['half of an emoji', { content: 'a\ud83d' }],
  ])('%s is refused, naming content', async (_, draft) => {
    const before = (await list(bob, conversation)).text
    expectError(await send(ana, conversation, draft), 400, 'content')
    expect((await list(bob, conversation)).text).toBe(before)
  })
})

describe('attachments', () => {
  const file = { url: 'https://files.example/photo.jpg', name: 'Strand 🏖.jpg', mime_type: 'image/jpeg', size: 12_345 }

  test.each([
    ['an https address', { url: 'https://example.com/a%20b.pdf?x=1#2' }],
    ['an empty file', { size: 0 }],
    ['a media type with a suffix', { mime_type: 'image/svg+xml' }],
  ])('%s is stored as sent', async (_, change) => {
    const attachment = { ...file, ...change }
    const sent = await send(bob, conversation, { content: 'Look', attachment })
    expect(sent).toMatchObject({ status: 201, body: { content: 'Look' } })
    expect(sent.body.attachment).toEqual(attachment)
    expect((await list(ana, conversation, 'limit=1')).body).toEqual([sent.body])
  })

  test('the scheme of a URL is case-insensitive and stored in lower case', async () => {
    const client_id = crypto.randomUUID()
    const draft = { content: 'Look', client_id, attachment: { ...file, url: 'HTTPS://example.com/A.pdf' } }
    const sent = await send(bob, conversation, draft)
    expect(sent).toMatchObject({ status: 201, body: { attachment: { ...file, url: 'https://example.com/A.pdf' } } })
    expect((await send(bob, conversation, draft)).text).toBe(sent.text)
  })

  test.each([[{}, ''], [{ content: '' }, ''], [{ content: ' \n' }, ' \n']])(
    'with an attachment the content can be %j',
    async (draft, content) => {
      expect(resultOf(await send(ana, conversation, { ...draft, attachment: file })))
        .toMatchObject({ status: 201, body: { content, attachment: file } })
    },
  )

  test('unknown keys are ignored, as elsewhere', async () => {
    const sent = await send(ana, conversation, { content: 'Look', attachment: { ...file, width: 3, url2: '' } })
    expect(resultOf(sent)).toMatchObject({ status: 201 })
    expect(sent.body.attachment).toEqual(file)
  })

  test('null means no attachment', async () => {
    expect(await send(ana, conversation, { content: 'Bare', attachment: null }))
      .toMatchObject({ status: 201, body: { attachment: null } })
    expectError(await send(ana, conversation, { content: '', attachment: null }), 400, 'content')
  })

  test.each([
    { ...file, url: undefined },
    { ...file, name: undefined },
    { ...file, mime_type: undefined },
    { ...file, url: null },
    { ...file, url: '' },
    { ...file, url: 'https://' },
    { ...file, url: 'https://x"onerror=alert(1)' },
    { ...file, url: 'https://user@example.com/a.jpg' },
    { ...file, url: 'HTTPS://example.com/<b>' },
    { ...file, url: 'http://example.com/a.jpg' },
    { ...file, url: 'javascript:alert(1)' },
    { ...file, url: 'JavaScript:alert(1)' },
    { ...file, url: ' javascript:alert(1)' },
    { ...file, url: 'java\nscript:alert(1)' },
    { ...file, url: 'data:text/html,<b>' },
    { ...file, url: '//example.com/a.jpg' },
    { ...file, url: '\\\\example.com\\a.jpg' },
    { ...file, url: '/etc/passwd' },
    { ...file, url: '../x' },
    { ...file, url: 'a/../../x' },
    { ...file, url: '%2e%2e/x' },
    { ...file, url: '..\\x' },
    { ...file, url: 'a'.repeat(2049) },
    { ...file, name: '' },
    { ...file, mime_type: 'jpeg' },
  ])('%j is refused, naming attachment', async (attachment) => {
    const before = (await list(bob, conversation)).text
    expectError(await send(ana, conversation, { content: 'Look', attachment }), 400, 'attachment')
    expect((await list(bob, conversation)).text).toBe(before)
  })
})

describe('pages', () => {
  let history: Awaited<ReturnType<typeof conversationOf>>
  let newestFirst: number[]
  beforeAll(async () => {
    history = await conversationOf(10)
    newestFirst = history.ids.toReversed()
  })

  const nextOf = (answer: Answer): string | undefined => nextPath(`/conversations/${history.id}/messages`, answer)

  /** The ids of each page, following the Link headers; `meanwhile` runs between two pages. */
  const follow = async (reader: Person, id: number, query: string, meanwhile = () => Promise.resolve()) => {
    const pages: number[][] = []
    let next: string | undefined = `/conversations/${id}/messages?${query}`
    while (next) {
      if (pages.length > 0) await meanwhile()
      const answer = await reader.call('GET', next)
      expect(answer.status).toBe(200)
      pages.push(idsOf(answer.body))
      expect(pages.length).toBeLessThan(100)
      next = nextPath(next, answer)
    }
    return pages
  }
  const chunks = (ids: number[], size: number) =>
    Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size))

  test('the newest message comes first, with order=asc the oldest', async () => {
    expect(idsOf((await list(history.local, history.id)).body)).toEqual(newestFirst)
    expect(idsOf((await list(history.local, history.id, 'order=desc')).body)).toEqual(newestFirst)
    expect(idsOf((await list(history.local, history.id, 'order=asc')).body)).toEqual(history.ids)
  })

  test('an empty conversation is one empty page', async () => {
    const id = await openConversation(ana, cleo)
    const answer = await list(cleo, id)
    expect({ ...resultOf(answer), next: nextOf(answer) }).toEqual({ status: 200, body: [], next: undefined })
  })

  test.each([1, 3, 5, 9, 10, 11])(
    'Link headers with limit %d page without duplicates or gaps',
    async (limit) => {
      const [middle, rest] = [history.ids[4]!, history.ids.slice(5)]
      const pages = (query: string) => follow(history.voyager, history.id, `limit=${limit}${query}`)
      expect(await pages('')).toEqual(chunks(newestFirst, limit))
      expect(await pages('&order=asc')).toEqual(chunks(history.ids, limit))
      expect(await pages('&offset=2')).toEqual(chunks(newestFirst.slice(2), limit))
      expect(await pages(`&before_id=${middle}`)).toEqual(chunks(newestFirst.slice(6), limit))
      expect(await pages(`&before_id=${Number.MAX_SAFE_INTEGER}`)).toEqual(chunks(newestFirst, limit))
      expect(await pages(`&after_id=${middle}`)).toEqual(chunks(rest, limit))
    },
  )

  test('new messages cause no duplicates or gaps while paging', async () => {
    const busy = await conversationOf(12)
    const pages = async (query: string) => {
      let rounds = 0
      const sendMore = async () => {
        if (rounds++ < 3) {
          for (const sender of [busy.local, busy.voyager]) {
            await sendMessage(sender, busy.id, `More ${rounds}`)
          }
        }
      }
      const seen = (await follow(busy.voyager, busy.id, query, sendMore)).flat()
      expect(rounds).toBeGreaterThan(2)
      return seen
    }
    const [first, tenth] = [busy.ids[0]!, busy.ids[9]!]
    expect(await pages(`limit=2&before_id=${tenth}`)).toEqual(busy.ids.slice(0, 9).toReversed())
    const caughtUp = await pages(`limit=2&after_id=${first}`)
    const fromTheStart = await pages('limit=2&order=asc')
    const all = idsOf((await list(busy.local, busy.id, 'order=asc&limit=100')).body)
    expect(all).toHaveLength(12 + 3 * 6)
    expect(fromTheStart).toEqual(all)
    expect(caughtUp).toEqual(all.slice(1, 12 + 2 * 6))
    expect([...new Set(await pages('limit=3'))]).toEqual(all.toReversed())
  })

  test('a page has 50 messages by default and 100 at most', async () => {
    const long = await conversationOf(103)
    const newest = long.ids.toReversed()
    expect(await follow(long.voyager, long.id, '')).toEqual(chunks(newest, 50))
    expect(await follow(long.local, long.id, 'limit=1000')).toEqual(chunks(newest, 100))
    expect(await follow(long.local, long.id, `limit=100&after_id=${long.ids[0]}`)).toEqual(
      chunks(long.ids.slice(1), 100),
    )
  })

  test('offset skips the newest messages, with order=asc the oldest', async () => {
    const at = async (query: string) => idsOf((await list(history.local, history.id, query)).body)
    expect(await at('offset=0&limit=1')).toEqual(newestFirst.slice(0, 1))
    expect(await at('offset=4&limit=3')).toEqual(newestFirst.slice(4, 7))
    expect(await at('offset=4&limit=3&order=asc')).toEqual(history.ids.slice(4, 7))
    for (const offset of [10, 2_147_483_648, Number.MAX_SAFE_INTEGER]) {
      const answer = await list(history.local, history.id, `offset=${offset}`)
      expect({ ...resultOf(answer), next: nextOf(answer) }).toEqual({ status: 200, body: [], next: undefined })
    }
  })

  test('after_id=0 is from the first message on, page by page', async () => {
    expect(await follow(history.local, history.id, 'after_id=0&limit=4')).toEqual(chunks(history.ids, 4))
    expectError(await list(history.local, history.id, 'after_id=0&before_id=9'), 400, 'after_id')
    expectError(await list(history.local, history.id, 'after_id=0&order=desc'), 400, 'after_id')
    expectError(await list(history.local, history.id, 'before_id=0'), 400, 'before_id')
  })

  test('before_id and after_id exclude each other', async () => {
    const answer = resultOf(
      await list(history.local, history.id, `before_id=${history.ids[8]}&after_id=${history.ids[1]}`),
    )
    expect(answer).toEqual(errorOf(400, 'before_id'))
    expect(answer).toEqual(errorOf(400, 'after_id'))
  })
})
