// The age that a query asks for, taken out of its text: "in her sixties", "over 70", "30-40".

export interface AgeRange {
  min: number
  max: number
}

const [youngest, oldest] = [18, 120]

const ones = 'one two three four five six seven eight nine'.split(' ')
const teens = 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ')
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
/** The decades from twenty on as people name them, by language. */
const decades = [
  'twenties thirties forties fifties sixties seventies eighties nineties',
  'zwanzigern? drei[ßs]+igern? vierzigern? f[üu]nfzigern? sechzigern? siebzigern? achtzigern? neunzigern?',
  'zwanzig drei[ßs]+ig vierzig f[üu]nfzig sechzig siebzig achtzig neunzig',
  'vingtaine trentaine quarantaine cinquantaine soixantaine',
  'ventina trentina quarantina cinquantina sessantina settantina ottantina',
  'veinteañer[oa]s? treintañer[oa]s? cuarentañer[oa]s? cincuentañer[oa]s? sesentañer[oa]s?',
  'twintigers? dertigers? veertigers? vijftigers? zestigers? zeventigers?',
  'twintig dertig veertig vijftig zestig zeventig tachtig',
  'yirmili otuzlu kırklı ellili altmışlı yetmişli seksenli',
].map((line) => line.split(' '))
const decade = `(?:\\d0['’]?(?:i?e?s|er)|${decades.flat().join('|')})`

const number = `(?:\\d{2,3}|${[...tens.map((ten) => `${ten}(?:[- ](?:${ones.join('|')}))?`), ...teens].join('|')})`
const years = '(?:years?|yrs?|jahren?|ans|años|anni|anos|jaar|yaş\\p{L}*)'
const old = `(?:[\\s-]*(?:yo|y/o|${years}(?:[\\s-]+(?:old|alt|oud|of\\s+age))?))`
/** The number is followed neither by a thing that it counts nor by a unit of time. */
const uncounted =
  `(?![\\p{L}\\p{N}]|[.,:]\\d|\\s*[%€$£°]|[\\s-]*(?:k?m|kms?|miles?|min(?:ute|uten|utos|uti|s)?s?|h|hours?|hrs?|
  days?|nights?|weeks?|months?|euros?|dollars?|pounds?|countries|cities|books?|films?|movies|people|guests?|friends?|
  kilos?|kg|met(?:er|re)s?|degrees?|languages?|recipes?|plants?|species|times|percent|records?|songs?|pages?|pieces?|
  stunden|tage|länder\\p{L}*|bücher|países|pays|libros|livres|paesi|libri|landen|boeken|ülke|music|songs)(?!\\p{L})|
  \\s+(?:of(?!\\s+age)|experience|ago|together|abroad|teaching|working|de\\s+exp\\p{L}*)(?!\\p{L}))`.replace(
    /\s*\n\s*/g,
    '',
  )

const valueOf = (text: string): number => {
  const [ten = '', one = ''] = text.toLowerCase().split(/[- ]/)
  if (/^\d/.test(ten)) return Number(ten)
  if (teens.includes(ten)) return 10 + teens.indexOf(ten)
  return 20 + 10 * tens.indexOf(ten) + 1 + ones.indexOf(one)
}

const decadeOf = (text: string, part = ''): AgeRange => {
  const place = decades.map((line) => line.findIndex((each) => new RegExp(`^${each}$`, 'iu').test(text)))
    .find((found) => found >= 0)
  const min = place === undefined ? Number(text.slice(0, 2)) : 20 + 10 * place
  if (/^(early|anfang|début|begin)/i.test(part)) return { min, max: min + 3 }
  if (/^(mid|mitte|milieu|midden)/i.test(part)) return { min: min + 4, max: min + 6 }
  return /^(late|ende|fin|eind)/i.test(part) ? { min: min + 7, max: min + 9 } : { min, max: min + 9 }
}

const part = '(early|mid|late|anfang|mitte|ende|début|milieu|fin|begin|midden|eind)'
const people = '(?:somebody|someone|people|persons?|wom[ae]n|m[ae]n|ladies|guys?|couples?|hosts?|locals?|travell?ers?)'

const between = (min?: string, max?: string): AgeRange => ({ min: valueOf(min!), max: valueOf(max!) })
const from = (age?: string): AgeRange => ({ min: valueOf(age!), max: oldest })
const under = (age?: string): AgeRange => ({ min: youngest, max: valueOf(age!) - 1 })

/** The first that fits decides. Each pattern is a phrase about age, not a number alone. */
const patterns: [pattern: string, range: (...found: string[]) => AgeRange][] = [
  [
    `(?:between|zwischen|entre|tra|fra|tussen)\\s+(${number})\\s+(?:and|und|y|et|e|en)\\s+(${number})${old}?${uncounted}`,
    between,
  ],
  [`(?:(?:aged?|ages|from|von|de)\\s+)?(${number})\\s?(?:-|–|—)\\s?(${number})${old}?${uncounted}`, between],
  [`(?:aged?|ages|from)\\s+(${number})\\s+(?:to|through)\\s+(${number})${old}?${uncounted}`, between],
  [`(${number})\\s+(?:to|bis|a|à|tot)\\s+(${number})${old}${uncounted}`, between],
  [
    `(?:(?:aged?\\s+)?(?:over|above|past)|(?:older|more)\\s+than|über|älter\\s+als|(?:mayor(?:es)?|más)\\s+de|` +
    `plus\\s+de|oltre\\s+i|più\\s+di|mais\\s+de|boven\\s+de|ouder\\s+dan)\\s+(${number})${old}?${uncounted}`,
    (age) => ({ min: valueOf(age!) + 1, max: oldest }),
  ],
  [`(${number})${old}\\s+üst\\p{L}*`, from],
  [
    `(${number})(?:\\s?\\+(?!\\w)|${old}?\\s+(?:and|or|und|oder)\\s+(?:over|older|above|up|älter)(?!\\p{L}))`,
    from,
  ],
  [
    `(?:(?:aged?\\s+)?(?:under|below)|(?:younger|less)\\s+than|unter|jünger\\s+als|men(?:or(?:es)?|os)\\s+de|moins\\s+de|` +
    `meno\\s+di|onder\\s+de|jonger\\s+dan)\\s+(${number})${old}?${uncounted}`,
    under,
  ],
  [`(${number})${old}\\s+alt\\p{L}*`, under],
  [
    `(?:in\\s+(?:his|her|their|my|your|our)|(?<=${people}\\s)in\\s+(?:the|their)?|in\\s+den|in\\s+de|(?:dans|sur)\\s+la|` +
    `sulla)\\s*(?:${part}[\\s-]+)?(${decade})(?!\\p{L})`,
    (place, name) => decadeOf(name!, place),
  ],
  [`${part}[\\s-]+(${decade})(?!\\p{L})`, (place, name) => decadeOf(name!, place)],
  [
    `(${decades[5]!.join('|')}|${decades[6]!.join('|')}|${decades[8]!.join('|')})(?:\\s+yaş\\p{L}*)?(?!\\p{L})`,
    (name) => decadeOf(name!),
  ],
  ['teenagers?(?!\\p{L})|teens(?!\\p{L})', () => ({ min: youngest, max: 19 })],
  [`(${tens.join('|')})[\\s-]?something`, (ten) => ({ min: valueOf(ten!), max: valueOf(ten!) + 9 })],
  [
    `(?:around|about|circa|roughly|ungefähr|um\\s+die|unos|alrededor\\s+de|environ|rond\\s+de)\\s+(${number})${old}?${uncounted}`,
    (age) => ({ min: valueOf(age!) - 5, max: valueOf(age!) + 5 }),
  ],
  [
    `(?:(?:aged?)\\s+(${number})(?!\\p{L})|(?:de\\s+)?(${number})(?:[\\s-]+${years}[\\s-]+(?:old|alt|oud)|\\s?(?:yo|y/o)|` +
    `\\s+yaşında|\\s+(?:años|ans|anni|anos))(?!\\p{L}))${uncounted}`,
    (aged, age) => ({ min: valueOf(aged ?? age!), max: valueOf(aged ?? age!) }),
  ],
]
const compiled = patterns.map(([pattern, range]) =>
  [new RegExp(`(?<![\\p{L}\\p{N}.,€$£-])${pattern}`, 'iu'), range] as const
)

/** Before an age that somebody has and does not ask for: "I'm in my sixties". */
const ownAge = /\b(?:I['’]m|I am)(?:\s+(?:in|my|about|around|over|past|just|almost|nearly|early|mid|late))*\s*$/i

/** The age that a text asks for, and the text without it. Whoever is under 18 has no profile, so it is no age. */
export const takeAge = (text: string): { text: string; age: AgeRange | null } => {
  for (const [pattern, range] of compiled) {
    const found = pattern.exec(text)
    if (!found || ownAge.test(text.slice(0, found.index))) continue
    const { min, max } = range(...found.slice(1) as string[])
    if (max < youngest || min > oldest || max < min || min < youngest - 1) continue
    const rest = `${text.slice(0, found.index)} ${text.slice(found.index + found[0].length)}`
    return { text: rest, age: { min: Math.max(min, youngest), max: Math.min(max, oldest) } }
  }
  return { text, age: null }
}
