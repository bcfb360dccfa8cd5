-- Devices and settings: their limits, and whose they are.
select plan(16);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
create function pg_temp.put(person text, place integer, endpoint text)
returns jsonb
language plpgsql
as $$
declare
  keys constant json := json_build_object('p256dh', 'B' || repeat('A', 86), 'auth', repeat('A', 22));
begin
  perform tests.become_owner();
  return tests.ask(
    person,
    format(
      'put_device(%L, %L)', '00000000-0000-4000-8000-' || lpad(place::text, 12, '0'),
      json_build_object('endpoint', endpoint, 'keys', keys)
    )
  );
end
$$;
create function pg_temp.devices(person text)
returns bigint
language sql
as $$ select jsonb_array_length(tests.ask(person, 'list_devices()')) $$;
grant execute on all functions in schema pg_temp to public;

select is(count(pg_temp.put('ana', place, 'https://push.example/' || place)), 10::bigint, 'ana registers ten devices')
from generate_series(1, 10) as place;
select throws_ok(
  $$ select pg_temp.put('ana', 11, 'https://push.example/11') $$, 'PT400',
  'device: you cannot have more than 10 devices',
  'the eleventh is refused'
);
select lives_ok($$ select pg_temp.put('ana', 10, 'https://push.example/new') $$, 'the tenth can be changed');
select is(pg_temp.devices('ana'), 10::bigint, 'which adds none');
select lives_ok($$ select pg_temp.put('ben', 1, 'https://push.example/2') $$, 'ben logs in on a browser of ana''s');
select is(pg_temp.devices('ana'), 9::bigint, 'which is hers no longer');
select is(pg_temp.devices('ben'), 1::bigint, 'but his');
select tests.ask('ben', 'delete_device(''00000000-0000-4000-8000-000000000003'')');
select is(pg_temp.devices('ana'), 9::bigint, 'ben cannot remove a device of ana''s');
select tests.ask('ana', 'delete_device(''00000000-0000-4000-8000-000000000003'')');
select is(pg_temp.devices('ana'), 8::bigint, 'ana can');
select throws_ok(
  $$ select pg_temp.put('ana', 1, 'https://push.example/ü') $$, '23514', null, 'an endpoint is ASCII'
);

select is(
  tests.ask('ana', 'get_notification_settings()'),
  '{"push": true, "email": true, "delay_minutes": 10, "quiet_hours": null, "previews": false}', 'the defaults'
);
select is(
  tests.ask(
    'ana',
    $$update_notification_settings(
      '{"email": false, "quiet_hours": {"from": "22:00", "to": "07:30", "time_zone": "Europe/Lisbon"}}'
    )$$
  ),
  '{"push": true, "email": false, "delay_minutes": 10, "previews": false,
    "quiet_hours": {"from": "22:00", "to": "07:30", "time_zone": "Europe/Lisbon"}}',
  'what is given changes'
);
select is(
  tests.ask('ana', $$update_notification_settings('{"delay_minutes": 0, "quiet_hours": null}')$$),
  '{"push": true, "email": false, "delay_minutes": 0, "quiet_hours": null, "previews": false}',
  'what is not given stays, and null clears'
);
select is(tests.ask('ben', 'get_notification_settings()') ->> 'email', 'true', 'nobody else''s change');
select throws_ok(
  $test$
    select tests.ask(
      'ana',
      $$update_notification_settings(
        '{"quiet_hours": {"from": "22:00", "to": "07:30", "time_zone": "Nowhere/Atlantis"}}'
      )$$
    )
  $test$,
  'PT400', 'quiet_hours.time_zone: must be the name of a time zone', 'a time zone that Postgres does not know'
);
select tests.become_owner();
select private.adopt_outbox_settings(delay_seconds => 90, webhooks => false);
select is(
  tests.ask('ben', 'get_notification_settings()') ->> 'delay_minutes', '2',
  'who has chosen no delay is shown the general one, in whole minutes'
);
