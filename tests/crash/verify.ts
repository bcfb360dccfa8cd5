import { testKeys } from '../tools/stack.ts'
import type { Load } from './load.ts'
import { pause } from '../tools/wait.ts'

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

/** Compares what is there with the clients' books; answers with what is wrong, a line each. */
export const verify = async (base: string, { books, lookUp }: Load): Promise<string[]> => {
  const tokens = new Map(books.acknowledged.map(({ conversation, token }) => [conversation, token]))
  const ids = new Map<string, number[]>()
  for (const [conversation, token] of tokens) {
    for (const { id, content } of await readConversation(base, conversation, token)) {
      ids.set(content, [...ids.get(content) ?? [], id])
    }
  }
  const problems = [...books.problems]
  for (const { content, id } of books.acknowledged) {
    const there = ids.get(content) ?? []
    if (there.length !== 1 || there[0] !== id) {
      problems.push(`${content} was acknowledged as ${id} and is there as ${there}`)
    }
  }
  for (const { content } of books.unacknowledged) {
    const there = ids.get(content) ?? []
    if (there.length > 1) problems.push(`${content} was not acknowledged and is there as ${there}`)
  }
  const known = new Set([...books.acknowledged, ...books.unacknowledged].map(({ content }) => content))
  for (const content of ids.keys()) if (!known.has(content)) problems.push(`${content} was never sent`)

  const latest = new Map<number, { turn: number; id: number }>()
  for (const { writer, turn, id } of [...books.acknowledged].sort((one, other) => one.turn - other.turn)) {
    const before = latest.get(writer)
    if (before && before.id > id) problems.push(`${writer}:${turn} stands before ${writer}:${before.turn}`)
    latest.set(writer, { turn, id })
  }

  // Sent again, a message that was acknowledged is answered as it was.
  const step = Math.max(1, Math.floor(books.acknowledged.length / 200))
  for (const sent of books.acknowledged.filter((_, index) => index % step === 0)) {
    const again = await fetch(`${base}/conversations/${sent.conversation}/messages`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${sent.token}` },
      body: JSON.stringify({ content: sent.content, client_id: sent.key }),
    })
    const text = await again.text()
    if (text !== sent.text || !again.headers.get('Idempotency-Replayed')) {
      problems.push(`${sent.content} was answered ${sent.text} and then ${text}`)
    }
  }

  let now = await gauges(base)
  // What a worker had claimed when it was killed is due again after half a minute.
  const end = Date.now() + 90_000
  while (now.get('embedding_queue_waiting') !== 0 && Date.now() < end) {
    await pause(500)
    now = await gauges(base)
  }
  for (const [name, value] of now) {
    const mustBeNone = name.startsWith('search_audit_findings') || /^embedding_queue_(waiting|dead)$/.test(name)
    if (mustBeNone && value !== 0) problems.push(`${name} is ${value}`)
  }
  books.problems = []
  await lookUp()
  return [...problems, ...books.problems]
}
