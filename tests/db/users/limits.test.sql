-- Limits of a user's fields. Lengths count code points, not bytes.
select plan(20);
select tests.make_person('ana');

select lives_ok(format('update public.users set %I = %s', field, value), format('ana''s %s can be %s', field, value))
from (
  values
    ('name', $$'a'$$),
    ('name', $$repeat('a', 100)$$),
    ('name', $$repeat('😀', 100)$$),
    ('bio', 'null'),
    ('bio', $$repeat('a', 500)$$),
    ('location', 'null'),
    ('location', $$repeat('a', 120)$$),
    ('email', $$repeat('a', 254)$$),
    ('role', $$'admin'$$)
) as fields (field, value);

select throws_ok(
  format('update public.users set %I = %s', field, value), '23514',
  format('new row for relation "users" violates check constraint "%s"', rule),
  format('ana''s %s cannot be %s', field, value)
)
from (
  values
    ('name', $$''$$, 'name has 1 to 100 characters'),
    ('name', $$E' \t\n'$$, 'name is one line that shows something'),
    ('name', $$U&'\3164'$$, 'name is one line that shows something'),
    ('name', $$E'Team\nYour account was suspended'$$, 'name is one line that shows something'),
    ('location', $$U&'a\202Eb'$$, 'location is one line that shows something'),
    ('name', $$repeat('a', 101)$$, 'name has 1 to 100 characters'),
    ('bio', $$repeat('a', 501)$$, 'bio has at most 500 characters'),
    ('location', $$repeat('a', 121)$$, 'location has at most 120 characters'),
    ('email', $$repeat('a', 255)$$, 'email has at most 254 characters'),
    ('role', $$'local'$$, 'role is user or admin')
) as fields (field, value, rule);

select throws_ok('update public.users set name = null', '23502', null, 'ana''s name cannot be null');
