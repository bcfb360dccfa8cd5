/** What the rules about notifications share: the devices of people, and their settings. */
import { type Json, type Person, sql } from './fixture.ts'

export const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
export const endpoint = () => `https://push.example/${crypto.randomUUID()}`
export const subscribe = (
  who: Person,
  fields: object = {},
  id: string = crypto.randomUUID(),
  status = 204,
  error?: string,
) => who.put(`/users/me/devices/${id}`, { endpoint: endpoint(), keys, ...fields }, status, error)
export const devices = (who: Person) => who.get('/users/me/devices')
export const settings = '/users/me/notifications'
export const lisbon = { from: '22:00', to: '07:00', time_zone: 'Europe/Lisbon' }
/** What the worker calls. */
export const work = async (call: string): Promise<Json> =>
  JSON.parse((await sql(`select private.${call}::text`, [], 'edge_functions'))[0])
