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

/** The folder's file of this kind, if there is one. */
export const fileOf = (folder: string, kind: Kind): string | undefined =>
  ['jsonl', 'csv'].map((ending) => `${folder}/${kind}.${ending}`).find((file) => existsSync(file))

/** Its lines, some at a time. */
export async function* batchesOf(folder: string, kind: Kind): AsyncGenerator<Line[]> {
  const file = fileOf(folder, kind)
  if (!file) return
  let batch: Line[] = []
  for await (const line of file.endsWith('.jsonl') ? linesOfJson(file) : linesOfCsv(kind, file)) {
    if (batch.push(line) < 2000) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
