-- An export comes in pieces that are small whatever people wrote: a client that stops reading holds some of them in memory.
select plan(2);
select tests.make_person('ana');
select tests.make_person('ben');
with opened as (
  insert into public.conversations (voyager_id, local_id)
  values (tests.id_of('ana'), tests.id_of('ben'))
  returning id
)
insert into public.messages (conversation_id, user_id, content)
select opened.id, tests.id_of('ana'), repeat('😀', 5000)
from opened
cross join generate_series(1, 600);

-- How many bytes a piece has, the first or the one after the one before.
create function pg_temp.piece(place jsonb)
returns integer
language plpgsql
as $$
declare
  length integer;
begin
  perform tests.become_role('edge_functions');
  select case when private.act_as(tests.claims_of('ana'), true) then octet_length(api.export_me(place)) end
  into length;
  perform tests.become_role('edge_functions');
  return length;
end
$$;
grant execute on all functions in schema pg_temp to public;

select cmp_ok(pg_temp.piece(null), '<', 2200000, 'a piece of the longest messages has 2 MB');
select cmp_ok(pg_temp.piece(current_setting('api.response_metadata')::jsonb -> 'place'), '<', 2200000, 'and so has the next');
