/** What the rules about reservations share. */
import { asAdmin, idOf, inDays, type Json, type Person, talk } from './fixture.ts'
import { meet as meetFirst } from './talks.ts'

export const steps = ['accept', 'decline', 'cancel', 'complete']
export const leadsTo: Record<string, string> = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' }
export const denied = { error: 'You cannot write to this person' }
export const draft = (fields: Json = {}) => ({ title: 'A walk', price: 20, date: inDays(10), ...fields })
/** Offers in this conversation; returns the path of the reservation. */
export const offer = async (who: Person, conversation: string, fields: Json = {}): Promise<string> =>
  `${conversation}/reservations/${(await who.post(`${conversation}/reservations`, draft(fields), 201)).id}`
export const accept = async (who: Person, path: string, status = 200, expected: Json = { status: 'accepted' }) =>
  await who.post(`${path}/accept`, { revision: (await who.get(path)).revision }, status, expected)
/** Offers other terms than those of this moment. */
export const counter = async (who: Person, path: string, terms: Json, status = 200, expected?: Json | string) =>
  await who.patch(path, { revision: (await who.get(path)).revision, ...terms }, status, expected)
export const historyOf = async (who: Person, path: string): Promise<Json[]> => (await who.get(path)).history
/** The steps of the history: status, by whom, note. */
export const stepsIn = async (who: Person, path: string) =>
  (await historyOf(who, path)).map(({ status, by, note }) => [status, by, note])
/** A reservation as an admin writes it, of anything and in the past. */
export const write = async (conversation: string, fields: Json = {}): Promise<string> => {
  const all = { conversation_id: idOf(conversation), title: 'Then', price: 1, date: inDays(3), ...fields }
  const [id] = await asAdmin(
    `insert into public.reservations (${Object.keys(all)}) values (${Object.keys(all).map((_, at) => `$${at + 1}`)})
     returning id`,
    Object.values(all),
  )
  return `${conversation}/reservations/${id}`
}
export const change = (path: string, set: string) =>
  asAdmin(`update public.reservations set ${set} where id = ${idOf(path)} returning revision`)

/** As in other rules, and Cat has also opened a conversation with Ben. */
export const meet = async () => {
  const met = await meetFirst()
  return { ...met, cb: await talk(met.cat, met.ben) }
}
