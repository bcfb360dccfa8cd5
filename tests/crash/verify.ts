import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'
import type { Load } from './load.ts'

const read = async (base: string, path: string, token: string): Promise<string> => {
  const response = await fetch(`${base}${path}`, { headers: { Authorization: `Bearer ${token}` } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status} ${text}`)
  return text
}

const readMessages = async (base: string, tokens: Map<number, string>): Promise<Map<string, number[]>> => {
  const ids = new Map<string, number[]>()
  for (const [conversation, token] of tokens) {
    for (let page: { id: number; content: string }[] = [], from = 'order=asc';; from = `after_id=${page.at(-1)!.id}`) {
      page = JSON.parse(await read(base, `/conversations/${conversation}/messages?limit=100&${from}`, token))
      for (const { id, content } of page) ids.set(content, [...ids.get(content) ?? [], id])
      if (page.length === 0) break
    }
  }
  return ids
}

const findGauges = async (base: string): Promise<string[]> => {
  const gauges = (await read(base, '/health/metrics', testKeys.secretKey)).split('\n')
    .filter((line) => /^embedding_queue_(waiting|dead)\b/.test(line))
  return gauges.length < 2 ? ['the gauges are not there'] : gauges.filter((line) => !line.endsWith(' 0'))
}

/** Compares the database with the clients' ledger; returns a line for each violation. */
export const verify = async (base: string, { ledger, verifySearch }: Load): Promise<string[]> => {
  const { acknowledged, unacknowledged, violations } = ledger
  const ids = await readMessages(base, new Map(acknowledged.map(({ conversation, token }) => [conversation, token])))
  for (const { content, id } of acknowledged) {
    const stored = `${ids.get(content) ?? 'nothing'}`
    if (stored !== `${id}`) violations.push(`${content} was acknowledged as ${id} and is stored as ${stored}`)
  }
  for (const { content } of unacknowledged) {
    const stored = ids.get(content) ?? []
    if (stored.length > 1) violations.push(`${content} was not acknowledged and is stored as ${stored}`)
  }
  const known = new Set([...acknowledged, ...unacknowledged].map(({ content }) => content))
  for (const content of ids.keys()) if (!known.has(content)) violations.push(`${content} was never sent`)

  const latest = new Map<number, { sequence: number; id: number }>()
  for (const { writer, sequence, id } of acknowledged.toSorted((one, other) => one.sequence - other.sequence)) {
    const before = latest.get(writer)
    if (before && before.id > id) {
      violations.push(`${writer}:${sequence} is ordered before ${writer}:${before.sequence}`)
    }
    latest.set(writer, { sequence, id })
  }

  // An acknowledged message that is sent again gets the same response.
  const step = Math.max(1, Math.floor(acknowledged.length / 200))
  for (const sent of acknowledged.filter((_, index) => index % step === 0)) {
    const again = await fetch(`${base}/conversations/${sent.conversation}/messages`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${sent.token}` },
      body: JSON.stringify({ content: sent.content, client_id: sent.clientId }),
    })
    const text = await again.text()
    if (text !== sent.text || !again.headers.get('Idempotency-Replayed')) {
      violations.push(`${sent.content} was answered ${sent.text}, and the retry ${text}`)
    }
  }

  // A job that a worker had claimed when it was killed is due again after half a minute.
  const end = Date.now() + 150_000
  let wrong = await findGauges(base)
  while (wrong.some((line) => line.startsWith('embedding_queue_waiting')) && Date.now() < end) {
    await pause(500)
    wrong = await findGauges(base)
  }
  await verifySearch()
  return [...violations, ...wrong]
}
