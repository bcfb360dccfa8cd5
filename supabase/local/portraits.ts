import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import type { Database } from './database.ts'
import type { openStorage } from './storage/server.ts'

const folder = new URL('../../demo/portraits/', import.meta.url)

const missing = `
  select accounts.id, split_part(accounts.email, '@', 1) as name
  from auth.users as accounts
  join public.users on users.email = accounts.email
  join public.profiles on profiles.user_id = users.id
  where accounts.email like '%@example.com'
    and profiles.image_url like '%/avatars/' || accounts.id || '/portrait.webp'
    and not exists (
      select from storage.objects where bucket_id = 'avatars' and objects.name = accounts.id || '/portrait.webp'
    )`

/**
 * Stores the portraits that the profiles of the demo data name, each with its person as the owner, and with the rights
 * of the service: one of them is suspended. Later starts find none missing, or those that a stop has left out.
 */
export const storePortraits = async (
  database: Database,
  { store }: Awaited<ReturnType<typeof openStorage>>,
): Promise<void> => {
  const storeOne = async (id: string, portrait: string): Promise<void> => {
    const { readable: body } = await Deno.open(new URL(`${portrait}.webp`, folder))
    const claims = { role: 'service_role', sub: id } as const
    const target = { bucket: 'avatars', name: `${id}/portrait.webp`, claims, operation: 'storage.object.upload' }
    await store({ body, type: 'image/webp', cacheControl: 'max-age=3600' }, { ...target, isUpsert: false }, 2_000_000)
  }
  try {
    const people = await database.query(missing, [])
    if (people.length) console.log(`Storing ${people.length} portraits …`)
    await Promise.all(people.map(({ id, name }) => storeOne(String(id), String(name))))
  } catch (error) {
    log('warn', 'The portraits of the demo people could not be stored', describeError(error))
  }
}
