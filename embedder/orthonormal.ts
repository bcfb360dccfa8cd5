// Orthonormal columns by Cholesky QR, done twice: where once loses digits, the second pass restores them (Yamamoto et
// al. 2015, "Roundoff error analysis of the CholeskyQR2 algorithm"). It reads rows in order, which suits a tall
// matrix.

/** Yᵀ Z of two matrices with `width` columns. */
export const crossProduct = (y: Float32Array, z: Float32Array, width: number): Float64Array => {
  const product = new Float64Array(width * width)
  const count = Math.min(y.length, z.length)
  for (let row = 0; row < count; row += width) {
    for (let a = 0; a < width; a++) {
      const value = y[row + a]!
      const to = a * width
      for (let b = 0; b < width; b++) product[to + b]! += value * z[row + b]!
    }
  }
  return product
}

/** The lower triangle L with L Lᵀ = G for a positive definite G. */
const cholesky = (gram: Float64Array, width: number): Float64Array => {
  const lower = new Float64Array(width * width)
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = gram[i * width + j]!
      for (let t = 0; t < j; t++) rest -= lower[i * width + t]! * lower[j * width + t]!
      if (i === j && rest <= 0) throw new Error(`Column ${i} depends on those before it`)
      lower[i * width + j] = i === j ? Math.sqrt(rest) : rest / lower[j * width + j]!
    }
  }
  return lower
}

/** Replaces Y by an orthonormal basis of its columns: Y := Y L⁻ᵀ with L Lᵀ = Yᵀ Y, twice. */
export const orthonormalise = (y: Float32Array, width: number): Float32Array => {
  for (let pass = 0; pass < 2; pass++) {
    const gram = crossProduct(y, y, width)
    let trace = 0
    for (let i = 0; i < width; i++) trace += gram[i * width + i]!
    // 32-bit noise can make a nearly dependent column's square negative; 1e-10 of the trace is below what it can hold.
    for (let i = 0; i < width; i++) gram[i * width + i]! += 1e-10 * trace
    const lower = cholesky(gram, width)
    for (let row = 0; row < y.length; row += width) {
      for (let j = 0; j < width; j++) {
        let rest = y[row + j]!
        for (let t = 0; t < j; t++) rest -= y[row + t]! * lower[j * width + t]!
        y[row + j] = rest / lower[j * width + j]!
      }
    }
  }
  return y
}
