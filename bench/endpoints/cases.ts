/** What is asked: each endpoint as requests, as the statement that its door makes of them, and where there is one, as a peer's request. */
import { bare } from './bare.ts'
import { pathOf } from './findable.ts'
import type { World } from './world.ts'

export interface Ask {
  user: number
  path: string
  body?: string
}

export interface Case {
  name: string
  method: string
  /** Some thousand requests to draw from. */
  asks: Ask[]
  /** SQL before each run, so that there is as much left to do as there was. */
  before?: string
  /** The verb as the door calls it, in pgbench's words: who calls is `:user`, the conversation `:conversation`. */
  verb?: string
  /** What pgbench draws. */
  draw?: string
  bare?: string
  /** The same of @supabase/lite's Data API. */
  peer?: (ask: Ask) => string
}

const drawn = <Value>(count: number, draw: () => Value): Value[] => Array.from({ length: count }, draw)
const upTo = (count: number): number => 1 + Math.floor(Math.random() * count)

export const casesOf = async ({ sql, users, conversations, queries }: World): Promise<Case[]> => {
  const anybody = `\\set user random(1, ${users})`
  // Who opened a conversation follows from its id (world.sql).
  const openerOf = (conversation: number) => 2 + (conversation - 1) % (users - 1)
  const anyConversation = `\\set conversation random(1, ${conversations})\n\\set user 2 + (:conversation - 1) % ${
    users - 1
  }`
  const asPerson = (path: string): Ask[] => drawn(5000, () => ({ user: upTo(users), path }))
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
  const message = JSON.stringify({ content: 'Hello there, it is me.', client_id: 'NEWKEY' })
  const unread = await sql`
    select messages.id::integer, conversation_id::integer as conversation,
      (voyager_id + local_id - messages.user_id)::integer as reader
    from public.messages join public.conversations on conversations.id = conversation_id
    where not read order by random() limit 5000`
  const unreadAgain = `update public.messages set read = false where read and id = any ('{${
    unread.map(({ id }) => id)
  }}')`
  const saying = (body: unknown): Pick<Ask, 'body'> => ({ body: JSON.stringify(body) })

  return [
    {
      name: 'GET /conversations',
      method: 'GET',
      asks: asPerson('/conversations'),
      verb: 'list_conversations(null, 0)',
      draw: anybody,
      bare: bare.list_conversations,
      peer: () =>
        '/rest/v1/conversations?select=id,voyager_id,local_id,created_at,messages(id,content,user_id,read,created_at)' +
        '&messages.order=id.desc&messages.limit=1',
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
      asks: asPerson('/conversations/unread'),
      verb: 'count_unread()',
      draw: anybody,
    },
    {
      name: 'GET /conversations/:id/messages',
      method: 'GET',
      asks: inConversation('/messages'),
      verb: `list_messages(:conversation, '{"limit": 50}')`,
      draw: anyConversation,
      bare: bare.list_messages,
      peer: ({ path }) =>
        '/rest/v1/messages?select=id,user_id,conversation_id,content,attachment,read,created_at&order=id.desc&limit=50' +
        `&conversation_id=eq.${/\d+/.exec(path)![0]}`,
    },
    {
      name: '… of the longest',
      method: 'GET',
      asks: inLongest(''),
      verb: `list_messages(:conversation, '{"limit": 50}')`,
      draw: constant,
    },
    ...longest!.deep
      ? [{
        name: '… 4,000 down, before_id',
        method: 'GET',
        asks: inLongest(`&before_id=${longest!.deep}`),
        verb: `list_messages(:conversation, '{"limit": 50, "before_id": ${longest!.deep}}')`,
        draw: constant,
      }]
      : [],
    {
      name: 'POST /conversations/:id/messages',
      method: 'POST',
      asks: inConversation('/messages', message),
      verb:
        `send_message(:conversation, jsonb_build_object('content', 'Hello there, it is me.', 'client_id', gen_random_uuid()))`,
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
    },
    {
      // Not by pgbench, which ends where two draw the same pair: the second is refused.
      name: 'POST /conversations',
      method: 'POST',
      asks: drawn(20_000, () => {
        const user = upTo(users - 1)
        return {
          user,
          path: '/conversations',
          body: JSON.stringify({ other_user_id: user + upTo(users - user) }),
        }
      }),
    },
    {
      name: 'GET /users/me',
      method: 'GET',
      asks: asPerson('/users/me'),
      verb: 'get_me()',
      draw: anybody,
      peer: () =>
        '/rest/v1/users?select=id,name,email,bio,location,role,is_active,created_at,' +
        'profiles(id,first_name,last_name,age,biography,country,city,image_url,is_searchable)',
    },
    {
      name: 'GET /users/:id',
      method: 'GET',
      asks: drawn(5000, () => ({ user: 1, path: `/users/${upTo(users / 5) * 5 - 1}` })),
      verb: `get_public_profile(5 * :user - 1)`,
      draw: `\\set user random(1, ${Math.floor(users / 5)})`,
    },
    {
      name: 'GET /users/interests',
      method: 'GET',
      asks: asPerson('/users/interests'),
      verb: 'list_interests()',
      draw: anybody,
      peer: () => '/rest/v1/interests?select=id,name&order=name',
    },
    {
      name: 'GET /users/search',
      method: 'GET',
      asks: queries.map((query) => ({ user: upTo(users), path: pathOf(query) })),
      verb: 'search_profiles((select request from bench.requests where id = :request))',
      draw: `${anybody}\n\\set request random(1, 1000)`,
    },
    {
      name: 'PATCH /users/profile',
      method: 'PATCH',
      asks: asPerson('/users/profile').map((ask) => ({
        ...ask,
        ...saying({ bio: `I know ${upTo(1000)} places to stop.` }),
      })),
      verb: `update_profile(jsonb_build_object('bio', 'I know ' || :places || ' places to stop.'))`,
      draw: `${anybody}\n\\set places random(1, 1000)`,
    },
    {
      name: 'PUT /users/profile/interests',
      method: 'PUT',
      asks: asPerson('/users/profile/interests').map((ask) => {
        const first = upTo(50)
        return { ...ask, ...saying({ interest_ids: [first, first + 1, first + 2] }) }
      }),
      verb: `set_interests(jsonb_build_object('ids', jsonb_build_array(:first, :first + 1, :first + 2)))`,
      draw: `${anybody}\n\\set first random(1, 50)`,
    },
    {
      // Last, for it hides people.
      name: 'PATCH /users/searchable',
      method: 'PATCH',
      asks: asPerson('/users/searchable').map((ask) => ({ ...ask, ...saying({ is_searchable: upTo(2) === 1 }) })),
      verb: 'set_searchable(:wanted = 1)',
      draw: `${anybody}\n\\set wanted random(0, 1)`,
    },
  ]
}

/** The statement of functions/_shared/database.ts. pgbench cannot put a variable into a string, so Postgres does. */
export const statementOf = ({ verb }: Case): string => {
  const claims =
    `('{"sub": "00000000-0000-4000-8000-000000' || (100000 + :user)::text || '", "role": "authenticated"}')`
  return `select reply.body, current_setting('api.aside', true) as aside
    from (select case when private.act_as(${claims}::jsonb, true) then api.${verb}::text end as body) as reply`
}
