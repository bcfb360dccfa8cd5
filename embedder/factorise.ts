// A randomised singular value decomposition (Halko, Martinsson and Tropp 2011, "Finding structure with randomness").
import { eigen } from './eigen.ts'
import { crossProduct, orthonormalise } from './orthonormal.ts'
import { type Sparse, times, transposedTimes } from './sparse.ts'

/** Spare columns of the random start, dropped at the end. Halko et al. call 5 to 10 enough. */
const oversampling = 16

/** How often the start is multiplied by A Aᵀ; Halko et al. advise 1 or 2 where singular values fall slowly. */
const powerIterations = 1

const seed = 7

/**
 * Exponent on the singular values: words are U S^½, not U S. Levy, Goldberg and Dagan 2015 find ½
 * and 0 better than 1 for word similarity: the largest directions are the broadest topics.
 */
const singularExponent = 0.5

/**
 * Uniform numbers from 0 to 1: a Weyl sequence through the 32-bit finaliser of MurmurHash3, enough for a
 * random start, which needs no particular distribution.
 */
const randomNumbers = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let h = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32
  }
}

/**
 * Fits A = U S Vᵀ to the first `trainingRows` rows of A and returns A V S^-½, `rank` numbers for every row; for the
 * training rows that is U S^½. With Y an orthonormal basis of the range and B = Yᵀ A (training rows only), B Bᵀ = E S²
 * Eᵀ and V = Bᵀ E S⁻¹. V itself, the tall one, is never formed: A V = (A Bᵀ) E S⁻¹, and B Bᵀ = Yᵀ (A Bᵀ).
 */
export const factorise = (a: Sparse, columnCount: number, trainingRows: number, rank: number): Float32Array => {
  const width = rank + oversampling
  const rowCount = a.starts.length - 1
  const random = randomNumbers(seed)
  const start = Float32Array.from({ length: columnCount * width }, () => random() + random() - 1)

  const transposed = (y: Float32Array) => transposedTimes(a, trainingRows, y, width, columnCount)
  let range = orthonormalise(times(a, trainingRows, start, width), width)
  for (let i = 0; i < powerIterations; i++) {
    range = orthonormalise(times(a, trainingRows, transposed(range), width), width)
  }

  const projected = times(a, rowCount, transposed(range), width)
  // The training rows come first; crossProduct stops where the shorter matrix does.
  const square = crossProduct(range, projected, width)
  const symmetric = square.map((x, i) => (x + square[(i % width) * width + Math.floor(i / width)]!) / 2)
  const { values, vectors } = eigen(symmetric, width)

  // E S⁻¹ S^-½, a column for each dimension that is kept; the eigenvalues are S².
  const rotation = new Float32Array(width * rank)
  for (let j = 0; j < rank; j++) {
    const scale = Math.sqrt(values[j]!) ** (singularExponent - 2)
    for (let i = 0; i < width; i++) rotation[i * rank + j] = vectors[j]![i]! * scale
  }
  const words = new Float32Array(rowCount * rank)
  for (let row = 0; row < rowCount; row++) {
    for (let i = 0; i < width; i++) {
      const value = projected[row * width + i]!
      for (let j = 0; j < rank; j++) words[row * rank + j]! += value * rotation[i * rank + j]!
    }
  }
  return words
}
