/** Accounts: how Auth's accounts become users, who owns an address before it is confirmed, and what ends an account. */
import { allows, anonymous, asAdmin, Caller, equal, is, type Json, people, person, refuses, sql } from './fixture.ts'
import { talk, test, tokenOf } from './fixture.ts'

const literal = (value: unknown): string => value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`
/** Inserts an account as Auth does; unless `columns` say so, its address is not confirmed. */
const insertAccount = (email: string | null, metadata: Json = {}, columns: Record<string, unknown> = {}): string => {
  const all = {
    ...{ id: crypto.randomUUID(), email, raw_user_meta_data: metadata && JSON.stringify(metadata) },
    ...{ encrypted_password: 'a hash', created_at: '2026-01-02T03:04:05.678Z', ...columns },
  }
  return `insert into auth.users (${Object.keys(all)}) values (${Object.values(all).map(literal)})`
}
const signUp = (...account: Parameters<typeof insertAccount>) => sql(insertAccount(...account))
/** The first and the last call of the Edge Function about a sign-up. */
const begin = async (address: string, fields: object = {}, name = 'Cat'): Promise<Json> =>
  JSON.parse(
    (await sql('select private.begin_sign_up($1, $2, $3)::text', [address, name, fields], 'edge_functions'))[0],
  )
const check = async (address: string, { ticket }: Json, accepted = true): Promise<string> =>
  JSON.parse(
    (await sql('select private.check_sign_up($1, $2, $3)::text', [address, ticket, accepted], 'edge_functions'))[0],
  )
const confirm = (email: string) => sql('update auth.users set email_confirmed_at = now() where email = $1', [email])
const accounts = (email: string) => sql('select encrypted_password from auth.users where email = $1', [email])
const users = (columns: string, email: string) => sql(`select ${columns} from public.users where email = $1`, [email])

test('a sign-up makes a user and a profile with its fields, and nothing personal is left of it', async () => {
  const fields = { bio: 'Potter', location: 'Porto' }
  const profile = { first_name: 'Ana', last_name: 'Lima', age: 31, biography: 'Clay and tiles.', country: 'Portugal' }
  const shown = { city: 'Porto', image_url: 'https://images.example/ana.jpg', is_searchable: true }
  const forged = { role: 'admin', is_active: false, email: 'admin@tests.example', id: 1, user_id: 1, auth_id: null }
  const email = 'ana@tests.example'
  // So that ids of users and profiles differ.
  await sql(`insert into public.users (name, email) values ('Apart', '')`)
  const all = { ...fields, ...profile, ...shown, ...forged, interest_ids: [3, 2, 3] }
  const { ticket, user_id, pending } = await begin(email, all, 'Ana')
  const id = crypto.randomUUID()
  const metadata = { ticket, name: 'Another', locale: 'pt', profile: { bio: 'Another' }, id: 1 }
  await signUp(email, metadata, { id, email_confirmed_at: '2026-01-02' })
  const ana = new Caller('ana', await tokenOf(id))
  const { Profile: { id: profileId, Interests, ...details }, ...user } = await ana.get('/users/me')
  equal(user, { id: user_id, name: 'Ana', email, ...fields, role: 'user', is_active: true })
  equal(details, { user_id, ...profile, ...shown })
  equal([pending, Interests.map(({ id }: Json) => id).sort(), profileId === user_id], [false, [2, 3], false])
  is((await ana.get('/users/me/export')).user, { createdAt: '2026-01-02T03:04:05.678Z' })
  equal(await sql('select name, fields from private.sign_ups'), [[null, null]])
  equal(await users('id', forged.email), [])
})

test('an account that Auth makes without a sign-up gets defaults, and a name in any case', async () => {
  const id = crypto.randomUUID()
  await signUp('ben@tests.example', null, { id, email_confirmed_at: '2026-01-02' })
  const { Profile, ...user } = await new Caller('ben', await tokenOf(id)).get('/users/me')
  is(user, { name: 'New user', bio: null, location: null, role: 'user', is_active: true })
  const empty = { first_name: null, last_name: null, age: null, biography: null, country: null, city: null }
  is(Profile, { ...empty, image_url: null, is_searchable: false, Interests: [] })
  for (
    const [metadata, name] of [
      [{ name: 'Ana' }, 'Ana'],
      [{ name: 'b'.repeat(101) }, 'b'.repeat(100)],
      [{ name: '' }, 'New user'],
      [{ name: null }, 'New user'],
      [{ profile: { city: 'Porto' } }, 'New user'],
      [{}, 'New user'],
      [{ ticket: "' or true --" }, 'New user'],
      [{ ticket: crypto.randomUUID() }, 'New user'],
    ] as const
  ) {
    await signUp(crypto.randomUUID(), metadata)
    equal(await sql('select name from public.users order by id desc limit 1'), [name])
  }
})

test('an account with an invalid profile is not made at all', async () => {
  const [ana] = await people('ana')
  const refused = async (code: string, text: string, fields: object, name = 'Ben', email = 'ben@tests.example') => {
    const { ticket } = await begin(email, fields, name)
    await refuses(code, text, [insertAccount(email, { ticket })])
  }
  await refused('23514', 'age is 18 to 120', { age: 7 })
  await refused('23514', 'image_url is an https address', { image_url: 'http://images.example/ben.jpg' })
  await refused('23514', 'name is one line that shows something', {}, '   ')
  await refused('PT400', 'interest_ids: unknown interests 900001, 900002', { interest_ids: [1, 900_002, 900_001] })
  const many = Array.from({ length: 51 }, (_, n) => n + 1)
  await refused('PT400', 'interest_ids: a profile has at most 50 interests', { interest_ids: many })
  await refused('23505', 'users_email_', {}, 'Ben', 'Ana@Tests.example')
  for (const table of ['auth.users', 'public.users', 'public.profiles']) {
    equal(await sql(`select count(*) from ${table}`), [1], table)
  }
  const { ticket } = await begin('ben@tests.example', { age: 18, interest_ids: [1] }, 'Ben')
  await signUp('ben@tests.example', { ticket }, { email_confirmed_at: '2026-01-02' })
  await ana.post('/conversations', { other_user_id: (await users('id', 'ben@tests.example'))[0] }, 201)
})

test('until its address is confirmed an account is in no search, unknown to everybody, and cannot act', async () => {
  const [ana] = await people('ana')
  const [email, id] = ['ben@tests.example', crypto.randomUUID()]
  const { ticket } = await begin(email, { biography: 'Quagga', is_searchable: true, interest_ids: [1] }, 'Benjamin')
  await signUp(email, { ticket }, { id })
  const [[ben, profile]] = await sql(
    `select users.id, profiles.id as profile from public.users join public.profiles on user_id = users.id where email = $1`,
    [email],
  )
  const caller = new Caller('ben', await tokenOf(id))
  const found = async (who = anonymous) => (await who.get('/users/search?q=Quagga')).estimatedTotalHits
  const isPublic = async (status: number) => {
    await anonymous.get(`/users/${profile}`, status)
    await ana.post('/conversations', { other_user_id: ben }, status === 200 ? 201 : status)
    await ana.put(`/users/me/blocks/${ben}`, undefined, status === 200 ? 204 : status)
    await ana.delete(`/users/me/blocks/${ben}`, status === 200 ? 204 : status)
  }
  equal(await users('is_active, confirmed_at', email), [[false, null]])
  // Where a token is optional, its bearer is anonymous.
  equal([await found(), await found(ana), await found(caller)], [0, 0, 0])
  await isPublic(404)
  for (const path of ['/users/me', '/conversations', '/users/me/export']) {
    await caller.get(path, 401, 'This account no longer exists')
  }
  equal(await sql('select count(*) from private.embedding_queue where id in ($1, $2)', [ben, profile]), [0])
  const rule = 'nobody is active before their address is confirmed'
  await refuses('23514', rule, [`update public.users set is_active = true where id = ${ben}`], 'service_role')
  await confirm(email)
  equal(await users('is_active, confirmed_at = now()', email), [[true, true]])
  equal(await found(), 1)
  await isPublic(200)
  await caller.get('/users/me', 200, { id: ben, name: 'Benjamin' })
  // Once.
  await asAdmin('update public.users set is_active = false where id = $1', [ben])
  await sql('update auth.users set email_confirmed_at = null where id = $1', [id])
  await confirm(email)
  await caller.get('/users/me', 403, 'This account is deactivated')
})

test('a pending account is replaced by the latest sign-up whose CAPTCHA Auth has accepted', async () => {
  const email = 'cat@tests.example'
  const stranger = await begin(email, { biography: 'Dodo', is_searchable: true }, 'Stranger')
  await signUp(email, stranger)
  const earlier = await begin(email)
  const later = await begin('CAT@tests.example')
  equal([stranger.pending, later.pending], [false, true])
  equal(await check(email, later, false), 'taken')
  equal(await users('name', email), ['Stranger'])
  equal(await check(email, later), 'retry')
  equal([await accounts(email), await users('name', email)], [[], []])
  equal(await sql(`select count(*) from public.profiles where biography = 'Dodo'`), [0])
  equal([await check(email, later), await check(email, earlier)], ['not made', 'superseded'])
  // Auth has made the account of the earlier one all the same.
  await signUp(email, earlier)
  equal([await check(email, later), await accounts(email)], ['retry', []])
  await signUp(email, { ...later, id: 1 })
  equal([await check(email, later), await users('id', email)], ['made', [later.user_id]])
  // A sign-up that began before and asks only now does not remove it.
  const [late] = await sql(
    `insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
     values ($1, 1, sha256('cat@tests.example'), 'Late', '{}') returning ticket`,
    [later.user_id - 1],
  )
  equal([await check(email, { ticket: late }), await users('id', email)], ['superseded', [later.user_id]])
  // A ticket is good for one account, and an account that was made in Auth directly gives way.
  await signUp('dan@tests.example', { name: 'Dan', ticket: later.ticket })
  equal(await users(`name, id = ${later.user_id}`, 'dan@tests.example'), [['Dan', false]])
  const direct = await begin('fay@tests.example')
  await signUp('fay@tests.example', { name: 'Stranger' })
  equal([await check('fay@tests.example', direct), await accounts('fay@tests.example')], ['retry', []])
  await signUp('fay@tests.example', direct)
  equal([await check('fay@tests.example', direct), await users('id', 'fay@tests.example')], ['made', [direct.user_id]])
  // A later one supersedes once Auth has accepted its CAPTCHA, and not before.
  const [one, other] = [await begin('hal@tests.example'), await begin('hal@tests.example')]
  equal([other.pending, await check('hal@tests.example', one)], [false, 'not made'])
  await check('hal@tests.example', other)
  equal(await check('hal@tests.example', one), 'superseded')
})

test('an account that was confirmed or invited, or with which somebody converses, is never replaced', async () => {
  const [ana] = await people('ana')
  const email = 'ana@tests.example'
  for (const address of [email, 'ANA@tests.example']) {
    const begun = await begin(address)
    await begin(address)
    equal([begun.pending, await check(address, begun)], [false, 'taken'])
  }
  await sql('update auth.users set email_confirmed_at = null where email = $1', [email])
  equal(await check(email, await begin(email)), 'taken')
  await ana.get('/users/me')
  await signUp('ivy@tests.example', { name: 'Ivy' }, { encrypted_password: '', invited_at: '2026-01-02' })
  equal(await check('ivy@tests.example', await begin('ivy@tests.example')), 'taken')
  await signUp('dora@tests.example', { name: 'Dora' })
  await asAdmin(
    `insert into public.conversations (voyager_id, local_id)
     select $1, id from public.users where email = 'dora@tests.example'`,
    [ana.id],
  )
  equal(await check('dora@tests.example', await begin('dora@tests.example')), 'taken')
  equal(await sql('select count(*) from auth.users'), [3])
})

test('every sign-up uses up one user id and one profile id, and is forgotten after an hour', async () => {
  await people('ana')
  const [taken, free] = [await begin('ana@tests.example'), await begin('nobody@tests.example')]
  equal(free.user_id - taken.user_id, 1)
  equal(await sql('select max(profile_id) - min(profile_id) from private.sign_ups'), [1])
  await sql(`update private.sign_ups set begun_at = now() - interval '59 minutes' where ticket = $1`, [free.ticket])
  await sql(`update private.sign_ups set begun_at = now() - interval '61 minutes' where ticket = $1`, [taken.ticket])
  await begin('nobody@tests.example')
  equal(await sql('select ticket from private.sign_ups where ticket in ($1, $2)', [taken.ticket, free.ticket]), [
    free.ticket,
  ])
})

test('recovery or an invitation takes the password of a pending account, and of no other', async () => {
  await people('ana')
  for (const email of ['cat@tests.example', 'gil@tests.example']) await signUp(email, { name: 'Stranger' })
  await sql(`update auth.users set encrypted_password = 'a hash'`)
  const change = (columns: string) => sql(`update auth.users set ${columns} where email <> 'gil@tests.example'`)
  const passwords = () => sql('select encrypted_password from auth.users order by email')
  for (const none of ['null', "''"]) await change(`recovery_token = ${none}`)
  equal(await passwords(), ['a hash', 'a hash', 'a hash'])
  await change('recovery_token = md5(email), recovery_sent_at = now()')
  equal(await passwords(), ['a hash', null, 'a hash'])
  await sql(`update auth.users set encrypted_password = 'chosen', recovery_token = null where email like 'cat%'`)
  equal(await passwords(), ['a hash', 'chosen', 'a hash'])
  await sql(`update auth.users set invited_at = now() where email not like 'cat%'`)
  equal(await passwords(), ['a hash', 'chosen', null])
})

test('a confirmed phone activates an account; an anonymous sign-in does not', async () => {
  await signUp(null, { name: 'By phone' }, { phone: '351900000001', phone_confirmed_at: '2026-01-02' })
  await signUp(null, { name: 'Anonymous' }, { is_anonymous: true })
  equal(await sql('select name, is_active, email from public.users order by id'), [
    ['By phone', true, ''],
    ['Anonymous', false, ''],
  ])
})

test("a user's address follows Auth's account, belongs to one user in any case, and the name follows nothing", async () => {
  const [ana, ben] = await people('ana', 'ben')
  const emails = () => sql('select email from public.users order by id')
  const change = (email: string | null, columns = '') =>
    `update auth.users set email = ${literal(email)} ${columns} where id = '${ana.auth}'`
  await sql(change('ana.lima@tests.example', `, raw_user_meta_data = '{"name": "Another"}'`))
  equal(await emails(), ['ana.lima@tests.example', 'ben@tests.example'])
  await ana.get('/users/me', 200, { name: 'ana', email: 'ana.lima@tests.example' })
  await refuses('23505', 'users_email_key', [change('Ben@Tests.example')])
  const set = (email: string) => `update public.users set email = '${email}' where id = ${ben.id}`
  await refuses('23505', 'users_email_key', [set('ANA.Lima@tests.example')], 'service_role')
  await refuses('23514', 'email has at most 254 characters', [set('a'.repeat(255))], 'service_role')
  await allows([set('ben.b@tests.example'), set('a'.repeat(254))], 'service_role')
  const roles = ['admin', 'user'].map((role) => `update public.users set role = '${role}'`)
  await allows(roles, 'service_role')
  await refuses('23514', 'role is user or admin', [`update public.users set role = 'local'`], 'service_role')
  await sql(change(null))
  equal(await emails(), ['', 'a'.repeat(254)])
})

test("deleting Auth's account deactivates the user, keeps what partners have, and frees the address", async () => {
  const [ana, ben] = await people('ana', 'ben')
  await ana.patch('/users/searchable', { is_searchable: true })
  const ab = await talk(ana, ben)
  await ana.post(`${ab}/messages`, { content: 'Hello' }, 201)
  await ben.get(`/users/${ana.profileId}`)
  await signUp('cat@tests.example')
  await sql(`delete from auth.users where email in ('ana@tests.example', 'cat@tests.example')`)
  equal(await sql('select name, auth_id, is_active, email from public.users order by id'), [
    ['ana', null, false, ''],
    ['ben', ben.auth, true, 'ben@tests.example'],
  ])
  await ben.get(`/users/${ana.profileId}`, 403, 'This profile is not public')
  await ben.get(`${ab}/messages`, 200, [{ content: 'Hello', Sender: { name: 'ana' } }])
  await ana.get('/users/me', 401, 'This account no longer exists')
  await (await person('ana')).get('/users/me', 200, { name: 'ana' })
})

test('a deactivated user is refused, and reads once active again what was sent meanwhile', async () => {
  const [ana, ben] = await people('ana', 'ben')
  const ab = await talk(ana, ben)
  await asAdmin('update public.users set is_active = false where id = $1', [ana.id])
  await ana.get('/users/me', 403, 'This account is deactivated')
  await ben.post(`${ab}/messages`, { content: 'Until then' }, 201)
  await asAdmin('update public.users set is_active = true where id = $1', [ana.id])
  await ana.get(`${ab}/messages`, 200, [{ content: 'Until then' }])
})
