import { beforeAll, describe, expect, test } from 'vitest'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { expectError, idsOf, isoTimestamp, nextPath, resultOf } from '../tools/responses.ts'

const later = '2036-05-14T16:00:00.000Z'
const initial = { archived: false, muted_until: null, pinned: false }

const arrange = (who: Person, id: number | string, changes: unknown) =>
  who.call('PUT', `/conversations/${id}/state`, changes)
const statesOf = async (who: Person, query = '') => {
  const { status, body } = await who.call('GET', `/conversations/states${query}`)
  expect(status).toBe(200)
  return body
}
const list = async (who: Person, query: string): Promise<number[]> => {
  const { status, body } = await who.call('GET', `/conversations${query}`)
  expect(status).toBe(200)
  return idsOf(body)
}

/** A host with this many conversations, the latest activity first; one of an admin's requests each. */
const hostWith = async (count: number): Promise<{ host: Person; conversations: number[] }> => {
  const host = await signUp('Host')
  const guests = await asAdmin(
    'POST',
    'users',
    Array.from({ length: count }, (_, index) => ({ name: `Guest ${index}`, email: '' })),
  )
  const opened = await asAdmin(
    'POST',
    'conversations',
    guests.body.map(({ id }: { id: number }, index: number) => ({
      ...(index % 2 ? { voyager_id: id, local_id: host.id } : { voyager_id: host.id, local_id: id }),
      created_at: new Date(Date.now() - index * 60_000).toISOString(),
    })),
  )
  expect(opened.status).toBe(201)
  return { host, conversations: idsOf(opened.body) }
}

describe('PUT /conversations/:id/state', () => {
  let ana: Person, ben: Person, mallory: Person
  let id: number
  beforeAll(async () => {
    ;[ana, ben, mallory] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Mallory')])
    id = await openConversation(ana, ben)
  })

  test('{} answers with the default, which GET /conversations/states leaves out', async () => {
    const answer = await arrange(ana, id, {})
    expect(resultOf(answer)).toEqual({ status: 200, body: { conversation_id: id, ...initial } })
    expect(await statesOf(ana)).toEqual([])
  })

  test('what is absent stays unchanged, null ends the mute', async () => {
    const steps: [object, object][] = [
      [{ pinned: true }, { pinned: true }],
      [{ muted_until: '2036-05-14T18:00:00+02:00' }, { pinned: true, muted_until: later }],
      [{ archived: true }, { archived: true, pinned: true, muted_until: later }],
      [{ archived: false, pinned: false }, { muted_until: later }],
      [{ muted_until: null }, {}],
    ]
    for (const [changes, expected] of steps) {
      const state = { conversation_id: id, ...initial, ...expected }
      expect(resultOf(await arrange(ana, id, changes))).toEqual({ status: 200, body: state })
      expect(await statesOf(ana)).toEqual(Object.keys(expected).length ? [state] : [])
    }
  })

  test.each([
    ['archived', { archived: 'yes' }],
    ['archived', { archived: null }],
    ['pinned', { pinned: 1 }],
    ['muted_until', { muted_until: 'tomorrow' }],
    ['muted_until', { muted_until: '2036-05-14' }],
    ['muted_until', { muted_until: '2036-05-14T16:00:00' }],
    ['muted_until', { muted_until: '+012036-05-14T16:00:00Z' }],
    ['muted_until', { muted_until: '2020-01-01T00:00:00Z', pinned: true }],
    ['muted: is not known; did you mean muted_until', { muted: true, pinned: true }],
    ['A key of the body', { 'mu\nted': true }],
  ])('a bad %s is refused, and nothing changes: %j', async (field, changes) => {
    expectError(await arrange(ana, id, changes), 400, field)
    expect(await statesOf(ana)).toEqual([])
  })

  test('nobody else can, nor see the state', async () => {
    await arrange(ana, id, { archived: true, pinned: true, muted_until: later })
    const refused = await arrange(mallory, id, { pinned: true })
    expectError(refused, 404)
    expect((await arrange(mallory, 999_999_999, { pinned: true })).body).toEqual(refused.body)
    expect(await statesOf(mallory)).toEqual([])
  })

  test('the partner never learns', async () => {
    const views = async () => [
      await statesOf(ben),
      (await ben.call('GET', '/conversations')).body,
      (await ben.call('GET', `/conversations/${id}`)).body,
      (await ben.call('GET', '/users/me/export')).body.conversations,
    ]
    await arrange(ana, id, { archived: false, pinned: false, muted_until: null })
    const before = await views()
    await arrange(ana, id, { archived: true, pinned: true, muted_until: later })
    expect(await views()).toEqual(before)
  })

  test('the export has the state', async () => {
    const { body } = await ana.call('GET', '/users/me/export')
    expect(body.conversations[0].state).toEqual({ archived: true, muted_until: later, pinned: true })
  })

  test('erasing forgets it', async () => {
    const [cleo, dan] = await Promise.all([signUp('Cleo'), signUp('Dan')])
    const talk = await openConversation(cleo, dan)
    await arrange(cleo, talk, { archived: true, pinned: true, muted_until: later })
    await arrange(dan, talk, { archived: true })
    expect((await cleo.call('DELETE', '/users/me')).status).toBe(204)
    expect(await list(dan, '?archived=true')).toEqual([talk])
  })
})

describe('an archived conversation', () => {
  test('comes back with the next message, on both sides of it', async () => {
    const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
    const id = await openConversation(ana, ben)
    for (const [sender, recipient] of [[ana, ben], [ben, ana]] as const) {
      for (const who of [ana, ben]) await arrange(who, id, { archived: true })
      expect(await list(recipient, '?archived=false')).toEqual([])
      await sendMessage(sender, id, 'Hello')
      for (const who of [ana, ben]) {
        expect(await list(who, '?archived=false')).toEqual([id])
        expect(await list(who, '?archived=true')).toEqual([])
        expect(await statesOf(who)).toEqual([])
      }
    }
  })

  test('stays archived when its messages are read', async () => {
    const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
    const id = await openConversation(ana, ben)
    const message = await sendMessage(ana, id, 'Hello')
    await arrange(ben, id, { archived: true, muted_until: later })
    expect((await ben.call('GET', '/conversations/unread')).body).toEqual({
      total: 1,
      conversations: [{ conversation_id: id, unread: 1 }],
    })
    await ben.call('POST', `/conversations/${id}/read`, { up_to_message_id: message.id })
    expect((await ben.call('GET', '/conversations/unread')).body.total).toBe(0)
    expect(await list(ben, '?archived=true')).toEqual([id])
  })

  test('is archived or not, whichever of archiving and a message came first', async () => {
    const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
    const id = await openConversation(ana, ben)
    for (let round = 0; round < 10; round++) {
      const [answer] = await Promise.all([arrange(ana, id, { archived: true }), sendMessage(ben, id, `${round}`)])
      expect(answer.status).toBe(200)
      // A message that came later shows the conversation, and none that came earlier hides it again.
      const isArchived = (await list(ana, '?archived=true')).includes(id)
      expect(await list(ana, '?archived=false')).toEqual(isArchived ? [] : [id])
      await sendMessage(ben, id, 'Later')
      expect(await list(ana, '?archived=false')).toEqual([id])
    }
  })
})

describe('the list with filters', () => {
  let host: Person
  let all: number[]
  const archived = new Set<number>()
  const pinned = new Set<number>()
  beforeAll(async () => {
    const made = await hostWith(30)
    host = made.host
    all = made.conversations
    for (const [index, id] of all.entries()) {
      const state = { archived: index % 3 === 0, pinned: index % 4 === 2 }
      if (state.archived) archived.add(id)
      if (state.pinned) pinned.add(id)
      await arrange(host, id, state)
    }
  })
  const wanted: Record<string, (id: number) => boolean> = {
    '': () => true,
    'archived=all&': () => true,
    'archived=true&': (id) => archived.has(id),
    'archived=false&': (id) => !archived.has(id),
  }

  test.each(Object.keys(wanted))('?%s is the whole list or that part of it, in its order', async (query) => {
    expect(await list(host, `?${query}`)).toEqual(all.filter(wanted[query]!))
  })

  test.each(Object.keys(wanted))('?%spinned=first moves the pinned ones to the front', async (query) => {
    const part = all.filter(wanted[query]!)
    const expected = [...part.filter((id) => pinned.has(id)), ...part.filter((id) => !pinned.has(id))]
    expect(await list(host, `?${query}pinned=first`)).toEqual(expected)
    for (const limit of [1, 4, 7, 50]) {
      const pages: number[] = []
      for (let offset = 0; offset < expected.length; offset += limit) {
        pages.push(...await list(host, `?${query}pinned=first&limit=${limit}&offset=${offset}`))
      }
      expect(pages).toEqual(expected)
    }
    expect(await list(host, `?${query}pinned=first&limit=5&offset=1000`)).toEqual([])
  })

  test.each(['archived=maybe', 'archived=1', 'pinned=last', 'pinned=true', 'archived=true&archived=false'])(
    '?%s is refused',
    async (query) => {
      expectError(await host.call('GET', `/conversations?${query}`), 400, query.split('=')[0])
    },
  )

  test('states are listed by descending id, and page with before_id', async () => {
    const states = await statesOf(host)
    const expected = all.filter((id) => archived.has(id) || pinned.has(id)).sort((one, other) => other - one)
    expect(states.map(({ conversation_id }: { conversation_id: number }) => conversation_id)).toEqual(expected)
    const paged: unknown[] = []
    let path: string | undefined = '/conversations/states?limit=7'
    while (path) {
      const { body, headers } = await host.call('GET', path)
      expect(body.length).toBeLessThanOrEqual(7)
      paged.push(...body)
      path = nextPath(path, { headers })
    }
    expect(paged).toEqual(states)
  })
})

test('of 24 pins at once, 20 succeed', async () => {
  const { host, conversations } = await hostWith(24)
  const answers = await Promise.all(conversations.map((id) => arrange(host, id, { pinned: true })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  for (const answer of answers.filter(({ status }) => status !== 200)) expectError(answer, 400, 'pinned')
  const states = await statesOf(host)
  expect(states).toHaveLength(20)
  // A repeat is no 21st; another one is, until one is let go.
  const [first] = states
  expect((await arrange(host, first.conversation_id, { pinned: true })).status).toBe(200)
  const refused = conversations.find((id) => !states.some((state: typeof first) => state.conversation_id === id))!
  expectError(await arrange(host, refused, { pinned: true }), 400, 'pinned')
  await arrange(host, first.conversation_id, { pinned: false })
  expect((await arrange(host, refused, { pinned: true })).status).toBe(200)
})

test('an admin who deletes the latest message or corrects it changes the list', async () => {
  const { host, conversations: [first, second] } = await hostWith(2) as {
    host: Person
    conversations: [number, number]
  }
  await sendMessage(host, second, 'One')
  const latest = await sendMessage(host, second, 'Two')
  expect(await list(host, '')).toEqual([second, first])
  await asAdmin('PATCH', `messages?id=eq.${latest.id}`, { content: 'Corrected' })
  const entry = async () => (await host.call('GET', '/conversations?limit=1')).body[0]
  expect((await entry()).Messages).toEqual([
    { id: latest.id, content: 'Corrected', user_id: host.id, read: false, createdAt: isoTimestamp },
  ])
  await asAdmin('DELETE', `messages?id=eq.${latest.id}`)
  expect((await entry()).Messages[0].content).toBe('One')
  await asAdmin('DELETE', `messages?conversation_id=eq.${second}`)
  expect(await list(host, '')).toEqual([first, second])
})
