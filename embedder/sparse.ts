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

/** Adds A X to the product, of the first `rows` rows of A, or Aᵀ X; X and the product have `width` columns. */
const multiply = (
  { starts, columns, values }: Sparse,
  rows: number,
  x: Float32Array,
  width: number,
  product: Float32Array,
  isTransposed: boolean,
): Float32Array => {
  for (let row = 0; row < rows; row++) {
    for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
      const value = values[entry]!
      const column = columns[entry]!
      const to = (isTransposed ? column : row) * width
      const from = (isTransposed ? row : column) * width
      for (let j = 0; j < width; j++) product[to + j]! += value * x[from + j]!
    }
  }
  return product
}

/** A X, of the first `rows` rows of A; X has `width` columns. */
export const times = (a: Sparse, rows: number, x: Float32Array, width: number): Float32Array =>
  multiply(a, rows, x, width, new Float32Array(rows * width), false)

/** Aᵀ Y, of the first `rows` rows of A; Y has `width` columns, the product `height` rows. */
export const transposedTimes = (a: Sparse, rows: number, y: Float32Array, width: number, height: number) =>
  multiply(a, rows, y, width, new Float32Array(height * width), true)
