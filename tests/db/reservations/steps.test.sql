-- Steps and counter-offers: what tests/db/schedules.test.ts does not try.
select plan(30);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('cat', 'ben');

create function pg_temp.step(person text, step text, note text default null, voyager text default 'ana')
returns jsonb
language sql
as $$
  select tests.ask(
    person,
    format(
      'step_reservation(conversation => %s, reservation => %s, step => %L, note => %L, revision => %s)',
      tests.conversation_of('ana'), tests.reservation_of(voyager), step, note, tests.revision_of(voyager)
    )
  )
$$;
create function pg_temp.counter(person text, changes jsonb, voyager text default 'ana')
returns jsonb
language sql
as $$
  select tests.ask(
    person,
    format(
      'counter_reservation(conversation => %s, reservation => %s, changes => %L)', tests.conversation_of('ana'),
      tests.reservation_of(voyager), changes
    )
  )
$$;
create function pg_temp.steps()
returns bigint
language sql security definer
as $$ select count(*) from public.reservation_history where reservation_id = tests.reservation_of('ana') $$;
grant execute on all functions in schema pg_temp to public;

select throws_ok(
  format('select pg_temp.step(%L, %L)', 'mallory', step), 'PT404', 'Conversation not found',
  format('mallory cannot %s a reservation of others', step)
)
from unnest(array['accept', 'decline', 'cancel', 'complete']) as step;
select throws_ok(
  $$ select pg_temp.counter('mallory', '{"price": 1}') $$, 'PT404', 'Conversation not found',
  'nor make a counter-offer'
);
select throws_ok(
  $$ select pg_temp.step('ben', 'accept', null, 'cat') $$, 'PT404', 'Reservation not found',
  'ben cannot accept a reservation in a conversation that it does not belong to'
);
select throws_ok(
  $$ select pg_temp.counter('ben', '{"price": 1}', 'cat') $$, 'PT404', 'Reservation not found',
  'nor make a counter-offer to it'
);

select is(
  pg_temp.counter(
    'ben',
    '{"title": "A climb", "price": 25.5, "date": "2036-02-01T10:00:00Z", "ends_at": "2036-02-02T10:00:00Z"}'
  )
    - 'id' - 'conversation_id' - 'createdAt' - 'updatedAt' - 'host_id',
  jsonb_build_object(
    'title', 'A climb', 'price', 25.50, 'date', '2036-02-01T10:00:00.000Z', 'ends_at', '2036-02-02T10:00:00.000Z',
    'status', 'pending', 'offered_by', tests.id_of('ben'), 'revision', 2
  ),
  'a counter-offer changes every term, and ben has made the current offer'
);
select is(pg_temp.steps(), 2::bigint, 'the counter-offer is in the history');
select is(
  pg_temp.counter('ana', '{"price": 25.50}') ->> 'offered_by', tests.id_of('ben')::text,
  'without a difference there is no counter-offer'
);
select is(pg_temp.steps(), 2::bigint, 'and nothing in the history');
select is(pg_temp.counter('ana', '{}') ->> 'title', 'A climb', 'nor without any change');
select is(pg_temp.counter('ana', '{"ends_at": null}') -> 'ends_at', 'null', 'the end can be taken away');
select throws_ok(
  $$ select pg_temp.counter('ana', '{"date": "2020-01-01T00:00:00Z"}') $$, 'PT400', 'date: must be in the future',
  'the date cannot be in the past'
);
select throws_ok(
  $$ select pg_temp.counter('ana', '{"ends_at": "2036-01-31T00:00:00Z"}') $$, '23514', null,
  'the end cannot be before the date'
);
select throws_ok(
  format('select pg_temp.step(%L, %L)', 'ana', step), 'PT409', 'Only the other participant can answer this offer',
  format('ana cannot %s her own offer', step)
)
from unnest(array['accept', 'decline']) as step;
select throws_ok(
  $$ select pg_temp.step('ben', 'accept', repeat('x', 501)) $$, '23514', null, 'a note has at most 500 characters'
);
select is(pg_temp.step('ben', 'accept', 'Bring boots') ->> 'status', 'accepted', 'ben can accept it, with a note');
select is(
  pg_temp.step('ben', 'accept', 'Again'), pg_temp.step('ana', 'accept'), 'repeating it is no error, for either'
);
select tests.become_owner();
select results_eq(
  $$
    select status, by_id, note
    from public.reservation_history
    where reservation_id = tests.reservation_of('ana')
    order by id
    offset 3
  $$,
  $$ values ('accepted', tests.id_of('ben'), 'Bring boots') $$,
  'the history has the acceptance once, with its note'
);
select throws_ok(
  $$ select pg_temp.step('ana', 'complete') $$, 'PT409', 'This reservation has not ended yet',
  'ana cannot complete it before its end'
);

select tests.become_owner();
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select throws_ok(
  format('select pg_temp.step(%L, %L)', person, step), 'PT403', 'You cannot write to this person',
  format('after a block %s cannot %s it', person, step)
)
from (values ('ana', 'complete'), ('ben', 'accept')) as steps (person, step);
select throws_ok(
  $$ select pg_temp.counter('ben', '{"price": 1}') $$, 'PT403', 'You cannot write to this person',
  'nor make a counter-offer'
);
select tests.become_owner();
delete from private.blocks;
update public.users set is_active = false where id = tests.id_of('ana');
select throws_ok(
  $$ select pg_temp.step('ben', 'decline') $$, 'PT403', 'You cannot write to this person',
  'ben cannot decline what ana offers, who is deactivated'
);
select tests.become_owner();
update public.users set is_active = true where id = tests.id_of('ana');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(pg_temp.step('ben', 'cancel', 'Words') ->> 'status', 'cancelled', 'whoever was blocked can leave');
select tests.become_owner();
select is(
  (select max(note) from public.reservation_history where note = 'Words'),
  null, 'and no words cross the block'
);

insert into public.reservations (conversation_id, title, price, date, revision)
values (tests.conversation_of('ana'), 'From an admin', 1, now() + interval '1 day', 7);
select is(
  (select revision from public.reservations where title = 'From an admin'), 1, 'nobody sets the revision'
);
create function pg_temp.revisions()
returns integer[]
language plpgsql
as $$
declare
  change text;
  revision integer;
  revisions integer[];
begin
  foreach change in array array[
    $c$title = 'Another'$c$, 'price = 2', 'date = date + interval ''1 hour''', 'ends_at = date + interval ''1 day''',
    'ends_at = null', 'price = 2', 'revision = 1', 'offered_by = null', 'status = ''declined'''
  ]
  loop
    execute 'update public.reservations set ' || change || ' where id = (select max(id) from public.reservations) '
      || 'returning revision'
    into revision;
    revisions := revisions || revision;
  end loop;
  return revisions;
end
$$;
select is(pg_temp.revisions(), array[2, 3, 4, 5, 6, 6, 6, 6, 6], 'each change of the terms is a revision, no other is');
