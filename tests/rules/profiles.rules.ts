/** Profiles: what their owners change, the limits of every field whoever writes, and what everybody sees. */
import { allows, anonymous, asAdmin, Caller, equal, is, type Json, people, type Person, refuses } from './fixture.ts'
import { sql, test } from './fixture.ts'

const account = { name: 'Ana Lima', bio: 'Potter', location: 'Alfama' }
const details = { first_name: 'Ana', last_name: 'Lima', age: 41, biography: 'Born by the river' }
const place = { country: 'Portugal', city: 'Lisboa', image_url: 'https://example.com/ana.png' }
const full = { ...account, ...details, ...place, is_searchable: true }
const nulls = (fields: object): Json => Object.fromEntries(Object.keys(fields).map((field) => [field, null]))
const acting = { id: 1, name: 'Acting' }

/** Ana, who has filled in everything and whose ids of user and profile differ, and Ben, who has not. */
const meet = async () => {
  await sql(`insert into public.users (name, email) values ('Apart', '')`)
  const [ana, ben] = await people('ana', 'ben')
  await ana.patch('/users/profile', { ...full, interest_ids: [1] })
  return { ana, ben }
}
/** Everything that is stored of a person. */
const stored = ({ id }: Person) =>
  sql(
    `select users || ' ' || profiles || array(
       select interest_id from public.profile_interests where profile_id = profiles.id order by 1
     )::text
     from public.users join public.profiles on user_id = users.id where users.id = $1`,
    [id],
  )
/** A change that is 400 with this text, and changes nothing. */
const refused = async (who: Person, fields: object, text: string) => {
  const before = await stored(who)
  await who.patch('/users/profile', { bio: 'Never stored', ...fields }, 400, text)
  equal(await stored(who), before)
}
/** Every one of these values is refused for the field of Ana or of her profile, with this rule's name. */
const refusesValues = (table: string, field: string, rule: string, values: unknown[]) =>
  refuses('23514', rule, values.map((value) => `update public.${table} set ${field} = ${quote(value)}`), 'service_role')
const allowsValues = (table: string, field: string, values: unknown[]) =>
  allows(values.map((value) => `update public.${table} set ${field} = ${quote(value)}`), 'service_role')
const quote = (value: unknown): string => typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : `${value}`

test('a person reads their whole account, profile and interests; what they have not filled in is null', async () => {
  const { ana, ben } = await meet()
  const own = ({ id, name }: Person) => ({ id, email: `${name}@tests.example`, role: 'user', is_active: true })
  const ids = ({ id, profileId }: Person) => ({ id: profileId, user_id: id })
  const shown = { ...ids(ana), ...details, ...place, is_searchable: true, Interests: [acting] }
  equal(await ana.get('/users/me'), { ...own(ana), ...account, Profile: shown })
  const empty = { ...ids(ben), ...nulls({ ...details, ...place }), is_searchable: false, Interests: [] }
  equal(await ben.get('/users/me'), { ...own(ben), ...nulls(account), name: 'ben', Profile: empty })
  equal([Number.isInteger(ana.profileId), ana.profileId !== ana.id], [true, true])
})

test('each field is changed by itself, null clears those that are optional, and what is not named stays', async () => {
  const { ana, ben } = await meet()
  const others = await stored(ben)
  const me = await ana.get('/users/me')
  for (const [field, value] of Object.entries(full)) {
    const other = typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${value}x`
    const changed = field in me ? { ...me, [field]: other } : { ...me, Profile: { ...me.Profile, [field]: other } }
    equal(await ana.patch('/users/profile', { [field]: other }), changed)
    equal(await ana.get('/users/me'), changed)
    equal(await ana.patch('/users/profile', { [field]: value }), me)
  }
  const before = await stored(ana)
  equal(await ana.patch('/users/profile', {}), me)
  const identity = {
    id: ben.id,
    user_id: ben.id,
    auth_id: crypto.randomUUID(),
    profile_id: 1,
    created_at: '2020-01-01',
  }
  const state = { email: 'other@tests.example', role: 'admin', is_active: false, confirmed_at: null, password: 'horse' }
  await ana.patch('/users/profile', {
    ...identity,
    ...state,
    Profile: { city: 'Elsewhere' },
    Interests: [],
    bio: 'Potter',
  })
  equal(await stored(ana), before)
  const cleared = nulls({ bio: 0, location: 0, ...details, ...place })
  const { Profile, ...user } = await ana.patch('/users/profile', cleared)
  is({ ...Profile, ...user }, { ...cleared, name: full.name, is_searchable: true })
  for (const field of ['name', 'is_searchable', 'interest_ids']) await refused(ana, { [field]: null }, field)
  equal(await stored(ben), others)
})

test('a change is atomic', async () => {
  const { ben } = await meet()
  const change = { name: 'Changed', city: 'Changed', is_searchable: true, interest_ids: [1, 999_999_999] }
  await refused(ben, change, 'interest_ids: unknown interests 999999999')
  await refused(ben, { ...change, interest_ids: [1], age: 17 }, 'age')
  const Profile = { city: 'Changed', is_searchable: true, Interests: [acting] }
  await ben.patch('/users/profile', { ...change, interest_ids: [1] }, 200, { name: 'Changed', Profile })
})

// deno-fmt-ignore
const texts: [field: string, table: string, max: number, limit: string][] = [
  ['name', 'users', 100, 'name has 1 to 100 characters'],
  ['bio', 'users', 500, 'bio has at most 500 characters'],
  ['location', 'users', 120, 'location has at most 120 characters'],
  ['first_name', 'profiles', 100, 'first_name has at most 100 characters'],
  ['last_name', 'profiles', 100, 'last_name has at most 100 characters'],
  ['biography', 'profiles', 5000, 'biography has at most 5,000 characters'],
  ['country', 'profiles', 120, 'country has at most 120 characters'],
  ['city', 'profiles', 120, 'city has at most 120 characters'],
]
test('texts have limits, which count code points, and names are one line that shows something', async () => {
  const { ben } = await meet()
  for (const [field, table, max, limit] of texts) {
    for (const letter of ['x', '😀']) {
      const { Profile, ...user } = await ben.patch('/users/profile', { [field]: letter.repeat(max) })
      equal({ ...Profile, ...user }[field], letter.repeat(max))
      await refused(ben, { [field]: letter.repeat(max + 1) }, field)
      await allowsValues(table, field, [letter.repeat(max)])
      await refusesValues(table, field, limit, [letter.repeat(max + 1)])
    }
    if (field === 'bio' || field === 'biography') continue
    const lines = [' \t\n', '\u3164', 'Team\nYour account was suspended', 'a\u202eb']
    for (const line of lines) await refused(ben, { [field]: line }, field)
    await refusesValues(table, field, `${field} is one line that shows something`, lines)
  }
  for (const name of ['', 5]) await refused(ben, { name }, 'name')
  await refusesValues('users', 'name', 'name has 1 to 100 characters', [''])
  await refuses('23502', '"name"', ['update public.users set name = null'], 'service_role')
})

test('an age is 18 to 120, and whether a profile is searchable is yes or no', async () => {
  const { ben } = await meet()
  for (const age of [18, 120]) is((await ben.patch('/users/profile', { age })).Profile.age, age)
  for (const age of [17, 121, -18, 18.5, 2 ** 31, 1e300, '30', true]) await refused(ben, { age }, 'age')
  await allowsValues('profiles', 'age', [18, 120, null])
  await refusesValues('profiles', 'age', 'age is 18 to 120', [17, 121, -20])
  for (const is_searchable of ['true', 1]) await refused(ben, { is_searchable }, 'is_searchable')
  await refuses('23502', '"is_searchable"', ['update public.profiles set is_searchable = null'], 'service_role')
  await refuses('23505', 'profiles_user_id_key', [`insert into public.profiles (user_id) values (${ben.id})`])
})

// deno-fmt-ignore
const safe = [
  'https://images.example/ana.jpg', 'https://images.example', 'https://images.example/',
  'https://images.example:8443/a.png', 'https://192.0.2.1/a.png', 'https://[2001:db8::1]:443/a.png',
  'https://größe.example/größe.png', 'https://例え.テスト/画像.png', 'https://images.example/a%20b.pdf?x=1&y=[2]{3}#top',
  'https://images.example?size=2', 'https://images.example#top', 'https://images.example/a;b,c=d$e!f*g(h)~i+j@k:l|m^n',
  'https://a_b-c.example/😀.png', 'https://localhost/a.png', `https://example.com/${'x'.repeat(2028)}`,
  `https://example.com/${'😀'.repeat(2028)}`,
]
// deno-fmt-ignore
const unsafe = [
  '', '/a.png', '//images.example/ana.jpg', 'see https://images.example/ana.jpg', 'https://', 'https:///a.png',
  'https:/images.example/a.png', 'http://images.example/a.png', 'ftp://images.example/a', 'javascript:alert(1)',
  'data:image/png;base64,AA', 'https://x"onerror=alert(1)', 'https://images.example/"onerror=alert(1) x="',
  'https://images.example/\'onerror=\'', 'https://images.example/`x`', 'https://images.example/<script>',
  'https://images.example/>', 'https://images.example/a b.png', 'https://images.example/a\\b.png',
  'https://images.example\\@elsewhere.example/', 'https://user@images.example/', 'https://user:secret@images.example/',
  'https://:80@images.example/', 'https://images.example:/a.png', 'https://images.example:port/a.png',
  'https://images.example:123456/a.png', 'https://im%61ges.example/', 'https://[images.example]/', 'https://[::1/a.png',
  'https://?x', 'https://#x', ' https://images.example/', 'https://images.example/ ', 'https://im\u200bages.example/',
  `https://example.com/${'x'.repeat(2029)}`, `https://example.com/${'😀'.repeat(2029)}`,
  ...[...'\n\u0001\u007f\u0085\u00a0\u00ad\u200b\u202e\u2028\u2066\u3000\ufeff'].map((end) => `https://images.example/${end}`),
]
test('pictures and attachments have an https address that is safe in HTML, whoever writes it', async () => {
  const { ana, ben } = await meet()
  for (const image_url of safe) is((await ben.patch('/users/profile', { image_url })).Profile.image_url, image_url)
  for (const image_url of unsafe) await refused(ben, { image_url }, 'image_url')
  await allowsValues('profiles', 'image_url', [...safe, null])
  await refusesValues('profiles', 'image_url', 'image_url is an https address of at most 2,048 characters', unsafe)
  const { id } = await ana.post('/conversations', { other_user_id: ben.id }, 201)
  await ana.post(`/conversations/${id}/messages`, { content: 'Look' }, 201)
  const attach = (urls: string[]) =>
    urls.map((url) => JSON.stringify({ url, name: 'a', mime_type: 'image/png', size: 1 }))
  // The paths in the bucket may have any character.
  const files = [...safe.slice(0, -2), 'HTTPS://images.example/a.png', "7/it’s (1)'s.png"]
  await allowsValues('messages', 'attachment', attach(files))
  const links = [...unsafe.filter((url) => url.startsWith('https:') && url.length < 2000), 'HTTPS://x"onerror=alert(1)']
  await refusesValues('messages', 'attachment', 'attachment.url is a path in the bucket or an https', attach(links))
})

test('a profile is shown and hidden at once, and nothing else of it changes', async () => {
  const { ana, ben } = await meet()
  await ben.patch('/users/profile', { image_url: place.image_url })
  const rows = () =>
    sql(
      `select to_jsonb(users) - '{public_profile_id,public_image_url}'::text[] || to_jsonb(profiles) - 'is_searchable'
       from public.users join public.profiles on user_id = users.id order by users.id`,
    )
  const before = await rows()
  for (const is_searchable of [true, true, false]) {
    equal(await ben.patch('/users/searchable', { is_searchable }), { is_searchable })
    await anonymous.get(`/users/${ben.profileId}`, is_searchable ? 200 : 403)
    equal(
      await sql('select public_profile_id, public_image_url from public.users where id = $1', [ben.id]),
      [is_searchable ? [ben.profileId, place.image_url] : [null, null]],
    )
    equal(await rows(), before)
  }
  const state = await stored(ana)
  for (const is_searchable of ['true', 1, 0, null, undefined]) {
    await ana.patch('/users/searchable', { is_searchable }, 400, 'is_searchable')
  }
  equal(await stored(ana), state)
})

test('everybody sees a searchable profile, by its id, without address, bio and location', async () => {
  const { ana, ben } = await meet()
  const path = `/users/${ana.profileId}`
  const profile = { id: ana.profileId, ...details, ...place, interests: [acting] }
  for (const who of [anonymous, ben, ana, new Caller('a forged token', 'garbage')]) {
    const { status, body, headers } = await who.ask('GET', path)
    equal([status, body], [200, { id: ana.id, name: full.name, profile }], who.name)
    equal(headers.get('Cache-Control'), 'public, max-age=3600')
  }
})

test('an ETag is valid until the profile changes, and never once it is not public', async () => {
  const { ana, ben } = await meet()
  const view = (tag: string, who = ana) =>
    anonymous.ask('GET', `/users/${who.profileId}`, undefined, { 'If-None-Match': tag })
  const first = await view('"another"')
  const tag = first.headers.get('ETag')!.replace('W/', '')
  is([first.status, tag], [200, /^".+"$/])
  // A server or proxy that compresses makes the tag weak.
  for (const same of [tag, `W/${tag}`]) {
    const { status, text, headers } = await view(same)
    equal([status, text, headers.get('ETag'), headers.get('Cache-Control')], [304, '', tag, 'public, max-age=3600'])
  }
  await ana.patch('/users/profile', { city: 'Porto' })
  const changed = await view(tag)
  is([changed.status, changed.body.profile.city, changed.headers.get('ETag') === tag], [200, 'Porto', false])
  const gone = async (who: Person, status: number, error: string) => {
    const { headers, ...answer } = await view(changed.headers.get('ETag')!, who)
    is(answer, { status, body: { error } })
    equal([headers.get('Cache-Control'), headers.get('ETag')], ['no-store', null])
  }
  await ana.patch('/users/searchable', { is_searchable: false })
  await gone(ana, 403, 'This profile is not public')
  await ana.get(`/users/${ana.profileId}`, 403, 'This profile is not public')
  await ana.patch('/users/searchable', { is_searchable: true })
  await asAdmin('update public.users set is_active = false where id = $1', [ana.id])
  await gone(ana, 403, 'This profile is not public')
  await gone(ben, 403, 'This profile is not public')
  for (const profileId of [2_147_483_648, Number.MAX_SAFE_INTEGER]) {
    await gone({ ...ana, profileId }, 404, 'Profile not found')
  }
})
