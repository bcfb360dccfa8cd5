-- Whoever opens a conversation is its voyager.
select plan(9);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('dora');
update public.users
set is_active = false
where id = tests.id_of('dora');

create function pg_temp.open(person text, other bigint)
returns jsonb
language sql
as $$ select tests.ask(person, format('open_conversation(%s)', other)) $$;
grant execute on function pg_temp.open to public;

select is(
  pg_temp.open('ana', tests.id_of('ben')) - 'id',
  jsonb_build_object('voyager_id', tests.id_of('ana'), 'local_id', tests.id_of('ben')),
  'ana can open a conversation with ben'
);
select throws_ok(
  $$ select pg_temp.open('ana', tests.id_of('ben')) $$,
  'PT409',
  'A conversation with this user already exists',
  'ana cannot open another'
);
select throws_ok(
  $$ select pg_temp.open('ben', tests.id_of('ana')) $$,
  'PT409',
  'A conversation with this user already exists',
  'nor can ben'
);

create function pg_temp.detail_of_refusal()
returns jsonb
language plpgsql
as $$
declare
  detail text;
begin
  perform pg_temp.open('ben', tests.id_of('ana'));
  return null;
exception
  when sqlstate 'PT409' then
    get stacked diagnostics detail = pg_exception_detail;
    return detail;
end
$$;
grant execute on function pg_temp.detail_of_refusal to public;
select is(
  pg_temp.detail_of_refusal(),
  jsonb_build_object('conversation_id', tests.conversation_of('ana')),
  'ben hears which one is there'
);

select throws_ok(
  $$ select pg_temp.open('ana', tests.id_of('ana')) $$,
  'PT400',
  'other_user_id: nobody can open a conversation with themselves',
  'ana cannot open one with herself'
);
select throws_ok(
  $$ select pg_temp.open('ana', tests.id_of('dora')) $$,
  'PT404',
  'User not found',
  'ana cannot open one with dora, who is deactivated'
);
select throws_ok(
  $$ select pg_temp.open('ana', 9007199254740991) $$,
  'PT404',
  'User not found',
  'ana cannot open one with nobody'
);
select throws_ok(
  $$ select pg_temp.open('dora', tests.id_of('ana')) $$,
  'PT403',
  'This account is deactivated',
  'dora cannot open one'
);
select throws_ok(
  $$ select pg_temp.open(null, tests.id_of('ana')) $$,
  'PT401',
  'This account no longer exists',
  'an anonymous caller cannot open one'
);
