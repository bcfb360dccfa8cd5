-- The clock: readers see its steps at once, and settle_reservations writes them.
select plan(22);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('ben'));
insert into public.reservations (conversation_id, title, price, date, ends_at, status)
select tests.conversation_of('ana'), title, 1, now() + starts, now() + ends, status
from (
  values
    (1, 'offer', interval '10 hours', interval '20 hours', 'pending'),
    (2, 'stay', interval '10 hours', interval '20 hours', 'accepted'),
    (3, 'evening', interval '10 hours', null, 'accepted'),
    (4, 'no', interval '10 hours', null, 'declined'),
    (5, 'later', interval '30 hours', null, 'pending')
) as made (place, title, starts, ends, status)
order by place;

-- The statuses that a participant sees, by each way to read; they must be the same.
create function pg_temp.seen()
returns setof text
language plpgsql
as $$
declare
  talk bigint := tests.conversation_of('ana');
  listed jsonb := tests.ask('ana', 'list_my_reservations(''{"limit": 9}'')');
  detail jsonb := tests.ask('ben', format('get_conversation(%s)', talk)) -> 'Reservations';
  exported jsonb := tests.ask('ben', 'export_me(null)') #> '{conversations,0,Reservations}';
begin
  perform tests.become_owner();
  return query
    select string_agg(format('%s %s', title, array_to_string(statuses, '/')), ', ' order by id)
    from (
      select (one ->> 'id')::bigint as id, one ->> 'title' as title, array_agg(distinct one ->> 'status') as statuses
      from jsonb_array_elements(listed || detail || exported) as one
      group by one ->> 'id', one ->> 'title'
    ) as read;
end
$$;
create function pg_temp.stored()
returns text
language sql
as $$ select string_agg(format('%s %s', title, status), ', ' order by id) from public.reservations $$;
create function pg_temp.history(place integer)
returns jsonb
language plpgsql
as $$
declare
  answer jsonb := tests.ask(
    'ana',
    format(
      'get_reservation(conversation => %s, reservation => %s)', tests.conversation_of('ana'),
      tests.reservation_of('ana', place)
    )
  );
begin
  perform tests.become_owner();
  return answer -> 'history';
end
$$;

select is(pg_temp.seen(), pg_temp.stored(), 'before any date readers see what the table says');
select is(private.settle_reservations(), 0, 'and the clock has nothing to do');

select tests.pass_time('15 hours');
create temp table before as select pg_temp.stored() as stored;
select is(
  pg_temp.seen(), 'offer cancelled, stay accepted, evening completed, no declined, later pending',
  'after the dates an offer is cancelled and an evening completed, and a stay goes on'
);
select is(pg_temp.stored(), (select stored from before), 'reading has written nothing');
create temp table histories as select place, pg_temp.history(place) as history from generate_series(1, 5) as place;
select tests.become_owner();
select is(private.settle_reservations(), 2, 'the clock writes both');
select is(pg_temp.stored(), pg_temp.seen(), 'then the table says so as well');
select is(private.settle_reservations(), 0, 'and there is nothing left to do');
select is(
  pg_temp.history(place), (select history from histories where histories.place = places.place),
  format('the history of reservation %s is what readers saw before it was written', place)
)
from generate_series(1, 5) as places (place);
select is(
  (pg_temp.history(1) -> -1) - 'price' - 'title' - 'date' - 'ends_at',
  jsonb_build_object(
    'status', 'cancelled', 'by', null, 'note', null, 'createdAt',
    private.iso((select date from public.reservations where title = 'offer'))
  ),
  'the clock takes its step at the date'
);
select tests.become_owner();
select tests.pass_time('25 hours');
select is(
  pg_temp.seen(), 'offer cancelled, stay completed, evening completed, no declined, later pending',
  'a stay is completed at its end'
);
select is(
  pg_temp.history(2) -> -1 ->> 'createdAt', private.iso((select ends_at from public.reservations where title = 'stay')),
  'and dated then'
);
select is(
  tests.ask('ana', 'list_my_reservations(''{"limit": 9, "status": "completed"}'')') #>> '{0,title}', 'evening',
  'the filter by status is about the status of this moment'
);
select is(
  jsonb_array_length(tests.ask('ana', 'list_my_reservations(''{"limit": 9, "status": "accepted"}'')')), 0,
  'and not about what the table says'
);
select tests.become_owner();
select results_eq(
  $$ select private.status_at(status, due_at, moment) from (
    values
      ('pending', timestamptz '2036-01-02', timestamptz '2036-01-01 23:59:59.999'),
      ('pending', '2036-01-02', '2036-01-02'),
      ('accepted', '2036-01-02', '2036-01-01 23:59:59.999'),
      ('accepted', '2036-01-02', '2036-01-02'),
      ('declined', null, '2036-01-02')
  ) as cases (status, due_at, moment) $$,
  array['pending', 'cancelled', 'accepted', 'completed', 'declined'],
  'the step is due at that very moment'
);

-- An admin is quicker than the schedule.
update public.reservations set title = 'stay!' where title = 'stay';
select is(
  (select jsonb_agg(entry -> 'status') from jsonb_array_elements(pg_temp.history(2)) as entry),
  '["accepted", "completed", "completed"]', 'the step of the clock comes before an admin''s change'
);
select ok(
  (select bool_and(entry -> 'by' = 'null') from jsonb_array_elements(pg_temp.history(2)) as entry),
  'neither of them has a person'
);
select tests.become_owner();
select is(
  (
    select array_agg(title order by id)
    from public.reservation_history
    where reservation_id = tests.reservation_of('ana', 2)
  ),
  array['stay', 'stay', 'stay!'], 'and each has the title of its time'
);

-- One that an admin dates in the past is settled after the write, not before.
insert into public.reservations (conversation_id, title, price, date, status)
values (tests.conversation_of('ana'), 'past', 1, now() - interval '1 day', 'accepted');
select ok(
  (select bool_and(entry ->> 'createdAt' >= private.iso(now())) from jsonb_array_elements(pg_temp.history(6)) as entry),
  'what an admin dates in the past is completed when it is written'
);
