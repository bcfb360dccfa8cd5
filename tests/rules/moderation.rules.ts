/** Moderation: what admins see of reports and people, what each decision does, and that all of it is logged. */
import { anonymous, asAdmin, equal, is, people, type Person, person, refuses } from './fixture.ts'
import { sql, test } from './fixture.ts'

const report = async (who: Person, whom: Person): Promise<number> =>
  (await who.post('/users/me/reports', { user_id: whom.id, reason: 'spam', note: 'From a person' }, 201)).id
const quote = (value: unknown) => typeof value === 'string' ? `'${value}'` : `${value}`
/** A call of one of the moderators' functions, which only admins may call (tests/db/access/grants.test.sql). */
const call = (name: string, ...values: unknown[]) => `select public.${name}(${values.map(quote)})`
const decide = async (name: string, ...values: unknown[]) => (await asAdmin(call(name, ...values)))[0]
const refusesCall = (code: string, text: string, name: string, ...values: unknown[]) =>
  refuses(code, text, [call(name, ...values)], 'service_role')
/** Active, searchable, found by a search, hidden. */
const stateOf = async (...who: Person[]): Promise<string> =>
  (await sql(`select string_agg(concat_ws(' ', case when is_active then 'active' end,
      case when is_searchable then 'searchable' end,
      case when exists (select from private.search_entries where user_id = users.id) then 'found' end,
      case when is_hidden then 'hidden' end
    ), ', ' order by users.id)
    from public.users left join public.profiles on profiles.user_id = users.id
    where users.id in (${who.map(({ id }) => id)})`))[0]
const log = (columns: string) => sql(`select ${columns} from public.moderation_log order by id`)
const searchable = { is_searchable: true }
const shown = 'active searchable found'
const outcomes = { dismiss: shown, warn: shown, hide: 'active hidden', suspend: 'searchable' }

test('each decision about a report does what it says, once, and is logged with who, whom and why', async () => {
  const [ana] = await people('ana')
  const ben = await person('ben', searchable)
  const [admin] = await sql('select session_user::text')
  for (const [action, state] of Object.entries(outcomes)) {
    const subject = await person(action, searchable)
    const id = await report(ana, subject)
    const resolve = `select resolution, note, resolved_at > created_at from public.resolve_report($1, $2, $3)`
    equal(await asAdmin(resolve, [id, action, `To ${action}`]), [[action, 'From a person', true]])
    const [{ resolvedAt }] = await ana.get('/users/me/reports')
    const before = `This report was resolved before: ${action}, at ${resolvedAt}`
    for (const again of ['dismiss', 'suspend']) await refusesCall('PT409', before, 'resolve_report', id, again, 'Again')
    const entry = [action, id, subject.id, admin, `To ${action}`]
    equal([(await log('action, report_id, user_id, by_whom, note')).at(-1), await stateOf(subject)], [entry, state])
  }
  equal([await log('extract(epoch from now() - created_at) < 60'), await stateOf(ben)], [Array(4).fill(true), shown])
})

test('a decision without a report, a known outcome or a reason is refused, and changes nothing', async () => {
  const [ana] = await people('ana')
  const ben = await person('ben', searchable)
  const id = await report(ana, ben)
  for (const unknown of [0, null]) {
    await refusesCall('PT404', 'Report not found', 'resolve_report', unknown, 'dismiss', 'Why')
    await refusesCall('PT404', 'User not found', 'restrict_person', unknown, 'hide', 'Why')
    await refusesCall('PT404', 'User not found', 'lift_restriction', unknown, 'hide', 'Why')
    await refusesCall('PT404', 'User not found', 'erase_person', unknown, 'Why')
  }
  for (const action of ['ban', null, 'Hide']) {
    await refusesCall('PT400', 'action: must be dismiss, warn, hide or suspend', 'resolve_report', id, action, 'Why')
  }
  for (const one of ['warn', null]) {
    await refusesCall('PT400', 'restriction: must be hide or suspend', 'restrict_person', ben.id, one, 'Why')
    await refusesCall('PT400', 'restriction: must be hide or suspend', 'lift_restriction', ben.id, one, 'Why')
  }
  const note = 'note: say why, in 1 to 2,000 characters'
  for (const why of [null, '', ' \n\t', 'x'.repeat(2001)]) {
    await refusesCall('PT400', note, 'resolve_report', id, 'suspend', why)
    await refusesCall('PT400', note, 'restrict_person', ben.id, 'hide', why)
    await refusesCall('PT400', note, 'erase_person', ben.id, why)
  }
  await refusesCall('PT409', 'This profile is not hidden', 'lift_restriction', ben.id, 'hide', 'Why')
  await refusesCall('PT409', 'This account is not suspended', 'lift_restriction', ben.id, 'suspend', 'Why')
  equal([await stateOf(ben), await log('id')], [shown, []])
  equal(await sql('select report from public.moderation_queue'), [id])
  await decide('resolve_report', id, 'warn', '😀'.repeat(1999) + '\u202e')
  await decide('restrict_person', ben.id, 'hide', 'Why')
  await refusesCall('PT400', note, 'lift_restriction', ben.id, 'hide', null)
  equal(await stateOf(ben), 'active hidden')
})

test('an admin hides, suspends, restores and erases without a report, each once, with an entry', async () => {
  const [ana] = await people('ana')
  const [ben, cat] = [await person('ben', searchable), await person('cat', searchable)]
  const restrict = async (who: Person, restriction: string, why: string, refusal: string) => {
    equal(await decide('restrict_person', who.id, restriction, why), 'restricted')
    await refusesCall('PT409', refusal, 'restrict_person', who.id, restriction, 'Why')
  }
  const lift = async (who: Person, restriction: string, why: string) =>
    equal(await decide('lift_restriction', who.id, restriction, why), 'lifted')
  await restrict(ben, 'hide', 'Advertises', 'This profile is already hidden')
  await restrict(ben, 'suspend', 'Goes on', 'This account is not active')
  await ben.get('/users/me', 403, 'This account is deactivated')
  equal(await stateOf(ben, cat), `hidden, ${shown}`)
  await restrict(cat, 'hide', 'As well', 'This profile is already hidden')
  // Who is restricted already can be decided about again.
  for (const action of ['hide', 'suspend', 'warn']) {
    const add = `insert into public.reports (reporter_id, user_id, reason) values (${ana.id}, ${ben.id}, 'spam')`
    await decide('resolve_report', (await sql(`${add} returning id`))[0], action, 'More')
  }
  await lift(ben, 'hide', 'A mistake')
  equal(await stateOf(ben, cat), ', active hidden')
  await lift(ben, 'suspend', 'Served')
  equal(await stateOf(ben, cat), 'active, active hidden')
  await ben.get('/users/me')
  equal(await decide('erase_person', cat.id, 'Asked by letter'), 'erased')
  equal(await sql(`select name || email from public.users where id = ${cat.id}`), ['Deleted user'])
  await refusesCall('PT409', 'This account was erased before', 'erase_person', cat.id, 'Why')
  for (const restriction of ['hide', 'suspend']) {
    await refusesCall('PT409', 'This account was erased', 'restrict_person', cat.id, restriction, 'Why')
  }
  await refusesCall('PT409', 'This account is not suspended', 'lift_restriction', cat.id, 'suspend', 'Back')
  // deno-fmt-ignore
  const entries = [
    [ben.id, 'hide: Advertises'], [ben.id, 'suspend: Goes on'], [cat.id, 'hide: As well'],
    ...['hide', 'suspend', 'warn'].map((action) => [ben.id, `${action}: More`]),
    [ben.id, 'lift hide: A mistake'], [ben.id, 'lift suspend: Served'], [cat.id, 'erase: Asked by letter'],
  ]
  equal([await log(`user_id, action || ': ' || note`), await stateOf(ben, cat)], [entries, 'active, '])
})

test('a hidden profile cannot be made searchable in any way until an admin has lifted it', async () => {
  const [ana] = await people('ana')
  const [ben, cat] = [await person('ben', searchable), await person('cat', searchable)]
  await decide('resolve_report', await report(ana, ben), 'hide', 'Spam')
  const refusal = 'An administrator has hidden this profile'
  await ben.patch('/users/searchable', searchable, 403, refusal)
  await ben.patch('/users/profile', { ...searchable, city: 'Faro', name: 'Benny' }, 403, refusal)
  const show = `update public.profiles set is_searchable = true where user_id = ${ben.id}`
  for (const role of ['service_role', 'none']) await refuses('PT403', refusal, [show], role)
  const hide = `update public.profiles set is_hidden = true where user_id = ${cat.id}`
  for (const role of ['service_role', 'none']) await refuses('PT403', refusal, [hide], role)
  // Nor does the secret key hide or show anybody past the log.
  const write = (id: number, isHidden: boolean) =>
    `update public.profiles set is_hidden = ${isHidden}, is_searchable = false where user_id = ${id}`
  for (const past of [write(ben.id, false), write(cat.id, true)]) await refuses('42501', 'log', [past], 'service_role')
  await anonymous.get(`/users/${ben.profileId}`, 403, 'This profile is not public')
  await ben.get('/users/me', 200, { name: 'ben', Profile: { is_searchable: false, city: null } })
  await ben.patch('/users/searchable', { is_searchable: false })
  await ben.patch('/users/profile', { is_searchable: false, city: 'Faro' }, 200, { Profile: { city: 'Faro' } })
  await ana.patch('/users/searchable', searchable, 200, searchable)
  await decide('lift_restriction', ben.id, 'hide', 'Enough')
  equal(await stateOf(ben), 'active')
  await ben.patch('/users/searchable', searchable, 200, searchable)
  equal(await stateOf(ben), shown)
  // Hiding whoever was erased leaves nothing about them.
  const id = await report(ana, ben)
  await ben.delete('/users/me')
  await decide('resolve_report', id, 'hide', 'Gone')
  equal(await stateOf(ben), '')
})

test('the queue has the open reports, oldest first, with what is known about the person', async () => {
  const [ana, ben, cat, dan] = await people('ana', 'ben', 'cat', 'dan')
  // deno-fmt-ignore
  const made: [reporter: Person, subject: Person, message: number | null, ...texts: (string | null)[]][] = [
    [ana, ben, null, 'spam', 'First', 'dismiss'], [cat, ben, null, 'scam', '', 'warn'],
    [dan, ben, null, 'scam', 'Still open', null], [ana, cat, null, 'other', 'Another', null],
    [dan, ben, 7, 'danger', 'A message', null], [ana, ben, null, 'spam', 'Later', 'hide'],
  ]
  for (const [reporter, subject, message, ...texts] of made) {
    await sql(
      `insert into public.reports
        (reporter_id, user_id, message_id, shares_messages, reason, note, resolution, resolved_at) values
        ($1, $2, $3, $3::bigint is not null, $4, $5, $6, case when $6::text is not null then now() end)`,
      [reporter.id, subject.id, message, ...texts],
    )
  }
  const queue = (columns: string) => asAdmin(`select ${columns} from public.moderation_queue`)
  equal(await queue('person, reporter, reason, note, message_id, shares_messages'), [
    ['ben', 'dan', 'scam', 'Still open', null, false],
    ['cat', 'ana', 'other', 'Another', null, false],
    ['ben', 'dan', 'danger', 'A message', 7, true],
  ])
  equal(await queue('earlier_reports, earlier_dismissed, earlier_upheld'), [[2, 1, 1], [0, 0, 0], [3, 1, 1]])
  equal((await queue('person_id, reporter_id, is_active, is_hidden'))[0], [ben.id, dan.id, true, false])
  const [first, , last] = await queue('report')
  await decide('resolve_report', first, 'hide', 'Spam')
  equal(await queue('person, is_hidden, earlier_upheld'), [['cat', false, 0], ['ben', true, 2]])
  await decide('resolve_report', last, 'suspend', 'Danger')
  await asAdmin(`update public.users set is_active = false where id = ${cat.id}`)
  equal(await queue('person, is_active'), [['cat', false]])
  await refuses('55000', 'cannot update view', [`update public.moderation_queue set note = ''`], 'service_role')
  // Several at once, as an admin writes it in the SQL editor.
  await sql(`insert into public.reports (reporter_id, user_id, message_id, reason)
    select ${ana.id}, ${dan.id}, n, 'spam' from generate_series(1, 5) as n`)
  const all = `public.moderation_queue cross join lateral public.resolve_report(report, 'dismiss', 'All of them')`
  equal(await asAdmin(`select count(*) from ${all} where resolved_at is not null`), [6])
  equal(await queue('report'), [])
})

test('admins find people by a part of the name or address, or by the id, with their status and reports', async () => {
  const [ines, bob, cat, dan, eve, fay] = await people('Inês Alba', 'Bo_b 100%', 'cat', 'dan', 'eve', 'fay')
  // Her id is in his address.
  await sql(`update public.users set email = 'bob${cat.id}@mail.example' where id = ${bob.id}`)
  for (const resolution of ['dismiss', 'warn', null]) {
    const id = await report(dan, cat)
    if (resolution) await decide('resolve_report', id, resolution, 'Why')
  }
  await decide('restrict_person', cat.id, 'hide', 'Why')
  await decide('restrict_person', dan.id, 'suspend', 'Why')
  await sql(`update public.users set is_active = false, confirmed_at = null where id = ${eve.id}`)
  await fay.delete('/users/me')
  const find = (columns: string, query: string | null, restricted = false) =>
    asAdmin(`select ${columns} from public.find_people($1, $2)`, [query, restricted])
  const everybody = [fay, eve, dan, cat, bob, ines]
  // deno-fmt-ignore
  const searches: [query: string | null, found: Person[]][] = [
    ['ines', [ines]], [' ALBA ', [ines]], ['@MAIL.', [bob]], ['_', [bob]], ['0%', [bob]], ['es albabob', []],
    ['no such', []], [`${cat.id}`, [cat]], ['99999999999999999999', []], ['', everybody], [null, everybody],
  ]
  for (const [query, found] of searches) equal(await find('id', query), found.map(({ id }) => id), `${query} `)
  const restricted = [await find('name', null, true), await find('name', 'dan', true), await find('name', 'eve', true)]
  equal(restricted, [['dan', 'cat'], ['dan'], []])
  // deno-fmt-ignore
  equal(await find(`concat_ws(' ', name, status, is_hidden, reports, upheld)`, ''), [
    'Deleted user erased f 0 0', 'eve pending f 0 0', 'dan suspended f 0 0', 'cat active t 3 1',
    'Bo_b 100% active f 0 0', 'Inês Alba active f 0 0',
  ])
  equal(await find('email', 'cat'), ['cat@tests.example'])
  await sql(`insert into public.users (name, email) select 'Crowd', '' from generate_series(1, 51)`)
  equal((await find('id', 'crowd')).length, 50)
})

test('the log names the admin as far as they are known, and nobody changes it, its owner included', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const id = await report(ben, ana)
  const claims = `set_config('request.jwt.claims', '{"role": "service_role", "sub": "moderator-7"}', true)`
  await asAdmin(`with token as materialized (select ${claims}) select public.read_evidence(${id}) from token`)
  const user = '3028ccc4-beae-49b2-826c-315556178e49'
  const comments = `-- source: dashboard\n-- user: ${user}\n-- date: 2026-05-27T19:16:29.995Z`
  for (const end of [`;\n\n${comments}`, '', ` ${comments}\n, 2`]) await sql(`select public.read_evidence(${id})${end}`)
  const [admin] = await sql('select session_user::text')
  const callers = ['service_role moderator-7', `${admin} dashboard user ${user}`, admin, admin]
  const logged = callers.map((caller) => [caller, null])
  equal(await log('by_whom, note'), logged)
  await refuses('42501', 'The moderation log is append-only', [
    `update public.moderation_log set note = 'Other'`,
    'update public.moderation_log set created_at = now() where false or true',
    'delete from public.moderation_log where id = (select max(id) from public.moderation_log)',
    'truncate public.moderation_log',
  ])
  const refusesEntry = (rule: string, action: string, why: string | null) =>
    refuses('23514', rule, [`insert into public.moderation_log (action, user_id, by_whom, note)
      values ('${action}', ${ana.id}, 'x', ${quote(why)})`])
  await refusesEntry('action is a step of moderation', 'ban', 'Why')
  await refusesEntry('every decision has a reason', 'hide', null)
  for (const why of [' ', 'x'.repeat(2001)]) await refusesEntry('the reason has 1 to 2,000 characters', 'hide', why)
  await refuses('23503', 'moderation_log', [`delete from public.reports where id = ${id}`])
  equal(await log('by_whom, note'), logged)
})

test('admins see what waits in every queue, and the latest run of every job', async () => {
  const [ana, ben] = await people('ana', 'ben')
  for (const table of ['embedding_queue', 'outbox']) await sql(`delete from private.${table}`)
  const queues = () =>
    asAdmin(`select concat_ws(' ', queue, waiting, round(oldest_seconds), dead) from public.describe_queues()`)
  const empty = ['person', 'push', 'mail', 'webhook', 'embeddings'].map((queue) => `${queue} 0 0 0`)
  equal(await queues(), ['reports 0 0', ...empty])
  await sql(`insert into public.reports (reporter_id, user_id, message_id, reason, created_at, resolution, resolved_at)
    values (${ana.id}, ${ben.id}, 1, 'spam', now() - interval '2 hours', null, null),
      (${ana.id}, ${ben.id}, 3, 'spam', now() - interval '1 hour', null, null),
      (${ana.id}, ${ben.id}, 2, 'spam', now() - interval '9 hours', 'warn', now())`)
  await sql(`insert into private.outbox (channel, event, created_at, due_at, attempts)
    select 'webhook', 'message.created', now() - age * interval '1 hour', now(), attempts
    from (values (5, 0), (3, 7), (9, 8)) as rows (age, attempts)`)
  // The outbox goes by the clock, which is some seconds later than now().
  const counts = (await queues()).filter((one) => /^(reports|webhook) /.test(one))
  is(counts, ['reports 2 7200', /^webhook 2 180\d\d 1$/])
  // PGlite has no pg_cron, and the test database none of its jobs.
  equal(await asAdmin('select job from public.describe_schedule()'), [])
  await sql('create schema cron')
  await sql(`create table cron.job as select * from (values (1, '* * * * *', 'send'), (2, '0 3 * * *', 'forget'))
    as jobs (jobid, schedule, jobname)`)
  await sql(`create table cron.job_run_details as select 1 as jobid, runs.*, now() - age::interval as start_time
    from (values (1, 'failed', 'long ago', '2 days'), (2, 'failed', 'lock', '1 hour'), (3, 'succeeded', '1 row', '0'))
      as runs (runid, status, return_message, age)`)
  const columns = `concat_ws(' ', job, schedule, last_status, last_message, failures)`
  equal(await asAdmin(`select ${columns} from public.describe_schedule()`), [
    'forget 0 3 * * * 0',
    'send * * * * * succeeded 1 row 1',
  ])
})
