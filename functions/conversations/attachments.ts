import type { z } from 'zod'
import { firstBytes } from '../_shared/storage.ts'
import { headSize, isOfType } from './file_types.ts'
import type { attachment } from '../_shared/schemas/conversations.ts'

/**
 * Whether the file of a message begins as its type says; null where nobody can tell: it is on the web, in no folder of the conversation, or
 * Storage does not answer.
 */
export const matchesMimeType = async (
  { url, mime_type, size }: z.output<typeof attachment>,
  conversation: number,
  token: string,
): Promise<boolean | null> => {
  const path = url.replace(/^attachments\//, '')
  if (!path.startsWith(`${conversation}/`)) return null
  // Of an empty file there is no range.
  const head = await firstBytes('attachments', path, Math.min(headSize, size), token)
  return head && isOfType(head, mime_type)
}
