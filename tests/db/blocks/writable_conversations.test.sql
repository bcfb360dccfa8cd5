-- my_writable_conversations excludes conversations in which one participant has blocked the other.
select plan(4);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cleo']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('cleo', 'ana');
-- The voyagers of the conversations that a person can write to.
create function pg_temp.writable(person text)
returns text
language plpgsql
as $$
declare
  voyagers text;
begin
  perform tests.become(person);
  select string_agg(voyager_name, ' ' order by voyager_name)
  into voyagers
  from private.participants_of(array(select private.my_writable_conversations()));
  perform tests.become_owner();
  return voyagers;
end
$$;

select is(pg_temp.writable('ana'), 'ana cleo', 'ana can write to ben and cleo');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('ana'));
select is(pg_temp.writable('ana'), 'cleo', 'ana cannot write to ben, who has blocked her');
select is(pg_temp.writable('ben'), null, 'ben cannot write to ana, whom he has blocked');
select is(pg_temp.writable('cleo'), 'cleo', 'cleo can still write to ana');
