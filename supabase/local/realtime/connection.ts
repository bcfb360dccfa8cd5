import type { Connection, Services } from './channel.ts'
import { openChannels } from './channels.ts'
import type { Identity } from './identity.ts'
import { decode, encode, type Version } from './protocol.ts'

/** The platform's limit for a payload, and some room for what is around it. */
export const largestPayload = 3_000_000
const largestFrame = largestPayload + 4096
// What is kept for somebody who does not read what they are sent.
const largestBacklog = 8_000_000

/** Speaks with one client until either side hangs up. `hangUp` ends it from here. */
export const openConnection = (
  services: Services,
  socket: WebSocket,
  identity: Identity,
  version: Version,
  onEnd: () => void,
): { hangUp: (code: number, reason: string) => void } => {
  const hangUp = (code: number, reason: string): void => {
    channels.leave()
    try {
      socket.close(code, reason)
    } catch {
      // It was never opened, or is closed already.
    }
  }

  const write = (data: string | Uint8Array<ArrayBuffer>): void => {
    if (socket.readyState !== WebSocket.OPEN) return
    if (socket.bufferedAmount > largestBacklog) return hangUp(1013, 'Too slow')
    socket.send(data)
  }

  const connection: Connection = {
    version,
    identity,
    write,
    send: (frame) => write(encode(version, frame)),
    isOpen: () => socket.readyState === WebSocket.OPEN,
  }
  const channels = openChannels(services, connection, () => hangUp(1008, 'Too many frames at once'))

  socket.binaryType = 'arraybuffer'
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    const size = typeof data === 'string' ? data.length : data.byteLength
    if (size > largestFrame) return hangUp(1009, 'The frame is over 3 MB')
    const frame = decode(data)
    if (frame) channels.receive(frame)
  }
  socket.onclose = () => {
    channels.leave()
    onEnd()
  }
  // What went wrong is followed by the end of the connection.
  socket.onerror = () => {}
  return { hangUp }
}
