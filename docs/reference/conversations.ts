import type { Reference } from './types.ts'

export const conversations = {
  listConversations: {
    tag: 'Conversations',
    description: "The inbox. `Messages` has the conversation's latest message, and is empty before the first one. " +
      'Without `limit` all conversations.',
    example: { as: 'tomas', query: { limit: 1, archived: 'false' } },
  },
  openConversation: {
    tag: 'Conversations',
    description:
      'The caller becomes the voyager, the other user the local. Two people have one conversation at most, ' +
      'whoever opened it; its id is in the answer 409.',
    example: { as: 'tomas', json: { other_user_id: 132 } },
  },
  getConversation: {
    tag: 'Conversations',
    description: 'The two participants and their reservations. Messages have a list of their own.',
    example: { as: 'tomas', path: { id: 1 } },
  },
  setConversationState: {
    tag: 'Conversations',
    description: 'The other participant does not see it. A newer message brings an archived conversation back.',
    example: { as: 'tomas', path: { id: 1 }, json: { pinned: true } },
  },
  listConversationStates: {
    tag: 'Conversations',
    description: 'Only the conversations with something other than the default.',
    example: { as: 'tomas', query: { limit: 20 } },
  },
  listChanges: {
    tag: 'Conversations',
    description:
      'Brings a client up to date after any absence, whatever the number of conversations. Begin without `after`, ' +
      'read what you show, and keep the cursor; from then on read only what each answer names. A message that an ' +
      'admin has corrected is `message` again; one that its sender has corrected or taken back is ' +
      '`message.changed`. `state` is how you have arranged a conversation, or that you have ' +
      'blocked or unblocked the partner; nobody learns it of others.',
    example: { as: 'tomas', query: { limit: 20 } },
  },
  // Last, so that the inbox shows what was sent.
  unsendMessage: {
    tag: 'Messages',
    description: 'For both, within a day (UNSEND_HOURS). In its place stays a message with empty `content`, without ' +
      'attachment, and `read`, because nothing is left to read. Its file is removed. What was reported before stays ' +
      'with the moderators.',
    example: { as: 'tomas', path: { id: 1, messageId: 50 } },
  },
} as const satisfies Record<string, Reference>

export const messages = {
  countUnread: {
    tag: 'Messages',
    description: 'Only conversations with unread messages are listed.',
    example: { as: 'tomas' },
  },
  listMessages: {
    tag: 'Messages',
    description: 'Newest first, 50 to a page. To page on, follow the Link header: with `before_id` or `after_id` ' +
      'messages that arrive in between shift nothing.',
    example: { as: 'tomas', path: { id: 1 }, query: { limit: 2 } },
  },
  searchMessages: {
    tag: 'Messages',
    description: 'Newest first. Case and accents do not matter, the last word may be the beginning of one, and of ' +
      'words with 5 letters or more one may be wrong, but the first. A page may have fewer messages than `limit`, or ' +
      'none, and still have a Link: a search of a very long history looks at it in parts. A text without words finds ' +
      'nothing. Counts as a search for the rate limit.',
    example: { as: 'tomas', query: { q: 'piano', limit: 2 } },
  },
  sendMessage: {
    tag: 'Messages',
    description: 'With an Idempotency-Key (or `client_id`) a repeat returns the first answer, so sending again after ' +
      'a lost connection creates nothing twice. The other participant gets an event of Realtime.',
    example: {
      as: 'tomas',
      path: { id: 1 },
      headers: { 'Idempotency-Key': '5b0e9f4c-2d0a-4f57-9b1e-2f6f0a4c7d11' },
      json: { content: 'Yes please, a chair near the piano!' },
    },
  },
  editMessage: {
    tag: 'Messages',
    description: 'Replaces the text within 15 minutes (EDIT_MINUTES); a file stays, and so does whether it was read. ' +
      'The other participant gets an event, and no new notification.',
    example: {
      as: 'tomas',
      path: { id: 1, messageId: 50 },
      query: { states: true },
      json: { content: 'Yes please, a chair near the window!' },
    },
  },
  markMessageRead: {
    tag: 'Messages',
    description: 'Marking it again changes nothing.',
    example: { as: 'tomas', path: { id: 1, messageId: 44 } },
  },
  markConversationRead: {
    tag: 'Messages',
    description: 'One request for everything that is on the screen.',
    example: { as: 'tomas', path: { id: 6 }, json: { up_to_message_id: 40 } },
  },
} as const satisfies Record<string, Reference>
