/** What a search adds when it is asked to: facets, highlights, profiles like another, a suggestion, completion. */
import { anonymous, asAdmin, equal, is, type Json, people, type Person, test } from './fixture.ts'
import { addressOf, makeProfiles, namesOf, search, type Subject } from './search_fixture.ts'

const facets = 'interests,city,country'
const [walks, reads] = [
  'I cross the old town on foot every day, mostly uphill and seldom alone. '.repeat(4),
  'Later I read what neighbours have left on the stairs, in any language. '.repeat(4),
]
const biography = `${walks}On Sundays I bake Zwetschgenkuchen. ${reads}`
const annegret = 'Annegret Straßer'
const here = { city: 'Détaillia', country: 'Zuländ' }
const crowd: Subject[] = [
  { name: annegret, ...here, biography, interests: ['Hiking', 'Jazz'] },
  {
    name: 'Bo',
    city: ' DÉTAILLIA ',
    country: 'zuland',
    biography: 'Cafe\u0301s and ﬁnches: 東京の寿司が好き、さくらも',
    interests: ['Jazz'],
  },
  { name: 'Cy', ...here, biography: '' },
  { name: 'Dee', city: 'Détaillia' },
  {
    ...here,
    name: 'Hal',
    country: 'Hidland',
    biography: 'Zwetschgenkuchen',
    interests: ['Chess'],
    is_searchable: false,
  },
]
/** The letters that the matches of a field cover, as printed. */
const matched = (hit: Json, field: string): string[] =>
  (hit._matches[field] ?? []).map(({ index, start, length }: Json) =>
    [...index === undefined ? hit[field] : hit[field][index]].slice(start, start + length).join('')
  )

test('without the parameters an answer has none of their fields, and with them the same hits', async () => {
  await makeProfiles(crowd)
  const plain = await anonymous.ask('GET', '/users/search?q=jazz')
  const empty = addressOf({ q: 'jazz', facets: '', highlight: 'false', suggest: '', like: '' })
  is((await anonymous.ask('GET', empty)).text, plain.text)
  is(Object.keys(plain.body), ['hits', 'query', 'estimatedTotalHits', 'limit', 'offset'])
  const fields = ['id', 'user_id', 'name', 'biography', 'city', 'country', 'interests', 'image_url', '_rankingScore']
  is(Object.keys(plain.body.hits[0]), fields)
  for (const q of ['jazz', 'zwetschgenkuchen', '']) {
    const { facetDistribution, _suggestion, ...rest } = await search({ q, facets, highlight: 'true', suggest: 'true' })
    is([typeof facetDistribution, _suggestion], ['object', null])
    equal({ ...rest, hits: rest.hits.map(({ _matches: _, _snippet: __, ...hit }: Json) => hit) }, await search({ q }))
  }
})

test('facets count every value among all who match, the most frequent first, whatever the page', async () => {
  await makeProfiles(crowd)
  for (const [limit, offset] of [[20, 0], [1, 0], [20, 1000]] as const) {
    const { facetDistribution, estimatedTotalHits } = await search({ facets, limit, offset })
    const expected = { interests: { Jazz: 2, Hiking: 1 }, city: { 'Détaillia': 4 }, country: { 'Zuländ': 3 } }
    equal([facetDistribution, estimatedTotalHits], [expected, 4])
    is(Object.entries(facetDistribution).map(([name, found]) => [name, ...Object.keys(found as object)]), [
      ['interests', 'Jazz', 'Hiking'],
      ['city', 'Détaillia'],
      ['country', 'Zuländ'],
    ])
  }
  // deno-fmt-ignore
  const cases: [Record<string, string>, Json][] = [
    [{ facets: 'country', filterInterests: 'jazz' }, { country: { 'Zuländ': 2 } }],
    [{ facets: 'city,interests,city', q: '"Straßer"' },
      { city: { 'Détaillia': 1 }, interests: { Hiking: 1, Jazz: 1 } }],
    [{ facets: 'country', q: '"xqzvbnk"' }, { country: {} }],
  ]
  for (const [parameters, expected] of cases) equal((await search(parameters)).facetDistribution, expected)
})

test('facets and completions have nothing of hidden profiles, of the caller, or across a block', async () => {
  const [one, two, sven] = await people('one', 'two', 'sven')
  for (const [who, name] of [[one, 'One'], [two, 'Two']] as const) {
    const texts = { name: `Wumpel ${name}`, city: `Wumpel ${name}town`, country: `${name}land` }
    await who.patch('/users/profile', { ...texts, is_searchable: true })
  }
  const expectSeen = async (who: Person, ...names: string[]) => {
    const { facetDistribution } = await search({ facets: 'country' }, who)
    is(Object.keys(facetDistribution.country).sort(), names.map((name) => `${name}land`))
    equal(await who.get('/users/search/complete?q=wumpel'), {
      interests: [],
      cities: names.map((name) => `Wumpel ${name}town`),
      names: names.map((name) => `Wumpel ${name}`),
    })
  }
  await expectSeen(sven, 'One', 'Two')
  await expectSeen(one, 'Two')
  await one.put(`/users/me/blocks/${two.id}`, undefined, 204)
  for (const who of [one, two]) await expectSeen(who)
  await expectSeen(sven, 'One', 'Two')
  await one.patch('/users/searchable', { is_searchable: false })
  await expectSeen(sven, 'Two')
  await asAdmin('update public.users set is_active = false where id = $1', [two.id])
  await expectSeen(sven)
})

test('no correction and no completion tells a name across a block', async () => {
  const [quibblefax, sven] = await people('Quibblefax', 'sven')
  await quibblefax.patch('/users/profile', { name: 'Quibblefax', biography: 'Wumbalonga', is_searchable: true })
  const understood = async () => {
    const asked = ['quiblefax ', 'wumbalongo ', 'quibblef'].map((q) =>
      search({ q, suggest: 'true', explain: 'true' }, sven)
    )
    return (await Promise.all(asked)).map((found) => [found._suggestion?.query ?? null, found._understood.text])
  }
  equal(await understood(), [['quibblefax ', 'quibblefax'], ['wumbalonga ', 'wumbalonga'], [null, 'quibblefax']])
  await quibblefax.put(`/users/me/blocks/${sven.id}`, undefined, 204)
  equal(await understood(), [[null, 'quiblefax'], [null, 'wumbalongo'], [null, 'quibblef']])
})

test('a highlight marks the words that were found, as they are written', async () => {
  await makeProfiles(crowd)
  const hitOf = async (q: string, name: string) =>
    (await search({ q, highlight: 'true', limit: 100 })).hits.find((hit: Json) => hit.name === name)
  // deno-fmt-ignore
  const cases: [q: string, name: string, field: string, covered: string[]][] = [
    ['strasser ', annegret, 'name', ['Straßer']],
    ['zwetsch', annegret, 'biography', ['Zwetschgenkuchen']],
    ['zwetshgenkuchen ', annegret, 'biography', ['Zwetschgenkuchen']],
    ['"bake zwetschgenkuchen"', annegret, 'biography', ['bake Zwetschgenkuchen']],
    ['jazz ', annegret, 'interests', ['Jazz']],
    ['cafes ', 'Bo', 'biography', ['Cafe\u0301s']],
    ['finches ', 'Bo', 'biography', ['ﬁnches']],
    ['寿司', 'Bo', 'biography', ['寿司']],
    ['さくら', 'Bo', 'biography', ['さくら']],
  ]
  for (const [q, name, field, covered] of cases) is(matched(await hitOf(q, name), field), covered, q)
  const excluding = await hitOf('annegret -"foot bake" "every day"', annegret)
  is([matched(excluding, 'name'), new Set(matched(excluding, 'biography')).size], [['Annegret'], 1])
  is(matched(excluding, 'biography')[0], 'every day')

  const { _snippet, ...hit } = await hitOf('zwetschgenkuchen sundays', annegret)
  is([[..._snippet].length <= 160, /^…\S.*\S…$/s.test(_snippet)], [true, true])
  is(biography.includes(` ${_snippet.slice(1, -1)} `), true)
  is(matched({ ...hit, _snippet }, '_snippet'), ['Sundays', 'Zwetschgenkuchen'])
  const { hits } = await search({ highlight: 'true', limit: 100 })
  const snippets = Object.fromEntries(hits.map(({ name, _snippet }: Json) => [name, _snippet]))
  is(snippets, { Cy: '', Dee: null, Bo: crowd[1]!.biography, [annegret]: /^I cross the old town .* \S+…$/ })
  is(hits.flatMap(({ _matches }: Json) => Object.keys(_matches)), [])
})

const alike: Subject[] = [
  { name: 'Alpinist', city: 'Likewise', biography: 'Mountaineering, climbing and glaciers' },
  { name: 'Climber', city: 'Likewise', biography: 'Climbing rocks and mountains, with ropes' },
  { name: 'Baker', city: 'Likewise', biography: 'Bread, cakes and pastry from my oven' },
  { name: 'Confectioner', city: 'Likewise', biography: 'Chocolate, cakes and sweets' },
]
test('profiles like another are ranked by nearness to it, by both with words, and it is not among them', async () => {
  const [alpinist, , baker] = await makeProfiles(alike)
  const [caller] = await people('caller')
  for (const who of [anonymous, caller]) {
    const answer = await search({ like: alpinist! }, who)
    is([namesOf(answer)[0], answer.hits.length, answer.estimatedTotalHits], ['Climber', 3, 3])
    is(namesOf(await search({ like: baker! }, who))[0], 'Confectioner')
  }
  is(namesOf(await search({ q: 'cakes' })).includes('Climber'), false)
  const both = await search({ q: 'cakes', like: alpinist!, explain: 'true', facets: 'city', highlight: 'true' })
  is(namesOf(both).slice(0, 2).sort(), ['Baker', 'Confectioner'])
  is([namesOf(both).includes('Climber'), namesOf(both).includes('Alpinist')], [true, false])
  equal(both.facetDistribution.city, { Likewise: 3 })
  const pages: string[] = []
  for (const offset of [0, 1, 2]) pages.push(...namesOf(await search({ like: alpinist!, limit: 1, offset })))
  is(pages, namesOf(await search({ like: alpinist! })))
  // One that is not embedded yet still answers.
  const [blank] = await makeProfiles([{ name: 'Blank', city: 'Likewise' }])
  const { hits } = await search({ like: blank! })
  is(hits.some(({ id }: Json) => id === blank), false)
  is(hits.every(({ _rankingScore }: Json) => _rankingScore <= 1), true)
})

test('of two with the highest score the nearer comes first, and not the emptier', async () => {
  const interests = ['Hiking']
  const walks = 'Long walks in the hills are my weekends. I know each path and take guests.'
  const [liked] = await makeProfiles([
    { name: 'Liked', biography: 'I walk in the hills each weekend, and like to show the paths to others.', interests },
    { name: 'Empty', biography: '', interests },
    { name: 'Full', biography: walks, interests },
  ])
  const { hits } = await search({ like: liked! })
  is(namesOf({ hits }), ['Full', 'Empty'])
  is(hits[0]._rankingScore, hits[1]._rankingScore)
})

test('a profile that is hidden, inactive, unknown or behind a block is 404 alike; others are not', async () => {
  const [caller, other, inactive, hidden] = await people('caller', 'other', 'inactive', 'hidden')
  for (const who of [caller, other, inactive]) await who.patch('/users/searchable', { is_searchable: true })
  await asAdmin('update public.users set is_active = false where id = $1', [inactive.id])
  const texts = new Set<string>()
  const expectNone = async (profile: number, who = anonymous) => {
    const { status, text } = await who.ask('GET', `/users/search?like=${profile}`)
    is(status, 404, text)
    texts.add(text)
  }
  for (const profile of [hidden.profileId, inactive.profileId, 2 ** 40]) await expectNone(profile)
  for (const profile of [other.profileId, caller.profileId]) await search({ like: profile }, caller)
  await other.put(`/users/me/blocks/${caller.id}`, undefined, 204)
  await expectNone(other.profileId, caller)
  await expectNone(caller.profileId, other)
  await search({ like: other.profileId })
  await other.patch('/users/searchable', { is_searchable: false })
  for (const who of [anonymous, other]) await expectNone(other.profileId, who)
  is(texts.size, 1)
})

test('a suggestion has no word that only hidden profiles had', async () => {
  const [profile] = await makeProfiles([{ name: 'Vrondelquist' }])
  is((await search({ q: 'vrondelqist ', suggest: 'true' }))._suggestion.query, 'vrondelquist ')
  await asAdmin('update public.profiles set is_searchable = false where id = $1', [profile])
  is(await search({ q: 'vrondelqist ', suggest: 'true' }), { hits: [], _suggestion: null })
})

test('a box completes interests, cities and displayed names, and words of a sentence', async () => {
  const [sven] = await people('sven')
  const complete = (q: string, more = '') => sven.get(`/users/search/complete?${new URLSearchParams({ q })}${more}`)
  await makeProfiles([
    { name: 'Zoë Qovix', city: 'São Qovix', first_name: 'Firstqovix', last_name: 'Lastqovix' },
    { name: 'Ulf', city: 'são qovix', interests: ['Jazz', 'Hiking'] },
    { name: 'Ulf', city: 'São Qovix' },
    { name: '東京qovix太郎' },
    { name: 'Quxi Maria Lopez', city: 'Xanthuopolis' },
    { name: 'Dan O’Bquxi' },
  ])
  const none = { interests: [], cities: [], names: [] }
  // deno-fmt-ignore
  const cases: [q: string, expected: Json][] = [
    ['zoe QOVIX', { ...none, names: ['Zoë Qovix'] }], ['SAO Qovix', { cities: ['São Qovix'] }],
    ['京qovix太', { names: ['東京qovix太郎'] }], ['firstqovix', { names: [] }], ['lastqovix', { names: [] }],
    ['oe qovix', { names: [] }],
    ['quxi lop', { names: ['Quxi Maria Lopez'] }], ['lopez quxi', { names: ['Quxi Maria Lopez'] }],
    ['obquxi', { names: ['Dan O’Bquxi'] }], ['xanthoupol', { cities: ['Xanthuopolis'] }], ['quxi qqqqq', { names: [] }],
    ['a  walk in xanthuo', { cities: ['a  walk in Xanthuopolis'], names: [] }], ['jazz %%%', { interests: ['Jazz'] }],
    ['jazz or hi', none], [`jazz ${'q'.repeat(500)}`, none],
    ...['', '  ', '%', '_', "'", '\\', ':*', '"'].map((q): [string, Json] => [q, none]),
  ]
  for (const [q, expected] of cases) is(await complete(q), expected, q)
  const both = await complete('qovix')
  is([both.cities, both.names.sort()], [['São Qovix'], ['Zoë Qovix', '東京qovix太郎']])
  for (const [q, interest] of [['hik', 'Hiking'], ['hikng', 'Hiking'], ['Jazz, or hik', 'Jazz, or Hiking']] as const) {
    is((await complete(q)).interests.includes(interest), true, q)
  }
  await makeProfiles(Array.from({ length: 25 }, (_, index) => ({ name: `Manyx ${index}` })))
  for (const [more, length] of [['', 5], ['&limit=2', 2], ['&limit=100', 20]] as const) {
    is((await complete('manyx', more)).names.length, length)
  }
  await sven.get('/users/search/complete?q=a&limit=-1', 400, 'limit: ')
  await sven.get(`/users/search/complete?q=${'x'.repeat(513)}`, 400, 'q: ')
  await anonymous.get('/users/search/complete?q=a', 401, 'token')
  const [zirkel] = await people('zirkel')
  await zirkel.patch('/users/profile', { name: 'Zirkel', city: 'Zirkelstadt', is_searchable: true })
  await zirkel.patch('/users/profile', { name: 'New Zirkel', city: 'Zirkeldorf' })
  equal(await complete('zirkel'), { interests: [], cities: ['Zirkeldorf'], names: ['New Zirkel'] })
})

test('a city of the world is completed by any of its names, with its region where its country has two', async () => {
  const [ana] = await people('ana')
  const complete = async (q: string) =>
    (await ana.get(`/users/search/complete?${new URLSearchParams({ q, limit: '2', places: 'true' })}`)).cities
  const named = {
    'LISS': ['Lisbon, Portugal', 'Lissone, Italy'],
    'sao pau': ['São Paulo, Brazil', 'São Paulo de Olivença, Brazil'],
    'portland': ['Portland, Oregon, United States', 'Portland, Maine, United States'],
    'Αθήν': ['Athens, Greece'],
    'plymouth': ['Plymouth, United Kingdom', 'Plymouth, United States'],
    'isbon %': [],
  }
  for (const [q, cities] of Object.entries(named)) equal(await complete(q), cities, q)
})
