import { describeAnswer } from './project.mjs'
import { fail } from './outcome.mjs'

const storage = async ({ send, publishableKey }) => {
  // Without `info` Storage looks for the bucket and the file at once, and answers what it finds first.
  const file = (bucket) => send(`/storage/v1/object/info/public/${bucket}/doctor`, { key: publishableKey })
  const attachments = await file('attachments')
  // Storage calls a private bucket unknown here, and in a public one it is the file that is unknown.
  const isUnknownBucket = ({ status, text }) => status >= 400 && status < 500 && /bucket not found/i.test(text)
  const isUnknownFile = ({ status, text }) => status >= 400 && status < 500 && /object not found/i.test(text)
  if (!isUnknownBucket(attachments)) fail(`attachments may be public: ${describeAnswer(attachments)}`)
  const avatars = await file('avatars')
  if (!isUnknownFile(avatars)) fail(`avatars are not public: ${describeAnswer(avatars)}`)
  const list = await send('/storage/v1/object/list/attachments', {
    method: 'POST',
    key: publishableKey,
    json: { prefix: '', limit: 1 },
  })
  if (list.status === 200 && list.body?.length !== 0) fail('without a token one can list attachments')
  return 'attachments are private, avatars public'
}

export const storageChecks = [['storage', storage]]
