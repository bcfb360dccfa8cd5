import { randomUUID } from 'node:crypto'
import { type HttpResponse, openHttpClient, ResponseTimeout } from '../tools/http_client.ts'
import { pause } from '../tools/wait.ts'

export interface Sent {
  writer: number
  /** Counts the writer's messages, which are sent one after the other. */
  sequence: number
  clientId: string
  content: string
  token: string
  conversation: number
}
export interface Acknowledged extends Sent {
  id: number
  text: string
}

interface Profile {
  token: string
  city: string
  is_searchable: boolean
  biography: string
}

/** What the clients sent and received. */
export interface Ledger {
  acknowledged: Acknowledged[]
  /** Abandoned after a failure: stored once or not at all. */
  unacknowledged: Sent[]
  /** Attempts after the first. */
  retries: number
  /** Responses with Idempotency-Replayed. */
  replays: number
  /** Acknowledged changes of profiles, each followed by a search. */
  changes: number
  profiles: Profile[]
  /** Broken promises, a line each. */
  violations: string[]
  /** Milliseconds from each crash to the acknowledgement of the first message sent after it. */
  recoveries: number[]
}

type Send = (method: string, path: string, token: string | null, body?: unknown) => Promise<HttpResponse>

// A start of PGlite blocks its process for seconds, on a busy machine for ten. Not fetch: if a connection is lost just
// as Node reuses it for the next request, fetch neither sends that request nor fails.
const request = openHttpClient(60_000)
const sender = (base: string): Send => (method, path, token, body) =>
  request(base, {
    method,
    path,
    headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const pick = <Value>(values: Value[]): Value => values[Math.floor(Math.random() * values.length)]!

/** Retries until the response is not 503. */
const retry = async (attempt: () => Promise<HttpResponse>): Promise<HttpResponse> => {
  while (true) {
    try {
      const answer = await attempt()
      if (answer.status !== 503) return answer
    } catch {
      // The connection was lost.
    }
    await pause(20 + Math.random() * 80)
  }
}

const writers = 16
const profileOwners = 3

/**
 * Sixteen writers in eight conversations, each with one message in flight, and three users who change their profiles,
 * until so many messages are acknowledged. Call `run` once; `crashed` records the time of a crash.
 */
export const openLoad = async (base: string, direct: string, sends: number) => {
  const send = sender(base)
  const sendDirectly = sender(direct)
  const ledger: Ledger = {
    acknowledged: [],
    unacknowledged: [],
    retries: 0,
    replays: 0,
    changes: 0,
    profiles: [],
    violations: [],
    recoveries: [],
  }
  const signUp = async (city: string): Promise<{ id: number; token: string }> => {
    const email = `${randomUUID()}@example.com`
    const answer = await sendDirectly('POST', '/auth/signup', null, {
      email,
      password: 'correct horse',
      name: 'Ana',
      city,
    })
    if (answer.status !== 201) throw new Error(`sign-up answered ${answer.status} ${answer.text}`)
    const { user, access_token } = JSON.parse(answer.text)
    return { id: user.id, token: access_token }
  }
  const users = await Promise.all(Array.from({ length: 5 }, () => signUp('Letterton')))
  const participants: { token: string; conversation: number }[] = []
  for (const [index, voyager] of users.entries()) {
    for (const local of users.slice(index + 1)) {
      const answer = await sendDirectly('POST', '/conversations', voyager.token, { other_user_id: local.id })
      const { id: conversation } = JSON.parse(answer.text)
      participants.push({ token: voyager.token, conversation }, { token: local.token, conversation })
    }
  }
  for (let index = 0; index < profileOwners; index++) {
    const city = `Crashby ${randomUUID()}`
    const { token } = await signUp(city)
    ledger.profiles.push({ token, city, is_searchable: false, biography: '' })
  }

  let crashedAt: number | null = null
  let started = 0
  let isOver = false

  /** Sends a message until it is acknowledged; one in ten is abandoned after the first failure. */
  const sendMessage = async (message: Sent): Promise<void> => {
    const isAbandoned = Math.random() < 0.1
    while (true) {
      const start = performance.now()
      try {
        const { status, headers, text } = await send(
          'POST',
          `/conversations/${message.conversation}/messages`,
          message.token,
          {
            content: message.content,
            client_id: message.clientId,
          },
        )
        if (status === 201) {
          if (headers['idempotency-replayed']) ledger.replays++
          ledger.acknowledged.push({ ...message, id: JSON.parse(text).id, text })
          if (crashedAt !== null && start > crashedAt) {
            ledger.recoveries.push(performance.now() - crashedAt)
            crashedAt = null
          }
          return
        }
        if (status !== 503) {
          ledger.violations.push(`A message was answered ${status} ${text}`)
          ledger.unacknowledged.push(message)
          return
        }
      } catch (error) {
        // The connection was lost, so the message may have arrived or not. A missing response is a violation.
        if (error instanceof ResponseTimeout) ledger.violations.push('A message had no response within a minute')
      }
      if (isAbandoned) {
        ledger.unacknowledged.push(message)
        started--
        return
      }
      ledger.retries++
      await pause(20 + Math.random() * 80)
    }
  }

  const write = async (writer: number): Promise<void> => {
    const participant = participants[writer]!
    for (let sequence = 0; started < sends; sequence++) {
      started++
      const content = `${writer}:${sequence}`
      await sendMessage({ writer, sequence, clientId: randomUUID(), content, ...participant })
    }
  }

  const checkSearch = async (profile: Profile, send: Send): Promise<void> => {
    const path = `/users/search?filterCity=${encodeURIComponent(profile.city)}`
    const { status, text } = await retry(() => send('GET', path, null))
    const found = status === 200 ? JSON.parse(text).hits.map((hit: Profile) => hit.biography) : status
    const expected = profile.is_searchable ? [profile.biography] : []
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      ledger.violations.push(`A search found ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
  }

  const changeProfile = async (profile: Profile): Promise<void> => {
    for (let count = 0; !isOver; count++) {
      const change = {
        is_searchable: Math.random() < 0.6,
        biography: `Change ${count} to ${pick(['chess', 'boats', 'jazz'])}`,
      }
      const { status, text } = await retry(() => send('PATCH', '/users/profile', profile.token, change))
      if (status !== 200) ledger.violations.push(`A change was answered ${status} ${text}`)
      Object.assign(profile, change)
      ledger.changes++
      await checkSearch(profile, send)
      await pause(100)
    }
  }

  return {
    ledger,
    crashed: () => void (crashedAt = performance.now()),
    recovered: () => crashedAt === null,
    run: async (): Promise<void> => {
      const changing = ledger.profiles.map(changeProfile)
      await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
      isOver = true
      await Promise.all(changing)
    },
    /** Checks without the proxy that a search finds each profile as its last change was acknowledged. */
    verifySearch: async () => {
      for (const profile of ledger.profiles) await checkSearch(profile, sendDirectly)
    },
  }
}

export type Load = Awaited<ReturnType<typeof openLoad>>
