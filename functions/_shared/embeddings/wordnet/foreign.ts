// Finds the words of other languages in the glossary, whose forms are rows of the English words that they stand for.
import { wordsOf } from './english.ts'

/**
 * Words that say nothing about a topic in Spanish, Portuguese, French, German, Italian, Dutch and Turkish. They also
 * tell that a text is not English, so those that English has too (`die`, `come`) are skipped in such a text only.
 */
export const foreignStopWords: ReadonlySet<string> = new Set(
  `el la los las lo un una unos unas y e o u de del al a en con por para que se su sus mi mis tu soy eres es somos estoy
  esta este estos muy mas pero como donde cuando quien me te nos le les hay tengo tiene desde hasta sin sobre entre
  os as um uma uns umas do da dos das no na nos nas em com por pelo pela sou esta estou nao muito mais mas meu minha
  seu sua onde quem tenho tem ao aos sem
  des du au aux et ou dans sur avec pour par je il elle nous vous ils mon ma mes ton ta son sa ses ce cette ces qui
  est suis sont ai ne pas plus tres une chez sans sous
  der die das den dem ein eine einen einem einer und oder aber mit ohne fur von vom zu zum zur im am ist bin sind ich
  du er sie wir ihr mein meine sein seine nicht sehr auch auf aus bei nach wie wo wer was gern gerne habe hat
  il gli uno di dal dalla nel nella nei delle degli della dei al alla con per tra fra che chi sono sei ho ha mio mia
  suo sua ma anche molto piu dove come non
  het een van voor naar met op aan uit bij ik wij jij hij zij niet ook graag hou houd heb heeft zijn mijn jouw maar dat
  deze dit veel erg zeer
  bir ve ile icin cok daha bu su ben sen biz benim bana senin gibi kadar olan seviyorum severim yapiyorum yaparim`
    .split(/\s+/),
)

/** Endings of European languages' nouns, adjectives and verbs, accents folded; the longest that fits is removed. */
const endings =
  `s es os as a o e i is ar er ir are ere ire ando endo indo iendo ant ante antes ants amos emos imos iamo ado ada
  ados adas ido ida idos idas ato ata ati ito ita iti ee ees ez ent ons n en ern em t te st et ten ungen`
    .split(/\s+/).toSorted((one, other) => other.length - one.length)

/** A shorter stem would make words of typing errors: `sporst` would be a form of `spor-`. */
const shortestStem = 5

/** What the inflections of a foreign word share, marked so that it equals no word; nothing if that is too short. */
export const stemOf = (word: string): string | undefined => {
  const ending = endings.find((each) => word.endsWith(each) && word.length - each.length >= shortestStem) ?? ''
  return word.length - ending.length >= shortestStem ? `${word.slice(0, word.length - ending.length)}~` : undefined
}

/** Chinese and Japanese are written without spaces. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu
const longestUnspaced = 14

/** Cuts a run of Chinese or Japanese into the longest known words from left to right; the rest is left out. */
const cut = (run: string, isKnown: (word: string) => boolean): string => {
  const found: string[] = []
  for (let at = 0; at < run.length;) {
    let length = Math.min(longestUnspaced, run.length - at)
    while (length > 1 && !isKnown(run.slice(at, at + length))) length--
    const word = run.slice(at, at + length)
    if (isKnown(word)) found.push(word)
    at += length
  }
  return ` ${found.join(' ')} `
}

export const allWordsOf = (text: string, isKnown: (word: string) => boolean): string[] =>
  wordsOf(text.normalize('NFKC').replace(unspaced, (run) => cut(run, isKnown)))
