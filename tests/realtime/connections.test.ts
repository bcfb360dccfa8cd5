// What clients of our own Realtime may do to it: frames, limits, loads.
import { once } from 'node:events'
import { expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { call, openPair, type Person, signUp } from '../tools/people.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { until } from '../tools/wait.ts'

const stack = inject('stack')
const path = '/realtime/v1/websocket'

/** A plain WebSocket and the frames that it receives. */
const open = async (origin = stack.origin, key = stack.publishableKey) => {
  const socket = new ws(`${origin.replace('http', 'ws')}${path}?apikey=${key}&vsn=2.0.0`)
  onTestFinished(() => socket.terminate())
  // deno-lint-ignore no-explicit-any
  const frames: any[][] = []
  socket.on('message', (data, isBinary) => !isBinary && frames.push(JSON.parse(data.toString())))
  const closed = once(socket, 'close') as Promise<[number, Buffer]>
  await once(socket, 'open')
  const send = (...frame: unknown[]) => socket.send(JSON.stringify(frame))
  const join = (topic: string, token?: string, ref = '1', config = {}) =>
    send(ref, ref, `realtime:${topic}`, 'phx_join', { config: { private: true, ...config }, access_token: token })
  /** The payloads of the replies, by the reference of what is answered. */
  const replies = () =>
    new Map(frames.filter(([, , , event]) => event === 'phx_reply').map(([, ref, , , payload]) => [ref, payload]))
  return { socket, frames, closed, send, join, replies }
}
const error = (reason: string) => ({ status: 'error', response: { reason } })
const answersOthers = async () => expect((await call('GET', '/users/interests')).status).toBe(200)

test('malformed frames are ignored, those of a topic that was not joined refused, except phx_leave', async () => {
  const { socket, send, frames, replies } = await open()
  for (const frame of ['', '{', '["1","1"]', Buffer.from('03ffffffffffff', 'hex')]) socket.send(frame)
  send(null, null, 'realtime:a', 'phx_join', 7)
  send('1', '2', 'realtime:a', 'access_token', { access_token: 'x' })
  send('1', '3', 'realtime:a', 'phx_leave', {})
  send('1', '4', 'room', 'phx_join', {})
  send('1', '5', 'realtime:', 'phx_join', { config: { private: true } })
  send(null, '9', 'phoenix', 'heartbeat', {})
  await until(() => frames.length >= 6)
  expect(Object.fromEntries(replies())).toEqual({
    // A join without a config asks for a public channel.
    null: error('PrivateOnly: This project only allows private channels'),
    2: error('unmatched topic'),
    3: { status: 'ok', response: {} },
    4: error('unmatched topic'),
    5: error('TopicNameRequired: You must provide a topic name'),
    9: { status: 'ok', response: {} },
  })
})

test('joining a topic again closes the earlier channel', async () => {
  const { id, token } = await signUp('Ana')
  const { frames, join } = await open()
  for (const ref of ['1', '2']) join(`user:${id}`, token, ref)
  await until(() => frames.length >= 3)
  const topic = `realtime:user:${id}`
  const joined = { status: 'ok', response: { postgres_changes: [] } }
  expect(frames).toEqual([
    ['1', '1', topic, 'phx_reply', joined],
    ['2', '2', topic, 'phx_reply', joined],
    ['1', '1', topic, 'phx_close', {}],
  ])
})

test('a connection can have a hundred channels and no more', async () => {
  const { join, replies } = await open(stack.origin, stack.secretKey)
  for (let n = 0; n < 101; n++) join(`${n}`, undefined, `${n}`)
  await until(() => replies().size === 101)
  expect([...replies().values()].filter(({ status }) => status === 'ok')).toHaveLength(100)
  expect([...replies().values()]).toContainEqual(error('ChannelRateLimitReached: Too many channels'))
})

test('no WebSocket gets 426, one without a key 401, and a frame over 3 MB ends its connection', async () => {
  expect((await fetch(`${stack.origin}${path}?apikey=${stack.publishableKey}`)).status).toBe(426)
  const socket = new ws(`${stack.origin.replace('http', 'ws')}${path}?vsn=2.0.0`)
  socket.on('error', () => {})
  const [, answer] = await once(socket, 'unexpected-response')
  expect(answer.statusCode).toBe(401)
  expect(JSON.parse((await answer.toArray()).join(''))).toEqual({ error: 'The token provided is not a valid JWT' })
  const { socket: large, closed } = await open()
  large.send('x'.repeat(3_100_000))
  expect((await closed)[0]).toBe(1009)
  await answersOthers()
})

// Of the joins that wait only a few are answered before another request is.
test.each([
  ['of a user on two connections', 2, 90, () => signUp('Ana').then(({ token }) => token)],
  ['of a user on two hundred connections', 200, 1, () => signUp('Ana').then(({ token }) => token)],
  ['of the anonymous on eighty connections', 80, 3, () => Promise.resolve(stack.publishableKey)],
])('two hundred joins %s let other requests through', async (_, connections, joins, getToken) => {
  const [token, ben] = [await getToken(), await signUp('Ben')]
  const sockets = await Promise.all(Array.from({ length: connections }, () => open()))
  const answered = () => sockets.reduce((sum, { frames }) => sum + frames.length, 0)
  for (const { join } of sockets) for (let topic = 0; topic < joins; topic++) join(`typing:${topic}`, token, `${topic}`)
  let answeredMeanwhile = 0
  while (answered() < connections * joins) {
    const before = answered()
    expect((await ben.call('GET', '/users/me')).status).toBe(200)
    answeredMeanwhile = Math.max(answeredMeanwhile, answered() - before)
  }
  expect(answeredMeanwhile).toBeLessThan(50)
})

test('a client that does not read is disconnected', async () => {
  const { ana, ben, conversation } = await openPair()
  const topic = `typing:${conversation}`
  const [{ socket, frames, closed, join }, sender] = await Promise.all([open(), open()])
  join(topic, ana.token)
  sender.join(topic, ben.token, '1', { broadcast: { ack: true } })
  await until(() => frames.length > 0 && sender.frames.length > 0)
  socket.pause()
  for (let n = 0; n < 20; n++) {
    sender.send('1', `sent ${n}`, `realtime:${topic}`, 'broadcast', { event: 'x', payload: 'x'.repeat(2_000_000) })
    await until(() => sender.replies().has(`sent ${n}`))
  }
  socket.resume()
  expect((await closed)[0]).toBe(1013)
})

test('a server that stops closes the connections and does not wait for them', async () => {
  const { base, process } = await startStack()
  const { closed } = await open(new URL(base).origin)
  const before = Date.now()
  await stopStack(process)
  // It waits for requests for 4 s; without any it takes 0.3.
  expect(Date.now() - before).toBeLessThan(3500)
  expect([(await closed)[0], process.exitCode]).toEqual([1001, 0])
})

test('a user can have 100 postgres_changes a join and 300 in all, over any number of connections', async () => {
  const openFor = async ({ id, token }: Person) => {
    const { socket, frames, join, replies } = await open()
    let joins = 0
    return async (count: number, isCut = false): Promise<unknown> => {
      const ref = `${++joins}`
      const postgres_changes = Array.from({ length: count }, (_, index) => ({
        ...{ event: 'INSERT', schema: 'public', table: 'messages' },
        filter: `id=eq.${index}`,
      }))
      join(`user:${id}`, token, ref, { postgres_changes })
      await until(() => replies().has(ref))
      if (replies().get(ref).status === 'error') return replies().get(ref)
      if (isCut) return socket.terminate()
      const system = () => frames.find(([one, , , event]) => one === ref && event === 'system')?.[4]
      await until(() => system() !== undefined)
      return system()
    }
  }
  const subscribed = expect.objectContaining({ status: 'ok', message: 'Subscribed to PostgreSQL' })
  const ana = await signUp('Ana')
  const [first, second, third, another] = await Promise.all([ana, ana, ana, ana].map(openFor))
  const refused = Promise.all([first!(20_000), first!(101)])
  await answersOthers()
  expect(await refused).toEqual([error('join crashed'), error('join crashed')])
  // Whoever leaves while the database still looks at them has none.
  for (const subscribe of await Promise.all([ana, ana, ana].map(openFor))) await subscribe(100, true)
  await until(async () => (await first!(1) as { status: string }).status === 'ok')
  for (const subscribe of [first!, second!, third!]) expect(await subscribe(100)).toEqual(subscribed)
  expect(await another!(1)).toEqual(error('TooManyPostgresChanges: A user may have at most 300 postgres_changes'))
  // Another user can, and so can this one after a channel has fewer.
  expect(await (await openFor(await signUp('Ben')))(1)).toEqual(subscribed)
  for (const subscribe of [first!, another!]) expect(await subscribe(1)).toEqual(subscribed)
})
