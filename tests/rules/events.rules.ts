// Events of the database: who receives which, once, with what payload; that no write fails for them; who can receive
// and send on which topic.
import { allows, equal, idOf, inDays, passTime, people, type Person, sql, talk, test } from './fixture.ts'
import { rightsOn, sent } from './topics.ts'

type Id = number | null
const event = (to: Person[], name: string, conversation: Id, id: Id, previous: Id = null, user: Id = null) =>
  to.map((who) =>
    `user:${who.id} ${name} ` +
    `{"id": ${id}, "user_id": ${user}, "previous_id": ${previous}, "conversation_id": ${conversation}}`
  )
const closed = (who: Person, paths: string[]) =>
  paths.map((path) => `typing:${idOf(path)} closed {"user_id": ${who.id}}`)
/** What this work sends is just this; returns its result. */
const tells = async <Result>(work: Promise<Result>, toEvents: string[] | ((result: Result) => string[]) = []) => {
  const result = await work
  equal(await sent(), (typeof toEvents === 'function' ? toEvents(result) : toEvents).sort())
  return result
}

/** Ana and Ben talk, and each of them with Cat, so that what goes to too many conversations is seen. */
const meet = async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  const [ab, ca, bc] = [await talk(ana, ben), await talk(cat, ana), await talk(ben, cat)]
  await sent()
  return { ana, ben, cat, ab, ca, bc, id: idOf(ab), both: [ana, ben] }
}
const write = async (who: Person, path: string): Promise<number> =>
  (await who.post(`${path}/messages`, { content: 'Hello' }, 201)).id
const deactivate = (who: Person) => sql(`update public.users set is_active = false where id = ${who.id}`)

test('both participants are told of a new conversation, and nobody of one that there is', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const toBoth = (path: string) => event([ana, ben], 'conversation.created', idOf(path), idOf(path), null, ana.id)
  const id = idOf(await tells(talk(ana, ben), toBoth))
  await tells(ben.post('/conversations', { other_user_id: ana.id }, 409, { conversation_id: id }))
})

test('both are told of each message once, with the one before it, and once of all that was read', async () => {
  const { ana, ben, ab, ca, id, both } = await meet()
  const created = (by: Person, before: Id) => (message: number) =>
    event(both, 'message.created', id, message, before, by.id)
  const first = await tells(write(ana, ab), created(ana, null))
  await write(ana, ca)
  await sent()
  const second = await tells(write(ben, ab), created(ben, first))
  const insert = `
    insert into public.messages (conversation_id, user_id, content)
    select ${id}, ${ana.id}, n::text from generate_series(1, 3) as n returning id`
  const rest: number[] = await tells(
    sql(insert),
    (ids) => ids.flatMap((one, at) => created(ana, ids[at - 1] ?? second)(one)),
  )
  for (const events of [event(both, 'message.read', id, rest[2]!, rest[1]!, ben.id), []]) {
    await tells(ben.post(`${ab}/read`, { up_to_message_id: rest[2] }, 200), events)
  }
  await tells(sql(`update public.messages set content = content || '!'`))
  const last = await tells(write(ana, ab), created(ana, rest[2]!))
  await ana.put(`/users/me/blocks/${ben.id}`, undefined, 204)
  await sent()
  const toBen = event([ben], 'message.read', id, last, rest[2]!, ben.id)
  await tells(ben.post(`${ab}/read`, { up_to_message_id: last }, 200), toBen)
})

test('both are told of what a sender corrects or takes back, across a block the sender alone', async () => {
  const { ana, ben, ab, id, both } = await meet()
  const [first, second] = [await write(ana, ab), await write(ana, ab)]
  await sent()
  const at = (message: number) => `${ab}/messages/${message}`
  const correct = (content: string) => ana.patch(at(second), { content })
  await tells(correct('Hi'), event(both, 'message.changed', id, second, first, ana.id))
  await tells(correct('Hi'))
  await tells(ana.delete(at(first)), event(both, 'message.changed', id, first, null, ana.id))
  await tells(ana.delete(at(first)))
  await ana.put(`/users/me/blocks/${ben.id}`, undefined, 204)
  await sent()
  await tells(ana.delete(at(second)), event([ana], 'message.changed', id, second, first, ana.id))
})

test('both are told of each step of a reservation, also of the clock, and of nothing that is none', async () => {
  const { ana, ben, cat, ab, bc, id, both } = await meet()
  const draft = { title: 'A walk', price: 20, date: inDays(2) }
  const changed = ({ id: offer }: { id: number }) => event(both, 'reservation.changed', id, offer)
  const offer = await tells(ana.post(`${ab}/reservations`, draft, 201), changed)
  const at = `${ab}/reservations/${offer.id}`
  await tells(ana.patch(at, { revision: 1, price: 21 }), changed)
  await tells(ana.patch(at, { revision: 2 }))
  await tells(ben.post(`${at}/accept`, { revision: 2 }, 200), changed)
  await tells(ben.post(`${at}/accept`, { revision: 2 }, 200))
  await tells(ana.post(`${at}/complete`, undefined, 409, ''))
  await tells(ben.post(`${at}/cancel`, undefined, 200), changed)
  const late = await tells(ben.post(`${ab}/reservations`, draft, 201), changed)
  await passTime('3 days')
  await tells(sql('select private.settle_reservations()'), changed(late))
  await tells(
    sql(`update public.reservations set conversation_id = ${idOf(bc)} where id = ${offer.id}`),
    [...changed(offer), ...event([ben, cat], 'reservation.changed', idOf(bc), offer.id)],
  )
  await tells(sql(`delete from public.reservations where id = ${late.id}`), changed(late))
  // Both are gone from it.
  await tells(sql(`delete from public.conversations where id = ${idOf(bc)}`))
  const published = `select tablename::text from pg_publication_tables where pubname = 'supabase_realtime'`
  equal(await sql(published), ['messages'])
})

test('a state is told to its owner alone, if it is another one; a message that ends it adds no event', async () => {
  const { ana, ben, ab, id, both } = await meet()
  for (const [changes, isNews] of [[{ archived: true }, 1], [{ archived: true }, 0], [{ pinned: true }, 1], [{}, 0]]) {
    await tells(
      ana.put(`${ab}/state`, changes, 200),
      isNews ? event([ana], 'conversation.state', id, id, null, ana.id) : [],
    )
  }
  await tells(write(ben, ab), (message) => event(both, 'message.created', id, message, null, ben.id))
})

test('a block is told to the blocker alone, with the conversation if there is one', async () => {
  const { ana, ben, id } = await meet()
  const [dan] = await people('dan')
  for (const [who, conversation] of [[ben, id], [dan, null]] as const) {
    const changed = event([ana], 'block.changed', conversation, null, null, who.id)
    for (const events of [changed, []]) await tells(ana.put(`/users/me/blocks/${who.id}`, undefined, 204), events)
    for (const events of [changed, []]) await tells(ana.delete(`/users/me/blocks/${who.id}`), events)
  }
})

test('a deactivated user is told nothing more, and the typing topics of their conversations are closed', async () => {
  const { ana, ben, ab, ca, bc, id } = await meet()
  await tells(deactivate(ana), closed(ana, [ab, ca]))
  await tells(deactivate(ana))
  await tells(sql(`update public.users set is_active = true where id = ${ana.id}`))
  await tells(deactivate(ana), closed(ana, [ab, ca]))
  await tells(write(ben, ab), (message) => event([ben], 'message.created', id, message, null, ben.id))
  const insert = `
    insert into public.reservations (conversation_id, title, price, date) values (${id}, 'A', 1, now()) returning id`
  await tells(sql(insert), ([offer]) => event([ben], 'reservation.changed', id, offer))
  await sql(`select private.erase_person(${ben.id})`)
  equal((await sent()).filter((line) => line.includes('typing:')), closed(ben, [ab, bc]).sort())
  await tells(sql(`update public.reservations set title = 'B'`))
})

test('no write fails because Realtime cannot store its event, has no table for the day, or is not there', async () => {
  const { ana, ben, cat, ab, id } = await meet()
  const writeAll = async () => {
    const message = await write(ana, ab)
    await ben.post(`${ab}/read`, { up_to_message_id: message }, 200)
    await ana.put(`${ab}/state`, { pinned: true }, 200)
    await ana.put(`${ab}/state`, { pinned: false }, 200)
    await ana.post(`${ab}/reservations`, { title: 'A walk', price: 1, date: inDays(2) }, 201)
    await cat.put(`/users/me/blocks/${ben.id}`, undefined, 204)
    await cat.delete(`/users/me/blocks/${ben.id}`)
    const dan = (await people(`dan${message}`))[0]
    await talk(dan, ana)
    await deactivate(dan)
  }
  await sql('alter table realtime.messages add constraint full_disk check (topic <> topic) not valid')
  await writeAll()
  await sql('alter table realtime.messages drop constraint full_disk')
  equal(await sent(), [])
  // PGlite's table has no partitions.
  const partitions: string[] = await sql(
    `select inhrelid::regclass::text from pg_inherits where inhparent = 'realtime.messages'::regclass`,
  )
  for (const partition of partitions) await sql(`drop table ${partition}`)
  if (partitions.length > 0) await writeAll()
  await sql('alter table realtime.messages rename to elsewhere')
  await writeAll()
  await sql('alter schema realtime rename to gone')
  await writeAll()
  const rounds = partitions.length > 0 ? 4 : 3
  equal(await sql(`select count(*) from public.messages where conversation_id = ${id} and read`), [rounds])
})

const policies = `
  select policyname::text, cmd, roles::text, obj_description(pg_policy.oid) from pg_policies
  join pg_policy on polname = policyname and polrelid = 'realtime.messages'::regclass
  where schemaname = 'realtime' order by 1`
test('users receive on their own topic, participants receive and send on typing, others nothing', async () => {
  const [ana, ben, gone, mallory] = await people('ana', 'ben', 'gone', 'mallory')
  // The longest id that a topic may have, and the shortest.
  const [ab, gb] = ['100000000000000019', '9']
  await sql(`
    insert into public.conversations (id, voyager_id, local_id) overriding system value
    values (${ab}, ${ana.id}, ${ben.id}), (${gb}, ${gone.id}, ${ben.id})`)
  await deactivate(gone)
  // deno-fmt-ignore
  const topics = [
    ...[ana, ben, gone, mallory].map(({ id }) => `user:${id}`), `typing:${ab}`, `typing:${gb}`, `conversation:${ab}`,
    'user:', `user:0${ana.id}`, 'typing:', 'typing:0', `typing:0${ab}`, 'typing:abc', `typing:${'9'.repeat(19)}`,
    'typing:1e3', `typing: ${ab}`, `Typing:${ab}`, ` user:${ana.id}`, `user:${ana.id} `, `USER:${ana.id}`,
    `typing:${ab}:x`, 'room', '',
  ]
  const can = async (who: Person | null, ...expected: string[]) =>
    equal(await rightsOn(who, topics), expected.sort(), `${who?.name ?? 'anonymous'} `)
  const own = ({ id }: Person) => `user:${id} broadcast receive`
  const typing = (...ids: string[]) =>
    ids.flatMap((id) => ['broadcast', 'presence'].map((by) => `typing:${id} ${by} receive and send`))
  const all = async () => {
    await can(ana, own(ana), ...typing(ab))
    await can(ben, own(ben), ...typing(ab, gb))
  }
  await all()
  await can(mallory, own(mallory))
  await can(null)
  await can(gone)
  for (const [one, other] of [[ana, ben], [ben, ana]] as const) {
    await one.put(`/users/me/blocks/${other.id}`, undefined, 204)
    await can(ana, own(ana))
    await can(ben, own(ben), ...typing(gb))
    await one.delete(`/users/me/blocks/${other.id}`)
    await all()
  }
  await sql(`select private.erase_person(${gone.id})`)
  await can(ben, own(ben), ...typing(ab))
  // The platform would refuse a policy with a comment.
  equal(await sql(policies), [
    ['participants receive typing and presence', 'SELECT', '{authenticated}', null],
    ['participants send typing and presence', 'INSERT', '{authenticated}', null],
    ['users receive events on their own topic', 'SELECT', '{authenticated}', null],
  ])
})

test('our own schema realtime sends as the one of the platform does', async () => {
  const send = (payload: string, topic = `'room'`) => `select realtime.send(${payload}, 'said', ${topic})`
  await sql(send(`'{"n": 1}'`))
  equal(await sql(`select realtime.topic(), payload = jsonb_build_object('n', 1, 'id', id) from realtime.messages`), [
    ['room', true],
  ])
  equal(await sent(), ['room said {"n": 1}'])
  // An id of any type is kept. What can have none is not sent, which raises no error; nor is what has no topic.
  for (const payload of ['{"id": 7}', '{"id": "seven"}', '{"id": null}', '["id"]', '"id"']) {
    await sql(send(`'${payload}'`))
    equal(await sent(), [`room said ${payload}`])
  }
  await allows([send(`'[1]'`), send(`'7'`), send(`'{}'`, 'null')])
  equal(await sent(), [])
  await sql(`select realtime.send('{"id": 1}', 'said', 'room', false)`)
  equal(await sent(), ['room said {"id": 1} public'])
})
