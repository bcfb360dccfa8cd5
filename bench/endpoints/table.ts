/** Formatting of the results. */
export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
export const row = (name: string, cells: string[]): string =>
  name.padEnd(33) + cells.map((cell) => cell.padStart(12)).join('')
