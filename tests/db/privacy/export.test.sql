-- The pieces of an export are small, because the server holds some of them in memory for a client that stops reading.
select plan(2);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
with opened as (
  insert into public.conversations (voyager_id, local_id)
  values (tests.id_of('ana'), tests.id_of('ben'))
  returning id
)
insert into public.messages (conversation_id, user_id, content)
select opened.id, tests.id_of('ana'), repeat('😀', 5000)
from opened
cross join generate_series(1, 600);

-- The size in bytes of the piece at a place.
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

select cmp_ok(pg_temp.piece(null), '<', 2200000, 'the first piece of the longest messages is about 2 MB');
select cmp_ok(
  pg_temp.piece(current_setting('api.response_metadata')::jsonb -> 'place'), '<', 2200000,
  'the next piece is about 2 MB'
);
