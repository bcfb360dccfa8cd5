// Under overload requests may fail, but no caller receives another's response: expensive anonymous searches beside four
// active users.
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { call, converse, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'

const seconds = Number(process.env.OVERLOAD_SECONDS ?? 15)

// A search that takes longer than any time limit.
const dearSearch = `
  create or replace function api.search_profiles(request jsonb)
  returns json
  language plpgsql volatile security invoker set search_path = ''
  as $$
  begin
    perform pg_sleep(0.5 + 10 * random());
    return json_build_object('hits', '[]'::json, 'query', request ->> 'q', 'estimatedTotalHits', 0, 'limit', 20, 'offset', 0);
  end
  $$;
`

test(
  `in ${seconds} s of overload nobody gets another's answer, acknowledgement or verdict of a rate limit`,
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
      const conversation = await converse(voyager, local)
      conversations.set(voyager, conversation).set(local, conversation)
    }
    await connected(database, (sql) => sql.unsafe(dearSearch))

    const told: string[] = []
    const outcomes = new Map<string, number>()
    const acknowledged = new Map<string, { sender: Person; id: number }>()
    const count = (what: string, status: number) =>
      outcomes.set(`${what} ${status}`, (outcomes.get(`${what} ${status}`) ?? 0) + 1)
    const until = performance.now() + seconds * 1000
    // The row of another statement may not even be JSON.
    const keep = async (work: () => Promise<void>): Promise<void> => {
      while (performance.now() < until) {
        await work().catch((error: Error) => told.push(`an answer of no use: ${error.message}`))
      }
    }

    const poll = (person: Person) => async () => {
      const { status, text, body } = await person.call('GET', '/users/me')
      count('me', status)
      const isTheirs = status === 200 ? body.id === person.id && body.email === person.email : status === 503
      if (!isTheirs) told.push(`${person.name} was told ${status} ${text}`)
    }
    const send = (person: Person) => async () => {
      const client_id = randomUUID()
      const content = `${person.name} ${client_id}`
      const path = `/conversations/${conversations.get(person)}/messages`
      const { status, text, body } = await person.call('POST', path, { content, client_id })
      count('send', status)
      if (status === 201) acknowledged.set(content, { sender: person, id: body.id })
      const isTheirs = status === 201 ? body.user_id === person.id && body.content === content : status === 503
      if (!isTheirs) told.push(`${person.name} sent ${content} and was told ${status} ${text}`)
    }
    const search = (client: number) => async () => {
      const q = `"client ${client} ${randomUUID()}"`
      const { status, text, body } = await call('GET', `${base}/users/search?q=${encodeURIComponent(q)}`)
      count('search', status)
      const isTheirs = status === 200 ? body.query === q : status === 503 || status === 429
      if (!isTheirs) told.push(`client ${client} was told ${status} ${text}`)
      // A refused client waits a little and retries.
      if (status === 429) await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await Promise.all([
      ...Array.from({ length: 8 }, (_, client) => keep(search(client))),
      ...people.flatMap((person) => [keep(poll(person)), keep(poll(person)), keep(send(person))]),
    ])

    expect(told).toEqual([])
    const seen = JSON.stringify([...outcomes])
    // The service was overloaded and still answered some requests.
    expect(outcomes.get('search 503') ?? 0, seen).toBeGreaterThan(3)
    for (const what of ['me 200', 'send 201']) expect(outcomes.get(what) ?? 0, seen).toBeGreaterThan(3)
    const kept = await connected(
      database,
      (sql) =>
        sql<{ id: string; user_id: string; content: string }[]>`select id, user_id, content from public.messages`,
    )
    expect(
      kept.every(({ user_id, content }) =>
        people.find(({ id }) => id === Number(user_id))!.name === content.split(' ')[0]
      ),
    ).toBe(true)
    expect(
      new Set(kept.map(({ content }) => content)).size,
    ).toBe(kept.length)
    const byContent = new Map(kept.map(({ content, id }) => [content, Number(id)]))
    for (const [content, { id }] of acknowledged) expect(byContent.get(content)).toBe(id)
  },
  (seconds + 60) * 1000,
)
