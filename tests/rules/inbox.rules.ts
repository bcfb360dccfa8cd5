/** The inbox: a conversation as each of the two arranges it, archived, muted or pinned, and what admins do to it. */
import { asAdmin, equal, idOf, is, iso, type Json, type Person, refuses, sql, test } from './fixture.ts'
import { activate, chunks, hostOf, idsOf, meet, pagesOf, send } from './talks.ts'

const later = '2036-05-14T16:00:00.000Z'
const initial = { archived: false, muted_until: null, pinned: false }
const everything = { archived: true, muted_until: later, pinned: true }
const arrange = (who: Person, path: string, changes: Json, status = 200, expected?: Json): Promise<Json> =>
  who.put(`${path}/state`, changes, status, expected)
const states = (who: Person): Promise<Json> => who.get('/conversations/states')
const list = async (who: Person, query = '') => idsOf(await who.get(`/conversations?${query}`))
const places = async (who: Person) => [await list(who, 'archived=false'), await list(who, 'archived=true')]
const endMutes = () =>
  sql("update private.inbox_entries set muted_until = now() - interval '1 second' where muted_until > now()")

test('a conversation is archived, muted and pinned for oneself; what is absent stays unchanged', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  equal([await arrange(ana, ab, {}), await states(ana)], [{ conversation_id: idOf(ab), ...initial }, []])
  // deno-fmt-ignore
  for (const [changes, expected] of [
    [{ pinned: true }, { pinned: true }],
    [{ muted_until: '2036-05-14T18:00:00+02:00' }, { pinned: true, muted_until: later }],
    [{ archived: true }, everything],
    [{ archived: false, pinned: false }, { muted_until: later }],
    [{ archived: true, pinned: true }, everything],
    [{ muted_until: null, archived: false }, { pinned: true }],
    [{ pinned: false }, {}],
  ] as [object, object][]) {
    const state = { conversation_id: idOf(ab), ...initial, ...expected }
    for (const again of [changes, {}]) equal(await arrange(ana, ab, again), state)
    equal(await states(ana), Object.keys(expected).length ? [state] : [])
  }
  // deno-fmt-ignore
  for (const [error, changes] of [
    ...['2036-05-14', '2036-05-14T16:00:00', '+012036-05-14T16:00:00Z'].map((muted_until) =>
      ['muted_until', { muted_until }] as const),
    ['muted_until: must be in the future', { muted_until: '2020-01-01T00:00:00Z', pinned: true }],
    ['muted: is not known', { muted: true, pinned: true }],
    ['A key of the body', { 'mu\nted': true }],
  ] as const) await arrange(ana, ab, changes, 400, error)
  equal(await states(ana), [])
  // The partner never learns, on either side.
  for (const [path, partner] of [[ab, ben], [ca, cat]] as const) {
    const views = async () => [
      ...[await states(partner), await partner.get('/conversations')],
      ...[(await partner.get('/users/me/export')).conversations, await places(partner)],
    ]
    const before = await views()
    await arrange(ana, path, everything)
    equal(await views(), before)
    is(await arrange(ana, path, {}), everything)
  }
  const exported = [ab, ca].map((path) => ({ id: idOf(path), state: everything }))
  is((await ana.get('/users/me/export')).conversations, exported)
})

test('both have their own state of the same conversation, as voyager and as local', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  await arrange(cat, ca, { muted_until: later }, 200, { ...initial, muted_until: later })
  await arrange(ben, ab, { archived: true })
  await arrange(ana, ab, { pinned: true, muted_until: later })
  await arrange(ana, ca, { archived: true })
  const ofAna = { conversation_id: idOf(ab), ...everything, archived: false }
  equal(await states(ana), [{ conversation_id: idOf(ca), ...initial, archived: true }, ofAna])
  is([await states(ben), await states(cat)], [[{ ...initial, archived: true }], [{ ...initial, muted_until: later }]])
  await arrange(ana, ca, { archived: false })
  equal(await states(ana), [ofAna])
  // Neither a mute nor the partner's pin puts a conversation first.
  await send(cat, ca)
  await arrange(ana, ab, { pinned: false })
  await arrange(ben, ab, { pinned: true })
  equal(await list(ana, 'pinned=first'), [ca, ab].map(idOf))
  equal(await states(ana), [{ ...ofAna, pinned: false }])
  await endMutes()
  equal([await states(ana), (await arrange(ana, ab, {})).muted_until], [[], null])
})

test('an archived conversation comes back with the next message of either, and not when it is read', async () => {
  const { ana, ben, ab } = await meet()
  const id = idOf(ab)
  for (const who of [ana, ben]) {
    for (const one of [ana, ben]) {
      await arrange(one, ab, everything)
      is((await places(one))[1], [id])
    }
    const { id: message } = await send(who, ab)
    for (const one of [ana, ben]) {
      equal((await places(one))[1], [])
      is(await states(one), [{ ...everything, archived: false }])
    }
    const other = who === ana ? ben : ana
    await arrange(other, ab, { archived: true })
    equal(await other.get('/conversations/unread'), { total: 1, conversations: [{ conversation_id: id, unread: 1 }] })
    await other.post(`${ab}/read`, { up_to_message_id: message }, 200)
    equal([(await other.get('/conversations/unread')).total, (await places(other))[1]], [0, [id]])
    const next = await send(who, ab)
    equal((await places(other))[1], [])
    await asAdmin('delete from public.messages where id = $1', [next.id])
    equal((await places(other))[1], [id], 'an admin has deleted that message')
  }
})

test('the list is filtered by what is archived, and begins with what is pinned; states have pages', async () => {
  const { host, ids, paths } = await hostOf(30)
  for (const [at, path] of paths.entries()) await arrange(host, path, { archived: at % 3 === 0, pinned: at % 4 === 2 })
  const archived = (id: number) => ids.indexOf(id) % 3 === 0
  const pinned = (id: number) => ids.indexOf(id) % 4 === 2
  // deno-fmt-ignore
  for (const [query, wanted] of [
    ['', () => true], ['archived=all&', () => true], ['archived=true&', archived],
    ['archived=false&', (id: number) => !archived(id)],
  ] as const) {
    const all = ids.filter(wanted)
    equal(await list(host, query), all, query)
    const sorted = [...all.filter(pinned), ...all.filter((id) => !pinned(id))]
    for (const limit of [1, 4, 7, 50]) {
      const pages = await pagesOf(host, `/conversations?${query}pinned=first&limit=${limit}`)
      equal(pages.map(idsOf), chunks(sorted, limit), query)
    }
    equal(await list(host, `${query}pinned=first&offset=1000&limit=5`), [])
    equal(await list(host, `${query}pinned=first&offset=3`), sorted.slice(3))
  }
  const all = await states(host)
  const arranged = ids.filter((id) => archived(id) || pinned(id)).toSorted((one, other) => other - one)
  equal(all.map(({ conversation_id }: Json) => conversation_id), arranged)
  const pages = await pagesOf(host, '/conversations/states?limit=7')
  equal([pages.map(({ length }) => length), pages.flat()], [[7, 7, 1], all])
  equal(await host.get(`/conversations/states?before_id=${all[3].conversation_id}`), all.slice(4))
})

test('twenty conversations can be pinned, whatever is muted and whatever others have pinned', async () => {
  const { host, paths } = await hostOf(22)
  await sql(
    `update private.inbox_entries
     set is_pinned = user_id <> $1, muted_until = case user_id when $1 then 'infinity'::timestamptz end`,
    [host.id],
  )
  for (const path of paths.slice(0, 20)) await arrange(host, path, { pinned: true }, 200, { pinned: true })
  const [first, last] = [paths[0]!, paths[20]!]
  await arrange(host, first, { pinned: true }, 200)
  equal(await arrange(host, last, everything, 400), { error: 'pinned: you cannot pin more than 20 conversations' })
  is(await arrange(host, last, {}), { pinned: false, archived: false })
  await arrange(host, first, { pinned: false })
  await arrange(host, last, { pinned: true }, 200)
})

test('whoever was deactivated while a request waited changes nothing', async () => {
  const { ben, ab } = await meet()
  await activate(ben, false)
  const isBen = `from set_config('api.caller', '${ben.id}', true)`
  const late = ['set_conversation_state', 'offer_reservation', 'send_message']
    .map((name) => `select api.${name}(${idOf(ab)}, '{"content": "x"}') ${isBen}`)
  await refuses('PT401', 'This account no longer exists', late)
})

// What admins do to messages is tried at random in tests/db/inbox/drift.test.sql.
test('a conversation that is given to somebody else is in their inbox, and nobody has archived it', async () => {
  const { ana, cat, dan, ab, ca } = await meet()
  const unread = async (who: Person) => (await who.get('/conversations/unread')).total
  const { id } = await send(ana, ca, 'Typo')
  await asAdmin("update public.messages set content = 'Corrected' where id = $1", [id])
  const message = { id, content: 'Corrected', user_id: ana.id, read: false, createdAt: iso }
  equal((await ana.get('/conversations?limit=1'))[0].Messages, [message])
  for (const who of [ana, cat]) await arrange(who, ca, { archived: true })
  await asAdmin('update public.conversations set voyager_id = $2 where id = $1', [idOf(ca), dan.id])
  equal([await list(cat), await places(dan), await places(ana)], [[], [[idOf(ca)], []], [[ca, ab].map(idOf), []]])
  equal([await unread(dan), await unread(ana)], [1, 0])
})
