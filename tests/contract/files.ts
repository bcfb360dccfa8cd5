import { expect, inject } from 'vitest'
import { claimsOf } from '../tools/jwt.ts'
import { openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { rawRequest } from '../tools/raw_request.ts'

import { openClient } from './project.ts'

const { origin, publishableKey, secretKey } = inject('stack')
export const storageUrl = `${origin}/storage/v1`
/** One pixel. */
export const png = Uint8Array.from(Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
))
export const image = { 'Content-Type': 'image/png' }
export const service = openClient(origin, undefined, secretKey).storage
export const anonymous = openClient(origin).storage
export type Bucket = ReturnType<typeof service.from>

export const person = async (name: string) => {
  const one = await signUp(name)
  const { storage } = openClient(origin, one.token)
  const [avatars, attachments] = [storage.from('avatars'), storage.from('attachments')]
  const account = claimsOf(one.token).sub as string
  return { ...one, avatars, attachments, account, newPhoto: () => `${account}/${crypto.randomUUID()}.png` }
}
export type Owner = Awaited<ReturnType<typeof person>>

/** Two people with a conversation, in which the first may write as much as the rate limit allows. */
export const pair = async () => {
  const [ana, ben] = await Promise.all([person('Ana'), person('Ben')])
  const conversation = await openConversation(ana, ben)
  await sendMessage(ben, conversation, 'Hello')
  const newPath = (name = 'file.png') => `${conversation}/${crypto.randomUUID()}/${name}`
  /** Sends a message with this file; `base` is that of a function. */
  const send = (who: Person, file: object | null, more = {}, base = '') => {
    const attachment = file && { name: 'größe.png', mime_type: 'image/png', size: png.length, ...file }
    return who.call('POST', `${base}/conversations/${conversation}/messages`, { content: 'Look', attachment, ...more })
  }
  const uploads = () => Promise.all([ana, ben].map(({ attachments }) => outcome(put(attachments, newPath()))))
  return { ana, ben, conversation, newPath, send, uploads }
}

type Answer = PromiseLike<{ error: unknown }>
/** How Storage answers: "can", or the status and the error. */
export const outcome = async (answer: Answer): Promise<string> => {
  const { error } = await answer
  const { status, statusCode, message } = (error ?? {}) as Record<string, unknown>
  return error ? `${statusCode ?? status} ${message}` : 'can'
}
export const expectOutcome = async (expected: unknown, ...answers: Answer[]) => {
  for (const answer of answers) expect(await outcome(answer)).toEqual(expected)
}
export const can = (...answers: Answer[]) => expectOutcome('can', ...answers)
export const put = (bucket: Bucket, path: string, bytes: Uint8Array | Blob | string = png, contentType = 'image/png') =>
  bucket.upload(path, bytes, { contentType })
export const replace = (bucket: Bucket, path: string, bytes: Uint8Array = png) =>
  bucket.upload(path, bytes, { contentType: 'image/png', upsert: true })

export const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(url)
  await response.body?.cancel()
  return response.status
}
export const publicUrl = (path: string) => `${storageUrl}/object/public/avatars/${path}`
/** A request that supabase-js does not make. */
export const raw = (method: string, path: string, who: Person | null, headers = {}, content?: Uint8Array | string) => {
  const token = who && { Authorization: `Bearer ${who.token}` }
  return rawRequest(method, `/storage/v1${path}`, { apikey: publishableKey, ...token, ...headers }, content)
}
