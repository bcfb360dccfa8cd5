import { bareSql } from '../bare.ts'
import {
  type Case,
  type CaseRequest,
  fromRandomUsers,
  json,
  newPartnerOf,
  randomUpTo,
  randomUser,
  repeat,
  sqlNewPartnerOf,
} from './case.ts'
import type { Fixture } from '../fixture.ts'

const liteList =
  '/rest/v1/conversations?select=id,voyager_id,local_id,created_at,messages(id,content,user_id,read,created_at)' +
  '&messages.order=id.desc&messages.limit=1'
const litePage = ({ path }: CaseRequest): string =>
  '/rest/v1/messages?select=id,user_id,conversation_id,content,attachment,read,created_at&order=id.desc&limit=50' +
  `&conversation_id=eq.${/\d+/.exec(path)![0]}`

// The unread messages are in bench.unread.
const ofUnread = (column: string): string => `(select ${column} from bench.unread where number = :index + 1)`
const markRead = (andBefore: boolean): string =>
  `mark_read(conversation => ${ofUnread('conversation')}, message => ${ofUnread('id')}, and_before => ${andBefore})`

export const conversationCases = async (fixture: Fixture): Promise<Case[]> => {
  const { sql, users, conversations } = fixture
  // The opener follows from the conversation's id (fixture.sql).
  const openerOf = (conversation: number) => 2 + (conversation - 1) % (users - 1)
  const opener = `2 + (:conversation - 1) % ${users - 1}`
  const randomConversation = `\\set conversation random(1, ${conversations})\n\\set user ${opener}`
  const inConversation = (subpath: string, body?: string): CaseRequest[] =>
    repeat(5000, () => {
      const conversation = randomUpTo(conversations)
      return { user: openerOf(conversation), path: `/conversations/${conversation}${subpath}`, body }
    })

  const [longest] = await sql`
    select conversation_id::integer as id, (array_agg(id order by id desc))[4000]::integer as deep
    from public.messages group by conversation_id order by count(*) desc limit 1`
  const smallInboxes = await sql`
    select person::integer as id
    from public.conversations cross join lateral (values (voyager_id), (local_id)) as people (person)
    group by person having count(*) = 4 limit 500`
  const inLongest = (query: string): CaseRequest[] => [
    { user: openerOf(longest!.id), path: `/conversations/${longest!.id}/messages?limit=50${query}` },
  ]
  const longestConversation = `\\set conversation ${longest!.id}\n\\set user ${openerOf(longest!.id)}`
  const { body: message } = json({ content: 'Hello there, it is me.', client_id: 'NEW_UUID' })
  const unread = await sql`select id::integer, conversation::integer, reader::integer from bench.unread order by number`
  const resetUnread = 'update public.messages set read = false where read and id in (select id from bench.unread)'

  return [
    {
      name: 'GET /conversations',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/conversations'),
      rpc: 'list_conversations(null, 0)',
      variables: randomUser(fixture),
      bareSql: bareSql.list_conversations,
      litePath: () => liteList,
    },
    {
      name: '… an inbox of 4, limit=50',
      method: 'GET',
      requests: smallInboxes.map(({ id }) => ({ user: id, path: '/conversations?limit=50' })),
    },
    {
      name: '… an inbox of 600, limit=50',
      method: 'GET',
      requests: [{ user: 1, path: '/conversations?limit=50' }],
      rpc: 'list_conversations(50, 0)',
      variables: '\\set user 1',
      litePath: () => `${liteList}&order=id.desc&limit=50`,
    },
    {
      name: 'GET /conversations/:id',
      method: 'GET',
      requests: inConversation(''),
      rpc: 'get_conversation(:conversation)',
      variables: randomConversation,
      litePath: ({ path }) =>
        '/rest/v1/conversations?select=id,voyager_id,local_id,reservations(id,title,price,date,status)' +
        `&id=eq.${/\d+/.exec(path)![0]}`,
    },
    {
      name: 'GET /conversations/unread',
      method: 'GET',
      requests: fromRandomUsers(fixture, '/conversations/unread'),
      rpc: 'count_unread()',
      variables: randomUser(fixture),
      litePath: ({ user }) => `/rest/v1/messages?select=conversation_id&read=is.false&user_id=neq.${user}`,
    },
    {
      name: 'GET /conversations/:id/messages',
      method: 'GET',
      requests: inConversation('/messages'),
      rpc: `list_messages(:conversation, '{"limit": 50}')`,
      variables: randomConversation,
      bareSql: bareSql.list_messages,
      litePath: litePage,
    },
    {
      name: '… of the longest',
      method: 'GET',
      requests: inLongest(''),
      rpc: `list_messages(:conversation, '{"limit": 50}')`,
      variables: longestConversation,
      litePath: litePage,
    },
    ...longest!.deep
      ? [{
        name: '… 4,000 down, before_id',
        method: 'GET',
        requests: inLongest(`&before_id=${longest!.deep}`),
        rpc: `list_messages(:conversation, '{"limit": 50, "before_id": ${longest!.deep}}')`,
        variables: longestConversation,
        litePath: (request: CaseRequest) => `${litePage(request)}&id=lt.${longest!.deep}`,
      }]
      : [],
    {
      name: 'POST /conversations/:id/messages',
      method: 'POST',
      requests: inConversation('/messages', message),
      rpc: `send_message(:conversation, jsonb_build_object('content', 'Hello there, it is me.',
        'client_id', gen_random_uuid(), 'type_is_true', null))`,
      variables: randomConversation,
      bareSql: bareSql.send_message,
    },
    {
      name: 'PATCH …/messages/:id/read',
      method: 'PATCH',
      requests: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/messages/${id}/read`,
      })),
      setup: resetUnread,
      rpc: markRead(false),
      callerId: ofUnread('reader'),
      once: true,
    },
    {
      name: 'POST /conversations/:id/read',
      method: 'POST',
      requests: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/read`,
        ...json({ up_to_message_id: id }),
      })),
      setup: resetUnread,
      rpc: markRead(true),
      callerId: ofUnread('reader'),
      once: true,
    },
    {
      name: 'POST /conversations',
      method: 'POST',
      requests: repeat(4 * users, (index) => {
        const user = 1 + index % users
        const other_user_id = newPartnerOf(fixture, user, Math.floor(index / users))
        return { user, path: '/conversations', ...json({ other_user_id }) }
      }),
      once: true,
      rpc: `open_conversation(${sqlNewPartnerOf(fixture, ':user', `:index / ${users}`)})`,
      variables: `\\set user 1 + :index % ${users}`,
    },
  ]
}
