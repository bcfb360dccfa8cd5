-- The caller's reservations: pages, filters, the partner.
select plan(18);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana')),
  (tests.id_of('cat'), tests.id_of('ben'));
insert into public.reservations (conversation_id, title, price, date, status)
select
  conversations.id, format('%s %s', place, day), 1, timestamptz '2036-01-01 00:00Z' + make_interval(days => day),
  'pending'
from (select row_number() over (order by id) as place, id from public.conversations) as conversations
cross join generate_series(1, 3) as day
order by day, place;

create function pg_temp.titles(person text, page jsonb default '{}')
returns text[]
language plpgsql
as $$
declare
  listed jsonb;
begin
  perform set_config('api.response_metadata', '', true);
  listed := tests.ask(person, format('list_my_reservations(%L)', '{"limit": 50}' || page));
  perform tests.become_owner();
  return array(select one ->> 'title' from jsonb_array_elements(listed) with ordinality as each (one, at) order by at);
end
$$;
select is(
  pg_temp.titles('ana'), array['2 3', '1 3', '2 2', '1 2', '2 1', '1 1'],
  'ana lists her reservations in all her conversations, newest first'
);
select is(pg_temp.titles('ben'), array['3 3', '1 3', '3 2', '1 2', '3 1', '1 1'], 'and ben his');
select is(
  array(
    select one ->> 'title'
    from jsonb_array_elements(
      tests.ask('ana', format('get_conversation(%s)', tests.conversation_of('ana'))) -> 'Reservations'
    ) as one
    order by one -> 'id'
  ),
  array['1 1', '1 2', '1 3'], 'a conversation has only its own'
);
select tests.become_owner();
select is(pg_temp.titles('ana', '{"limit": 2}'), array['2 3', '1 3'], 'a page has as many as were asked for');
select is(
  current_setting('api.response_metadata')::jsonb,
  jsonb_build_object('next', (select id from public.reservations where title = '1 3')),
  'and names its last one if there are more'
);
select is(
  pg_temp.titles('ana', jsonb_build_object('limit', 2, 'before_id', id)), array['2 2', '1 2'], 'the next page follows'
)
from public.reservations where title = '1 3';
select is(
  pg_temp.titles('ana', jsonb_build_object('limit', 2, 'before_id', id)), array['2 1', '1 1'], 'and the last one'
)
from public.reservations where title = '1 2';
select is(current_setting('api.response_metadata'), '', 'after which there is no other');
select is(
  pg_temp.titles('ana', '{"from": "2036-01-03T00:00:00Z"}'), array['2 3', '1 3', '2 2', '1 2'], 'from is included'
);
select is(pg_temp.titles('ana', '{"to": "2036-01-03T00:00:00Z"}'), array['2 1', '1 1'], 'to is not');
update public.reservations set status = 'accepted' where title = '1 2';
select is(pg_temp.titles('ana', '{"status": "accepted"}'), array['1 2'], 'a status selects');
select is(
  pg_temp.titles('ana', '{"status": "pending"}'), array['2 3', '1 3', '2 2', '2 1', '1 1'], 'and leaves out the others'
);
update public.reservations set date = '9999-12-31 23:59:59.999+00' where title = '1 1';
select ok('1 1' = any (pg_temp.titles('ana')), 'without limits of the date every reservation is listed');
select is(
  tests.ask('ana', 'list_my_reservations(''{"limit": 2}'')') @? '$[*].partner.name ? (@ == "ana")', false,
  'the partner is never oneself'
);
select is(
  (
    select jsonb_agg(one -> 'partner' order by one -> 'id')
    from jsonb_array_elements(tests.ask('ana', 'list_my_reservations(''{"limit": 2}'')')) as one
  ),
  jsonb_build_array(
    jsonb_build_object('id', tests.id_of('ben'), 'name', 'ben'),
    jsonb_build_object('id', tests.id_of('cat'), 'name', 'cat')
  ),
  'but the other participant, on either side'
);
select is(
  (
    select jsonb_agg(jsonb_array_length(talk -> 'Reservations'))
    from jsonb_array_elements(tests.ask('ana', 'export_me(null)') -> 'conversations') as talk
  ),
  '[3, 3]', 'the export has each reservation once, in its conversation'
);
select tests.become_owner();
select throws_ok(
  format(
    $$ select tests.ask('ana', 'get_reservation(conversation => %s, reservation => %s)') $$,
    reservations.conversation_id, reservations.id
  ),
  'PT404', 'Conversation not found', 'ana cannot read a reservation of others'
)
from public.reservations where title = '3 1';
select tests.become_owner();
select throws_ok(
  format(
    $$ select tests.ask('ana', 'get_reservation(conversation => %s, reservation => %s)') $$,
    tests.conversation_of('ana'), reservations.id
  ),
  'PT404', 'Reservation not found', 'nor through a conversation of her own'
)
from public.reservations where title = '3 1';
