// Sparse matrices in rows (CSR) and their products with dense ones. Dense matrices are Float32Arrays, row after row.

export type Entry = [column: number, value: number]

/** Row i has the entries starts[i] to starts[i + 1] (exclusive) of `columns` and `values`. */
export type Sparse = { starts: Int32Array; columns: Int32Array; values: Float32Array }

/** Collects rows in order. */
export const sparseRows = (): { add: (row: Entry[]) => void; matrix: () => Sparse } => {
  const starts = [0]
  const columns: number[] = []
  const values: number[] = []
  return {
    add: (row) => {
      for (const [column, value] of row) {
        columns.push(column)
        values.push(value)
      }
      starts.push(columns.length)
    },
    matrix: () => ({
      starts: Int32Array.from(starts),
      columns: Int32Array.from(columns),
      values: Float32Array.from(values),
    }),
  }
}

/** A X, of the first `rows` rows of A; X has `width` columns. */
export const times = (
  { starts, columns, values }: Sparse,
  rows: number,
  x: Float32Array,
  width: number,
): Float32Array => {
  const product = new Float32Array(rows * width)
  for (let row = 0; row < rows; row++) {
    const to = row * width
    for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
      const value = values[entry]!
      const from = columns[entry]! * width
      for (let j = 0; j < width; j++) product[to + j]! += value * x[from + j]!
    }
  }
  return product
}

/** Aᵀ Y, of the first `rows` rows of A; Y has `width` columns, the product `height` rows. */
export const transposedTimes = (
  { starts, columns, values }: Sparse,
  rows: number,
  y: Float32Array,
  width: number,
  height: number,
): Float32Array => {
  const product = new Float32Array(height * width)
  for (let row = 0; row < rows; row++) {
    const from = row * width
    for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
      const value = values[entry]!
      const to = columns[entry]! * width
      for (let j = 0; j < width; j++) product[to + j]! += value * y[from + j]!
    }
  }
  return product
}
