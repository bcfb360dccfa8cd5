import { once } from 'node:events'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { call, type Person, signUp } from '../tools/people.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')

/** A plain WebSocket and the frames that it receives. */
const open = async (origin = stack.origin, key = stack.publishableKey) => {
  const socket = new ws(`${origin.replace('http', 'ws')}/realtime/v1/websocket?apikey=${key}&vsn=2.0.0`)
  onTestFinished(() => socket.terminate())
  const frames: unknown[][] = []
  socket.on('message', (data, isBinary) => !isBinary && frames.push(JSON.parse(data.toString())))
  const closed = once(socket, 'close') as Promise<[number, Buffer]>
  await once(socket, 'open')
  const send = (...frame: unknown[]) => socket.send(JSON.stringify(frame))
  const join = (topic: string, token?: string, ref = '1') =>
    send(ref, ref, `realtime:${topic}`, 'phx_join', { config: { private: true }, access_token: token })
  return { socket, frames, closed, send, join }
}

const heartbeat = [null, '9', 'phoenix', 'phx_reply', { status: 'ok', response: {} }]

test('malformed frames are ignored, and the connection stays open', async () => {
  const { socket, frames, send } = await open()
  for (const text of ['', '{', 'null', '[]', '["1","1"]', '{"topic":7}', '[null,null,"realtime:a","phx_join",7]']) {
    socket.send(text)
  }
  for (const hex of ['', '03', '03ffffffffffff', '040101000161', '0300000101000161657b']) {
    socket.send(Buffer.from(hex, 'hex'))
  }
  send(null, '9', 'phoenix', 'heartbeat', {})
  await eventually(() => frames.length >= 2)
  expect(frames).toContainEqual(heartbeat)
  // A join without a config asks for a public channel.
  expect(JSON.stringify(frames)).toContain('PrivateOnly')
})

test('frames for a topic that was not joined are an error, except phx_leave', async () => {
  const { frames, send } = await open()
  send('1', '2', 'realtime:a', 'access_token', { access_token: 'x' })
  send('1', '3', 'realtime:a', 'phx_leave', {})
  send('1', '4', 'room', 'phx_join', {})
  send('1', '5', 'realtime:', 'phx_join', { config: { private: true } })
  await eventually(() => frames.length >= 4)
  const replies = new Map(frames.map(([, ref, , , payload]) => [ref, payload]))
  expect(replies.get('2')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
  expect(replies.get('3')).toEqual({ status: 'ok', response: {} })
  expect(replies.get('4')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
  expect(replies.get('5')).toEqual({
    status: 'error',
    response: { reason: 'TopicNameRequired: You must provide a topic name' },
  })
})

test('joining a topic again closes the earlier channel', async () => {
  const ana = await signUp('Ana')
  const { frames, join } = await open()
  join(`user:${ana.id}`, ana.token, '1')
  join(`user:${ana.id}`, ana.token, '2')
  await eventually(() => frames.length >= 3)
  const topic = `realtime:user:${ana.id}`
  const joined = { status: 'ok', response: { postgres_changes: [] } }
  expect(frames).toEqual([
    ['1', '1', topic, 'phx_reply', joined],
    ['2', '2', topic, 'phx_reply', joined],
    ['1', '1', topic, 'phx_close', {}],
  ])
})

test('a connection can have a hundred channels and no more', async () => {
  const { frames, join } = await open(stack.origin, stack.secretKey)
  for (let n = 0; n < 101; n++) join(`${n}`, undefined, `${n}`)
  const replies = () => frames.filter(([, , , event]) => event === 'phx_reply').map(([, , , , payload]) => payload)
  await eventually(() => replies().length >= 101, 30)
  expect(replies().filter((reply) => (reply as { status: string }).status === 'ok')).toHaveLength(100)
  expect(replies()).toContainEqual({
    status: 'error',
    response: { reason: 'ChannelRateLimitReached: Too many channels' },
  })
})

test('a frame over 3 MB closes the connection, and the service stays up', async () => {
  const { socket, closed } = await open()
  socket.send('x'.repeat(3_100_000))
  expect((await closed)[0]).toBe(1009)
  expect((await call('GET', '/health')).status).toBe(200)
})

test('hundreds of joins at once do not block other requests', async () => {
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open()))
  const joins = 90
  for (const { join } of sockets) {
    for (let topic = 0; topic < joins; topic++) join(`typing:${topic}`, stack.publishableKey)
  }
  const answered = () => sockets.reduce((sum, { frames }) => sum + frames.length, 0)
  await eventually(() => answered() > 0)
  expect((await call('GET', '/users/interests')).status).toBe(200)
  expect(answered()).toBeLessThan(sockets.length * joins / 2)
  await eventually(() => answered() === sockets.length * joins)
  expect(answered()).toBe(sockets.length * joins)
})

test('anonymous joins over many connections let other requests through', async () => {
  const sockets = await Promise.all(Array.from({ length: 80 }, () => open()))
  for (const { join } of sockets) {
    for (let topic = 0; topic < 10; topic++) join(`typing:${topic}`, stack.publishableKey)
  }
  const answered = () => sockets.reduce((sum, { frames }) => sum + frames.length, 0)
  await eventually(() => answered() > 0)
  const before = answered()
  expect((await call('GET', '/users/interests')).status).toBe(200)
  // 4 to 7 of the 800; if each connection has a join under way, 170 and more.
  expect(answered() - before).toBeLessThan(sockets.length / 2)
  await eventually(() => answered() === sockets.length * 10, 30)
})

test('a client that does not read is disconnected', async () => {
  const ana = await signUp('Ana')
  const { socket, frames, closed, join } = await open()
  join(`user:${ana.id}`, ana.token)
  await eventually(() => frames.length > 0)
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

test('a request that is not a WebSocket gets 426, and one without a key 401', async () => {
  const address = `${stack.origin}/realtime/v1/websocket`
  expect((await fetch(`${address}?apikey=${stack.publishableKey}`)).status).toBe(426)
  const socket = new ws(`${address.replace('http', 'ws')}?vsn=2.0.0`)
  socket.on('error', () => {})
  const [, answer] = await once(socket, 'unexpected-response')
  expect(answer.statusCode).toBe(401)
  expect(JSON.parse((await answer.toArray()).join(''))).toEqual({ error: 'The token provided is not a valid JWT' })
})

test('a server that stops closes the connections and does not wait', async () => {
  const { base, process } = await startStack()
  const { closed } = await open(new URL(base).origin)
  const before = Date.now()
  await stopStack(process)
  expect(Date.now() - before).toBeLessThan(4000)
  expect((await closed)[0]).toBe(1001)
  expect(process.exitCode).toBe(0)
})

describe('postgres_changes', () => {
  const bindings = (count: number, filter?: string) =>
    Array.from({ length: count }, (_, index) => ({
      event: 'INSERT',
      schema: 'public',
      table: 'messages',
      filter: filter ?? `id=eq.${index}`,
    }))
  /** A connection of a user; the function that it returns joins with so many bindings. */
  const openFor = async (person: Person) => {
    const { frames, send } = await open()
    let joins = 0
    const subscribe = async (count: number, filter?: string): Promise<unknown> => {
      const ref = String(++joins)
      const config = { private: true, postgres_changes: bindings(count, filter) }
      send(ref, ref, `realtime:user:${person.id}`, 'phx_join', { config, access_token: person.token })
      const payloadOf = (event: string) => frames.find(([join, , , what]) => join === ref && what === event)?.[4]
      await eventually(() => payloadOf('phx_reply') !== undefined, 30)
      if ((payloadOf('phx_reply') as { status: string }).status === 'error') return payloadOf('phx_reply')
      await eventually(() => payloadOf('system') !== undefined, 30)
      return payloadOf('system')
    }
    return subscribe
  }
  const subscribed = expect.objectContaining({ status: 'ok', message: 'Subscribed to PostgreSQL' })

  test('a join can have up to 100; one with more is rejected without blocking other requests', async () => {
    const subscribe = await openFor(await signUp('Ana'))
    const began = Date.now()
    const replies = Promise.all([subscribe(20_000), subscribe(101)])
    expect((await call('GET', '/users/interests')).status).toBe(200)
    const rejection = { status: 'error', response: { reason: 'join crashed' } }
    expect(await replies).toEqual([rejection, rejection])
    expect(Date.now() - began).toBeLessThan(20_000)
    expect(await subscribe(100)).toEqual(subscribed)
  })

  test('a hundred with long rows of spaces hold up nobody', async () => {
    const subscribe = await openFor(await signUp('Ana'))
    const began = Date.now()
    expect(await subscribe(100, `id${' '.repeat(16_000)}x`)).toMatchObject({ status: 'error' })
    // 26 s where the pattern of a filter has the spaces.
    expect(Date.now() - began).toBeLessThan(5000)
  })

  test('a user can have up to 300, over any number of joins', async () => {
    const ana = await signUp('Ana')
    const tabs = [await openFor(ana), await openFor(ana), await openFor(ana)]
    for (const subscribe of tabs) expect(await subscribe(100)).toEqual(subscribed)
    const another = await openFor(ana)
    expect(await another(1)).toEqual({
      status: 'error',
      response: { reason: 'TooManyPostgresChanges: A user may have at most 300 postgres_changes' },
    })
    // Another user can, and so can this one after a channel has fewer.
    expect(await (await openFor(await signUp('Ben')))(1)).toEqual(subscribed)
    expect(await tabs[0]!(1)).toEqual(subscribed)
    expect(await another(1)).toEqual(subscribed)
  })
})
