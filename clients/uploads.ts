import { offlineError, ServiceError, toServiceError } from './errors.ts'
import { backoff } from './retry_loop.ts'
import { createTimer, onClosed, withTimeout } from './timers.ts'
import type { Attachment, Client } from './types.ts'
import { uuid } from './uuid.ts'

export interface UploadOptions {
  /** Told how much of the file has arrived, from 0 to 1, where there is XMLHttpRequest. `false` ends the upload. */
  onProgress?: (part: number) => unknown
  signal?: AbortSignal
}

// What browsers call some files, and Storage does not. Most know no HEIC.
const otherNames: Record<string, string> = { 'audio/x-m4a': 'audio/mp4', 'audio/m4a': 'audio/mp4' }
const nameOf = (file: Blob): string => (file as Partial<File>).name ?? 'file'
/** The type of a file, as Storage names it. */
export const typeOf = (file: Blob): string =>
  file.type ? otherNames[file.type] ?? file.type : /\.hei[cf]$/i.test(nameOf(file)) ? 'image/heic' : ''

// Storage refuses many names (größe.png, [1].pdf), so files get a plain one.
const extensionOf = (file: Blob): string => /\.\w{1,9}$/.exec(nameOf(file))?.[0] ?? ''

/** What a message says of its file. A repeated upload has the same path, and so finds the file that has arrived. */
export const attachmentOf = (conversation: number, client_id: string, file: Blob): Attachment => {
  const url = `${conversation}/${client_id}/file${extensionOf(file)}`
  return { url, name: nameOf(file), mime_type: typeOf(file), size: file.size }
}

// From the last progress.
const longestSilence = 60_000

/** Resolves to the status, or 0 without an answer. XMLHttpRequest, because fetch does not tell of progress. */
const post = (url: string, headers: Record<string, string>, file: Blob, { onProgress, signal }: UploadOptions) =>
  new Promise<number>((resolve) => {
    const request = new XMLHttpRequest()
    const silence = createTimer(() => request.abort())
    request.open('POST', url)
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded, total }) => {
      silence.start(longestSilence)
      if (onProgress?.(total ? loaded / total : 0) === false) silence.now()
    }
    request.onloadend = () => {
      silence.cancel()
      forget?.()
      // Storage answers 400 to nearly all that it refuses; the real status is in the body.
      resolve(Number(/"statusCode":"(\d{3})"/.exec(request.responseText)?.[1] ?? request.status))
    }
    const forget = signal && onClosed(signal, silence.now)
    silence.start(longestSilence)
    request.send(file)
  })

const longestUpload = 5 * 60_000

const wording = (status: number): string => {
  if (status === 413) return 'The file is too large.'
  if (status === 415) return 'Files of this kind cannot be sent.'
  return status < 500 ? 'You cannot add files here (any more).' : 'The file could not be stored. Please try again.'
}

/** Uploads a file with its type, once. Rejects with a ServiceError in words for people. */
export const upload = async (
  { storage, realtime }: Client,
  { access_token }: { access_token: string },
  bucket: 'attachments' | 'avatars',
  path: string,
  file: Blob,
  options: UploadOptions,
): Promise<void> => {
  if (options.signal?.aborted) throw new ServiceError('Closed')
  const files = storage.from(bucket)
  const headers = { Authorization: `Bearer ${access_token}` }
  let status: number
  if (typeof XMLHttpRequest === 'undefined') {
    // supabase-js takes no signal.
    const { error } = await withTimeout(longestUpload, () => files.upload(path, file, { headers }), options.signal)
    status = error ? Number((error as { statusCode?: string }).statusCode ?? 0) : 200
  } else {
    const url = files.getPublicUrl(path).data.publicUrl.replace('/object/public/', '/object/')
    const apikey = realtime.apiKey ?? ''
    status = await post(url, { ...headers, apikey, 'Content-Type': file.type }, file, options)
  }
  if (options.signal?.aborted) throw new ServiceError('Closed')
  if (!status) throw offlineError('The upload broke off')
  // 409: an earlier try has arrived, and its answer was lost.
  if (status !== 200 && status !== 409) throw new ServiceError(wording(status), status)
}

/**
 * Uploads a picture for the profile of whoever is signed in, and resolves to its public address, for `image_url`. Tries
 * three times where another try may help.
 */
export const uploadAvatar = async (supabase: Client, file: Blob, options: UploadOptions = {}): Promise<string> => {
  const { data: { session } } = await supabase.auth.getSession()
  if (!session) throw new ServiceError('Nobody is signed in', 401)
  const path = `${session.user.id}/${uuid()}${extensionOf(file)}`
  const typed = new Blob([file], { type: typeOf(file) })
  for (let failures = 0;; failures++) {
    try {
      await upload(supabase, session, 'avatars', path, typed, options)
      return supabase.storage.from('avatars').getPublicUrl(path).data.publicUrl
    } catch (error) {
      if (failures === 2 || options.signal?.aborted || !toServiceError(error).temporary) throw error
      await new Promise((resolve) => setTimeout(resolve, backoff(failures)))
    }
  }
}

/** The address of an attachment for ten minutes; null if Storage gives none, as to others than the participants. */
export const addressOf = async ({ storage }: Client, { url }: Pick<Attachment, 'url'>): Promise<string | null> => {
  if (/^https:/i.test(url)) return url
  const { data } = await storage.from('attachments').createSignedUrl(url.replace(/^attachments\//, ''), 600)
  return data?.signedUrl ?? null
}
