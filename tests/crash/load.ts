import { randomUUID } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { pause } from '../tools/wait.ts'

// A start of PGlite keeps its process busy for seconds, on a busy machine for ten; what hangs would hang for ever.
const silence = 60_000
class Silence extends Error {}

export interface Sent {
  writer: number
  /** The writer's own count: their messages are sent one after the other. */
  turn: number
  key: string
  content: string
  token: string
  conversation: number
}
export interface Acknowledged extends Sent {
  id: number
  text: string
}

interface Shown {
  token: string
  city: string
  is_searchable: boolean
  biography: string
}

/** What was sent and what came of it, as the clients know it. */
export interface Books {
  acknowledged: Acknowledged[]
  /** Given up after a failure: may have arrived, once. */
  unacknowledged: Sent[]
  /** Attempts beyond the first, and answers that were given anew. */
  retries: number
  replays: number
  /** Changes of profiles that were acknowledged, each looked up in the search right after. */
  changes: number
  people: Shown[]
  /** What must not have been: one line each. */
  problems: string[]
  /** Milliseconds from each crash to the first message that was sent and acknowledged after it. */
  recoveries: number[]
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}
type Ask = (method: string, path: string, token: string | null, body?: unknown) => Promise<Answer>

// Not fetch: where a connection is cut just as Node takes it for the next request, that one is never sent and never fails.
const asking = (base: string): Ask => {
  const agent = new Agent({ keepAlive: true })
  return (method, path, token, body) =>
    new Promise((resolve, reject) => {
      const content = body === undefined ? '' : JSON.stringify(body)
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(content),
        ...(token && { Authorization: `Bearer ${token}` }),
      }
      const asked = request(`${base}${path}`, { method, headers, agent }, async (response) => {
        try {
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          resolve({ status: response.statusCode!, headers: response.headers, text })
        } catch (error) {
          reject(error)
        }
      })
      asked.setTimeout(silence, () => asked.destroy(new Silence()))
      asked.on('error', reject).end(content)
    })
}

const pick = <Value>(values: Value[]): Value => values[Math.floor(Math.random() * values.length)]!

/** Asks until there is an answer that is none of a server in trouble. */
const insist = async (ask: () => Promise<Answer>): Promise<Answer> => {
  while (true) {
    try {
      const answer = await ask()
      if (answer.status !== 503) return answer
    } catch {
      // The connection broke.
    }
    await pause(20 + Math.random() * 80)
  }
}

const writers = 16
const togglers = 3

/**
 * Sixteen writers in eight conversations, each with one message in flight, and three people who change their profiles, until so many messages
 * are acknowledged. `run` asks to be called once; `crashed` notes the moment of a crash.
 */
export const openLoad = async (base: string, direct: string, sends: number) => {
  const ask = asking(base)
  const once = asking(direct)
  const books: Books = {
    acknowledged: [],
    unacknowledged: [],
    retries: 0,
    replays: 0,
    changes: 0,
    people: [],
    problems: [],
    recoveries: [],
  }
  const signUp = async (city: string): Promise<{ id: number; token: string }> => {
    const email = `${randomUUID()}@example.com`
    const answer = await once('POST', '/auth/signup', null, { email, password: 'correct horse', name: 'Ana', city })
    if (answer.status !== 201) throw new Error(`sign-up answered ${answer.status} ${answer.text}`)
    const { user, access_token } = JSON.parse(answer.text)
    return { id: user.id, token: access_token }
  }
  const people = await Promise.all(Array.from({ length: 5 }, () => signUp('Letterton')))
  const places: { token: string; conversation: number }[] = []
  for (const [index, voyager] of people.entries()) {
    for (const local of people.slice(index + 1)) {
      const answer = await once('POST', '/conversations', voyager.token, { other_user_id: local.id })
      const { id: conversation } = JSON.parse(answer.text)
      places.push({ token: voyager.token, conversation }, { token: local.token, conversation })
    }
  }
  for (let index = 0; index < togglers; index++) {
    const city = `Crashby ${randomUUID()}`
    const { token } = await signUp(city)
    books.people.push({ token, city, is_searchable: false, biography: '' })
  }

  let crashedAt: number | null = null
  let begun = 0
  let isOver = false

  /** One message, until it is acknowledged; or, one time in ten, until an attempt fails. */
  const send = async (message: Sent): Promise<void> => {
    const givesUp = Math.random() < 0.1
    while (true) {
      const start = performance.now()
      try {
        const { status, headers, text } = await ask(
          'POST',
          `/conversations/${message.conversation}/messages`,
          message.token,
          {
            content: message.content,
            client_id: message.key,
          },
        )
        if (status === 201) {
          if (headers['idempotency-replayed']) books.replays++
          books.acknowledged.push({ ...message, id: JSON.parse(text).id, text })
          if (crashedAt !== null && start > crashedAt) {
            books.recoveries.push(performance.now() - crashedAt)
            crashedAt = null
          }
          return
        }
        if (status !== 503) {
          books.problems.push(`A message was answered ${status} ${text}`)
          books.unacknowledged.push(message)
          return
        }
      } catch (error) {
        // The connection broke, and it may have arrived or not. Silence is worse.
        if (error instanceof Silence) books.problems.push('A message had no answer within a minute')
      }
      if (givesUp) {
        books.unacknowledged.push(message)
        begun--
        return
      }
      books.retries++
      await pause(20 + Math.random() * 80)
    }
  }

  const write = async (writer: number): Promise<void> => {
    const place = places[writer]!
    for (let turn = 0; begun < sends; turn++) {
      begun++
      await send({ writer, turn, key: randomUUID(), content: `${writer}:${turn}`, ...place })
    }
  }

  const looksRight = async (person: Shown, reach: Ask): Promise<void> => {
    const path = `/users/search?filterCity=${encodeURIComponent(person.city)}`
    const { status, text } = await insist(() => reach('GET', path, null))
    const found = status === 200 ? JSON.parse(text).hits.map((hit: Shown) => hit.biography) : status
    const expected = person.is_searchable ? [person.biography] : []
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      books.problems.push(`A search found ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
  }

  const toggle = async (person: Shown): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const change = {
        is_searchable: Math.random() < 0.6,
        biography: `Turn ${turn} of ${pick(['chess', 'boats', 'jazz'])}`,
      }
      const { status, text } = await insist(() => ask('PATCH', '/users/profile', person.token, change))
      if (status !== 200) books.problems.push(`A change was answered ${status} ${text}`)
      Object.assign(person, change)
      books.changes++
      await looksRight(person, ask)
      await pause(100)
    }
  }

  return {
    books,
    crashed: () => void (crashedAt = performance.now()),
    recovered: () => crashedAt === null,
    run: async (): Promise<void> => {
      const toggling = books.people.map(toggle)
      await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
      isOver = true
      await Promise.all(toggling)
    },
    /** Whether a search, asked without the proxy, finds everybody as their last change was acknowledged. */
    lookUp: async () => {
      for (const person of books.people) await looksRight(person, once)
    },
  }
}

export type Load = Awaited<ReturnType<typeof openLoad>>
