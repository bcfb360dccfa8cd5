/** How soon a person answers, as their public view says it on request. */
import { anonymous, equal, is, type Json, people, type Person, refuses, sql, test } from './fixture.ts'
import { activate } from './talks.ts'

/** How long ago others wrote first, and after how long the host answered; null is not yet. */
type Contact = [ago: string, took: string | null]
const times = (count: number, ...contact: Contact): Contact[] => Array(count).fill(contact)

/** A host, and a conversation of each of these contacts with somebody else who opened it, or whom the host did. */
const contact = async (host: Person, contacts: Contact[], opener: 'guest' | 'host' = 'guest') => {
  for (const [ago, took] of contacts) {
    const [[guest, conversation]] = await sql(
      `with guest as (
         insert into public.users (name, email, is_active, confirmed_at) values ('Guest', '', true, now()) returning id
       ), opened as (
         insert into public.conversations (voyager_id, local_id)
         select case $2 when 'guest' then id else $1 end, case $2 when 'guest' then $1 else id end from guest
         returning id
       )
       select guest.id as guest, opened.id as opened from guest, opened`,
      [host.id, opener],
    )
    await sql(
      `insert into public.messages (conversation_id, user_id, content, created_at)
       select $2::bigint, $3::bigint, 'Hello', now() - $4::interval union all
       select $2, $1, 'Hello', now() - $4::interval + $5::interval where $5::text is not null`,
      [host.id, conversation, guest, ago, took],
    )
  }
}
const view = async (host: Person) => (await anonymous.get(`/users/${host.profileId}?more=true`)).answers
const measured = async (host: Person) => {
  await sql('select private.measure_answers()')
  return await view(host)
}
let hosts = 0
const meet = async (...contacts: Contact[]) => {
  const [host, other] = await people(`host${++hosts}`, `other${hosts}`)
  await host.patch('/users/profile', { is_searchable: true })
  await contact(host, contacts)
  return { host, other }
}

test('the median of five or more first messages says how soon somebody answers, and nothing finer', async () => {
  // deno-fmt-ignore
  const cases: [Json, Contact[]][] = [
    ['within an hour', times(5, '2 days', '1 hour')], [null, times(4, '2 days', '59 minutes')],
    ['within a day', times(5, '2 days', '61 minutes')], ['within a week', times(5, '20 days', '25 hours')],
    [null, times(5, '20 days', '8 days')], [null, times(5, '91 days', '5 minutes')],
    // Whoever got no answer waits for ever.
    ['within an hour', [...times(3, '2 days', '5 minutes'), ...times(2, '2 days', null)]],
    [null, [...times(2, '20 days', '5 minutes'), ...times(3, '20 days', null)]],
    [null, [...times(3, '20 days', '5 minutes'), ...times(3, '20 days', null)]],
    // Unless it is too early to say.
    ['within an hour', [...times(5, '2 days', '5 minutes'), ...times(9, '50 minutes', null)]],
    [null, times(5, '50 minutes', '5 minutes')],
    ['within a day', [...times(5, '2 days', '5 minutes'), ...times(9, '3 hours', null)]],
  ]
  for (const [expected, contacts] of cases) {
    const { host } = await meet(...contacts)
    equal([await measured(host), contacts], [expected, contacts])
  }
  const { host } = await meet(...times(5, '2 days', '5 minutes'))
  equal(await measured(host), 'within an hour')
  const whole = await anonymous.get(`/users/${host.profileId}?more=true`)
  const { answers: _, languages: __, time_zone: ___, ...printed } = whole
  for (const query of ['', '?more=false']) equal(await anonymous.get(`/users/${host.profileId}${query}`), printed)
  const kept = await sql('select to_jsonb(spans)::text from private.answer_spans as spans where user_id = $1', [
    host.id,
  ])
  equal(kept.map((row) => JSON.parse(row as string)), [{ user_id: host.id, answers: 'within an hour' }])
  const statements = ['select answers from private.answer_spans', 'select private.measure_answers()']
  for (const role of ['authenticated', 'service_role']) await refuses('42501', 'denied', statements, role)
})

test('what another person wrote first counts, unless they are blocked, have left or have taken it back', async () => {
  const { host } = await meet()
  await contact(host, times(5, '2 days', '5 minutes'), 'host')
  equal(await measured(host), 'within an hour')
  for (
    const change of [
      // As if the host had written first.
      `insert into public.messages (id, conversation_id, user_id, content) overriding system value
       select -id, id, local_id, 'Hello' from public.conversations where local_id = $1`,
      `insert into private.blocks (blocker_id, blocked_id)
       select $1, voyager_id from public.conversations where local_id = $1`,
      `update public.users set is_active = false
       from public.conversations where voyager_id = users.id and local_id = $1`,
      `update public.messages set content = ''
       from public.conversations where conversations.id = conversation_id and user_id = voyager_id and local_id = $1`,
    ]
  ) {
    const { host } = await meet(...times(5, '2 days', '5 minutes'))
    equal(await measured(host), 'within an hour')
    await sql(
      'alter table public.messages drop constraint if exists "a message says something or carries an attachment"',
    )
    await sql(change, [host.id])
    equal([await measured(host), change], [null, change])
  }
})

test('it can be switched off and on again, is nowhere while a profile is hidden, and erasing removes it', async () => {
  const { host, other } = await meet(...times(5, '2 days', '5 minutes'))
  const choice = async () => (await host.get('/users/me?more=true')).Profile.show_answers
  equal([await measured(host), await choice()], ['within an hour', true])
  const me = await host.get('/users/me')
  const chosen = { ...me.Profile, show_answers: true, languages: null }
  equal(await host.get('/users/me?more=true'), { ...me, Profile: chosen, warnings: [] })
  equal(await host.patch('/users/profile', { show_answers: false }), me)
  equal([await view(host), await choice()], [null, false])
  equal(await measured(host), null)
  equal(await sql('select from private.answer_spans where user_id = $1', [host.id]), [])
  is(await host.get('/users/me/export'), { answers: null, profile: { show_answers: false } })
  await host.patch('/users/profile', { show_answers: true })
  equal([await view(host), await measured(host), await choice()], [null, 'within an hour', true])
  is(await host.get('/users/me/export'), { answers: 'within an hour', profile: { show_answers: true } })
  is(await other.get('/users/me/export'), { answers: null })
  is((await other.get('/users/me?more=true')).Profile.show_answers, true)

  const refused = (status: number) => anonymous.get(`/users/${host.profileId}?more=true`, status)
  await host.patch('/users/searchable', { is_searchable: false })
  await refused(403)
  await host.patch('/users/searchable', { is_searchable: true })
  await activate(host, false)
  await refused(403)
  await activate(host, true)
  await host.delete('/users/me')
  await refused(404)
  equal(await sql('select from private.answer_spans where user_id = $1', [host.id]), [])
})

test('the view with it has its own ETag, which changes with it', async () => {
  const { host } = await meet(...times(5, '2 days', '5 minutes'))
  await sql('select private.measure_answers()')
  const ask = (query: string, tag = '') =>
    anonymous.ask('GET', `/users/${host.profileId}${query}`, undefined, { 'If-None-Match': tag })
  const [plain, more] = [await ask(''), await ask('?more=true')]
  const [plainTag, moreTag] = [plain, more].map(({ headers }) => headers.get('ETag')!)
  equal([more.headers.get('Cache-Control'), plainTag !== moreTag], ['public, max-age=3600', true])
  equal([(await ask('?more=true', moreTag)).status, (await ask('?more=true', plainTag)).status], [304, 200])
  await host.patch('/users/profile', { show_answers: false })
  equal([(await ask('?more=true', moreTag)).status, (await ask('', plainTag)).status], [200, 304])
})
