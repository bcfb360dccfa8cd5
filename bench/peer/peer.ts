/** Starts the peer on the bench's Postgres with a copy of its data, and checks that it answers what ours answers. */
import { deepStrictEqual } from 'node:assert/strict'
import type { Case } from '../endpoints/cases/case.ts'
import type { Defer } from '../endpoints/defer.ts'
import type { Fixture } from '../endpoints/fixture.ts'
import { type Server, start } from '../endpoints/measure.ts'

const folder = new URL('.', import.meta.url).pathname
const search = 'GET /users/search'
const cases = [
  'GET /conversations',
  'GET /conversations/:id/messages',
  'POST /conversations/:id/messages',
  'POST /conversations',
  'GET /users/me',
  'GET /users/:id',
  search,
]

/** What the peer answers, too. */
export const peerCases = (all: Case[]): Case[] => all.filter(({ name }) => cases.includes(name))

// Not in the set-up of our data: the copy has its own tables, without our triggers and policies.
const copy = `
  set session_replication_role = replica;
  insert into peer.users select id, name, email, bio, location, role, is_active from public.users;
  insert into peer.profiles
    select id, user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable
    from public.profiles;
  insert into peer.interests select id, name from public.interests;
  insert into peer.profile_interests (profile_id, interest_id) select profile_id, interest_id
    from public.profile_interests;
  insert into peer.conversations (id, voyager_id, local_id, created_at)
    select id, voyager_id, local_id, created_at from public.conversations;
  insert into peer.messages (id, conversation_id, user_id, content, attachment, read, created_at)
    select id, conversation_id, user_id, content, attachment, read, created_at from public.messages order by id;
  create table peer.search as
    select
      profile_id as id, user_id, name, biography, city, country, interests, image_url,
      setweight(to_tsvector('english', name), 'A')
        || setweight(to_tsvector('english', array_to_string(interests, ' ')), 'B')
        || setweight(to_tsvector('english', concat_ws(' ', city, country)), 'C')
        || setweight(to_tsvector('english', biography), 'D') as words
    from private.search_entries;
  create index on peer.search using gin (words);
  create index on peer.search (city);
  create index on peer.search (country);
  create index on peer.search using gin (interests);
  select setval('peer.conversations_id_seq', max(id)) from peer.conversations;
  select setval('peer.messages_id_seq', max(id)) from peer.messages;
  set session_replication_role = origin;
  vacuum analyze`

export const startPeer = async (fixture: Fixture, pool: string, defer: Defer): Promise<Server> => {
  const { success } = await new Deno.Command('npm', {
    args: ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
    cwd: folder,
    stdout: 'null',
  }).output()
  if (!success) throw new Error('npm ci in bench/peer failed')
  const env = { PEER_DATABASE_URL: fixture.url, DATABASE_POOL: pool, NODE_ENV: 'production' }
  const server = await start(`${folder}server.js`, [], env, defer, ['node'])
  for (const statement of copy.split(';')) await fixture.sql.unsafe(statement)
  return server
}

/** Without the values that every answer to a POST chooses anew, and without an order where none is promised. */
const comparable = (value: unknown, isNew: boolean): unknown => {
  if (Array.isArray(value)) return value.map((one) => comparable(one, isNew))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => {
    if (isNew && (key === 'id' && !('name' in value) || key === 'createdAt')) return [key, typeof one]
    const unordered = Array.isArray(one) && /^(interests|conversations)$/i.test(key)
    const listed = unordered ? one.map((item) => JSON.stringify(comparable(item, isNew))).sort() : one
    return [key, comparable(listed, isNew)]
  })
  return Object.fromEntries(entries.sort())
}

/** Sends the last requests of a case to both, and throws at the first answer that differs. A search finds others. */
export const compareAnswers = async (
  fixture: Fixture,
  { name, method, requests }: Case,
  servers: Server[],
): Promise<void> => {
  if (name === search) return
  for (const { user, path, body } of requests.slice(-20)) {
    const [theirs, ...ours] = await Promise.all(servers.map(async ({ base }, index) => {
      // Opening twice is refused, so the first of ours speaks for all.
      if (index > 1 && method !== 'GET') return undefined
      const answer = await fetch(base + path, {
        method,
        headers: {
          Authorization: `Bearer ${await fixture.token(user)}`,
          'CF-Connecting-IP': '10.0.0.1',
          ...body && { 'Content-Type': 'application/json' },
        },
        body: body?.replace('NEW_UUID', crypto.randomUUID()) || undefined,
      })
      return { status: answer.status, body: comparable(await answer.json(), method === 'POST') }
    }))
    if (theirs!.status >= 400) throw new Error(`${name}: ${path} is answered ${theirs!.status}`)
    for (const one of ours) if (one) deepStrictEqual(theirs, one, `${name}: ${path} is answered differently`)
  }
}
