/**
 * What surprised those who judged the search blindly (tests/search/fourth/README.md): who must come first, be found, or
 * not be.
 */
import { is, test } from './fixture.ts'
import { makeProfiles, namesOf, search, type Subject } from './search_fixture.ts'

interface Expected {
  /** These come first, in any order. */
  first?: string[]
  found?: string[]
  missing?: string[]
  /** Nobody is found. */
  nobody?: true
}
interface Surprise {
  title: string
  subjects: Subject[]
  cases: [query: string | { q?: string; filterCity?: string; filterCountry?: string }, expected: Expected][]
}

const surprises: Surprise[] = [
  {
    title: 'a name may look like a word that denies',
    subjects: [
      { name: 'Aoife Ní Bhriain', biography: 'Fiddle' },
      { name: 'Sem Bakker', biography: 'Bread' },
      { name: 'Sin Wong', biography: 'Noodles' },
      { name: 'Bystander', biography: 'Football' },
    ],
    cases: [
      ['Ni Bhriain Aoife', { first: ['Aoife Ní Bhriain'], missing: ['Bystander'] }],
      ['Aoife Ni Bhriain', { first: ['Aoife Ní Bhriain'], missing: ['Bystander'] }],
      ['Sem Bakker', { first: ['Sem Bakker'], missing: ['Bystander'] }],
      ['Sin Wong', { first: ['Sin Wong'], missing: ['Bystander'] }],
      ['sans souci', { nobody: true }],
      ['no football', { found: ['Sem Bakker'], missing: ['Bystander'] }],
    ],
  },
  {
    title: 'whoever lacks the same thing comes first, in any form of the word, and whoever has it is excluded',
    subjects: [
      { name: 'Quiet', biography: 'Chess' },
      { name: 'Bat-Erdene', biography: 'I roast mutton, and meat is all I eat. Smoking a pipe with wine.' },
      { name: 'Lan', biography: 'Cook. No meat in my kitchen. I do not have a car.' },
      { name: 'Rajesh', biography: 'Pure vegetarian house. Never smoked. I gave up alcohol.' },
      { name: 'Hank', biography: "Don't ask me to go fishing. No signal up here." },
      { name: 'Оксана', interests: ['Vegetarian food'], biography: 'Не курю. Nie piję.' },
      { name: 'Brewer', biography: 'Pale ale' },
      { name: 'Odile', biography: 'Je vis seule' },
    ],
    cases: [
      ["who doesn't eat meat", { first: ['Lan', 'Rajesh', 'Оксана'], found: ['Quiet'], missing: ['Bat-Erdene'] }],
      ['isst kein Fleisch', { first: ['Lan', 'Rajesh', 'Оксана'], found: ['Quiet'], missing: ['Bat-Erdene'] }],
      ['non-smoker', { first: ['Rajesh', 'Оксана'], found: ['Quiet', 'Brewer'], missing: ['Bat-Erdene'] }],
      ["doesn't drink alcohol", { first: ['Rajesh', 'Оксана'], found: ['Quiet', 'Bat-Erdene'] }],
      ["doesn't like fishing", { first: ['Hank'], found: ['Rajesh'] }],
      ['no s', { found: ['Quiet', 'Hank'] }],
      ['no fish', { first: ['Rajesh', 'Оксана'], found: ['Hank', 'Odile'] }],
      ['without internet', { first: ['Hank'] }],
      ['cook without a car', { first: ['Lan'] }],
      ['sober', { first: ['Rajesh', 'Оксана'] }],
      ['no cats or tv or meat', { found: ['Lan', 'Rajesh', 'Quiet'], missing: ['Bat-Erdene'] }],
      ['I am over 50, chess without meat', { found: ['Quiet'], missing: ['Bat-Erdene'] }],
    ],
  },
  {
    title: 'a name is found in another spelling, and a word is not taken for one',
    subjects: [
      { name: 'Mohammed Rahman', biography: 'Cricket' },
      { name: 'Muhammad Khan', biography: 'Poetry' },
      { name: 'Gordon', biography: 'Chess' },
      { name: 'Grower', biography: 'A garden by the sea' },
    ],
    cases: [
      ['mohammed', { first: ['Mohammed Rahman'], found: ['Muhammad Khan'], missing: ['Gordon'] }],
      ['garden', { first: ['Grower'], missing: ['Gordon'] }],
    ],
  },
  {
    title: 'punctuation and emoji find nobody',
    subjects: [{ name: 'Someone', biography: 'Chess' }],
    cases: [['???', { nobody: true }], ['🦄🦄🦄', { nobody: true }], ['-', { nobody: true }], ['""', { nobody: true }]],
  },
  {
    title: 'a short word is not the beginning of a name, and plural and singular are one',
    subjects: [
      { name: 'Catalina', biography: 'Chess' },
      { name: 'Enzo', city: 'Catania', country: 'Italy', biography: 'Boats' },
      { name: 'Wei', city: 'Chengdu', country: 'China', biography: 'Tea' },
      { name: 'Marcus', biography: 'I live with one cat' },
      { name: 'Shirin', biography: 'Two cats and a garden' },
      { name: 'Seamstress', city: 'Seattle', biography: 'Needles' },
      { name: 'Swimmer', biography: 'The sea each morning' },
    ],
    cases: [
      ['cat', { first: ['Marcus', 'Shirin'], missing: ['Wei'] }],
      ['cats', { first: ['Shirin', 'Marcus'], missing: ['Wei', 'Catalina'] }],
      ['sea ', { first: ['Swimmer'], missing: ['Seamstress'] }],
    ],
  },
  {
    title: 'a place is a condition: whoever lives there comes first',
    subjects: [
      { name: 'Ottmar', city: 'Innsbruck', country: 'Austria', interests: ['Hiking'], biography: 'Hiking with locals' },
      { name: 'Min-jun', city: 'Seoul', country: 'South Korea', interests: ['Hiking'], biography: 'Mountains' },
      { name: 'Thandi', city: 'Durban', country: 'South Africa', biography: 'I run along the sea' },
      { name: 'Priya', city: 'Chicago', country: 'USA', biography: 'I run the lakefront' },
      { name: 'Rui', city: 'Porto', country: 'Portugal', biography: 'Dinner at home, long dinners' },
      { name: 'Inês', city: 'Lisbon', country: 'Portugal', biography: 'Fado. I cook dinner' },
      { name: 'Callum', city: 'Inverness', country: 'United Kingdom', biography: 'Hiking' },
      { name: 'Fabio', city: 'Catania', country: 'Italy', biography: 'Fisherman' },
      { name: 'Hank', city: 'Helena', country: 'USA', biography: 'Fisherman, fishing with a fly' },
      { name: 'Javier', city: 'San Sebastián', country: 'Spain', biography: 'I cook for a society' },
      { name: 'Sami', city: 'Tunis', country: 'Tunisia', biography: 'Medina' },
      { name: 'Astrid', city: 'Malmö', country: 'Sweden', biography: 'Bridges' },
      { name: 'Núria', city: 'Girona', country: 'Spain', biography: 'Gravel' },
    ],
    cases: [
      ['I will be in Seoul for a week in October and would like to go hiking with a local', { first: ['Min-jun'] }],
      ['want to run along the lake in the morning in Chicago', { first: ['Priya'] }],
      ['dinner in Lisbon', { first: ['Inês'] }],
      ['hiking Scotland', { first: ['Callum'] }],
      ['fisherman in Sicily', { first: ['Fabio'] }],
      ['Basque food', { first: ['Javier'] }],
      ['North Africa', { first: ['Sami'] }],
      ['hiking uk ', { first: ['Callum'] }],
      ['near Copenhagen', { first: ['Astrid'] }],
      ['near Barcelona', { first: ['Núria'] }],
      ['fishing in Cataina', { first: ['Fabio'] }],
    ],
  },
  {
    title: 'a literal word comes before a meaning, and a synonym is found',
    subjects: [
      { name: 'Tyler', biography: 'Pedal steel guitar and country music on stage' },
      { name: 'Noah', biography: 'I play the fiddle in a pub, and I have two children, a garden and old cars' },
      { name: 'Vera', biography: 'I sing morna and other songs' },
      { name: 'Denise', biography: 'The choir of our church needs you' },
      { name: 'Giulia', biography: 'I cook stews, ragù and pasta' },
      { name: 'Ruth', biography: 'My neighbours are taken out for soup' },
    ],
    cases: [
      ['violin', { found: ['Noah'] }],
      ['is there a choir I could join?', { first: ['Denise'] }],
      ['soup', { first: ['Ruth'] }],
    ],
  },
  {
    title: 'names and cities are found across scripts',
    subjects: [
      { name: 'Иван Соколов', city: 'Одеса', biography: 'Шахматы' },
      { name: 'Ji-woo', city: '부산', biography: '바다' },
      { name: 'Rami', city: 'بيروت', biography: 'قهوة' },
      { name: 'Aruzhan', city: 'Алматы', biography: 'Горы' },
      { name: 'Haruto', city: '名古屋', biography: '電車' },
      { name: 'Eleni', city: 'Χανιά', biography: 'Ελιές' },
      { name: '김민준', first_name: '민준', last_name: '김', biography: '등산' },
      { name: 'Park Ji-ho', biography: '커피' },
      { name: 'Kang Dong', biography: 'Mandolin' },
    ],
    cases: [
      ['Kim Min-jun', { first: ['김민준'], missing: ['Park Ji-ho'] }],
      ['강아지', { nobody: true }],
      ['박지호', { first: ['Park Ji-ho'], missing: ['김민준'] }],
      ['Ivan Sokolov', { first: ['Иван Соколов'] }],
      [{ filterCity: 'Odessa' }, { first: ['Иван Соколов'], missing: ['Ji-woo'] }],
      [{ filterCity: 'Busan' }, { first: ['Ji-woo'], missing: ['Rami'] }],
      [{ filterCity: 'Beirut' }, { first: ['Rami'], missing: ['Ji-woo'] }],
      [{ filterCity: 'Almaty' }, { first: ['Aruzhan'] }],
      [{ filterCity: 'Nagoya' }, { first: ['Haruto'] }],
      [{ filterCity: 'Chania' }, { first: ['Eleni'] }],
      ['قهوة', { first: ['Rami'] }],
    ],
  },
  {
    title: 'words are written together and mistyped',
    subjects: [
      { name: 'Barış', biography: 'Pilot of a hot air balloon' },
      { name: 'Cheesemonger', biography: 'Cheese' },
      { name: 'Champion', biography: 'Chess and chess problems' },
      { name: 'Challenger', biography: 'Chess clubs, chess' },
    ],
    cases: [['hotairballoon', { first: ['Barış'] }], ['chese ', { first: ['Cheesemonger'] }]],
  },
  {
    title: 'a common word of a language does not bring up everybody who has a foreign one',
    subjects: [
      { name: 'Plain', biography: 'The best of times, and the worst' },
      { name: 'Gabriel', age: 19, biography: 'Drums' },
      { name: 'Maeve', age: 39, biography: 'Drums' },
    ],
    cases: [['the and of', { nobody: true }], ['teenager', { found: ['Gabriel'], missing: ['Maeve'] }]],
  },
  {
    title: 'a place may be the name of a person, and a person may write anything for a place',
    subjects: [
      { name: 'Sofia', city: 'Oslo', country: 'Norway', biography: 'Skis' },
      { name: 'Boyko', city: 'Sofia', country: 'Bulgaria', biography: 'Roses' },
      { name: 'Paris Hilton', city: 'Malibu', country: 'USA', biography: 'Dogs' },
      { name: 'Amélie', city: 'Paris', country: 'France', biography: 'Bread' },
      { name: 'Jordan', city: 'Denver', country: 'USA', biography: 'Snow' },
      { name: 'Bat-Erdene', city: 'Ulaanbaatar', country: 'Mongolia', biography: 'Horses' },
      { name: 'Joker', city: 'hiking', country: 'chess', biography: 'Nothing' },
      { name: 'hiking chess paris bread roses horses snow skis', biography: 'Everything' },
      { name: 'Walker', biography: 'Hiking' },
      { name: 'La Cruz', city: 'Lima', country: 'Peru', biography: 'Llamas, as in La Paz' },
      { name: 'Evo', city: 'La Paz', country: 'Bolivia', biography: 'Tea' },
    ],
    cases: [
      ['Sofia', { first: ['Sofia'], found: ['Boyko'] }],
      ['in Sofia', { first: ['Boyko'] }],
      ['Paris Hilton', { first: ['Paris Hilton'] }],
      ['in Paris', { first: ['Amélie'] }],
      ['Jordan', { first: ['Jordan'] }],
      ['Bat-Erdene', { first: ['Bat-Erdene'] }],
      ['bread in Paris', { first: ['Amélie'] }],
      ['bread Paris', { first: ['Amélie'] }],
      ['Paris dogs', { first: ['Paris Hilton'] }],
      ['dogs in Paris', { first: ['Amélie'] }],
      ['dogs near Paris', { first: ['Amélie'] }],
      ['llamas La Paz', { first: ['Evo'] }],
      ['in the US', { first: ['Jordan', 'Paris Hilton'] }],
      ['US', { first: ['Jordan', 'Paris Hilton'] }],
      ['show it to us', { missing: ['Jordan', 'Paris Hilton'] }],
      ['hiking in the US', { first: ['Jordan', 'Paris Hilton'] }],
      [{ filterCity: 'hik*' }, { nobody: true }],
      [{ filterCity: '*' }, { nobody: true }],
      [{ filterCountry: 'U*' }, { nobody: true }],
    ],
  },
]

for (const { title, subjects, cases } of surprises) {
  test(title, async () => {
    await makeProfiles(subjects)
    for (const [query, { first = [], found = [], missing = [], nobody }] of cases) {
      const parameters = typeof query === 'string' ? { q: query } : query
      const names = namesOf(await search({ ...parameters, limit: 100 }))
      const what = `${JSON.stringify(parameters)} found ${JSON.stringify(names)}: `
      is(names.slice(0, first.length).sort(), first.toSorted(), what)
      is(found.filter((name) => !names.includes(name)), [], what)
      is(missing.filter((name) => names.includes(name)), [], what)
      if (nobody) is(names, [], what)
    }
  })
}
