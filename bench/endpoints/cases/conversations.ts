import { bare } from '../bare.ts'
import { anybody, type Ask, asPerson, type Case, drawn, saying, sqlStrangerOf, strangerOf, upTo } from './case.ts'
import type { World } from '../world.ts'

const peerList =
  '/rest/v1/conversations?select=id,voyager_id,local_id,created_at,messages(id,content,user_id,read,created_at)' +
  '&messages.order=id.desc&messages.limit=1'
const peerPage = ({ path }: Ask): string =>
  '/rest/v1/messages?select=id,user_id,conversation_id,content,attachment,read,created_at&order=id.desc&limit=50' +
  `&conversation_id=eq.${/\d+/.exec(path)![0]}`

// Of the messages that wait to be read, in bench.unread.
const ofUnread = (column: string): string => `(select ${column} from bench.unread where number = :turn + 1)`

export const conversationCases = async (world: World): Promise<Case[]> => {
  const { sql, users, conversations } = world
  // Who opened a conversation follows from its id (world.sql).
  const openerOf = (conversation: number) => 2 + (conversation - 1) % (users - 1)
  const anyConversation = `\\set conversation random(1, ${conversations})\n\\set user 2 + (:conversation - 1) % ${
    users - 1
  }`
  const inConversation = (rest: string, body?: string): Ask[] =>
    drawn(5000, () => {
      const conversation = upTo(conversations)
      return { user: openerOf(conversation), path: `/conversations/${conversation}${rest}`, body }
    })

  const [longest] = await sql`
    select conversation_id::integer as id, (array_agg(id order by id desc))[4000]::integer as deep
    from public.messages group by conversation_id order by count(*) desc limit 1`
  const few = await sql`
    select person::integer as id
    from public.conversations cross join lateral (values (voyager_id), (local_id)) as people (person)
    group by person having count(*) = 4 limit 500`
  const inLongest = (query: string): Ask[] => [
    { user: openerOf(longest!.id), path: `/conversations/${longest!.id}/messages?limit=50${query}` },
  ]
  const constant = `\\set conversation ${longest!.id}\n\\set user ${openerOf(longest!.id)}`
  const { body: message } = saying({ content: 'Hello there, it is me.', client_id: 'NEWKEY' })
  const unread = await sql`select id::integer, conversation::integer, reader::integer from bench.unread order by number`
  const unreadAgain = 'update public.messages set read = false where read and id in (select id from bench.unread)'

  return [
    {
      name: 'GET /conversations',
      method: 'GET',
      asks: asPerson(world, '/conversations'),
      verb: 'list_conversations(null, 0)',
      draw: anybody(world),
      bare: bare.list_conversations,
      peer: () => peerList,
    },
    {
      name: '… an inbox of 4, limit=50',
      method: 'GET',
      asks: few.map(({ id }) => ({ user: id, path: '/conversations?limit=50' })),
    },
    {
      name: '… an inbox of 600, limit=50',
      method: 'GET',
      asks: [{ user: 1, path: '/conversations?limit=50' }],
      verb: 'list_conversations(50, 0)',
      draw: '\\set user 1',
      peer: () => `${peerList}&order=id.desc&limit=50`,
    },
    {
      name: 'GET /conversations/:id',
      method: 'GET',
      asks: inConversation(''),
      verb: 'get_conversation(:conversation)',
      draw: anyConversation,
      peer: ({ path }) =>
        '/rest/v1/conversations?select=id,voyager_id,local_id,reservations(id,title,price,date,status)' +
        `&id=eq.${/\d+/.exec(path)![0]}`,
    },
    {
      name: 'GET /conversations/unread',
      method: 'GET',
      asks: asPerson(world, '/conversations/unread'),
      verb: 'count_unread()',
      draw: anybody(world),
      peer: ({ user }) => `/rest/v1/messages?select=conversation_id&read=is.false&user_id=neq.${user}`,
    },
    {
      name: 'GET /conversations/:id/messages',
      method: 'GET',
      asks: inConversation('/messages'),
      verb: `list_messages(:conversation, '{"limit": 50}')`,
      draw: anyConversation,
      bare: bare.list_messages,
      peer: peerPage,
    },
    {
      name: '… of the longest',
      method: 'GET',
      asks: inLongest(''),
      verb: `list_messages(:conversation, '{"limit": 50}')`,
      draw: constant,
      peer: peerPage,
    },
    ...longest!.deep
      ? [{
        name: '… 4,000 down, before_id',
        method: 'GET',
        asks: inLongest(`&before_id=${longest!.deep}`),
        verb: `list_messages(:conversation, '{"limit": 50, "before_id": ${longest!.deep}}')`,
        draw: constant,
        peer: (ask: Ask) => `${peerPage(ask)}&id=lt.${longest!.deep}`,
      }]
      : [],
    {
      name: 'POST /conversations/:id/messages',
      method: 'POST',
      asks: inConversation('/messages', message),
      verb:
        `send_message(:conversation, jsonb_build_object('content', 'Hello there, it is me.', 'client_id', gen_random_uuid(), 'matches_mime_type', null))`,
      draw: anyConversation,
      bare: bare.send_message,
    },
    {
      name: 'PATCH …/messages/:id/read',
      method: 'PATCH',
      asks: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/messages/${id}/read`,
      })),
      before: unreadAgain,
      verb: `mark_read(${ofUnread('conversation')}, ${ofUnread('id')}, false)`,
      who: ofUnread('reader'),
      once: true,
    },
    {
      name: 'POST /conversations/:id/read',
      method: 'POST',
      asks: unread.map(({ id, conversation, reader }) => ({
        user: reader,
        path: `/conversations/${conversation}/read`,
        ...saying({ up_to_message_id: id }),
      })),
      before: unreadAgain,
      verb: `mark_read(${ofUnread('conversation')}, ${ofUnread('id')}, true)`,
      who: ofUnread('reader'),
      once: true,
    },
    {
      name: 'POST /conversations',
      method: 'POST',
      asks: Array.from({ length: 4 * users }, (_, turn) => {
        const user = 1 + turn % users
        const other_user_id = strangerOf(world, user, Math.floor(turn / users))
        return { user, path: '/conversations', ...saying({ other_user_id }) }
      }),
      once: true,
      verb: `open_conversation(${sqlStrangerOf(world, ':user', `:turn / ${users}`)})`,
      draw: `\\set user 1 + :turn % ${users}`,
    },
  ]
}
