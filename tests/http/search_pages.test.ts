import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, type Person, seededInterests, signUp } from '../tools/people.ts'
import { byWords, makePeople, namesOf, searchIn, uniqueCity, until } from '../tools/search.ts'

// deno-lint-ignore no-explicit-any
type Hit = any
/** The names in this city that match by keywords alone. */
const lookUp = (city: string) => async (q: string) =>
  byWords(await searchIn(city)({ q, explain: 'true', limit: 100, filterCity: city }))

describe('keywords', () => {
  const city = uniqueCity('Ortho')
  const found = lookUp(city)
  beforeAll(() =>
    makePeople([
      { name: 'Qorv', city },
      { name: 'Brelk', city },
      { name: 'Plonthir', city },
      { name: 'Zanquilop', city },
      { name: 'Mórtënsvåld Gribwax', city },
      { name: 'Gribwax Hulm Mortensvald', city },
      { name: 'Sushi', city, biography: '週末は東京で美味しい寿司を食べるのが好きです。' },
      { name: 'Thai', city, biography: 'ฉันชอบกินผัดไทยที่ตลาด' },
    ])
  )

  test.each([
    ['Qorv', ['Qorv']],
    ['Qorw', []],
    ['Brelk', ['Brelk']],
    ['Brelt', ['Brelk']],
    ['Brlk ', []],
    ['Brelkk', ['Brelk']],
    ['Brlek', ['Brelk']],
    ['Brlek ', ['Brelk']],
    ['Brleq', []],
    ['Drelk', []],
    ['rBelk', []],
    ['Plonthyr', ['Plonthir']],
    ['Plomthyr', []],
    ['Plontihr', ['Plonthir']],
    ['Olonthir', []],
    ['Zamquilap', ['Zanquilop']],
    ['Zamqnilap', []],
    ['Zanuqilpo', ['Zanquilop']],
    ['Xanquilop', ['Zanquilop']],
    ['Xamquilop', []],
    ['zanquilop', ['Zanquilop']],
    ['ZÁNQÜILÔP', ['Zanquilop']],
  ])('%j matches with the typos that its length allows: %j', async (q, expected) => {
    expect(await found(q)).toEqual(expected)
  })

  const both = ['Gribwax Hulm Mortensvald', 'Mórtënsvåld Gribwax']
  test.each([
    ['mortensvald', both],
    ['mort', both],
    ['MÓRT', both],
    ['mort ', []],
    ['mortens gribw', both],
    ['mort hul', [both[0]]],
    ['mort brelk', ['Brelk']],
    ['"mort"', []],
    ['gribwax', both],
    ['"gribwax hulm"', [both[0]]],
    ['"hulm gribwax"', []],
    ['"gribwax mortensvald"', []],
    ['"Mortensvald Gribwax"', [both[1]]],
    ['"gribwax hulm', [both[0]]],
    ['gribwax -hulm', [both[1]]],
    ['gribwax -HÜLM', [both[1]]],
    ['gribwax -hul', both],
    ['gribwax -"hulm mortensvald"', [both[1]]],
    ['gribwax -"mortensvald hulm"', both],
    ['-hulm gribwax', [both[1]]],
    ['gribwax -gribwax', []],
    ['寿司', ['Sushi']],
    ['東京 寿司', ['Sushi']],
    ['寿京', []],
    ['司寿', []],
    ['ผัดไทย', ['Thai']],
    ['qorv brelk', ['Brelk', 'Qorv']],
  ])('%j finds %j', async (q, expected) => {
    expect(await found(q)).toEqual(expected)
  })

  test('a query of exclusions alone finds all others with score 1', async () => {
    const { body } = await searchIn(city)({ q: '-gribwax -"qorv"' })
    expect(namesOf({ body } as Answer).toSorted()).toEqual(['Brelk', 'Plonthir', 'Sushi', 'Thai', 'Zanquilop'])
    expect(body.hits.map((hit: Hit) => hit._rankingScore)).toEqual([1, 1, 1, 1, 1])
    expect(body.estimatedTotalHits).toBe(5)
  })

  test('the score prefers more words, fewer typos, adjacent words and the name', async () => {
    const place = uniqueCity('Rankholm')
    const people = [
      { name: 'Fenwick Mulgrove' },
      { name: 'Fenwick Ashby Mulgrove' },
      { name: 'Fenwick Mulgrave' },
      { name: 'Ashby', biography: 'Fenwick Mulgrove' },
      { name: 'Fenwick Ashby' },
    ]
    await makePeople(people.toReversed().map((person) => ({ ...person, city: place })))
    const ranked = await searchIn(place)({ q: 'fenwick mulgrove ', explain: 'true' })
    const keyword = (name: string): number =>
      ranked.body.hits.find((hit: Hit) => hit.name === name)._rankingScoreDetails.keyword
    const [perfect, apart, mistyped, elsewhere, half] = people.map(({ name }) => keyword(name))
    expect(perfect).toBe(1)
    // Ranking rules in this order: words, typos, proximity, attributes.
    expect([perfect, elsewhere, apart, mistyped, half]).toEqual(
      [perfect, elsewhere, apart, mistyped, half].toSorted((a, b) => b! - a!),
    )
    expect(half).toBeLessThan(0.51)
  })
})

describe('pages and scores', () => {
  const city = uniqueCity('Pagenstadt')
  const inCity = searchIn(city)
  const count = 43
  const tastes = ['Hiking in the hills', 'Opera and violins', 'Zorbing quokkas', 'Baking bread', '']
  const queries = ['', 'quokkas', 'hiking', 'mountain walks with music', 'zorbing quokkas person', '-opera', 'persno']
  let ana: Person
  let profiles: number[]

  beforeAll(async () => {
    profiles = await makePeople(Array.from({ length: count }, (_, index) => ({
      name: `Person ${index}`,
      city,
      biography: tastes[index % tastes.length] || null,
    })))
    ana = await signUp('Ana Person', { city, bio: 'I love mountains and music', is_searchable: true })
    const explained = () => inCity({ limit: 100, explain: 'true' }, ana.token)
    const settled = await until(
      explained,
      ({ body }) => body.hits.filter((hit: Hit) => hit._rankingScoreDetails.cosine !== null).length === count,
      20,
    )
    expect(settled.body.estimatedTotalHits).toBe(count)
  })

  test.each(queries)('pages of %j have no duplicates or gaps, one total and descending scores', async (q) => {
    for (const token of [undefined, ana.token]) {
      const all = (await inCity({ q, limit: 100 }, token)).body
      expect(all.estimatedTotalHits).toBe(all.hits.length)
      expect(all.hits.length).toBeGreaterThan(0)
      const paged: Hit[] = []
      for (let offset = 0; offset <= all.hits.length; offset += 7) {
        const { body } = await inCity({ q, limit: 7, offset }, token)
        expect(body.estimatedTotalHits).toBe(all.hits.length)
        expect(body.hits.length).toBe(Math.min(7, all.hits.length - offset))
        paged.push(...body.hits)
      }
      expect(paged).toEqual(all.hits)
      expect(new Set(paged.map(({ id }) => id)).size).toBe(paged.length)
      const scores: number[] = paged.map((hit) => hit._rankingScore)
      for (const score of scores) expect(score >= 0 && score <= 1, `${score}`).toBe(true)
      expect(scores).toEqual(scores.toSorted((one, other) => other - one))
      const shown = paged.some(({ id }) => id === ana.profileId)
      if (token || ['', '-opera', 'persno'].includes(q)) expect(shown).toBe(!token)
    }
  })

  test('an empty query without a token finds everyone with score 1, in a stable order', async () => {
    const { body } = await inCity({ limit: 100 })
    expect(body.hits.map((hit: Hit) => hit.id).toSorted((a: number, b: number) => a - b)).toEqual(
      [...profiles, ana.profileId].toSorted((a, b) => a - b),
    )
    expect(new Set(body.hits.map((hit: Hit) => hit._rankingScore))).toEqual(new Set([1]))
    expect((await inCity({ limit: 100 })).body).toEqual(body)
  })

  test('an empty query with a token ranks profiles similar to the caller first', async () => {
    const { body } = await inCity({ limit: 3 }, ana.token)
    for (const { biography } of body.hits) expect(biography).toMatch(/Hiking|Opera/)
  })

  type Rule = [rank: number, max: number] | null
  /**
   * Meilisearch's ranking rules as one number, times the share of the query's rarity that was found, combined with the
   * cosine scaled between floor and ceiling; then the bonuses of all words and of the caller's context.
   */
  const recompute = (details: Hit): number => {
    const { words, coverage, cosine, similarityFloor, similarityCeiling, namesMissing, ratio, named, context } = details
    let match = 1
    let product = 1
    const order = ['words', 'typo', 'proximity', 'attribute', 'position', 'exactness', 'exactWords']
    for (const rule of order.map((name): Rule => words?.[name] ?? null)) {
      if (!rule) continue
      product *= rule[1]
      match -= (rule[1] - rule[0]) / product
    }
    // Without words in the query, everybody matches them, unless the caller's context ranks.
    const keyword = words ? match * coverage : details.keyword
    if (!words) expect([0, 1]).toContain(keyword)
    const semantic = cosine === null
      ? 0
      : Math.min(1, Math.max(0, (cosine - similarityFloor) / (similarityCeiling - similarityFloor))) *
        (1 - namesMissing)
    const fused = (1 - ratio) * keyword + ratio * semantic
    const best = named ? Math.max(fused, keyword) : fused
    const matched = words && coverage > 0.999999 ? best + 0.15 * (1 - best) : best
    const score = matched + context * ((keyword > 0 ? 1 : ratio) - matched)
    // Calibrated: .5 where half of the hits by meaning alone are wanted.
    if (score < 0.44) return score * 0.5 / 0.44
    return score < 0.5 ? 0.5 + (score - 0.44) * 0.2 / 0.06 : 0.7 + (score - 0.5) * 0.6
  }

  test.each(queries)('the score of %j can be recomputed from its details', async (q) => {
    for (const token of [undefined, ana.token]) {
      const [plain, explained] = await Promise.all([
        inCity({ q, limit: 100 }, token),
        inCity({ q, limit: 100, explain: 'true' }, token),
      ])
      expect(plain.body.hits.some((hit: Hit) => '_rankingScoreDetails' in hit)).toBe(false)
      expect((await inCity({ q, limit: 100, explain: 'false' }, token)).body).toEqual(plain.body)
      expect(explained.body.hits.map(({ _rankingScoreDetails: _, ...hit }: Hit) => hit)).toEqual(plain.body.hits)
      for (const { _rankingScore, _rankingScoreDetails } of explained.body.hits) {
        const score = recompute(_rankingScoreDetails)
        expect(Math.abs(score - _rankingScore), JSON.stringify(_rankingScoreDetails)).toBeLessThan(1e-9)
      }
    }
  })
})

test('of 1,010 matches 1,000 can be paged, and the total is 1,000', async () => {
  const city = uniqueCity('Crowdville')
  await makePeople(Array.from({ length: 1010 }, (_, index) => ({ name: `Crowd ${index}`, city })))
  for (const q of ['', 'crowd', 'crwod ']) {
    const pages = [[0, 10], [990, 10], [995, 5], [1000, 0]] as const
    for (const [offset, expected] of pages) {
      const { status, body } = await searchIn(city)({ q, limit: 10, offset })
      expect({ status, total: body.estimatedTotalHits, hits: body.hits.length }, `${q} ${offset}`).toEqual({
        status: 200,
        total: 1000,
        hits: expected,
      })
    }
  }
})

describe('meaning', () => {
  test('a profile is found by meaning within ten seconds of becoming searchable, and not once hidden', async () => {
    const city = uniqueCity('Semantica')
    const interests = await seededInterests()
    const ids = (name: string) => [interests.find((interest) => interest.name === name)!.id]
    const hiker = await signUp('Hiker', { city, interest_ids: ids('Hiking') })
    await signUp('Gamer', { city, interest_ids: ids('Chess'), is_searchable: true })
    await hiker.call('PATCH', '/users/searchable', { is_searchable: true })
    const request = () => searchIn(city)({ q: 'trekking', explain: 'true' })
    const answer = await until(request, ({ body }) => body.hits.length > 0)
    expect(namesOf(answer)).toEqual(['Hiker'])
    const [{ _rankingScoreDetails: details, _rankingScore }] = answer.body.hits
    expect(details).toMatchObject({ words: null, keyword: 0, ratio: 0.5, named: false })
    expect(_rankingScore).toBeGreaterThan(0.5)
    expect(_rankingScore).toBeLessThanOrEqual(0.7)
    expect(namesOf(await searchIn(city)({ q: 'trekking -hiking' }))).toEqual([])
    await hiker.call('PATCH', '/users/searchable', { is_searchable: false })
    expect((await request()).body).toMatchObject({ hits: [], estimatedTotalHits: 0 })
  })

  test('a match by name ranks above a match by meaning', async () => {
    const city = uniqueCity('Guardia')
    const interest_ids: number[] = (await seededInterests())
      .filter(({ name }: { name: string }) => ['Opera', 'Live music'].includes(name))
      .map(({ id }: { id: number }) => id)
    const [named, lookalike] = await makePeople([
      { name: 'Violet Carpenter', city, biography: 'Accountancy and spreadsheets' },
      { name: 'Somebody Else', city, biography: 'Violet carpenter. A carpenter in violet' },
    ])
    await asAdmin('POST', 'profile_interests', interest_ids.map((interest_id) => ({ profile_id: named, interest_id })))
    const caller = await signUp('Caller', { bio: 'A carpenter who paints in violet', city: 'Elsewhere' })
    for (const q of ['Violet Carpenter', 'violet carpenter ', '"violet carpenter"', 'violet carp']) {
      const request = () => searchIn(city)({ q, explain: 'true' }, caller.token)
      const { body } = await until(
        request,
        ({ body }) => body.hits.length === 2 && body.hits.every((hit: Hit) => hit._rankingScoreDetails.ratio === 0.5),
      )
      expect(body.hits.map(({ id }: Hit) => id), q).toEqual([named, lookalike])
      expect(body.hits[0]._rankingScoreDetails.named).toBe(true)
    }
  })
})
