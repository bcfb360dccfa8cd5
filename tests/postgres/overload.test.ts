// Under overload requests may fail, but no caller receives another's response: expensive anonymous searches beside four
// active users.
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'
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
      'hits', '[]'::json, 'query', request ->> 'q', 'estimatedTotalHits', 0, 'limit', 20, 'offset', 0
    );
  end
  $$;
`

test(
  `in ${seconds} s of overload no caller gets another's response, acknowledgement or rate limit`,
  async () => {
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
    const outcomes = new Map<string, number>()
    const acknowledged = new Map<string, { sender: Person; id: number }>()
    const count = (what: string, status: number) =>
      outcomes.set(`${what} ${status}`, (outcomes.get(`${what} ${status}`) ?? 0) + 1)
    const until = performance.now() + seconds * 1000
    // The row of another statement may not even be JSON.
    const repeat = async (work: () => Promise<void>): Promise<void> => {
      while (performance.now() < until) {
        await work().catch((error: Error) => wrong.push(`an unusable response: ${error.message}`))
      }
    }

    const poll = (person: Person) => async () => {
      const { status, text, body } = await person.call('GET', '/users/me')
      count('me', status)
      const isOwn = status === 200 ? body.id === person.id && body.email === person.email : status === 503
      if (!isOwn) wrong.push(`${person.name} got ${status} ${text}`)
    }
    const send = (person: Person) => async () => {
      const client_id = randomUUID()
      const content = `${person.name} ${client_id}`
      const path = `/conversations/${conversations.get(person)}/messages`
      const { status, text, body } = await person.call('POST', path, { content, client_id })
      count('send', status)
      if (status === 201) acknowledged.set(content, { sender: person, id: body.id })
      const isOwn = status === 201 ? body.user_id === person.id && body.content === content : status === 503
      if (!isOwn) wrong.push(`${person.name} sent ${content} and got ${status} ${text}`)
    }
    const search = (client: number) => async () => {
      const q = `"client ${client} ${randomUUID()}"`
      const { status, text, body } = await call('GET', `${base}/users/search?q=${encodeURIComponent(q)}`)
      count('search', status)
      const isOwn = status === 200 ? body.query === q : status === 503 || status === 429
      if (!isOwn) wrong.push(`client ${client} got ${status} ${text}`)
      // A refused client waits a little and retries.
      if (status === 429) await pause(100)
    }
    await Promise.all([
      ...Array.from({ length: 8 }, (_, client) => repeat(search(client))),
      ...people.flatMap((person) => [repeat(poll(person)), repeat(poll(person)), repeat(send(person))]),
    ])

    expect(wrong).toEqual([])
    const summary = JSON.stringify([...outcomes])
    // The service was overloaded and still answered some requests.
    expect(outcomes.get('search 503') ?? 0, summary).toBeGreaterThan(3)
    for (const what of ['me 200', 'send 201']) expect(outcomes.get(what) ?? 0, summary).toBeGreaterThan(3)
    const stored = await connected(
      database,
      (sql) =>
        sql<{ id: string; user_id: string; content: string }[]>`select id, user_id, content from public.messages`,
    )
    expect(
      stored.every(({ user_id, content }) =>
        people.find(({ id }) => id === Number(user_id))!.name === content.split(' ')[0]
      ),
    ).toBe(true)
    expect(new Set(stored.map(({ content }) => content)).size).toBe(stored.length)
    const byContent = new Map(stored.map(({ content, id }) => [content, Number(id)]))
    for (const [content, { id }] of acknowledged) expect(byContent.get(content)).toBe(id)
  },
  (seconds + 60) * 1000,
)
