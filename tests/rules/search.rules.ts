/** The search: its answer, what it looks through, whom it leaves out, pages and scores. */
import { anonymous, asAdmin, Caller, equal, is, type Json, people, type Person, setting, sql, test } from './fixture.ts'
import { addressOf, byWords, embedAll, finds, idsOf, makeProfiles, namesOf, search } from './search_fixture.ts'

const ascending = (one: number, other: number) => one - other
const values = (count: number): string => Array.from({ length: count }, (_, index) => `v${index}`).join()

/** Two whose name is found by the same word: Ana with all fields, Ben with hardly any. */
const twoPeople = async (): Promise<[Person, Person]> => {
  const [ana, ben] = await people('ana', 'ben')
  const image_url = 'https://example.com/a.png'
  const interest_ids = await idsOf('Yoga', 'Chess')
  const full = { biography: 'Zorbing quokkas', country: 'Plónthia', city: 'Qwéxbürg', image_url, interest_ids }
  const others = { first_name: 'Ana', bio: 'Snorkwump', location: 'Farnquist', is_searchable: true }
  await ana.patch('/users/profile', { ...full, ...others, name: 'Ana Vrelkorin' })
  await ben.patch('/users/profile', { name: 'Ben Vrelkorin', city: 'Qwéxbürg', is_searchable: true })
  await embedAll()
  return [ana, ben]
}

test('an answer has just the documented fields, and echoes the query and the page', async () => {
  const [ana, ben] = await twoPeople()
  const { hits, ...rest } = await search({ q: 'Vrelkorin' })
  equal(rest, { query: 'Vrelkorin', estimatedTotalHits: 2, limit: 20, offset: 0 })
  const byId = Object.fromEntries(hits.map(({ _rankingScore, ...hit }: Json) => [hit.user_id, hit]))
  const shown = { biography: 'Zorbing quokkas', country: 'Plónthia', image_url: 'https://example.com/a.png' }
  const nothing = { biography: null, country: null, image_url: null }
  const hitOf = ({ id, profileId }: Person, name: string) => ({ id: profileId, user_id: id, name, city: 'Qwéxbürg' })
  equal(byId[ana.id], { ...hitOf(ana, 'Ana Vrelkorin'), ...shown, interests: ['Chess', 'Yoga'] })
  equal(byId[ben.id], { ...hitOf(ben, 'Ben Vrelkorin'), ...nothing, interests: [] })
  const signs = ['"Vrelkorin', '-quokkas', 'é 東京 % & + # ?', "'; drop table users; --", '\\', '<->', ':*']
  for (const q of ['', ' ', '  Vrelkorin ', ...signs]) is(await search({ q }), { query: q })
  is(await search(), { query: '' })
  // deno-fmt-ignore
  const pages: [Record<string, string | number>, number, number][] = [
    [{ limit: '', offset: '', q: '', filterInterests: '', filterCountry: '' }, 20, 0],
    [{ limit: 1, offset: 1 }, 1, 1], [{ limit: 100, offset: 1000 }, 100, 1000], [{ limit: 101, offset: 9 }, 100, 9],
    [{ limit: 1e15, offset: 2 ** 31 }, 100, 2 ** 31], [{ offset: 2 ** 53 - 1 }, 20, 2 ** 53 - 1],
  ]
  for (const [parameters, limit, offset] of pages) {
    const { hits, ...page } = await search(parameters)
    equal(page, { query: '', estimatedTotalHits: 2, limit, offset })
    equal(hits.length, Math.max(0, Math.min(2 - offset, limit)))
  }
})

test('a wrong parameter is 400 and named; the longest query and fifty values are not', async () => {
  const wrong: Record<string, (string | number | string[])[]> = {
    limit: [0, -1, 1.5, 'x', '1e1', ' 1', '0x1', ['1', '2']],
    offset: [-1, 0.5, 'x', '99999999999999999999', ['0', '1']],
    q: [['a', 'b'], 'x'.repeat(513), '😀'.repeat(513), 'a\0b'],
    filterInterests: [values(51), [values(26), values(25)], 'a\0b'],
    filterCity: [values(51), [values(50), 'one more'], 'a\0b'],
    filterCountry: [values(51), 'a\0b'],
    explain: ['yes', '1'],
    suggest: ['yes'],
    facets: ['name', 'city,age', 'City', 'city,', '__proto__'],
    like: ['0', '-1', 'x', '1.5', '99999999999999999999'],
  }
  for (const [name, list] of Object.entries(wrong)) {
    for (const value of list) await anonymous.get(addressOf({ [name]: value }), 400, name)
  }
  for (const q of ['x'.repeat(512), '😀'.repeat(512), 'a '.repeat(256), '"'.repeat(512), '-a '.repeat(170)]) {
    await search({ q, filterCountry: values(50) })
  }
})

test('filters take whole names in any case and accent, either of one kind and all kinds together', async () => {
  await makeProfiles([
    { name: 'One', city: 'Filtrópolis', country: 'Côte Plonth', interests: ['Street food'] },
    { name: 'Two', city: 'Filtrópolis', country: 'Vrelkia', interests: ['Chess', 'Yoga'] },
    { name: 'Three', city: 'Other', country: 'Vrelkia' },
    { name: 'Four', city: '  FILTRÓPOLIS ', country: null },
    { name: 'Five', country: 'Germany' },
  ])
  // deno-fmt-ignore
  const cases: [Record<string, string | string[]>, string[]][] = [
    [{ filterCity: 'Filtropolis' }, ['Four', 'One', 'Two']],
    [{ filterCity: 'Filtrópolis,Other' }, ['Four', 'One', 'Three', 'Two']],
    [{ filterCity: ['Filtrópolis', 'Other'] }, ['Four', 'One', 'Three', 'Two']],
    [{ filterCountry: 'COTE plonth' }, ['One']],
    [{ filterCountry: 'vrélkïa' }, ['Three', 'Two']],
    [{ filterCountry: ' ,  Vrelkia , ,' }, ['Three', 'Two']],
    [{ filterCountry: ' , ,' }, ['Five', 'Four', 'One', 'Three', 'Two']],
    [{ filterCountry: 'German' }, []],
    [{ filterInterests: 'street FOOD,yoga' }, ['One', 'Two']],
    [{ filterInterests: 'Street food,Yoga', filterCountry: 'Vrelkia' }, ['Two']],
    [{ filterCity: 'Other', filterCountry: 'Vrelkia' }, ['Three']],
    [{ filterInterests: 'Chess', filterCity: 'Other' }, []],
    [{ filterCountry: 'Vrel' }, []],
    [{ filterInterests: 'Nosuchthing' }, []],
  ]
  for (const [filters, names] of cases) {
    const answer = await search(filters)
    is([namesOf(answer).sort(), answer.estimatedTotalHits], [names, names.length], JSON.stringify(filters))
  }
})

test('nobody is among their own hits, and whoever has no valid token is anonymous', async () => {
  const [ana, ben] = await twoPeople()
  const all = ['Ana Vrelkorin', 'Ben Vrelkorin']
  for (const q of ['', 'Vrelkorin', '"Vrelkorin"', '-nobody', 'yoga']) {
    const expected = q === 'yoga' ? all.slice(0, 1) : all
    for (const [who, own] of [[anonymous, ''], [ana, all[0]], [ben, all[1]]] as const) {
      const answer = await search({ q }, who)
      const others = expected.filter((name) => name !== own)
      is([namesOf(answer).sort(), answer.estimatedTotalHits], [others, others.length], `${who.name} ${q} `)
    }
  }
  const answer = await search({ q: 'Vrelkorin' })
  for (const token of ['garbage', `${ana.token}x`, 'a.b.c']) {
    equal(await search({ q: 'Vrelkorin' }, new Caller('nobody', token)), answer)
  }
})

test('the context of the caller is their own, and an anonymous or deactivated caller has none', async () => {
  await twoPeople()
  const [cat] = await people('cat')
  await cat.patch('/users/profile', { bio: 'Yoga' })
  await embedAll()
  const contextOf = async (who: Caller) =>
    (await search({ q: 'yoga', explain: 'true' }, who)).hits[0]._rankingScoreDetails.context
  is(await contextOf(anonymous), 0)
  is(await contextOf(cat) > 0, true)
  await asAdmin('update public.users set is_active = false where id = $1', [cat.id])
  equal(await search({ q: 'yoga' }, cat), await search({ q: 'yoga' }))
})

test('what is public is searched, and what is private is not', async () => {
  const [vera] = await people('kwyjibo')
  const names = { name: 'Vomzek', first_name: 'Hesperin', last_name: 'Jundliq', city: 'Zanqui', country: 'Gromphia' }
  const texts = { biography: 'Blistrovaq', bio: 'Snorkwump', location: 'Farnquist' }
  const interest_ids = await idsOf('Birdwatching')
  await vera.patch('/users/profile', { ...names, ...texts, is_searchable: true, interest_ids })
  for (const q of ['Vomzek', 'birdwatching', 'Zanqui', 'Gromphia', 'Blistrovaq', 'Hesperin', 'Jundliq']) {
    is(await byWords(q), ['Vomzek'], q)
  }
  for (const q of ['kwyjibo', 'Snorkwump', 'Farnquist', 'example', 'tests']) is(await byWords(q), [], q)
})

test('a word matches by its beginning, in a phrase, with the typing errors that its length allows', async () => {
  const both = ['Gribwax Hulm Mortensvald', 'Mórtënsvåld Gribwax'] as const
  await makeProfiles([
    ...['Qorv', 'Brelk', 'Plonthir', 'Zanquilop', ...both].map((name) => ({ name })),
    { name: 'Sushi', biography: '週末は東京で美味しい寿司を食べるのが好きです。' },
    { name: 'Thai', biography: 'ฉันชอบกินผัดไทยที่ตลาด' },
  ])
  const [first, second] = both
  // deno-fmt-ignore
  await finds([
    ['Qorv', ['Qorv']], ['Qorw', []], ['Brelk', ['Brelk']], ['Brelt', ['Brelk']], ['Brlk ', []], ['Brelkk', ['Brelk']],
    ['Brlek', ['Brelk']], ['Brlek ', ['Brelk']], ['Brleq', []], ['Drelk', []], ['rBelk', []],
    ['Plonthyr', ['Plonthir']],
    ['Plomthyr', []], ['Plontihr', ['Plonthir']], ['Olonthir', []], ['Zamquilap', ['Zanquilop']], ['Zamqnilap', []],
    ['Zanuqilpo', ['Zanquilop']], ['Xamquilop', ['Zanquilop']], ['Xamquilap', []], ['ZÁNQÜILÔP', ['Zanquilop']],
    ['mortensvald', [...both]], ['mort', [...both]], ['MÓRT', [...both]], ['mort ', []], ['mortens gribw', [...both]],
    ['mort hul', [first]], ['mort brelk', ['Brelk']], ['"mort"', []], ['gribwax', [...both]],
    ['"gribwax hulm"', [first]], ['"hulm gribwax"', []], ['"gribwax mortensvald"', []],
    ['"Mortensvald Gribwax"', [second]], ['"gribwax hulm', [first]], ['gribwax -hulm', [second]],
    ['gribwax -HÜLM', [second]], ['gribwax -hul', [...both]], ['gribwax -"hulm mortensvald"', [second]],
    ['gribwax -"mortensvald hulm"', [...both]], ['-hulm gribwax', [second]], ['gribwax -gribwax', []],
    ['寿司', ['Sushi']], ['東京 寿司', ['Sushi']], ['寿京', []], ['司寿', []], ['ผัดไทย', ['Thai']],
    ['qorv brelk', ['Brelk', 'Qorv']],
  ])
  const { hits, estimatedTotalHits } = await search({ q: '-gribwax -"qorv"' })
  is(namesOf({ hits }).sort(), ['Brelk', 'Plonthir', 'Sushi', 'Thai', 'Zanquilop'])
  is([estimatedTotalHits, ...hits.map(({ _rankingScore }: Json) => _rankingScore)], [5, 1, 1, 1, 1, 1])
})

test('more words, fewer typing errors, neighbours and the name rank higher', async () => {
  const subjects = [
    { name: 'Fenwick Mulgrove' },
    { name: 'Fenwick Ashby Mulgrove' },
    { name: 'Ashby', biography: 'Fenwick Mulgrove' },
    { name: 'Fenwick Mulgrave' },
    { name: 'Fenwick Ashby' },
  ]
  await makeProfiles(subjects.toReversed())
  const { hits } = await search({ q: 'fenwick mulgrove ', explain: 'true' })
  const keyword = subjects.map(({ name }) =>
    hits.find((hit: Json) => hit.name === name)._rankingScoreDetails.keyword as number
  )
  is(keyword, keyword.toSorted((one, other) => other - one))
  is([keyword[0], keyword[1]! < 1, keyword[4]! < 0.51], [1, true, true])
})

const tastes = ['Hiking in the hills', 'Opera and violins', 'Zorbing quokkas', 'Baking bread', null]
const queries = ['', 'quokkas', 'hiking', 'mountain walks with music', 'zorbing quokkas person', '-opera', 'persno']
/** 43 people of five tastes, and Ana, who searches and is searchable. */
const crowd = async () => {
  const profiles = await makeProfiles(
    Array.from({ length: 43 }, (_, index) => ({ name: `Person ${index}`, biography: tastes[index % tastes.length] })),
  )
  const [ana] = await people('ana')
  await ana.patch('/users/profile', { name: 'Ana Person', bio: 'I love mountains and music', is_searchable: true })
  await embedAll()
  return { ana, profiles }
}

test('pages have no duplicates and no gaps, one total, and scores that never rise', async () => {
  const { ana, profiles } = await crowd()
  for (const q of queries) {
    for (const who of [anonymous, ana]) {
      const all = await search({ q, limit: 100 }, who)
      is([all.estimatedTotalHits, all.hits.length > 0], [all.hits.length, true], q)
      const paged: Json[] = []
      for (let offset = 0; offset <= all.hits.length; offset += 7) {
        const { hits, estimatedTotalHits } = await search({ q, limit: 7, offset }, who)
        is([estimatedTotalHits, hits.length], [all.hits.length, Math.min(7, all.hits.length - offset)])
        paged.push(...hits)
      }
      equal(paged, all.hits)
      is(new Set(paged.map(({ id }) => id)).size, paged.length)
      const scores: number[] = paged.map(({ _rankingScore }) => _rankingScore)
      is(scores, scores.toSorted(ascending).reverse())
      is([Math.max(...scores) <= 1, Math.min(...scores) >= 0], [true, true])
      const isShown = paged.some(({ id }) => id === ana.profileId)
      if (who === ana || ['', '-opera', 'persno'].includes(q)) is(isShown, who !== ana)
    }
  }
  const { hits } = await search({ limit: 100 })
  is(hits.map(({ id }: Json) => id).sort(ascending), [...profiles, ana.profileId].sort(ascending))
  is([...new Set(hits.map(({ _rankingScore }: Json) => _rankingScore))], [1])
  for (const { biography } of (await search({ limit: 3 }, ana)).hits) is(biography, /Hiking|Opera/)
})

/**
 * The square of the coverage, weighed by the contract's ratio with the cosine between floor and ceiling, and what is
 * added for a name, for all words, for the caller's context and for living in the place.
 */
const recompute = (details: Json): number => {
  const { words, coverage, cosine, similarityFloor, similarityCeiling, namesMissing, named, context, lives } = details
  const { ratio, trust } = details
  const keyword = words ? coverage ** 2 : details.keyword
  const between = (cosine - similarityFloor) / (similarityCeiling - similarityFloor)
  const semantic = Math.min(1, Math.max(0, between)) * (1 - namesMissing)
  const all = 1 - ratio + ratio * trust
  const fused = cosine === null ? keyword : ((1 - ratio) * keyword + ratio * trust * semantic) / all
  const [matched, asked] = words?.words ?? [0, 1]
  const score = named ? 1 : matched === asked ? fused + 0.15 * (1 - fused) : fused
  const highest = ratio * trust / all
  const share = score / highest
  const low = share < 0.88 ? share * 0.5 / 0.88 : 0.5 + (share - 0.88) * 0.199 / 0.12
  const shown = share < 1 + 1e-8 ? low : 0.7 + (score - highest) * 0.3 / (1 - highest)
  const own = shown + context * Math.min(0.1 * shown, 0.9 * ((keyword > 0 ? 1 : 0.699) - shown))
  return lives === null || named ? own : lives ? 0.5 + 0.5 * own : 0.499 * own
}

test('a score can be recomputed from its details, which only explain=true adds', async () => {
  const { ana } = await crowd()
  for (const q of queries) {
    for (const who of [anonymous, ana]) {
      const plain = await search({ q, limit: 100 }, who)
      const explained = await search({ q, limit: 100, explain: 'true' }, who)
      equal(await search({ q, limit: 100, explain: 'false' }, who), plain)
      equal(explained.hits.map(({ _rankingScoreDetails: _, ...hit }: Json) => hit), plain.hits)
      for (const { _rankingScore, _rankingScoreDetails: details } of explained.hits) {
        is(Math.abs(recompute(details) - _rankingScore) < 1e-9, true, JSON.stringify(details))
        // The contract's.
        is(details.ratio, who === ana ? 0.7 : 0.5)
        if (!details.words) is([0, 1].includes(details.keyword), true)
      }
    }
  }
})

test('a profile is found by meaning once it is embedded, below .7, and not once it is hidden', async () => {
  const [hiker, gamer] = await people('hiker', 'gamer')
  await hiker.patch('/users/profile', { interest_ids: await idsOf('Hiking'), is_searchable: true })
  await gamer.patch('/users/profile', { interest_ids: await idsOf('Chess'), is_searchable: true })
  await embedAll()
  const { hits } = await search({ q: 'trekking', explain: 'true' })
  is(hits, [{ name: 'hiker', _rankingScoreDetails: { words: null, keyword: 0, named: false } }])
  is(hits[0]._rankingScore > 0.5 && hits[0]._rankingScore < 0.7, true)
  is(namesOf(await search({ q: 'trekking -hiking' })), [])
  await hiker.patch('/users/searchable', { is_searchable: false })
  is(await search({ q: 'trekking' }), { hits: [], estimatedTotalHits: 0 })
})

test('whose name it is comes before whoever it describes, also for a caller who is alike', async () => {
  const [named, alike] = await makeProfiles([
    { name: 'Violet Carpenter', biography: 'Accountancy and spreadsheets', interests: ['Opera', 'Live music'] },
    { name: 'Somebody Else', biography: 'Violet carpenter. A carpenter in violet' },
  ])
  const [caller] = await people('caller')
  await caller.patch('/users/profile', { bio: 'A carpenter who paints in violet' })
  await embedAll()
  for (const q of ['Violet Carpenter', 'violet carpenter ', '"violet carpenter"', 'violet carp']) {
    const { hits } = await search({ q, explain: 'true' }, caller)
    is(hits.map(({ id }: Json) => id), [named, alike], q)
    is(hits[0]._rankingScoreDetails.named, true)
  }
})

test('a search that takes too long is 503 with Retry-After, and the next request is served', async () => {
  await makeProfiles([{ name: 'Hiker', biography: 'Hiking' }])
  setting('SEARCH_TIMEOUT', '1')
  // Longer than the limit, on any machine.
  await sql(
    `create or replace function private.hidden_profiles_of(caller bigint) returns bigint[] language plpgsql stable
    set search_path = '' as $$ begin perform pg_sleep(0.01); return '{}'; end $$`,
  )
  for (const path of ['/users/search?q=hiking', '/users/search?q="live+music"+-yoga', '/users/search']) {
    const { status, body, headers } = await anonymous.ask('GET', path)
    equal([status, body, headers.get('Retry-After')], [503, { error: 'The service is busy, please try again' }, '1'])
  }
  setting('SEARCH_TIMEOUT', '4000')
  is(namesOf(await search({ q: 'hiking' })), ['Hiker'])
})
