/** Interests: the list that admins keep, and the set that each profile chooses from it. */
import { anonymous, asAdmin, equal, is, type Json, people, type Person, refuses, sql, test } from './fixture.ts'

const max = 50
const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n)
const ways: Record<string, (who: Person, interest_ids: unknown, status?: number, expected?: Json) => Promise<Json>> = {
  put: (who, interest_ids, status = 200, expected) =>
    who.put('/users/profile/interests', { interest_ids }, status, expected),
  patch: async (who, interest_ids, status = 200, expected) =>
    (await who.patch('/users/profile', { interest_ids }, status, expected)).Profile ?? null,
}

test('everybody reads the list, ordered by name, and caches it', async () => {
  const { status, body, headers } = await anonymous.ask('GET', '/users/interests')
  equal([status, headers.get('Cache-Control')], [200, 'public, max-age=3600'])
  equal(body, (await sql('select id, name from public.interests order by name')).map(([id, name]) => ({ id, name })))
  is([body[0], body.length > max], [{ id: 1, name: 'Acting' }, true])
})

test('a person replaces their own set as a whole, in which each counts once', async () => {
  const [ana, ben] = await people('ana', 'ben')
  await ways.put!(ben, [7])
  const names = Object.fromEntries(await sql('select id, name from public.interests'))
  for (const set of Object.values(ways)) {
    for (const [wanted, stored] of [[[5, 2], [2, 5]], [[2], [2]], [Array(60).fill(7), [7]], [[], []]] as const) {
      const Interests = stored.map((id) => ({ id, name: names[id] }))
      is(await set(ana, wanted), { id: ana.profileId, user_id: ana.id, Interests })
      equal((await ana.get('/users/me')).Profile.Interests, Interests)
    }
  }
  equal((await ben.get('/users/me')).Profile.Interests, [{ id: 7, name: names[7] }])
})

test('a wrong set is 400 naming what is wrong, and changes nothing', async () => {
  const [ana] = await people('ana')
  await ways.put!(ana, numbers(1, max))
  const before = await ana.get('/users/me')
  for (const set of Object.values(ways)) {
    await set(ana, numbers(1, max + 1), 400, 'interest_ids')
    const unknown = 'interest_ids: unknown interests 999999999, 2147483648'
    await set(ana, [999_999_999, 9, 2_147_483_648, 999_999_999], 400, unknown)
  }
  await ana.put('/users/profile/interests', {}, 400, 'interest_ids')
  equal(await ana.get('/users/me'), before)
})

test('the database counts them as well', async () => {
  const [ana] = await people('ana')
  const add = `select private.replace_interests(${ana.profileId}, to_jsonb(array(select generate_series(1, ${
    max + 1
  }))))`
  await refuses('PT400', 'interest_ids: a profile has at most 50 interests', [add])
})

test('an interest has a name of 1 to 60 characters, once in any case', async () => {
  const add = (name: string) => `insert into public.interests (name) values ('${name}')`
  for (const name of ['x', 'y'.repeat(60)]) await asAdmin(add(name))
  await refuses('23514', 'interest name has 1 to 60 characters', [add(''), add('z'.repeat(61))], 'service_role')
  await refuses('23514', 'interest name is one line that shows something', [add('  ')], 'service_role')
  await refuses('23505', 'interests_name_key', [add('X')], 'service_role')
  equal(await sql(`select count(*) from public.interests where lower(name) = 'x'`), [1])
})
