// Eigenvectors of a small symmetric matrix by cyclic Jacobi rotations (Golub and Van Loan, "Matrix Computations",
// section 8.5). It always converges; faster methods exist, but this one takes seconds for 272 columns.

/** Stops when the off-diagonal part is below this share of the whole (squared Frobenius norms). */
const precision = 1e-24

/** Eigenvalues, the largest first, and the eigenvectors as rows in the same order, their largest component positive. */
export const eigen = (symmetric: Float64Array, size: number): { values: number[]; vectors: Float64Array[] } => {
  const a = Array.from({ length: size }, (_, i) => symmetric.slice(i * size, (i + 1) * size))
  const v = Array.from({ length: size }, (_, i) => Float64Array.from({ length: size }, (_, j) => i === j ? 1 : 0))
  const whole = symmetric.reduce((sum, x) => sum + x * x, 0)
  const offDiagonal = () => a.reduce((sum, row, i) => row.reduce((s, x, j) => i === j ? s : s + x * x, sum), 0)

  /** Rotates the plane of rows p and q: (p, q) := (c p - s q, s p + c q). */
  const rotate = (p: Float64Array, q: Float64Array, c: number, s: number) => {
    for (let k = 0; k < size; k++) {
      const x = p[k]!
      const y = q[k]!
      p[k] = c * x - s * y
      q[k] = s * x + c * y
    }
  }

  while (offDiagonal() > precision * whole) {
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const [rowP, rowQ] = [a[p]!, a[q]!]
        if (rowP[q]! ** 2 <= precision * whole / size ** 2) continue
        const theta = (rowQ[q]! - rowP[p]!) / (2 * rowP[q]!)
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
        const c = 1 / Math.sqrt(t * t + 1)
        const s = t * c
        rotate(rowP, rowQ, c, s)
        for (const row of a) {
          const x = row[p]!
          const y = row[q]!
          row[p] = c * x - s * y
          row[q] = s * x + c * y
        }
        rotate(v[p]!, v[q]!, c, s)
      }
    }
  }

  const pairs = v.map((vector, i) => {
    const peak = vector.reduce((max, x) => Math.abs(x) > Math.abs(max) ? x : max, 0)
    return { value: a[i]![i]!, vector: peak < 0 ? vector.map((x) => -x) : vector }
  }).sort((one, other) => other.value - one.value)
  return { values: pairs.map(({ value }) => value), vectors: pairs.map(({ vector }) => vector) }
}
