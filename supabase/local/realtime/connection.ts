import type { Connection } from './channel.ts'
import { openChannels } from './channels.ts'
import type { Services } from './join.ts'
import type { Identity } from './identity.ts'
import { decode, encode, type Version } from './protocol.ts'

/** The platform's limit for a payload. */
const maxPayload = 3_000_000
const maxFrame = maxPayload + 4096
// Bytes buffered for a client that does not read.
const maxBuffered = 8_000_000

/** Serves one WebSocket until either side closes it; `close` closes it from here. */
export const openConnection = (
  services: Services,
  socket: WebSocket,
  identity: Identity,
  version: Version,
  onClose: () => void,
): { close: (code: number, reason: string) => void } => {
  const close = (code: number, reason: string): void => {
    channels.leaveAll()
    try {
      socket.close(code, reason)
    } catch {
      // The socket never opened, or is closed already.
    }
  }

  const isOpen = () => socket.readyState === WebSocket.OPEN
  const write = (data: string): void => {
    if (!isOpen()) return
    if (socket.bufferedAmount > maxBuffered) return close(1013, 'Too slow')
    socket.send(data)
  }
  const connection: Connection = { version, identity, write, send: (frame) => write(encode(version, frame)), isOpen }
  const channels = openChannels(services, connection, () => close(1008, 'Too many frames at once'))

  socket.binaryType = 'arraybuffer'
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    const size = typeof data === 'string' ? data.length : data.byteLength
    if (size > maxFrame) return close(1009, 'The frame is over 3 MB')
    const frame = decode(data)
    if (frame) channels.receive(frame)
  }
  socket.onclose = () => {
    channels.leaveAll()
    onClose()
  }
  // A close event follows every error.
  socket.onerror = () => {}
  return { close }
}
