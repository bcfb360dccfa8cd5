/** Profiles: what their owners change, the limits of every field whoever writes, and what everybody sees. */
import { allows, anonymous, asAdmin, Caller, equal, is, type Json, people, type Person, refuses } from './fixture.ts'
import { setting, sql, talk, test } from './fixture.ts'

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
const stored = ({ id }: Person) =>
  sql(`select concat(users, profiles, array(
      select interest_id from public.profile_interests where profile_id = profiles.id order by 1
    )) from public.users join public.profiles on user_id = users.id where users.id = ${id}`)
/** Changes that are 400 with this text, and change nothing. */
const refused = async (who: Person, text: string, changes: object[]) => {
  const before = await stored(who)
  for (const change of changes) await who.patch('/users/profile', { bio: 'Never stored', ...change }, 400, text)
  equal(await stored(who), before)
}
const refusedValues = (who: Person, field: string, values: unknown[]) =>
  refused(who, `${field}:`, values.map((value) => ({ [field]: value })))
const quote = (value: unknown): string => typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : `${value}`
/** Statements of an admin that set a column to each of these values. */
const sets = (column: string, values: unknown[]) =>
  values.map((value) => `update public.${column.replace('.', ' set ')} = ${quote(value)}`)
const refusesValues = (column: string, rule: string, values: unknown[]) =>
  refuses('23514', rule, sets(column, values), 'service_role')
const allowsValues = (column: string, values: unknown[]) => allows(sets(column, values), 'service_role')

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
  equal(await ana.patch('/users/profile', {}), me)
  const cleared = nulls({ bio: 0, location: 0, ...details, ...place })
  const { Profile, ...user } = await ana.patch('/users/profile', cleared)
  is({ ...Profile, ...user }, { ...cleared, name: full.name, is_searchable: true })
  for (const field of ['name', 'is_searchable', 'interest_ids']) await refusedValues(ana, field, [null])
  equal(await stored(ben), others)
})

test('a change is atomic', async () => {
  const { ben } = await meet()
  const change = { name: 'Changed', city: 'Changed', is_searchable: true, interest_ids: [1, 999_999_999] }
  await refused(ben, 'interest_ids: unknown interests 999999999', [change])
  await refused(ben, 'age:', [{ ...change, interest_ids: [1], age: 17 }])
  const Profile = { city: 'Changed', is_searchable: true, Interests: [acting] }
  await ben.patch('/users/profile', { ...change, interest_ids: [1] }, 200, { name: 'Changed', Profile })
})

// deno-fmt-ignore
const texts: [column: string, max: number, limit: string][] = [
  ['users.name', 100, 'name has 1 to 100 characters'], ['users.bio', 500, 'bio has at most 500 characters'],
  ['users.location', 120, 'location has at most 120 characters'],
  ['profiles.first_name', 100, 'first_name has at most 100 characters'],
  ['profiles.last_name', 100, 'last_name has at most 100 characters'],
  ['profiles.biography', 5000, 'biography has at most 5,000 characters'],
  ['profiles.country', 120, 'country has at most 120 characters'],
  ['profiles.city', 120, 'city has at most 120 characters'],
  ['profiles.languages', 200, 'languages has at most 200 characters'],
]
test('texts have limits, which count code points, and names are one line that shows something', async () => {
  const { ben } = await meet()
  for (const [column, max, limit] of texts) {
    const field = column.split('.')[1]!
    for (const letter of ['x', '😀']) {
      await ben.patch('/users/profile', { [field]: letter.repeat(max) })
      const { Profile, ...user } = await ben.get('/users/me?more=true')
      equal({ ...Profile, ...user }[field], letter.repeat(max))
      await refusedValues(ben, field, [letter.repeat(max + 1)])
      await allowsValues(column, [letter.repeat(max)])
      await refusesValues(column, limit, [letter.repeat(max + 1)])
    }
    if (field === 'bio' || field === 'biography') continue
    const lines = [' \t\n', '\u3164', 'Team\nYour account was suspended', 'a\u202eb']
    await refusedValues(ben, field, lines)
    await refusesValues(column, `${field} is one line that shows something`, lines)
  }
  await refusedValues(ben, 'name', [''])
  await refusesValues('users.name', 'name has 1 to 100 characters', [''])
  await refuses('23502', '"name"', sets('users.name', [null]), 'service_role')
})

test('with more=true everybody reads languages and the time zone of the place; languages are searched', async () => {
  const { ana } = await meet()
  const places = { Funchal: 'Portugal', Nowhereton: 'France', Elsewhere: 'Spain' }
  const zones = []
  for (const [city, country] of Object.entries(places)) {
    await ana.patch('/users/profile', { city, country, languages: 'Catalan, some Greek' })
    zones.push((await anonymous.get(`/users/${ana.profileId}?more=true`)).time_zone)
  }
  equal(zones, ['Atlantic/Madeira', 'Europe/Paris', null])
  is(await anonymous.get(`/users/${ana.profileId}?more=true`), { languages: 'Catalan, some Greek' })
  is((await anonymous.get('/users/search?q=speaks Catalan')).hits, [{ user_id: ana.id }])
})

test('an age is 18 to 120, and whether a profile is searchable is yes or no', async () => {
  const { ben } = await meet()
  for (const age of [18, 120]) is((await ben.patch('/users/profile', { age })).Profile.age, age)
  await refusedValues(ben, 'age', [17, 121])
  await allowsValues('profiles.age', [18, 120, null])
  await refusesValues('profiles.age', 'age is 18 to 120', [17, 121, -20])
  await refuses('23502', '"is_searchable"', sets('profiles.is_searchable', [null]), 'service_role')
  await refuses('23505', 'profiles_user_id_key', [`insert into public.profiles (user_id) values (${ben.id})`])
})

const host = 'https://images.example'
// deno-fmt-ignore
const safe = [
  ...['', '/', '/ana.jpg', ':8443/a.png', '/a%20b.pdf?x=1&y=[2]{3}#top', '?size=2', '#top'].map((rest) => host + rest),
  `${host}/a;b,c=d$e!f*g(h)~i+j@k:l|m^n`, 'https://192.0.2.1/a.png', 'https://[2001:db8::1]:443/a.png',
  'https://größe.example/größe.png', 'https://例え.テスト/画像.png', 'https://a_b-c.example/😀.png',
  'https://localhost/a.png', ...['x', '😀'].map((letter) => `https://example.com/${letter.repeat(2028)}`),
]
// deno-fmt-ignore
const unsafe = [
  '', '/a.png', '//images.example/a', `see ${host}`, 'https://', 'https:///a', 'https:/images.example', ` ${host}`,
  'http://images.example/a', 'ftp://images.example/a', 'javascript:alert(1)', 'data:image/png;base64,AA',
  ...['"onerror=alert(1) x="', '\'onerror=\'', '`x`', '<script>', '>', 'a b.png', 'a\\b.png',
    ...' \n\u0001\u007f\u0085\u00a0\u00ad\u200b\u202e\u2028\u2066\u3000\ufeff'].map((rest) => `${host}/${rest}`),
  'https://x"onerror=alert(1)', `${host}\\@elsewhere.example/`, 'https://user@images.example/', 'https://a:b@x.org/',
  'https://:80@images.example/', `${host}:/a`, `${host}:port/a`, `${host}:123456/a`, 'https://im%61ges.example/',
  'https://[images.example]/', 'https://[::1/a.png', 'https://?x', 'https://#x', 'https://im\u200bages.example/',
  ...['x', '😀'].map((letter) => `https://example.com/${letter.repeat(2029)}`),
]
test('a photo without https is one of the Storage of one machine, and elsewhere there is none', async () => {
  const { ben } = await meet()
  const at = (origin: string) => `${origin}/storage/v1/object/public/avatars/${ben.auth}/ben.png`
  const here = at('http://127.0.0.1:54321')
  const others = ['127.0.0.1:22', '127.0.0.1', '127.0.0.1:543210', 'localhost:54321', '10.0.0.1:54321']
    .map((host) => at(`http://${host}`))
  await ben.patch('/users/profile', { image_url: here })
  await refusedValues(ben, 'image_url', others)
  await refusesValues('profiles.image_url', 'image_url is an https address', others)
  setting('SUPABASE_URL', 'https://ref.supabase.co')
  await refusedValues(ben, 'image_url', [here, ...others])
  const source = Deno.readTextFileSync(new URL('../../sql/schema/00_foundation/10_foundation.sql', import.meta.url))
  const [deployed] = /create function private\.is_own_photo[^]*?\$\$;/.exec(source)!
  await sql(deployed.replace('create', 'create or replace'))
  await refusesValues('profiles.image_url', 'image_url is an https address', [here, ...others])
})

test('pictures and attachments have an https address that is safe in HTML, whoever writes it', async () => {
  const { ana, ben } = await meet()
  for (const image_url of safe) is((await ben.patch('/users/profile', { image_url })).Profile.image_url, image_url)
  await refusedValues(ben, 'image_url', unsafe)
  await allowsValues('profiles.image_url', [...safe, null])
  await refusesValues('profiles.image_url', 'image_url is an https address of at most 2,048 characters', unsafe)
  await ana.post(`${await talk(ana, ben)}/messages`, { content: 'Look' }, 201)
  const files = (urls: string[]) => urls.map((url) => JSON.stringify({ url, name: 'a', mime_type: 'a/b', size: 1 }))
  // The paths in the bucket may have any character.
  await allowsValues('messages.attachment', files([...safe.slice(0, -2), `HTTPS${host.slice(5)}`, "7/it’s (1)'s.png"]))
  const links = [...unsafe.filter((url) => url.startsWith('https:') && url.length < 2000), 'HTTPS://x"onerror=alert(1)']
  await refusesValues('messages.attachment', 'attachment.url is a path in the bucket or an https address', files(links))
})

test('a profile is shown and hidden at once, and nothing else of it changes', async () => {
  const { ben } = await meet()
  await ben.patch('/users/profile', { image_url: place.image_url })
  const rows = () =>
    sql(`select to_jsonb(users) || to_jsonb(profiles) - 'is_searchable'
      from public.users join public.profiles on user_id = users.id order by users.id`)
  const before = await rows()
  for (const is_searchable of [true, true, false]) {
    equal(await ben.patch('/users/searchable', { is_searchable }), { is_searchable })
    await anonymous.get(`/users/${ben.profileId}`, is_searchable ? 200 : 403)
    equal(await rows(), before)
  }
  equal((await ben.get('/users/me')).Profile.is_searchable, false)
})

test('everybody sees a searchable profile, by its id, without address, bio and location', async () => {
  const { ana, ben } = await meet()
  const profile = { id: ana.profileId, ...details, ...place, interests: [acting] }
  for (const who of [anonymous, ben, ana, new Caller('a forged token', 'garbage')]) {
    const { status, body, headers } = await who.ask('GET', `/users/${ana.profileId}`)
    equal([status, headers.get('Cache-Control')], [200, 'public, max-age=3600'], who.name)
    equal(body, { id: ana.id, name: full.name, profile })
  }
})

test('an ETag is valid until the profile changes, and never once it is not public', async () => {
  const { ana, ben } = await meet()
  const view = async (tag: string, { profileId } = ana) => {
    const answer = await anonymous.ask('GET', `/users/${profileId}`, undefined, { 'If-None-Match': tag })
    return { ...answer, tag: answer.headers.get('ETag'), cached: answer.headers.get('Cache-Control') }
  }
  const tag = (await view('"another"')).tag!.replace('W/', '')
  is(tag, /^".+"$/)
  // A server or proxy that compresses makes the tag weak.
  const unchanged = { status: 304, text: '', tag, cached: 'public, max-age=3600' }
  for (const same of [tag, `W/${tag}`]) is(await view(same), unchanged)
  await ana.patch('/users/profile', { city: 'Porto' })
  const changed = await view(tag)
  is(changed, { status: 200, body: { profile: { city: 'Porto' } } })
  const gone = async (who: Pick<Person, 'profileId'>, status: number, error: string) =>
    is(await view(changed.tag!, who as Person), { status, body: { error }, tag: null, cached: 'no-store' })
  const hidden = 'This profile is not public'
  await ana.patch('/users/searchable', { is_searchable: false })
  await gone(ana, 403, hidden)
  await ana.get(`/users/${ana.profileId}`, 403, hidden)
  await ana.patch('/users/searchable', { is_searchable: true })
  await asAdmin(`update public.users set is_active = false where id = ${ana.id}`)
  for (const who of [ana, ben]) await gone(who, 403, hidden)
  for (const profileId of [2 ** 31, Number.MAX_SAFE_INTEGER]) await gone({ profileId }, 404, 'Profile not found')
})
