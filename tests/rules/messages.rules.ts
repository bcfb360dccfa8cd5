/** Messages: who can send what, keys, pages, and who marks as read. */
import { allows, asAdmin, equal, idOf, inDays, is, iso, type Json, type Person } from './fixture.ts'
import { refuses, sql, talk, test } from './fixture.ts'
import { activate, block, chunks, idsOf, meet, pagesOf, refusesQueries, send, unknown } from './talks.ts'

const file = { url: 'https://files.example/photo.jpg', name: 'photo.jpg', mime_type: 'image/jpeg', size: 12_345 }
const contentsOf = (rows: Json[]) => rows.map(({ content }) => content)
const contents = async (who: Person, path: string, query = '') => contentsOf(await who.get(`${path}/messages?${query}`))

test('both participants send, and both read what was sent', async () => {
  const { ana, ben, ab } = await meet()
  for (const [who, other] of [[ana, ben], [ben, ana]] as const) {
    const sent = await send(who, ab, '  Hello\n')
    equal(sent, {
      ...{ id: sent.id, user_id: who.id, conversation_id: idOf(ab), content: '  Hello\n', attachment: null },
      ...{ read: false, createdAt: iso, Sender: { id: who.id, name: who.name } },
    })
    is(Math.abs(Date.parse(sent.createdAt) - Date.now()) < 60_000, true, sent.createdAt)
    for (const reader of [who, other]) equal(await reader.get(`${ab}/messages?limit=1`), [sent])
  }
  await asAdmin('update public.messages set content = $1 where user_id = $2', ['Corrected', ben.id])
  equal(await contents(ana, ab), ['Corrected', '  Hello\n'])
})

test('a column that an operator has added to messages is in the way of nothing', async () => {
  const { ana, ben, ab } = await meet()
  for (const name of ['kind', 'type', 'status', 'title']) await sql(`alter table public.messages add ${name} text`)
  const { id } = await send(ana, ab, 'Hello')
  await ben.patch(`${ab}/messages/${id}/read`, {}, 200, { success: true })
  await ben.post(`${ab}/reservations`, { title: 'Walk', price: 1, date: inDays(1) }, 201)
  await ana.delete(`${ab}/messages/${id}`)
})

test('an outsider learns nothing of a conversation, nor whether it exists', async () => {
  const { ana, dan, ab } = await meet()
  const { id } = await send(ana, ab, 'Private')
  for (const path of [ab, '/conversations/999999999']) {
    for (const what of ['', '/messages', '/messages?states=true&after_id=0', '/reservations/1']) {
      equal(await dan.get(path + what, 404), { error: 'Conversation not found' }, what)
    }
    await send(dan, path, 'Hello', 404, 'Conversation not found')
    await dan.put(`${path}/state`, { pinned: true }, 404, 'Conversation not found')
    await dan.delete(`${path}/messages/${id}`, 404)
    await dan.patch(`${path}/messages/${id}`, { content: 'Mine' }, 404)
    await dan.get(`/conversations/search?q=Private&conversation_id=${path.split('/').at(-1)}`, 404)
  }
  equal(await dan.get('/conversations/search?q=Private'), [])
})

test('deactivated users receive messages and send none; nobody writes to an erased one', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  await activate(ben, false)
  await send(ana, ab, 'Away?')
  await send(ben, ab, 'Hello', 403, 'This account is deactivated')
  const draft = { content: 'Bye', client_id: crypto.randomUUID() }
  const sent = await send(cat, ca, draft)
  await ana.delete('/users/me')
  await send(cat, ca, 'Hello?', 403, { error: 'You cannot write to this person' })
  equal(await send(cat, ca, draft), sent)
  await cat.post(`${ca}/read`, { up_to_message_id: sent.id }, 200)
})

test('a message for which the disk has no room is refused with 503, and can be sent again', async () => {
  const { ana, ab } = await meet()
  await sql(`create function pg_temp.fail() returns trigger language plpgsql as $$
    begin raise sqlstate '53100' using message = 'could not extend file "base/5/16387"'; end $$`)
  await sql('create trigger fail before insert on public.messages for each row execute function pg_temp.fail()')
  await send(ana, ab, 'Hello', 503, 'The service is busy, please try again')
  await sql('drop trigger fail on public.messages')
  await send(ana, ab, 'Hello')
})

test('every text is stored as sent, or refused naming the content', async () => {
  const { ana, ben, ab } = await meet()
  // deno-fmt-ignore
  const texts = [
    'x', '🚶', '  \n\t Hello \r\n\r\n ', 'שלום، مرحبا \u202Eabc\u202C', '👩‍👩‍👧‍👦🏳️‍🌈👍🏽', 'Cafe\u0301 Caf\u00e9',
    '<script>alert("1")</script>&amp;<b>', `'; drop table messages; -- $1 $$ %s {}`, '{"content": null}',
    'a\\u0041\\n\u0001\u007f\u2028\ufeff', 'é'.repeat(5000), '🚶'.repeat(5000),
  ]
  for (const content of texts) {
    await send(ana, ab, content, 201, { content })
    is(await ben.get(`${ab}/messages?limit=1`), [{ content }])
    is((await ben.get('/conversations'))[0].Messages, [{ content }])
  }
  const before = await ben.get(`${ab}/messages`)
  // deno-fmt-ignore
  const others = [
    undefined, '', ' ', '\n\t\r\n ', '\u00a0\u3000\u2003', 'é'.repeat(5001), '🚶'.repeat(5001),
  ]
  for (const content of others) await send(ana, ab, { content, attachment: null }, 400, 'content')
  equal(await ben.get(`${ab}/messages`), before)
})

test('an attachment is stored as sent, without further fields and with its scheme in lower case', async () => {
  const { ana, ben, ab } = await meet()
  // deno-fmt-ignore
  for (const change of [
    {}, { url: 'https://example.com/a%20b.pdf?x=1#2' }, { size: 0 }, { size: 5_368_709_120 },
    { mime_type: 'image/svg+xml' }, { name: 'Strand 🏖.jpg' },
  ]) {
    const attachment = { ...file, ...change }
    const sent = await send(ben, ab, { content: 'Look', attachment })
    equal([sent.content, sent.attachment], ['Look', attachment])
    equal(await ana.get(`${ab}/messages?limit=1`), [sent])
  }
  for (const content of [undefined, '', ' \n']) {
    await send(ana, ab, { content, attachment: file }, 201, { content: content ?? '', attachment: file })
  }
  equal((await send(ana, ab, { attachment: { ...file, width: 3, url2: '' } })).attachment, file)
  const draft = { client_id: crypto.randomUUID(), attachment: { ...file, url: 'HTTPS://example.com/A.pdf' } }
  const sent = await send(ana, ab, draft, 201, { attachment: { ...file, url: 'https://example.com/A.pdf' } })
  equal(await send(ana, ab, draft), sent)
})

test('an attachment that is no file at an address of the web or in the bucket is refused', async () => {
  const { ana, ab } = await meet()
  // deno-fmt-ignore
  const wrong: Record<string, unknown[]> = {
    url: [
      undefined, null, '', 'https://', 'https://x"onerror=alert(1)', 'https://user@example.com/a.jpg',
      'HTTPS://example.com/<b>', 'http://example.com/a.jpg', 'javascript:alert(1)', 'JavaScript:alert(1)',
      ' javascript:alert(1)', 'java\nscript:alert(1)', 'data:text/html,<b>', '//example.com/a.jpg',
      '\\\\example.com\\a.jpg', '/etc/passwd', '../x', 'a/../../x', '%2e%2e/x', '..\\x', 'a'.repeat(2049),
    ],
    name: [undefined, ''],
    mime_type: [undefined, 'jpeg'],
    size: [undefined, -1],
  }
  const files = Object.entries(wrong).flatMap(([field, values]) => values.map((one) => ({ ...file, [field]: one })))
  for (const attachment of files) await send(ana, ab, { content: 'Look', attachment }, 400, 'attachment')
  equal(await contents(ana, ab), [])
})

test('a file in the bucket is sent by whoever uploaded it to this conversation, and as what it is', async () => {
  const { ana, ben, ab, ca } = await meet()
  await sql(`insert into storage.buckets (id, name) values ('elsewhere', 'elsewhere')`)
  const [url, there] = [ab, ca].map((path) => `${idOf(path)}/${crypto.randomUUID()}/map.png`)
  const [photo, apart] = [`${ana.auth}/me.png`, `${idOf(ab)}/map.png`]
  const files = [['attachments', url], ['attachments', there], ['avatars', photo], ['elsewhere', apart]]
  for (const [bucket, name] of files) {
    await sql(
      `insert into storage.objects (bucket_id, name, owner_id, metadata)
       values ($1, $2, $3, '{"mimetype": "image/png;charset=utf-8", "size": 2048}')`,
      [bucket, name, ana.auth],
    )
  }
  const map = { url, name: 'map.png', mime_type: 'image/png', size: 2048 }
  const attach = (who: Person, change: object, status = 201) => {
    const error = status === 400 ? 'attachment: is not a file that' : undefined
    return send(who, ab, { attachment: { ...map, ...change } }, status, error)
  }
  for (const change of [{}, { url: `attachments/${url}` }]) await attach(ana, change)
  await attach(ben, {}, 400)
  const others = [`${url}.exe`, there, photo, apart].map((url) => ({ url }))
  for (const change of [{ mime_type: 'image/jpeg' }, { size: 2049 }, ...others]) await attach(ana, change, 400)
})

test('what admins write is a message of a participant, within limits, too', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  const insert = (columns: string, values: string[], who = ana) =>
    values.map((one) =>
      `insert into public.messages (conversation_id, user_id, ${columns}) values (${idOf(ab)}, ${who.id}, ${one})`
    )
  const write = (...texts: string[]) => insert('content', texts)
  await allows(write("'x'", "repeat('x', 5000)", "repeat('😀', 5000)"))
  await refuses('23514', '"content has at most 5,000 characters"', write("repeat('x', 5001)"))
  await refuses('23514', '"a message says something or carries an attachment"', write("''", "E' \\t\\r\\n '"))
  await refuses('23502', 'content', write('null'))
  const attach = (...attachments: unknown[]) =>
    insert('content, attachment', attachments.map((one) => `'', '${JSON.stringify(one)}'`))
  const long = (more: number) =>
    ([['url', 2048], ['name', 255], ['mime_type', 255]] as const)
      .map(([field, length]) => ({ ...file, [field]: file[field].padEnd(length + more, 'x') }))
  await allows(attach(file, { ...file, size: 0 }, ...long(0)))
  // deno-fmt-ignore
  await refuses('23514', '"attachment is {url, name, mime_type, size}"', attach(
    ...long(1), null, true, 3, 'ana/map.png', [], {}, Object.keys(file), { ...file, width: 640 },
    ...Object.keys(file).flatMap((field) => [null, '', undefined, [7]].map((one) => ({ ...file, [field]: one }))),
    { ...file, size: '2048' }, { ...file, size: -1 },
  ))
  await refuses('23514', '"attachment.name is one line that shows something"', attach({ ...file, name: 'a\nb' }))
  const addresses = ['https://x"', 'HTTPS://x y'].map((url) => ({ ...file, url }))
  await refuses('23514', '"attachment.url is a path in the bucket or an https address"', attach(...addresses))
  await asAdmin('delete from public.messages')
  const [outside, as] = ['user_id is not a participant', (who: Person) => insert('content', ["'By an admin'"], who)]
  const set = (column: string, value: number) => [`update public.messages set ${column} = ${value}`]
  await allows(as(ben))
  await refuses('23514', outside, [...as(cat), ...set('user_id', cat.id)])
  await allows([...set('user_id', ana.id), ...set('conversation_id', idOf(ca)), ...set('user_id', cat.id)])
  await refuses('23514', outside, set('conversation_id', idOf(ab)))
})

test('a client_id, in body or header, sends once and returns it as it was sent, whatever has changed', async () => {
  const { ana, ben, ab } = await meet()
  const draft = { content: ' Héllo 🚶\n', attachment: file }
  // deno-fmt-ignore
  const ways: Record<string, (key: string) => [client_id?: string, header?: string]> = {
    header: (key) => [undefined, key], capitals: (key) => [undefined, key.toUpperCase()], body: (key) => [key],
    both: (key) => [key, key.toUpperCase()],
  }
  const by = async (way: string, key: string) => {
    const [client_id, header] = ways[way]!(key)
    const headers = header ? { 'Idempotency-Key': header } : undefined
    const answer = await ana.ask('POST', `${ab}/messages`, { ...draft, client_id }, headers)
    return { status: answer.status, body: answer.body, replayed: answer.headers.get('Idempotency-Replayed') }
  }
  for (const first of ['header', 'body']) {
    const key = crypto.randomUUID()
    const { status, body, replayed } = await by(first, key)
    equal([status, replayed], [201, null])
    const { id } = body
    await ben.patch(`${ab}/messages/${id}/read`, undefined)
    await ana.patch('/users/profile', { name: `Ana ${first}` })
    await send(ben, ab, 'Answer')
    const repeat = {
      status: 201,
      body: { ...body, Sender: { ...body.Sender, name: `Ana ${first}` } },
      replayed: 'true',
    }
    for (const again of Object.keys(ways)) equal(await by(again, key), repeat, `${first}, ${again}`)
    const [answer, once] = await ben.get(`${ab}/messages?limit=2`)
    is([answer.content, once], ['Answer', { id, read: true, Sender: { name: `Ana ${first}` } }])
  }
  for (const client_id of [undefined, null]) await send(ana, ab, { content: 'Same', client_id })
  equal(await contents(ben, ab, 'limit=3'), ['Same', 'Same', 'Answer'])
})

test('a client_id is of one message of one sender; a refused message has not used it', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  const [client_id, bare] = [crypto.randomUUID(), crypto.randomUUID()]
  const draft = { content: 'Once', attachment: file, client_id }
  await send(ana, ab, { ...draft, content: ' ', attachment: null }, 400, 'content')
  await send(ana, '/conversations/999999999', draft, 404)
  const first = await send(ana, ab, draft)
  await send(ana, ab, { content: 'Bare', client_id: bare })
  const used = { error: 'This idempotency key was used for another message' }
  // deno-fmt-ignore
  for (const other of [
    { ...draft, content: 'Once ' }, { ...draft, attachment: null }, { ...draft, attachment: { ...file, size: 8 } },
    { content: 'Bare', client_id: bare, attachment: file },
  ]) equal(await send(ana, ab, other, 422), used)
  equal(await send(ana, ca, draft, 422), used)
  equal(await contents(cat, ca), [])
  await send(ben, ab, draft, 201, { user_id: ben.id })
  equal(await contents(ana, ab), ['Once', 'Bare', 'Once'])
  const header = { 'Idempotency-Key': crypto.randomUUID() }
  await ana.post(`${ab}/messages`, draft, 400, 'client_id: differs from the Idempotency-Key header', header)
  for (const wrong of ['abc', `${client_id}0`, `{${client_id}}`]) {
    await ana.post(`${ab}/messages`, { content: 'x' }, 400, 'idempotency-key', { 'Idempotency-Key': wrong })
  }
  const insert = (path: string) =>
    `insert into public.messages (conversation_id, user_id, content, client_id)
     values (${idOf(path)}, ${ana.id}, 'By an admin', '${client_id}')`
  await refuses('23505', '"messages_one_per_client_id"', [ab, ca].map(insert))
  // A block allows no new message, and replays the old one.
  await block(ben, ana)
  equal(await send(ana, ab, draft), first)
  equal(await send(ana, ab, { ...draft, content: 'Other' }, 422), used)
  await send(ana, ab, { ...draft, client_id: crypto.randomUUID() }, 403, 'You cannot write to this person')
})

/** 103 messages of Ana and Ben, and their ids. */
const converse = async () => {
  const met = await meet()
  const ids: number[] = await sql(
    `insert into public.messages (conversation_id, user_id, content)
     select $1, case n % 2 when 0 then $2 else $3 end::bigint, n::text from generate_series(0, 102) as n returning id`,
    [idOf(met.ab), met.ana.id, met.ben.id],
  )
  return { ...met, ids, newest: ids.toReversed() }
}

test('pages have no duplicates or gaps, in both orders, by offset and by cursor', async () => {
  const { ana, ben, cat, ab, ca, ids, newest } = await converse()
  const pages = async (query: string) => (await pagesOf(ana, `${ab}/messages?${query}`)).map(idsOf)
  equal(await pages(''), chunks(newest, 50))
  for (const limit of [7, 51, 102, 103, 1000]) {
    // deno-fmt-ignore
    for (const [query, expected] of [
      ['', newest], ['&order=asc', ids], ['&offset=2', newest.slice(2)], [`&before_id=${ids[50]}`, newest.slice(53)],
      [`&before_id=${Number.MAX_SAFE_INTEGER}`, newest], [`&after_id=${ids[50]}`, ids.slice(51)], ['&after_id=0', ids],
    ] as const) equal(await pages(`limit=${limit}${query}`), chunks(expected, Math.min(limit, 100)), `${limit}${query}`)
  }
  // deno-fmt-ignore
  for (const [query, expected] of [
    ['offset=0&limit=1', newest.slice(0, 1)], ['offset=4&limit=3&order=asc', ids.slice(4, 7)],
    ['limit=2&order=desc', newest.slice(0, 2)], ['offset=103', []],
  ] as const) equal(idsOf(await ben.get(`${ab}/messages?${query}`)), expected, query)
  equal(await pagesOf(cat, `${ca}/messages`), [[]])
  await ana.get(`${ab}/messages?before_id=9&after_id=1`, 400, 'before_id and after_id exclude each other')
  const both = ['after_id=0&before_id=9', 'after_id=0&order=desc', 'before_id=9&order=asc']
  await refusesQueries(ana, `${ab}/messages`, ...both)
})

test('messages that come between two pages cause no duplicates or gaps', async () => {
  const { ana, ben, ab, ids } = await converse()
  /** What the pages have, and what has come in between. */
  const read = async (query: string) => {
    const sent: number[] = []
    const more = async () => {
      if (sent.length < 6) sent.push((await send(ben, ab)).id, (await send(ana, ab)).id)
    }
    const seen = (await pagesOf(ana, `${ab}/messages?limit=10&${query}`, more)).flat().map(({ id }) => id)
    equal(sent.length, 6)
    ids.push(...sent)
    return seen
  }
  equal(await read(`before_id=${ids[99]}`), ids.slice(0, 99).toReversed())
  equal(await read(`after_id=${ids[60]}`), ids.slice(61))
  equal(await read('order=asc'), ids)
  const newest = ids.toReversed()
  equal([...new Set(await read(''))], newest)
})

test('only the recipient marks as read, one message or all up to one, for ever; unread counts follow', async () => {
  const { ana, ben, cat, dan, ab, ca } = await meet()
  const bd = await talk(dan, ben)
  const at: Record<string, number> = {}
  for (const name of ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']) {
    at[name] = (await send(name.startsWith('a') ? ana : ben, ab, name)).id
  }
  const { id: elsewhere } = await send(cat, ca, 'c1')
  const marked = { success: true }
  const mark = (who: Person, id: number, status = 200, expected: Json = marked, path = ab) =>
    who.patch(`${path}/messages/${id}/read`, undefined, status, expected)
  const upTo = (who: Person, up_to_message_id: unknown, status = 200, expected: Json = marked) =>
    who.post(`${ab}/read`, { up_to_message_id }, status, expected)
  /** What is read, as both see it, and how many messages Ana and Ben have not read. */
  const reads = async (read: string, ofAna: number, ofBen: number) => {
    for (const who of [ana, ben]) {
      const list = await who.get(`${ab}/messages?order=asc`)
      equal(contentsOf(list.filter((one: Json) => one.read)).join(' '), read)
      const entry = (await who.get('/conversations')).find(({ id }: Json) => id === idOf(ab))
      is(entry.Messages, [{ content: 'b3', read: read.includes('b3') }])
    }
    for (const [who, unread, elsewhere] of [[ana, ofAna, 1], [ben, ofBen, 0]] as const) {
      const counts = [{ conversation_id: idOf(ab), unread }, { conversation_id: idOf(ca), unread: elsewhere }]
      const conversations = counts.filter(({ unread }) => unread > 0)
      equal(await who.get('/conversations/unread'), { total: unread + elsewhere, conversations })
    }
  }
  await reads('', 3, 3)
  equal(await dan.get('/conversations/unread'), { total: 0, conversations: [] })
  await mark(ana, at.a2!)
  await mark(ben, at.b3!)
  await reads('', 3, 3)
  for (let time = 0; time < 2; time++) await mark(ben, at.a2!)
  await ben.patch(`${ab}/messages/${at.a2}/read`, { read: false }, 200, marked)
  await mark(ana, at.a2!)
  await reads('a2', 3, 2)
  await mark(ana, at.b3!)
  await reads('a2 b3', 2, 2)
  // Nobody else marks, and nothing of another conversation is marked.
  for (const id of [at.a1!, ...unknown]) await mark(ben, id, 404, 'Message not found', bd)
  for (const ask of [mark, upTo]) await ask(dan, at.a1!, 404, 'Conversation not found')
  for (const id of [elsewhere, ...unknown]) {
    await mark(ana, id, 404, 'Message not found')
    await upTo(ana, id, 404, 'Message not found')
  }
  await reads('a2 b3', 2, 2)
  // An own message can be the limit; what was marked out of order stays so.
  await upTo(ben, at.b1)
  await reads('a1 a2 b3', 2, 1)
  for (const id of [at.a3, at.a3, at.a1]) await upTo(ben, id)
  await reads('a1 a2 a3 b3', 2, 0)
  await upTo(ana, at.a1)
  await reads('a1 a2 a3 b3', 2, 0)
  await upTo(ana, at.b2)
  await reads('a1 b1 a2 b2 a3 b3', 0, 0)
  is(await cat.get(`${ca}/messages`), [{ read: false }])
  await mark(ana, elsewhere, 200, marked, ca)
  equal(await ana.get('/conversations/unread'), { total: 0, conversations: [] })
})

test('a page reads only the rows that it shows, also of a long conversation among many short ones', async () => {
  const { ana, ben, ab } = await meet()
  await sql(
    `with crowd as (insert into public.users (name, email) select 'x', '' from generate_series(1, 24) returning id),
       talks as (
         insert into public.conversations (voyager_id, local_id)
         select one.id, other.id from crowd as other join (table crowd union all select $1) as one on one.id < other.id
         returning id, voyager_id
       )
     insert into public.messages (conversation_id, user_id, content)
     select id, voyager_id, 'Hello' from talks union all select $2, $1, 'Hello' from generate_series(1, 1200)`,
    [ana.id, idOf(ab)],
  )
  await sql('analyze public.messages, public.conversations')
  // The plans that a connection uses after some calls.
  await sql('set local plan_cache_mode = force_generic_plan')
  const rows = async (request: () => Promise<unknown>): Promise<number> => {
    const from = "from pg_stat_xact_user_tables where relid = 'public.messages'::regclass"
    const [before] = await sql(`select seq_tup_read + idx_tup_fetch ${from}`)
    await request()
    return (await sql(`select seq_tup_read + idx_tup_fetch - ${before} ${from}`))[0]
  }
  const [middle] = await sql('select id from public.messages where conversation_id = $1 offset 600 limit 1', [idOf(ab)])
  // One more, to see whether others follow.
  for (const query of ['', `before_id=${middle}`, `after_id=${middle}`, 'order=asc']) {
    is(await rows(() => ana.get(`${ab}/messages?limit=50&${query}`)), 51, query)
  }
  is(await rows(() => ana.get('/conversations')), 25)
  is(await rows(() => ben.get('/users/me/export')) <= 1210, true)
  // So few messages are read at once otherwise; what needs to read all of them still does.
  for (const name of ['enable_seqscan', 'enable_sort']) await sql(`set local ${name} = off`)
  const report = { user_id: ben.id, reason: 'spam', share_messages: true }
  is(await rows(() => ana.post('/users/me/reports', report, 201)) <= 60, true, 'a report reads the latest 20')
})
