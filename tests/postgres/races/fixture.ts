// Who takes part in the races.
import { type Answer, by, type Side } from './meet.ts'

type Ask = <Row = Answer>(parts: TemplateStringsArray, ...values: unknown[]) => Promise<Row[]>

export const waits = { waits: true }
export const nobodyWaits = { waits: false }

export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()
export const walk = { title: 'A walk', price: 1, date: inDays(2), ends_at: inDays(4) }

let number = 0
export const device = () => ({
  endpoint: `https://push.example/${number++}`,
  keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
})

export const say = (caller: number, talk: number, fields = {}, stop = ''): Side =>
  by(caller, stop)`api.send_message(${talk}, ${{ content: 'Hello', ...fields }})`
export const step = (caller: number, talk: number, reservation: number, name: string): Side =>
  by(caller)`api.step_reservation(
    conversation => ${talk}, reservation => ${reservation}, step => ${name}, note => null, revision => 1)`

export const openFixture = (ask: Ask) => {
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
  return { people, openTalk, pair, offer, report, profileOf, historyOf }
}
