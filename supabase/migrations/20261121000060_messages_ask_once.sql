-- A page of messages asks once whether the caller takes part, rather than twice.
create or replace function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  -- Variables rather than coalesce() in the condition, which under row level security keeps it out of the index.
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := after_id > 0 or page ->> 'order' = 'asc';
  people record;
  bodies json[];
  ids bigint[];
begin
  -- It finds the two for participants alone, so only who is about to be refused is looked at twice.
  select * into people from private.people_in(array[conversation]);
  if not found then
    perform private.require_participation(conversation);
  end if;

  -- One row more than the page tells whether there is a next one.
  if oldest_first then
    select
      array_agg(
        private.message_body(entry, case entry.user_id when people.voyager_id then people.voyager_name else people.local_name end)
        order by entry.id
      ),
      array_agg(entry.id order by entry.id)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id > after_id
      order by id
      limit page_limit + 1
      offset page_offset
    ) as entry;
  else
    select
      array_agg(
        private.message_body(entry, case entry.user_id when people.voyager_id then people.voyager_name else people.local_name end)
        order by entry.id desc
      ),
      array_agg(entry.id order by entry.id desc)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id < before_id
      order by id desc
      limit page_limit + 1
      offset page_offset
    ) as entry;
  end if;

  if cardinality(ids) > page_limit then
    perform private.tell_door(jsonb_build_object('next', ids[page_limit]));
  end if;
  return coalesce(array_to_json(bodies[:page_limit]), '[]');
end
$$;
