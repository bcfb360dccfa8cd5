import type { SupabaseClient } from '@supabase/supabase-js'
import type { Attachment } from '../clients/inbox.ts'
import { formatSize } from './format.ts'

/** What a bucket takes, as sql/schema/80_storage/10_storage.sql sets it up. */
interface Rules {
  types: string[]
  size: number
  /** The types in words. */
  words: string
}

const pictures = ['image/jpeg', 'image/png', 'image/webp']
export const attachmentRules: Rules = {
  // deno-fmt-ignore
  types: [
    ...pictures, 'image/gif', 'image/heic', 'image/heif', 'application/pdf', 'audio/mpeg', 'audio/mp4', 'audio/webm',
    'video/mp4', 'video/quicktime', 'text/plain',
  ],
  size: 10 * 2 ** 20,
  words: 'pictures, PDF, MP3, M4A, audio in WebM, MP4, MOV and plain text',
}
/** Of the picture that is chosen. What is uploaded is cut out of it, and far below the 2 MB of its bucket. */
export const photoRules: Rules = { types: pictures, size: 20 * 2 ** 20, words: 'JPEG, PNG and WebP pictures' }

// What browsers call some files, and Storage does not. Most know no HEIC.
const otherNames: Record<string, string> = { 'audio/x-m4a': 'audio/mp4', 'audio/m4a': 'audio/mp4' }
const typeOf = ({ type, name }: File): string =>
  type ? otherNames[type] ?? type : /\.hei[cf]$/i.test(name) ? 'image/heic' : ''

/** Why a file cannot be uploaded, or '' if it can. */
export const refusalOfFile = (file: File, { types, size, words }: Rules): string => {
  if (!types.includes(typeOf(file))) return `“${file.name}” is of another kind: ${words} can be sent.`
  if (file.size === 0) return `“${file.name}” is empty.`
  if (file.size <= size) return ''
  return `“${file.name}” has ${formatSize(file.size)}, and at most ${
    formatSize(size)
  } can be sent. Choose a smaller one.`
}

const wording = (status: number): string => {
  if (status === 413) return 'The file is too large.'
  if (status === 415) return 'Files of this kind cannot be sent.'
  if (status === 400 || status === 403) return 'You cannot add files here (any more).'
  return status ? 'The file could not be stored. Please try again.' : 'The file did not arrive. Is this device online?'
}

/** Storage answers 400 to nearly all that it refuses; the real status is in the body. */
const statusOf = ({ status, responseText }: XMLHttpRequest): number => {
  const [, inBody] = /"statusCode":"(\d{3})"/.exec(responseText) ?? []
  return inBody ? Number(inBody) : status
}

type Progress = (part: number) => void

const folder = '/storage/v1/object'
const photos = `${folder}/public/avatars/`
// A profile holds https addresses, and this one alone without it, also where the page is opened from another device.
const publicFolder = `${
  location.protocol === 'https:' ? location.origin : `http://127.0.0.1:${location.port || 80}`
}${photos}`

/**
 * The address of a photo in the service's own Storage, and null for any other: whoever runs another server would learn
 * who looks at the profile. The port of a local stack may have changed since.
 */
export const ownPhoto = (url: string | null | undefined): string | null => {
  const found = url ? URL.parse(url) : null
  const isOwn = found?.origin === location.origin || found?.hostname === '127.0.0.1'
  return found && isOwn && found.pathname.startsWith(photos) ? location.origin + found.pathname : null
}

/** Uploads to Storage. XMLHttpRequest, because fetch does not tell how far an upload is. */
const upload = async (supabase: SupabaseClient, key: string, path: string, file: File, onProgress: Progress) => {
  const { data: { session } } = await supabase.auth.getSession()
  await new Promise<void>((resolve, reject) => {
    const transfer = new XMLHttpRequest()
    transfer.open('POST', `${location.origin}${folder}/${path}`)
    transfer.setRequestHeader('apikey', key)
    transfer.setRequestHeader('Authorization', `Bearer ${session?.access_token}`)
    transfer.setRequestHeader('Content-Type', typeOf(file))
    transfer.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0)
    transfer.onload = () => transfer.status === 200 ? resolve() : reject(new Error(wording(statusOf(transfer))))
    transfer.onerror = () => reject(new Error(wording(0)))
    transfer.send(file)
  })
}

// Storage refuses many names (größe.png, [1].pdf), so files get a plain one.
const plainName = ({ name }: File): string => `file${/\.\w{1,9}$/.exec(name)?.[0] ?? ''}`

/** Files of the signed-in user. Both uploads reject with a sentence for the user. */
export const openFiles = (supabase: SupabaseClient, key: string) => ({
  async attach(conversation: number, file: File, onProgress: Progress): Promise<Attachment> {
    const url = `${conversation}/${crypto.randomUUID()}/${plainName(file)}`
    await upload(supabase, key, `attachments/${url}`, file, onProgress)
    return { url, name: file.name, mime_type: typeOf(file), size: file.size }
  },
  /** Resolves to the public address of the photo. */
  async uploadPhoto(file: File, onProgress: Progress): Promise<string> {
    const { data: { session } } = await supabase.auth.getSession()
    const path = `${session?.user.id}/${crypto.randomUUID()}${plainName(file).slice('file'.length)}`
    await upload(supabase, key, `avatars/${path}`, file, onProgress)
    return `${publicFolder}${path}`
  },
  /** An address of an attachment for ten minutes; null if Storage gives none. */
  async addressOf(path: string): Promise<string | null> {
    const name = path.replace(/^attachments\//, '')
    const { data } = await supabase.storage.from('attachments').createSignedUrl(name, 600)
    return data?.signedUrl ?? null
  },
})

export type Files = ReturnType<typeof openFiles>
