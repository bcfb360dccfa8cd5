import { once } from 'node:events'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { call, type Person, signUp } from '../tools/people.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')

/** A connection without a library, and what comes through it. */
const open = async (origin = stack.origin, key = stack.publishableKey) => {
  const socket = new ws(`${origin.replace('http', 'ws')}/realtime/v1/websocket?apikey=${key}&vsn=2.0.0`)
  onTestFinished(() => socket.terminate())
  const heard: unknown[][] = []
  socket.on('message', (data, isBinary) => !isBinary && heard.push(JSON.parse(data.toString())))
  const closed = once(socket, 'close') as Promise<[number, Buffer]>
  await once(socket, 'open')
  const say = (...frame: unknown[]) => socket.send(JSON.stringify(frame))
  const join = (topic: string, token?: string, ref = '1') =>
    say(ref, ref, `realtime:${topic}`, 'phx_join', { config: { private: true }, access_token: token })
  return { socket, heard, closed, say, join }
}

const heartbeat = [null, '9', 'phoenix', 'phx_reply', { status: 'ok', response: {} }]

test('nonsense is passed over, and the connection goes on', async () => {
  const { socket, heard, say } = await open()
  for (const nonsense of ['', '{', 'null', '[]', '["1","1"]', '{"topic":7}', '[null,null,"realtime:a","phx_join",7]']) {
    socket.send(nonsense)
  }
  for (const hex of ['', '03', '03ffffffffffff', '040101000161', '0300000101000161657b']) {
    socket.send(Buffer.from(hex, 'hex'))
  }
  say(null, '9', 'phoenix', 'heartbeat', {})
  await eventually(() => heard.length >= 2)
  expect(heard).toContainEqual(heartbeat)
  // A join with nothing in it asks for a public channel.
  expect(JSON.stringify(heard)).toContain('PrivateOnly')
})

test('a topic that nobody joined takes nothing, and leaving it is no error', async () => {
  const { heard, say } = await open()
  say('1', '2', 'realtime:a', 'access_token', { access_token: 'x' })
  say('1', '3', 'realtime:a', 'phx_leave', {})
  say('1', '4', 'room', 'phx_join', {})
  say('1', '5', 'realtime:', 'phx_join', { config: { private: true } })
  await eventually(() => heard.length >= 4)
  const replies = new Map(heard.map(([, ref, , , payload]) => [ref, payload]))
  expect(replies.get('2')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
  expect(replies.get('3')).toEqual({ status: 'ok', response: {} })
  expect(replies.get('4')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
  expect(replies.get('5')).toEqual({
    status: 'error',
    response: { reason: 'TopicNameRequired: You must provide a topic name' },
  })
})

test('joining a topic again ends the first time there', async () => {
  const ana = await signUp('Ana')
  const { heard, join } = await open()
  join(`user:${ana.id}`, ana.token, '1')
  join(`user:${ana.id}`, ana.token, '2')
  await eventually(() => heard.length >= 3)
  const topic = `realtime:user:${ana.id}`
  const joined = { status: 'ok', response: { postgres_changes: [] } }
  expect(heard).toEqual([
    ['1', '1', topic, 'phx_reply', joined],
    ['1', '1', topic, 'phx_close', {}],
    ['2', '2', topic, 'phx_reply', joined],
  ])
})

test('one connection has a hundred channels and no more', async () => {
  const { heard, join } = await open(stack.origin, stack.secretKey)
  for (let n = 0; n < 101; n++) join(`${n}`, undefined, `${n}`)
  const replies = () => heard.filter(([, , , event]) => event === 'phx_reply').map(([, , , , payload]) => payload)
  await eventually(() => replies().length >= 101, 30)
  expect(replies().filter((reply) => (reply as { status: string }).status === 'ok')).toHaveLength(100)
  expect(replies()).toContainEqual({
    status: 'error',
    response: { reason: 'ChannelRateLimitReached: Too many channels' },
  })
})

test('a frame over 3 MB ends the connection, and the service goes on', async () => {
  const { socket, closed } = await open()
  socket.send('x'.repeat(3_100_000))
  expect((await closed)[0]).toBe(1009)
  expect((await call('GET', '/health')).status).toBe(200)
})

test('whoever joins hundreds of topics at once does not hold up everybody else', async () => {
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open()))
  const joins = 90
  for (const { join } of sockets) {
    for (let topic = 0; topic < joins; topic++) join(`typing:${topic}`, stack.publishableKey)
  }
  const answered = () => sockets.reduce((sum, { heard }) => sum + heard.length, 0)
  await eventually(() => answered() > 0)
  expect((await call('GET', '/users/interests')).status).toBe(200)
  expect(answered()).toBeLessThan(sockets.length * joins / 2)
  await eventually(() => answered() === sockets.length * joins)
  expect(answered()).toBe(sockets.length * joins)
})

test('somebody who does not read what they are sent is hung up on', async () => {
  const ana = await signUp('Ana')
  const { socket, heard, closed, join } = await open()
  join(`user:${ana.id}`, ana.token)
  await eventually(() => heard.length > 0)
  socket.pause()
  const message = { topic: `user:${ana.id}`, event: 'x', payload: { text: 'x'.repeat(2_000_000) }, private: true }
  for (let n = 0; n < 20; n++) {
    const headers = { apikey: stack.secretKey }
    expect(
      (await call('POST', `${stack.origin}/realtime/v1/api/broadcast`, { messages: [message] }, { headers })).status,
    )
      .toBe(202)
  }
  await pause(100)
  socket.resume()
  const [code] = await closed
  expect(code).toBe(1013)
})

test('what is no WebSocket, and who has no key, is told so', async () => {
  const address = `${stack.origin}/realtime/v1/websocket`
  expect((await fetch(`${address}?apikey=${stack.publishableKey}`)).status).toBe(426)
  const socket = new ws(`${address.replace('http', 'ws')}?vsn=2.0.0`)
  socket.on('error', () => {})
  const [, answer] = await once(socket, 'unexpected-response')
  expect(answer.statusCode).toBe(401)
  expect(JSON.parse((await answer.toArray()).join(''))).toEqual({ error: 'The token provided is not a valid JWT' })
})

test('a server that stops says goodbye and does not wait', async () => {
  const { base, process } = await startStack()
  const { closed } = await open(new URL(base).origin)
  const before = Date.now()
  await stopStack(process)
  expect(Date.now() - before).toBeLessThan(4000)
  expect((await closed)[0]).toBe(1001)
  expect(process.exitCode).toBe(0)
})

describe('rows', () => {
  const asked = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      event: 'INSERT',
      schema: 'public',
      table: 'messages',
      filter: `id=eq.${index}`,
    }))
  /** A connection of a person, that asks to follow rows in so many ways at a time. */
  const openFor = async (person: Person) => {
    const { heard, say } = await open()
    let joins = 0
    const follow = async (count: number): Promise<unknown> => {
      const ref = String(++joins)
      const config = { private: true, postgres_changes: asked(count) }
      say(ref, ref, `realtime:user:${person.id}`, 'phx_join', { config, access_token: person.token })
      const about = (event: string) => heard.find(([join, , , what]) => join === ref && what === event)?.[4]
      await eventually(() => about('phx_reply') !== undefined, 30)
      if ((about('phx_reply') as { status: string }).status === 'error') return about('phx_reply')
      await eventually(() => about('system') !== undefined, 30)
      return about('system')
    }
    return follow
  }
  const followed = expect.objectContaining({ status: 'ok', message: 'Subscribed to PostgreSQL' })
  const refused = (reason: string) => ({ status: 'error', response: { reason: `TooManyPostgresChanges: ${reason}` } })

  test('are followed in up to 100 ways by a join; one that asks for more is refused before anybody has to wait', async () => {
    const follow = await openFor(await signUp('Ana'))
    const began = Date.now()
    const refusals = Promise.all([follow(20_000), follow(101)])
    expect((await call('GET', '/users/interests')).status).toBe(200)
    const refusal = refused('A join may name at most 100 postgres_changes')
    expect(await refusals).toEqual([refusal, refusal])
    expect(Date.now() - began).toBeLessThan(20_000)
    expect(await follow(100)).toEqual(followed)
  })

  test('are followed in up to 300 ways by one person, however many joins they spread them over', async () => {
    const ana = await signUp('Ana')
    const tabs = [await openFor(ana), await openFor(ana), await openFor(ana)]
    for (const follow of tabs) expect(await follow(100)).toEqual(followed)
    const another = await openFor(ana)
    expect(await another(1)).toEqual(refused('Nobody may name more than 300 postgres_changes'))
    // Somebody else may, and so may who let go of some.
    expect(await (await openFor(await signUp('Ben')))(1)).toEqual(followed)
    expect(await tabs[0]!(1)).toEqual(followed)
    expect(await another(1)).toEqual(followed)
  })
})
