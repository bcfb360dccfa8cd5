import { expect } from 'vitest'
import type { Person } from '../../tools/people.ts'
import type { Model, ModelChange } from './model.ts'

/** Each entity once, at its latest, as texts in order; a message that was removed is the same entity. */
const latestOf = (changes: ModelChange[]): string[] => {
  const entities = new Map<string, string>()
  for (const { kind, conversation_id, id } of changes) {
    entities.set(`${kind.split('.')[0]} ${conversation_id} ${id}`, `${kind} ${conversation_id} ${id}`)
  }
  return [...entities.values()].toSorted()
}

/** What has changed for the caller since the last comparison; nothing less, and nothing of anybody else. */
export const compareChanges = async (caller: number, model: Model, users: Person[]): Promise<void> => {
  const me = model.users[caller]!
  const path = `/conversations/changes?limit=500${me.cursor ? `&after=${me.cursor}` : ''}`
  const { body } = await users[caller]!.call('GET', path)
  // The clock settles these when it comes to them.
  const past = new Set(
    model.conversations.flatMap(({ reservations }) => reservations).filter(({ isPast }) => isPast).map(({ id }) => id),
  )
  const certain = (changes: ModelChange[]) => changes.filter(({ kind, id }) => kind !== 'reservation' || !past.has(id))
  if (me.cursor) {
    expect(latestOf(certain(body.changes))).toEqual(latestOf(certain(me.changes)))
    expect(body.more).toBe(false)
  }
  Object.assign(me, { changes: [], cursor: body.cursor })
}
