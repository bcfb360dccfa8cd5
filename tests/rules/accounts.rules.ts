/**
 * Accounts: how Auth's accounts become users, who owns an address before it is confirmed, and what ends an account.
 * What a sign-up may have is in tests/contract/auth.test.ts.
 */
import { allows, anonymous, asAdmin, Caller, equal, is, type Json, people, person, refuses, sql } from './fixture.ts'
import { talk, test, tokenOf } from './fixture.ts'

const literal = (value: unknown): string => value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`
const address = (name: string | null) => name && `${name}@tests.example`
/** Inserts an account as Auth does; unless `columns` say so, its address is not confirmed. */
const insertAccount = (name: string | null, metadata: Json = {}, columns: Record<string, unknown> = {}): string => {
  const all = {
    ...{ id: crypto.randomUUID(), email: address(name), raw_user_meta_data: metadata && JSON.stringify(metadata) },
    ...{ encrypted_password: 'a hash', created_at: '2026-01-02T03:04:05.678Z', ...columns },
  }
  return `insert into auth.users (${Object.keys(all)}) values (${Object.values(all).map(literal)})`
}
const signUp = (...account: Parameters<typeof insertAccount>) => sql(insertAccount(...account))
const confirmed = { email_confirmed_at: '2026-01-02' }
const call = async (text: string, values: unknown[]): Promise<Json> =>
  JSON.parse((await sql(`select private.${text}($1, $2, $3)::text`, values, 'edge_functions'))[0])
/** The first and the last call of the Edge Function about a sign-up. */
const begin = (name: string, fields: object = {}, as = 'Cat') => call('begin_sign_up', [address(name), as, fields])
const check = (name: string, { ticket }: Json, accepted = true) =>
  call('check_sign_up', [address(name), ticket, accepted])
const accounts = (name: string) => sql('select encrypted_password from auth.users where email = $1', [address(name)])
const users = (columns: string, name: string) =>
  sql(`select ${columns} from public.users where email = $1`, [address(name)])

test('a sign-up makes a user and a profile with its fields, and nothing personal is left of it', async () => {
  const fields = { bio: 'Potter', location: 'Porto' }
  const profile = { first_name: 'Ana', last_name: 'Lima', age: 31, biography: 'Clay and tiles.', country: 'Portugal' }
  const shown = { city: 'Porto', image_url: 'https://images.example/ana.jpg', is_searchable: true }
  const forged = { role: 'admin', is_active: false, email: 'admin@tests.example', id: 1, user_id: 1, auth_id: null }
  // So that ids of users and profiles differ.
  await sql(`insert into public.users (name, email) values ('Apart', '')`)
  const all = { ...fields, ...profile, ...shown, ...forged, interest_ids: [3, 2, 3] }
  const { ticket, user_id, pending } = await begin('ana', all, 'Ana')
  const id = crypto.randomUUID()
  const metadata = { ticket, name: 'Another', locale: 'pt', profile: { bio: 'Another' }, id: 1 }
  await signUp('ana', metadata, { id, ...confirmed })
  const ana = new Caller('ana', await tokenOf(id))
  const { Profile: { id: profileId, Interests, ...details }, ...user } = await ana.get('/users/me')
  equal(user, { id: user_id, name: 'Ana', email: address('ana'), ...fields, role: 'user', is_active: true })
  is(details, { user_id, ...profile, ...shown })
  equal([pending, Interests.map(({ id }: Json) => id).sort(), profileId === user_id], [false, [2, 3], false])
  is((await ana.get('/users/me/export')).user, { createdAt: '2026-01-02T03:04:05.678Z' })
  equal([await sql('select name, fields from private.sign_ups'), await users('id', 'admin')], [[[null, null]], []])
})

test('an account that Auth makes without a sign-up gets defaults, and a name in any case', async () => {
  const empty = { first_name: null, last_name: null, age: null, biography: null, country: null, city: null }
  const profile = { city: 'Faro', id: 10 ** 9, user_id: 10 ** 9, is_searchable: true }
  for (const metadata of [null, { role: 'admin', is_active: false, bio: 'Forged', ...profile, profile }]) {
    const id = crypto.randomUUID()
    await signUp(id, metadata, { id, ...confirmed })
    const { Profile, ...user } = await new Caller('ben', await tokenOf(id)).get('/users/me')
    is(user, { name: 'New user', bio: null, location: null, role: 'user', is_active: true })
    is(Profile, { ...empty, image_url: null, is_searchable: false, Interests: [] })
    is([user.id, Profile.id].includes(10 ** 9), false)
  }
  const tickets = [{ ticket: "' or true --" }, { ticket: crypto.randomUUID() }]
  const unnamed = [{}, { name: '' }, { name: null }, { profile: { city: 'Porto' } }, ...tickets]
  for (const metadata of [{ name: 'Ana' }, { name: 'b'.repeat(101) }, ...unnamed]) {
    await signUp(crypto.randomUUID(), metadata)
    const name = ('name' in metadata && metadata.name?.slice(0, 100)) || 'New user'
    equal(await sql('select name from public.users order by id desc limit 1'), [name])
  }
})

test('until its address is confirmed an account is in no search, unknown to everybody, and cannot act', async () => {
  const [ana] = await people('ana')
  const id = crypto.randomUUID()
  const fields = { biography: 'Quagga', is_searchable: true, interest_ids: [1] }
  await signUp('ben', await begin('ben', fields, 'Benjamin'), { id })
  const [ben] = await users('id', 'ben')
  const [profile] = await sql(`select id from public.profiles where user_id = ${ben}`)
  const caller = new Caller('ben', await tokenOf(id))
  const found = async (who = anonymous) => (await who.get('/users/search?q=Quagga')).estimatedTotalHits
  const isKnown = async (isKnown: boolean) => {
    await anonymous.get(`/users/${profile}`, isKnown ? 200 : 404)
    await ana.post('/conversations', { other_user_id: ben }, isKnown ? 201 : 404)
    await ana.put(`/users/me/blocks/${ben}`, undefined, isKnown ? 204 : 404)
    await ana.delete(`/users/me/blocks/${ben}`, isKnown ? 204 : 404)
  }
  equal(await users('is_active, confirmed_at', 'ben'), [[false, null]])
  // Where a token is optional, its bearer is anonymous.
  equal([await found(), await found(ana), await found(caller)], [0, 0, 0])
  await isKnown(false)
  for (const path of ['/users/me', '/conversations']) await caller.get(path, 401, 'This account no longer exists')
  equal(await sql(`select count(*) from private.embedding_queue where id in (${ben}, ${profile})`), [0])
  const rule = 'nobody is active before their address is confirmed'
  await refuses('23514', rule, [`update public.users set is_active = true where id = ${ben}`], 'service_role')
  const confirm = (moment: string) => sql(`update auth.users set email_confirmed_at = ${moment} where id = '${id}'`)
  await confirm('now()')
  equal([await users('is_active, confirmed_at = now()', 'ben'), await found()], [[[true, true]], 1])
  await isKnown(true)
  await caller.get('/users/me', 200, { id: ben, name: 'Benjamin' })
  // Once.
  await asAdmin(`update public.users set is_active = false where id = ${ben}`)
  for (const moment of ['null', 'now()']) await confirm(moment)
  await caller.get('/users/me', 403, 'This account is deactivated')
})

test('a pending account is replaced by the latest sign-up whose CAPTCHA Auth has accepted', async () => {
  const stranger = await begin('cat', { biography: 'Dodo', is_searchable: true }, 'Stranger')
  await signUp('cat', stranger)
  const [earlier, later] = [await begin('cat'), await begin('CAT')]
  equal([stranger.pending, later.pending], [false, true])
  equal([await check('cat', later, false), await users('name', 'cat')], ['taken', ['Stranger']])
  equal([await check('cat', later), await accounts('cat'), await users('name', 'cat')], ['retry', [], []])
  equal(await sql(`select count(*) from public.profiles where biography = 'Dodo'`), [0])
  equal([await check('cat', later), await check('cat', earlier)], ['not made', 'superseded'])
  // Auth has made the account of the earlier one all the same.
  await signUp('cat', earlier)
  equal([await check('cat', later), await accounts('cat')], ['retry', []])
  await signUp('cat', { ...later, id: 1 })
  equal([await check('cat', later), await users('id', 'cat')], ['made', [later.user_id]])
  // A sign-up that began before and asks only now does not remove it.
  const [ticket] = await sql(`insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
    values (${later.user_id - 1}, 1, sha256('cat@tests.example'), 'Late', '{}') returning ticket`)
  equal([await check('cat', { ticket }), await users('id', 'cat')], ['superseded', [later.user_id]])
  // A ticket is good for one account, and an account that was made in Auth directly gives way.
  await signUp('dan', { name: 'Dan', ticket: later.ticket })
  equal(await users(`name, id = ${later.user_id}`, 'dan'), [['Dan', false]])
  const direct = await begin('fay')
  await signUp('fay', { name: 'Stranger' })
  equal([await check('fay', direct), await accounts('fay')], ['retry', []])
  await signUp('fay', direct)
  equal([await check('fay', direct), await users('id', 'fay')], ['made', [direct.user_id]])
  // A later one supersedes once Auth has accepted its CAPTCHA, and not before.
  const [one, other] = [await begin('hal'), await begin('hal')]
  equal([other.pending, await check('hal', one)], [false, 'not made'])
  await check('hal', other)
  equal(await check('hal', one), 'superseded')
})

test('an account that was confirmed or invited, or with which somebody converses, is never replaced', async () => {
  const [ana] = await people('ana')
  for (const name of ['ana', 'ANA']) {
    const [earlier, later] = [await begin(name), await begin(name)]
    equal([later.pending, await check(name, later), await check(name, earlier)], [false, 'taken', 'taken'])
  }
  await sql(`update auth.users set email_confirmed_at = null`)
  await signUp('ivy', { name: 'Ivy' }, { encrypted_password: '', invited_at: '2026-01-02' })
  await signUp('dora', { name: 'Dora' })
  await asAdmin(`insert into public.conversations (voyager_id, local_id)
    select ${ana.id}, id from public.users where name = 'Dora'`)
  for (const name of ['ana', 'ivy', 'dora']) equal(await check(name, await begin(name)), 'taken')
  equal(await sql('select count(*) from auth.users'), [3])
  await ana.get('/users/me')
})

test('every sign-up uses up one user id and one profile id, and is forgotten after an hour', async () => {
  await people('ana')
  const [taken, free] = [await begin('ana'), await begin('nobody')]
  equal(free.user_id - taken.user_id, 1)
  equal(await sql('select max(profile_id) - min(profile_id) from private.sign_ups'), [1])
  for (const [minutes, { ticket }] of [[59, free], [61, taken]] as const) {
    await sql(`update private.sign_ups set begun_at = now() - interval '${minutes} minutes' where ticket = '${ticket}'`)
  }
  await begin('ben')
  equal(await sql('select ticket from private.sign_ups where begun_at < now()'), [free.ticket])
})

test('recovery or an invitation takes the password of a pending account, and of no other', async () => {
  await people('ana')
  for (const name of ['cat', 'gil']) await signUp(name, { name: 'Stranger' })
  const passwords = async (change: string) => {
    await sql(`update auth.users set ${change}`)
    return await sql(`select concat(left(email, 3), ' ', encrypted_password) from auth.users order by email`)
  }
  const all = ['ana a hash', 'cat a hash', 'gil a hash']
  equal(await passwords(`encrypted_password = 'a hash'`), all)
  for (const none of ['null', "''"]) equal(await passwords(`recovery_token = ${none}`), all)
  const recovered = ['ana a hash', 'cat ', 'gil a hash']
  equal(await passwords(`recovery_token = md5(email), recovery_sent_at = now() where email not like 'gil%'`), recovered)
  const chosen = ['ana a hash', 'cat chosen', 'gil a hash']
  equal(await passwords(`encrypted_password = 'chosen', recovery_token = null where email like 'cat%'`), chosen)
  equal(await passwords(`invited_at = now() where email not like 'cat%'`), ['ana a hash', 'cat chosen', 'gil '])
})

test('a confirmed phone activates an account; an anonymous sign-in does not', async () => {
  await signUp(null, { name: 'By phone' }, { phone: '351900000001', phone_confirmed_at: '2026-01-02' })
  await signUp(null, { name: 'Anonymous' }, { is_anonymous: true })
  equal(await sql(`select name, is_active from public.users order by id`), [['By phone', true], ['Anonymous', false]])
})

test("a user's address follows Auth's account, and belongs to one user in any case; the name stays", async () => {
  const [ana, ben] = await people('ana', 'ben')
  const emails = () => sql('select email from public.users order by id')
  const change = (email: string | null, columns = '') =>
    `update auth.users set email = ${literal(email)} ${columns} where id = '${ana.auth}'`
  await sql(change('ana.lima@tests.example', `, raw_user_meta_data = '{"name": "Another"}'`))
  equal(await emails(), ['ana.lima@tests.example', 'ben@tests.example'])
  await ana.get('/users/me', 200, { name: 'ana', email: 'ana.lima@tests.example' })
  await refuses('23505', 'users_email_key', [change('Ben@Tests.example')])
  const set = (columns: string) => `update public.users set ${columns} where id = ${ben.id}`
  await refuses('23505', 'users_email_key', [set(`email = 'ANA.Lima@tests.example'`)], 'service_role')
  await refuses('23514', 'email has at most 254 characters', [set(`email = repeat('a', 255)`)], 'service_role')
  await refuses('23514', 'role is user or admin', [set(`role = 'local'`)], 'service_role')
  const allowed = [`email = 'ben.b@tests.example'`, `email = repeat('a', 254)`, `role = 'admin'`, `role = 'user'`]
  await allows(allowed.map(set), 'service_role')
  await sql(change(null))
  equal(await emails(), ['', 'a'.repeat(254)])
})

test("deleting Auth's account deactivates the user, keeps what partners have, and frees the address", async () => {
  const [ana, ben] = await people('ana', 'ben')
  await ana.patch('/users/searchable', { is_searchable: true })
  const ab = await talk(ana, ben)
  await ana.post(`${ab}/messages`, { content: 'Hello' }, 201)
  await ben.get(`/users/${ana.profileId}`)
  await signUp('cat')
  await sql(`delete from auth.users where email <> 'ben@tests.example'`)
  const states = `select concat_ws(' ', name, is_active, auth_id, email) from public.users order by id`
  equal(await sql(states), ['ana f ', `ben t ${ben.auth} ben@tests.example`])
  await ben.get(`/users/${ana.profileId}`, 403, 'This profile is not public')
  await ben.get(`${ab}/messages`, 200, [{ content: 'Hello', Sender: { name: 'ana' } }])
  await ana.get('/users/me', 401, 'This account no longer exists')
  await (await person('ana')).get('/users/me', 200, { name: 'ana' })
})
