import { beforeAll, expect, inject, test } from 'vitest'
import { type Person, signUp } from '../../tools/people.ts'

const { origin, publishableKey, secretKey } = inject('stack')
let ana: Person
beforeAll(async () => {
  ana = await signUp('Ana', { biography: 'Tiles' })
})
const read = (path: string, headers: Record<string, string> = {}) =>
  ana.call('GET', `${origin}/rest/v1/${path}`, undefined, { headers: { apikey: publishableKey, ...headers } })
const deep = (levels: number) => `or=(${'and('.repeat(levels)}id.eq.1,id.eq.2${')'.repeat(levels)})`

test.each([
  [/need the secret key$/, [
    'profiles?biography=match.a',
    'profiles?biography=not.imatch.a',
    'profiles?or=(biography.match.a,city.eq.x)',
    'profiles?biography=match(any).{a,b}',
    'profiles?biography=fts.a',
    'profiles?biography=not.wfts(english).a',
    'profiles?or=(biography.plfts.a,city.eq.x)',
  ]],
  [/^like and ilike may have 10 patterns in total$/, [
    `profiles?biography=ilike(any).{${Array(1500).fill('*a*b*c').join()}}`,
    `profiles?or=(${Array(200).fill('biography.like.*a*').join()})`,
    `profiles?${Array.from({ length: 200 }, (_, index) => `biography=not.ilike.*${index}*`).join('&')}`,
  ]],
  [/may have 200 characters in total$/, [
    `profiles?biography=like.*${'a'.repeat(200)}`,
    `profiles?biography=not.ilike(all).{${'*a*'.repeat(70)}}`,
    `profiles?or=(biography.like.${'%25_'.repeat(40)},biography.ilike.${'%25_'.repeat(70)})`,
  ]],
  [/^select names the same column too often$/, [
    `profiles?select=${Array.from({ length: 1000 }, (_, index) => `c${index}:biography`)}`,
    `profiles?select=${Array.from({ length: 100 }, (_, index) => `c${index}:"biography"::text`)}`,
  ]],
  [/^or and and may be nested ten deep$/, [`users?${deep(10)}`, `users?not.${deep(10)}`, `users?${deep(3000)}`]],
  // Cyclic, repeated for embedded rows, or too deep.
  [/embed/, [
    'messages?select=id,conversations(id,messages(id,conversations(id,messages(id))))',
    'conversations?select=id,messages(conversations(messages(id)))',
    'conversations?select=id,m:messages(c:conversations!inner(o:messages(id)))',
    'conversations?select=id,...messages(...conversations(...messages(id)))',
    'conversations?select=id,"messages"("conversations"("messages"(id)))',
    'conversations?select=id,messages(id,conversation_id(id,messages(id)))',
    'conversations?select=id,messages(id,messages_conversation_id_fkey(messages(id)))',
    'conversations?select=id,messages(%20%20%63onversations(%20messages(id)))',
    'users?select=id,messages(conversations(messages(id)))',
    'users?select=id,reservations!reservations_offered_by_fkey(conversations(messages(id)))',
    'users?select=id,reservations_offered_by_fkey(conversations(messages(id)))',
    'users?select=id,conversations!conversations_voyager_id_fkey(users!conversations_local_id_fkey(messages(id)))',
    'conversations?select=id,reservations(conversations(messages(id)))',
    'reservations?select=id,conversation_id(messages(id))',
    'reservations?select=id,conversations(messages(offered_by(id)))',
    'messages?select=id,conversations(messages(id),voyager_id(id))',
    'users?select=id,profiles(profile_interests(interests(profile_interests(profile_id))))',
    'messages?select=id,conversations(messages(id))',
    'users?select=id&select=id,messages(conversations(reservations(id)))',
    `users?select=id${',profiles(id)'.repeat(11)}`,
    `users?select=${'conversations('.repeat(3000)}id${')'.repeat(3000)}`,
  ]],
])('the Data API refuses what is expensive: %s', async (message, paths) => {
  for (const path of paths) {
    const { status, body } = await read(path)
    const expected = { code: 'PGRST100', details: null, hint: null, message: expect.stringMatching(message) }
    expect({ path: path.slice(0, 100), status, body })
      .toEqual({ path: path.slice(0, 100), status: 400, body: expected })
  }
})

test('it accepts ordinary patterns, conditions and related tables', async () => {
  const patterns = ['ilike.*TIL*', 'like(any).{%25x%25,T%25}'].map((one) => `biography=${one}`)
  for (const query of [...patterns, 'or=(biography.like.T*,city.like.x*)']) {
    const { body } = await read(`profiles?select=biography&user_id=eq.${ana.id}&${query}`)
    expect([query, body]).toEqual([query, [{ biography: 'Tiles' }]])
  }
  const related = [
    'users?select=id,profiles(id,profile_interests(interests(name)))',
    'conversations?select=id,voyager:users!voyager_id(name),local:users!local_id(name),messages(id),reservations(id)',
    'messages?select=id,conversation_id(id)',
  ]
  for (const path of [`users?${deep(3)}`, `users?not.${deep(3)}`, ...related]) {
    expect([path, (await read(path)).status]).toEqual([path, 200])
  }
  // Aggregates are off, as on Supabase.
  expect(await read('users?select=id,name,email.count()')).toMatchObject({ status: 400, body: { code: 'PGRST123' } })
  const cyclic = 'conversations?select=id,messages(conversations(messages(id)))'
  expect((await read(cyclic, { apikey: secretKey })).status).toBe(200)
})
