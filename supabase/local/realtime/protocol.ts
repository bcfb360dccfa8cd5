/** The Phoenix protocol in its two JSON versions, and the binary frame of supabase-js for broadcasts of JSON. */
export type Version = '1.0.0' | '2.0.0'

export interface Frame {
  joinRef: string | null
  ref: string | null
  topic: string
  event: string
  payload: Record<string, unknown>
}

/** A broadcast. The payload is JSON that is passed through as text. */
export interface Broadcast {
  event: string
  payload: string
  meta?: Record<string, unknown>
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isRef = (value: unknown): value is string | null => value === null || typeof value === 'string'

const pushKind = 3
const jsonEncoding = 1

/** Kind 3: one byte each for kind, lengths of joinRef, ref, topic, event and meta, encoding; the five; the payload. */
const decodePush = (bytes: Uint8Array): Frame | null => {
  if (bytes[0] !== pushKind || bytes[6] !== jsonEncoding) return null
  const text = new TextDecoder('utf-8', { fatal: true })
  let offset = 7
  const parts = [...bytes.subarray(1, 6)].map((length) => text.decode(bytes.subarray(offset, offset += length)))
  if (offset > bytes.length) return null
  const [joinRef, ref, topic, event] = parts as [string, string, string, string, string]
  const payload = text.decode(bytes.slice(offset))
  JSON.parse(payload)
  const broadcast: Broadcast = { event, payload }
  return { joinRef: joinRef || null, ref: ref || null, topic, event: 'broadcast', payload: { broadcast } }
}

const decodeText = (data: string): Frame | null => {
  const message: unknown = JSON.parse(data)
  const [joinRef = null, ref = null, topic, event, payload] = Array.isArray(message)
    ? message as unknown[]
    : isRecord(message)
    ? [message.join_ref, message.ref, message.topic, message.event, message.payload]
    : []
  if (typeof topic !== 'string' || typeof event !== 'string' || !isRef(joinRef) || !isRef(ref)) return null
  const body = isRecord(payload) ? payload : {}
  if (event !== 'broadcast') return { joinRef, ref, topic, event, payload: body }
  if (typeof body.event !== 'string') return null
  const broadcast: Broadcast = { event: body.event, payload: JSON.stringify(body.payload ?? {}) }
  return { joinRef, ref, topic, event, payload: { broadcast } }
}

/** Decodes a client's frame; null if it is invalid. The payload of a broadcast frame is `{broadcast}`. */
export const decode = (data: string | ArrayBuffer): Frame | null => {
  try {
    return typeof data === 'string' ? decodeText(data) : decodePush(new Uint8Array(data))
  } catch {
    return null
  }
}

const encodeText = (
  version: Version,
  { joinRef, ref, topic, event }: Omit<Frame, 'payload'>,
  payload: string,
): string => {
  const parts = [joinRef, ref, topic, event].map((part) => JSON.stringify(part))
  return version === '1.0.0'
    ? `{"join_ref":${parts[0]},"ref":${parts[1]},"topic":${parts[2]},"event":${parts[3]},"payload":${payload}}`
    : `[${parts.join()},${payload}]`
}

export const encode = (version: Version, frame: Frame): string =>
  encodeText(version, frame, JSON.stringify(frame.payload))

/** A broadcast as text, whose payload is not parsed. Clients of version 2.0.0 take it as well as they take bytes. */
export const encodeBroadcast = (version: Version, topic: string, { event, payload, meta }: Broadcast): string => {
  const more = meta ? `,"meta":${JSON.stringify(meta)}` : ''
  const body = `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${payload}${more}}`
  return encodeText(version, { joinRef: null, ref: null, topic, event: 'broadcast' }, body)
}
