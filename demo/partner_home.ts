import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { OwnReservation } from '../clients/inbox.ts'
import type { components } from '../clients/openapi.ts'
import { formatPeriodIn, isZone } from './format.ts'

/** Where the partner lives, which matters to when they meet. */
export const openPartnerHome = (api: ApiClient, onChange: () => void, signal: AbortSignal) => {
  let home: components['schemas']['PublicProfile'] | null = null
  let asked = 0
  return {
    async read(profile: number) {
      if (profile === asked) return
      asked = profile
      const params = { path: { id: profile }, query: { more: true } }
      home = await dataOf(api.GET('/users/{id}', { params, signal })).catch(() => null)
      if (home) onChange()
    },
    /** When a reservation is there, if clocks show another time there. */
    periodOf({ date, ends_at }: OwnReservation): string {
      const city = home?.profile.city
      const zone = home?.time_zone
      const period = city && zone && isZone(zone) && formatPeriodIn(zone, date, ends_at)
      return period ? `${period} in ${city}` : ''
    },
  }
}
