import { unit } from './topics.ts'

/**
 * Subtracts the mean word, weighted by importance, from every row and brings the rows to length 1 (L2); a row of zeros
 * stays one. The mean is what all words share, as does the first principal component that Arora et al. 2017 remove from
 * sentences.
 */
export const centre = (rows: Float32Array, importance: Float64Array, width: number): Float32Array => {
  const mean = new Float64Array(width)
  const sum = importance.reduce((total, x) => total + x, 0)
  rows.forEach((x, i) => mean[i % width]! += x * importance[Math.floor(i / width)]! / sum)
  const centred = rows.map((x, i) => x - mean[i % width]!)
  for (let at = 0; at < centred.length; at += width) centred.set(unit(centred.subarray(at, at + width)), at)
  return centred
}
