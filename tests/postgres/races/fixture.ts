// Who takes part in the races, and all of these.
import { expect } from 'vitest'
import { conversationRaces } from './conversations.ts'
import { openRaces } from './meet.ts'
import { peopleRaces } from './people.ts'
import { type Side, walk } from './sides.ts'
import { workerRaces } from './workers.ts'

let number = 0

const open = async (...args: Parameters<typeof openRaces>) => {
  const races = await openRaces(...args)
  const { ask, meet } = races
  await ask`insert into public.interests (name) select 'Interest ' || n from generate_series(1, 9) as n`
  /** The last of these waits for the others. */
  const queue = (...sides: Side[]) => meet(sides, true)
  /** Nobody waits. */
  const overtake = (...sides: Side[]) => meet(sides, false)
  /** The second waits for the first, and is refused then. */
  const expectError = async (first: Side, second: Side, refusal: string): Promise<void> =>
    expect((await meet([first, second], true))[1]).toMatch(refusal)
  const one = async (rows: Promise<number[]>): Promise<number> => (await rows)[0]!
  /** New people with an account and a profile that can be found. */
  const people = async (count: number): Promise<[number, number, number, ...number[]]> => {
    const from = number
    number += count
    await ask`
      insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
      select gen_random_uuid(), 'person' || n || '@races.example', now(), '{"name": "Ana"}'
      from generate_series(${from + 1}, ${number}) as n`
    const ids = await ask`select id from public.users order by id desc limit ${count}`
    await ask`update public.profiles set is_searchable = true where user_id = any(${`{${ids}}`}::bigint[])`
    return ids as [number, number, number]
  }
  const openTalk = (voyager: number, local: number): Promise<number> =>
    one(ask`insert into public.conversations (voyager_id, local_id) values (${voyager}, ${local}) returning id`)
  const pair = async () => {
    const [ana, ben] = await people(2)
    return { ana, ben, talk: await openTalk(ana, ben) }
  }
  /** An offer of the voyager to the local, who is the host. */
  const offer = (talk: number, fields = {}): Promise<number> => {
    const { title, price, date, ends_at } = { ...walk, ...fields }
    return one(ask`
      insert into public.reservations (conversation_id, title, price, date, ends_at, offered_by)
      select id, ${title}, ${price}, ${date}, ${ends_at}, voyager_id from public.conversations where id = ${talk}
      returning id`)
  }
  const report = (reporter: number, person: number): Promise<number> =>
    one(ask`
      insert into public.reports (reporter_id, user_id, reason) values (${reporter}, ${person}, 'spam') returning id`)
  const profileOf = (person: number): Promise<number> =>
    one(ask`select id from public.profiles where user_id = ${person}`)
  const historyOf = (reservation: number): Promise<string[]> =>
    ask`select status from public.reservation_history where reservation_id = ${reservation} order by id`
  return { ...races, queue, overtake, expectError, people, openTalk, pair, offer, report, profileOf, historyOf }
}
export type Races = Awaited<ReturnType<typeof open>>

export const openAllRaces = async (...args: Parameters<typeof open>) => {
  const opened = await open(...args)
  const all: Record<string, () => Promise<unknown>> = {
    ...peopleRaces(opened),
    ...conversationRaces(opened),
    ...workerRaces(opened),
  }
  const races = Object.entries(all).map(([name, race]) => ({
    name,
    run: async (): Promise<void> => {
      await opened.ask`update tests.clock set ahead = '0'`
      await race()
    },
  }))
  return { ...opened, races }
}
