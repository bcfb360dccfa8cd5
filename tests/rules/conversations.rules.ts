/** Conversations: who can open one, what their list and their details show, and what stays of them. */
import { asAdmin, equal, idOf, is, iso, type Json, people, type Person } from './fixture.ts'
import { refuses, setting, sql, talk, test } from './fixture.ts'
import { activate, block, hostOf, idsOf, meet, pagesOf, send, unknown } from './talks.ts'

const card = ({ id, name }: Person) => ({ id, name })
const contact = ({ id, name }: Person) => ({ id, name, email: `${name}@tests.example` })
const open = (who: Person, other_user_id: number, status = 201, expected?: Json): Promise<Json> =>
  who.post('/conversations', { other_user_id }, status, expected)

test('whoever opens a conversation is the voyager, and a pair has one, whoever opens it again', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const opened = await open(ana, ben.id)
  equal(opened, { id: opened.id, voyager_id: ana.id, local_id: ben.id })
  const again = { error: 'A conversation with this user already exists', conversation_id: opened.id }
  for (const [one, other] of [[ana, ben], [ben, ana]] as const) equal(await open(one, other.id, 409), again)
  for (const who of [ana, ben]) is(await who.get('/conversations'), [{ id: opened.id }])
})

test('nobody opens a conversation with themselves, an unknown or a deactivated user', async () => {
  const [ana, cat] = await people('ana', 'cat')
  await open(ana, ana.id, 400, 'other_user_id: you cannot open a conversation with yourself')
  for (const id of unknown) await open(ana, id, 404, 'User not found')
  await activate(cat, false)
  await open(ana, cat.id, 404, 'User not found')
  await open(cat, ana.id, 403, 'This account is deactivated')
  equal(await ana.get('/conversations'), [])
  await activate(cat, true)
  const { id } = await open(ana, cat.id)
  // The old clients open a chat by this answer.
  await activate(cat, false)
  equal((await open(ana, cat.id, 409)).conversation_id, id)
})

test('not even an admin makes a second conversation of a pair, or leaves somebody out of theirs', async () => {
  const [ana, ben, cat, dan] = await people('ana', 'ben', 'cat', 'dan')
  const [ab, ac] = [await talk(ana, ben), await talk(ana, cat)]
  const insert = (one: Person, other: Person) =>
    `insert into public.conversations (voyager_id, local_id) values (${one.id}, ${other.id})`
  await refuses('23505', '"conversations_one_per_pair"', [insert(ana, ben), insert(ben, ana)])
  await refuses('23514', '"nobody converses with themselves"', [insert(ana, ana)])
  await refuses('23503', '', [ana, ben].map(({ id }) => `delete from public.users where id = ${id}`))
  // Whoever has written, hosts or has offered stays a participant.
  const replaceCat = `update public.conversations set local_id = ${dan.id} where id = ${idOf(ac)}`
  const stays = () => refuses('23514', 'a message or reservation would be without its participant', [replaceCat])
  await send(cat, ac)
  await stays()
  await asAdmin(`delete from public.messages`)
  const reservation = await ana.post(`${ac}/reservations`, { title: 'A', price: 1, date: '2036-01-01T00:00:00Z' }, 201)
  is(reservation, { host_id: cat.id, offered_by: ana.id })
  await stays()
  await asAdmin(`update public.reservations set host_id = ${ana.id}, offered_by = ${cat.id}`)
  await stays()
  await asAdmin(`update public.reservations set offered_by = ${ana.id}`)
  await send(ben, ab)
  await asAdmin(replaceCat)
  is(await dan.get(ac), { Local: card(dan) })
  equal(await cat.get('/conversations'), [])
  await sql(`delete from public.users where id = ${cat.id}`)
})

test('the list has the same entry for both, with the latest message; the latest activity comes first', async () => {
  const [ana, ben, cat, dan] = await people('ana', 'ben', 'cat', 'dan')
  const ab = await talk(ana, ben)
  equal(await dan.get('/conversations'), [])
  const entry = {
    ...{ id: idOf(ab), voyager_id: ana.id, local_id: ben.id, Voyager: contact(ana), Local: contact(ben) },
    ...{ Messages: [], createdAt: iso },
  }
  for (const who of [ana, ben]) equal(await who.get('/conversations'), [entry])
  const bc = await talk(ben, cat)
  const order = async () => idsOf(await ben.get('/conversations'))
  equal(await order(), [bc, ab].map(idOf))
  await send(ana, ab, 'First')
  const last = await send(ben, ab, 'Second')
  equal(await order(), [ab, bc].map(idOf))
  const message = { id: last.id, content: 'Second', user_id: ben.id, read: false, createdAt: last.createdAt }
  for (const who of [ana, ben]) equal((await who.get('/conversations'))[0].Messages, [message])
  // In one transaction now() stands still.
  const [bd] = await asAdmin(
    `insert into public.conversations (voyager_id, local_id, created_at)
     values ($1, $2, clock_timestamp()) returning id`,
    [dan.id, ben.id],
  )
  equal(await order(), [bd, idOf(ab), idOf(bc)])
  await send(cat, bc)
  equal(await order(), [idOf(bc), bd, idOf(ab)])
})

test('the details show both without e-mail; a deactivated partner stays', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  await activate(ana, false)
  is(await ben.get('/conversations'), [{ id: idOf(ab), Voyager: contact(ana), Local: contact(ben) }])
  await activate(ana, true)
  const detail = { id: idOf(ab), Voyager: card(ana), Local: card(ben), Reservations: [] }
  for (const who of [ana, ben]) equal(await who.get(ab), detail)
})

test('the list is complete unless pages are requested; equal times are sorted by id', async () => {
  const time = '2024-02-29T23:59:59.999Z'
  const { host } = await hostOf(103, time)
  const answer = await host.ask('GET', '/conversations')
  is([answer.body[0].createdAt, answer.headers.get('Link')], [time, null])
  const all = idsOf(answer.body)
  equal([all.length, all], [103, all.toSorted((one, other) => other - one)])
  // deno-fmt-ignore
  for (const [query, from, to] of [
    ['limit=2', 0, 2], ['limit=2&offset=2', 2, 4], ['offset=101', 101, 103], ['limit=100', 0, 100],
    ['limit=1000', 0, 100], ['limit=10&offset=103', 103, 103],
  ] as const) equal(idsOf(await host.get(`/conversations?${query}`)), all.slice(from, to), query)
  equal((await pagesOf(host, '/conversations?limit=50&pinned=first&archived=all')).flatMap(idsOf), all)
})

test('the partner is named on request, with what the public profile shows, and nothing across a block', async () => {
  const { ana, ben, cat, ab } = await meet()
  const [one, two] = ['https://photos.example/one', 'https://photos.example/two']
  /** The photos of the partners by name, or false without a profile. */
  const partners = async (who: Person) => {
    const list = (await who.get('/conversations?partner=true')).map(({ partner }: Json) => partner)
    return Object.fromEntries(list.map(({ name, profile }: Json) => [name, profile ? profile.image_url : false]))
  }
  const change = (who: Person, is_searchable: boolean, image_url: string | null) =>
    who.patch('/users/profile', { is_searchable, image_url })
  const shows = async (action: Promise<Json>, expected: Json) => {
    await action
    equal(await partners(ana), expected)
  }
  const hidden = { ben: false, cat: false }
  await shows(change(ben, false, one), hidden)
  equal(await partners(ben), { ana: false })
  await shows(change(ben, true, one), { ben: one, cat: false })
  await shows(change(cat, true, null), { ben: one, cat: null })
  await shows(change(ben, true, two), { ben: two, cat: null })
  const ofBen = async (query: string) =>
    (await ana.get(`/conversations${query}`)).find(({ id }: Json) => id === idOf(ab))
  const { partner, ...entry } = await ofBen('?partner=true')
  equal(partner, { ...card(ben), profile: { id: ben.profileId, image_url: two } })
  equal(await ofBen(''), entry)
  await block(ana, ben)
  await shows(block(cat, ana), hidden)
  await shows(change(ana, true, one), hidden)
  equal([await partners(ben), await partners(cat)], [{ ana: false }, { ana: false }])
  await shows(sql('delete from private.blocks'), { ben: two, cat: null })
  equal(await partners(ben), { ana: one })
  await shows(activate(ben, false), { ben: false, cat: null })
  await shows(activate(ben, true), { ben: two, cat: null })
  await shows(change(ben, false, two), { ben: false, cat: null })
  await change(ben, true, two)
  await shows(ben.delete('/users/me'), { 'Deleted user': false, cat: null })
})

test("the partner's address is empty across a block, and with after_reply until they have written", async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  /** Whose addresses the list shows, and the export in the same way: of the voyager and of the local. */
  const addresses = async (who: Person) => {
    const [listed, exported] = [await who.get('/conversations'), (await who.get('/users/me/export')).conversations]
    const names = [listed, exported].map((rows: Json[]) =>
      rows.toSorted((one, other) => one.id - other.id)
        .map(({ Voyager, Local }) => [Voyager, Local].map(({ email }) => email.split('@')[0]).join('/')).join(' ')
    )
    equal(names[0], names[1])
    return names[0]
  }
  is(await addresses(ana), 'ana/ben cat/ana')
  setting('PARTNER_EMAIL', 'after_reply')
  is(await addresses(ana), 'ana/ /ana')
  for (const path of [ab, ca]) await send(ana, path)
  equal([await addresses(ana), await addresses(cat)], ['ana/ /ana', 'cat/ana'])
  await send(cat, ca)
  is(await addresses(ana), 'ana/ cat/ana')
  setting('PARTNER_EMAIL', 'always')
  is(await addresses(ana), 'ana/ben cat/ana')
  await block(ana, ben)
  await block(cat, ana)
  equal([await addresses(ana), await addresses(ben), await addresses(cat)], ['ana/ /ana', '/ben', 'cat/'])
})
