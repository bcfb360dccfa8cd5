import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'
import type { Load } from './load.ts'

const read = async (base: string, path: string, token: string): Promise<string> => {
  const response = await fetch(`${base}${path}`, { headers: { Authorization: `Bearer ${token}` } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status} ${text}`)
  return text
}

interface Message {
  id: number
  content: string
}

const readConversation = async (base: string, conversation: number, token: string): Promise<Message[]> => {
  const messages: Message[] = []
  while (true) {
    const from = messages.length > 0 ? `after_id=${messages.at(-1)!.id}` : 'order=asc'
    const path = `/conversations/${conversation}/messages?limit=100&${from}`
    const page: Message[] = JSON.parse(await read(base, path, token))
    if (page.length === 0) return messages
    messages.push(...page)
  }
}

const gauges = async (base: string): Promise<Map<string, number>> => {
  const text = await read(base, '/health/metrics?oldest_audit=0', testKeys.secretKey)
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => {
    const at = line.lastIndexOf(' ')
    return [line.slice(0, at), Number(line.slice(at + 1))]
  }))
}

/** Compares the database with the clients' ledger; returns a line for each violation. */
export const verify = async (base: string, { ledger, verifySearch }: Load): Promise<string[]> => {
  const tokens = new Map(ledger.acknowledged.map(({ conversation, token }) => [conversation, token]))
  const ids = new Map<string, number[]>()
  for (const [conversation, token] of tokens) {
    for (const { id, content } of await readConversation(base, conversation, token)) {
      ids.set(content, [...ids.get(content) ?? [], id])
    }
  }
  const violations = [...ledger.violations]
  for (const { content, id } of ledger.acknowledged) {
    const stored = ids.get(content) ?? []
    if (stored.length !== 1 || stored[0] !== id) {
      violations.push(`${content} was acknowledged as ${id} and is stored as ${stored}`)
    }
  }
  for (const { content } of ledger.unacknowledged) {
    const stored = ids.get(content) ?? []
    if (stored.length > 1) violations.push(`${content} was not acknowledged and is stored as ${stored}`)
  }
  const known = new Set([...ledger.acknowledged, ...ledger.unacknowledged].map(({ content }) => content))
  for (const content of ids.keys()) if (!known.has(content)) violations.push(`${content} was never sent`)

  const latest = new Map<number, { sequence: number; id: number }>()
  for (const { writer, sequence, id } of [...ledger.acknowledged].sort((one, other) => one.sequence - other.sequence)) {
    const before = latest.get(writer)
    if (before && before.id > id) {
      violations.push(`${writer}:${sequence} is ordered before ${writer}:${before.sequence}`)
    }
    latest.set(writer, { sequence, id })
  }

  // An acknowledged message that is sent again gets the same response.
  const step = Math.max(1, Math.floor(ledger.acknowledged.length / 200))
  for (const sent of ledger.acknowledged.filter((_, index) => index % step === 0)) {
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

  let now = await gauges(base)
  // A job that a worker had claimed when it was killed is due again after half a minute.
  const end = Date.now() + 90_000
  while (now.get('embedding_queue_waiting') !== 0 && Date.now() < end) {
    await pause(500)
    now = await gauges(base)
  }
  for (const [name, value] of now) {
    const mustBeZero = name.startsWith('search_audit_findings') || /^embedding_queue_(waiting|dead)$/.test(name)
    if (mustBeZero && value !== 0) violations.push(`${name} is ${value}`)
  }
  ledger.violations = []
  await verifySearch()
  return [...violations, ...ledger.violations]
}
