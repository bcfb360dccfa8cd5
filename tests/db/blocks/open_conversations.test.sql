-- In which conversations people may speak: those in which neither has blocked the other.
select plan(6);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cleo');
select tests.make_history('ana', 'ben');
select tests.make_history('cleo', 'ana');
create function pg_temp.open_to(person text)
returns text[]
language plpgsql
as $$
declare
  partners text[];
begin
  perform tests.become(person);
  partners := array(
    select (select array_to_string(array(select unnest(array[voyager_name, local_name]) order by 1), ' ') from private.participants_of(array[id]))
    from private.my_writable_conversations() as id
    order by 1
  );
  perform tests.become_owner();
  return partners;
end
$$;

select is(pg_temp.open_to('ana'), '{ana ben,ana cleo}', 'ana speaks with ben and cleo');
insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ben'), tests.id_of('ana'));
select is(pg_temp.open_to('ana'), '{ana cleo}', 'not with ben any more, who blocked her');
select is(pg_temp.open_to('ben'), '{}', 'nor ben with her');
select is(pg_temp.open_to('cleo'), '{ana cleo}', 'cleo is not concerned');

with crowd as (
  insert into public.users (name, email)
  select 'crowd', ''
  from generate_series(1, 1000)
  returning id
)
insert into private.blocks (blocker_id, blocked_id)
select tests.id_of('cleo'), id
from crowd;
select throws_ok(
  $$ select tests.ask('cleo', format('block_person(%s)', tests.id_of('ana'))) $$,
  'PT400',
  'user_id: nobody can block more than 1,000 people',
  'cleo, who blocked a thousand people, blocks nobody else'
);
select lives_ok(
  $$ select tests.ask('cleo', format('block_person(%s)', (select max(blocked_id) from private.blocks))) $$,
  'though one of the thousand once more'
);
