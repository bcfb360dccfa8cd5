import { parse } from 'csv-parse'
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { formats, type Kind, type Row } from './format.ts'

/** A line of a file; `row` is null if it cannot be read. */
export interface Line {
  file: string
  line: number
  row: Row | null
}

/** What a field of a CSV file means: nothing where it is empty, JSON where the format wants no text. */
const fieldOf = (kind: Kind, name: string, value: string): unknown => {
  if (value === '') return undefined
  const schema = formats[kind].shape[name as never] as
    | { safeParse: (value: unknown) => { success: boolean } }
    | undefined
  if (!schema || schema.safeParse(value).success) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

async function* linesOfCsv(kind: Kind, file: string): AsyncGenerator<Line> {
  const records = createReadStream(file).pipe(parse({ columns: true, bom: true, info: true }))
  for await (const { record, info } of records as AsyncIterable<{ record: Row; info: { lines: number } }>) {
    const fields = Object.entries(record).map(([name, value]) => [name, fieldOf(kind, name, String(value))] as const)
    // An empty text is a text where one is needed: a message that is an attachment alone.
    const row = Object.fromEntries(fields.filter(([, value]) => value !== undefined))
    yield { file, line: info.lines, row: kind === 'messages' ? { content: '', ...row } : row }
  }
}

const objectOf = (text: string): Row | null => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Row : null
  } catch {
    return null
  }
}

async function* linesOfJson(file: string): AsyncGenerator<Line> {
  let line = 0
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++
    if (text !== '') yield { file, line, row: objectOf(text) }
  }
}

/** The lines of the folder's file of this kind, KIND.jsonl or KIND.csv; none without one. */
export async function* linesOf(folder: string, kind: Kind): AsyncGenerator<Line> {
  if (existsSync(`${folder}/${kind}.jsonl`)) yield* linesOfJson(`${folder}/${kind}.jsonl`)
  else if (existsSync(`${folder}/${kind}.csv`)) yield* linesOfCsv(kind, `${folder}/${kind}.csv`)
}
