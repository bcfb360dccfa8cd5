// Every schedule of four actors on the real SQL: the two participants, an admin and the clock, each with everything
// that it can do with a reservation, and a second reservation of the same host. Every state that they can reach is
// visited, and every action tried in each, so schedules of any length are covered. After each action all readers must
// see what the model below predicts. SCHEDULES=4 tries every sequence of four actions instead.
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'

type Status = 'pending' | 'accepted' | 'declined' | 'cancelled' | 'completed'
type Actor = 'ana' | 'ben' | 'admin' | 'clock'
const statuses: Status[] = ['pending', 'accepted', 'declined', 'cancelled', 'completed']
const targets = { accept: 'accepted', decline: 'declined', cancel: 'cancelled', complete: 'completed' } as const

interface Action {
  actor: Actor
  /** A step; an offer, a counter-offer; what admins and the clock do. */
  name: keyof typeof targets | 'offer' | 'counter' | 'write' | 'edit' | 'pass' | 'run'
  /** An answer to other terms than the present ones. */
  answers?: 'stale'
  /** The second reservation is named 2. */
  place?: 1 | 2
  status?: Status
}
/** As a reader must see it; `stored` is what the table still says if the clock is late. */
interface Modelled {
  status: Status
  stored: Status
  offeredBy: Actor | null
  revision: number
  history: [Status, Actor | null][]
}
interface Model {
  /** 0: before the dates; 1: between dates and ends; 2: after the ends. */
  phase: 0 | 1 | 2
  hasEnd: boolean
  reservations: Modelled[]
}

const put = (one: Modelled, status: Status, by: Actor | null): void => {
  one.status = status
  one.history.push([status, by])
}
/** What the clock does by now. */
const settle = ({ phase, hasEnd, reservations }: Model): void => {
  for (const one of reservations) {
    if (one.status === 'pending' && phase >= 1) put(one, 'cancelled', null)
    else if (one.status === 'accepted' && phase >= (hasEnd ? 2 : 1)) put(one, 'completed', null)
  }
}

/** Changes the model; returns the answer that is expected: ok, 409 or overlap. */
const predict = (model: Model, { actor, name, place = 1, status, answers }: Action): string => {
  const by = actor === 'admin' || actor === 'clock' ? null : actor
  if (name === 'offer') {
    const offers = model.hasEnd ? [by, null] : [by]
    model.reservations = offers.map((by) => ({
      ...{ status: 'pending', stored: 'pending', offeredBy: by, revision: 1, history: [['pending', by]] },
    }))
    return 'ok'
  }
  if (name === 'pass') {
    model.phase++
    settle(model)
    return 'ok'
  }
  if (name === 'run') {
    for (const one of model.reservations) one.stored = one.status
    return 'ok'
  }
  const one = model.reservations[place - 1]!
  const overlaps = model.hasEnd && model.reservations.some((other) => other !== one && other.stored === 'accepted')
  if (actor === 'admin') {
    // Writing the stored status again is no write.
    const next = status === undefined || status === one.stored ? one.status : status
    if (next === 'accepted' && one.status !== 'accepted' && overlaps) return 'overlap'
    if (next !== one.status || name === 'edit') put(one, next, null)
    if (name === 'edit') one.revision++
    one.stored = one.status
    settle(model)
    return 'ok'
  }
  // A refused request writes nothing, not even what the clock has to do.
  if (answers) return '409'
  if (name === 'counter') {
    if (one.status !== 'pending') return '409'
    one.offeredBy = by
    one.revision++
    put(one, 'pending', by)
  } else {
    const target = targets[name as keyof typeof targets]
    if (one.status !== target) {
      const mayStep = name === 'cancel'
        ? one.status === 'pending' || one.status === 'accepted'
        : name !== 'complete' && one.status === 'pending' && one.offeredBy !== by
      if (!mayStep || name === 'accept' && overlaps) return '409'
      put(one, target, by)
    }
  }
  one.stored = one.status
  return 'ok'
}

const actionsIn = ({ reservations, phase, hasEnd }: Model): Action[] => {
  if (reservations.length === 0) return (['ana', 'ben', 'admin'] as const).map((actor) => ({ actor, name: 'offer' }))
  const answers = ['counter', 'accept', 'decline'] as const
  return [
    ...(['ana', 'ben'] as const).flatMap((actor): Action[] => [
      ...[...answers, 'cancel' as const, 'complete' as const].map((name) => ({ actor, name })),
      ...answers.map((name) => ({ actor, name, answers: 'stale' as const })),
    ]),
    ...statuses.map((status): Action => ({ actor: 'admin', name: 'write', status })),
    { actor: 'admin', name: 'edit' },
    { actor: 'clock', name: 'run' },
    ...(phase < 2 ? [{ actor: 'clock', name: 'pass' } as const] : []),
    ...(hasEnd
      ? [{ actor: 'ben', name: 'accept', place: 2 }, { actor: 'ana', name: 'cancel', place: 2 }] as const
      : []),
  ]
}
/** What decides about the future: not the history, the terms and their revision. */
const keyOf = ({ phase, hasEnd, reservations }: Model): string =>
  JSON.stringify([phase, hasEnd, reservations.map(({ status, stored, offeredBy }) => [status, stored, offeredBy])])

// An action, and then what both participants read over each way to read. The functions are called directly; who may
// call what is tested elsewhere. Events are, too, and take half of the time.
const { owner } = await useCopy(
  'scheduled',
  `
  create schema tests;
  grant usage on schema tests to public;
  create function tests.act(caller text, statement text) returns text language plpgsql as $$
  begin
    perform set_config('api.caller', caller, true);
    execute statement;
    return 'ok';
  exception
    when sqlstate 'PT409' then return '409';
    when exclusion_violation then return 'overlap';
  end
  $$;
  create function tests.seen(talk bigint) returns json language plpgsql as $$
  declare
    detail json;
  begin
    perform set_config('api.caller', voyager_id::text, true) from public.conversations where id = talk;
    detail := api.get_conversation(talk);
    perform set_config('api.caller', local_id::text, true) from public.conversations where id = talk;
    return json_build_object(
      'detail', detail -> 'Reservations', 'listed', api.list_my_reservations('{"limit": 9}'),
      'each', (
        select json_agg(api.get_reservation(conversation => talk, reservation => id) order by id)
        from public.reservations where conversation_id = talk
      )
    );
  end
  $$;
  create or replace function private.present() returns timestamptz language plpgsql volatile set search_path = '' as $$
  begin
    return clock_timestamp() + coalesce(nullif(current_setting('tests.ahead', true), ''), '0')::interval;
  end
  $$;
  alter table public.reservations disable trigger record_changes;
  `,
)
const [pair] = await owner`
  with people as (insert into public.users (name, email) values ('Ana', ''), ('Ben', '') returning id)
  insert into public.conversations (voyager_id, local_id) select min(id), max(id) from people
  returning id::int as talk, voyager_id::int as ana, local_id::int as ben`
const { talk, ana, ben } = pair as unknown as { talk: number; ana: number; ben: number }

interface Shown {
  id: number
  status: Status
  offered_by: number | null
  revision: number
  history: { status: Status; by: number | null; createdAt: string }[]
}
type Seen = Record<'detail' | 'listed' | 'each', Shown[]>
const nameOf = (id: number | null) => id === ana ? 'ana' : id === ben ? 'ben' : id
/** What the readers see, as the model describes it: one status if all see the same. */
const describe = ({ detail, listed, each }: Seen) =>
  (each ?? []).map(({ id, status, offered_by, revision, history }) => {
    const others = [...detail, ...listed].filter((one) => one.id === id).map((one) => one.status)
    const times = history.map(({ createdAt }) => createdAt)
    return [
      [...new Set([status, history.at(-1)!.status, ...others])],
      nameOf(offered_by),
      revision,
      times.join() === times.toSorted().join() ? history.map(({ status, by }) => [status, nameOf(by)]) : times,
    ]
  })

const now = Date.now()
const inHours = (hours: number) => new Date(now + hours * 3_600_000).toISOString()
let price = 1
const statementOf = ({ name, place = 1, status, actor, answers }: Action, { phase, hasEnd }: Model): string => {
  const it = `(select id from public.reservations where conversation_id = ${talk} order by id offset ${
    place - 1
  } limit 1)`
  const insert = (from: number) => `
    insert into public.reservations (conversation_id, title, price, date, ends_at)
    values (${talk}, 'A walk', 1, '${inHours(from)}', ${hasEnd ? `'${inHours(from + 10)}'` : 'null'});`
  const at = `conversation => ${talk}, reservation => ${it}`
  const revision = `(select revision from public.reservations where id = ${it})${answers ? ' - 1' : ''}`
  const draft = { title: 'A walk', price: 1, date: inHours(10), ends_at: hasEnd ? inHours(20) : null }
  switch (name) {
    case 'offer':
      return (actor === 'admin' ? insert(10) : `perform api.offer_reservation(${talk}, '${JSON.stringify(draft)}');`) +
        (hasEnd ? insert(11) : '')
    case 'counter':
      return `perform api.counter_reservation(${at}, revision => ${revision}, changes => '{"price": ${++price}}');`
    case 'write':
      return `update public.reservations set status = '${status}' where id = ${it};`
    case 'edit':
      return `update public.reservations set price = ${++price} where id = ${it};`
    case 'pass':
      return `perform set_config('tests.ahead', '${phase === 0 ? 15 : 40} hours', true);`
    case 'run':
      return 'perform private.settle_reservations();'
  }
  return `perform api.step_reservation(${at}, step => '${name}', note => null, revision => ${revision});`
}

test('in whatever order they act, readers see a legal history', async () => {
  const depth = process.env.SCHEDULES && Number(process.env.SCHEDULES)
  const [visited, violations] = [new Set<string>(), [] as string[]]
  let transitions = 0
  const visit = async (model: Model, path: string[]): Promise<void> => {
    const key = keyOf(model)
    if (depth ? path.length >= depth : visited.has(key)) return
    visited.add(key)
    for (const action of actionsIn(model)) {
      const taken = [...path, Object.values(action).join(' ')]
      const next = structuredClone(model)
      const expected = predict(next, action)
      await owner.unsafe(`savepoint at_${path.length}`)
      const caller = action.actor === 'ana' ? ana : action.actor === 'ben' ? ben : ''
      const statement = `do $do$ begin ${statementOf(action, model)} end $do$`
      const [row] = await owner.unsafe(`select tests.act('${caller}', $act$${statement}$act$) as answer`)
      const [{ seen }] = await owner.unsafe(`select tests.seen(${talk})`) as unknown as [{ seen: Seen }]
      transitions++
      const actual = JSON.stringify([row!.answer, describe(seen)])
      const predicted = JSON.stringify([
        expected,
        next.reservations.map(({ status, offeredBy, revision, history }) => [[status], offeredBy, revision, history]),
      ])
      if (actual !== predicted) violations.push(`${taken.join(', ')}: ${actual} instead of ${predicted}`)
      if (violations.length === 0) await visit(next, taken)
      await owner.unsafe(`rollback to savepoint at_${path.length}`)
      if (violations.length > 9) return
    }
  }
  await owner.unsafe('begin')
  for (const hasEnd of [true, false]) await visit({ phase: 0, hasEnd, reservations: [] }, [])
  await owner.unsafe('rollback')
  expect(violations).toEqual([])
  if (!depth) {
    expect(visited.size).toBeGreaterThan(150)
    expect(transitions).toBeGreaterThan(3000)
  }
}, 10 * 60_000)
