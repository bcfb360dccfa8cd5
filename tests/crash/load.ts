import { randomUUID } from 'node:crypto'
import { rawRequest, type RawResponse } from '../tools/raw_request.ts'
import { pause } from '../tools/wait.ts'

/** A message of a writer, who sends one after the other and counts them. */
export interface Sent {
  writer: number
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
type Profile = { token: string; city: string; is_searchable: boolean; biography: string }

const newLedger = () => ({
  acknowledged: [] as Acknowledged[],
  /** Abandoned after a failure: stored once or not at all. */
  unacknowledged: [] as Sent[],
  retries: 0,
  /** Responses with Idempotency-Replayed. */
  replays: 0,
  /** Acknowledged changes of profiles, each followed by a search. */
  changes: 0,
  violations: [] as string[],
  /** Milliseconds from each crash to the acknowledgement of the first message sent after it. */
  recoveries: [] as number[],
})

// A start of PGlite blocks its process for seconds, on a busy machine for ten. Not fetch: if a connection is lost just
// as Node reuses it for the next request, fetch neither sends that request nor fails.
const sendTo = (base: string) => (method: string, path: string, token: string | null, body?: unknown) => {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
  const content = body === undefined ? undefined : JSON.stringify(body)
  return rawRequest(method, new URL(base).pathname + path, headers, content, { base, timeout: 60_000 })
}
type Send = ReturnType<typeof sendTo>

const aMoment = () => pause(20 + Math.random() * 80)
const retry = async (attempt: () => Promise<RawResponse>): Promise<RawResponse> => {
  while (true) {
    const answer = await attempt().catch(() => null)
    if (answer && answer.status !== 503) return answer
    await aMoment()
  }
}

/**
 * Sixteen writers in eight conversations, each with one message in flight, and three users who change their profiles,
 * until so many messages are acknowledged. Call `run` once; `crashed` records the time of a crash.
 */
export const openLoad = async (base: string, direct: string, sends: number) => {
  const [send, sendDirectly] = [sendTo(base), sendTo(direct)]
  const ledger = newLedger()
  const signUp = async (city: string): Promise<{ id: number; token: string }> => {
    const account = { email: `${randomUUID()}@example.com`, password: 'correct horse', name: 'Ana', city }
    const { status, text } = await sendDirectly('POST', '/auth/signup', null, account)
    if (status !== 201) throw new Error(`sign-up answered ${status} ${text}`)
    const { user, access_token } = JSON.parse(text)
    return { id: user.id, token: access_token }
  }
  const users = await Promise.all(Array.from({ length: 5 }, () => signUp('Letterton')))
  const participants: { token: string; conversation: number }[] = []
  for (const [index, voyager] of users.entries()) {
    for (const local of users.slice(index + 1)) {
      const { text } = await sendDirectly('POST', '/conversations', voyager.token, { other_user_id: local.id })
      for (const { token } of [voyager, local]) participants.push({ token, conversation: JSON.parse(text).id })
    }
  }
  const profiles: Profile[] = []
  for (let index = 0; index < 3; index++) {
    const city = `Crashby ${randomUUID()}`
    profiles.push({ token: (await signUp(city)).token, city, is_searchable: false, biography: '' })
  }

  let crashedAt: number | null = null
  let started = 0
  let isOver = false

  /** Sends a message until it is acknowledged; one in ten is abandoned after the first failure. */
  const sendMessage = async (message: Sent): Promise<void> => {
    const isAbandoned = Math.random() < 0.1
    const { conversation, token, content, clientId } = message
    while (true) {
      const start = performance.now()
      try {
        const path = `/conversations/${conversation}/messages`
        const { status, headers, text } = await send('POST', path, token, { content, client_id: clientId })
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
          return void ledger.unacknowledged.push(message)
        }
      } catch (error) {
        // The connection was lost, so the message may have arrived or not. A missing response is a violation.
        if ((error as Error).name === 'TimeoutError') {
          ledger.violations.push('A message had no response within a minute')
        }
      }
      if (isAbandoned) {
        started--
        return void ledger.unacknowledged.push(message)
      }
      ledger.retries++
      await aMoment()
    }
  }
  const write = async (participant: typeof participants[number], writer: number): Promise<void> => {
    for (let sequence = 0; started < sends; sequence++) {
      started++
      await sendMessage({ writer, sequence, clientId: randomUUID(), content: `${writer}:${sequence}`, ...participant })
    }
  }

  const checkSearch = async ({ city, is_searchable, biography }: Profile, send: Send): Promise<void> => {
    const path = `/users/search?filterCity=${encodeURIComponent(city)}`
    const { status, text } = await retry(() => send('GET', path, null))
    const found = status === 200 ? JSON.parse(text).hits.map((hit: Profile) => hit.biography) : status
    const [is, expected] = [found, is_searchable ? [biography] : []].map((value) => JSON.stringify(value))
    if (is !== expected) ledger.violations.push(`A search found ${is} instead of ${expected}`)
  }
  const changeProfile = async (profile: Profile): Promise<void> => {
    for (let count = 0; !isOver; count++) {
      const biography = `Change ${count} to ${['chess', 'boats', 'jazz'][count % 3]}`
      const change = { is_searchable: Math.random() < 0.6, biography }
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
      const changing = profiles.map(changeProfile)
      await Promise.all(participants.slice(0, 16).map(write))
      isOver = true
      await Promise.all(changing)
    },
    /** Checks without the proxy that a search finds each profile as its last change was acknowledged. */
    verifySearch: async () => {
      for (const profile of profiles) await checkSearch(profile, sendDirectly)
    },
  }
}

export type Load = Awaited<ReturnType<typeof openLoad>>
