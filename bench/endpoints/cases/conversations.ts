import { bareSql } from '../bare.ts'
import { type Case, type CaseRequest, casesFor, json, randomUpTo, repeat } from './case.ts'
import type { Fixture } from '../fixture.ts'

const liteList =
  '/rest/v1/conversations?select=id,voyager_id,local_id,created_at,messages(id,content,user_id,read,created_at)' +
  '&messages.order=id.desc&messages.limit=1'
const litePage = ({ path }: CaseRequest): string =>
  '/rest/v1/messages?select=id,user_id,conversation_id,content,attachment,read,created_at&order=id.desc&limit=50' +
  `&conversation_id=eq.${/\d+/.exec(path)![0]}`

// The unread messages are in bench.unread.
const ofUnread = (column: string): string => `(select ${column} from bench.unread where number = :index + 1)`
const markUnread = (andBefore: boolean) => {
  const [conversation, message] = [ofUnread('conversation'), ofUnread('id')]
  return {
    once: true,
    setup: 'update public.messages set read = false where read and id in (select id from bench.unread)',
    rpc: `mark_read(conversation => ${conversation}, message => ${message}, and_before => ${andBefore})`,
    callerId: ofUnread('reader'),
  } as const
}

const offer = { title: 'Two nights', price: 80.5, date: '2036-05-14T16:00:00Z', ends_at: '2036-05-16T10:00:00Z' }

export const conversationCases = async (fixture: Fixture): Promise<Case[]> => {
  const { sql, users, conversations } = fixture
  const { byRandomUsers, newPartnerOf, sqlNewPartnerOf } = casesFor(fixture)
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

  const [longest] = await sql`
    select conversation_id::integer as id, (array_agg(id order by id desc))[4000]::integer as deep
    from public.messages group by conversation_id order by count(*) desc limit 1`
  const smallInboxes = await sql`
    select person::integer as id
    from public.conversations cross join lateral (values (voyager_id), (local_id)) as people (person)
    group by person having count(*) = 4 limit 500`
  const inLongest = (query: string) => ({
    method: 'GET',
    requests: [{ user: openerOf(longest!.id), path: `/conversations/${longest!.id}/messages?limit=50${query}` }],
    variables: `\\set conversation ${longest!.id}\n\\set user ${openerOf(longest!.id)}`,
  })
  const { body: message } = json({ content: 'Hello there, it is me.', client_id: 'NEW_UUID' })
  const unread = await sql`select id::integer, conversation::integer, reader::integer from bench.unread order by number`

  return [
    {
      name: 'GET /conversations',
      ...byRandomUsers('GET', '/conversations'),
      rpc: 'list_conversations(null, 0)',
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
      name: '… archived=false&pinned=first',
      method: 'GET',
      requests: [{ user: 1, path: '/conversations?limit=50&archived=false&pinned=first' }],
      rpc: 'list_conversations(page_limit => 50, page_offset => 0, archived => false, pinned_first => true)',
      variables: '\\set user 1',
    },
    {
      name: 'PUT /conversations/:id/state',
      ...inRandomConversations('PUT', '/state', JSON.stringify({ archived: true })),
      rpc: `set_conversation_state(:conversation, '{"archived": true}')`,
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
      ...byRandomUsers('GET', '/conversations/unread'),
      rpc: 'count_unread()',
      litePath: ({ user }) => `/rest/v1/messages?select=conversation_id&read=is.false&user_id=neq.${user}`,
    },
    {
      name: 'GET /conversations/:id/messages',
      ...inRandomConversations('GET', '/messages'),
      rpc: `list_messages(:conversation, '{"limit": 50}')`,
      bareSql: bareSql.list_messages,
      litePath: litePage,
    },
    {
      name: '… of the longest',
      ...inLongest(''),
      rpc: `list_messages(:conversation, '{"limit": 50}')`,
      litePath: litePage,
    },
    ...longest!.deep
      ? [{
        name: '… 4,000 down, before_id',
        ...inLongest(`&before_id=${longest!.deep}`),
        rpc: `list_messages(:conversation, '{"limit": 50, "before_id": ${longest!.deep}}')`,
        litePath: (request: CaseRequest) => `${litePage(request)}&id=lt.${longest!.deep}`,
      }]
      : [],
    {
      name: 'POST /conversations/:id/messages',
      ...inRandomConversations('POST', '/messages', message),
      rpc: `send_message(:conversation, jsonb_build_object('content', 'Hello there, it is me.',
        'client_id', gen_random_uuid(), 'matches_mime_type', null))`,
      bareSql: bareSql.send_message,
    },
    {
      name: 'POST /conversations/:id/reservations',
      ...inRandomConversations('POST', '/reservations', JSON.stringify(offer)),
      rpc: `offer_reservation(:conversation, '${JSON.stringify(offer)}')`,
    },
    {
      // Those of a user pile up in the case above.
      name: 'GET /users/me/reservations',
      ...byRandomUsers('GET', '/users/me/reservations'),
      rpc: `list_my_reservations('{"limit": 50}')`,
    },
    {
      name: 'PATCH …/messages/:id/read',
      method: 'PATCH',
      requests: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/messages/${id}/read`,
      })),
      ...markUnread(false),
    },
    {
      name: 'POST /conversations/:id/read',
      method: 'POST',
      requests: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/read`,
        ...json({ up_to_message_id: id }),
      })),
      ...markUnread(true),
    },
    {
      name: 'POST /conversations',
      method: 'POST',
      requests: repeat(4 * users, (index) => {
        const user = 1 + index % users
        const other_user_id = newPartnerOf(user, Math.floor(index / users))
        return { user, path: '/conversations', ...json({ other_user_id }) }
      }),
      once: true,
      rpc: `open_conversation(${sqlNewPartnerOf(':user', `:index / ${users}`)})`,
      variables: `\\set user 1 + :index % ${users}`,
    },
  ]
}
