-- The caller of open_conversation becomes the voyager.
select plan(9);
select tests.make_person(name) from unnest(array['ana', 'ben', 'dora']) as name;
update public.users set is_active = false where id = tests.id_of('dora');

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
  pg_temp.detail_of_refusal(), jsonb_build_object('conversation_id', tests.conversation_of('ana')),
  'the error names the existing conversation'
);

select throws_ok(
  format('select pg_temp.open(%L, %s)', caller, coalesce(tests.id_of(other), 9007199254740991)), code, message,
  format('%s cannot open %s', coalesce(caller, 'an anonymous caller'), what)
)
from (
  values
    ('ana', 'ben', 'PT409', 'A conversation with this user already exists', 'a second one with ben'),
    ('ben', 'ana', 'PT409', 'A conversation with this user already exists', 'a second one with ana'),
    ('ana', 'ana', 'PT400', 'other_user_id: nobody can open a conversation with themselves', 'one with herself'),
    ('ana', 'dora', 'PT404', 'User not found', 'one with dora, who is deactivated'),
    ('ana', 'zoe', 'PT404', 'User not found', 'one with an unknown user'),
    ('dora', 'ana', 'PT403', 'This account is deactivated', 'one, being deactivated'),
    (null, 'ana', 'PT401', 'This account no longer exists', 'one')
) as attempts (caller, other, code, message, what);
