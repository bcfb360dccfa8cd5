import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, call, type Person, seededInterests, signUp } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'
import { makePeople, namesOf, search, searchIn, uniqueCity, until } from '../tools/search.ts'

const city = uniqueCity('Détaillia')
const inCity = searchIn(city)
const facets = 'interests,city,country'

/** The letters that a match covers in the field as printed. */
const matched = (hit: Answer['body'], field: string): string[] =>
  (hit._matches[field] ?? []).map(({ index, start, length }: { index?: number; start: number; length: number }) =>
    [...index === undefined ? hit[field] : hit[field][index]].slice(start, start + length).join('')
  )

const long = `${'I cross the old town on foot every day, mostly uphill and seldom alone. '.repeat(4)}` +
  `On Sundays I bake Zwetschgenkuchen. ${
    'Later I read what neighbours have left on the stairs, in any language. '.repeat(4)
  }`

let caller: Person

let ids: Record<string, number>

beforeAll(async () => {
  const interests = await seededInterests()
  const people = [
    { name: 'Annegret Straßer', city, country: 'Zuländ', biography: long },
    {
      name: 'Bo',
      city: ` ${city.toUpperCase()} `,
      country: 'zuland',
      biography: 'Cafe\u0301s and ﬁnches: 東京の寿司が好き',
    },
    { name: 'Cy', city, country: 'Zuländ', biography: '' },
    { name: 'Dee', city, country: null, biography: null },
    { name: 'Hidden Hal', city, country: 'Hidland', biography: 'Zwetschgenkuchen', is_searchable: false },
  ]
  const made = await makePeople(people)
  ids = Object.fromEntries(people.map(({ name }, index) => [name, made[index]!]))
  const idOf = (name: string) => interests.find((interest) => interest.name === name)!.id
  await asAdmin('POST', 'profile_interests', [
    { profile_id: ids['Annegret Straßer'], interest_id: idOf('Hiking') },
    { profile_id: ids['Annegret Straßer'], interest_id: idOf('Jazz') },
    { profile_id: ids.Bo, interest_id: idOf('Jazz') },
    { profile_id: ids['Hidden Hal'], interest_id: idOf('Chess') },
  ])
  ;[caller] = await Promise.all([
    signUp('Caller', { is_searchable: true, city, country: 'Ownland', biography: 'Own words' }),
    signUp('Blockhead Zymurgist', {
      is_searchable: true,
      city,
      country: 'Blockland',
      biography: 'Zwetschgenkuchen, Zwetschgenkuchen',
      interest_ids: [idOf('Yoga')],
    }),
  ])
})

describe('without the parameters', () => {
  test('the answer is byte for byte the same, and none of their fields is in it', async () => {
    const { body, text } = await inCity({ q: 'jazz' })
    const asked = await inCity({ q: 'jazz', facets: '', highlight: 'false', suggest: '', like: '' })
    expect(asked.text).toBe(text)
    expect(Object.keys(body)).toEqual(['hits', 'query', 'estimatedTotalHits', 'limit', 'offset'])
    expect(Object.keys(body.hits[0])).toEqual([
      ...['id', 'user_id', 'name', 'biography', 'city', 'country', 'interests', 'image_url', '_rankingScore'],
    ])
  })

  test('and with them the hits, their order and their scores are the same', async () => {
    for (const q of ['jazz', 'zwetschgenkuchen', '']) {
      const { body } = await inCity({ q, explain: 'true' })
      const { facetDistribution, _suggestion, ...rest } =
        (await inCity({ q, explain: 'true', facets, highlight: 'true', suggest: 'true' })).body
      expect(facetDistribution).toBeDefined()
      expect(_suggestion).toBeNull()
      for (const hit of rest.hits) {
        delete hit._matches
        delete hit._snippet
      }
      expect(rest).toEqual(body)
    }
  })
})

describe('facets', () => {
  test('count every value among all who match, however far the page reaches', async () => {
    for (const [limit, offset] of [[20, 0], [1, 0], [20, 1000]] as const) {
      const { body } = await inCity({ facets, limit, offset })
      expect(body.facetDistribution).toEqual({
        interests: { Jazz: 2, Hiking: 1, Yoga: 1 },
        city: { [city]: 6 },
        country: { Zuländ: 3, Ownland: 1, Blockland: 1 },
      })
      expect(body.estimatedTotalHits).toBe(6)
    }
  })

  test('are printed the most frequent first, as most profiles print them', async () => {
    const { body } = await inCity({ facets })
    expect(Object.keys(body.facetDistribution)).toEqual(['interests', 'city', 'country'])
    expect(Object.keys(body.facetDistribution.country)).toEqual(['Zuländ', 'Blockland', 'Ownland'])
  })

  test('count what is left after filters and words, and only those asked for', async () => {
    const filtered = await inCity({ facets: 'country', filterInterests: 'jazz' })
    expect(filtered.body.facetDistribution).toEqual({ country: { Zuländ: 2 } })
    const words = await inCity({ facets: 'city,interests,city', q: '"Straßer"' })
    expect(words.body.facetDistribution).toEqual({ city: { [city]: 1 }, interests: { Hiking: 1, Jazz: 1 } })
    const nobody = await inCity({ facets: 'country', q: '"xqzvbnk"' })
    expect(nobody.body.facetDistribution).toEqual({ country: {} })
  })

  test('of an unknown name are refused, and the error names the parameter', async () => {
    for (const unknown of ['name', 'city,age', 'City', 'city,', '__proto__']) {
      const answer = await inCity({ facets: unknown })
      expectError(answer, 400)
      expect(answer.body.error).toMatch(/^facets: /)
    }
  })

  test('have no value of hidden profiles, of the caller, or across a block in either direction', async () => {
    const seen = async (person: Person) =>
      Object.keys((await inCity({ facets }, person.token)).body.facetDistribution.country)
    const [other, blocker] = await Promise.all([
      signUp('Other', { is_searchable: true, city, country: 'Otherland' }),
      signUp('Blocker', { is_searchable: true, city, country: 'Blockerland' }),
    ])
    await blocker.call('PUT', `/users/me/blocks/${other.id}`)
    expect(await seen(other)).toEqual(expect.arrayContaining(['Zuländ', 'Ownland']))
    for (const [person, unseen] of [[other, 'Blockerland'], [blocker, 'Otherland'], [other, 'Otherland']] as const) {
      expect(await seen(person)).not.toContain(unseen)
    }
    for (const person of [other, blocker]) expect(await seen(person)).not.toContain('Hidland')
    expect(Object.keys((await inCity({ facets })).body.facetDistribution.country)).toContain('Otherland')
    for (const person of [other, blocker]) await person.call('PATCH', '/users/searchable', { is_searchable: false })
    expect(await seen(caller)).not.toContain('Otherland')
  })
})

describe('highlight', () => {
  const hitOf = async (q: string, name: string) => {
    const { body } = await inCity({ q, highlight: 'true', limit: 100 })
    return body.hits.find((hit: { name: string }) => hit.name === name)
  }

  test.each([
    ['a whole word, with what folding makes longer', 'strasser ', 'Annegret Straßer', 'name', ['Straßer']],
    ['the beginning of a word', 'zwetsch', 'Annegret Straßer', 'biography', ['Zwetschgenkuchen']],
    ['a mistyped word', 'zwetshgenkuchen ', 'Annegret Straßer', 'biography', ['Zwetschgenkuchen']],
    ['a phrase as one', '"bake zwetschgenkuchen"', 'Annegret Straßer', 'biography', ['bake Zwetschgenkuchen']],
    ['one of several interests', 'jazz ', 'Annegret Straßer', 'interests', ['Jazz']],
    ['a letter with a combining accent', 'cafes ', 'Bo', 'biography', ['Cafe\u0301s']],
    ['a ligature', 'finches ', 'Bo', 'biography', ['ﬁnches']],
    ['a run of a script without spaces', '寿司', 'Bo', 'biography', ['寿司']],
  ])('marks %s', async (_, q, name, field, expected) => {
    const hit = await hitOf(q, name)
    expect(matched(hit, field)).toEqual(expected)
  })

  test('marks nothing of what is excluded, or of the words of a phrase that stand apart', async () => {
    const { body } = await inCity({ q: 'annegret -"foot bake" "every day"', highlight: 'true' })
    expect(matched(body.hits[0], 'name')).toEqual(['Annegret'])
    expect(new Set(matched(body.hits[0], 'biography'))).toEqual(new Set(['every day']))
  })

  test('has a snippet of 160 characters around the words, cut between words', async () => {
    const hit = await hitOf('zwetschgenkuchen sundays', 'Annegret Straßer')
    expect([...hit._snippet].length).toBeLessThanOrEqual(160)
    expect(hit._snippet).toMatch(/^…\S.*\S…$/s)
    expect(matched(hit, '_snippet')).toEqual(['Sundays', 'Zwetschgenkuchen'])
    const inner = hit._snippet.slice(1, -1)
    expect(long).toContain(` ${inner} `)
  })

  test('without a match has the beginning of the biography, "" or null', async () => {
    const { body } = await inCity({ highlight: 'true', limit: 100 })
    const snippets = Object.fromEntries(
      body.hits.map(({ name, _snippet }: { name: string; _snippet: string | null }) => [name, _snippet]),
    )
    expect(snippets).toMatchObject({ Cy: '', Dee: null, Bo: 'Cafe\u0301s and ﬁnches: 東京の寿司が好き' })
    expect(snippets['Annegret Straßer']).toMatch(/^I cross the old town .* \S+…$/)
    expect(body.hits.every((hit: { _matches: object }) => Object.keys(hit._matches).length === 0)).toBe(true)
  })
})

describe('like', () => {
  let liked: number[]
  const place = uniqueCity('Likewise')
  const inPlace = searchIn(place)
  beforeAll(async () => {
    liked = await makePeople([
      { name: 'Alpinist', city: place, biography: 'Mountaineering, climbing and glaciers' },
      { name: 'Climber', city: place, biography: 'Climbing rocks and mountains, with ropes' },
      { name: 'Baker', city: place, biography: 'Bread, cakes and pastry from my oven' },
      { name: 'Confectioner', city: place, biography: 'Chocolate, cakes and sweets' },
    ])
    await until(
      () => inPlace({ q: 'glaciers', explain: 'true' }),
      ({ body }) =>
        body.hits.length > 0 &&
        body.hits.every((hit: { _rankingScoreDetails: { cosine: unknown } }) =>
          hit._rankingScoreDetails.cosine !== null
        ),
    )
    await until(() => inPlace({ like: liked[2]! }), (answer) => namesOf(answer)[0] === 'Confectioner')
  })

  test('ranks by nearness to a profile, which is not among the hits', async () => {
    for (const token of [undefined, caller.token]) {
      const [alpinist, baker] = await Promise.all([0, 2].map((index) => inPlace({ like: liked[index]! }, token)))
      expect(namesOf(alpinist!)[0]).toBe('Climber')
      expect(namesOf(alpinist!)).toHaveLength(3)
      expect(alpinist!.body.estimatedTotalHits).toBe(3)
      expect(namesOf(baker!)[0]).toBe('Confectioner')
    }
  })

  test('of two whose score is the highest, the nearer comes first, and not the emptier', async () => {
    const hills = uniqueCity('Hills')
    const made = await makePeople([
      {
        name: 'Liked',
        city: hills,
        biography: 'I walk in the hills each weekend, and I like to show the paths to others.',
      },
      { name: 'Empty', city: hills, biography: '' },
      {
        name: 'Full',
        city: hills,
        biography: 'Long walks in the hills are my weekends. I know each path and take guests.',
      },
    ])
    const hiking = (await seededInterests()).find(({ name }) => name === 'Hiking')!.id
    await asAdmin('POST', 'profile_interests', made.map((profile_id) => ({ profile_id, interest_id: hiking })))
    const answer = await until(
      () => searchIn(hills)({ like: made[0]! }),
      ({ body: { hits } }) => hits.length === 2 && hits[1]._rankingScore > 0.6 && hits[0].name === 'Full',
    )
    expect(namesOf(answer)).toEqual(['Full', 'Empty'])
    expect(answer.body.hits[0]._rankingScore).toBe(answer.body.hits[1]._rankingScore)
  })

  test('with words ranks by both, and goes with filters, pages, facets and explain', async () => {
    const plain = await inPlace({ q: 'cakes', explain: 'true' })
    const both = await inPlace({ q: 'cakes', like: liked[0]!, explain: 'true', facets: 'city', highlight: 'true' })
    expect(namesOf(plain)).not.toContain('Climber')
    expect(namesOf(both)).toContain('Climber')
    expect(namesOf(both)).not.toContain('Alpinist')
    expect(namesOf(both).slice(0, 2).toSorted()).toEqual(['Baker', 'Confectioner'])
    expect(both.body.facetDistribution.city).toEqual({ [place]: 3 })
    const pages = await Promise.all([0, 1, 2].map((offset) => inPlace({ like: liked[0]!, limit: 1, offset })))
    expect(pages.flatMap(namesOf)).toEqual(namesOf(await inPlace({ like: liked[0]! })))
  })

  test('a profile that is hidden, inactive, unknown or behind a block is 404 alike; others are not', async () => {
    const [other, inactive] = await Promise.all([
      signUp('Liked', { is_searchable: true, city: place }),
      signUp('Gone', { is_searchable: true, city: place }),
    ])
    await asAdmin('PATCH', `users?id=eq.${inactive.id}`, { is_active: false })
    const texts = new Set<string>()
    const expectNone = async (profile: number, token?: string) => {
      const answer = await inPlace({ like: profile }, token)
      expectError(answer, 404)
      texts.add(answer.text)
    }
    await expectNone(ids['Hidden Hal']!)
    await expectNone(inactive.profileId)
    await expectNone(2 ** 40)
    expect((await inPlace({ like: other.profileId }, caller.token)).status).toBe(200)
    expect((await inPlace({ like: caller.profileId }, caller.token)).status).toBe(200)
    await other.call('PUT', `/users/me/blocks/${caller.id}`)
    await expectNone(other.profileId, caller.token)
    await expectNone(caller.profileId, other.token)
    expect((await inPlace({ like: other.profileId })).status).toBe(200)
    await other.call('PATCH', '/users/searchable', { is_searchable: false })
    await expectNone(other.profileId)
    await expectNone(other.profileId, other.token)
    expect(texts.size).toBe(1)
  })

  test('must be an id', async () => {
    for (const like of ['0', '-1', 'x', '1.5', '99999999999999999999']) {
      const answer = await search({ like })
      expectError(answer, 400)
      expect(answer.body.error).toMatch(/^like: /)
    }
  })

  test('of a profile without a vector still answers', async () => {
    const [blank] = await makePeople([{ name: 'Blank', city: place }])
    const { status, body } = await inPlace({ like: blank! })
    expect(status).toBe(200)
    expect(body.hits.map(({ id }: { id: number }) => id)).not.toContain(blank)
    for (const { _rankingScore } of body.hits) expect(_rankingScore).toBeLessThanOrEqual(1)
  })
})

describe('the suggestion', () => {
  test('has no word that only hidden profiles had', async () => {
    const [profile] = await makePeople([{ name: 'Vrondelquist', city }])
    expect((await search({ q: 'vrondelqist ', suggest: 'true' })).body._suggestion?.query).toBe('vrondelquist ')
    await asAdmin('PATCH', `profiles?id=eq.${profile}`, { is_searchable: false })
    const { body } = await search({ q: 'vrondelqist ', suggest: 'true' })
    expect(body).toMatchObject({ hits: [], _suggestion: null })
  })
})

describe('completion', () => {
  let stranger: Person
  beforeAll(async () => {
    stranger = await signUp('Sven')
  })
  const complete = async (q: string, person?: Person, limit?: number) => {
    const parameters = new URLSearchParams({ q, ...(limit && { limit: `${limit}` }) })
    return (await (person ?? stranger).call('GET', `/users/search/complete?${parameters}`)) as Answer
  }
  const token = `Qo${Date.now()}x`

  test('gives interests, cities and displayed names, whatever case, accents and the word it begins', async () => {
    await makePeople([
      { name: `Zoë ${token}`, city: `São ${token}`, first_name: `First${token}`, last_name: `Last${token}` },
      { name: `Ulf`, city: `são ${token}` },
      { name: `Ulf`, city: `São ${token}` },
      { name: `東京${token}太郎` },
    ])
    expect((await complete(`zoe ${token.toUpperCase()}`)).body).toEqual({
      interests: [],
      cities: [],
      names: [`Zoë ${token}`],
    })
    expect((await complete(`SAO ${token}`)).body.cities).toEqual([`São ${token}`])
    expect((await complete(token)).body).toEqual({
      interests: [],
      cities: [`São ${token}`],
      names: expect.arrayContaining([`Zoë ${token}`, `東京${token}太郎`]),
    })
    expect((await complete(`京${token}太`)).body.names).toEqual([`東京${token}太郎`])
    expect((await complete('hik')).body.interests).toContain('Hiking')
    for (const unknown of [`First${token}`, `Last${token}`, `oe ${token}`]) {
      expect((await complete(unknown)).body.names).toEqual([])
    }
  })

  test('reads words for themselves if nobody has them as typed', async () => {
    const name = `Q${Date.now().toString(36).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)}`
    await makePeople([{ name: `${name} Maria Lopez`, city: 'Xanthuopolis' }, { name: `Dan O’B${name}` }])
    expect((await complete(`${name} lop`)).body.names).toEqual([`${name} Maria Lopez`])
    expect((await complete(`lopez ${name}`)).body.names).toEqual([`${name} Maria Lopez`])
    expect((await complete(`ob${name}`)).body.names).toEqual([`Dan O’B${name}`])
    expect((await complete('xanthoupol')).body.cities).toEqual(['Xanthuopolis'])
    expect((await complete('hikng')).body.interests).toContain('Hiking')
    expect((await complete(`${name} qqqqq`)).body.names).toEqual([])
    expect((await complete('Jazz, or hik')).body.interests).toContain('Jazz, or Hiking')
    expect((await complete('a  walk in xanthuo')).body).toMatchObject({
      cities: ['a  walk in Xanthuopolis'],
      names: [],
    })
    expect((await complete('jazz %%%')).body.interests).toEqual(['Jazz'])
    for (const nothing of ['jazz or hi', `jazz ${'q'.repeat(500)}`]) {
      expect((await complete(nothing)).body).toEqual({ interests: [], cities: [], names: [] })
    }
  })

  test('of nothing is nothing; limit is 5 by default and 20 at most; bad values name the parameter', async () => {
    const empty = { interests: [], cities: [], names: [] }
    expectError(await call('GET', '/users/search/complete?q=a'), 401)
    for (const q of ['', '  ', '%', '_', "'", '\\', ':*', '"']) expect((await complete(q)).body).toEqual(empty)
    const prefix = `Many${Date.now()}`
    await makePeople(Array.from({ length: 25 }, (_, index) => ({ name: `${prefix} ${index}` })))
    expect((await complete(prefix)).body.names).toHaveLength(5)
    expect((await complete(prefix, undefined, 2)).body.names).toHaveLength(2)
    expect((await complete(prefix, undefined, 100)).body.names).toHaveLength(20)
    const refused = await complete('a', undefined, -1)
    expectError(refused, 400)
    expect(refused.body.error).toMatch(/^limit: /)
    expectError(await complete('x'.repeat(513)), 400)
  })

  test('has nothing of hidden or inactive profiles, of the caller, or across a block in either direction', async () => {
    const name = `Wumpel${Date.now()}`
    const [one, two] = await Promise.all([
      signUp(`${name} One`, { is_searchable: true, city: `${name} Onetown` }),
      signUp(`${name} Two`, { is_searchable: true, city: `${name} Twotown` }),
    ])
    const all = { interests: [], cities: [`${name} Onetown`, `${name} Twotown`], names: [`${name} One`, `${name} Two`] }
    expect((await complete(name)).body).toEqual(all)
    expect((await complete(name, caller)).body).toEqual(all)
    const ofTwo = { interests: [], cities: [`${name} Twotown`], names: [`${name} Two`] }
    expect((await complete(name, one)).body).toEqual(ofTwo)
    await one.call('PUT', `/users/me/blocks/${two.id}`)
    for (const person of [one, two]) {
      expect((await complete(name, person)).body).toEqual({ ...all, cities: [], names: [] })
    }
    await one.call('PATCH', '/users/searchable', { is_searchable: false })
    expect((await complete(name)).body).toEqual(ofTwo)
    await asAdmin('PATCH', `users?id=eq.${two.id}`, { is_active: false })
    expect((await complete(name)).body).toEqual({ ...all, cities: [], names: [] })
  })

  test('follows a change of name and city', async () => {
    const name = `Zirkel${Date.now()}`
    const person = await signUp(name, { is_searchable: true, city: `${name}stadt` })
    await person.call('PATCH', '/users/profile', { name: `New ${name}`, city: `${name}dorf` })
    expect((await complete(name)).body).toEqual({ interests: [], cities: [`${name}dorf`], names: [`New ${name}`] })
  })
})
