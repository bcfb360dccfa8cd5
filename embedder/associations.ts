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
  { starts, columns: nodes, values: shares }: Sparse,
  importance: Float64Array,
  trainingRows: number,
  nodeCount: number,
): { matrix: Sparse; columnCount: number } => {
  const expected = new Float64Array(nodeCount)
  const reached = new Int32Array(nodeCount)
  importance.forEach((weight, row) => {
    for (let i = starts[row]!; i < starts[row + 1]!; i++) {
      expected[nodes[i]!]! += weight * shares[i]!
      if (row < trainingRows) reached[nodes[i]!]!++
    }
  })
  const smoothed = expected.map((x) => x ** contextSmoothing)
  const sum = smoothed.reduce((total, x) => total + x, 0)

  let columnCount = 0
  const columns = Int32Array.from(reached, (words) => words < leastWords ? -1 : columnCount++)
  const matrix = sparseRows()
  for (let row = 0; row < importance.length; row++) {
    const information: Entry[] = []
    for (let i = starts[row]!; i < starts[row + 1]!; i++) {
      const node = nodes[i]!
      const bits = Math.log(shares[i]! / (smoothed[node]! / sum))
      if (columns[node]! >= 0 && bits > 0) information.push([columns[node]!, bits])
    }
    const length = Math.sqrt(information.reduce((squares, [, x]) => squares + x * x, 0))
    matrix.add(information.map(([column, x]) => [column, x / length]))
  }
  return { matrix: matrix.matrix(), columnCount }
}
