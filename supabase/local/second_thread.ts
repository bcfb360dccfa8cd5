/// <reference lib="deno.worker" />
// A worker of main.ts, for what must go on while a statement of PGlite keeps the main thread, and for what would keep
// it from everybody: bcrypt takes a tenth of a second for each password.
import bcrypt from 'bcryptjs'

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // One second more than the main thread takes at most (main.ts). The next start replays the WAL.
  Deno.addSignalListener(signal, () => void setTimeout(() => Deno.kill(Deno.pid, 'SIGKILL'), 6000))
}

export interface Task {
  id: number
  /** The arguments of bcrypt.hash or bcrypt.compare. */
  call: ['hash', string, number] | ['compare', string, string]
}

self.onmessage = ({ data: { id, call } }: MessageEvent<Task>) => {
  try {
    const result = call[0] === 'hash' ? bcrypt.hashSync(call[1], call[2]) : bcrypt.compareSync(call[1], call[2])
    self.postMessage({ id, result })
  } catch (error) {
    self.postMessage({ id, error })
  }
}
