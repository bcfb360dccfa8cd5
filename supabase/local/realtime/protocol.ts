/** The frames that clients and Realtime exchange: Phoenix' in two versions, and two binary ones for broadcasts. */
export type Version = '1.0.0' | '2.0.0'

export interface Frame {
  joinRef: string | null
  ref: string | null
  topic: string
  event: string
  payload: Record<string, unknown>
}

/** Something broadcast: its payload is JSON as text, never parsed on its way, or bytes. */
export interface Announcement {
  event: string
  payload: string | Uint8Array
  meta?: Record<string, unknown>
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isRef = (value: unknown): value is string | null => value === null || typeof value === 'string'

const kinds = { push: 3, broadcast: 4 }
const encodings = { bytes: 0, json: 1 }
const longest = 255

/** Kind 3: u8 kind, joinRef, ref, topic, event and meta lengths, encoding; then those five, then the payload. */
const decodePush = (bytes: Uint8Array): Frame | null => {
  if (bytes[0] !== kinds.push || bytes.length < 7) return null
  const text = new TextDecoder('utf-8', { fatal: true })
  let offset = 7
  const parts = [...bytes.subarray(1, 6)].map((length) => text.decode(bytes.subarray(offset, offset += length)))
  if (offset > bytes.length) return null
  const [joinRef, ref, topic, event] = parts as [string, string, string, string, string]
  const rest = bytes.slice(offset)
  const payload = bytes[6] === encodings.json ? text.decode(rest) : rest
  if (typeof payload === 'string') JSON.parse(payload)
  const announcement: Announcement = { event, payload }
  return { joinRef: joinRef || null, ref: ref || null, topic, event: 'broadcast', payload: { announcement } }
}

const decodeText = (data: string): Frame | null => {
  const said: unknown = JSON.parse(data)
  const [joinRef = null, ref = null, topic, event, payload] = Array.isArray(said)
    ? said as unknown[]
    : isRecord(said)
    ? [said.join_ref, said.ref, said.topic, said.event, said.payload]
    : []
  if (typeof topic !== 'string' || typeof event !== 'string' || !isRef(joinRef) || !isRef(ref)) return null
  const body = isRecord(payload) ? payload : {}
  if (event !== 'broadcast') return { joinRef, ref, topic, event, payload: body }
  if (typeof body.event !== 'string') return null
  const announcement: Announcement = { event: body.event, payload: JSON.stringify(body.payload ?? {}) }
  return { joinRef, ref, topic, event, payload: { announcement } }
}

/** What a client sent, or null where it is no frame. A broadcast's payload is `{announcement}`, whichever kind of frame it came in. */
export const decode = (data: string | ArrayBuffer): Frame | null => {
  try {
    return typeof data === 'string' ? decodeText(data) : decodePush(new Uint8Array(data))
  } catch {
    return null
  }
}

const text = (version: Version, { joinRef, ref, topic, event }: Omit<Frame, 'payload'>, payload: string): string => {
  const [join, own, name, what] = [joinRef, ref, topic, event].map((part) => JSON.stringify(part))
  return version === '1.0.0'
    ? `{"join_ref":${join},"ref":${own},"topic":${name},"event":${what},"payload":${payload}}`
    : `[${join},${own},${name},${what},${payload}]`
}

export const encode = (version: Version, frame: Frame): string => text(version, frame, JSON.stringify(frame.payload))

/** Kind 4: u8 kind, topic, event and meta lengths, encoding; then those three, then the payload. Null where the version has no way to say it. */
export const encodeAnnouncement = (
  version: Version,
  topic: string,
  { event, payload, meta }: Announcement,
): string | Uint8Array<ArrayBuffer> | null => {
  const utf8 = new TextEncoder()
  const parts = [topic, event, meta ? JSON.stringify(meta) : ''].map((part) => utf8.encode(part))
  if (version === '1.0.0' || parts.some(({ length }) => length > longest)) {
    if (typeof payload !== 'string') return null
    const body = `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${payload}${
      meta ? `,"meta":${JSON.stringify(meta)}` : ''
    }}`
    return text(version, { joinRef: null, ref: null, topic, event: 'broadcast' }, body)
  }
  const body = typeof payload === 'string' ? utf8.encode(payload) : payload
  const encoding = typeof payload === 'string' ? encodings.json : encodings.bytes
  const header = [kinds.broadcast, ...parts.map(({ length }) => length), encoding]
  const frame = new Uint8Array(parts.reduce((sum, { length }) => sum + length, header.length + body.length))
  let offset = 0
  for (const part of [header, ...parts, body]) {
    frame.set(part, offset)
    offset += part.length
  }
  return frame
}
