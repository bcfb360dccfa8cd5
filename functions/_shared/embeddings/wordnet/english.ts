// Splits English into words for the embedder. The builder (embedder) reads WordNet's glosses with this file,
// and the embedder reads profiles with it, so that both find the same rows. After a change, build wordnet.bin again.

/** Words that say nothing about a topic. Arora's weighting alone would give the rarer ones too much weight. */
export const stopWords: ReadonlySet<string> = new Set(
  `a an the and or but nor if then else than so as though although because since until unless while whether
  of at by for with about against between into through during before after above below to from up down in out on off
  over under again further once here there when where why how within without upon via per across toward towards
  all any both each few more most other another some such no not only own same too very much many enough several
  can cannot could may might must shall should will would do does did doing done be is am are was were been being
  have has had having get gets got getting let lets make makes made making use uses used using
  i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
  herself it its itself they them their theirs themselves who whom whose which what that this these those
  one ones something someone somebody anyone anybody anything everything everyone everybody
  usually especially often always never ever every just like likes liked really quite rather still yet even already
  almost also etc aka whoever whomever whatever whichever whenever wherever whereas whereby wherein whilst amid among
  amongst beside besides beyond despite onto unto thru till til versus vs per plus ought owns owned aren dont im ive
  gonna gotta wanna us ya oh ah hey hi hello huh hmm oops ok okay yeah yes thee thou thy hath aye anywhere everywhere
  nowhere somewhere anytime sometime sometimes somehow anyhow anyway else elsewhere others
  s t d m ll ve re don didn doesn isn aren wasn weren won couldn wouldn`.split(/\s+/),
)

/** Forms that no suffix rule undoes: `base form form …`. A form that is its own base is exempt from the rules. */
const irregularForms: ReadonlyMap<string, string> = new Map(
  `go goes went gone going; die died dying; lie lied lying; tie tied tying; vie vied vying; ski skied; swim swam swum
  eat ate eaten; run ran; drive drove driven; ride rode ridden; write wrote written
  speak spoke spoken; teach taught; buy bought; bring brought; think thought; sing sang sung singing; ring rang
  drink drank drunk; sleep slept; keep kept; feel felt; leave left; meet met; sell sold; tell told; find found
  grow grew grown; know knew known; throw threw thrown; fly flew flown; draw drew drawn; take took taken
  give gave given; come came; become became; begin began begun; break broke broken; choose chose chosen
  fall fell fallen; forget forgot forgotten; freeze froze frozen; see saw seen; shoot shot; sit sat; stand stood
  understand understood; wear wore worn; win won; wake woke woken; build built; send sent; spend spent; lend lent
  lose lost; pay paid; hold held; hear heard; hide hid hidden; hang hung; lead led; say said; feed fed; fight fought
  catch caught; seek sought; strike struck; steal stole stolen; sweep swept; tear tore torn; dig dug; shake shook shaken
  rise risen; swing swung; spin spun; stick stuck; bend bent; lay laid; dive dove
  mouse mice; goose geese; foot feet; tooth teeth; child children; person people; woman women; man men; ox oxen
  wife wives; knife knives; live lives; leaf leaves; loaf loaves; wolf wolves; half halves; shelf shelves
  self selves; calf calves; scarf scarves; thief thieves; hoof hooves; bus buses busses; gas gases gasses
  quiz quizzes; crisis crises; basis bases; analysis analyses; thesis theses; oasis oases; diagnosis diagnoses
  criterion criteria; phenomenon phenomena; curriculum curricula; stimulus stimuli; cactus cacti; fungus fungi
  alumnus alumni; nucleus nuclei; vertebra vertebrae; larva larvae; antenna antennae; matrix matrices; index indices
  bite bitten; blow blew blown; breed bred; burn burnt; cling clung; creep crept; deal dealt
  dream dreamt; dwell dwelt; flee fled; fling flung; kneel knelt; lean leant; leap leapt; learn learnt
  light lit; mean meant; mistake mistook mistaken; overcome overcame; prove proven; shine shone; shrink shrank shrunk
  sew sewn; show shown; sink sank sunk; slide slid; sling slung; sow sown; spill spilt; spoil spoilt
  spring sprang sprung; sting stung; stink stank stunk; strive strove striven; swear swore sworn; swell swollen
  undergo underwent undergone; undertake undertook undertaken; weave wove woven; weep wept
  withdraw withdrew withdrawn; arise arose arisen; awake awoke awoken; bear borne; beat beaten; bleed bled
  good better best; bad worse worst; far farther farthest further furthest; news news`
    .split(/;|\n/)
    .flatMap((line) => {
      const [base = '', ...forms] = line.trim().split(/\s+/)
      return forms.map((form): [string, string] => [form, base])
    }),
)

/** Inflections in the order in which they are tried: the ending, and what the base form has in its place. */
// deno-fmt-ignore
const inflections: readonly (readonly [ending: string, base: string])[] = [
  ['ies', 'y'], ['ies', 'ie'], ['ches', 'ch'], ['shes', 'sh'], ['sses', 'ss'], ['xes', 'x'], ['zes', 'z'], ['ves', 'f'],
  ['ves', 'fe'], ['men', 'man'], ['s', ''], ['es', ''], ['ied', 'y'], ['icked', 'ic'], ['icking', 'ic'], ['ying', 'ie'],
  ['ed', 'e'], ['ed', ''], ['ing', 'e'], ['ing', ''],
]

/** Derivations, tried on unknown words only: in known ones they would find `corn` in `corner`. */
// deno-fmt-ignore
const derivations: typeof inflections = [
  ['ier', 'y'], ['iest', 'y'], ['er', 'e'], ['er', ''], ['ers', 'e'], ['ers', ''], ['est', 'e'], ['est', ''],
  ['ily', 'y'], ['ly', ''], ['bly', 'ble'], ['ally', ''], ['iness', 'y'], ['ness', ''], ['nesses', ''], ['ings', 'e'],
  ['ings', ''], ['able', 'e'], ['able', ''],
]

/** Latin letters that Unicode does not decompose, written as Postgres's unaccent writes them. */
const undecomposed: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ı: 'i' }

/**
 * The words of a text, in order: NFKC, lower case, runs of letters and digits. Accents of Latin, Greek and Cyrillic
 * letters are removed (café = cafe), since WordNet has none; vowel signs of other scripts are part of the word.
 */
export const wordsOf = (text: string): string[] =>
  text.normalize('NFKC').toLowerCase().normalize('NFD').replace(/[\u0300-\u036f]/g, '').normalize('NFC')
    .replace(/[ßæœøłđı]/g, (letter) => undecomposed[letter]!)
    .match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []

const undo = (word: string, rules: typeof inflections, isKnown: (word: string) => boolean): string | undefined => {
  for (const [ending, base] of rules) {
    if (!word.endsWith(ending) || word.length < ending.length + (base === 'y' ? 2 : 3)) continue
    if (ending === 's' && (word.endsWith('ss') || /[ui]s$/.test(word) && isKnown(word))) continue
    const stem = word.slice(0, -ending.length)
    if (isKnown(stem + base)) return stem + base
    const single = stem.slice(0, -1)
    if (base === '' && /([^aeiou])\1$/.test(stem) && stem.length > 3 && isKnown(single)) return single
  }
}

/** The known words that a word may stand for: itself first, its base form last; empty for an unknown word. */
export const formsOf = (word: string, isKnown: (word: string) => boolean): string[] => {
  const irregular = irregularForms.get(word)
  if (irregular !== undefined) return isKnown(irregular) ? [irregular] : []
  const base = undo(word, inflections, isKnown)
  if (isKnown(word)) return base === undefined ? [word] : [word, base]
  const found = base ?? undo(word, derivations, isKnown)
  return found === undefined ? [] : [found]
}
