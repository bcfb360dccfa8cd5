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

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function* linesOfCsv(kind: Kind, file: string): AsyncGenerator<Line> {
  const fields: Record<string, { safeParse: (value: unknown) => { success: boolean } }> = formats[kind].shape
  const records = createReadStream(file).pipe(parse({ columns: true, bom: true, info: true }))
  for await (const { record, info } of records as AsyncIterable<{ record: Row; info: { lines: number } }>) {
    // An empty field is none; one is JSON where the format wants no text.
    const given = Object.entries(record).filter(([, value]) => value !== '').map(([name, value]) => {
      const parsed = fields[name]?.safeParse(value).success ? undefined : parseJson(String(value))
      return [name, parsed === undefined ? value : parsed]
    })
    // An empty text is a text where one is needed: a message that is an attachment alone.
    const row = { ...(kind === 'messages' && { content: '' }), ...Object.fromEntries(given) }
    yield { file, line: info.lines, row }
  }
}

async function* linesOfJson(file: string): AsyncGenerator<Line> {
  let line = 0
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++
    const value = parseJson(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (text !== '') yield { file, line, row: isObject ? value as Row : null }
  }
}

/** The lines of the folder's file of this kind, KIND.jsonl or KIND.csv, some at a time; none without one. */
export async function* batchesOf(folder: string, kind: Kind): AsyncGenerator<Line[]> {
  const [json, csv] = [`${folder}/${kind}.jsonl`, `${folder}/${kind}.csv`]
  if (!existsSync(json) && !existsSync(csv)) return
  let batch: Line[] = []
  for await (const line of existsSync(json) ? linesOfJson(json) : linesOfCsv(kind, csv)) {
    if (batch.push(line) < 2000) continue
    yield batch
    batch = []
  }
  yield batch
}
