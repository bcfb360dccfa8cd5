-- The history: append-only, and complete whoever writes.
select plan(19);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('cat', 'ben');

create function pg_temp.entries(voyager text default 'ana')
returns setof text
language sql
as $$
  select format('%s %s %s', status, title, coalesce(by_id::text, 'nobody'))
  from public.reservation_history
  where reservation_id = tests.reservation_of(voyager)
  order by id
$$;

select tests.become_role('service_role');
update public.reservations set status = 'accepted', price = 21 where id = tests.reservation_of('ana');
update public.reservations set status = 'accepted', price = 21 where id = tests.reservation_of('ana');
update public.reservations set offered_by = null where id = tests.reservation_of('ana');
update public.reservations set title = 'A climb' where id = tests.reservation_of('ana');
update public.reservations set ends_at = date + interval '1 day' where id = tests.reservation_of('ana');
select tests.become_owner();
update public.reservations set host_id = tests.id_of('ana') where id = tests.reservation_of('ana');
update public.reservations set date = date - interval '1 hour' where id = tests.reservation_of('ana');
select results_eq(
  'select * from pg_temp.entries()',
  array[
    'pending A walk nobody', 'accepted A walk nobody', 'accepted A climb nobody', 'accepted A climb nobody',
    'accepted A climb nobody', 'accepted A climb nobody'
  ],
  'every change by an admin is in the history, and nothing else'
);
select results_eq(
  $$
    select price, ends_at is not null, created_at
    from public.reservation_history
    where reservation_id = tests.reservation_of('ana')
    order by id desc
    limit 1
  $$,
  $$ select price, true, updated_at from public.reservations where id = tests.reservation_of('ana') $$,
  'with the terms and the time of the reservation'
);

select throws_ok(
  statement, '42501', 'The history of reservations is append-only', format('not even the owner can %s', statement)
)
from unnest(array[
  'update public.reservation_history set note = null',
  'delete from public.reservation_history',
  'truncate public.reservation_history'
]) as statement;
select tests.become_role('service_role');
select throws_ok(statement, '42501', null, format('nor can the secret key %s', statement))
from unnest(array[
  'update public.reservation_history set note = null',
  'delete from public.reservation_history',
  'truncate public.reservation_history'
]) as statement;
select isnt_empty('select from public.reservation_history', 'the secret key reads it');
select tests.become('ana');
select is(
  (select count(distinct reservation_id) from public.reservation_history), 1::bigint,
  'ana reads the history of her reservation and of no other'
);
select tests.become_owner();

select is(
  (select host_id from public.reservations where id = tests.reservation_of('cat')), tests.id_of('ben'),
  'the host is the local unless an admin says otherwise'
);
select throws_ok(
  format(
    'update public.reservations set %I = %s where id = %s', field, tests.id_of('ana'), tests.reservation_of('cat')
  ),
  '23514', null, format('%s must be a participant', field)
)
from unnest(array['host_id', 'offered_by']) as field;
update public.reservations set offered_by = tests.id_of('ana') where id = tests.reservation_of('ana');
update public.reservations
set conversation_id = tests.conversation_of('cat')
where id = tests.reservation_of('ana');
select results_eq(
  $$
    select host_id, offered_by
    from public.reservations
    where conversation_id = tests.conversation_of('cat') and title = 'A climb'
  $$,
  $$ values (tests.id_of('ben'), null::bigint) $$,
  'moved to another conversation, it has a host from there, and nobody has offered it'
);
select tests.become('cat');
select is(
  (select count(*) from public.reservation_history where title = 'A climb'), 1::bigint,
  'its new participants read the steps since then'
);
select tests.become_owner();

create function pg_temp.moved()
returns bigint
language sql
as $$ select id from public.reservations where title = 'A climb' $$;
create temp table moved as select pg_temp.moved() as id;
delete from public.reservations where id = (select id from moved);
select is_empty(
  'select from public.reservation_history where reservation_id = (select id from moved)',
  'the history goes with its reservation'
);
delete from public.conversations where id = tests.conversation_of('cat');
select is_empty('select from public.reservation_history', 'and with its conversation');
select is_empty(
  $$ select from private.stored_replies where noun = 'reservation' $$, 'as do the stored answers'
);
select throws_ok(
  'insert into public.reservation_history (reservation_id, conversation_id, status, title, price, date, created_at) '
    || $$values (0, 0, 'pending', '', 0, now(), now())$$,
  '23503', null, 'there is no history without a reservation'
);
