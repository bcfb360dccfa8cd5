import WebSocket from 'ws'
import { fail } from './outcome.mjs'
import { parseJson } from './project.mjs'

/** A connection to Realtime: `join` resolves with the reply, `received` collects the other frames. */
export const openRealtime = ({ url, timeout, publishableKey }, key = publishableKey) =>
  new Promise((resolve, reject) => {
    const endpoint = new URL(`/realtime/v1/websocket?vsn=1.0.0&apikey=${encodeURIComponent(key)}`, url)
    endpoint.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const socket = new WebSocket(endpoint, { handshakeTimeout: timeout })
    const received = []
    const waiting = new Map()
    let count = 0
    const join = (topic, config, token) => {
      const ref = String(++count)
      const payload = {
        config: { broadcast: {}, presence: {}, postgres_changes: [], ...config },
        access_token: token ?? key,
      }
      socket.send(JSON.stringify({ topic: `realtime:${topic}`, event: 'phx_join', ref, join_ref: ref, payload }))
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no reply to the join of ${topic}`)), timeout)
        waiting.set(ref, (reply) => {
          clearTimeout(timer)
          resolve({ status: reply?.status, reason: reply?.response?.reason ?? JSON.stringify(reply?.response ?? null) })
        })
      })
    }
    socket.on('message', (data) => {
      const frame = parseJson(String(data)) ?? {}
      if (frame.event === 'phx_reply') waiting.get(frame.ref)?.(frame.payload)
      else received.push(frame)
    })
    socket.on('open', () => resolve({ join, received, close: () => socket.terminate() }))
    socket.on('error', reject)
  })

const withConnection = async (project, work) => {
  const connection = await openRealtime(project)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

// After a pause Realtime answers some joins with an error of its own until it has connected to the database.
const attempts = 4

/** Joins without a token, and expects a refusal with this code. */
const refused = (topic, config, code) => (project) =>
  withConnection(project, async ({ join }) => {
    for (let attempt = 1;; attempt++) {
      const { status, reason } = await join(topic, config)
      if (status === 'ok') fail(`${topic} can be joined without a token`)
      if (reason.startsWith(code)) return `refused: ${reason}`
      if (attempt === attempts || /^(PrivateOnly|Unauthorized)/.test(reason)) fail(`expected ${code}, got "${reason}"`)
      await new Promise((resolve) => setTimeout(resolve, project.timeout / 5))
    }
  })

const wrongKey = async (project) => {
  let connection
  try {
    connection = await openRealtime(project, 'sb_publishable_doctor')
  } catch (error) {
    const status = /Unexpected server response: (\d+)/.exec(error.message)?.[1]
    if (status === '401' || status === '403') return `refused with ${status}`
    throw error
  }
  try {
    const { status, reason } = await connection.join('user:1', { private: true })
    if (status === 'ok') fail('another key can connect and join')
    return `refused: ${reason}`
  } finally {
    connection.close()
  }
}

const privateChannel = (topic) => refused(topic, { private: true }, 'Unauthorized')
const changes = [{ event: '*', schema: 'public', table: 'messages' }]

export const realtimeChecks = [
  ['realtime key', wrongKey],
  ['realtime public', refused('doctor', { private: false }, 'PrivateOnly')],
  ['realtime changes', refused('doctor', { private: false, postgres_changes: changes }, 'PrivateOnly')],
  ['realtime private changes', refused('doctor', { private: true, postgres_changes: changes }, 'Unauthorized')],
  ...['user:1', 'typing:1', 'conversation:1'].map((topic) => [`realtime ${topic}`, privateChannel(topic)]),
]
