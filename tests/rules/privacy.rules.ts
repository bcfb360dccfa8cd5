/** Privacy: what the export of a person holds, and what is left of whoever was erased. */
import { anonymous, asAdmin, equal, idOf, inDays, is, iso, type Json, people, type Person } from './fixture.ts'
import { refuses, sql, talk, test } from './fixture.ts'

const take = (who: Person) => who.get('/users/me/export')
const defaults = { push: true, email: true, delay_minutes: 10, quiet_hours: null, previews: false }
const report = (who: Person, fields: object, status = 201) =>
  who.post('/users/me/reports', { reason: 'spam', ...fields }, status)

test('an export has all that is one’s own or was received, and nothing of other conversations', async () => {
  const [ana, ben, zoe] = await people('ana', 'ben', 'zoe')
  const person = { first_name: 'Zoë', last_name: 'N', age: 34, biography: 'Walks "far"\\ 🚶', country: 'PT' }
  const shown = { ...person, city: 'Faro', image_url: 'https://example.com/z.png', is_searchable: true }
  const user = { bio: 'Sea', location: 'By it' }
  await zoe.patch('/users/profile', { ...user, ...shown, interest_ids: [2, 1] })
  const [first, second, others] = [await talk(zoe, ana), await talk(ben, zoe), await talk(ana, ben)]
  await ana.post(`${others}/messages`, { content: 'Secret between Ana and Ben' }, 201)
  const attachment = { url: 'https://files.example/b.png', name: 'b.png', mime_type: 'image/png', size: 5 }
  const messages = [
    await zoe.post(`${first}/messages`, { content: 'Hello, "Ana"\n]}' }, 201),
    await ana.post(`${first}/messages`, { content: 'Hello back' }, 201),
    await zoe.post(`${first}/messages`, { content: '', attachment }, 201),
  ]
  const offer = await ben.post(`${second}/reservations`, { title: 'Walk', price: 12.5, date: inDays(9) }, 201)
  const reservation = await zoe.get(`${second}/reservations/${offer.id}`)
  const note = 'Says "hello"\\ too often 😠'
  const entered = { message_id: messages[1].id, reason: 'scam', note, share_messages: true }
  const { id } = await report(zoe, entered)
  await report(ana, { user_id: zoe.id, note: 'Secret about Zoë' })
  await zoe.put(`/users/me/blocks/${ben.id}`, undefined, 204)
  await zoe.put(`${first}/state`, { pinned: true }, 200)

  const contact = ({ id, name }: Person, email = `${name}@tests.example`) => ({ id, name, email })
  const pair = (path: string, Voyager: Json, Local: Json): Json => ({
    ...{ id: idOf(path), voyager_id: Voyager.id, local_id: Local.id, Voyager, Local, createdAt: iso },
    state: { archived: false, muted_until: null, pinned: path === first },
  })
  const { Interests: _, ...profile } = (await zoe.get('/users/me?more=true')).Profile
  const answer = await zoe.ask('GET', '/users/me/export')
  const names = ['Content-Type', 'Content-Disposition']
  is(names.map((name) => answer.headers.get(name)), ['application/json', /^attachment; filename="[\w.-]+\.json"$/])
  const { exported_at, interests, ...exported } = answer.body
  await asAdmin(`select public.resolve_report(${id}, 'warn', 'Why')`)
  is((await take(zoe)).reports, [{ status: 'resolved', resolvedAt: iso }])
  is([exported_at, interests.map(({ id }: Json) => id)], [iso, [1, 2]])
  equal(exported, {
    user: { ...contact(zoe), ...user, role: 'user', is_active: true, createdAt: iso },
    profile,
    blocks: [{ user_id: ben.id, name: 'ben', createdAt: iso }],
    devices: [],
    notifications: defaults,
    answers: null,
    warnings: [],
    conversations: [
      { ...pair(first, contact(zoe), contact(ana)), Reservations: [], messages },
      // She has blocked him.
      { ...pair(second, contact(ben, ''), contact(zoe)), Reservations: [reservation], messages: [] },
    ],
    reports: [{ id, user_id: ana.id, ...entered, status: 'open', createdAt: iso, resolvedAt: null }],
  })
})

const fill = (path: string, one: Person, other: Person, length: number, text = '') =>
  sql(`insert into public.messages (conversation_id, user_id, content)
    select ${idOf(path)}, case n % 2 when 0 then ${one.id} else ${other.id} end, n || '${text}'
    from generate_series(0, ${length - 1}) as n order by n`)
const numbers = (length: number) => Array.from({ length }, (_, n) => n)

test('a long export is complete and in order, wherever its pieces end', async () => {
  const [writer, host, guest] = await people('writer', 'host', 'guest')
  // All that a piece holds beside its conversation: the next piece goes on there, and finds nothing left.
  await fill(await talk(host, guest), host, guest, 100)
  const expected: string[][] = []
  for (const [place, length] of [0, 98, 0, 100, 101, 99, 0, 1, 500, 0].entries()) {
    const [partner] = await people(`partner${place}`)
    await fill(await talk(writer, partner), writer, partner, length)
    expected.push(numbers(length).map((n) => `${n} ${n % 2 ? partner.name : 'writer'}`))
  }
  const { conversations } = await take(writer)
  const text = ({ content, Sender }: Json) => `${content} ${Sender.name}`
  equal(conversations.map(({ messages }: Json) => messages.map(text)), expected)
  await sql(`with guests as (
      insert into public.users (name, email) select 'Guest', n || '@guests.example' from generate_series(1, 600) as n
      returning id
    ) insert into public.conversations (voyager_id, local_id) select id, ${host.id} from guests`)
  const empty = (await take(host)).conversations
  equal([empty.length, new Set(empty.map(({ voyager_id }: Json) => voyager_id)).size], [601, 601])
  is(empty.every(({ messages }: Json, place: number) => messages.length === (place ? 0 : 100)), true)
})

test('many reports are exported once each, oldest first, whatever the messages before them', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  await sql(`insert into public.reports (reporter_id, user_id, message_id, reason, note)
    select ${ana.id}, ${ben.id}, n, 'spam', n || repeat('😀', 9) from generate_series(0, 252) as n`)
  for (const length of [98, 99, 100, 101, 199]) {
    await sql('delete from public.messages')
    await fill(ab, ana, ben, length)
    const { reports, conversations: [{ messages }] } = await take(ana)
    equal(reports.map(({ message_id }: Json) => message_id), numbers(253))
    equal([messages.length, reports[7].note], [length, `7${'😀'.repeat(9)}`])
  }
})

test('the pieces of an export are small, because a server holds some of them for who stops reading', async () => {
  const [ana, ben] = await people('ana', 'ben')
  await fill(await talk(ana, ben), ana, ben, 600, '😀'.repeat(4990))
  const statement = `select octet_length(case when private.act_as($1, true) then api.export_me($2, 'always') end),
    nullif(current_setting('api.response_metadata', true), '')::json ->> 'place'`
  const sizes: number[] = []
  let place: string | null = null
  do {
    const [[size, next]]: Json = await sql(statement, [JSON.stringify({ sub: ana.auth }), place], 'edge_functions')
    sizes.push(size)
    place = next
  } while (place)
  is([sizes.length > 5, Math.max(...sizes) < 2_200_000], [true, true])
})

/** Ana, who has used everything there is, and Ben, who has something of hers. */
const history = async () => {
  const [ana, ben, cleo] = await people('ana', 'ben', 'cleo')
  await sql(`select tests.make_history('ana', 'ben')`)
  const [id] = await sql('select id from public.conversations')
  return { ana, ben, cleo, ab: `/conversations/${id}` }
}

test('whoever erases their account has none any more: no profile, hit of a search or block', async () => {
  const { ana, ben, cleo } = await history()
  await ana.patch('/users/searchable', { is_searchable: true })
  const tag = (await anonymous.ask('GET', `/users/${ana.profileId}`)).headers.get('ETag')!
  for (const other of [ana, ben]) await cleo.put(`/users/me/blocks/${other.id}`, undefined, 204)
  await ana.put(`/users/me/blocks/${ben.id}`, undefined, 204)
  const before = [await ben.get('/users/me'), await cleo.get('/users/me')]

  await ana.delete('/users/me')
  await ana.delete('/users/me', 401, 'This account no longer exists')
  for (const known of ['', tag]) {
    const view = await anonymous.ask('GET', `/users/${ana.profileId}`, undefined, { 'If-None-Match': known })
    equal([view.status, view.headers.get('Cache-Control'), view.headers.get('ETag')], [404, 'no-store', null])
  }
  const found = async (who = cleo) => (await who.get('/users/search')).estimatedTotalHits
  equal([await found(), await found(ana)], [0, 0])
  equal([await ben.get('/users/me'), await cleo.get('/users/me')], before)
  equal((await cleo.get('/users/me/blocks')).map(({ user_id }: Json) => user_id), [ben.id])
  await cleo.put(`/users/me/blocks/${ana.id}`, undefined, 404, 'User not found')
  await cleo.delete(`/users/me/blocks/${ana.id}`, 404, 'User not found')
  await cleo.post('/conversations', { other_user_id: ana.id }, 404, 'User not found')
})

/** The columns of all tables, of ours and of Auth, in which one of these words is. */
const scan = async (words: string[]): Promise<string[]> => {
  const tables = await sql(`select format('%I.%I', relnamespace::regnamespace, relname) from pg_class
    where relkind in ('r', 'p') and relnamespace::regnamespace::text in ('public', 'private', 'auth')`)
  const found = []
  for (const table of tables) {
    // bytea is written in hexadecimal digits. Looking for any of the words first takes a quarter of the time.
    const statement = `select distinct '${table}.' || field.key || ' ' || wanted
      from ${table} as row, jsonb_each_text(to_jsonb(row)) as field, unnest($1::text[]) as wanted
      where field.value ~* (select string_agg(one || '|' || encode(convert_to(one, 'utf8'), 'hex'), '|')
        from unnest($1::text[]) as one)
        and (field.value ~* wanted or strpos(field.value, encode(convert_to(wanted, 'utf8'), 'hex')) > 0)`
    found.push(...await sql(statement, [`{${words}}`]))
  }
  return found.sort()
}
/** The columns that can name a user, each with whether one names this user. */
const namedIn = async (id: number): Promise<Json> => {
  const columns = await sql(`select format('%I.%I', relnamespace::regnamespace, relname), attname
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relkind in ('r', 'p') and relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      and attnum > 0 and atttypid = 'bigint'::regtype
      and attname ~ '^(user|other|voyager|local|host|reporter|blocker|blocked|by)_id$|^offered_by$' order by 1, 2`)
  const named: Json = { true: [], false: [] }
  for (const [table, column] of columns) {
    const [isNamed] = await sql(`select exists (select from ${table} where ${column} = ${id})`)
    named[isNamed].push(`${table}.${column}`)
  }
  return named
}
test('of an erased user the tables keep what partners and moderators need, and no other text or trace', async () => {
  const { ana, ben, cleo, ab } = await history()
  // Others have as much, which stays.
  await sql(`select tests.make_history('ben', 'cleo')`)
  const texts = { name: 'xName', bio: 'A xBio', location: 'xLocation', first_name: 'xFirst', last_name: 'xLast' }
  const biography = 'Likes xBiography and xMore, "xQuoted".'
  const shown = { city: 'xCity', country: 'xCountry', image_url: 'https://xHost.example.com/xPath?xQuery' }
  const words = [...JSON.stringify({ ...texts, biography, ...shown }).matchAll(/x[A-Z]\w+/g)].map(String)
  words.push('xAddress', 'xNickname', 'xAgain', 'xPending', 'xActor', 'xTraits', 'xIdentity', 'xBrowser')
  const account = {
    xActor: { actor_id: ana.auth },
    xTraits: { traits: { user_id: ana.auth } },
    xBen: { actor_id: ben.auth },
  }
  for (const [action, payload] of Object.entries(account)) {
    const entry = JSON.stringify({ action, ...payload })
    await sql(`insert into auth.audit_log_entries (id, payload) values (gen_random_uuid(), '${entry}')`)
  }
  await sql(`update auth.users set email = 'xAddress@tests.example', raw_user_meta_data = '{"nickname": "xNickname"}'
    where id = '${ana.auth}'`)
  await sql(`insert into auth.identities (id, provider, provider_id, user_id, identity_data)
    values (gen_random_uuid(), 'email', '${ana.auth}', '${ana.auth}', '{"email": "xIdentity@tests.example"}')`)
  await sql(`insert into auth.sessions (id, user_id, user_agent) values (gen_random_uuid(), '${ana.auth}', 'xBrowser')`)
  await ana.patch('/users/profile', { ...texts, biography, ...shown, is_searchable: true, interest_ids: [1, 2] })
  await ana.post(`${ab}/messages`, { content: 'xMessage', client_id: crypto.randomUUID() }, 201)
  await ben.post(`${ab}/messages`, { content: 'Hello' }, 201)
  const draft = { title: 'xTitle', price: 5, date: inDays(9), client_id: crypto.randomUUID() }
  const { id } = await ana.post(`${ab}/reservations`, draft, 201)
  await ana.post(`${ab}/reservations/${id}/cancel`, { note: 'xNote' }, 200)
  await report(ana, { user_id: ben.id, note: 'xAccusation', share_messages: true, client_id: crypto.randomUUID() })
  await report(ben, { user_id: ana.id })
  await asAdmin(`select public.resolve_report(max(id), 'warn', 'Too much') from public.reports`)
  const state = { archived: true, pinned: true, muted_until: inDays(1) }
  for (const who of [ana, ben]) await who.put(`${ab}/state`, state, 200)
  for (const [one, other] of [[ana, ben], [ben, ana], [ben, cleo], [cleo, ben]] as const) {
    await one.put(`/users/me/blocks/${other.id}`, undefined, 204)
  }
  for (const name of ['xAddress', 'ben']) {
    await sql(`select private.begin_sign_up('${name.toUpperCase()}@tests.example', 'xAgain', '{"bio": "xPending"}')`)
  }
  await sql(`update private.sign_ups set user_id = ${ana.id} where address_hash = sha256('xaddress@tests.example')`)
  await sql(`update private.sign_ups set name = 'Ben', fields = '{}' where user_id <> ${ana.id}`)
  await sql(`insert into private.silences (user_id) values (${ana.id})`)
  await ana.get('/users/search?q=xSearched')
  // What an admin changes is not embedded at once.
  await asAdmin(`update public.users set bio = bio || '.', role = 'admin'`)
  await asAdmin(`update public.profiles set biography = biography || '.'`)
  const queued = `select count(*) from private.embedding_queue`
  equal(await sql(queued), [2])
  await sql(`insert into private.embedding_queue (kind, id) values ('profile', ${cleo.profileId})`)
  const before = await scan([...words, 'xSearched'])
  // What is found before proves that the scan works, and where.
  equal([...new Set(before.map((one) => one.split(' ')[1]))].sort(), words.toSorted())
  for (const table of ['search_entries', 'search_words', 'search_lexicon']) {
    is(before.some((one) => one.startsWith(`private.${table}.`)), true, table)
  }
  // A new table that can name a user has to be used above.
  equal((await namedIn(ana.id)).false, ['public.conversations.local_id', 'public.reservations.host_id'])
  const others = async () => [await namedIn(ben.id), await namedIn(cleo.id)]
  const unchanged = await others()

  await ana.delete('/users/me')
  equal([await scan(words), await sql(queued), await others()], [[], [1], unchanged])
  // deno-fmt-ignore
  equal(await scan(['xMessage', 'xTitle', 'xNote', 'xAccusation', 'xBen']), [
    'auth.audit_log_entries.payload xBen',
    // For 180 days.
    'private.report_evidence.content xMessage',
    'public.messages.content xMessage', 'public.reports.note xAccusation', 'public.reservation_history.note xNote',
    'public.reservation_history.title xTitle', 'public.reservations.title xTitle',
  ])
  // deno-fmt-ignore
  equal((await namedIn(ana.id)).true, [
    'private.changes.other_id', 'private.changes.user_id', 'private.inbox_entries.user_id',
    'public.conversations.voyager_id',
    'public.messages.user_id', 'public.moderation_log.user_id', 'public.reports.reporter_id', 'public.reports.user_id',
    'public.reservation_history.by_id', 'public.reservations.offered_by',
  ])
  equal(await sql(`select count(*) from private.changes where other_id is null and user_id = ${ana.id}`), [0])
  const arranged = `select user_id, is_archived, is_pinned, muted_until is not null from private.inbox_entries
    where conversation_id = ${idOf(ab)} and (archived_id is not null or is_pinned or muted_until is not null)`
  equal(await sql(arranged), [[ben.id, true, true, true]])
  equal(await sql('select name from private.sign_ups'), ['Ben'])
  equal(await sql(`select role, erased_at = now() from public.users where id = ${ana.id}`), [['user', true]])
})

test('an erasure is whole and final', async () => {
  const { ana, ben } = await history()
  const state = () => sql('select users || (select count(*) from auth.users)::text from public.users order by id')
  const before = await state()
  await sql(`create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'Auth fails'; end $$`)
  await sql('create trigger fail before delete on auth.users for each row execute function pg_temp.fail()')
  await ana.delete('/users/me', 500)
  equal(await state(), before)
  await sql('drop trigger fail on auth.users')
  await ana.delete('/users/me')
  const fields = [`name = 'ana'`, `email = 'ana@tests.example'`, `bio = 'Sea'`, `location = 'Sea'`, 'is_active = true']
  fields.push(`auth_id = '${ben.auth}'`)
  const restore = fields.map((field) => `update public.users set ${field} where id = ${ana.id}`)
  await refuses('23514', 'an erased account holds nothing of its person', restore, 'service_role')
  const [again] = await people('ana')
  equal([again.id === ana.id, await again.get('/conversations')], [false, []])
})
