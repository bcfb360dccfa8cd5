-- Accepted reservations of a host never overlap, whoever writes them. They do not end when they begin.
select plan(12);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ben'));
insert into public.reservations (conversation_id, title, price, date, ends_at, status)
values (tests.conversation_of('ana'), 'First', 1, '2036-01-10', '2036-01-20', 'accepted');

create function pg_temp.book(
  starts timestamptz, ends timestamptz, status text default 'accepted', host text default 'ben'
)
returns void
language sql
as $$
  insert into public.reservations (conversation_id, title, price, date, ends_at, status, host_id)
  values (tests.conversation_of('cat'), 'Other', 1, starts, ends, status, tests.id_of(host))
$$;

select throws_ok(
  format('select pg_temp.book(%L, %L)', starts, ends), '23P01',
  'conflicting key value violates exclusion constraint "accepted reservations of a host do not overlap"',
  format('an admin cannot book ben from %s to %s', starts, ends)
)
from (
  values
    ('2036-01-10', '2036-01-20'), ('2036-01-12', '2036-01-13'), ('2036-01-01', '2036-01-31'),
    ('2036-01-01', '2036-01-10 00:00:00.001'), ('2036-01-19 23:59:59.999', '2036-01-21')
) as times (starts, ends);
select lives_ok(
  format('select pg_temp.book(%L, %L, %L, %L)', starts, ends, status, host),
  format('%s from %s to %s with %s is possible', status, starts, ends, host)
)
from (
  values
    ('2036-01-01', '2036-01-10', 'accepted', 'ben'),
    ('2036-01-20', '2036-01-31', 'accepted', 'ben'),
    ('2036-01-15', null, 'accepted', 'ben'),
    ('2036-01-15', '2036-01-16', 'pending', 'ben'),
    ('2036-01-15', '2036-01-16', 'completed', 'ben'),
    ('2036-01-15', '2036-01-16', 'accepted', 'cat')
) as times (starts, ends, status, host);

create function pg_temp.accept_pending()
returns void
language sql
as $$
  select tests.ask(
    'ben',
    format(
      'step_reservation(conversation => %s, reservation => %s, step => %L, note => null, revision => %s)',
      conversation_id, id, 'accept', revision
    )
  )
  from public.reservations
  where status = 'pending'
$$;
select throws_ok(
  'select pg_temp.accept_pending()', 'PT409', 'The host has another reservation at that time',
  'ben cannot accept one that overlaps'
);
