-- One's own reports: the list, its pages and the export; nothing for the reported.
select plan(16);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.reports (reporter_id, user_id, message_id, reason, note)
select tests.id_of(case when n % 3 = 0 then 'cat' else 'ana' end), tests.id_of('ben'), n, 'spam', format('Note %s', n)
from generate_series(1, 9) as n;
create temp table ana as
select row_number() over (order by id) as place, id from public.reports where reporter_id = tests.id_of('ana');

create function pg_temp.list(person text, page jsonb default '{}')
returns jsonb
language plpgsql
as $$
declare
  listed jsonb;
begin
  perform set_config('api.response_metadata', '', true);
  listed := tests.ask(person, format('list_my_reports(%L)', '{"limit": 50}' || page));
  perform tests.become_owner();
  return listed;
end
$$;
create function pg_temp.places(listed jsonb)
returns text
language sql
as $$
  select coalesce(string_agg(place::text, ' ' order by at), '')
  from jsonb_array_elements(listed) with ordinality as each (one, at)
  join ana on ana.id = (one ->> 'id')::bigint
$$;

select is(pg_temp.places(pg_temp.list('ana')), '6 5 4 3 2 1', 'ana lists her reports, newest first');
select is(jsonb_array_length(pg_temp.list('ana')), 6, 'and no others');
select is(pg_temp.list('ben'), '[]', 'ben, whom they are about, has none');
select is(
  pg_temp.list('ana') -> 0,
  jsonb_build_object(
    'id', id, 'status', 'open', 'reason', 'spam', 'createdAt', private.iso(created_at), 'resolvedAt', null
  ),
  'each says whether it is open'
)
from public.reports where id = (select max(id) from ana);
select is(pg_temp.places(pg_temp.list('ana', '{"limit": 2}')), '6 5', 'a page has as many as were asked for');
select is(
  current_setting('api.response_metadata')::jsonb, jsonb_build_object('next', id), 'and names its last one'
)
from ana where place = 5;
select is(
  pg_temp.places(pg_temp.list('ana', jsonb_build_object('limit', 2, 'before_id', id))), '4 3', 'the next page follows'
)
from ana where place = 5;
select is(
  pg_temp.places(pg_temp.list('ana', jsonb_build_object('limit', 2, 'before_id', id))), '2 1', 'and the last one'
)
from ana where place = 3;
select is(current_setting('api.response_metadata'), '', 'after which there is no other');

select public.resolve_report(max(id), 'suspend', 'Enough') from ana;
select is(
  pg_temp.list('ana') -> 0,
  jsonb_build_object(
    'id', id, 'status', 'resolved', 'reason', 'spam', 'createdAt', private.iso(created_at), 'resolvedAt',
    private.iso(resolved_at)
  ),
  'a resolved one says when, and not how'
)
from public.reports where id = (select max(id) from ana);

-- The export.
create function pg_temp.exported(person text)
returns jsonb
language plpgsql
as $$
declare
  pieces text[] := array[]::text[];
  piece text;
  place jsonb;
begin
  loop
    perform tests.become_role('edge_functions');
    select case when private.act_as(tests.claims_of(person), true) then api.export_me(place) end into piece;
    pieces := pieces || piece;
    place := nullif(current_setting('api.response_metadata', true), '')::jsonb -> 'place';
    perform set_config('api.response_metadata', '', true);
    perform tests.become_owner();
    exit when place is null;
  end loop;
  return array_to_string(pieces, '')::jsonb;
end
$$;
grant execute on all functions in schema pg_temp to public;
select is(
  pg_temp.exported('ana') #> '{reports,0}',
  jsonb_build_object(
    'id', id, 'user_id', tests.id_of('ben'), 'message_id', 1, 'reason', 'spam', 'note', 'Note 1', 'share_messages',
    false, 'status', 'open', 'createdAt', private.iso(created_at), 'resolvedAt', null
  ),
  'the export has what ana entered'
)
from public.reports where id = (select min(id) from ana);
select is(
  (select jsonb_agg(one -> 'note') from jsonb_array_elements(pg_temp.exported('ana') -> 'reports') as one),
  '["Note 1", "Note 2", "Note 4", "Note 5", "Note 7", "Note 8"]', 'of all her reports, oldest first'
);
update public.users set is_active = true where id = tests.id_of('ben');
select is(pg_temp.exported('ben') -> 'reports', '[]', 'the export of ben has nothing of them');
select doesnt_match(pg_temp.exported('ben')::text, 'Note|spam|suspend', 'anywhere');

-- In pieces: with conversations that end at, before and after the end of a piece, and many reports.
insert into public.reports (reporter_id, user_id, message_id, reason, note)
select tests.id_of('cat'), tests.id_of('ben'), n, 'spam', format('%s %s', n, repeat('😀', 9))
from generate_series(10, 259) as n;
insert into public.conversations (voyager_id, local_id) values (tests.id_of('cat'), tests.id_of('ana'));
select is(
  (
    select jsonb_agg((one ->> 'message_id')::integer)
    from jsonb_array_elements(pg_temp.exported('cat') -> 'reports') as one
  ),
  (select jsonb_agg(message_id order by id) from public.reports where reporter_id = tests.id_of('cat')),
  'many reports are exported once each'
);
create function pg_temp.at_length(messages integer)
returns bigint
language plpgsql
as $$
begin
  delete from public.messages;
  insert into public.messages (conversation_id, user_id, content)
  select tests.conversation_of('cat'), tests.id_of('cat'), n::text from generate_series(1, messages) as n;
  return jsonb_array_length(pg_temp.exported('cat') -> 'reports');
end
$$;
select is(
  array(
    select distinct pg_temp.at_length(messages)
    from unnest(array[98, 99, 100, 101, 199]) as messages
  ),
  array[253::bigint], 'whatever the messages before them'
);
