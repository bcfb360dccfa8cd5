import type { ReservationDetail, ReservationStep } from './types.ts'

/**
 * What a participant can do about a reservation now; `change` is a counter offer. The service decides
 * (api.step_reservation), and tests/rules/reservations.rules.ts compares. Whoever cannot reach the other, across a
 * block or after an erasure, can only leave.
 */
export const stepsOf = (
  { status, offered_by }: Pick<ReservationDetail, 'status' | 'offered_by'>,
  me: number,
  isReachable: boolean,
): ReservationStep[] => {
  if (status === 'accepted') return ['cancel']
  if (status !== 'pending') return []
  if (!isReachable) return ['cancel']
  return offered_by === me ? ['change', 'cancel'] : ['accept', 'decline', 'change', 'cancel']
}
