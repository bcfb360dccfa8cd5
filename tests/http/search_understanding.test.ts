import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, type Person, seededInterests, signUp } from '../tools/people.ts'
import { makePeople, namesOf, searchIn, uniqueCity, until } from '../tools/search.ts'

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
