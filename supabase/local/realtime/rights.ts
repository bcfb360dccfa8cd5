import { log } from '../../../functions/_shared/log.ts'
import { describeError } from '../../../functions/_shared/errors.ts'
import type { Database } from '../database.ts'
import type { Identity } from './identity.ts'

type Way = 'broadcast' | 'presence'

/** What the policies of realtime.messages let somebody do on a topic. */
export interface Rights {
  hears: Way[]
  speaks: Way[]
}

const noRights: Rights = { hears: [], speaks: [] }

/** Asks the policies as Realtime does: with rows that nobody else sees (local_realtime.rights). A policy that fails says no. */
export const rightsFrom = (database: Database) => async (topic: string, { claims }: Identity): Promise<Rights> => {
  try {
    const [row] = await database.query('select local_realtime.rights($1, ($2::text)::jsonb) as rights', [
      topic,
      JSON.stringify(claims),
    ])
    return row?.rights as Rights
  } catch (error) {
    log('error', 'The policies of a topic could not be asked', describeError(error))
    return noRights
  }
}
