-- What every pgTAP file may use. people(name) makes somebody with an Auth account; become(name) speaks as them until the next
-- become; become(null) is an anonymous caller; become_owner() is the owner again.
create schema if not exists tests;
grant usage on schema tests, tap to public;

create or replace function tests.make_person(name text)
returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
  account uuid := gen_random_uuid();
begin
  insert into auth.users (id, aud, role, email, email_confirmed_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values (
    account, 'authenticated', 'authenticated', name || '@tests.example', now(), '{"provider": "email"}',
    jsonb_build_object('name', name), now(), now()
  );
  return (select id from public.users where auth_id = account);
end
$$;

create or replace function tests.id_of(person text)
returns bigint
language sql stable security definer set search_path = ''
as $$ select id from public.users where email = person || '@tests.example' $$;

create or replace function tests.profile_of(person text)
returns bigint
language sql stable security definer set search_path = ''
as $$ select id from public.profiles where user_id = tests.id_of(person) $$;

create or replace function tests.claims_of(person text)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('sub', auth_id, 'role', 'authenticated', 'aud', 'authenticated')
  from public.users
  where email = person || '@tests.example'
$$;

create or replace function tests.become(person text)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
  claims jsonb := tests.claims_of(person);
begin
  perform set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  perform set_config('role', case when person is null then 'anon' else 'authenticated' end, true);
end
$$;

create or replace function tests.become_role(wanted name)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
  perform set_config('request.jwt.claims', '', true);
  perform set_config('request.jwt.claim.sub', '', true);
  perform set_config('role', wanted, true);
end
$$;

grant execute on all functions in schema tests, tap to public;
