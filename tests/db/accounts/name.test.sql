-- Every user has a name, even if the metadata of the Auth account has none.
select plan(7);

create function pg_temp.name_of_newcomer(metadata jsonb)
returns text
language sql
as $$
  insert into auth.users (id, email, raw_user_meta_data)
  values (gen_random_uuid(), gen_random_uuid() || '@tests.example', metadata);
  select name
  from public.users
  order by id desc
  limit 1
$$;

select is(
  pg_temp.name_of_newcomer(metadata), name,
  format('a sign-up with the metadata %s gets the name %s', coalesce(metadata::text, 'null'), name)
)
from (
  values
    ('{"name": "Ana"}'::jsonb, 'Ana'),
    ('{"name": ""}', 'New user'),
    ('{"name": null}', 'New user'),
    ('{"profile": {"city": "Porto"}}', 'New user'),
    (jsonb_build_object('name', repeat('b', 101)), repeat('b', 100)),
    ('{}', 'New user'),
    (null, 'New user')
) as newcomers (metadata, name);
