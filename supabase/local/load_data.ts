import { createHash } from 'node:crypto'
import type { Query } from '../../functions/_shared/postgres.ts'

const file = new URL('../../sql/data/places.tsv', import.meta.url)

/** Loads the places of the world, unless the database has this file already; returns whether it did. */
export const loadPlaces = async (query: Query): Promise<boolean> => {
  const text = Deno.readTextFileSync(file)
  const checksum = createHash('md5').update(text).digest('hex')
  const loaded = await query(`select from private.loaded_data where name = 'places' and checksum = $1`, [checksum])
  if (loaded.length > 0) return false
  await query('select private.load_places($1)', [text])
  // A statement for each batch, so that nobody who changes a profile waits for all of them.
  const refresh = `select id, private.refresh_search_entry(id) from public.profiles where id > $1 order by id limit 200`
  let batch: { id?: unknown }[] = [{ id: 0 }]
  while (batch.length > 0) batch = await query(refresh, [batch.at(-1)!.id])
  return true
}
