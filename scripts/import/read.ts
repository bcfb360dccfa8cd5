import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Kind, Row } from './format.ts'

/** A line of a file; `row` is null if it is no JSON object. */
export interface Line {
  file: string
  line: number
  row: Row | null
}

const parse = (text: string): Row | null => {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

export const fileOf = (folder: string, kind: Kind): string => `${folder}/${kind}.jsonl`

/** The lines of the folder's file of this kind, if there is one, some at a time. */
export async function* batchesOf(folder: string, kind: Kind): AsyncGenerator<Line[]> {
  const file = fileOf(folder, kind)
  if (!existsSync(file)) return
  let [line, batch]: [number, Line[]] = [0, []]
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++
    if (text !== '') batch.push({ file, line, row: parse(text) })
    if (batch.length < 2000) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
