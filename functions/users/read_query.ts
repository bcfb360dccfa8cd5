// What a query says apart from its words: which of them carry meaning, what is not wanted, which age. The database,
// which knows the words and places of the profiles, goes on from there (docs/search-query.md).
import { knownWords } from '../_shared/embeddings/query_vector.ts'
import { type AgeRange, takeAge } from './query_age.ts'
import {
  alternatives,
  beforeLanguages,
  behindLanguages,
  conjunctions,
  deniers,
  deniersBehind,
  functionWords,
  idioms,
  type Language,
  languages,
  lightWords,
  numbers,
  openers,
  ownVerbs,
} from './query_words.ts'

export interface ReadQuery {
  /** The words to look for, with quotes and minus signs as typed, and a minus sign before what is denied. */
  words: string
  /** What to embed: all of the text but what is excluded. */
  text: string
  /** The part of it after the words that rank, which are ten at most. */
  beyond: string
  leftOut: string[]
  excluded: string[]
  age: AgeRange | null
  /** Words that name a language, though a place may have the same name. */
  spoken: string[]
  /** Other ways to write a word. */
  variants: Record<string, string[]>
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

/** The languages that most of the words belong to that carry no meaning; all if there are none. */
const languagesOf = (tokens: Token[]): Language[] => {
  // "no" is "in the" in Portuguese.
  const words = tokens.map(({ word }) => word).filter((word) => !isDenierSomewhere(word))
  const counts = languages.map((language) => words.filter((word) => functionWords[language].has(word)).length)
  const best = Math.max(...counts)
  return best === 0 ? languages : languages.filter((_, place) => counts[place] === best)
}

/** Without accents, as the database has words. */
const plain = (word: string): string => word.normalize('NFD').replace(/\p{M}/gu, '')

const isCapital = (typed: string): boolean => /^\p{Lu}/u.test(typed)

/** A word in singular and plural. */
const inflected = (word: string): string[] =>
  word.length > 3 && word.endsWith('s')
    ? [word, word.slice(0, -1)]
    : /^[a-z]{3,}$/.test(word)
    ? [word, `${word}s`]
    : [word]

/** Finds what is denied: the places of the tokens that say so, and what they exclude. */
const findDenied = (tokens: Token[], spoken: Language[]): { places: Set<number>; excluded: string[] } => {
  const places = new Set<number>()
  const excluded: string[] = []
  const isDenier = (word: string) => spoken.some((language) => deniers[language].has(word))
  const isFunctionWord = (word: string) => spoken.some((language) => functionWords[language].has(word))
  /** Excludes the first word from there on that says something, and what "or" joins to it. */
  const exclude = (denier: number): void => {
    const said = new Set([denier])
    for (let place = denier + 1; place < tokens.length; place++) {
      const { typed, word, endsClause } = tokens[place]!
      if (word === '') return
      said.add(place)
      const next = tokens[place + 1]
      const isNoise = isFunctionWord(word) && !(isCapital(typed) && word.length === 2 && typed === typed.toUpperCase())
      if ((isNoise || lightWords.has(word)) && next && !endsClause) continue
      if (isNoise) return
      said.forEach((each) => places.add(each))
      if (conjunctions.has(tokens[denier - 1]?.word ?? '')) places.add(denier - 1)
      if (isCapital(typed) && next && isCapital(next.typed) && !endsClause) {
        places.add(place + 1)
        excluded.push(`${word} ${next.word}`)
        place++
      } else {
        excluded.push(...(spoken.includes('en') ? inflected(word) : [word]))
      }
      const after = tokens[place + 1]
      if (!after || !alternatives.has(after.word)) return
      said.clear()
      said.add(++place)
    }
  }
  tokens.forEach(({ word }, place) => {
    const [before, after] = [tokens[place - 1]?.word ?? '', tokens[place + 1]?.word ?? '']
    if (deniersBehind.has(word) && before !== '' && !isDenier(before)) {
      places.add(place - 1).add(place)
      excluded.push(before)
    }
    const isOpen = openers.has(before) || before === 'i' && ownVerbs.has(after)
    if (places.has(place) || !isDenier(word) || isOpen || idioms.has(after)) return
    exclude(place)
  })
  return { places, excluded: [...new Set(excluded)] }
}

/** The words that stand where a language does: "speaks Turkish and Dutch", "German lessons". */
const findSpoken = (tokens: Token[]): string[] => {
  const found = new Set<number>()
  const isName = ({ word }: Token) => word.length > 3 && !beforeLanguages.has(word) && !behindLanguages.has(word)
  tokens.forEach((token, place) => {
    const before = tokens[place - 1]?.word ?? ''
    const behind = tokens[place + 1]?.word ?? ''
    const isJoined = found.has(place - 1) || found.has(place - 2) && /^(and|or)$/.test(before)
    if (isName(token) && (beforeLanguages.has(before) || behindLanguages.has(behind) || isJoined)) found.add(place)
  })
  return [...found].map((place) => plain(tokens[place]!.word))
}

/** From this many words on, those without a meaning of their own are left out; beside an age or an exclusion always. */
const sentenceLength = 5

/** As many as private.parse_query ranks. */
const rankedWords = 10

/** Reads a query. Without a word that carries meaning, all of them count. */
export const readQuery = (query: string): ReadQuery => {
  const { text: ageless, age } = takeAge(query)
  const tokens = tokensOf(ageless)
  const spokenIn = languagesOf(tokens)
  const { places, excluded } = findDenied(tokens, spokenIn)
  const isLeftOut = ({ typed, word }: Token): boolean =>
    word !== '' && !/^\p{Lu}{2}$/u.test(typed.replace(/\P{L}/gu, '')) &&
    spokenIn.some((language) => functionWords[language].has(word) || deniers[language].has(word))
  const wanted = tokens.filter((_, place) => !places.has(place))
  const telling = wanted.filter((token) => !isLeftOut(token))
  const isNarrowed = age !== null || excluded.length > 0
  const isSentence = isNarrowed || tokens.length >= sentenceLength && telling.some(({ word }) => word !== '')
  const kept = isSentence ? telling : wanted
  // The last word is only unfinished if nothing after it was left out.
  const text = kept.map(({ typed }) => typed).filter((typed) => !typed.startsWith('-'))
  const isOpen = kept.at(-1)?.isLast ?? false
  return {
    words: kept.map(({ typed }) => typed).concat(excluded.map((each) => `-"${each}"`)).join(' ') +
      (isOpen || kept.length === 0 ? '' : ' '),
    text: text.join(' ').replaceAll('"', ' ').trim(),
    beyond: text.slice(rankedWords).join(' ').replaceAll('"', ' ').trim(),
    leftOut: isSentence ? wanted.filter(isLeftOut).map(({ word }) => word) : [],
    excluded,
    age,
    spoken: findSpoken(tokens),
    variants: Object.fromEntries(
      kept.flatMap(({ word }) => {
        const digits = numbers.get(word)
        if (digits) return [[plain(word), [digits]]]
        const english = [...numbers].find(([, each]) => each === word)?.[0]
        return english ? [[word, [english]]] : []
      }),
    ),
  }
}

/**
 * How a query was understood, for whoever asks for an explanation. An adjective of a place, which the database returns
 * with an @, is a language where one stands.
 */
export const explained = (read: ReadQuery, places: string[], text: string) => ({
  text,
  words: read.words.replace(/-"[^"]*"/g, '').split(/\s+/).filter(Boolean),
  excluded: read.excluded,
  left_out: read.leftOut,
  places: places.map((name) => name.replace('@', ''))
    .filter((name) => places.includes(name) || !read.spoken.includes(name)),
  age: read.age,
})

/**
 * What the database is asked to understand. A short function word at the end is not known: "craft be" may become beer.
 */
export const understandable = async (q: string, { words, spoken, variants }: ReadQuery) => {
  const known = (await knownWords(words)).split(' ')
  const isShortFunctionWord = (word: string) =>
    word.length <= 3 && languages.some((language) => functionWords[language].has(word.toLowerCase()))
  return { q, words, spoken, variants, known: known.filter((word) => !isShortFunctionWord(word)).join(' ') }
}

/** The text to embed: as typed, or what the database has made of the words that rank, and the others as typed. */
export const textToEmbed = (understood: string | null, { text, beyond }: ReadQuery): string =>
  understood === null ? text : `${understood} ${beyond}`.trim()
