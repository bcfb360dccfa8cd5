/** GET /conversations/changes: what it shows of each write, and to whom. */
import { base64url } from 'jose'
import { asAdmin, equal, idOf, inDays, is, type Json, people, type Person, runJob, sql, talk, test } from './fixture.ts'
import { block, meet, send, unblock } from './talks.ts'

const feed = '/conversations/changes'
const snapshot = /,(\d+:\d+:\d*|"\d+:\d+:[\d,]*"),/
const edited = (cursor: string, edit: (fields: string) => string): string =>
  base64url.encode(edit(new TextDecoder().decode(base64url.decode(cursor))))
const read = (who: Person, cursor: string, query = ''): Promise<Json> => who.get(`${feed}?after=${cursor}${query}`)
const entry = (kind: string, path: string, id = idOf(path)) => ({ kind, conversation_id: idOf(path), id })
const upTo = (who: Person, path: string, up_to_message_id: number) =>
  who.post(`${path}/read`, { up_to_message_id }, 200)
/** A transaction does not see its own changes in the feed. Then they are of one that was committed long ago. */
const commit = (xid = 8) => sql(`update private.changes set xid = '${xid}' where xid > '${xid}'`)
/** The cursor of somebody who has seen what was committed before that. */
const cursorOf = async (who: Person): Promise<string> => {
  await commit(5)
  return edited((await who.get(feed)).cursor, (fields) => fields.replace(snapshot, ',7:7:,'))
}

/** Ana has opened a conversation with Ben, and Cat one with Ana; `shows` compares what an action shows to each. */
const watch = async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  const forget = () => sql('delete from private.changes')
  await forget()
  const watching: [who: Person, cursor: string][] = []
  for (const who of [ana, ben, cat]) watching.push([who, await cursorOf(who)])
  /** In any order, because of one statement there is none; null is of somebody who cannot read any more. */
  const shows = async <Result>(
    action: () => Promise<Result>,
    expected: (result: Result) => Record<string, Json[] | null> = () => ({}),
  ): Promise<Result> => {
    const result = await action()
    await commit()
    const wanted = { ana: [], ben: [], cat: [], ...expected(result) } as Record<string, Json[] | null>
    const sorted = (changes: Json[]) => changes.map((one) => JSON.stringify(one)).toSorted()
    for (const [who, cursor] of watching) {
      const list = wanted[who.name]
      if (list) equal(sorted((await read(who, cursor)).changes), sorted(list), `${who.name}: ${action}`)
    }
    await forget()
    return result
  }
  return { ana, ben, cat, ab, ca, shows, forget }
}
const both = (...changes: Json[]) => ({ ana: changes, ben: changes })

test('a message, and that it was read, is there for both, and for nobody else', async () => {
  const { ana, ben, ab, shows } = await watch()
  const one = await shows(() => send(ana, ab), ({ id }) => both(entry('message', ab, id)))
  const two = await shows(() => send(ana, ab), ({ id }) => both(entry('message', ab, id)))
  await shows(() => upTo(ben, ab, two.id), () => both(entry('read', ab, two.id)))
  await shows(() => upTo(ben, ab, two.id))
  const three = await shows(() => send(ben, ab), ({ id }) => both(entry('message', ab, id)))
  await shows(() => upTo(ana, ab, three.id), () => both(entry('read', ab, three.id)))
  const change = (set: string) => () => asAdmin(`update public.messages set ${set} where id = $1`, [one.id])
  await shows(change('content = content'))
  const file = `'{"url": "https://a/b", "name": "b", "mime_type": "image/png", "size": 1}'`
  for (const set of ["content = 'Corrected'", `attachment = ${file}`, 'read = false', "created_at = '2026-01-01'"]) {
    await shows(change(set), () => both(entry('message', ab, one.id)))
  }
})

test('what an admin moves is removed from one conversation and comes to the other', async () => {
  const { ana, ben, ab, ca, shows, forget } = await watch()
  const { id } = await send(ana, ab)
  const offer = { title: 'A', price: 1, date: '2036-05-14T16:00:00Z' }
  const offered = await ana.post(`${ab}/reservations`, offer, 201)
  await forget()
  const moveTo = (table: string) => () => asAdmin(`update public.${table} set conversation_id = $1`, [idOf(ca)])
  const [removed, message] = [entry('message.removed', ab, id), entry('message', ca, id)]
  await shows(moveTo('messages'), () => ({ ana: [removed, message], ben: [removed], cat: [message] }))
  const [from, to] = [ab, ca].map((path) => entry('reservation', path, offered.id))
  await shows(moveTo('reservations'), () => ({ ana: [from, to], ben: [from], cat: [to] }))
  // One that is corrected and then removed is one entity.
  await shows(async () => {
    await asAdmin("update public.messages set content = 'Less rude'")
    await asAdmin('delete from public.messages')
  }, () => ({ ana: [entry('message.removed', ca, id)], cat: [entry('message.removed', ca, id)] }))
  await shows(() => asAdmin('delete from public.reservations'), () => ({ ana: [to], cat: [to] }))
  // Of a conversation that is given away or removed nothing else is said, to whoever took part before as well.
  await send(ana, ab)
  await forget()
  const given = entry('conversation', ca)
  const give = () => asAdmin('update public.conversations set local_id = $1 where id = $2', [ben.id, idOf(ca)])
  await shows(give, () => ({ ana: [given], ben: [given], cat: [given] }))
  const remove = () => asAdmin('delete from public.conversations where id = $1', [idOf(ab)])
  await shows(remove, () => both(entry('conversation', ab)))
})

test('a conversation that is opened, and a partner with another name or address, but nothing else', async () => {
  const { ana, ben, cat, ab, ca, shows } = await watch()
  const opened = (path: string) => ({ ben: [entry('conversation', path)], cat: [entry('conversation', path)] })
  await shows(() => talk(ben, cat), opened)
  const [ofBen, ofCat] = [entry('conversation', ab), entry('conversation', ca)]
  const ofAna = { ana: [ofBen, ofCat], ben: [ofBen], cat: [ofCat] }
  const set = (what: string) => () => asAdmin(`update public.users set ${what} where id = $1`, [ana.id])
  for (const what of ["name = 'Anne'", "email = 'anne@tests.example'"]) await shows(set(what), () => ofAna)
  for (const what of ["bio = 'Hello'", "location = 'Porto'", 'name = name']) await shows(set(what))
  await shows(() => ana.delete('/users/me'), () => ({ ...ofAna, ana: null }))
})

test('a reservation, for both', async () => {
  const { ana, ben, ab, shows } = await watch()
  const list = `${ab}/reservations`
  const offer = { title: 'Two nights', price: 80, date: '2036-05-14T16:00:00Z' }
  const { id } = await shows(() => ana.post(list, offer, 201), ({ id }) => both(entry('reservation', ab, id)))
  const shown = () => both(entry('reservation', ab, id))
  await shows(() => ben.patch(`${list}/${id}`, { revision: 1, price: 70 }), shown)
  await shows(() => ana.post(`${list}/${id}/accept`, { revision: 2 }, 200), shown)
  await shows(() => asAdmin("update public.reservations set status = 'declined'"), shown)
})

test('a state or a block is there for whoever set it; across a block, so is what one does', async () => {
  const { ana, ben, cat, ab, shows, forget } = await watch()
  const arrange = (state: object) => () => ben.put(`${ab}/state`, state, 200)
  const { id } = await send(ana, ab)
  await forget()
  for (const state of [{ pinned: true }, { archived: true }, { muted_until: inDays(1) }]) {
    await shows(arrange(state), () => ({ ben: [entry('state', ab)] }))
    await shows(arrange(state))
  }
  await shows(() => block(ana, ben), () => ({ ana: [entry('state', ab)] }))
  await shows(() => block(ben, cat))
  await shows(() => upTo(ben, ab, id), () => ({ ben: [entry('read', ab, id)] }))
  const rename = () => asAdmin("update public.users set name = 'Benny' where id = $1", [ben.id])
  await shows(rename, () => ({ ben: [entry('conversation', ab)] }))
  await shows(() => unblock(ana, ben), () => ({ ana: [entry('state', ab)] }))
  // An erasure removes how the person arranged conversations.
  await arrange({ pinned: false })()
  await sql('select private.erase_person($1)', [ben.id])
  equal(await sql("select count(*) from private.changes where kind = 'state'"), [0])
})

test('the first answer is a cursor without changes; pages come in order, each change once', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  await send(ben, ab)
  equal(await ana.get(feed), { changes: [], cursor: /^[\w-]{50,400}$/, more: false })
  const start = await cursorOf(ana)
  const sent = []
  for (let count = 0; count < 7; count++) sent.push((await send(ben, ab)).id)
  await commit()
  const pages: Json[] = [await read(ana, start, '&limit=3')]
  while (pages.at(-1).more && pages.length < 9) pages.push(await read(ana, pages.at(-1).cursor, '&limit=3'))
  equal(pages.map(({ changes }) => changes.length), [3, 3, 1])
  equal(pages.flatMap(({ changes }) => changes), sent.map((id) => entry('message', ab, id)))
  equal((await read(ana, pages.at(-1).cursor)).changes, [])
  equal((await read(ana, start, '&limit=7')).more, false)
  equal((await read(ana, start, '&limit=3')).changes, pages[0].changes, 'the same cursor gives the same again')
})

test("somebody else's cursor and a malformed one are 400; one that is not valid any more is 410", async () => {
  const [ana, ben, dan] = await people('ana', 'ben', 'dan')
  await send(ana, await talk(ana, ben))
  await commit()
  const { cursor } = await ana.get(feed)
  const own = 'after: must be a cursor of your own'
  await dan.get(`${feed}?after=${cursor}`, 400, own)
  const without = (part: RegExp, by: string) => edited(cursor, (fields) => fields.replace(part, by))
  const made = [() => `(${ana.id},x,,,,,,,)`, () => '\xff\0'].map((fields) => edited(cursor, fields))
  const halves = [without(/,,,,/, ',,5,,'), without(/,,,,/, ',,,5,')]
  const broken = [without(/^\(\d+/, '('), without(snapshot, ',,'), without(snapshot, ',9:1:,'), ...made, ...halves]
  for (const after of [...broken, 'x', cursor.slice(0, -9)]) await ana.get(`${feed}?after=${after}`, 400, own)
  for (const after of ['!', 'x'.repeat(4001)]) await ana.get(`${feed}?after=${after}`, 400, 'must be a cursor')
  const issued = (days: number) => without(/"20[^"]*"/, `"${inDays(-days)}"`)
  const ofOthers = without(/[0-9a-f]{8}-[0-9a-f-]{27}/, crypto.randomUUID())
  const ofNothing = [without(snapshot, ',1:99999999999:,'), without(/,\d+,("[^"]*"\))$/, ',1,$1')]
  for (const after of [issued(30.01), ofOthers, ...ofNothing]) {
    is(after === cursor, false, 'the cursor is another one')
    await ana.get(`${feed}?after=${after}`, 410, 'after: this cursor is not valid any more, read everything anew')
  }
  equal((await read(ana, issued(29.9))).changes, [])
  // What it has seen last may be missing if it has been forgotten by now.
  await sql('delete from private.changes')
  await ana.get(`${feed}?after=${cursor}`, 410, 'after: ')
  equal((await read(ana, without(/"[^"]*"\)$/, `"${inDays(-31)}")`))).changes, [])
})

test('what is older than 31 days is forgotten', async () => {
  await sql(
    `insert into private.changes (user_id, kind, conversation_id, entity_id, created_at)
     select 1, 'message', 1, id, now() - age::interval
     from (values (1, '31 days 1 second'), (2, '30 days 23 hours')) as changes (id, age)`,
  )
  await runJob('forget old changes')
  equal(await sql('select entity_id from private.changes'), [2])
})
