import type { Reference } from './types.ts'

export const safety = {
  blockUser: {
    tag: 'Safety',
    description: 'Neither of the two can write to, offer to or find the other. Blocking again changes nothing.',
    example: { as: 'ines', path: { user_id: 195 } },
  },
  listBlocks: {
    tag: 'Safety',
    description: 'People do not see who has blocked them.',
    example: { as: 'ines' },
  },
  unblockUser: {
    tag: 'Safety',
    description: 'The conversation goes on where it was.',
    example: { as: 'ines', path: { user_id: 195 } },
  },
  reportPerson: {
    tag: 'Safety',
    description: 'The reported person learns nothing of it but a warning. While a report of the same person or ' +
      'message is open, it is returned with status 200; what the repeat shares or blocks is still done.',
    example: { as: 'ines', json: { message_id: 33, reason: 'spam', note: 'The same text to all of us' } },
  },
  listMyReports: {
    tag: 'Safety',
    description: 'With what has become of each.',
    example: { as: 'ines', query: { limit: 20 } },
  },
} as const satisfies Record<string, Reference>

export const administration = {
  getHealth: {
    tag: 'Administration',
    description: '`pending` counts the profiles that are not embedded yet; they are found by words alone until then.',
    example: {},
  },
  getMetrics: {
    tag: 'Administration',
    description: 'Requests, statements, the embedding queue, the audit of the search index, and migrations.',
    example: { as: 'secret key' },
  },
  embedQueue: {
    tag: 'Administration',
    description: '`made` counts the texts that were embedded. With an empty queue it is 0.',
    example: { as: 'secret key' },
  },
  sendNotifications: {
    tag: 'Administration',
    description:
      'Plans and sends what is due. `planned` counts the notifications that were planned, and the rest what ' +
      'was sent.',
    example: { as: 'secret key' },
  },
  createUser: {
    tag: 'Administration',
    description:
      'Like signing up, but without a session. With the secret key the account is confirmed at once, without a ' +
      'mail, and may have a role of choice. Without a password the person logs in after recovering one.',
    example: { as: 'secret key', json: { email: 'jonas.berg@example.com', name: 'Jonas Berg' } },
  },
} as const satisfies Record<string, Reference>
