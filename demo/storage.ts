import type { SupabaseClient } from '@supabase/supabase-js'
import { addressOf, typeOf, uploadAvatar } from '../clients/uploads.ts'
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

/** Why a file cannot be uploaded, or '' if it can. */
export const refusalOfFile = (file: File, { types, size, words }: Rules): string => {
  if (!types.includes(typeOf(file))) return `“${file.name}” is of another kind: ${words} can be sent.`
  if (file.size === 0) return `“${file.name}” is empty.`
  if (file.size <= size) return ''
  return `“${file.name}” has ${formatSize(file.size)}, and at most ${
    formatSize(size)
  } can be sent. Choose a smaller one.`
}

const photos = '/storage/v1/object/public/avatars/'
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

/** Files of the signed-in user. */
export const openFiles = (supabase: SupabaseClient) => ({
  /** Resolves to the public address of the photo, or rejects with a sentence for the user. */
  async uploadPhoto(file: File, onProgress: (part: number) => void): Promise<string> {
    const url = await uploadAvatar(supabase, file, { onProgress })
    return publicFolder + url.slice(url.indexOf(photos) + photos.length)
  },
  addressOf: (url: string) => addressOf(supabase, { url }),
})

export type Files = ReturnType<typeof openFiles>
