-- my_writable_conversations excludes conversations in which one participant has blocked the other.
select plan(6);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cleo']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('cleo', 'ana');
create function pg_temp.partners_of(person text)
returns text[]
language plpgsql
as $$
declare
  partners text[];
begin
  perform tests.become(person);
  partners := array(
    select (
      select array_to_string(array(select unnest(array[voyager_name, local_name]) order by 1), ' ')
      from private.participants_of(array[id])
    )
    from private.my_writable_conversations() as id
    order by 1
  );
  perform tests.become_owner();
  return partners;
end
$$;

select is(pg_temp.partners_of('ana'), '{ana ben,ana cleo}', 'ana can write to ben and cleo');
insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ben'), tests.id_of('ana'));
select is(pg_temp.partners_of('ana'), '{ana cleo}', 'ana cannot write to ben, who has blocked her');
select is(pg_temp.partners_of('ben'), '{}', 'ben cannot write to ana, whom he has blocked');
select is(pg_temp.partners_of('cleo'), '{ana cleo}', 'cleo can still write to ana');

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
  $$ select tests.ask('cleo', format('block_person(%s)', tests.id_of('ana'))) $$, 'PT400',
  'user_id: nobody can block more than 1,000 people', 'cleo, who has blocked 1,000 users, cannot block another'
);
select lives_ok(
  $$ select tests.ask('cleo', format('block_person(%s)', (select max(blocked_id) from private.blocks))) $$,
  'cleo can block one of the 1,000 again'
);
