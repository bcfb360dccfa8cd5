-- Who may hear and speak on which topic, asked as Realtime asks: with a row that nobody else sees.
select plan(97);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('mallory');
select tests.make_person('gone');
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('gone'), tests.id_of('ben'));
update public.users set is_active = false where id = tests.id_of('gone');

-- 'hear', 'speak', both or nothing, by broadcast or presence.
create function tests.rights(person text, topic text, by text)
returns text
language plpgsql volatile set search_path = ''
as $$
declare
  probe constant uuid := gen_random_uuid();
  hears boolean;
  speaks boolean := true;
begin
  insert into realtime.messages (id, topic, extension) values (probe, rights.topic, by);
  perform set_config('realtime.topic', topic, true);
  perform tests.become(person);
  hears := exists (select from realtime.messages where id = probe);
  begin
    insert into realtime.messages (topic, extension) values (rights.topic, by);
  exception
    when insufficient_privilege then
      speaks := false;
  end;
  perform tests.become_owner();
  perform set_config('realtime.topic', '', true);
  return concat_ws(' and ', case when hears then 'hear' end, case when speaks then 'speak' end);
end
$$;

create temp table topics as
select name, replace(replace(replace(name, 'ANA', tests.id_of('ana')::text), 'GONE', tests.id_of('gone')::text), 'THEIRS', tests.conversation_of('ana')::text) as topic
from unnest(array[
  'user:ANA', 'conversation:THEIRS', 'typing:THEIRS', 'user:GONE', 'typing:', 'conversation:', 'conversation:0', 'conversation:0THEIRS',
  'typing:abc', 'conversation:99999999999999999999', 'conversation:1e3', 'conversation: THEIRS', ' user:ANA', 'user:ANA ', 'USER:ANA',
  'typing:THEIRS:x', 'room', ''
]) as name;

select is(tests.rights('ana', topic, 'broadcast'), 'hear', 'ana hears ' || name || ' and cannot speak there')
from topics where name in ('user:ANA', 'conversation:THEIRS');
select is(tests.rights('ben', topic, 'broadcast'), 'hear', 'ben hears ' || name || ' and cannot speak there')
from topics where name = 'conversation:THEIRS';
select is(tests.rights(person, topic, by), 'hear and speak', format('%s hears and speaks on typing:THEIRS by %s', person, by))
from topics, unnest(array['ana', 'ben']) as person, unnest(array['broadcast', 'presence']) as by where name = 'typing:THEIRS';
select is(tests.rights('ana', topic, 'presence'), '', 'nobody is seen to be on ' || name)
from topics where name in ('user:ANA', 'conversation:THEIRS');
select is(tests.rights('ana', topic, 'broadcast'), '', format('ana has no business on "%s"', name))
from topics where name not in ('user:ANA', 'conversation:THEIRS', 'typing:THEIRS');
select is(tests.rights('ben', topic, 'broadcast'), '', 'ben cannot hear what is for ana') from topics where name = 'user:ANA';
select is(tests.rights('mallory', topic, by), '', format('mallory cannot use "%s" by %s', name, by))
from topics, unnest(array['broadcast', 'presence']) as by;
select is(tests.rights('gone', topic, 'broadcast'), '', 'who was deactivated cannot use ' || name)
from topics where name in ('user:GONE', 'conversation:THEIRS', 'typing:THEIRS');
select is(tests.rights(null, topic, 'broadcast'), '', format('without a token nobody can use "%s"', name)) from topics;
select is(
  tests.rights('gone', 'typing:' || tests.conversation_of('gone'), 'presence'),
  '',
  'nor the topic of a conversation that was theirs'
);
select is(
  tests.rights('ben', 'typing:' || tests.conversation_of('gone'), 'presence'),
  'hear and speak',
  'which the other participant still can'
);
create temp table erased as select 'typing:' || tests.conversation_of('gone') as topic;
select private.erase_person(tests.id_of('gone'));
select is(tests.rights('ben', topic, 'presence'), '', 'until there is nobody to come back') from erased;

insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(
  tests.rights(person, topic, by),
  '',
  format('after ana blocked ben %s has no business on %s by %s', person, name, by)
)
from topics, unnest(array['ana', 'ben']) as person, unnest(array['broadcast', 'presence']) as by where name = 'typing:THEIRS';
select is(tests.rights(person, topic, 'broadcast'), 'hear', person || ' still hears what is said of the conversation')
from topics, unnest(array['ana', 'ben']) as person where name = 'conversation:THEIRS';

delete from private.blocks;
select is(tests.rights(person, topic, by), 'hear and speak', format('once she takes it back %s hears and speaks there by %s again', person, by))
from topics, unnest(array['ana', 'ben']) as person, unnest(array['broadcast', 'presence']) as by where name = 'typing:THEIRS';

select set_eq(
  $$ select policyname::text, cmd, roles::text from pg_policies where schemaname = 'realtime' $$,
  $$
    values
      ('users receive events on their own topic', 'SELECT', '{authenticated}'),
      ('participants receive events of their conversations', 'SELECT', '{authenticated}'),
      ('participants receive typing and presence', 'SELECT', '{authenticated}'),
      ('participants send typing and presence', 'INSERT', '{authenticated}')
  $$,
  'these are all the policies there are on topics'
);
select is_empty(
  $$
    select objoid from pg_description
    join pg_policy on pg_policy.oid = objoid and classoid = 'pg_policy'::regclass
    where polrelid = 'realtime.messages'::regclass
  $$,
  'none has a comment, which the platform would refuse'
);
