// Positive pointwise mutual information: which nodes a word reaches more often than other words do.
import { type Entry, type Sparse, sparseRows } from './sparse.ts'

/**
 * Exponent on the nodes' probabilities, which makes rare nodes a little less surprising (context distribution
 * smoothing; Levy, Goldberg and Dagan 2015, "Improving distributional similarity with lessons learned from word
 * embeddings", use .75 too).
 */
const contextSmoothing = 0.75

/** Nodes that fewer training words reach cannot make words similar, and only cost time. */
const leastWords = 5

/**
 * Turns rows p(node | word), each summing to 1, into rows max(0, ln(p(node | word) / q(node))) of length 1 (L2), where
 * q(node) ~ (sum over words of importance * p(node | word)) ^ .75. Keeps the nodes that the first `trainingRows` rows
 * share.
 */
export const positiveInformation = (
  rows: Entry[][],
  importance: Float64Array,
  trainingRows: number,
  nodeCount: number,
): { matrix: Sparse; columnCount: number } => {
  const expected = new Float64Array(nodeCount)
  const reached = new Int32Array(nodeCount)
  rows.forEach((row, i) => {
    for (const [node, share] of row) {
      expected[node]! += importance[i]! * share
      if (i < trainingRows) reached[node]!++
    }
  })
  const smoothed = expected.map((x) => x ** contextSmoothing)
  const sum = smoothed.reduce((total, x) => total + x, 0)

  let columnCount = 0
  const columns = Int32Array.from(reached, (words) => words < leastWords ? -1 : columnCount++)
  const matrix = sparseRows()
  for (const row of rows) {
    const information = row.flatMap(([node, share]): Entry[] => {
      const bits = Math.log(share / (smoothed[node]! / sum))
      return columns[node]! >= 0 && bits > 0 ? [[columns[node]!, bits]] : []
    })
    const length = Math.sqrt(information.reduce((squares, [, x]) => squares + x * x, 0))
    matrix.add(information.map(([column, x]) => [column, x / length]))
  }
  return { matrix: matrix.matrix(), columnCount }
}
