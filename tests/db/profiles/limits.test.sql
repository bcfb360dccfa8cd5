-- Limits of a profile's fields.
select plan(27);
select tests.make_person('ana');

select lives_ok(
  format('update public.profiles set %I = %s where user_id = tests.id_of(''ana'')', field, value),
  format('ana''s %s can be %s', field, value)
)
from (
  values
    ('first_name', 'null'),
    ('first_name', $$repeat('a', 100)$$),
    ('last_name', 'null'),
    ('last_name', $$repeat('a', 100)$$),
    ('age', 'null'),
    ('age', '18'),
    ('age', '120'),
    ('biography', 'null'),
    ('biography', $$repeat('a', 5000)$$),
    ('country', 'null'),
    ('country', $$repeat('a', 120)$$),
    ('city', 'null'),
    ('city', $$repeat('a', 120)$$),
    ('image_url', 'null'),
    ('image_url', $$'https://images.example/ana.jpg?size=2#top'$$),
    ('image_url', $$'https://' || repeat('a', 2040)$$)
) as fields (field, value);

select throws_ok(
  format('update public.profiles set %I = %s where user_id = tests.id_of(''ana'')', field, value), '23514',
  format('new row for relation "profiles" violates check constraint "%s"', rule),
  format('ana''s %s cannot be %s', field, value)
)
from (
  values
    ('first_name', $$repeat('a', 101)$$, 'first_name has at most 100 characters'),
    ('last_name', $$repeat('a', 101)$$, 'last_name has at most 100 characters'),
    ('age', '17', 'age is 18 to 120'),
    ('age', '121', 'age is 18 to 120'),
    ('age', '-20', 'age is 18 to 120'),
    ('biography', $$repeat('a', 5001)$$, 'biography has at most 5,000 characters'),
    ('country', $$repeat('a', 121)$$, 'country has at most 120 characters'),
    ('city', $$repeat('a', 121)$$, 'city has at most 120 characters'),
    ('image_url', $$'https://' || repeat('a', 2041)$$, 'image_url is an https address of at most 2,048 characters')
) as fields (field, value, rule);

select throws_ok(
  'insert into public.profiles (user_id) values (tests.id_of(''ana''))', '23505',
  'duplicate key value violates unique constraint "profiles_user_id_key"', 'ana cannot have two profiles'
);
select throws_ok(
  'update public.profiles set is_searchable = null where user_id = tests.id_of(''ana'')', '23502', null,
  'is_searchable cannot be null'
);
