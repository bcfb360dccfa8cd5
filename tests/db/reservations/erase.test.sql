-- Erasing a participant cancels what is pending or accepted; the partner keeps it with its history.
select plan(9);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana')),
  (tests.id_of('cat'), tests.id_of('ben'));
insert into public.reservations (conversation_id, title, price, date, status)
select conversations.id, status || ' ' || days, 1, now() + make_interval(days => days), status
from public.conversations
cross join unnest(array['pending', 'accepted', 'declined', 'cancelled', 'completed']) as status
cross join unnest(array[-1, 1]) as days;
insert into private.stored_replies (user_id, noun, client_id, subject_id, request_hash, body, metadata)
select users.id, 'reservation', gen_random_uuid(), min(reservations.id), '', '{}', '{}'
from public.users
cross join public.reservations
group by users.id;
create temp table ana as select tests.id_of('ana') as id;
-- The statuses of a person's reservations by title; of both conversations, so they must agree.
create function pg_temp.statuses(person bigint)
returns jsonb
language sql
as $$
  select jsonb_object_agg(title, statuses)
  from (
    select title, string_agg(distinct reservations.status, '/') as statuses
    from public.reservations
    join public.conversations on conversations.id = conversation_id
    where person in (voyager_id, local_id)
    group by title
  ) as by_title
$$;
create temp table untouched as
select * from public.reservations
where conversation_id in (select id from public.conversations where tests.id_of('ana') not in (voyager_id, local_id));

select lives_ok($$ select tests.ask('ana', 'erase_me()') $$, 'ana erases her account');
select tests.become_owner();
select is(
  pg_temp.statuses((select id from ana)),
  '{
    "pending -1": "cancelled", "pending 1": "cancelled", "accepted -1": "completed", "accepted 1": "cancelled",
    "declined -1": "declined", "declined 1": "declined", "cancelled -1": "cancelled", "cancelled 1": "cancelled",
    "completed -1": "completed", "completed 1": "completed"
  }'::jsonb,
  'in all her conversations what is open is cancelled, what has ended is completed, and the rest stays'
);
select results_eq(
  'select * from public.reservations where id in (select id from untouched) order by id',
  'select * from untouched order by id', 'reservations of others stay'
);
select results_eq(
  $$
    select distinct reservation_history.status, reservations.title, by_id
    from public.reservation_history
    join public.reservations on reservations.id = reservation_id
    join ana on true
    where reservation_history.id > (select max(first) from (
      select min(id) as first from public.reservation_history group by reservation_id
    ) as firsts)
    order by 2
  $$,
  $$
    select status, title, case when title like '% 1' then id end
    from ana
    cross join (
      values ('completed', 'accepted -1'), ('cancelled', 'accepted 1'), ('cancelled', 'pending -1'),
        ('cancelled', 'pending 1')
    ) as steps (status, title)
    order by 2
  $$,
  'the history says that ana did it, or before her the clock'
);
select isnt_empty(
  $$
    select
    from jsonb_array_elements(tests.ask('ben', 'list_my_reservations(''{"limit": 50}'')')) as one
    where one #>> '{partner,name}' = 'Deleted user' and one ->> 'title' = 'accepted 1'
  $$,
  'ben keeps it, with "Deleted user"'
);
select tests.become_owner();
select is_empty(
  'select from private.stored_replies where user_id = (select id from ana)', 'her stored answers are deleted'
);
select isnt_empty('select from private.stored_replies', 'those of others stay');

update public.reservations
set status = 'accepted'
where id = (select id from untouched where title = 'declined 1' limit 1);
select ok(private.erase_person(tests.id_of('cat')), 'an admin can erase cat');
select is(
  (
    select jsonb_agg(jsonb_build_array(status, by_id) order by id)
    from public.reservation_history
    where reservation_id = (select id from untouched where title = 'declined 1' limit 1)
  ),
  '[["declined", null], ["accepted", null], ["cancelled", null]]', 'then nobody has cancelled it but the admin'
);
