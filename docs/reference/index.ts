import { accounts } from './accounts.ts'
import { conversations, messages } from './conversations.ts'
import { notifications } from './notifications.ts'
import { profiles, search } from './profiles.ts'
import { reservations } from './reservations.ts'
import { administration, safety } from './safety.ts'
import type { Reference } from './types.ts'

const operations = {
  ...administration,
  ...accounts,
  ...profiles,
  ...search,
  ...messages,
  ...conversations,
  ...reservations,
  ...notifications,
  ...safety,
}

export type OperationId = keyof typeof operations

/** What the reference says about each operation, in the order in which the examples are sent. */
export const reference: Record<OperationId, Reference> = operations
