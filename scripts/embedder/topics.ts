// topics.txt: words that belong together in the life of travellers and hosts, though WordNet keeps them apart.
import { linesOf } from './overlay.ts'

export type Topic = { name: string; words: string[] }

/** How far the words of a topic move towards their common direction; their own has weight 1. */
const pull = 0.5

/** Lines of `name: word, two words`. */
export const parseTopics = (text: string): Topic[] =>
  linesOf(text).map((line) => {
    const [name = '', words = ''] = line.split(':').map((part) => part.trim())
    if (name === '' || words === '') throw new Error(`A topic needs a name, a colon and words: ${line}`)
    return {
      name,
      words: [...new Set(words.split(',').map((word) => word.trim().toLowerCase().replace(/[\s-]+/g, '_')))],
    }
  })

/** Words of topics that WordNet lacks, as lines of glosses.txt: what they mean is what their topic is about. */
export const topicGlosses = (topics: Topic[], isKnown: (word: string) => boolean): string =>
  topics.flatMap(({ words }) => {
    const unknown = words.filter((word) => !isKnown(word))
    const known = words.filter(isKnown)
    return unknown.length > 0 ? [`${unknown.join(', ')} | ${known.join('; ').replaceAll('_', ' ')}`] : []
  }).join('\n')

const unit = (vector: Float32Array): Float32Array => {
  const length = Math.sqrt(vector.reduce((squares, x) => squares + x * x, 0))
  return length === 0 ? vector : vector.map((x) => x / length)
}

/**
 * Pulls each word towards the mean direction of its topics' words (retrofitting; Faruqui et al. 2015, "Retrofitting word
 * vectors to semantic lexicons", without iterating). Changes the vectors of length 1, and keeps their length.
 */
export const pullTogether = (topics: Topic[], vectorOf: (word: string) => Float32Array | undefined): void => {
  const moves = new Map<Float32Array, Float32Array>()
  for (const { words } of topics) {
    const vectors = words.flatMap((word) => vectorOf(word) ?? [])
    const sum = new Float32Array(vectors[0]?.length ?? 0)
    for (const vector of vectors) vector.forEach((x, i) => sum[i]! += x)
    const centre = unit(sum)
    for (const vector of vectors) {
      const move = moves.get(vector) ?? new Float32Array(vector.length)
      centre.forEach((x, i) => move[i]! += pull * x)
      moves.set(vector, move)
    }
  }
  for (const [vector, move] of moves) vector.set(unit(vector.map((x, i) => x + move[i]!)))
}
