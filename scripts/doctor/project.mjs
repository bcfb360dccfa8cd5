/** The project to check: its origin, its keys, and how to send requests to it. */
import { SignJWT, UnsecuredJWT } from 'jose'
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

// The secret in the documentation of self-hosted Supabase, which projects have been run with.
const knownSecret = new TextEncoder().encode('super-secret-jwt-token-with-at-least-32-characters-long')

/** Tokens of a role that no project may accept. */
export const forgedTokens = async (role) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = { aud: role, role, sub: '00000000-0000-4000-8000-000000000001', iat: now - 10, exp: now + 3600 }
  const signed = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(knownSecret)
  return [['an unsigned token', new UnsecuredJWT(claims).encode()], ['a token signed with a published secret', signed]]
}
