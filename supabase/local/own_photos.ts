import type { Database } from './database.ts'
import type { Settings } from './settings.ts'

const photos = '/storage/v1/object/public/avatars/[0-9a-f-]{36}/[A-Za-z0-9._-]+$'

/**
 * Lets profiles have a photo from the Storage of this stack, which has no https, and from no other server of this
 * machine. Photos that were uploaded while the stack listened on another port move with it.
 */
export const allowOwnPhotos = async (database: Database, { port }: Settings): Promise<void> => {
  const origin = `http://127.0.0.1:${port}`
  await database.run(`
    begin;
    create or replace function private.is_own_photo(value text)
    returns boolean
    language plpgsql immutable strict parallel safe security invoker set search_path = ''
    as $$ begin return value ~ '^${origin.replaceAll('.', '[.]')}${photos}'; end $$;
    update public.profiles
    set image_url = regexp_replace(image_url, '^http://127[.]0[.]0[.]1:\d+', '${origin}')
    where image_url ~ '^http://127[.]0[.]0[.]1:\d+${photos}' and not private.is_own_photo(image_url);
    commit;
  `)
}
