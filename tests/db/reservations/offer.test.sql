-- Offers: who can make them, to whom, and exactly once with a key.
select plan(33);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'mallory']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('ana'), tests.id_of('cat'));

create function pg_temp.conversation_with(local text)
returns bigint
language sql security definer
as $$ select id from public.conversations where local_id = tests.id_of(local) $$;
create function pg_temp.offer(person text, fields jsonb default '{}', local text default 'ben')
returns jsonb
language plpgsql
as $$
declare
  answer jsonb := tests.ask(
    person,
    format(
      'offer_reservation(%s, %L)',
      pg_temp.conversation_with(local),
      '{"title": "A walk", "price": 20, "date": "2036-01-01T10:00:00.000Z"}'::jsonb || fields
    )
  );
begin
  perform tests.become_owner();
  return answer;
end
$$;
grant execute on all functions in schema pg_temp to public;

select is(
  pg_temp.offer('ana', jsonb_build_object('host_id', tests.id_of('ana'))) - 'id' - 'createdAt' - 'updatedAt',
  jsonb_build_object(
    'conversation_id', tests.conversation_of('ana'), 'title', 'A walk', 'price', 20.00,
    'date', '2036-01-01T10:00:00.000Z', 'ends_at', null, 'status', 'pending', 'host_id', tests.id_of('ana'),
    'offered_by', tests.id_of('ana'), 'revision', 1
  ),
  'ana can offer a reservation with herself as the host'
);
select is(
  (pg_temp.offer('ana') ->> 'host_id')::bigint, tests.id_of('ben'), 'without a host the local is the host'
);
select is((pg_temp.offer('ben') ->> 'host_id')::bigint, tests.id_of('ben'), 'also if the local offers');
select throws_ok(
  $$ select pg_temp.offer('mallory') $$, 'PT404', 'Conversation not found',
  'mallory cannot offer in a conversation of others'
);
select throws_ok(
  $$ select pg_temp.offer('ana', jsonb_build_object('host_id', tests.id_of('cat'))) $$, 'PT400',
  'host_id: must be one of the two participants', 'nobody else can be the host'
);
select throws_ok(
  $$ select pg_temp.offer('ana', '{"date": "2020-01-01T00:00:00Z"}') $$, 'PT400', 'date: must be in the future',
  'the date cannot be in the past'
);
select throws_ok(
  $$ select pg_temp.offer('ana', jsonb_build_object('date', private.present())) $$, 'PT400', null,
  'the date cannot be now'
);
select throws_ok(
  format($$ select pg_temp.offer('ana', '{"ends_at": "%s"}') $$, ends_at), '23514',
  'new row for relation "reservations" violates check constraint "ends_at must be after date, by 366 days at most"',
  format('it cannot end at %s', ends_at)
)
from unnest(array['2036-01-01T10:00:00Z', '2037-01-01T10:00:00.001Z']) as ends_at;
select lives_ok(
  format($$ select pg_temp.offer('ana', '{"ends_at": "%s"}') $$, ends_at), format('it can end at %s', ends_at)
)
from unnest(array['2036-01-01T10:00:00.001Z', '2037-01-01T10:00:00Z']) as ends_at;

-- An admin writes dates as Postgres reads them, and participants read them as ISO 8601.
select throws_ok(
  format('update public.reservations set date = %L, ends_at = %L', starts, ends), '23514',
  'new row for relation "reservations" violates check constraint "date and ends_at are in the years 1 to 9999"',
  format('not even an admin can set the dates to %s and %s', starts, coalesce(ends, 'null'))
)
from (
  values
    ('infinity', null), ('-infinity', null), ('0001-12-31 23:59:59.999+00 BC', null), ('10000-01-01 00:00+00', null),
    ('9999-12-31 23:00+00', '10000-01-01 00:00+00')
) as times (starts, ends);

-- The first answer, for ever.
create function pg_temp.keyed(fields jsonb default '{}', person text default 'ana', local text default 'ben')
returns jsonb
language sql
as $$
  select pg_temp.offer(person, '{"client_id": "0f0f0f0f-0000-4000-8000-000000000001"}' || fields, local)
$$;
grant execute on all functions in schema pg_temp to public;
select tests.become_owner();
create temp table first as select pg_temp.keyed() as answer;
grant select on first to public;
select isnt(
  tests.ask('ana', format('report_person(%L)', report)), (select answer from first), 'a report can have the same key'
)
from jsonb_build_object(
  'user_id', tests.id_of('ben'), 'reason', 'spam', 'client_id', '0f0f0f0f-0000-4000-8000-000000000001'
) as report;
select is(pg_temp.keyed(), (select answer from first), 'a repeat gets the first answer');
select is(
  current_setting('api.response_metadata')::jsonb, '{"replayed": true}', 'which the response metadata says'
);
select tests.become_owner();
update public.reservations set price = 1, status = 'declined' where id = (select (answer ->> 'id')::bigint from first);
select is(
  pg_temp.keyed(jsonb_build_object('ends_at', null, 'host_id', tests.id_of('ben'), 'price', 20.0)),
  (select answer from first), 'also after changes, and if it spells out the defaults'
);
select is(
  (
    select count(*)
    from public.reservation_history
    where reservation_id = (select (answer ->> 'id')::bigint from first)
  ),
  2::bigint, 'and nothing has happened'
);
select throws_ok(
  format('select pg_temp.keyed(%L)', fields), 'PT422', 'This idempotency key was used for another reservation',
  format('the key cannot be used for %s', fields)
)
from unnest(array['{"price": 21}', '{"title": "B"}', '{"date": "2036-01-02T10:00:00.000Z"}']) as fields;
select throws_ok(
  $$ select pg_temp.keyed(jsonb_build_object('ends_at', '2036-01-01T11:00:00.000Z')) $$, 'PT422', null,
  'nor with an end'
);
select throws_ok(
  $$ select pg_temp.keyed(jsonb_build_object('host_id', tests.id_of('ben')), 'ana', 'cat') $$, 'PT422', null,
  'nor in another conversation, with everything else the same'
);
select isnt(
  pg_temp.keyed('{"client_id": "0f0f0f0f-0000-4000-8000-000000000002"}'), (select answer from first),
  'another key is another reservation'
);
select isnt(pg_temp.keyed('{}', 'ben'), (select answer from first), 'ben can use the same key');

select tests.become_owner();
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('ana'));
select throws_ok(
  $$ select pg_temp.offer('ana') $$, 'PT403', 'You cannot write to this person',
  'ana cannot offer to ben, who blocked her'
);
select throws_ok(
  $$ select pg_temp.offer('ben') $$, 'PT403', 'You cannot write to this person', 'nor can ben offer to her'
);
select is(pg_temp.keyed(), (select answer from first), 'a repeat still gets the first answer');
select tests.become_owner();
update public.users set is_active = false where id = tests.id_of('cat');
select throws_ok(
  $$ select pg_temp.offer('ana', '{}', 'cat') $$, 'PT403', 'You cannot write to this person',
  'ana cannot offer to cat, who is deactivated'
);
select tests.become_owner();
update public.users set is_active = false where id = tests.id_of('ana');
select set_config('api.caller', tests.id_of('ana')::text, true);
select throws_ok(
  $$ select api.offer_reservation(tests.conversation_of('ana'), '{"title": "A", "price": 1, "date": "2036-01-01"}') $$,
  'PT401', null, 'an account that is deactivated meanwhile cannot offer'
);
