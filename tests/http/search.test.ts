import { SignJWT } from 'jose'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { claimsOf } from '../tools/jwt.ts'
import { type Answer, asAdmin, call, type Person, seededInterests, signUp } from '../tools/people.ts'
import { byWords, makePeople, namesOf, search, searchIn, uniqueCity, until } from '../tools/search.ts'

const { jwtSecret } = inject('stack')
const city = uniqueCity('Qwéxbürg')
const inCity = searchIn(city)
/** The names that match by keywords; matches by meaning alone are left out. */
const found = async (q: string, place = city) => byWords(await searchIn(place)({ q, explain: 'true', limit: 100 }))

let interests: { id: number; name: string }[]
const idOf = (name: string): number => interests.find((interest) => interest.name === name)!.id
let ana: Person
let ben: Person
const full = { biography: 'Zorbing quokkas', country: 'Plónthia', city, image_url: 'https://example.com/a.png' }

beforeAll(async () => {
  interests = await seededInterests()
  const interest_ids = [idOf('Yoga'), idOf('Chess')]
  ana = await signUp('Ana Vrelkorin', { ...full, is_searchable: true, first_name: 'Ana', interest_ids })
  ben = await signUp('Ben Vrelkorin', { city, is_searchable: true, bio: 'Snorkwump', location: 'Farnquist' })
})

describe('the response', () => {
  test('has exactly the documented fields', async () => {
    const { status, body } = await inCity({ q: 'Vrelkorin' })
    expect(status).toBe(200)
    expect(body).toEqual({
      hits: expect.any(Array),
      query: 'Vrelkorin',
      estimatedTotalHits: 2,
      limit: 20,
      offset: 0,
    })
    const score = expect.any(Number)
    expect(body.hits).toContainEqual({
      id: ana.profileId,
      user_id: ana.id,
      name: ana.name,
      ...full,
      interests: ['Chess', 'Yoga'],
      _rankingScore: score,
    })
    const empty = { biography: null, country: null, image_url: null, interests: [] }
    expect(body.hits).toContainEqual({
      id: ben.profileId,
      user_id: ben.id,
      name: ben.name,
      city,
      ...empty,
      _rankingScore: score,
    })
  })

  test.each([
    ...['', ' ', '  Vrelkorin ', '"Vrelkorin', '-quokkas', 'é 東京 % & + # ?', "'; drop table users; --"],
    ...['\\', '<->', ':*'],
  ])(
    'echoes the query %j',
    async (q) => {
      const { status, body } = await inCity({ q })
      expect({ status, query: body.query }).toEqual({ status: 200, query: q })
    },
  )

  test('has an empty query by default', async () => {
    expect((await inCity()).body.query).toBe('')
  })

  test.each([
    [{}, 20, 0],
    [{ limit: '', offset: '', q: '', filterInterests: '', filterCountry: '' }, 20, 0],
    [{ limit: 1, offset: 1 }, 1, 1],
    [{ limit: 100, offset: 1000 }, 100, 1000],
    [{ limit: 101, offset: 1001 }, 100, 1001],
    [{ limit: 1e15, offset: 2 ** 31 }, 100, 2 ** 31],
    [{ offset: Number.MAX_SAFE_INTEGER }, 20, Number.MAX_SAFE_INTEGER],
  ])('for %j states limit and offset', async (parameters, limit, offset) => {
    const { status, body } = await inCity(parameters)
    expect({ status, ...body, hits: body.hits?.length }).toEqual({
      status: 200,
      hits: Math.max(0, Math.min(2 - offset, limit)),
      query: '',
      estimatedTotalHits: 2,
      limit,
      offset,
    })
  })

  const values = (count: number): string => Array.from({ length: count }, (_, index) => `v${index}`).join()
  test.each([
    ['limit', [0, -1, 1.5, 'x', '1e1', ' 1', '0x1']],
    ['offset', [-1, 0.5, 'x', '99999999999999999999']],
    ['limit', [['1', '2']]],
    ['offset', [['0', '1']]],
    ['q', [['a', 'b'], 'x'.repeat(513), '😀'.repeat(513), 'a\0b']],
    ['filterInterests', [values(51), [values(26), values(25)], 'a\0b']],
    ['filterCity', [values(51), [values(50), 'one more'], 'a\0b']],
    ['filterCountry', [values(51), 'a\0b']],
    ['explain', ['yes', '1']],
  ])('refuses an invalid %s', async (name, bad) => {
    for (const value of bad) {
      const { status, body } = await search({ [name]: value })
      expect({ value, status, body }).toEqual({ value, status: 400, body: { error: expect.stringContaining(name) } })
    }
  })

  test('accepts 50 values and 512 characters, counting code points', async () => {
    for (const q of ['x'.repeat(512), '😀'.repeat(512), 'a '.repeat(256), '"'.repeat(512), '-a '.repeat(170)]) {
      expect((await inCity({ q, filterCountry: values(50) })).status).toBe(200)
    }
  })
})

describe('filters', () => {
  const place = uniqueCity('Filtrópolis')
  const other = `${place}b`
  const names = async (parameters: Parameters<typeof search>[0]) => {
    const answer = await search({ filterCity: `${place},${other}`, ...parameters })
    expect(answer.body.estimatedTotalHits).toBe(answer.body.hits.length)
    return namesOf(answer).toSorted()
  }
  beforeAll(async () => {
    const [one, two] = await makePeople([
      { name: 'One', city: place, country: 'Côte Plonth' },
      { name: 'Two', city: place, country: 'Vrelkia' },
      { name: 'Three', city: other, country: 'Vrelkia' },
      { name: 'Four', city: `  ${place.toUpperCase()} `, country: null },
    ])
    await asAdmin('POST', 'profile_interests', [
      { profile_id: one, interest_id: idOf('Street food') },
      { profile_id: two, interest_id: idOf('Chess') },
      { profile_id: two, interest_id: idOf('Yoga') },
    ])
  })

  test.each<[string, Record<string, string | string[]>, string[]]>([
    ['one city', { filterCity: place }, ['Four', 'One', 'Two']],
    ['either of two cities', { filterCity: `${place},${other}` }, ['Four', 'One', 'Three', 'Two']],
    ['either, given one by one', { filterCity: [place, other] }, ['Four', 'One', 'Three', 'Two']],
    ['a country in other case and without accent', { filterCountry: 'COTE plonth' }, ['One']],
    ['a country with additional accents', { filterCountry: 'vrélkïa' }, ['Three', 'Two']],
    ['spaces and empty values', { filterCountry: ' ,  Vrelkia , ,' }, ['Three', 'Two']],
    ['nothing but commas', { filterCountry: ' , ,' }, ['Four', 'One', 'Three', 'Two']],
    ['either of two interests', { filterInterests: 'street FOOD,yoga' }, ['One', 'Two']],
    ['interests and country', { filterInterests: 'Street food,Yoga', filterCountry: 'Vrelkia' }, ['Two']],
    ['city and country', { filterCity: other, filterCountry: 'Vrelkia' }, ['Three']],
    ['a combination without matches', { filterInterests: 'Chess', filterCity: other }, []],
    ['a part of a value', { filterCountry: 'Vrel' }, []],
    ['an unknown value', { filterInterests: 'Nosuchthing' }, []],
  ])('find %s', async (_, filters, expected) => {
    expect(await names(filters)).toEqual(expected)
  })
})

describe('the caller', () => {
  const everyone = () => ['Ana Vrelkorin', 'Ben Vrelkorin']
  const hits = (answer: Answer) => {
    expect(answer.status).toBe(200)
    expect(answer.body.estimatedTotalHits).toBe(answer.body.hits.length)
    return namesOf(answer).toSorted()
  }

  test.each([
    ['', everyone()],
    ['Vrelkorin', everyone()],
    ['"Vrelkorin"', everyone()],
    ['-nobody', everyone()],
    ['yoga', ['Ana Vrelkorin']],
  ])('is not in their own hits for %j', async (q, all) => {
    expect(hits(await inCity({ q }))).toEqual(all)
    for (const { token, name } of [ana, ben]) {
      const others = all.filter((other) => other !== name)
      // An empty query is ranked by the caller's own vector.
      expect(hits(await until(() => inCity({ q }, token), ({ body }) => body.hits.length === others.length))).toEqual(
        others,
      )
    }
  })

  test('is anonymous with an invalid, expired or malformed token', async () => {
    const expired = await new SignJWT({ ...claimsOf(ana.token), exp: Math.floor(Date.now() / 1000) - 3600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(jwtSecret))
    const { text } = await inCity({ q: 'Vrelkorin' })
    for (const token of ['garbage', expired, `${ana.token}x`, 'a.b.c']) {
      const answer = await inCity({ q: 'Vrelkorin' }, token)
      expect(hits(answer)).toEqual(everyone())
      expect(answer.text).toBe(text)
    }
  })

  test('gets a context of its own, and none if anonymous or deactivated', async () => {
    const cat = await signUp('Cat', { bio: 'Yoga' })
    const context = async (token: string | undefined, hopedFor: (answer: Answer) => boolean) => {
      const { body } = await until(() => inCity({ q: 'yoga', explain: 'true' }, token), hopedFor)
      return body.hits[0]._rankingScoreDetails.context
    }
    const isEmbedded = ({ body }: Answer) => body.hits[0]?._rankingScoreDetails.ratio > 0
    expect(await context(undefined, isEmbedded)).toBe(0)
    const own = await context(cat.token, ({ body }) => body.hits[0]?._rankingScoreDetails.context > 0)
    expect(own).toBeGreaterThan(0)
    await asAdmin('PATCH', `users?id=eq.${cat.id}`, { is_active: false })
    expect(await context(cat.token, isEmbedded)).toBe(0)
    expect((await inCity({ q: 'yoga' }, cat.token)).text).toBe((await inCity({ q: 'yoga' })).text)
  })
})

describe('searched fields', () => {
  const place = uniqueCity('Zanqui')
  beforeAll(async () => {
    const secrets = { email: `kwyjibo.${Date.now()}@example.com`, bio: 'Snorkwump', location: 'Farnquist' }
    const interest_ids = [idOf('Birdwatching')]
    const texts = { biography: 'Blistrovaq', country: 'Gromphia', first_name: 'Hesperin', last_name: 'Jundliq' }
    const account = { ...secrets, ...texts, name: 'Vomzek', city: place, is_searchable: true, interest_ids }
    expect((await call('POST', '/users', account)).status).toBe(201)
  })

  test.each(['Vomzek', 'birdwatching', 'Zanqui', 'Gromphia', 'Blistrovaq', 'Hesperin', 'Jundliq'])(
    '%s, public, is found',
    async (q) => expect(await found(q, place)).toEqual(['Vomzek']),
  )
  test.each(['kwyjibo', 'Snorkwump', 'Farnquist', 'example', 'com'])(
    '%s, private, is not found',
    async (q) => {
      expect(await found(q, place)).toEqual([])
    },
  )
})

describe('a change is visible in the next search', () => {
  const place = uniqueCity('Togglewick')
  const isThere = async (q: string) => {
    const answers = await Promise.all([searchIn(place)(), searchIn(place)({ q }), searchIn(place)({ q }, ana.token)])
    const counts = answers.map(({ body }) => [body.hits.length, body.estimatedTotalHits])
    expect(new Set(counts.flat()).size, JSON.stringify(counts)).toBe(1)
    return counts[0]![0] === 1
  }

  test('when a profile is hidden and shown again, by whatever means', async () => {
    const dan = await signUp('Dan Mulvoriq', { city: place })
    const ways: [string, (shown: boolean) => Promise<Answer>][] = [
      ['the switch', (is_searchable) => dan.call('PATCH', '/users/searchable', { is_searchable })],
      ['the profile', (is_searchable) => dan.call('PATCH', '/users/profile', { is_searchable })],
      ['an admin', (is_active) => asAdmin('PATCH', `users?id=eq.${dan.id}`, { is_active })],
      ['an admin of profiles', (is_searchable) => asAdmin('PATCH', `profiles?user_id=eq.${dan.id}`, { is_searchable })],
    ]
    expect(await isThere('Mulvoriq')).toBe(false)
    await dan.call('PATCH', '/users/searchable', { is_searchable: true })
    for (const [way, show] of ways) {
      for (const shown of [false, true, true, false, true]) {
        expect((await show(shown)).status).toBe(200)
        expect(await isThere('Mulvoriq'), `${way} ${shown}`).toBe(shown)
      }
    }
  })

  test('when name, city, biography and interests change', async () => {
    const where = [`${place} A`, `${place} B`] as const
    const eve = await signUp('Eve Drumblex', { city: where[0], biography: 'Fintorwal', is_searchable: true })
    const change = { name: 'Eve Quorlith', city: where[1], biography: 'Gastremon', interest_ids: [idOf('Opera')] }
    expect((await eve.call('PATCH', '/users/profile', change)).status).toBe(200)
    expect(namesOf(await searchIn(where[0])())).toEqual([])
    for (const q of ['Quorlith', 'Gastremon', 'opera']) expect(await found(q, where[1])).toEqual(['Eve Quorlith'])
    for (const q of ['Drumblex', 'Fintorwal']) expect(await found(q, where[1])).toEqual([])
    await eve.call('PUT', '/users/profile/interests', { interest_ids: [] })
    expect(await found('opera', where[1])).toEqual([])
    const { body } = await searchIn(where[1])()
    expect(body.hits).toMatchObject([{ name: change.name, biography: change.biography, interests: [] }])
  })
})
