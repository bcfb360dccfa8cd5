import { generateTypescript, sortGeneratorMetadata } from '@supabase/postgrest-typegen/generation'
import { introspect } from '@supabase/postgrest-typegen/introspection'
import { connected } from './postgres.ts'

/** As `supabase gen types`, which needs Docker for a database that is not hosted. */
export const databaseTypes = (url: string): Promise<string> =>
  connected(url, async (sql) => {
    const query = async (text: string) => ({ rows: await sql.unsafe(text) })
    return await generateTypescript(sortGeneratorMetadata(await introspect({ query }, { includedSchemas: ['public'] })))
  })
