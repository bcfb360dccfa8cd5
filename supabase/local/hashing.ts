import bcrypt from 'bcryptjs'
import { outsideMutex } from './mutex.ts'
import type { Task } from './second_thread.ts'

/**
 * Makes the Auth of @supabase/lite hash passwords in the second thread, and outside the mutex of the database, in the
 * middle of a call: between its statements it has no transaction open. Behind a hundred log-ins at once a read took
 * 27 s where hashing held the mutex, and up to 3 s where it only kept the thread.
 */
export const hashInSecondThread = (): void => {
  const worker = new Worker(new URL('second_thread.ts', import.meta.url), { type: 'module' })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let count = 0
  worker.onmessage = ({ data: { id, result, error } }) => {
    const { resolve, reject } = waiting.get(id)!
    waiting.delete(id)
    if (error) reject(error)
    else resolve(result)
  }
  const run = <Result>(call: Task['call']): Promise<Result> =>
    outsideMutex(() => {
      const answer = Promise.withResolvers<unknown>()
      waiting.set(++count, answer)
      worker.postMessage({ id: count, call } satisfies Task)
      return answer.promise as Promise<Result>
    })
  Object.assign(bcrypt, {
    hash: (password: string, cost: number) => run<string>(['hash', password, cost]),
    compare: (password: string, hash: string) => run<boolean>(['compare', password, hash]),
  })
}
