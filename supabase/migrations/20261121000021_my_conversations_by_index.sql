-- The set that policies ask comes from two indexes alone, without a visit to the table for each conversation.
create index conversations_voyager_id_id_idx on public.conversations (voyager_id, id);
comment on index public.conversations_voyager_id_id_idx is
  'With the id, so that private.my_conversations() need not visit the table: for an inbox of 600, 10 pages instead of 600.';
create index conversations_local_id_id_idx on public.conversations (local_id, id);
comment on index public.conversations_local_id_id_idx is 'As the one before.';

drop index public.conversations_voyager_id_idx;
drop index public.conversations_local_id_idx;

create or replace function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  return query
    select id
    from public.conversations
    where voyager_id = me
    union all
    select id
    from public.conversations
    where local_id = me;
end
$$;
