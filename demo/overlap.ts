import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { formatPeriod } from './format.ts'

interface Times {
  /** Of the reservation itself, which may move. */
  id?: number | undefined
  host_id: number
  date: string
  ends_at: string | null
}

/** Says what else this host has agreed on for these times, as far as the user can see it. */
export const overlapOf = async (api: ApiClient, me: number, { id, host_id, date, ends_at }: Times): Promise<string> => {
  // Without an end others may be at the same time.
  if (!ends_at) return ''
  const query = { status: 'accepted', to: ends_at, limit: 100 } as const
  const agreed = await dataOf(api.GET('/users/me/reservations', { params: { query } }))
  const other = agreed.find((one) => one.id !== id && one.host_id === host_id && one.ends_at && one.ends_at > date)
  if (!other) return ''
  const who = host_id === me ? 'You have' : `${other.partner.name} has`
  return `${who} “${other.title}” then: ${formatPeriod(other.date, other.ends_at)}.`
}
