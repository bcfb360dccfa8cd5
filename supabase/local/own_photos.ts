import type { Database } from './database.ts'
import { inOneTransaction } from './migrate.ts'
import type { Settings } from './settings.ts'

const path = '/storage/v1/object/public/avatars/[0-9a-f-]{36}/[A-Za-z0-9._-]+$'

/**
 * Lets profiles have a photo from the Storage of this stack, which has no https, and from no other server of this
 * machine. Photos that were uploaded while the stack listened on another port move with it, unless that may be the port
 * of another stack, with which it shares a database.
 */
export const allowOwnPhotos = async (database: Database, settings: Pick<Settings, 'port' | 'databaseUrl'>) => {
  const { port, databaseUrl } = settings
  const script = String.raw`
    select pg_advisory_xact_lock(hashtextextended('own photos', 0));
    do $do$
    declare
      ports text := '${port}';
      known constant text := (
        select substring(prosrc from ':[(]([0-9|]+)[)]/')
        from pg_proc
        where oid = 'private.is_own_photo(text)'::regprocedure
      );
    begin
      if ${databaseUrl !== null} and known is not null then
        ports := case when ports = any (string_to_array(known, '|')) then known else known || '|' || ports end;
      end if;
      execute format(
        $create$
          create or replace function private.is_own_photo(value text)
          returns boolean
          language plpgsql immutable strict parallel safe security invoker set search_path = ''
          as $$ begin return value ~ %L; end $$
        $create$,
        '^http://127[.]0[.]0[.]1:(' || ports || ')${path}'
      );
    end
    $do$;
    update public.profiles
    set image_url = regexp_replace(image_url, '^http://127[.]0[.]0[.]1:[0-9]+', 'http://127.0.0.1:${port}')
    where image_url ~ '^http://127[.]0[.]0[.]1:[0-9]+${path}' and not private.is_own_photo(image_url)`
  await inOneTransaction(database, script)
}
