-- Who can receive and send on which topic, checked as Realtime does: with a row that no other transaction sees.
select plan(122);
select tests.make_person(name) from unnest(array['ana', 'ben', 'mallory', 'gone']) as name;
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('gone'), tests.id_of('ben'));
update public.users set is_active = false where id = tests.id_of('gone');

-- What a user can do on a topic by an extension: 'receive', 'send', both or nothing.
create function tests.rights(person text, topic text, by text)
returns text
language plpgsql volatile set search_path = ''
as $$
declare
  probe constant uuid := gen_random_uuid();
  receives boolean;
  sends boolean := true;
begin
  insert into realtime.messages (id, topic, extension) values (probe, rights.topic, by);
  perform set_config('realtime.topic', topic, true);
  perform tests.become(person);
  receives := exists (select from realtime.messages where id = probe);
  begin
    insert into realtime.messages (topic, extension) values (rights.topic, by);
  exception
    when insufficient_privilege then
      sends := false;
  end;
  perform tests.become_owner();
  perform set_config('realtime.topic', '', true);
  return concat_ws(' and ', case when receives then 'receive' end, case when sends then 'send' end);
end
$$;

create temp table topics as
select
  name,
  replace(replace(replace(
    name,
    'ANA', tests.id_of('ana')::text),
    'GONE', tests.id_of('gone')::text),
    'THEIRS', tests.conversation_of('ana')::text
  ) as topic
from unnest(array[
  'user:ANA', 'typing:THEIRS', 'conversation:THEIRS', 'user:GONE', 'user:', 'user:0ANA', 'typing:', 'typing:0',
  'typing:0THEIRS', 'typing:abc', 'typing:99999999999999999999', 'typing:1e3', 'typing: THEIRS', 'Typing:THEIRS',
  ' user:ANA', 'user:ANA ', 'USER:ANA', 'typing:THEIRS:x', 'room', ''
]) as name;

select is(
  tests.rights(person => person, topic => topic, by => by), expected,
  format(
    '%s can %s on "%s" by %s',
    coalesce(person, 'an anonymous caller'), coalesce(nullif(expected, ''), 'do nothing'), name, by
  )
)
from topics
join (
  values
    ('ana', array['broadcast'], array['user:ANA'], 'receive'),
    ('ana', array['broadcast', 'presence'], array['typing:THEIRS'], 'receive and send'),
    ('ben', array['broadcast', 'presence'], array['typing:THEIRS'], 'receive and send'),
    ('ana', array['presence'], array['user:ANA'], ''),
    ('ben', array['broadcast', 'presence'], array['conversation:THEIRS'], ''),
    ('ben', array['broadcast'], array['user:ANA'], ''),
    ('gone', array['broadcast'], array['user:GONE', 'typing:THEIRS'], ''),
    ('mallory', array['broadcast', 'presence'], array(select name from topics), ''),
    (null, array['broadcast'], array(select name from topics), ''),
    (
      'ana', array['broadcast', 'presence'],
      array(select name from topics where name not in ('user:ANA', 'typing:THEIRS')), ''
    )
) as cases (person, extensions, names, expected) on name = any (names)
cross join unnest(extensions) as by;
select is(
  tests.rights(person => person, topic => 'typing:' || tests.conversation_of('gone'), by => 'presence'), expected, title
)
from (
  values
    ('gone', '', 'a deactivated user can do nothing on the typing topic of their own conversation'),
    ('ben', 'receive and send', 'their partner can still receive and send there')
) as cases (person, expected, title);
create temp table erased as select 'typing:' || tests.conversation_of('gone') as topic;
select private.erase_person(tests.id_of('gone'));
select is(
  tests.rights(person => 'ben', topic => topic, by => 'presence'), '',
  'after the erasure of one participant the other can do nothing on the typing topic'
)
from erased;

insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(
  tests.rights(person => person, topic => topic, by => by), '',
  format('after ana has blocked ben %s can do nothing on %s by %s', person, name, by)
)
from topics, unnest(array['ana', 'ben']) as person, unnest(array['broadcast', 'presence']) as by
where name = 'typing:THEIRS';
select is(
  tests.rights(person => person, topic => 'user:' || tests.id_of(person), by => 'broadcast'), 'receive',
  format('after ana has blocked ben %s still receives events on their own topic', person)
)
from unnest(array['ana', 'ben']) as person;

delete from private.blocks;
select is(
  tests.rights(person => person, topic => topic, by => by), 'receive and send',
  format('after ana has unblocked ben %s can receive and send on %s by %s', person, name, by)
)
from topics, unnest(array['ana', 'ben']) as person, unnest(array['broadcast', 'presence']) as by
where name = 'typing:THEIRS';

select set_eq(
  $$ select policyname::text, cmd, roles::text from pg_policies where schemaname = 'realtime' $$,
  $$
    values
      ('users receive events on their own topic', 'SELECT', '{authenticated}'),
      ('participants receive typing and presence', 'SELECT', '{authenticated}'),
      ('participants send typing and presence', 'INSERT', '{authenticated}')
  $$,
  'these are the policies on topics'
);
select is_empty(
  $$
    select objoid from pg_description
    join pg_policy on pg_policy.oid = objoid and classoid = 'pg_policy'::regclass
    where polrelid = 'realtime.messages'::regclass
  $$,
  'no policy has a comment, which the platform would refuse'
);
