import { SignJWT } from 'jose'
import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import type { Database } from './database.ts'
import type { Keys } from './settings.ts'

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
 * Uploads the portraits that the profiles of the demo data name, each with its person as the owner, and with the rights
 * of the service: one of them is suspended. Later starts find none missing, or those that a stop has left out.
 */
export const uploadPortraits = async (
  database: Database,
  { jwtSecret }: Keys,
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<void> => {
  const key = new TextEncoder().encode(jwtSecret)
  const upload = async (id: string, name: string): Promise<void> => {
    const token = await new SignJWT({ sub: id, role: 'service_role' })
      .setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1m').sign(key)
    const response = await fetch(
      new Request(`http://127.0.0.1/storage/v1/object/avatars/${id}/portrait.webp`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'image/webp', 'Cache-Control': 'max-age=3600' },
        body: await Deno.readFile(new URL(`${name}.webp`, folder)),
      }),
    )
    if (!response.ok) throw new Error(await response.text())
  }
  try {
    const people = await database.query(missing, [])
    if (people.length) console.log(`Storing ${people.length} portraits …`)
    for (let next = 0; next < people.length; next += 20) {
      await Promise.all(people.slice(next, next + 20).map(({ id, name }) => upload(String(id), String(name))))
    }
  } catch (error) {
    log('warn', 'The portraits of the demo people could not be stored', describeError(error))
  }
}
