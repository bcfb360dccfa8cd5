import { byRandomUsers, type Case, type CaseRequest, json, randomUpTo, repeat } from './case.ts'
import type { Fixture } from '../fixture.ts'

const liteList =
  '/rest/v1/conversations?select=id,voyager_id,local_id,created_at,messages(id,content,user_id,read,created_at)' +
  '&messages.order=id.desc&messages.limit=1'
const litePage = ({ path }: CaseRequest): string =>
  '/rest/v1/messages?select=id,user_id,conversation_id,content,attachment,read,created_at&order=id.desc&limit=50' +
  `&conversation_id=eq.${/\d+/.exec(path)![0]}`

export const conversationCases = (fixture: Fixture): Case[] => {
  const { users, conversations } = fixture
  // The opener follows from the conversation's id (fixture.sql).
  const openerOf = (conversation: number) => 2 + (conversation - 1) % (users - 1)
  const opener = `2 + (:conversation - 1) % ${users - 1}`
  const inRandomConversations = (method: string, subpath: string, body?: string) => ({
    method,
    requests: repeat(5000, () => {
      const conversation = randomUpTo(conversations)
      return { user: openerOf(conversation), path: `/conversations/${conversation}${subpath}`, body }
    }),
    variables: `\\set conversation random(1, ${conversations})\n\\set user ${opener}`,
  })

  const { body: message } = json({ content: 'Hello there, it is me.', client_id: 'NEW_UUID' })

  return [
    {
      name: 'GET /conversations',
      ...byRandomUsers(fixture, 'GET', '/conversations'),
      rpc: "list_conversations(null, 0, 'always')",
      litePath: () => liteList,
    },
    {
      name: '… an inbox of 600, limit=50',
      method: 'GET',
      requests: [{ user: 1, path: '/conversations?limit=50' }],
      rpc: "list_conversations(50, 0, 'always')",
      variables: '\\set user 1',
      litePath: () => `${liteList}&order=id.desc&limit=50`,
    },
    {
      name: 'GET /conversations/:id',
      ...inRandomConversations('GET', ''),
      rpc: 'get_conversation(:conversation)',
      litePath: ({ path }) =>
        '/rest/v1/conversations?select=id,voyager_id,local_id,reservations(id,title,price,date,status)' +
        `&id=eq.${/\d+/.exec(path)![0]}`,
    },
    {
      name: 'GET /conversations/unread',
      ...byRandomUsers(fixture, 'GET', '/conversations/unread'),
      rpc: 'count_unread()',
    },
    {
      name: 'GET /conversations/:id/messages',
      ...inRandomConversations('GET', '/messages'),
      rpc: `list_messages(:conversation, '{"limit": 50}')`,
      litePath: litePage,
    },
    {
      name: 'POST /conversations/:id/messages',
      ...inRandomConversations('POST', '/messages', message),
      rpc: `send_message(:conversation, jsonb_build_object('content', 'Hello there, it is me.',
        'client_id', gen_random_uuid(), 'matches_mime_type', null))`,
    },
    {
      // With each of the ten whom fixture.sql leaves without a conversation with this user.
      name: 'POST /conversations',
      method: 'POST',
      requests: repeat(4 * users, (index) => {
        const user = 1 + index % users
        const other_user_id = 1 + (user + 2000 + Math.floor(index / users)) % users
        return { user, path: '/conversations', ...json({ other_user_id }) }
      }),
      once: true,
      rpc: `open_conversation(1 + (:user + 2000 + :index / ${users}) % ${users})`,
      variables: `\\set user 1 + :index % ${users}`,
    },
  ]
}
