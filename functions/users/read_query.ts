// What a query says apart from its words: which of them carry meaning, what is not wanted, which age. The database,
// which knows the words and places of the profiles, goes on from there (docs/search.md).
import { fold, unspaced, wordsOf } from '../_shared/fold.ts'
import { type AgeRange, takeAge } from './query_age.ts'
import {
  alternatives,
  beforeLanguages,
  beforePlaces,
  behindLanguages,
  denials,
  deniers,
  deniersBehind,
  fillerWords,
  functionWords,
  habits,
  idioms,
  lacking,
  type Language,
  languages,
  nearWords,
  numbers,
  objects,
  openers,
  outsideWords,
  ownVerbs,
  speaking,
  tellingDeniers,
} from './query_words.ts'

/** What is said of a word, or of all words of a token; what is false is left out. */
interface Said {
  quoted?: boolean
  excluded?: boolean
  is_denied?: boolean
  unfinished?: boolean
  is_where?: boolean
  is_near?: boolean
  is_language?: boolean
  is_capital?: boolean
  is_light?: boolean
  variants?: string[]
}

interface SearchToken extends Said {
  text: string
}

/** A word as private.query_word reads it. Those of one `run` are a phrase: a quoted or excluded token, or letters. */
interface SearchWord extends Said {
  word: string
  run?: number
  is_known?: boolean
}

export interface ReadQuery {
  tokens: SearchToken[]
  words: SearchWord[]
  /** What to embed: all of the text but what is excluded or means nothing. */
  text: string
  leftOut: string[]
  /** What was denied in words. */
  excluded: string[]
  age: AgeRange | null
}

interface Token {
  typed: string
  /** In lower case, without punctuation around it; empty for a quoted or excluded token. */
  word: string
  isLast: boolean
  /** Whether punctuation ends a clause after it. */
  endsClause: boolean
}

const tokensOf = (query: string): Token[] =>
  [...query.matchAll(/-?"[^"]*(?:"|$)|[^\s"]+/g)].map(([typed], place, all) => ({
    typed,
    word: /^-?"|^-/.test(typed)
      ? ''
      : typed.toLowerCase().replaceAll('’', "'").replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+$/gu, ''),
    isLast: place === all.length - 1 && !/[\s"]$/.test(query),
    endsClause: /[,;:.!?)]$/.test(typed),
  }))

const isDenierSomewhere = (word: string): boolean => languages.some((language) => deniers[language].has(word))

/** The languages that most of the words belong to that carry no meaning; none if there are no such words. */
const languagesOf = (tokens: Token[]): Language[] => {
  // "no" is "in the" in Portuguese.
  const words = tokens.map(({ word }) => word).filter((word) => tellingDeniers.has(word) || !isDenierSomewhere(word))
  const counts = languages.map((language) =>
    words.filter((word) => functionWords[language].has(word) || deniers[language].has(word)).length
  )
  const best = Math.max(...counts)
  return best === 0 ? [] : languages.filter((_, place) => counts[place] === best)
}

const isCapital = (typed: string): boolean => /^\p{Lu}/u.test(typed)
/** US and not us. */
const isAbbreviation = (typed: string): boolean => /^\p{Lu}{2}$/u.test(typed.replace(/\P{L}/gu, ''))

interface Denied {
  words: string[]
  isPlace: boolean
}

/**
 * Finds what is denied: the places of the tokens that say so, and what they exclude. Without a word that tells the
 * language, a denier may be a name (Ni Bhriain, Sem Bakker): it must stand before a word that the model knows, and one
 * that is not English must stand behind another word as well.
 */
const findDenied = (tokens: Token[], spoken: Language[], known: ReadonlySet<string>) => {
  const places = new Set<number>()
  const excluded: Denied[] = []
  const isDenier = (word: string, place: number): boolean => {
    if (spoken.length > 0) return spoken.some((language) => deniers[language].has(word))
    return known.has(tokens[place + 1]?.word ?? '') &&
      (deniers.en.has(word) || isDenierSomewhere(word) && place > 0 && !isCapital(tokens[place]!.typed))
  }
  const isFunctionWord = (word: string) =>
    (spoken.length > 0 ? spoken : languages).some((language) => functionWords[language].has(word))
  /** Excludes the first word from there on that says something, and what "or" joins to it. */
  const exclude = (denier: number): void => {
    const isHabit = habits.has(tokens[denier - 1]?.word ?? '')
    const said = new Set(isHabit ? [denier - 1, denier] : [denier])
    let isPlace = outsideWords.has(tokens[denier]!.word)
    for (let place = denier + 1; place < tokens.length; place++) {
      const { typed, word, endsClause } = tokens[place]!
      if (word === '') return
      said.add(place)
      const next = tokens[place + 1]
      const isNoise = isFunctionWord(word) && !isAbbreviation(typed)
      if ((isNoise || fillerWords.has(word)) && next && !endsClause) {
        isPlace ||= beforePlaces.has(word)
        continue
      }
      if (isNoise) return
      said.forEach((each) => places.add(each))
      const words = [word]
      // A name of several words.
      for (let more = place + 1; isCapital(typed) && !spoken.includes('de') && !tokens[more - 1]!.endsClause; more++) {
        if (!tokens[more] || !isCapital(tokens[more]!.typed)) break
        words.push(tokens[more]!.word)
        places.add(more)
        place = more
      }
      // "no spicy food", "not on social media": a thing of two words, if it is all that follows.
      const isThing = /^(no|not|a|an|on)$/.test(tokens[place - 1]!.word) && !/(s|ing)$/.test(word) && !endsClause &&
        !denials.some(([has]) => has!.includes(fold(word)))
      if (
        isThing && next?.word && place + 2 === tokens.length && words.length === 1 && !isFunctionWord(next.word) &&
        !isCapital(next.typed)
      ) {
        words.push(next.word)
        places.add(++place)
      }
      excluded.push({ words, isPlace })
      const after = tokens[place + 1]
      if (!after || !alternatives.has(after.word) && (endsClause || !objects.has(after.word))) return
      said.clear()
      if (alternatives.has(after.word)) said.add(++place)
    }
  }
  tokens.forEach(({ word }, place) => {
    const [before, after] = [tokens[place - 1]?.word ?? '', tokens[place + 1]?.word ?? '']
    const excludeBefore = () => {
      places.add(place - 1).add(place)
      excluded.push({ words: [before], isPlace: false })
    }
    if (deniersBehind.has(word) && before !== '' && !isDenier(before, place - 1)) excludeBefore()
    const isOpen = openers.has(before) || before === 'i' && (ownVerbs.has(after) || /^(can|quit|stop)/.test(word))
    if (places.has(place) || !isDenier(word, place) || isOpen) return
    if (idioms.has(after)) return void (tokens[place + 2] && places.add(place).add(place + 1))
    if (after === '' && habits.has(before)) excludeBefore()
    exclude(place)
  })
  return { places, excluded }
}

/** The places of the words that stand where a language does: "speaks Turkish and Dutch", "German lessons". */
const findLanguages = (tokens: Token[]): Set<number> => {
  const found = new Set<number>()
  const isName = ({ word }: Token) => word.length > 3 && !beforeLanguages.has(word) && !behindLanguages.has(word)
  tokens.forEach((token, place) => {
    const before = tokens[place - 1]?.word ?? ''
    const behind = tokens[place + 1]?.word ?? ''
    const isJoined = found.has(place - 1) || found.has(place - 2) && /^(and|or)$/.test(before)
    if (isName(token) && (beforeLanguages.has(before) || behindLanguages.has(behind) || isJoined)) found.add(place)
  })
  return found
}

/** Between "close" or "near" and a place. */
const joining = /^(the|to|of|de|der|von|van|a|à|da|di|do|in)$/

/** The places of the words that stand where a place does, and of those with "near" before it. */
const findWhere = (tokens: Token[]) => {
  const [where, near] = [new Set<number>(), new Set<number>()]
  tokens.forEach((_, place) => {
    let before = place - 1
    if (joining.test(tokens[place]!.word)) return
    if (beforePlaces.has(tokens[before]?.word ?? '')) where.add(place)
    while (joining.test(tokens[before]?.word ?? '')) before--
    if (nearWords.has(tokens[before]?.word ?? '')) near.add(place)
  })
  return { where, near }
}

const isLight = (word: string): boolean => languages.some((language) => functionWords[language].has(word))

/** Other ways to write a number, and how the index says that somebody lacks what "sober" says to lack. */
const variantsOf = (word: string): string[] => {
  const lacks = lacking.get(word)
  if (lacks) return (deniedAs([lacks]).variants ?? [lacks]).map((form) => `~no ${form.replace('~', '')}`)
  const digits = numbers.get(word)
  if (digits) return [digits]
  const english = [...numbers].find(([, each]) => each === word)?.[0]
  return english ? [english] : []
}

/** A denied word with its forms, or what is meant by it (private.read_exclusion): "doesn't drink", alcohol. */
const deniedAs = (words: string[]) => {
  const word = words.map(fold).join(' ')
  const groups = [0, 1].flatMap((part) => denials.filter((group) => group[part]?.includes(word)))
  const [has = [word], lacks = []] = groups[0] ?? []
  const text = has.includes(word) ? words.join(' ') : has[0]!
  return { text, ...groups.length > 0 && { variants: [...has, ...lacks.map((form) => `~${form}`)] } }
}

const unspacedLetter = new RegExp(`^[${unspaced}]`, 'u')

/**
 * The folded words of each token: the first ten that are wanted, and the first ten excluded. Words of scripts without
 * spaces have one to five letters: three are taken for a word.
 */
const wordsOfTokens = (tokens: SearchToken[], known: ReadonlySet<string>): SearchWord[][] => {
  const isKnown = new Set([...known].flatMap(wordsOf))
  const counted = { wanted: 0, excluded: 0 }
  let run = 0
  return tokens.map(({ text, unfinished, ...said }) => {
    const kind = said.excluded ? 'excluded' : 'wanted'
    const isPhrase = said.quoted || said.excluded
    let wasLetter = false
    run++
    return wordsOf(text).flatMap((word, place, all): SearchWord[] => {
      const isLetter = unspacedLetter.test(word)
      if (isLetter !== wasLetter && !isPhrase) run++
      wasLetter = isLetter
      counted[kind] += isLetter ? 1 / 3 : 1
      return counted[kind] > 10.01 ? [] : [{
        word,
        ...said,
        ...unfinished && place === all.length - 1 && { unfinished },
        ...(isPhrase || isLetter) && { run },
        ...isKnown.has(word) && { is_known: true },
      }]
    })
  })
}

/** "just outside Paris", "anything but jazz", "smoke-free", "can't live without" in known words, but for phrases. */
const spellOut = (query: string): string =>
  query.includes('"') ? query : query.replace(/\bjust outside(?: of)?\b/gi, 'near')
    .replace(/\b(dairy|gluten|sugar|smoke|alcohol|meat|car|child|kid|pet)[- ]free\b/gi, 'without $1')
    .replace(/\b(?:can(?:no|['’])?t|never|not) (?:\p{L}+ )?without\b/giu, 'with')
    .replace(/\banything but\b|(?<![\p{L}\p{N}-])non-(?=smok|drink)/giu, 'without ')

/** From this many words on, those without a meaning of their own are left out; beside an age or an exclusion always. */
const sentenceLength = 5

/** Reads a query. Without a word that carries meaning, all of them count. The model knows the `known` words. */
export const readQuery = (query: string, known: ReadonlySet<string>): ReadQuery => {
  const { text: ageless, age } = takeAge(query)
  const tokens = tokensOf(spellOut(ageless))
  const spoken = languagesOf(tokens)
  const { places: denied, excluded } = findDenied(tokens, spoken, known)
  const [foreign, { where, near }] = [findLanguages(tokens), findWhere(tokens)]
  const isLeftOut = ({ typed, word }: Token, place: number): boolean =>
    word !== '' && !isAbbreviation(typed) && !near.has(place) &&
    (spoken.length > 0 ? spoken : languages).some((language) =>
      functionWords[language].has(word) || spoken.length > 0 && deniers[language].has(word)
    )
  const wanted = tokens.map((token, place) => ({ token, place })).filter(({ place }) => !denied.has(place))
  const telling = wanted.filter(({ token, place }) => !isLeftOut(token, place))
  const isNarrowed = age !== null || excluded.length > 0 || near.size > 0
  const isSentence = isNarrowed || tokens.length >= sentenceLength && telling.some(({ token }) => token.word !== '')
  const kept = (isSentence ? telling : wanted).filter(({ token }) =>
    !(nearWords.has(token.word) && near.size > 0) && !(speaking.has(token.word) && foreign.size > 0)
  )
  const wantedTokens = kept.map(({ token: { typed, word, isLast }, place }): SearchToken => ({
    text: typed.replace(/^-/, ''),
    ...typed.startsWith('-') && { excluded: true },
    ...typed.replace(/^-/, '').startsWith('"') && { quoted: true },
    // The last word is only unfinished if nothing after it was left out.
    ...isLast && word !== '' && { unfinished: true },
    ...where.has(place) && { is_where: true },
    ...near.has(place) && { is_near: true },
    ...foreign.has(place) && { is_language: true },
    ...isCapital(typed) && { is_capital: true },
    ...isLight(word) && !isAbbreviation(typed) && { is_light: true },
    ...variantsOf(word).length > 0 && { variants: variantsOf(word) },
  }))
  const searchTokens = [
    ...wantedTokens,
    ...excluded.map(({ words, isPlace }): SearchToken => ({
      ...deniedAs(words),
      excluded: true,
      is_denied: true,
      ...isPlace && { is_where: true },
    })),
  ]
  const words = wordsOfTokens(searchTokens, known)
  const embedded = searchTokens.filter((token, place) => !token.excluded && words[place]!.length > 0)
  return {
    tokens: searchTokens,
    words: words.flat(),
    text: embedded.map(({ text }) => text.replaceAll('"', ' ')).join(' ').trim(),
    leftOut: isSentence
      ? wanted.filter(({ token, place }) => isLeftOut(token, place)).map(({ token }) => token.word)
      : [],
    excluded: excluded.map(({ words }) => words.join(' ')),
    age,
  }
}

export interface Correction {
  from: string
  to: string
}

/** With the likeliest of each mistyped word. */
export const corrected = (text: string, corrections: Correction[]): string =>
  corrections.reduce((written, { from, to }) => {
    const typed = [...written.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].find(([word]) => fold(word) === from)
    return typed ? written.slice(0, typed.index) + to + written.slice(typed.index + typed[0].length) : written
  }, text)

/** What the database makes of a query's words (private.describe_query). */
export interface Reading {
  corrections: Correction[]
  /** What an unfinished word most often stands for. */
  completions: Correction[]
  /** Words that nobody has and the model does not know. */
  unknown: string[]
}

/** What of a query means something: its words as corrected and completed, without the unknown ones. */
export const meaningOf = (text: string, { corrections, completions, unknown }: Reading): string =>
  corrected(text, [...corrections, ...completions, ...unknown.map((from) => ({ from, to: '' }))])
    .trim().replace(/\s+/g, ' ')

/**
 * What is embedded: all of it, since an unknown word may be half of a phrase. The offline model has no vector for
 * gibberish; for another a query in which nothing means anything is not embedded.
 */
export const textToEmbed = (text: string, reading: Reading, isOffline: boolean): string =>
  isOffline || meaningOf(text, reading) !== '' ? corrected(text, [...reading.corrections, ...reading.completions]) : ''

/** A query without a letter or digit, such as an emoji. */
export const asksForNobody = (query: string): boolean => query.trim() !== '' && !/[\p{L}\p{N}]/u.test(query)

/** How a query was understood, for whoever asks for an explanation. */
export const explained = ({ text, tokens, excluded, leftOut, age }: ReadQuery, places: string[]) => ({
  text,
  words: tokens.filter((token) => !token.is_denied).map((token) => `${token.excluded ? '-' : ''}${plainText(token)}`),
  excluded,
  left_out: leftOut,
  places,
  age,
})

const plainText = ({ text, quoted }: SearchToken): string =>
  quoted ? text : text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+$/gu, '') || text
