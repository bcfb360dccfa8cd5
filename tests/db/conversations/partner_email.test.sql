-- The partner's address is empty across a block, and with PARTNER_EMAIL=after_reply until they have written.
select plan(13);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana'));

-- The addresses in this answer, by conversation.
create function pg_temp.addresses(person text, call text)
returns text
language plpgsql
as $$
declare
  answer jsonb := tests.ask(person, call);
begin
  perform tests.become_owner();
  return (
    select string_agg(
      format('%s/%s', split_part(one #>> '{Voyager,email}', '@', 1), split_part(one #>> '{Local,email}', '@', 1)), ' '
      order by (one ->> 'id')::bigint
    )
    from jsonb_array_elements(coalesce(answer -> 'conversations', answer)) as one
  );
end
$$;
select is(pg_temp.addresses('ana', call), 'ana/ben cat/ana', 'by default all addresses are in ' || call)
from unnest(array['list_conversations(null, 0)', 'export_me(null)']) as call;
select set_config('api.partner_email', 'after_reply', true);
select is(pg_temp.addresses('ana', call), 'ana/ /ana', 'after_reply leaves the own one in ' || call)
from unnest(array['list_conversations(null, 0)', 'export_me(null)']) as call;
insert into public.messages (conversation_id, user_id, content)
select id, tests.id_of('ana'), 'Hello' from public.conversations;
select is(
  pg_temp.addresses('ana', 'list_conversations(null, 0)'), 'ana/ /ana', 'writing oneself does not show the partner''s'
);
select is(pg_temp.addresses('cat', 'list_conversations(null, 0)'), 'cat/ana', 'but shows one''s own to the partner');
insert into public.messages (conversation_id, user_id, content)
values (tests.conversation_of('cat'), tests.id_of('cat'), 'Hello back');
select is(
  pg_temp.addresses('ana', 'list_conversations(null, 0)'), 'ana/ cat/ana', 'an answer shows it in that conversation'
);
select is(pg_temp.addresses('ana', 'export_me(null)'), 'ana/ cat/ana', 'and in the export');
select set_config('api.partner_email', '', true);
select is(pg_temp.addresses('ana', 'list_conversations(null, 0)'), 'ana/ben cat/ana', 'always shows them all');
insert into private.blocks (blocker_id, blocked_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ana'));
select is(pg_temp.addresses(person, call), shown, 'across a block ' || person || ' sees their own alone in ' || call)
from (
  values
    ('ana', 'list_conversations(null, 0)', 'ana/ /ana'), ('ana', 'export_me(null)', 'ana/ /ana'),
    ('ben', 'list_conversations(null, 0)', '/ben'), ('cat', 'list_conversations(null, 0)', 'cat/')
) as expected (person, call, shown);
