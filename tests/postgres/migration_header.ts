/** Without pgvector's library role postgres may not set its parameters, as some functions do. */
export const loadVector = "select '[1]'::extensions.vector;"

/**
 * Locks these tables, or nothing: a request may hold one of them and wait for another. The last try outlasts an
 * autovacuum, which lets go when somebody has waited for `deadlock_timeout`, a second.
 */
export const lockTables = (names: string[]): string =>
  names.length === 0 ? '' : `do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', case attempt when 20 then '1500ms' else '500ms' end, true);
      lock table ${names.sort().join(', ')} in access exclusive mode;
      exit;
    exception when lock_not_available then
      if attempt = 20 then
        raise;
      end if;
      perform pg_sleep(.1);
    end;
  end loop;
end
$$;`
