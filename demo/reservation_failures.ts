import { type Conversation, type OwnReservation, ServiceError } from '../clients/inbox.ts'
import { errorText } from './errors.ts'

/** Why a step has failed, which is told until the reservation changes or the connection is back. */
interface Failure {
  text: string
  /** Of the reservation that it is about. */
  updatedAt: string
  /** Whether it tells of a change that is not shown yet. */
  isStale: boolean
  isUnanswered: boolean
  wasOffline: boolean
}

type Reservation = Pick<OwnReservation, 'id' | 'updatedAt'>

/** Remembers why steps of reservations have failed. */
export const openFailures = (conversation: Conversation) => {
  const failures = new Map<number, Failure>()
  return {
    forget: (id: number) => failures.delete(id),
    add({ id, updatedAt }: Reservation, error: unknown) {
      const { code = null, status = null } = error instanceof ServiceError ? error : {}
      const kind = { isStale: code === 'stale_revision', isUnanswered: status === 0, wasOffline: false }
      failures.set(id, { text: errorText(error), updatedAt, ...kind })
    },
    /** What is still to be told. */
    of({ id, updatedAt }: Reservation): string {
      const failure = failures.get(id)
      if (!failure) return ''
      const isOffline = conversation.view.status === 'offline'
      const hasChanged = failure.updatedAt !== updatedAt
      if (hasChanged && failure.isStale) Object.assign(failure, { updatedAt, isStale: false })
      else if (hasChanged || failure.wasOffline && !isOffline) failures.delete(id)
      failure.wasOffline ||= failure.isUnanswered && isOffline
      return failures.get(id)?.text ?? ''
    },
  }
}
