import { request } from 'node:http'
import { beforeAll } from 'vitest'
import { claimsOf } from '../tools/jwt.ts'
import { publishableKey } from './keys.ts'
import { useProject } from './project.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}
export const json = { 'Content-Type': 'application/json' }

/** How Storage answers: "can", or the status and the error. */
export const outcome = async (answer: PromiseLike<{ error: unknown }>): Promise<string> => {
  const { error } = await answer
  const { status, statusCode, message } = (error ?? {}) as Record<string, unknown>
  return error ? `${statusCode ?? status} ${message}` : 'can'
}
export const rowPolicy = '403 new row violates row-level security policy'

/** A project with Storage, a conversation of Ana and Ben, and a stranger. */
export const useFiles = () => {
  const { project, call, client, newEmail } = useProject({ storage: true })

  const person = async (name: string) => {
    const { body } = await call('POST', '/auth/signup', { email: newEmail(), password: 'correct horse', name })
    const token: string = body.access_token
    const { storage } = client(token)
    return {
      id: body.user.id as number,
      token,
      account: claimsOf(token).sub as string,
      attachments: storage.from('attachments'),
      avatars: storage.from('avatars'),
    }
  }
  type Person = Awaited<ReturnType<typeof person>>

  const fixture = {} as { ana: Person; ben: Person; stranger: Person; conversation: number }
  /** A conversation in which the second one has written, so that the first may send any number of messages. */
  const talk = async (one: Person, other: Person): Promise<number> => {
    const { body: { id } } = await call('POST', '/conversations', { other_user_id: other.id }, one)
    await call('POST', `/conversations/${id}/messages`, { content: 'Hello' }, other)
    return id
  }
  beforeAll(async () => {
    const [ana, ben, stranger] = [await person('Ana'), await person('Ben'), await person('Stranger')]
    Object.assign(fixture, { ana, ben, stranger, conversation: await talk(ana, ben) })
  })

  const newPath = (name = 'file.png', conversation = fixture.conversation) =>
    `${conversation}/${crypto.randomUUID()}/${name}`
  const put = (who: Person, path: string, bytes: Uint8Array | string, contentType?: string) =>
    outcome(who.attachments.upload(path, bytes, { ...(contentType && { contentType }) }))
  const send = (who: Person, attachment: object) =>
    call('POST', `/conversations/${fixture.conversation}/messages`, { content: 'Look', attachment }, who)

  /** Sends the path as it is, which fetch would normalize. */
  const ask = (method: string, path: string, who?: Person, content?: Uint8Array | string, headers = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const all = {
        apikey: publishableKey,
        ...(who && { authorization: `Bearer ${who.token}` }),
        'Content-Length': content ? Buffer.byteLength(content) : 0,
        ...headers,
      }
      const sent = request(project.origin, { method, path: `/storage/v1${path}`, headers: all }, async (answer) => {
        const body = Buffer.concat(await answer.toArray()).toString()
        resolve({ status: answer.statusCode!, headers: answer.headers, body })
      })
      sent.on('error', reject).end(content)
    })
  const upload = (who: Person, path: string, content: Uint8Array, type = 'image/png') =>
    ask('POST', `/object/${path}`, who, content, { 'Content-Type': type })

  return { project, call, client, fixture, person, talk, newPath, put, send, ask, upload }
}
export type Person = ReturnType<typeof useFiles>['fixture']['ana']
