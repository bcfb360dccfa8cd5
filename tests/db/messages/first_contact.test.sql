-- First contact: a few messages until the other participant has written, then as many as one likes.
select plan(34);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('ana'), tests.id_of('cat'));

create function pg_temp.send(person text, local text default 'ben', fields jsonb default '{}')
returns jsonb
language plpgsql
as $$
declare
  answer jsonb := tests.ask(
    person,
    format(
      'send_message(%s, %L)', id, '{"content": "Hello", "first_contact_limit": 3}' || fields
    )
  )
  from public.conversations
  where local_id = tests.id_of(local);
begin
  perform tests.become_owner();
  return answer;
end
$$;
grant select on public.conversations to edge_functions;
create temp table keyed as
select body
from pg_temp.send('ana', fields => '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c001"}') as body;
select lives_ok($$ select pg_temp.send('ana') $$, 'ana can send ben a second message');
select lives_ok($$ select pg_temp.send('ana') $$, 'and a third one');
select throws_ok(
  $$ select pg_temp.send('ana') $$, 'PT403', 'You can send 3 messages or offers until this person has answered',
  'but no fourth'
);
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.send('ana', fields => '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c002"}') $$, 'PT403', null,
  'nor with a new key'
);
select tests.become_owner();
select is(
  pg_temp.send('ana', fields => '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c001"}'), body,
  'repeating an earlier one returns its first answer'
)
from keyed;
select throws_ok(
  $$ select pg_temp.send('ana', fields => '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c001", "content": "x"}') $$,
  'PT422', null, 'another message with its key is still 422'
);
select tests.become_owner();
select is(count(*), 3::bigint, 'none of these sent anything') from public.messages;
select lives_ok($$ select pg_temp.send('ana', 'cat') $$, 'she can write to cat, each conversation has its own limit');

-- A block is not told from the limit.
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('ana'));
select throws_ok(
  $$ select pg_temp.send('ana') $$, 'PT403', 'You can send 3 messages or offers until this person has answered',
  'whoever has reached the limit does not learn of a block'
);
select tests.become_owner();
delete from private.blocks;

select lives_ok($$ select pg_temp.send('ben') $$, 'ben can answer');
select lives_ok(
  $$ select pg_temp.send('ana') from generate_series(1, 5) $$, 'which lifts the limit for ana'
);
select lives_ok($$ select pg_temp.send('ben') from generate_series(1, 5) $$, 'and there is none for ben');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('ana'));
select throws_ok(
  $$ select pg_temp.send('ana') $$, 'PT403', 'You cannot write to this person', 'a block is worded as ever then'
);
select tests.become_owner();

-- The local may write first, too.
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ben'), tests.id_of('cat'));
delete from public.conversations where voyager_id = tests.id_of('ana');
select lives_ok($$ select pg_temp.send('cat', 'cat') from generate_series(1, 3) $$, 'the local can write first');
select throws_ok($$ select pg_temp.send('cat', 'cat') $$, 'PT403', null, 'with the same limit');
select tests.become_owner();

-- Other limits.
select lives_ok(
  $$ select pg_temp.send('cat', 'cat', '{"first_contact_limit": 4}') $$, 'the limit is the setting'
);
select throws_ok(
  $$ select pg_temp.send('cat', 'cat', '{"first_contact_limit": 1}') $$, 'PT403',
  'You can send 1 message or offer until this person has answered', 'and its words fit'
);
select tests.become_owner();
select lives_ok(
  $$ select pg_temp.send('cat', 'cat', '{"first_contact_limit": null}') from generate_series(1, 9) $$,
  'without a setting there is no limit'
);
select throws_ok(
  $$ select pg_temp.send('cat', 'cat') $$, 'PT403', null, 'a conversation from before the setting has it as well'
);
select tests.become_owner();
select lives_ok($$ select pg_temp.send('ben', 'cat'); select pg_temp.send('cat', 'cat') $$, 'until its answer');

-- Answering lifts it for ever.
delete from public.messages where conversation_id = (
  select id from public.conversations where voyager_id = tests.id_of('ben')
) and user_id = tests.id_of('ben');
select lives_ok(
  $$ select pg_temp.send('cat', 'cat') $$, 'when an admin deletes the only answer, the limit does not come back'
);
delete from public.messages;
select lives_ok(
  $$ select pg_temp.send('cat', 'cat') from generate_series(1, 4) $$, 'nor when they delete all messages'
);
update public.conversations set voyager_id = tests.id_of('ana') where voyager_id = tests.id_of('ben');
select throws_ok($$ select pg_temp.send('cat', 'cat') $$, 'PT403', null, 'another participant has not written yet');
select tests.become_owner();
update public.messages
set user_id = tests.id_of('ana')
where id = (select min(id) from public.messages);
select lives_ok($$ select pg_temp.send('cat', 'cat') $$, 'what an admin changes to a message of theirs is an answer');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('cat'), tests.id_of('ben'));
select pg_temp.send('cat', 'ben') from generate_series(1, 3);
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ben'), tests.id_of('ana'));
insert into public.messages (conversation_id, user_id, content)
select id, tests.id_of('ben'), 'To ana' from public.conversations where voyager_id = tests.id_of('ben');
select throws_ok(
  $$ select pg_temp.send('cat', 'ben') $$, 'PT403', null, 'cat cannot write to ben a fourth time, who wrote to ana'
);
select tests.become_owner();
insert into public.messages (conversation_id, user_id, content)
select id, tests.id_of('ben'), 'By an admin' from public.conversations where local_id = tests.id_of('ben');
select lives_ok($$ select pg_temp.send('cat', 'ben') $$, 'until he has, as an admin also can make it');

-- Offers, changed offers and notes count as well.
select tests.make_person(name) from unnest(array['dan', 'eve']) as name;
insert into public.conversations (voyager_id, local_id) values (tests.id_of('dan'), tests.id_of('eve'));
create function pg_temp.reserve(person text, call text)
returns jsonb
language plpgsql
as $$
declare
  answer jsonb := tests.ask(
    person,
    format(
      call, (select id from public.conversations where local_id = tests.id_of('eve')),
      (select max(id) from public.reservations)
    )
  );
begin
  perform tests.become_owner();
  return answer;
end
$$;
create function pg_temp.offer(person text)
returns jsonb
language sql
as $$
  select pg_temp.reserve(
    person,
    'offer_reservation(conversation => %s, first_contact_limit => 3, '
      || 'draft => ''{"title": "A walk", "price": 1, "date": "2036-01-01T10:00:00Z"}'')'
  )
$$;
create function pg_temp.step(person text, step text, note text)
returns jsonb
language sql
as $$
  select pg_temp.reserve(
    person,
    format(
      'step_reservation(conversation => %%s, reservation => %%s, step => %L, note => %L, revision => 1, '
        || 'first_contact_limit => 3)',
      step, note
    )
  )
$$;
select lives_ok($$ select pg_temp.offer('dan') from generate_series(1, 2) $$, 'dan can make two offers');
select lives_ok(
  $$ select pg_temp.reserve(
    'dan', 'counter_reservation(conversation => %s, reservation => %s, changes => ''{"price": 2}'', '
      || 'first_contact_limit => 3)'
  ) $$,
  'and change one'
);
select throws_ok($$ select pg_temp.offer('dan') $$, 'PT403', null, 'but make no third');
select tests.become_owner();
select throws_ok(
  $$ select pg_temp.reserve(
    'dan', 'counter_reservation(conversation => %s, reservation => %s, changes => ''{"price": 3}'', '
      || 'first_contact_limit => 3)'
  ) $$,
  'PT403', null, 'nor change one again'
);
select tests.become_owner();
select lives_ok($$ select pg_temp.step('dan', 'cancel', 'Words') $$, 'but withdraw one');
select tests.become_owner();
select is_empty($$ select from public.reservation_history where note = 'Words' $$, 'without a note');
select throws_ok(
  $$ select pg_temp.send('dan', 'eve') $$, 'PT403', null, 'a withdrawn offer has reached eve all the same'
);
select tests.become_owner();
update public.reservations set status = 'pending';
select pg_temp.step('eve', 'decline', null);
select lives_ok($$ select pg_temp.send('dan', 'eve') $$, 'after an answer of eve dan can write');
