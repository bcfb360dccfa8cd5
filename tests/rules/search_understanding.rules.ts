/** How a query is understood: words that nobody has, sentences, exclusions, ages, places; and what that scores. */
import { anonymous, type Caller, equal, is, type Json, people, type Person, test } from './fixture.ts'
import { byWords, embedAll, makeProfiles, namesOf, search } from './search_fixture.ts'

/** Five people and a caller who loves the mountains. */
const meet = async (): Promise<Person> => {
  await makeProfiles([
    { name: 'Wolmar', biography: 'Mountaineering every weekend', interests: ['Hiking'] },
    { name: 'Brunhilt', biography: 'Cooking for friends', interests: ['Cooking'] },
    { name: 'Zaphrodil Quorblin', biography: 'Quokkas' },
    { name: 'Baker Mulvoriq', biography: 'Accountancy' },
    { name: 'Oven', biography: 'I bake bread and pastry' },
  ])
  const [caller] = await people('caller')
  await caller.patch('/users/profile', { bio: 'I love hiking in the mountains' })
  await embedAll()
  return caller
}

test('a word that nobody has and that means nothing finds nobody, with and without a token', async () => {
  const caller = await meet()
  for (const q of ['xqzvbnkw', 'xqzvbnkw ', 'hxqzvbn wzzrtk', 'фывапролд', 'ooooooooooo']) {
    for (const who of [anonymous, caller]) is(await search({ q }, who), { hits: [], estimatedTotalHits: 0 }, q)
  }
})

test('a mistyped word is corrected and suggested, unless the model knows it; the last one is completed', async () => {
  const caller = await meet()
  const misspelt = [
    ['mountainering ', 'Wolmar', 'mountaineering'],
    ['montaneering ', 'Wolmar', 'mountaineering'],
    // Two letters are missing, and the word is not finished.
    ['mntaineerin', 'Wolmar', 'mountaineering'],
    ['quokas ', 'Zaphrodil Quorblin', 'quokkas'],
  ] as const
  for (const [q, name, meant] of misspelt) {
    for (const who of [anonymous, caller]) {
      const { hits, query, _suggestion } = await search({ q, suggest: 'true' }, who)
      is([hits[0].name, query], [name, q])
      is([_suggestion.query.trim(), _suggestion.words], [meant, [{ from: q.trim(), to: meant }]])
    }
  }
  const { hits, _suggestion } = await search({ q: 'mountaineer', explain: 'true', suggest: 'true' })
  is([hits[0].name, typeof hits[0]._rankingScoreDetails.cosine, _suggestion], ['Wolmar', 'number', null])
  for (const q of ['trekking ', 'senderismo ', 'quokkas ']) {
    const answer = await search({ q, suggest: 'true' })
    is(answer._suggestion, null)
    if (q !== 'quokkas ') is(namesOf(answer)[0], 'Wolmar', q)
  }
  is(Object.keys(await search({ q: 'quokas ' })).includes('_suggestion'), false)
})

test('a name finds nobody who is merely alike, and does not hide what the word means', async () => {
  const caller = await meet()
  for (const q of ['Zaphrodil', 'zaphrodil quorblin', 'Zaphrodl ']) {
    for (const who of [anonymous, caller]) is(namesOf(await search({ q }, who)), ['Zaphrodil Quorblin'], q)
  }
  const bakers = namesOf(await search({ q: 'baker ' }))
  is(['Baker Mulvoriq', 'Oven'].filter((name) => !bakers.includes(name)), [])
})

test("the caller's context brings nobody in, changes no total, and puts nobody above a name", async () => {
  const caller = await meet()
  for (const q of ['cooking', 'zaphrodil quorblin', 'mountaineering', 'trekking']) {
    const [without, own] = [await search({ q, explain: 'true' }), await search({ q, explain: 'true' }, caller)]
    is(own.estimatedTotalHits, without.estimatedTotalHits)
    is(namesOf(own).sort(), namesOf(without).sort())
    is(without.hits.every((hit: Json) => hit._rankingScoreDetails.context === 0), true)
  }
  is(namesOf(await search({ q: 'Wolmar' }, caller))[0], 'Wolmar')
  const scores = async (who: Caller): Promise<number[]> =>
    (await search({ q: 'trekking' }, who)).hits.map(({ _rankingScore }: Json) => _rankingScore)
  const [without, own] = [await scores(anonymous), await scores(caller)]
  is([own[0]! >= without[0]!, Math.max(...own) <= 1], [true, true])
})

const understood = async (q: string): Promise<Json> => (await search({ q, explain: 'true' }))._understood
const sententious = () =>
  makeProfiles([
    { name: 'Potter', biography: 'Clay, a kiln and a wheel: pottery', age: 64 },
    { name: 'Wolf', biography: 'The one who would love to show you to somebody', age: 71 },
    { name: 'Ewe', biography: 'Rockclimbing. Camping with dogs, 3 children', age: 35 },
    { name: 'Dan O’Brien', biography: 'Beekeeping for years, rock climbing, o sole mio' },
    { name: 'Ana', biography: 'Bee keeping; I speak Turkish', age: 30 },
    { name: 'Lee', biography: 'Tai chi at dawn', age: 50 },
    { name: 'Kit', biography: 'Chickens and a tailor', age: 50 },
  ])

test('a sentence means what its words with a meaning say', async () => {
  await sententious()
  const q = 'I would love to find somebody who could show me pottery'
  const answer = await search({ q, explain: 'true', highlight: 'true' })
  is(answer.hits[0], { name: 'Potter', _matches: { biography: [{ length: 7 }] } })
  is([answer.query, namesOf(answer).includes('Wolf')], [q, false])
  const left_out = ['i', 'would', 'love', 'to', 'find', 'somebody', 'who', 'could', 'show', 'me']
  const all = { text: 'pottery', words: ['pottery'], excluded: [], left_out, places: [], age: null }
  equal(answer._understood, all)
  const words = 'kayak rivers mountains guitar jazz opera bread cheese wine chess football pottery'
  // The first ten, in both legs.
  is((await understood(words)).text, 'kayak rivers mountains guitar jazz opera bread cheese wine chess')
  // A letter that stands alone is not marked.
  const [obrien] = (await search({ q: "o'brien ", highlight: 'true' })).hits
  is([obrien.name, Object.keys(obrien._matches)], ['Dan O’Brien', ['name']])
  // A short last word is not completed where it is a word.
  is(namesOf(await search({ q: 'tai chi' }))[0], 'Lee')
  is((await understood('tai chi')).text.includes('chickens'), false)
})

test('what is denied is excluded, in each language, and nothing where nothing is denied', async () => {
  await sententious()
  // deno-fmt-ignore
  const cases: [q: string, excluded: string[]][] = [
    ['camping but not dogs', ['dogs']], ['camping without dogs', ['dogs']],
    ['wandern ohne Hunde', ['hunde']], ['quiero senderismo sin perros', ['perros']],
    ['je cherche la montagne sans chiens', ['chiens']], ['een huis zonder honden', ['honden']],
    ['köpek olmayan bir ev', ['köpek']], ['climbing, except in New York', ['new york']], ['not only camping', []],
    ['no problem with dogs', []], ['no Porto com quem gosta de surf', []], ['non-stop salsa', []],
    ['non-smoker', ['smoker']], ['anything but jazz', ['jazz']],
  ]
  for (const [q, excluded] of cases) is((await understood(q)).excluded, excluded, q)
})

test('an age narrows to whoever has one, and other numbers are no age', async () => {
  await sententious()
  const ages = [
    ['in her sixties', { min: 60, max: 69 }, ['Dan O’Brien', 'Potter']],
    ['over 70', { min: 71, max: 120 }, ['Dan O’Brien', 'Wolf']],
    ['30-40', { min: 30, max: 40 }, ['Ana', 'Dan O’Brien', 'Ewe']],
    ['Mitte dreißig', { min: 34, max: 36 }, ['Dan O’Brien', 'Ewe']],
    ['under 31', { min: 18, max: 30 }, ['Ana', 'Dan O’Brien']],
  ] as const
  for (const [q, age, names] of ages) {
    is((await understood(q)).age, age, q)
    is(namesOf(await search({ q })).sort(), names, q)
  }
  for (const q of ['over 70 countries', '30-40 minutes', '1960', 'seventies music', '25', 'a 5 year old']) {
    is((await understood(q)).age, null, q)
  }
})

test('words are found together or apart, as a number or in letters', async () => {
  await sententious()
  // deno-fmt-ignore
  const cases = [
    ['obrien', 'Dan O’Brien'], ["O'Brien", 'Dan O’Brien'], ['rock climbing', 'Ewe'], ['rockclimbing ', 'Ewe'],
    ['bee keeping', 'Dan O’Brien'], ['bee-keeping', 'Dan O’Brien'], ['rock-climbing ', 'Ewe'],
    ['three children', 'Ewe'],
  ] as const
  for (const [q, name] of cases) {
    const hit = (await search({ q, explain: 'true' })).hits.find((one: Json) => one.name === name)
    const [found, asked] = hit?._rankingScoreDetails.words?.words ?? [0, 1]
    is(found, asked, q)
  }
})

test('a score is 1 for all the words and at most .7 for a meaning alone; a trade that nobody has says so', async () => {
  await makeProfiles([
    { name: 'Pottery', biography: 'Ceramics' },
    { name: 'Both', biography: 'Pottery and accordions' },
    { name: 'One', biography: 'Pottery, clay, ceramics, glazing' },
    { name: 'Like', biography: 'Ceramics' },
  ])
  const scores = async (q: string): Promise<Record<string, number>> =>
    Object.fromEntries((await search({ q })).hits.map(({ name, _rankingScore }: Json) => [name, _rankingScore]))
  is((await scores('pottery ')).Pottery, 1)
  for (const q of ['pottery ', 'keramik ']) {
    const { Like } = await scores(q)
    is(Like! > 0.3 && Like! <= 0.7, true, `${q}${Like}`)
  }
  const { Both, One } = await scores('pottery accordions ')
  is([Both! > One!, Both! < 1], [true, true])
  for (const trade of ['locksmith', 'carpenter', 'welder', 'glassblower']) {
    is(Math.max(0, ...Object.values(await scores(`${trade} `))) < 0.5, true, trade)
  }
})

test('a place is found under its other names, is told from a language, and is no neighbour in spelling', async () => {
  await makeProfiles([
    { name: 'Wienerin Quoll', city: 'Wien', country: 'Österreich', biography: 'Quollwalks' },
    { name: 'Dane Quoll', city: 'Copenhagen', country: 'Denmark', biography: 'Quollwalks. I speak Turkish' },
    { name: 'Tuerk Quoll', city: 'Kadıköy', country: 'Türkiye', biography: 'Quollwalks' },
    { name: 'Briton Quoll', city: 'Leeds', country: 'United Kingdom', biography: 'Quollwalks' },
    { name: 'Azur Quoll', city: 'Nice', biography: 'Reykjavikers' },
    { name: 'Genuine Quoll', city: 'Genui', biography: 'Quollwalks' },
    { name: 'Yorker Quoll', city: 'York', country: 'England', biography: 'Quollwalks, new' },
  ])
  // deno-fmt-ignore
  const cases = [
    ['Vienna', 'Wienerin'], ['Vienne', 'Wienerin'], ['Viennese', 'Wienerin'], ['Austria', 'Wienerin'],
    ['Kopenhagen', 'Dane'], ['UK', 'Briton'], ['Istanbul', 'Tuerk'], ['speaks Turkish', 'Dane'],
  ] as const
  for (const [q, name] of cases) is(namesOf(await search({ q: `"quoll" ${q} ` }))[0], `${name} Quoll`, q)
  is(namesOf(await search({ filterCity: 'Vienna' })), ['Wienerin Quoll'])
  is(namesOf(await search({ filterCountry: 'UK' })).sort(), ['Briton Quoll', 'Yorker Quoll'])
  is(namesOf(await search({ filterCountry: 'England' })), ['Briton Quoll', 'Yorker Quoll'])
  is(namesOf(await search({ filterCity: 'Vienna', filterCountry: 'Denmark' })), [])
  for (const q of ['New York', 'Genua', 'Reykjavik']) {
    is(namesOf(await search({ q, filterCity: 'York,Wien,Genui' })), [], q)
  }
  is(namesOf(await search({ q: 'Genuo', filterCity: 'York,Wien,Genui' })), ['Genuine Quoll'])
  // deno-fmt-ignore
  for (const [q, places] of [
    ['speaks Turkish ', []], ['Turkish coffee ', ['turkish']], ['teaching in Austria ', ['austria']],
    ['new "york" ', []], ['reykjavik ', ['reykjavik']], ['nice quollwalks ', []],
  ] as const) equal((await understood(q)).places, places, q)
})

test('where nobody lives in a place, whoever has its name is found by it', async () => {
  await makeProfiles([{ name: 'Ana San Marino' }, { name: '千葉 真一' }, {
    name: 'Dora',
    biography: 'San Marino is small',
  }])
  for (
    const [q, name] of [['san marino ', 'Ana San Marino'], ['千葉', '千葉 真一'], ['真一 千葉', '千葉 真一']] as const
  ) {
    const { hits: [first] } = await search({ q })
    is([first.name, first._rankingScore], [name, 1], q)
  }
})

test('a query that was understood before means what profiles make of it now', async () => {
  await makeProfiles([{ name: 'Caver', city: 'Karst', biography: 'Caves, caverns and grottoes' }])
  const ask = () => search({ q: 'stalactitez ', filterCity: 'Karst' })
  is(namesOf(await ask()), [])
  await makeProfiles([{ name: 'Elsewhere', city: 'Elsewhere', biography: 'Stalactites' }])
  is(namesOf(await ask()), ['Caver'])
  is(await byWords('stalactites'), ['Elsewhere'])
})
