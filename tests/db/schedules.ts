/**
 * Explores every schedule of four actors on the real SQL: the two participants, an admin and the clock, each with
 * everything that it can do with a reservation, and a second reservation of the same host. Explores every state that
 * they can reach and tries every action in each, so schedules of any length are covered. After each action all readers
 * must see what the model below predicts. With a number as `depth`, every sequence of so many actions instead.
 */
import type { Database } from '../../supabase/local/database.ts'

type Status = 'pending' | 'accepted' | 'declined' | 'cancelled' | 'completed'
type Actor = 'ana' | 'ben' | 'admin' | 'clock'
const targets = { accept: 'accepted', decline: 'declined', cancel: 'cancelled', complete: 'completed' } as const
type Step = keyof typeof targets

interface Action {
  actor: Actor
  name: Step | 'stale' | 'offer' | 'counter' | 'write' | 'edit' | 'pass' | 'run'
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

const newModel = (hasEnd: boolean): Model => ({ phase: 0, hasEnd, reservations: [] })

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

const overlaps = ({ hasEnd, reservations }: Model, one: Modelled): boolean =>
  hasEnd && reservations.some((other) => other !== one && other.stored === 'accepted')

/** Changes the model; returns the answer that is expected: ok, 409 or overlap. */
const predict = (model: Model, { actor, name, place = 1, status }: Action): string => {
  const by = actor === 'admin' || actor === 'clock' ? null : actor
  if (name === 'offer') {
    const offeredBy = (by: Actor | null): Modelled => ({
      ...{ status: 'pending', stored: 'pending', offeredBy: by, revision: 1, history: [['pending', by]] },
    })
    const [offered, second] = [offeredBy(by), offeredBy(null)]
    model.reservations = model.hasEnd ? [offered, second] : [offered]
    return 'ok'
  }
  if (name === 'pass') {
    model.phase = model.phase === 0 ? 1 : 2
    settle(model)
    return 'ok'
  }
  if (name === 'run') {
    for (const one of model.reservations) one.stored = one.status
    return 'ok'
  }
  const one = model.reservations[place - 1]!
  const wasStored = one.stored
  if (actor === 'admin') {
    // Writing the stored status again is no write.
    const next = status === undefined || status === wasStored ? one.status : status
    if (next === 'accepted' && one.status !== 'accepted' && overlaps(model, one)) return 'overlap'
    if (next !== one.status || name === 'edit') put(one, next, null)
    if (name === 'edit') one.revision++
    one.stored = one.status
    settle(model)
    return 'ok'
  }
  one.stored = one.status
  const refused = (answer = '409'): string => {
    // A refused request writes nothing, not even what the clock has to do.
    one.stored = wasStored
    return answer
  }
  if (name === 'counter') {
    if (one.status !== 'pending') return refused()
    one.offeredBy = by
    one.revision++
    put(one, 'pending', by)
    return 'ok'
  }
  // Names other terms than the present ones, whatever they are.
  if (name === 'stale') return refused()
  const target = targets[name as Step]
  if (one.status === target) return 'ok'
  const mayStep = name === 'cancel'
    ? one.status === 'pending' || one.status === 'accepted'
    : name !== 'complete' && one.status === 'pending' && one.offeredBy !== by
  if (!mayStep) return refused()
  if (name === 'accept' && overlaps(model, one)) return refused()
  put(one, target, by)
  one.stored = target
  return 'ok'
}

const statuses: Status[] = ['pending', 'accepted', 'declined', 'cancelled', 'completed']
const steps = Object.keys(targets) as Step[]
const actionsIn = ({ reservations, phase, hasEnd }: Model): Action[] => {
  if (reservations.length === 0) {
    return (['ana', 'ben', 'admin'] as const).map((actor) => ({ actor, name: 'offer' }))
  }
  return [
    ...(['ana', 'ben'] as const).flatMap((actor): Action[] => [
      { actor, name: 'counter' },
      ...([...steps, 'stale'] as const).map((name): Action => ({ actor, name })),
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

// Each action is one statement: it acts, then reads as both participants would, over each way to read. The functions
// are called directly and not through act_as, whose statements would be planned each time; who may call what is tested
// elsewhere.
const helpers = `
  create function tests.call_as(actor text) returns void language plpgsql as $$
  begin
    perform set_config('api.caller', tests.id_of(actor)::text, true);
  end
  $$;

  create function tests.act(actor text, name text, place integer, status text, has_end boolean, number integer)
  returns text
  language plpgsql as $$
  declare
    talk bigint := tests.conversation_of('ana');
    it bigint := tests.reservation_of('ana', place);
    start timestamptz := date_trunc('hour', now()) + interval '10 hours';
    finish timestamptz := case when has_end then start + interval '10 hours' end;
  begin
    perform set_config('api.caller', '', true);
    if actor in ('ana', 'ben') then
      perform tests.call_as(actor);
    end if;
    if name = 'pass' then
      perform set_config(
        'tests.ahead', case current_setting('tests.ahead', true) when '15 hours' then '40 hours' else '15 hours' end,
        true
      );
    elsif name = 'run' then
      perform private.settle_reservations();
    elsif name = 'offer' and actor = 'admin' then
      insert into public.reservations (conversation_id, title, price, date, ends_at)
      values (talk, 'First', 1, start, finish);
    elsif name = 'offer' then
      perform api.offer_reservation(
        talk, jsonb_build_object('title', 'First', 'price', 1, 'date', start, 'ends_at', finish)
      );
    elsif name = 'write' then
      update public.reservations set status = act.status where id = it;
    elsif name = 'edit' then
      update public.reservations set price = number where id = it;
    elsif name = 'counter' then
      perform api.counter_reservation(
        conversation => talk, reservation => it, changes => jsonb_build_object('price', number)
      );
    else
      perform api.step_reservation(
        conversation => talk, reservation => it, step => case name when 'stale' then 'accept' else name end,
        note => null,
        revision => (select revision from public.reservations where id = it) - (name = 'stale')::integer
      );
    end if;
    if name = 'offer' and has_end then
      insert into public.reservations (conversation_id, title, price, date, ends_at)
      values (talk, 'Second', 1, start + interval '1 hour', finish + interval '1 hour');
    end if;
    return 'ok';
  exception
    when sqlstate 'PT409' then
      return '409';
    when exclusion_violation then
      return 'overlap';
  end
  $$;

  create function tests.seen() returns text language plpgsql as $$
  declare
    talk bigint := tests.conversation_of('ana');
    detail json;
  begin
    perform tests.call_as('ana');
    detail := api.get_conversation(talk);
    perform tests.call_as('ben');
    return json_build_object(
      'detail', detail,
      'listed', api.list_my_reservations('{"limit": 9}'),
      'each', (
        select json_agg(api.get_reservation(conversation => talk, reservation => id) order by id)
        from public.reservations
        where conversation_id = talk
      )
    );
  end
  $$;

  create or replace function private.present() returns timestamptz language plpgsql volatile set search_path = '' as $$
  begin
    return clock_timestamp() + coalesce(nullif(current_setting('tests.ahead', true), ''), '0')::interval;
  end
  $$;
`

export interface Report {
  states: number
  transitions: number
  /** Schedules after which a reader saw something else than predicted. */
  violations: string[]
}

interface Shown {
  id: number
  status: Status
}
interface Seen {
  detail: { Reservations: Shown[] }
  listed: Shown[]
  each: (Shown & {
    offered_by: number | null
    revision: number
    history: { status: Status; by: number | null; createdAt: string }[]
  })[]
}

/** What the readers see, as the model describes it: one status if all see the same. */
const describe = ({ detail, listed, each }: Seen, names: Map<number | null, string | null>) =>
  (each ?? []).map(({ id, status, offered_by, revision, history }) => {
    const others = [...detail.Reservations, ...listed].filter((one) => one.id === id).map((one) => one.status)
    const times = history.map(({ createdAt }) => createdAt)
    return [
      [...new Set([status, history.at(-1)!.status, ...others])],
      names.get(offered_by),
      revision,
      times.join() === times.toSorted().join() ? history.map(({ status, by }) => [status, names.get(by)]) : times,
    ]
  })

/** Runs in the open transaction and undoes what it does. Stops at the first violation if told to. */
export const explore = async (
  database: Database,
  { depth, isFirstEnough = false }: { depth?: number; isFirstEnough?: boolean } = {},
): Promise<Report> => {
  const report: Report = { states: 0, transitions: 0, violations: [] }
  const visited = new Set<string>()
  let number = 1

  const perform = async (level: number, model: Model, action: Action, path: string[]): Promise<Model> => {
    const { actor, name, place = 1, status } = action
    const next = structuredClone(model)
    const expected = predict(next, action)
    const arguments_ = [`'${actor}'`, `'${name}'`, place, status ? `'${status}'` : 'null', model.hasEnd, ++number]
    const [answer, seen] = (await database.script(`
      savepoint at_${level};
      select tests.act(${arguments_.join()});
      select tests.seen();
    `)).slice(-2)
    report.transitions++
    const predicted = JSON.stringify([
      expected,
      next.reservations.map(({ status, offeredBy, revision, history }) => [[status], offeredBy, revision, history]),
    ])
    const actual = JSON.stringify([answer, describe(JSON.parse(seen!), ids)])
    if (actual !== predicted) report.violations.push(`${path.join(', ')}: ${actual} instead of ${predicted}`)
    return next
  }

  const visit = async (model: Model, path: string[]): Promise<void> => {
    const key = keyOf(model)
    if (depth === undefined ? visited.has(key) : path.length >= depth) return
    visited.add(key)
    for (const action of actionsIn(model)) {
      const taken = [...path, Object.values(action).join(' ')]
      const next = await perform(path.length, model, action, taken)
      if (report.violations.length === 0) await visit(next, taken)
      await database.run(`rollback to savepoint at_${path.length}`)
      if (report.violations.length > (isFirstEnough ? 0 : 9)) return
    }
  }

  await database.run(`
    savepoint before_schedules;
    -- Events are tested elsewhere, and take half of the time.
    alter table public.reservations disable trigger broadcast_reservation;
    ${helpers}
    select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
    insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('ben'));
  `)
  const people = await database.script(
    "select format('%s %s', id, name) from public.users where name in ('ana', 'ben')",
  )
  const ids = new Map<number | null, string | null>([[null, null]])
  for (const person of people) ids.set(Number(person.split(' ')[0]), person.split(' ')[1]!)
  for (const hasEnd of [true, false]) await visit(newModel(hasEnd), [])
  await database.run('rollback to savepoint before_schedules')
  report.states = visited.size
  return report
}

// As a script: prints the report as JSON. The argument is the depth.
if (import.meta.main) {
  const { openTestDatabase } = await import('./database.ts')
  const database = await openTestDatabase()
  await database.run('begin')
  const [depth] = Deno.args
  console.log(JSON.stringify(await explore(database, depth ? { depth: Number(depth) } : {})))
  await database.run('rollback')
  await database.close()
  Deno.exit(0)
}
