/** Rate limits: what a burst allows, who shares it, and what is stored of it. */
import { anonymous, equal, inDays, is, people, type Person, setting, sql, talk, test } from './fixture.ts'

const refusal = 'Too many requests, please try again later'
const wait = (seconds: number) => sql('update private.rate_limits set tat = tat - make_interval(secs => $1)', [seconds])
/** Sends a request that has a limit, and returns its status or, of a refusal, how many seconds it says to wait. */
const seconds = async (who: Person, method: string, path: string, body?: unknown): Promise<string> => {
  const { status, headers, body: answer } = await who.ask(method, path, body)
  if (status !== 429) return `${status}`
  is(answer, { error: refusal })
  // A test takes less than 50 s.
  return `wait ${Math.ceil(Number(headers.get('Retry-After')) / 100) * 100}`
}

test('a burst is allowed at once, then one request at a time; refusals cost nothing', async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  setting('RATE_LIMIT_BLOCK', '6/6000/3')
  setting('RATE_LIMIT_OPEN', '1/1000')
  const blocks = async (who: Person, ...expected: string[]) => {
    for (const one of expected) equal(await seconds(who, 'PUT', `/users/me/blocks/${cat.id}`), one)
  }
  await blocks(ana, '204', '204', '204', 'wait 1000', 'wait 1000')
  // Everybody and every kind of request has a burst of its own.
  await blocks(ben, '204')
  equal(await seconds(ana, 'POST', '/conversations', { other_user_id: ben.id }), '201')
  await wait(900)
  await blocks(ana, 'wait 100')
  await wait(100)
  await blocks(ana, '204', 'wait 1000')
  // What is not used does not add up.
  await wait(100_000)
  await blocks(ana, '204', '204', '204', 'wait 1000')
  setting('RATE_LIMIT_BLOCK', 'off')
  await blocks(ana, '204')
})

test('a write counts, also if it is refused, and so does a repeat with its key', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  const offer = { title: 'A walk', price: 1, date: inDays(9) }
  // deno-fmt-ignore
  const writes: [limit: string, path: string, body: object, other: object, table: string][] = [
    ['RATE_LIMIT_SEND', `${ab}/messages`, { content: 'Hello' }, { content: 'Other' }, 'messages'],
    ['RATE_LIMIT_RESERVE', `${ab}/reservations`, offer, { title: 'Other' }, 'reservations'],
    ['RATE_LIMIT_REPORT', '/users/me/reports', { user_id: ben.id, reason: 'spam' }, { note: 'Other' }, 'reports'],
  ]
  for (const [limit, path, body, other, table] of writes) {
    setting(limit, '2/2000')
    const post = async (body: object, expected: string) =>
      equal(await seconds(ana, 'POST', path, body), expected, limit)
    const key = () => ({ ...body, client_id: crypto.randomUUID() })
    const first = key()
    await post(first, '201')
    // Refused, because it is another with the same key.
    await post({ ...first, ...other }, '422')
    await post(key(), 'wait 1000')
    await wait(2000)
    for (const _ of [1, 2]) await post(first, '201')
    await post(first, 'wait 1000')
    equal(await sql(`select count(*) from public.${table}`), [1])
  }
})

test('what is stored of a caller is a hash with a salt of the day, in no backup, while it counts', async () => {
  const consume = (who: string, burst = 1, times = 1, each = 1000) =>
    sql(
      `select private.consume_rate_limit('send', '${who}', ${each}, ${burst})::text from generate_series(1, ${times})`,
    )
  equal(await consume('ana', 2, 3), [0, 0, 1000])
  // The wait is at least a second.
  equal(await consume('cleo', 1, 2, 0.25), [0, 1])
  equal(await sql('select distinct octet_length(key) from private.rate_limits'), [32])
  equal(await sql(`select count(*) from private.rate_limits where key = sha256('send ana')`), [0])
  const tables = ['private.rate_limits', 'private.rate_limit_salts'].map((name) => `'${name}'::regclass`)
  equal(await sql(`select distinct relpersistence::text from pg_class where oid in (${tables})`), ['u'])
  await sql('update private.rate_limit_salts set valid_on = valid_on - 1')
  equal(await consume('ana'), [0])
  equal(await sql('select count(*), min(valid_on) = current_date from private.rate_limit_salts'), [[1, true]])
  await sql('delete from private.rate_limits')
  await sql(`insert into private.rate_limits
    values ('\\x00', now() + interval '1 hour'), ('\\x01', now() - interval '1 second')`)
  // One call in a hundred removes what counts no more.
  await consume('dan', 3000, 2000)
  equal(await sql(`select encode(key, 'hex') || '!' from private.rate_limits where length(key) = 1`), ['00!'])
})

test('if counting fails, writing and searching are allowed, and signing up is not', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  for (const name of ['SEND', 'SEARCH', 'SIGNUP']) setting(`RATE_LIMIT_${name}`, '1/1000')
  await sql('drop table private.rate_limits')
  for (const _ of [1, 2]) await ana.post(`${ab}/messages`, { content: 'Hello' }, 201)
  for (const _ of [1, 2]) await anonymous.get('/users/search', 200)
  await anonymous.post('/users', { email: 'new@tests.example', name: 'New' }, 503, 'The service is busy')
})

test('changes of a profile share a limit, and hiding it is free', async () => {
  const [ana] = await people('ana')
  setting('RATE_LIMIT_PROFILE', '3/3000')
  const update = (path: string, body: object) => seconds(ana, path.endsWith('interests') ? 'PUT' : 'PATCH', path, body)
  for (const path of ['/users/searchable', '/users/profile']) equal(await update(path, { is_searchable: false }), '200')
  equal(await sql('select count(*) from private.rate_limits'), [0])
  equal(await update('/users/profile', { is_searchable: false, city: 'Faro' }), '200')
  equal(await update('/users/profile/interests', { interest_ids: [1] }), '200')
  equal(await update('/users/searchable', { is_searchable: true }), '200')
  equal(await update('/users/profile', { city: 'Braga' }), 'wait 1000')
  equal(await update('/users/searchable', { is_searchable: false }), '200')
})
