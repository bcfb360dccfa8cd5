/** Reports: who can report what, which messages go along as evidence, who learns of it, and how long it is kept. */
import { type Answer, asAdmin, equal, idOf, is, iso, type Json, passTime, people, type Person } from './fixture.ts'
import { refuses, runJob, sql, talk, test } from './fixture.ts'
import { chunks, idsOf, pagesOf } from './talks.ts'

const path = '/users/me/reports'
const report = (who: Person, fields: object, status = 201, expected?: Json | string): Promise<Json> =>
  who.post(path, { reason: 'spam', ...fields }, status, expected)
const send = async (who: Person, conversation: string, content: string): Promise<number> =>
  (await who.post(`${conversation}/messages`, { content }, 201)).id
const resolve = (id: number, action = 'dismiss') => asAdmin(`select public.resolve_report(${id}, '${action}', 'Why')`)
const evidence = (id: number, columns = 'content') => asAdmin(`select ${columns} from public.read_evidence(${id})`)
const reports = (columns = 'count(*)', by = '1') => sql(`select ${columns} from public.reports order by ${by}`)
/** The status, the text, and whether it is a repeat. */
const answer = ({ status, text, headers }: Answer) => [status, text, headers.get('Idempotency-Replayed')]

/** Ana and Cat, to whom Ben has written, and Mallory, with whom nobody has spoken. */
const meet = async () => {
  const [cat, ana, ben, mallory] = await people('cat', 'ana', 'ben', 'mallory')
  const [ab, cb] = [await talk(ana, ben), await talk(cat, ben)]
  const received = await send(ben, ab, 'Send me money')
  return { ana, ben, cat, mallory, ab, cb, received }
}

test('a report is answered as documented, and its reporter and the moderators have what was entered', async () => {
  const { ana, ben, received } = await meet()
  const note = ' Zwei Mal, „böse“ 😠\n'
  const first = await ana.ask('POST', path, { user_id: ben.id, reason: 'scam', note })
  equal(answer(first), [201, first.text, null])
  equal(first.body, { id: first.body.id, status: 'open', reason: 'scam', createdAt: iso })
  const second = await report(ana, { message_id: received, share_messages: true })
  const own = (made: Json) => ({ ...made, resolvedAt: null })
  equal(await ana.get(path), [own(second), own(first.body)])
  const about = [[null, 'scam', note, false], [received, 'spam', null, true]]
  equal(await reports('message_id, reason, note, shares_messages', 'id'), about)
  const columns = 'reporter_id, user_id, resolution, resolved_at, purge_at'
  equal(await reports(columns), Array(2).fill([ana.id, ben.id, null, null, null]))
  await resolve(second.id, 'suspend')
  equal(await ana.get(path), [{ ...second, status: 'resolved', resolvedAt: iso }, own(first.body)])
})

test('a wrong value is 400 naming the field, and nothing is reported, whoever writes', async () => {
  const { ana, ben, ab, received } = await meet()
  const user_id = ben.id
  for (const subject of [{}, { user_id, message_id: received }, { user_id: null, message_id: null }]) {
    await report(ana, subject, 400, 'user_id: give either user_id or message_id')
  }
  await report(ana, { user_id, note: '😀'.repeat(2001) }, 400, 'note:')
  const add = (reporter: Person, reason: string, note = '') =>
    `insert into public.reports (reporter_id, user_id, reason, note)
     values (${reporter.id}, ${ben.id}, '${reason}', '${note}')`
  await refuses('23514', 'reason is spam, harassment', [add(ana, 'dislike')])
  await refuses('23514', 'note has at most 2,000 characters', [add(ana, 'spam', 'x'.repeat(2001))])
  await refuses('23514', 'nobody reports themselves', [add(ben, 'spam')])
  equal(await reports(), [0])
  for (const note of ['😀'.repeat(2000), '\u202e\u0301 \t\u200b', `'; drop table reports; --`, '', null]) {
    const { id } = await report(ana, { message_id: await send(ben, ab, 'Hm'), note })
    equal(await sql(`select note from public.reports where id = ${id}`), [note])
  }
})

test('nobody reports themselves, an unknown person, or a message that is not theirs to read', async () => {
  const { ana, ben, cat, mallory, cb, received } = await meet()
  await report(ben, { user_id: ben.id }, 400, 'user_id: you cannot report yourself')
  await report(ben, { message_id: received }, 400, 'message_id: you cannot report yourself')
  await report(ana, { user_id: 2 ** 40 }, 404, 'User not found')
  await report(ana, { message_id: 2 ** 40 }, 404, 'Message not found')
  for (const who of [cat, mallory]) await report(who, { message_id: received }, 404, 'Message not found')
  await report(ana, { message_id: await send(ben, cb, 'To Cat') }, 404, 'Message not found')
  await asAdmin(`update public.users set is_active = false where id = ${ben.id}`)
  await report(mallory, { user_id: ben.id }, 404, 'User not found')
  equal(await reports(), [0])
  // Who has written stays responsible for it.
  await report(ana, { message_id: received })
  await sql('delete from public.messages')
  await report(cat, { message_id: received }, 404, 'Message not found')
})

test('the same subject again is the first report until it is resolved, whoever writes', async () => {
  const { ana, ben, cat, ab, received } = await meet()
  const another = await send(ben, ab, 'And more')
  const made: number[] = []
  for (const subject of [{ user_id: ben.id }, { message_id: received }, { message_id: another }]) {
    const first = await report(ana, subject)
    equal(await report(ana, { ...subject, reason: 'danger', note: 'Again' }, 200), first)
    made.push(first.id)
  }
  made.push((await report(cat, { user_id: ben.id })).id)
  equal(await reports('id, reason, note'), made.map((id) => [id, 'spam', null]))
  const copy = `insert into public.reports (reporter_id, user_id, message_id, reason)
    select reporter_id, user_id, message_id, reason from public.reports where id = `
  await refuses('23505', 'reports_one_open_per_subject', [copy + made[0], copy + made[1]])
  await resolve(made[0]!)
  is((await report(ana, { user_id: ben.id })).id > made[3]!, true)
})

test('a key makes one report, and returns the first answer for ever', async () => {
  const { ana, ben, cat, mallory } = await meet()
  const key = crypto.randomUUID()
  const ask = (fields: object, headers = {}): Promise<Answer> =>
    mallory.ask('POST', path, { user_id: cat.id, reason: 'spam', ...fields }, headers)
  const first = await ask({ client_id: key })
  equal(answer(first), [201, first.text, null])
  const repeat = async () => {
    equal(answer(await ask({ client_id: key.toUpperCase(), note: null })), [201, first.text, 'true'])
    equal(answer(await ask({}, { 'Idempotency-Key': key })), [201, first.text, 'true'])
  }
  await repeat()
  const others = [{ reason: 'scam' }, { note: 'More' }, { block: true }, { share_messages: true }, { user_id: ben.id }]
  for (const fields of others) {
    const refusal = 'This idempotency key was used for another report'
    await report(mallory, { user_id: cat.id, client_id: key, ...fields }, 422, refusal)
  }
  const header = { 'Idempotency-Key': crypto.randomUUID() }
  // Somebody else's key is another one.
  is((await report(ana, { user_id: cat.id, client_id: key })).id === first.body.id, false)
  // A key whose answer was an open report returns it as it was, also once it is resolved.
  equal(answer(await ask({}, header)), [200, first.text, null])
  equal(answer(await ask({}, header)), [200, first.text, 'true'])
  await resolve(first.body.id, 'warn')
  equal(answer(await ask({}, header)), [200, first.text, 'true'])
  await repeat()
  is(await mallory.get(path), [{ id: first.body.id, status: 'resolved' }])
})

test('a report can block as well, whether or not there is one already, and is refused if the block is', async () => {
  const { ana, ben, cat, mallory, ab } = await meet()
  const blocks = (who: Person) => who.get('/users/me/blocks')
  await report(mallory, { user_id: ben.id })
  equal(await blocks(mallory), [])
  for (const _ of [1, 2]) await report(mallory, { user_id: ben.id, block: true }, 200)
  is(await blocks(mallory), [{ user_id: ben.id }])
  await report(ana, { user_id: ben.id, block: true })
  await ben.post(`${ab}/messages`, { content: 'Hm?' }, 403, 'You cannot write to this person')
  await sql(`with crowd as (
      insert into public.users (name, email) select 'crowd', '' from generate_series(1, 1000) returning id
    ) insert into private.blocks (blocker_id, blocked_id) select ${cat.id}, id from crowd`)
  await report(cat, { user_id: ben.id, block: true }, 400, 'block: you cannot block more than 1,000 people')
  equal(await cat.get(path), [])
})

test('a blocked person can report whoever blocked them, and does not learn of it', async () => {
  const { ana, ben, received } = await meet()
  await ben.put(`/users/me/blocks/${ana.id}`, undefined, 204)
  await report(ana, { user_id: ben.id, share_messages: true })
  const { id } = await report(ana, { message_id: received, block: true })
  equal(await evidence(id), ['Send me money'])
  is(await ana.get('/users/me/blocks'), [{ user_id: ben.id }])
})

test('messages are shared only with consent: the reported one, or the latest 20 of the two', async () => {
  const { ana, ben, ab, cb } = await meet()
  const attachment = { url: 'https://a/b.png', name: 'b.png', mime_type: 'image/png', size: 5 }
  const ids: number[] = []
  for (let n = 1; n <= 30; n++) {
    await send(ben, cb, `To Cat ${n}`)
    const body = { content: `No. ${n}`, ...(n === 30 && { attachment }) }
    ids[n] = (await (n % 2 ? ben : ana).post(`${ab}/messages`, body, 201)).id
  }
  const texts = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => `No. ${first + n}`)
  const shared = async (fields: object, expected: string[], status = 201, who = ana) => {
    const { id } = await report(who, fields, status)
    equal(await evidence(id), expected)
    return id
  }
  const about = { user_id: ben.id }
  const id = await shared(about, [])
  await shared({ message_id: ids[3] }, ['No. 3'])
  await shared({ message_id: ids[29], share_messages: true }, texts(11, 30))
  await shared({ message_id: ids[5], share_messages: true }, ['No. 5', ...texts(11, 30)])
  // Consent can come with a repeat. What is said later is not added, and nothing is taken away.
  await shared({ ...about, share_messages: true }, texts(11, 30), 200)
  equal(await sql(`select shares_messages from public.reports where id = ${id}`), [true])
  await send(ben, ab, 'No. 31')
  await shared({ ...about, share_messages: true }, texts(11, 30), 200)
  await shared(about, texts(11, 30), 200)
  await shared({ user_id: (await people('dan'))[0].id, share_messages: true }, [])
  // It is the reporter's consent, not that of the two.
  const back = await shared({ message_id: ids[2] }, ['No. 2'], 201, ben)
  equal(await evidence(back, 'sender_id, is_by_reported'), [[ana.id, true]])
  const columns = (sender: string, isBy: string) => `${sender}, ${isBy}, content, attachment::text`
  const copies = await evidence(id, `message_id, sent_at::text, ${columns('sender_id', 'is_by_reported')}`)
  const sent = `select id, created_at::text, ${columns('user_id', `user_id = ${ben.id}`)} from public.messages`
  equal(copies, await sql(`${sent} where conversation_id = ${idOf(ab)} order by id offset 11 limit 20`))
  await refuses('PT404', 'Report not found', ['select public.read_evidence(99999999)'], 'service_role')
  // It is a copy.
  await sql(`update public.messages set content = 'changed' where content = 'No. 12'`)
  await sql(`delete from public.conversations where id = ${idOf(ab)}`)
  equal(await evidence(id), texts(11, 30))
  equal(await sql(`select count(*) from private.report_evidence where content like 'To Cat%'`), [0])
})

test('a report and its evidence are made together or not at all', async () => {
  const { ana, received } = await meet()
  await sql(`create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'no copy'; end $$`)
  await sql('create trigger fail before insert on private.report_evidence for each row execute function pg_temp.fail()')
  await report(ana, { message_id: received }, 500)
  equal(await reports(), [0])
  await sql('drop trigger fail on private.report_evidence')
  equal(await evidence((await report(ana, { message_id: received })).id), ['Send me money'])
})

test('the reported person sees nothing of it, but a warning: no answer, row or event changes', async () => {
  const { ana, ben, received } = await meet()
  const paths = ['/users/me', '/users/me/export', path, '/users/me/blocks', '/conversations', '/conversations/changes']
  const view = async () => {
    const seen = await sql('select count(*) from realtime.messages')
    for (const one of paths) {
      seen.push((await ben.ask('GET', one)).text.replace(/"(exported_at|cursor)" ?: ?"[^"]+"/, ''))
    }
    return seen
  }
  const before = await view()
  const { id } = await report(ana, { message_id: received, note: 'Awful', share_messages: true })
  equal(await view(), before)
  await evidence(id)
  await resolve(id, 'dismiss')
  equal(await view(), before)
  await resolve((await report(ana, { message_id: received })).id, 'warn')
  const warnings = [{ reason: 'spam', createdAt: iso }]
  is([await ben.get('/users/me?more=true'), await ben.get('/users/me/export')], [{ warnings }, { warnings }])
  is((await ana.get('/users/me?more=true')).warnings, [])
})

test('a person pages through their own reports, newest first', async () => {
  const { ana, ben, cat } = await meet()
  await sql(`insert into public.reports (reporter_id, user_id, message_id, reason)
    select case n % 3 when 0 then ${cat.id} else ${ana.id} end, ${ben.id}, n, 'spam' from generate_series(1, 7) as n`)
  const own = await sql(`select id from public.reports where reporter_id = ${ana.id} order by id desc`)
  equal((await pagesOf(ana, `${path}?limit=2`)).map(idsOf), chunks(own, 2))
  // A page that holds all of them has no next one.
  equal((await ana.ask('GET', `${path}?limit=5`)).headers.get('Link'), null)
  equal([(await ana.get(path)).length, (await cat.get(path)).length, await ben.get(path)], [5, 2, []])
})

/** How much evidence, and whether a note, is left of the reports about these people. */
const left = (...whom: Person[]) =>
  sql(`select format('%s %s', count(report_evidence), count(note)) from public.reports
    left join private.report_evidence on report_id = reports.id
    where user_id in (${whom.map(({ id }) => id)}) group by user_id order by user_id`)
const afterPurge = async (...whom: Person[]) => [await runJob('purge evidence'), await left(...whom)][1]

test('evidence and notes are kept while both have an account, and for 180 days after one was erased', async () => {
  const [ana, ben, cat, dan] = await people('ana', 'ben', 'cat', 'dan')
  for (const [one, other] of [[ana, ben], [cat, dan]] as const) {
    await send(other, await talk(one, other), 'Hello')
    await report(one, { user_id: other.id, note: 'Note', share_messages: true })
  }
  await passTime('3650 days')
  equal(await afterPurge(ben, dan), ['1 1', '1 1'])
  await passTime('0')
  await ben.delete('/users/me')
  await passTime('179 days 23 hours')
  equal(await afterPurge(ben), ['1 1'])
  // Whenever the other one is erased.
  await ana.delete('/users/me')
  await passTime('180 days 1 minute')
  equal(await afterPurge(ben, dan), ['0 0', '1 1'])
  const [[id, ...rest]] = await reports('id, user_id, reporter_id, reason, shares_messages, purge_at')
  equal(rest, [ben.id, ana.id, 'spam', true, null])
  equal(await sql('select report from public.moderation_queue limit 1'), [id])
  await resolve(id, 'suspend')
  equal(await evidence(id), [])
  // The erasing of the reporter counts as well.
  await passTime('0')
  await cat.delete('/users/me')
  equal([await sql('select reporter from public.moderation_queue'), await left(dan)], [['Deleted user'], ['1 1']])
  await passTime('179 days 23 hours')
  equal(await afterPurge(dan), ['1 1'])
  await passTime('180 days 1 minute')
  equal(await afterPurge(dan), ['0 0'])
})

test('a message of an erased user can be reported, and its evidence ends as any other', async () => {
  const { ana, ben, received } = await meet()
  await ben.delete('/users/me')
  const { id } = await report(ana, { message_id: received, block: true })
  equal([await ana.get('/users/me/blocks'), await evidence(id)], [[], ['Send me money']])
  equal(await sql('select extract(day from purge_at - created_at) from public.reports'), [180])
  await passTime('180 days 1 minute')
  equal(await afterPurge(ben), ['0 0'])
})
