import type { Database } from './database.ts'
import { inOneTransaction } from './migrate.ts'

/**
 * Lets profiles have a photo from the Storage of this stack, which has no https, and from no other server of this
 * machine. Photos that were uploaded while the stack listened on another port move with it.
 */
export const allowOwnPhotos = async (database: Database, port: number): Promise<void> => {
  const path = '/storage/v1/object/public/avatars/[0-9a-f-]{36}/[A-Za-z0-9._-]+$'
  await inOneTransaction(
    database,
    `create or replace function private.is_own_photo(value text)
     returns boolean
     language plpgsql immutable strict parallel safe security invoker set search_path = ''
     as $$ begin return value ~ '^http://127[.]0[.]0[.]1:${port}${path}'; end $$;
     update public.profiles
     set image_url = regexp_replace(image_url, '^http://127[.]0[.]0[.]1:[0-9]+', 'http://127.0.0.1:${port}')
     where image_url ~ '^http://127[.]0[.]0[.]1:[0-9]+${path}' and not private.is_own_photo(image_url)`,
  )
}
