/**
 * Run by service.test.ts: random actions of two people, each sent to the functions' own apps and to the simulated
 * service, whose answers, events and changes must be the same. Prints what is not as JSON.
 *   deno run -A tests/clients/beside_the_service.ts SEEDS ACTIONS
 */
import { asAdmin, connection, inDays, is, type Json, passTime, people } from '../rules/fixture.ts'
import { type Person, runTests, sql, talk, test } from '../rules/fixture.ts'
import type { Message } from '../../clients/types.ts'
import { seededRandom } from '../tools/random.ts'
import { createService } from './simulated_service.ts'

const [seeds = '3', actions = '150'] = Deno.args

/** What the simulated service says must be in the service's answer; times and cursors have values of their own. */
const expected = (body: Json): Json =>
  body === null || typeof body !== 'object' ? body : Array.isArray(body) ? body.map(expected) : Object.fromEntries(
    Object.entries(body).map((
      [name, value],
    ) => [name, value !== null && /^(\w+edAt|cursor)$/.test(name) ? /./ : expected(value)]),
  )

const card = ({ id, name }: Person) => ({ id, name, email: `${name}@tests.example` })

/** Changes are read by what is committed. The database is this process's own. */
const commit = () => connection.run('commit; begin')

const play = async (seed: number): Promise<void> => {
  const random = seededRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!

  const both = await people(`Ana ${seed}`, `Bob ${seed}`)
  const at = (await talk(...both)).slice(1)
  let nextId = 0
  const events: Json[] = []
  const service = createService({
    people: [card(both[0]), card(both[1])],
    conversation: Number(at.split('/')[1]),
    takeId: () => nextId,
    broadcast: (topic, event, payload) => events.push([topic, event, payload]),
  })
  const { table } = service
  const cursors = new Map<Person, { real: string; simulated: string }>()
  const after = (me: Person) => cursors.has(me) ? `&after=${cursors.get(me)!.real}` : ''
  const done: string[] = []

  /** Sends it to both, and compares. */
  const ask = async (me: Person, method: string, path: string, body?: Json): Promise<Json> => {
    done.push(`${me.name} ${method} ${path} ${JSON.stringify(body) ?? ''}`)
    const real = await me.ask(method, `/${path}`, body)
    if (method !== 'GET') await commit()
    nextId = real.body?.id
    const url = new URL(path, 'http://service')
    if (url.searchParams.has('after')) url.searchParams.set('after', cursors.get(me)!.simulated)
    const answer = service.respond(me.id, method, url.pathname.slice(1), url.searchParams, body ?? {})
    const simulated = answer.status === 204 ? null : await answer.json()
    const trace = `${done.slice(-20).join('\n')} → ${real.status} ${real.text.slice(0, 300)}\n`
    const next = ({ headers }: { headers: Headers }) => headers.get('Link')?.includes('rel="next"')
    const code = ({ headers }: { headers: Headers }) => headers.get('X-Error-Code')
    is([real.status, code(real), next(real)], [answer.status, code(answer), next(answer)], trace)
    is(real.body, expected(simulated), trace)
    if (simulated?.cursor) cursors.set(me, { real: real.body.cursor, simulated: simulated.cursor })
    const broadcast = await sql('delete from realtime.messages returning topic, event, payload')
    const sorted = (list: Json[]) => list.toSorted(([one], [other]) => one < other ? -1 : 1)
    is(sorted(broadcast), sorted(events.splice(0)), trace)
    return real.body
  }
  /** An admin changes a message in the dashboard. */
  const changeMessage = async (statement: string, simulate: (message: Message) => void) => {
    // What was taken back stays empty.
    const present = table.filter(({ deletedAt }) => !deletedAt)
    if (!present.length) return
    const message = pick(present)
    done.push(`${statement} ${message.id}`)
    await asAdmin(`${statement} where id = $1`, [message.id])
    await commit()
    simulate(message)
  }
  /** Reservations have rules that the client leaves to the service: it only reads what comes of them. */
  const changeReservation = async (me: Person) => {
    const { id, status, revision } = service.reservations.at(-1) ?? { id: 0 }
    const [method, path, body] = status !== 'pending'
      ? ['POST', '', { title: 'Jazz evening', price: 12.5, date: inDays(20 + below(9)) }]
      : pick([
        ...['accept', 'decline'].map((step) => ['POST', `/${id}/${step}`, { revision }] as const),
        ['POST', `/${id}/cancel`, {}] as const,
        ['PATCH', `/${id}`, { revision, price: below(90) }] as const,
      ])
    const { body: changed } = await me.ask(method, `/${at}/reservations${path}`, body)
    await commit()
    if (changed.id) service.changeReservation(changed)
  }
  const reads: ((me: Person) => Promise<unknown>)[] = [
    ...['users/me', 'users/me/blocks', 'conversations?partner=true', 'conversations/unread', at, `${at}/messages`]
      .concat('conversations?partner=true&states=true', `${at}/messages?states=true`)
      .map((path) => (me: Person) => ask(me, 'GET', path)),
    (me) => ask(me, 'GET', `conversations/changes?limit=${1 + below(5)}${after(me)}`),
    async (me) => {
      const reservation = service.reservations.at(-1)
      if (reservation) await ask(me, 'GET', `${at}/reservations/${reservation.id}`)
    },
  ]
  const readAll = async () => {
    for (const me of both) for (const read of reads) await read(me)
  }

  await sql('delete from realtime.messages')
  await commit()
  await readAll()
  const keys = [crypto.randomUUID(), crypto.randomUUID()]
  const anyId = () => random() < 0.1 ? 10 ** 9 : pick(table)?.id ?? 1
  const ends = () => [`before_id=${anyId()}`, `after_id=${anyId()}`, 'after_id=0']
  const send = (me: Person, content: string, client_id: string = crypto.randomUUID()) =>
    ask(me, 'POST', `${at}/messages`, { content, client_id })
  const edit = (me: Person, content: string) =>
    ask(me, 'PATCH', `${at}/messages/${anyId()}?states=${pick(['true', 'false'])}`, { content })
  const correct = `update public.messages set content = 'Corrected'`
  type Step = (me: Person, other: Person) => Promise<unknown>
  const steps: [weight: number, step: Step][] = [
    [8, (me) => send(me, `Message ${below(1000)}`)],
    [5, (me) => send(me, pick(['Again', 'Again', 'Other']), pick(keys))],
    [1, (me) => send(me, ' ')],
    [3, (me) => ask(me, 'POST', `${at}/read`, { up_to_message_id: anyId() })],
    [1, (me) => ask(me, 'PATCH', `${at}/messages/${anyId()}/read`)],
    [2, (me) => edit(me, pick(['Better', 'Again', ' ']))],
    [1, (me) => ask(me, 'DELETE', `${at}/messages/${anyId()}`)],
    [2, (me, other) => ask(me, pick(['PUT', 'DELETE', 'DELETE', 'DELETE']), `users/me/blocks/${other.id}`)],
    [3, (me) => ask(me, 'GET', `${at}/messages?${pick(ends())}&limit=${1 + below(5)}`)],
    [1, (me) => ask(me, 'PUT', `${at}/state`, pick([{ pinned: true }, { pinned: false }, { muted_until: null }]))],
    [1, (me, other) => ask(me, 'POST', 'conversations', { other_user_id: other.id })],
    [1, (me) => ask(me, 'GET', pick(['conversations/999999999', `${at}/reservations/999999999`]))],
    [1, () => changeMessage(correct, (one) => service.correctMessage(one, 'Corrected'))],
    [1, () => changeMessage('delete from public.messages', service.removeMessage)],
    [2, changeReservation],
  ]
  const bag = steps.flatMap(([weight, step]) => Array<Step>(weight).fill(step))
  for (let count = 0; count < Number(actions); count++) {
    const [me, other] = random() < 0.5 ? both : both.toReversed() as [Person, Person]
    await pick(bag)(me, other)
    for (let count = 0; count < 3; count++) await pick(reads)(pick(both))
  }
  await readAll()
  await passTime('31 days')
  service.oldestCursor = Infinity
  for (const me of both) await ask(me, 'GET', `conversations/changes?limit=1${after(me)}`)
}

for (let seed = 1; seed <= Number(seeds); seed++) test(`seed ${seed}`, () => play(seed))
const print = console.log
for (const level of ['log', 'info', 'warn', 'error'] as const) console[level] = () => {}
print(JSON.stringify((await runTests()).filter(({ error }) => error)))
Deno.exit(0)
