import { type Person, sql } from './fixture.ts'

const rights = `
  create or replace function pg_temp.rights(person text, on_topic text, by text)
  returns text
  language plpgsql volatile
  as $$
  declare
    probe constant uuid := gen_random_uuid();
    receives boolean;
    sends boolean := true;
  begin
    insert into realtime.messages (id, topic, extension) values (probe, on_topic, by);
    perform set_config('realtime.topic', on_topic, true), tests.become(person);
    receives := exists (select from realtime.messages where id = probe);
    begin
      insert into realtime.messages (topic, extension) values (on_topic, by);
    exception
      when insufficient_privilege then sends := false;
    end;
    perform tests.become_owner(), set_config('realtime.topic', '', true);
    return concat_ws(' and ', case when receives then 'receive' end, case when sends then 'send' end);
  end
  $$`

/**
 * What a person, or somebody anonymous, can do on these topics by which extension, sorted: receive, by a row that
 * nobody else sees, as Realtime asks at a join; and send.
 */
export const rightsOn = async (who: Person | null, topics: string[]): Promise<string[]> => {
  await sql(rights)
  const found = await sql(
    `select format('%s %s %s', topic, by, can)
     from unnest($1::text[]) as topic
     cross join unnest(array['broadcast', 'presence', 'postgres_changes']) as by
     cross join pg_temp.rights($2, topic, by) as can
     where can <> ''`,
    [`{${topics.map((topic) => `"${topic}"`)}}`, who?.name ?? null],
  )
  return found.sort()
}

/** What was sent since the last look, without the id that Realtime gives to a payload that has none; sorted. */
export const sent = async (): Promise<string[]> =>
  (await sql(`
    with gone as (delete from realtime.messages where event is not null returning *)
    select concat_ws(
      ' ', topic, event, case when payload ->> 'id' = id::text then payload - 'id' else payload end,
      case when not private then 'public' end, nullif(extension, 'broadcast')
    )
    from gone
  `)).sort()
