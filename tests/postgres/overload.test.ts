// Under overload requests may fail, but no caller receives another's response: expensive anonymous searches beside four
// active users.
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { type Answer, call, openConversation, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const seconds = Number(process.env.OVERLOAD_SECONDS ?? 15)

// A search that takes longer than any time limit.
const slowSearch = `
  create or replace function api.search_profiles(request jsonb)
  returns json
  language plpgsql volatile security invoker set search_path = ''
  as $$
  begin
    perform pg_sleep(0.5 + 10 * random());
    return json_build_object(
      'answer', json_build_object('hits', '[]'::json, 'estimatedTotalHits', 0),
      'query', json_build_object('corrections', '[]'::json, 'completions', '[]'::json)
    );
  end
  $$;
`

test(`in ${seconds} s of overload no caller gets another's response, acknowledgement or rate limit`, async () => {
  const database = await makeDatabase('overload')
  const { base, process } = await startStack({
    DATABASE_URL: database,
    // Never reached by senders, reached at once by searches.
    RATE_LIMIT_SEND: '100000/60',
    RATE_LIMIT_SEARCH_ANONYMOUS: '300/60',
  })
  onTestFinished(() => stopStack(process))
  const people = await Promise.all(['Ana', 'Ben', 'Caro', 'Dev'].map((name) => signUp(name, {}, base)))
  const [ana, ben, caro, dev] = people as [Person, Person, Person, Person]
  const conversations = new Map<Person, number>()
  for (const [voyager, local] of [[ana, ben], [caro, dev]] as const) {
    const conversation = await openConversation(voyager, local)
    conversations.set(voyager, conversation).set(local, conversation)
  }
  await connected(database, (sql) => sql.unsafe(slowSearch))

  const wrong: string[] = []
  const outcomes: Record<string, number> = {}
  const acknowledged = new Map<string, number>()
  const until = performance.now() + seconds * 1000
  /** Sends again and again. Another status than the first, which must be the caller's own, is one of those. */
  const repeat = async (
    what: string,
    send: () => Promise<[answer: Answer, isOwn: (body: Answer['body']) => boolean]>,
    [success, ...refusals]: number[],
  ): Promise<void> => {
    while (performance.now() < until) {
      try {
        const [{ status, text, body }, isOwn] = await send()
        outcomes[`${what} ${status}`] = (outcomes[`${what} ${status}`] ?? 0) + 1
        if (status === success ? !isOwn(body) : !refusals.includes(status)) wrong.push(`${what} got ${status} ${text}`)
        // A refused client waits a little and retries.
        if (status === 429) await pause(100)
      } catch (error) {
        // The row of another statement may not even be JSON.
        wrong.push(`${what} got an unusable response: ${error}`)
      }
    }
  }
  const poll = (person: Person) =>
    repeat('me', async () => [
      await person.call('GET', '/users/me'),
      ({ id, email }) => id === person.id && email === person.email,
    ], [200, 503])
  const send = (person: Person) =>
    repeat('send', async () => {
      const client_id = randomUUID()
      const content = `${person.name} ${client_id}`
      const path = `/conversations/${conversations.get(person)}/messages`
      const answer = await person.call('POST', path, { content, client_id })
      if (answer.status === 201) acknowledged.set(content, answer.body.id)
      return [answer, (body) => body.user_id === person.id && body.content === content]
    }, [201, 503])
  const search = (client: number) =>
    repeat('search', async () => {
      const q = `"client ${client} ${randomUUID()}"`
      return [await call('GET', `${base}/users/search?q=${encodeURIComponent(q)}`), ({ query }) => query === q]
    }, [200, 503, 429])
  await Promise.all([
    ...Array.from({ length: 8 }, (_, client) => search(client)),
    ...people.flatMap((person) => [poll(person), poll(person), send(person)]),
  ])

  expect(wrong).toEqual([])
  // The service was overloaded and still answered some requests.
  const summary = JSON.stringify(outcomes)
  for (const what of ['search 503', 'me 200', 'send 201']) expect(outcomes[what] ?? 0, summary).toBeGreaterThan(3)
  const stored = await connected(database, (sql) => sql`select id::int, user_id::int, content from public.messages`)
  const senderOf = (content: string) => people.find(({ name }) => name === content.split(' ')[0])!.id
  expect(stored.filter(({ user_id, content }) => user_id !== senderOf(content))).toEqual([])
  const ids = new Map(stored.map(({ content, id }) => [content, id]))
  expect(ids.size).toBe(stored.length)
  for (const [content, id] of acknowledged) expect(ids.get(content)).toBe(id)
}, (seconds + 60) * 1000)
