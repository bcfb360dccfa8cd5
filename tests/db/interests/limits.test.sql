-- Limits of an interest's name.
select plan(6);

select lives_ok($$ insert into public.interests (name) values ('x') $$, 'an interest can have a name of one character');
select lives_ok(
  $$ insert into public.interests (name) values (repeat('x', 60)) $$, 'an interest can have a name of 60 characters'
);
select throws_ok(
  format('insert into public.interests (name) values (%s)', name), '23514',
  format('new row for relation "interests" violates check constraint "interest name %s"', rule),
  format('an interest cannot be called %s', name)
)
from (
  values
    ($$''$$, 'has 1 to 60 characters'),
    ($$'  '$$, 'is one line that shows something'),
    ($$repeat('x', 61)$$, 'has 1 to 60 characters')
) as names (name, rule);
select throws_ok(
  $$ insert into public.interests (name) values ('X') $$, '23505',
  'duplicate key value violates unique constraint "interests_name_key"',
  'the names of two interests cannot differ only in case'
);
