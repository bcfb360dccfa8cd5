// What one person still receives of another after a block, and after the other was hidden, suspended or erased: each
// cell of the table in docs/security.md.
import { asAdmin, equal, idOf, inDays, is, type Json, passTime, people } from './fixture.ts'
import { type Person, sql, talk, test } from './fixture.ts'
import { work } from './devices.ts'
import { rightsOn, sent } from './topics.ts'

const table = Deno.readTextFileSync(new URL('../../docs/security.md', import.meta.url))
  .split('| what the other receives')[1]!.split('\n\n')[0]!.split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()).filter((cell) => cell !== ''))
const [head, , ...rows] = table as [string[], string[], ...string[][]]

/** What cuts `subject` off from `viewer`, by the column's heading; a block in both directions. */
const restrict = (who: Person, restriction: string) =>
  asAdmin(`select public.restrict_person(person => $1, restriction => $2, note => 'Test')`, [who.id, restriction])
const cuts: Record<string, ((viewer: Person, subject: Person) => Promise<unknown>)[]> = {
  block: [
    (viewer, subject) => viewer.put(`/users/me/blocks/${subject.id}`, undefined, 204),
    (viewer, subject) => subject.put(`/users/me/blocks/${viewer.id}`, undefined, 204),
  ],
  hide: [(_, subject) => restrict(subject, 'hide')],
  suspend: [(_, subject) => restrict(subject, 'suspend')],
  erase: [(_, subject) => subject.delete('/users/me')],
}

/** What the viewer receives of the subject after the cut, by the row's name. */
const observe = async (cut: (viewer: Person, subject: Person) => Promise<unknown>): Promise<Record<string, string>> => {
  const [viewer, subject] = await people('viewer', 'xaverine')
  const city = 'Riverside'
  await subject.patch('/users/profile', { city, is_searchable: true, biography: 'Walks along rivers' })
  await sql(`select private.adopt_outbox_settings(600, true), tests.make_device('viewer')`)
  const at = await talk(viewer, subject)
  const own = await viewer.post(`${at}/messages`, { content: 'Hello' }, 201)
  const offer = await viewer.post(`${at}/reservations`, { title: 'Walk', price: 1, date: inDays(1) }, 201)
  const reservation = `${at}/reservations/${offer.id}`
  await subject.post(`${reservation}/accept`, { revision: 1 }, 200)
  const taken = await subject.post(`${at}/messages`, { content: 'Sorry' }, 201)
  const { id: waiting } = await subject.post(`${at}/messages`, { content: 'Not read yet' }, 201)
  const forget = () => Promise.all([sent(), sql('delete from private.changes')])
  await forget()
  await cut(viewer, subject)
  // An erasure is the cut and what is told of it.
  if (cut !== cuts.erase![0]) await forget()

  await subject.ask('POST', `${at}/read`, { up_to_message_id: own.id })
  await subject.ask('DELETE', `${at}/messages/${taken.id}`)
  await subject.ask('PATCH', '/users/profile', { name: 'Xaverine the second' })
  await subject.ask('POST', `${reservation}/cancel`, { note: 'Sorry' })
  const events = await sent()
  const isTold = (event: string) => events.some((line) => line.startsWith(`user:${viewer.id} ${event} `))
  // The feed does not show a transaction its own changes.
  const kinds = await sql('select kind::text from private.changes_by_reader where reader_id = $1 order by id', [
    viewer.id,
  ])
  await passTime('11 minutes')
  await work('plan_notifications(max_rows => 100, push => true, mail => true)')
  equal(await sql('select last_error from private.outbox where last_error is not null'), [], 'outbox.last_error ')
  const mail = await work('claim_mail()')
  const pushes = await work('claim_pushes(100)')
  const webhooks: Json[] = []
  // Of a conversation one after the other.
  for (let due: Json[]; (due = await work('claim_webhooks(100)')).length > 0;) {
    webhooks.push(...due)
    const outcomes = due.map(({ id }) => ({ id, outcome: 'sent' }))
    await sql('select private.finish_outbox($1)', [JSON.stringify(outcomes)], 'edge_functions')
  }
  const topics = [`typing:${idOf(at)}`]
  const typing = [await rightsOn(viewer, topics), await rightsOn(subject, topics)]

  const either = (is: unknown) => is ? 'as before' : 'nothing'
  const person = ({ name, email }: Json) => {
    if (name === 'Deleted user' && !email) return '“Deleted user”'
    return email === '' ? 'the name alone' : either(/^xaver/i.test(name))
  }
  const detail = await viewer.get(at)
  const [listed] = await viewer.get('/conversations')
  const { conversations: [exported] } = await viewer.get('/users/me/export')
  const { status, history } = await viewer.get(reservation)
  const { hits } = await viewer.get('/users/search?q=xaverine')
  const facets = (await viewer.get('/users/search?facets=city')).facetDistribution.city
  const { names } = await viewer.get('/users/search/complete?q=xaver')
  const cancelled = () =>
    !isTold('reservation.changed') || !kinds.includes('reservation')
      ? 'not told'
      : history.at(-1).note
      ? 'as before'
      : 'its status'
  return {
    'typing, presence (event)': either(typing.every((rights) => rights.length > 0)),
    'read marks (event, change)': either(isTold('message.read') || kinds.includes('read')),
    'a message taken back (event, change)': either(isTold('message.changed') || kinds.includes('message.changed')),
    'a new name (change)': either(kinds.includes('conversation')),
    'a cancelled reservation (event, change)': status === 'cancelled' ? cancelled() : 'nothing',
    // An erasure cancels reservations, which is told.
    'push of what was sent before': either(pushes.some(({ data }: Json) => data.type === 'message.created')),
    'e-mail of what was sent before': either(mail?.conversations.some(({ unread }: Json) => unread > 0)),
    'webhook, to the operator': either(
      webhooks.some(({ type, data }) => type === 'message.created' && data.id === waiting),
    ),
    'list': person(listed.Local),
    'conversation, messages': person(detail.Local),
    'export': person(exported.Local),
    'search': either(hits.some((hit: Json) => hit.user_id === subject.id)),
    'completion': either(names.some((name: string) => /^xaver/i.test(name))),
    'facet': either(facets[city]),
    'public profile': either((await viewer.ask('GET', `/users/${subject.profileId}`)).status === 200),
  }
}

for (const [cut, ways] of Object.entries(cuts)) {
  for (const [index, way] of ways.entries()) {
    test(`after ${cut} ${index} the other receives what docs/security.md says`, async () => {
      const received = await observe(way)
      for (const row of rows) is(received[row[0]!], row[1 + head.indexOf(cut)], `${row[0]} `)
      equal([Object.keys(received), head], [rows.map(([name]) => name), Object.keys(cuts)])
    })
  }
}
