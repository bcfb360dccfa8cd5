import type { z } from 'zod'
import { downloadHead } from '../_shared/storage.ts'
import { headSize, isOfType } from './file_types.ts'
import type { attachment } from '../_shared/schemas/conversations.ts'

/**
 * Whether the attached file has the signature of its mime_type. Null where that cannot be checked: the file is on
 * another host, outside the folder of the conversation, or Storage does not answer.
 */
export const matchesMimeType = async (
  { url, mime_type, size }: z.output<typeof attachment>,
  conversation: number,
  token: string,
): Promise<boolean | null> => {
  const path = url.replace(/^attachments\//, '')
  if (!path.startsWith(`${conversation}/`)) return null
  // A Range header is invalid for an empty file.
  const head = await downloadHead('attachments', path, Math.min(headSize, size), token)
  return head && isOfType(head, mime_type)
}
