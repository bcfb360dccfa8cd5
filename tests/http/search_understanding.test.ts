import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, type Person, seededInterests, signUp } from '../tools/people.ts'
import { byWords, makePeople, namesOf, search, searchIn, uniqueCity, until } from '../tools/search.ts'

const city = uniqueCity('Understandia')
const inCity = searchIn(city)
let caller: Person

beforeAll(async () => {
  const interests = await seededInterests()
  const [hiker, cook] = await makePeople([
    { name: 'Wolmar', city, biography: 'Mountaineering every weekend' },
    { name: 'Brunhilt', city, biography: 'Cooking for friends' },
    { name: 'Zaphrodil Quorblin', city, biography: 'Quokkas' },
    { name: 'Baker Mulvoriq', city, biography: 'Accountancy' },
    { name: 'Oven', city, biography: 'I bake bread and pastry' },
  ])
  const idOf = (name: string) => interests.find((interest) => interest.name === name)!.id
  await asAdmin('POST', 'profile_interests', [
    { profile_id: hiker, interest_id: idOf('Hiking') },
    { profile_id: cook, interest_id: idOf('Cooking') },
  ])
  caller = await signUp('Caller', { bio: 'I love hiking in the mountains', location: 'Elsewhere' })
  const settled = await until(
    () => inCity({ q: 'trekking', explain: 'true' }, caller.token),
    ({ body }) =>
      body.hits.some((hit: { _rankingScoreDetails: { context: number } }) => hit._rankingScoreDetails.context > 0),
  )
  expect(namesOf(settled)[0]).toBe('Wolmar')
})

const both = (q: string, parameters = {}): Promise<[Answer, Answer]> =>
  Promise.all([inCity({ q, ...parameters }), inCity({ q, ...parameters }, caller.token)])

describe('a word that nobody has', () => {
  test.each(['xqzvbnkw', 'xqzvbnkw ', 'hxqzvbn wzzrtk', 'фывапролд', 'ooooooooooo'])(
    '%j means nothing and finds nobody, with and without a token',
    async (q) => {
      for (const { body } of await both(q)) expect(body).toMatchObject({ hits: [], estimatedTotalHits: 0 })
    },
  )

  test.each([
    ['mountainering ', 'Wolmar', 'mountaineering'],
    ['montaneering ', 'Wolmar', 'mountaineering'],
    // Two letters are missing, and the word is not finished.
    ['mntaineerin', 'Wolmar', 'mountaineering'],
    ['quokas ', 'Zaphrodil Quorblin', 'quokkas'],
  ])('%j is corrected and finds %s', async (q, name, meant) => {
    for (const answer of await both(q, { suggest: 'true' })) {
      expect(namesOf(answer)[0]).toBe(name)
      const { query, words } = answer.body._suggestion
      expect(words).toEqual([{ from: q.trim(), to: meant }])
      expect(query.trim()).toBe(meant)
      expect(answer.body.query).toBe(q)
    }
  })

  test('is completed if it is the last one, and embedded so', async () => {
    const { body } = await inCity({ q: 'mountaineer', explain: 'true', suggest: 'true' })
    expect(body.hits[0]).toMatchObject({ name: 'Wolmar', _rankingScoreDetails: { cosine: expect.any(Number) } })
    expect(body._suggestion).toBeNull()
  })

  test('is not corrected if the model knows it', async () => {
    for (const q of ['trekking ', 'senderismo ']) {
      const { body } = await inCity({ q, suggest: 'true' })
      expect(body._suggestion).toBeNull()
      expect(body.hits[0]?.name, q).toBe('Wolmar')
    }
  })
})

describe('names', () => {
  test.each(['Zaphrodil', 'zaphrodil quorblin', 'Zaphrodl '])('%j finds nobody who is merely alike', async (q) => {
    for (const answer of await both(q)) expect(namesOf(answer)).toEqual(['Zaphrodil Quorblin'])
  })

  test('of one person do not hide what the word means', async () => {
    expect(namesOf(await inCity({ q: 'baker ' }))).toEqual(expect.arrayContaining(['Baker Mulvoriq', 'Oven']))
  })
})

test('without suggest=true the answer has no suggestion, and other values are refused', async () => {
  expect(Object.keys((await inCity({ q: 'quokas ' })).body)).not.toContain('_suggestion')
  expect((await inCity({ q: 'quokkas ', suggest: 'true' })).body._suggestion).toBeNull()
  expect((await inCity({ q: 'quokkas', suggest: 'yes' })).status).toBe(400)
})

describe('the context of the caller', () => {
  test('brings nobody in, changes no total and puts nobody above a name', async () => {
    for (const q of ['cooking', 'zaphrodil quorblin', 'mountaineering', 'trekking']) {
      const [without, withContext] = await both(q, { explain: 'true' })
      expect(withContext.body.estimatedTotalHits).toBe(without.body.estimatedTotalHits)
      expect(namesOf(withContext).toSorted()).toEqual(namesOf(without).toSorted())
      expect(
        without.body.hits.every((hit: { _rankingScoreDetails: { context: number } }) =>
          hit._rankingScoreDetails.context === 0
        ),
      ).toBe(true)
    }
    const [, { body }] = await both('Wolmar')
    expect(body.hits[0].name).toBe('Wolmar')
  })

  test('raises who shares it, and never above 1', async () => {
    const [without, withContext] = await both('trekking')
    const scoreOf = ({ body }: Answer) => body.hits[0]._rankingScore
    expect(scoreOf(withContext)).toBeGreaterThanOrEqual(scoreOf(without))
    for (const { _rankingScore } of withContext.body.hits) expect(_rankingScore).toBeLessThanOrEqual(1)
  })
})

describe('a sentence', () => {
  const place = uniqueCity('Sententia')
  const inPlace = searchIn(place)
  beforeAll(() =>
    makePeople([
      { name: 'Potter', city: place, biography: 'Clay, a kiln and a wheel: pottery', age: 64 },
      { name: 'Wolf', city: place, biography: 'The one who would love to show you to somebody', age: 71 },
      { name: 'Ewe', city: place, biography: 'Rockclimbing. Camping with dogs, 3 children', age: 35 },
      { name: 'Dan O’Brien', city: place, biography: 'Beekeeping for years, rock climbing, o sole mio', age: null },
      { name: 'Ana', city: place, biography: 'Bee keeping; I speak Turkish', age: 30 },
      { name: 'Lee', city: place, biography: 'Tai chi at dawn', age: 50 },
      { name: 'Kit', city: place, biography: 'Chickens and a tailor', age: 50 },
    ])
  )
  const understood = async (q: string) => (await inPlace({ q, explain: 'true' })).body._understood

  test('is understood from the first word that carries meaning to the last', async () => {
    const { body } = await inPlace({
      q: 'I would love to find somebody who could show me pottery',
      explain: 'true',
      highlight: 'true',
    })
    expect(body.hits[0]).toMatchObject({ name: 'Potter', _matches: { biography: [{ length: 7 }] } })
    expect(namesOf({ body } as Answer)).not.toContain('Wolf')
    expect(body._understood).toMatchObject({ words: ['pottery'], embedded: 'pottery' })
    expect(body.query).toBe('I would love to find somebody who could show me pottery')
  })

  test('of more than ten words that carry meaning is embedded as a whole', async () => {
    const words = 'kayak rivers mountains guitar jazz opera bread cheese wine chess football pottery'
    expect((await understood(words)).embedded).toContain('pottery')
  })

  test('with a name that has an apostrophe does not mark a letter that stands alone', async () => {
    const { body } = await inPlace({ q: "o'brien ", highlight: 'true' })
    expect(body.hits[0].name).toBe('Dan O’Brien')
    const { name, biography } = body.hits[0]._matches
    expect(name).toEqual(expect.arrayContaining([expect.objectContaining({ start: 4 })]))
    expect(biography).toBeUndefined()
  })

  test('that ends with a short word is not completed where that is a word', async () => {
    expect(namesOf(await inPlace({ q: 'tai chi' }))[0]).toBe('Lee')
    expect((await understood('tai chi')).embedded).not.toContain('chickens')
  })

  test.each([
    ['camping but not dogs', ['dogs', 'dog']],
    ['camping without dogs', ['dogs', 'dog']],
    ['wandern ohne Hunde', ['hunde', 'hundes']],
    ['quiero senderismo sin perros', ['perros']],
    ['je cherche la montagne sans chiens', ['chiens']],
    ['een huis zonder honden', ['honden']],
    ['köpek olmayan bir ev', ['köpek']],
    ['climbing, except in New York', ['new york']],
    ['not only camping', []],
    ['no problem with dogs', []],
    ['no Porto com quem gosta de surf', []],
  ])('%j excludes %j', async (q, excluded) => {
    expect((await understood(q)).excluded).toEqual(excluded)
  })

  test.each([
    ['in her sixties', { min: 60, max: 69 }, ['Dan O’Brien', 'Potter']],
    ['over 70', { min: 71, max: 120 }, ['Dan O’Brien', 'Wolf']],
    ['30-40', { min: 30, max: 40 }, ['Ana', 'Dan O’Brien', 'Ewe']],
    ['Mitte dreißig', { min: 34, max: 36 }, ['Dan O’Brien', 'Ewe']],
    ['under 31', { min: 18, max: 30 }, ['Ana', 'Dan O’Brien']],
  ])('%j is an age', async (q, age, names) => {
    const { body } = await inPlace({ q, explain: 'true' })
    expect(body._understood.age).toEqual(age)
    expect(namesOf({ body } as Answer).toSorted()).toEqual(names)
  })

  test.each(['over 70 countries', '30-40 minutes', '1960', 'seventies music', '25', 'a 5 year old'])(
    '%j is no age',
    async (q) => expect((await understood(q)).age).toBeNull(),
  )

  test.each([
    ['obrien', 'Dan O’Brien'],
    ["O'Brien", 'Dan O’Brien'],
    ['rock climbing', 'Ewe'],
    ['rockclimbing ', 'Ewe'],
    ['bee keeping', 'Dan O’Brien'],
    ['bee-keeping', 'Dan O’Brien'],
    ['rock-climbing ', 'Ewe'],
    ['three children', 'Ewe'],
  ])('%j finds %j by words, however it is written', async (q, name) => {
    const { body } = await inPlace({ q, explain: 'true' })
    const hit = body.hits.find((each: { name: string }) => each.name === name)
    const asked = hit?._rankingScoreDetails.words
    expect(asked?.[0]).toBe(asked?.[1])
    expect(asked).toBeDefined()
  })
})

describe('a score', () => {
  const place = uniqueCity('Scoria')
  const inPlace = searchIn(place)
  beforeAll(async () => {
    await makePeople([
      { name: 'Pottery', city: place, biography: 'Ceramics' },
      { name: 'Both', city: place, biography: 'Pottery and accordions' },
      { name: 'One', city: place, biography: 'Pottery, clay, ceramics, glazing' },
      { name: 'Like', city: place, biography: 'Ceramics' },
    ])
    await until(
      () => inPlace({ q: 'pottery', explain: 'true' }),
      ({ body }) =>
        body.hits.length === 4 &&
        body.hits.every((hit: { _rankingScoreDetails: { cosine: unknown } }) =>
          hit._rankingScoreDetails.cosine !== null
        ),
    )
  })
  const scores = async (q: string): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await inPlace({ q })).body.hits.map((hit: { name: string; _rankingScore: number }) => [
        hit.name,
        hit._rankingScore,
      ]),
    )

  test('is 1 for who has all the words, and at most .7 for a meaning alone', async () => {
    for (const q of ['pottery ', 'keramik ']) {
      const { Pottery, Like } = await scores(q)
      if (q === 'pottery ') expect(Pottery).toBe(1)
      expect(Like).toBeGreaterThan(0.3)
      expect(Like).toBeLessThanOrEqual(0.7)
    }
  })

  test('of all the words is above one of some of them, however near in meaning', async () => {
    const { Both, One } = await scores('pottery accordions ')
    expect(Both).toBeGreaterThan(One!)
    expect(Both).toBeLessThan(1)
  })

  test.each(['locksmith', 'carpenter', 'welder', 'glassblower'])(
    'of a trade that nobody has, %s, says so',
    async (q) => {
      expect(Math.max(0, ...Object.values(await scores(`${q} `)))).toBeLessThan(0.5)
    },
  )
})

describe('a place', () => {
  beforeAll(async () => {
    await makePeople([
      { name: 'Wienerin Quoll', city: 'Wien', country: 'Österreich', biography: 'Quollwalks' },
      { name: 'Dane Quoll', city: 'Copenhagen', country: 'Denmark', biography: 'Quollwalks. I speak Turkish' },
      { name: 'Tuerk Quoll', city: 'Kadıköy', country: 'Türkiye', biography: 'Quollwalks' },
      { name: 'Briton Quoll', city: 'Leeds', country: 'United Kingdom', biography: 'Quollwalks' },
      { name: 'Genuine Quoll', city: 'Genui', biography: 'Quollwalks' },
      { name: 'Yorker Quoll', city: 'York', country: 'England', biography: 'Quollwalks, new' },
    ])
    await until(
      () => search({ q: '"quoll" walks ', explain: 'true' }),
      (answer) =>
        byWords(answer).length === 6 &&
        answer.body.hits.every((hit: { _rankingScoreDetails: { cosine: unknown } }) =>
          hit._rankingScoreDetails.cosine !== null
        ),
    )
  })
  const found = async (q: string, filters = {}) =>
    byWords(await search({ q: `"quoll" ${q} `, explain: 'true', ...filters }))
  const best = async (q: string) => namesOf(await search({ q: `"quoll" ${q} ` }))[0]

  test.each([
    ['Vienna', 'Wienerin Quoll'],
    ['Vienne', 'Wienerin Quoll'],
    ['Viennese', 'Wienerin Quoll'],
    ['Austria', 'Wienerin Quoll'],
    ['Kopenhagen', 'Dane Quoll'],
    ['UK', 'Briton Quoll'],
    ['Istanbul', 'Tuerk Quoll'],
    ['speaks Turkish', 'Dane Quoll'],
  ])('%j finds %j first', async (q, name) => expect(await best(q)).toBe(name))

  test('of another name is a filter, too', async () => {
    expect(await found('', { filterCity: 'Vienna' })).toEqual(['Wienerin Quoll'])
    expect(await found('', { filterCountry: 'UK' })).toEqual(['Briton Quoll'])
    expect(await found('', { filterCity: 'Vienna', filterCountry: 'Denmark' })).toEqual([])
  })

  test.each(['New York', 'Genua', 'Reykjavik'])('where nobody is, %j, finds nobody', async (q) => {
    const { body } = await search({ q, filterCity: 'York,Wien,Genui', explain: 'true' })
    expect(body.hits.map(({ name }: { name: string }) => name)).toEqual([])
  })

  test('is no neighbour in spelling, though a word that is no place is corrected', async () => {
    const { body } = await search({ q: 'Genuo', filterCity: 'York,Wien,Genui' })
    expect(namesOf({ body } as Answer)).toEqual(['Genuine Quoll'])
  })

  test('is told from a language', async () => {
    const told = async (q: string) => {
      const { places, languages } = (await search({ q, explain: 'true' })).body._understood
      return { places, languages }
    }
    expect(await told('speaks Turkish ')).toEqual({ places: [], languages: ['turkish'] })
    expect(await told('Turkish coffee ')).toEqual({ places: ['turkish'], languages: [] })
    expect(await told('teaching in Austria ')).toEqual({ places: ['austria'], languages: [] })
  })
})

test('a query that was understood before means what profiles make of it now', async () => {
  const place = uniqueCity('Karst')
  await makePeople([{ name: 'Caver', city: place, biography: 'Caves, caverns and grottoes' }])
  const ask = () => searchIn(place)({ q: 'stalactitez ' })
  await until(
    () => searchIn(place)({ q: 'cavern', explain: 'true' }),
    ({ body }) => body.hits[0]?._rankingScoreDetails.cosine > 0,
  )
  expect(namesOf(await ask())).toEqual([])
  await makePeople([{ name: 'Elsewhere', city: uniqueCity('Elsewhere'), biography: 'Stalactites' }])
  expect(namesOf(await ask())).toEqual(['Caver'])
})
