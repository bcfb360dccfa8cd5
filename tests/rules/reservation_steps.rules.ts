/** Who answers and changes an offer, at which revision, from which status, and beside which partner. */
import { stepsOf } from '../../clients/partner.ts'
import { type Answer, asAdmin, equal, inDays, is, people, type Person, talk, test } from './fixture.ts'
import { accept, change, counter, denied, draft, historyOf, leadsTo, meet, offer, write } from './offers.ts'
import { steps, stepsIn } from './offers.ts'
import { activate, block } from './talks.ts'

test('the other one answers, either cancels, and each step is once in the history, with its note', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  for (const step of ['accept', 'decline']) {
    await ana.post(`${it}/${step}`, { revision: 1 }, 409, 'Only the other participant can answer this offer')
  }
  const accepted = await ben.post(`${it}/accept`, { revision: 1, note: 'Welcome' }, 200, { status: 'accepted' })
  for (const who of [ben, ana]) equal(await who.post(`${it}/accept`, { revision: 1, note: 'Again' }, 200), accepted)
  await ana.post(`${it}/cancel`, { note: 'x'.repeat(501) }, 400, 'note')
  const note = 'x'.repeat(500)
  const { updatedAt } = await ana.post(`${it}/cancel`, { note }, 200, { status: 'cancelled', offered_by: ana.id })
  const seen = [['pending', ana.id, null], ['accepted', ben.id, 'Welcome'], ['cancelled', ana.id, note]]
  equal(await stepsIn(ben, it), seen)
  is((await historyOf(ben, it))[2].createdAt, updatedAt)
})

test('a counter-offer changes every term and who answers; without a difference nothing happens', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  const terms = { title: 'A climb', price: 25.5, date: inDays(20), ends_at: inDays(21) }
  const countered = await counter(ben, it, terms, 200, { ...terms, status: 'pending', offered_by: ben.id, revision: 2 })
  await accept(ben, it, 409, { error: 'Only the other participant can answer this offer' })
  for (const same of [{}, { price: 25.50, title: 'A climb' }]) equal(await counter(ana, it, same), countered)
  equal(await stepsIn(ana, it), [['pending', ana.id, null], ['pending', ben.id, null]])
  equal((await historyOf(ana, it)).map(({ price }) => price), [20, 25.5])
  for (const wrong of [{ date: inDays(-1) }, { ends_at: inDays(1) }, { price: 0.001 }, { title: null }]) {
    await counter(ana, it, wrong, 400, Object.keys(wrong)[0])
  }
  await counter(ana, it, { ends_at: null }, 200, { ends_at: null, offered_by: ana.id })
  await accept(ben, it)
})

test('what is answered is what was read: any other revision is refused and changes nothing', async () => {
  const { ana, ben, ab } = await meet()
  // deno-fmt-ignore
  for (const [step, fields, status, revision] of [
    ['/accept', { note: 'Yes' }, 'accepted', 2], ['/decline', { note: 'No' }, 'declined', 2],
    ['', { price: 19 }, 'pending', 3],
  ] as const) {
    const it = await offer(ana, ab)
    await ana.patch(it, { revision: 1, price: 100_000, title: 'Another' }, 200, { revision: 2, offered_by: ana.id })
    const before = await ben.get(it)
    const send = async (who: Person, revision: unknown) => {
      const answer = await who.ask(step ? 'POST' : 'PATCH', `${it}${step}`, { ...fields, revision })
      return [answer.status, answer.body, answer.headers.get('X-Error-Code')]
    }
    const stale = (status: string) =>
      [409, { error: 'This offer has changed since it was read', status }, 'stale_revision']
    for (const who of [ana, ben]) for (const other of [1, 3]) equal(await send(who, other), stale('pending'))
    equal(await ben.get(it), before)
    const answer = await send(ben, 2)
    is(answer, [200, { status, revision }, null])
    // A counter-offer has made a revision of its own.
    equal(await send(ben, 2), revision === 2 ? answer : stale(status))
    equal(await send(ben, 1), stale(status))
    is((await historyOf(ana, it)).length, 3)
  }
})

test('each change of the terms is a revision, whoever makes it, and nothing else is', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  const changes = [{ price: 70 }, { price: 70 }, { title: 'Three' }, { date: inDays(9) }, { ends_at: inDays(12) }]
  for (const [at, one] of changes.entries()) await counter(ben, it, one, 200, { revision: [2, 2, 3, 4, 5][at] })
  await ana.post(`${it}/decline`, { revision: 5 }, 200, { revision: 5 })
  const other = await write(ab, { revision: 7 })
  is((await ana.get(other)).revision, 1)
  // deno-fmt-ignore
  for (const [revision, set] of [
    [2, "title = 'Another'"], [3, 'price = 2'], [4, "date = date + interval '1 hour'"],
    [5, "ends_at = date + interval '1 day'"], [6, 'ends_at = null'], [6, 'price = 2'], [6, 'revision = 1'],
    [6, 'offered_by = null'], [6, `host_id = ${ana.id}, revision = 9`], [6, "status = 'declined'"],
  ] as const) equal(await change(other, set), [revision], set)
})

test('each step leads from a status or is 409 with it, as the client says; a repeat changes nothing', async () => {
  const { ana, ben, ab } = await meet()
  for (const [before, status] of [['', 'pending'], ...Object.entries(leadsTo)]) {
    for (const [who, step] of [ana, ben].flatMap((who) => [...steps, 'change'].map((step) => [who, step] as const))) {
      const it = await offer(ana, ab)
      if (before) await ben.post(`${it}/${before}`, { revision: 1 }, 200)
      const reservation = await who.get(it)
      const { status: code, body } = step === 'change'
        ? await who.ask('PATCH', it, { revision: 1, price: 1 })
        : await who.ask('POST', `${it}/${step}`, { revision: 1, note: 'Again' })
      const { history, ...shown } = reservation
      const isRepeat = step === before
      const isTaken = (stepsOf(reservation, who.id, true) as string[]).includes(step)
      is([before, who.name, step, code === 200], [before, who.name, step, isTaken || isRepeat])
      if (isRepeat) equal(body, shown)
      const isEarly = step === 'complete' && status === 'accepted'
      const isOwn = (step === 'accept' || step === 'decline') && status === 'pending'
      const why = isOwn ? 'Only the other participant can answer this offer' : `This reservation is ${status}`
      if (!isTaken && !isRepeat) equal(body, { status, error: isEarly ? 'This reservation has not ended yet' : why })
      is((await historyOf(ana, it)).length, history.length + (isTaken && !isRepeat ? 1 : 0))
    }
  }
})

test('a partner who is blocked, suspended or erased answers as docs/architecture.md says', async () => {
  const page = await Deno.readTextFile(new URL('../../docs/architecture.md', import.meta.url))
  const [head, , ...rows] = page.split('| the caller')[1]!.split('\n\n')[0]!.split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()).filter((cell) => cell !== ''))
  const cuts: Record<string, (me: Person, partner: Person) => Promise<unknown>> = {
    active: () => Promise.resolve(),
    'blocked by the caller': (me, partner) => block(me, partner),
    'has blocked the caller': (me, partner) => block(partner, me),
    suspended: (_, partner) => activate(partner, false),
    hidden: (_, partner) => asAdmin("select public.restrict_person($1, 'hide', 'Test')", [partner.id]),
    erased: (_, partner) => partner.delete('/users/me'),
  }
  equal(head, Object.keys(cuts))
  equal(rows.map(([step]) => step), ['offers', 'changes', 'accepts', 'declines', 'cancels', 'completes', 'reads'])
  for (const [at, cut] of head!.entries()) {
    const [partner, me] = await people(`partner ${at}`, `me ${at}`)
    const path = await talk(partner, me)
    const of: Record<string, string> = {}
    for (const [step] of rows) of[step!] = await offer(partner, path)
    for (const step of ['cancels', 'completes']) await accept(me, of[step]!)
    await cuts[cut]!(me, partner)
    const answers: Record<string, () => Promise<Answer>> = {
      offers: () => me.ask('POST', `${path}/reservations`, draft()),
      changes: () => me.ask('PATCH', of.changes!, { revision: 1, price: 1 }),
      accepts: () => me.ask('POST', `${of.accepts}/accept`, { revision: 1 }),
      declines: () => me.ask('POST', `${of.declines}/decline`, { revision: 1 }),
      cancels: () => me.ask('POST', `${of.cancels}/cancel`, { note: 'Sorry' }),
      completes: () => me.ask('POST', `${of.completes}/complete`),
      reads: () => me.ask('GET', of.reads!),
    }
    for (const [step, ...cells] of rows) {
      const { status, body, headers } = await answers[step!]!()
      const [expected, remark] = cells[at]!.split(', ')
      equal([cut, step, status], [cut, step, Number(expected)])
      const code = cut === 'blocked by the caller' ? 'blocked' : 'forbidden'
      if (status === 403) equal([body, headers.get('X-Error-Code')], [denied, code])
      if (step === 'cancels') is((await stepsIn(me, of.cancels!)).at(-1), ['cancelled', /./, remark ? null : 'Sorry'])
    }
  }
})
