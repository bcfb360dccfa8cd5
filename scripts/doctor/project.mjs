/** The project to check: its origin, its keys, and how to send requests to it. */
import WebSocket from 'ws'

const parseJson = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Redirects are not followed, so that no key reaches another host. `timeout` is in milliseconds. */
export const openProject = ({ url, publishableKey, secretKey, timeout = 10_000 }) => {
  /** `key` is sent as it is. */
  const send = async (path, { method = 'GET', key, token, headers, json } = {}) => {
    const response = await fetch(new URL(path, url), {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
      headers: {
        ...(key && { apikey: key }),
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(json && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: json && JSON.stringify(json),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parseJson(text) }
  }
  return {
    ...{ url, publishableKey, secretKey, timeout, send },
    /** An Edge Function. */
    call: (path, options) => send(`/functions/v1${path}`, options),
    /** The Data API, with the publishable key unless another one is given. */
    query: (path, options) => send(`/rest/v1/${path}`, { key: publishableKey, ...options }),
    isLocal: /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname),
  }
}

/** Joins a channel of Realtime. Returns its reply, and the events that follow. */
export const joinChannel = ({ url, timeout, publishableKey: key }, topic, isPrivate, token = key) =>
  new Promise((resolve, reject) => {
    const endpoint = new URL(`/realtime/v1/websocket?vsn=1.0.0&apikey=${encodeURIComponent(key)}`, url)
    endpoint.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const socket = new WebSocket(endpoint, { handshakeTimeout: timeout })
    socket.on('error', reject)
    setTimeout(() => reject(new Error(`no reply to the join of ${topic}`)), timeout).unref()
    const config = { broadcast: {}, presence: {}, postgres_changes: [], private: isPrivate }
    const frame = { topic: `realtime:${topic}`, event: 'phx_join', ref: '1', join_ref: '1' }
    socket.on('open', () => socket.send(JSON.stringify({ ...frame, payload: { config, access_token: token } })))
    const events = []
    socket.on('message', (data) => {
      const { event, ref, payload } = parseJson(String(data)) ?? {}
      if (event === 'broadcast') events.push(payload)
      if (event !== 'phx_reply' || ref !== '1') return
      const { status, response } = payload
      const text = response?.reason ?? JSON.stringify(response ?? null)
      resolve({ status, text, events, close: () => socket.terminate() })
    })
  })
