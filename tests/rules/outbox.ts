/** What the rules about the outbox share. */
import { subscribe, work } from './devices.ts'
import { inDays, type Json, passTime, people, type Person, sql, talk } from './fixture.ts'

export const offer = { title: 'A walk', price: 20, date: inDays(9) }

export const plan = (push = true, mail = true) =>
  work(`plan_notifications(max_rows => 100, push => ${push}, mail => ${mail})`)
export const planAfter = async (time: string, push?: boolean, mail?: boolean) => {
  await passTime(time)
  return await plan(push, mail)
}
/** All that are due, one by one. */
export const claimPushes = async (busy: string[] = []): Promise<Json[]> => {
  const pushes = await work(`claim_pushes(1, '${JSON.stringify(busy)}')`)
  return pushes.length === 0 ? [] : [...pushes, ...await claimPushes(busy)]
}
export const claimMail = (busy: string[] = []) => work(`claim_mail('${JSON.stringify(busy)}')`)
export const claimWebhooks = () => work('claim_webhooks(100)')
export const finish = (...outcomes: object[]) =>
  sql('select private.finish_outbox($1)', [JSON.stringify(outcomes)], 'edge_functions')
/** How many rows of each channel wait, dead letters included. */
export const waiting = async (): Promise<Json> =>
  Object.fromEntries(await sql('select channel, count(*) from private.outbox group by 1'))
export const dead = async (channel: string) =>
  (await sql(`select dead from public.describe_queues() where queue = '${channel}'`))[0]
export const outbox = (columns: string, channel: string) =>
  sql(`select ${columns} from private.outbox where channel = '${channel}' order by id`)
export const clear = (...tables: string[]) => Promise.all(tables.map((table) => sql(`delete from private.${table}`)))
export const dataOf = (pushes: Json[]) => pushes.map(({ data }) => data)

/** Ana and Cleo, who write to Ben; he has two devices. */
export const meet = async () => {
  const [ana, ben, cleo] = await people('ana', 'ben', 'cleo')
  for (const _ of [1, 2]) await subscribe(ben)
  const [ab, cb] = [await talk(ana, ben), await talk(cleo, ben)]
  const write = async (who: Person): Promise<number> =>
    (await who.post(`${who === cleo ? cb : ab}/messages`, { content: 'Hello' }, 201)).id
  let minutes = 0
  /** Writes, and plans when the delay has passed. */
  const tell = async (who = ana, push = true, mail = true) => {
    await write(who)
    await planAfter(`${minutes += 11} minutes`, push, mail)
  }
  const reset = async () => {
    await clear('outbox', 'silences', 'notification_settings')
    await sql('update public.messages set read = true where not read')
    await passTime(`${minutes = 0} minutes`)
  }
  return { ana, ben, cleo, ab, cb, write, tell, reset }
}
export const told = { mail: 1, push: 2 }

/** A trigger that runs this statement, in one that is undone. */
export const trigger = async (when: string, statement: string, answer = 'null') => {
  await sql(`create function pg_temp.act() returns trigger language plpgsql as
    $$ begin ${statement}; return ${answer}; end $$`)
  await sql(`create trigger act ${when} execute function pg_temp.act()`)
}
