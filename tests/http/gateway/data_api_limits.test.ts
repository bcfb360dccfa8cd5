import { describe, expect, inject, test } from 'vitest'
import { openConversation, sendMessage, signUp } from '../../tools/people.ts'

const { origin, publishableKey, secretKey } = inject('stack')

test.each([
  'biography=match.a',
  'biography=not.imatch.a',
  'or=(biography.match.a,city.eq.x)',
  'biography=match(any).{a,b}',
  'biography=fts.a',
  'biography=not.wfts(english).a',
  'or=(biography.plfts.a,city.eq.x)',
  `biography=ilike(any).{${Array(1500).fill('*a*b*c').join()}}`,
  `or=(${Array(200).fill('biography.like.*a*').join()})`,
  Array.from({ length: 200 }, (_, index) => `biography=not.ilike.*${index}*`).join('&'),
  `biography=like.*${'a'.repeat(200)}`,
  `biography=not.ilike(all).{${'*a*'.repeat(70)}}`,
  `or=(biography.like.${'%25_'.repeat(40)},biography.ilike.${'%25_'.repeat(70)})`,
  `select=${Array.from({ length: 1000 }, (_, index) => `c${index}:biography`)}`,
  `select=${Array.from({ length: 100 }, (_, index) => `c${index}:"biography"::text`)}`,
])(
  'the Data API refuses expensive patterns: %s',
  async (query) => {
    const ana = await signUp('Ana')
    const { status } = await ana.call('GET', `${origin}/rest/v1/profiles?${query}`, undefined, {
      headers: { apikey: publishableKey },
    })
    expect(status).toBe(400)
  },
)

test('the Data API accepts ordinary patterns', async () => {
  const ana = await signUp('Ana', { biography: 'Tiles' })
  const read = async (query: string) =>
    (await ana.call('GET', `${origin}/rest/v1/profiles?select=biography&user_id=eq.${ana.id}&${query}`, undefined, {
      headers: { apikey: publishableKey },
    })).body
  expect(await read('biography=ilike.*TIL*')).toEqual([{ biography: 'Tiles' }])
  expect(await read('biography=like(any).{%25x%25,T%25}')).toEqual([{ biography: 'Tiles' }])
  expect(await read('or=(biography.like.T*,biography.like.x*)')).toEqual([{ biography: 'Tiles' }])
})

describe('embedding in the Data API', () => {
  const select = async (path: string, headers: Record<string, string> = {}) => {
    const ana = await signUp('Ana')
    return await ana.call('GET', `${origin}/rest/v1/${path}`, undefined, {
      headers: { apikey: publishableKey, ...headers },
    })
  }

  test.each([
    'messages?select=id,conversations(id,messages(id,conversations(id,messages(id))))',
    'conversations?select=id,messages(conversations(messages(id)))',
    'conversations?select=id,m:messages(c:conversations!inner(o:messages(id)))',
    'conversations?select=id,...messages(...conversations(...messages(id)))',
    'conversations?select=id,"messages"("conversations"("messages"(id)))',
    'conversations?select=id,messages(id,conversation_id(id,messages(id)))',
    'conversations?select=id,messages(id,messages_conversation_id_fkey(messages(id)))',
    'conversations?select=id,messages(%20%20%63onversations(%20messages(id)))',
    'messages?select=id,a:conversations(messages(id)),b:conversations(messages(id))',
    'messages?select=id,conversations(messages(id),voyager_id(id))',
    'users?select=id,profiles(profile_interests(interests(profile_interests(profile_id))))',
    'users?select=id&select=id,profiles(users(profiles(id)))',
    `users?select=id${',profiles(id)'.repeat(11)}`,
    `users?select=${'conversations('.repeat(3000)}id${')'.repeat(3000)}`,
  ])('is refused if cyclic, repeated or too deep: %s', async (path) => {
    const { status, body } = await select(path)
    expect({ status, body }).toEqual({
      status: 400,
      body: { code: 'PGRST100', details: null, hint: null, message: expect.stringMatching(/embed/) },
    })
  })

  test('allows conditions nested up to ten levels', async () => {
    const deep = (levels: number) => `or=(${'and('.repeat(levels)}id.eq.1,id.eq.2${')'.repeat(levels)})`
    expect((await select(`users?${deep(3)}`)).status).toBe(200)
    expect((await select(`users?not.${deep(3)}`)).status).toBe(200)
    for (const query of [deep(10), `not.${deep(10)}`, deep(3000)]) {
      const { status, body } = await select(`users?${query}`)
      expect({ status, message: body.message }).toEqual({ status: 400, message: 'or and and may be nested ten deep' })
    }
  })

  test('is allowed for related tables', async () => {
    for (
      const path of [
        'users?select=id,profiles(id,profile_interests(interests(name)))',
        'conversations?select=id,voyager:users!voyager_id(name),local:users!local_id(name),messages(id),reservations(id)',
        'messages?select=id,conversation_id(id)',
        'users?select=id,name,email.count()',
      ]
    ) {
      // Aggregates are off, as on Supabase.
      expect([path, (await select(path)).status]).toEqual([path, path.includes('count') ? 400 : 200])
    }
    const deep = 'conversations?select=id,messages(conversations(messages(id)))'
    expect((await select(deep, { apikey: secretKey })).status).toBe(200)
  })

  test('of a table in itself returns few rows, whatever limit and range say', async () => {
    const ana = await signUp('Ana')
    const conversation = await openConversation(ana, await signUp('Ben'))
    for (let index = 0; index < 25; index++) await sendMessage(ana, conversation, `Message ${index}`)
    const read = async (query: string, headers: Record<string, string> = {}) => {
      const options = { headers: { apikey: publishableKey, ...headers } }
      return (await ana.call('GET', `${origin}/rest/v1/messages?${query}`, undefined, options)).body
    }
    const again = 'select=id,conversations(messages(id))'
    for (const query of [again, `${again}&limit=1000`, `${again}&limit=1000&limit=1000`, `${again}&offset=2`]) {
      expect([query, (await read(query, { Range: '0-999' })).length]).toEqual([query, 20])
    }
    expect(await read(`${again}&order=id.desc&limit=3&offset=1`)).toHaveLength(3)
    expect((await read(again))[0].conversations.messages).toHaveLength(25)
    expect(await read('select=id,conversations(id)')).toHaveLength(25)
  })
})
