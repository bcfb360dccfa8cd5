-- Limits of a reservation's fields.
select plan(21);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');

select is((select status from public.reservations), 'pending', 'a new reservation is pending');

select lives_ok(
  format('update public.reservations set %I = %s', field, value),
  format('the %s of a reservation can be %s', field, value)
)
from (
  values
    ('title', $$'x'$$),
    ('title', $$repeat('x', 200)$$),
    ('price', '0'),
    ('price', '9999999999.99'),
    ('status', $$'pending'$$),
    ('status', $$'accepted'$$),
    ('status', $$'declined'$$),
    ('status', $$'cancelled'$$),
    ('status', $$'completed'$$)
) as fields (field, value);

select throws_ok(
  format('update public.reservations set %I = %s', field, value), '23514',
  format('new row for relation "reservations" violates check constraint "%s"', rule),
  format('the %s of a reservation cannot be %s', field, value)
)
from (
  values
    ('title', $$''$$, 'title has 1 to 200 characters'),
    ('title', $$repeat('x', 201)$$, 'title has 1 to 200 characters'),
    ('title', $$E'\n'$$, 'title is one line that shows something'),
    ('title', $$E'A\nB'$$, 'title is one line that shows something'),
    ('price', '-0.01', 'price is not negative'),
    ('price', $$'NaN'$$, 'price is not negative'),
    ('status', $$''$$, 'status is pending, accepted, declined, cancelled or completed'),
    ('status', $$'Pending'$$, 'status is pending, accepted, declined, cancelled or completed'),
    ('status', $$'rejected'$$, 'status is pending, accepted, declined, cancelled or completed')
) as fields (field, value, rule);

select throws_ok(
  'update public.reservations set price = 10000000000', '22003', null, 'the price has at most ten digits'
);
select throws_ok(
  'update public.reservations set status = null', '23502', null, 'the status of a reservation cannot be null'
);
