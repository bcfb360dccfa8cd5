// The graph that a random reader of WordNet walks: from a lemma to its meanings, from a meaning to its lemmas, to
// related meanings and to the words of its gloss.
import type { Lexicon } from './lexicon.ts'
import { type Entry, type Sparse, sparseRows } from './sparse.ts'

/** Nodes are the synsets, in their order, then the lemmas. Each row holds the probabilities of the next step. */
export type Graph = { transitions: Sparse; synsetCount: number; nodeCount: number }

/**
 * The shares of a step from a synset to its lemmas, its relations and its gloss. If one is missing, the others share
 * its part.
 */
const synsetStep = { lemmas: 0.3, relations: 0.4, gloss: 0.3 }

/** A lemma leads to its meanings with weight 1 and to the synsets whose gloss uses it with at most this weight. */
const usersWeight = 0.25
/** Fewer users than this weigh less, in proportion: one chance mention is no evidence. */
const fullUsers = 8
/** A word that more glosses use (`person`) says nothing about any of them; of the others the best users are kept. */
const tooManyUsers = 200
const keptUsers = 40

/** A gloss word that is in more than exp(-1.5) = 22 % of the glosses weighs nothing. */
const leastInverseFrequency = 1.5

/**
 * Weight of a relation by its symbol in WordNet. Relations that keep the topic weigh about 1; antonyms share a topic
 * but not a stance; regions and usages (`slang`) connect words that have nothing else in common.
 */
const relationWeights: Readonly<Record<string, number>> = {
  '@': 1, // hypernym
  '~': 0.7, // hyponym
  '@i': 1, // instance of
  '~i': 0.2, // has instance: a city of Portugal says more about Portugal than Portugal about the city
  '+': 1.2, // derivation
  '\\': 1.2, // pertains to, derived from
  '&': 0.8, // similar
  '^': 0.6, // also see
  '=': 0.5, // attribute
  '*': 0.6, // entails
  '>': 0.6, // causes
  $: 0.8, // verb group
  '!': 0.25, // antonym
  '#p': 0.4, // part of
  '%p': 0.4,
  '#s': 0.4, // substance of
  '%s': 0.4,
  '#m': 0.3, // member of
  '%m': 0.3,
  ';c': 0.8, // topic
  '-c': 0.8,
  ';r': 0.15, // region
  '-r': 0.05,
  ';u': 0.05, // usage
  '<': 0.3, // participle of
}

/**
 * A kind of relation with more than 4 targets (`city` has 661 instances) counts as if it had the geometric mean of 4
 * and them.
 */
const fanOut = 4

const scaled = (entries: Entry[], mass: number): Entry[] => {
  const sum = entries.reduce((total, [, weight]) => total + weight, 0)
  return entries.filter(([, weight]) => weight > 0).map(([node, weight]) => [node, weight / sum * mass])
}

const relationsOf = ({ synsets }: Lexicon, synset: number): Entry[] => {
  const { pointers } = synsets[synset]!
  const kinds = Map.groupBy(pointers, ({ relation }) => relation)
  return pointers.map(({ relation, synset: target }) => {
    const damping = Math.min(1, Math.sqrt(fanOut / kinds.get(relation)!.length))
    return [target, (relationWeights[relation] ?? 0) * damping]
  })
}

/**
 * Lemmas weigh sqrt(p(synset | lemma)): one that rarely has this meaning is a poor name for it. The step to the lemmas
 * as a whole shrinks, to 40 %, where even the best of them mostly means something else.
 */
const lemmasOf = ({ synsets, numbers, meanings }: Lexicon, synset: number): Entry[] => {
  const named = synsets[synset]!.lemmas.map((lemma): Entry => {
    const number = numbers.get(lemma)!
    return [number, meanings[number]!.find(([meaning]) => meaning === synset)![1]]
  })
  const best = named.reduce((max, [, probability]) => Math.max(max, probability), 0)
  const weights = named.map(([lemma, probability]): Entry => [synsets.length + lemma, Math.sqrt(probability)])
  return scaled(weights, synsetStep.lemmas * (0.4 + 0.6 * best))
}

/** Gloss words weigh count * (idf - 1.5) / sqrt(number of meanings): rare words with one meaning tell the most. */
const glossOf = ({ glosses, inverseFrequencies, meanings, synsets }: Lexicon, synset: number): Entry[] =>
  [...glosses[synset]!].map(([lemma, count]) => {
    const rarity = Math.max(0, inverseFrequencies[lemma]! - leastInverseFrequency)
    return [synsets.length + lemma, count * rarity / Math.sqrt(meanings[lemma]!.length)]
  })

/** For each lemma the synsets whose gloss uses it, the most frequently tagged ones first. */
const usersOf = ({ glosses, synsets, lemmas, numbers, tagCounts }: Lexicon): Entry[][] => {
  const users = lemmas.map((): Entry[] => [])
  glosses.forEach((gloss, synset) => {
    const tagged = Math.max(...synsets[synset]!.lemmas.map((lemma) => tagCounts[numbers.get(lemma)!]!))
    for (const [lemma, count] of gloss) users[lemma]!.push([synset, count * (0.3 + Math.log1p(tagged))])
  })
  return users.map((entries) =>
    entries.length > tooManyUsers ? [] : entries.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, keptUsers)
  )
}

export const buildGraph = (lexicon: Lexicon): Graph => {
  const { synsets, lemmas, meanings } = lexicon
  const rows = sparseRows()
  synsets.forEach((_, synset) =>
    rows.add(scaled([
      ...lemmasOf(lexicon, synset),
      ...scaled(relationsOf(lexicon, synset), synsetStep.relations),
      ...scaled(glossOf(lexicon, synset), synsetStep.gloss),
    ], 1))
  )
  usersOf(lexicon).forEach((users, lemma) => {
    const mass = usersWeight * Math.min(1, users.length / fullUsers)
    rows.add(scaled([...meanings[lemma]!, ...scaled(users, mass)], 1))
  })
  return { transitions: rows.matrix(), synsetCount: synsets.length, nodeCount: synsets.length + lemmas.length }
}
