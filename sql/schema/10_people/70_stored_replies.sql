-- Idempotency: the answers to what was created with a key, so that a repeat creates nothing and gets the same bytes.
-- Messages have a row here only once they are changed: a unique index on their client_id does it (20_conversations).
create table private.stored_replies (
  user_id bigint not null references public.users (id) on delete cascade,
  noun text not null,
  client_id uuid not null,
  request_hash bytea not null,
  body json not null,
  metadata jsonb not null,
  primary key (user_id, noun, client_id)
);
comment on table private.stored_replies is
  'What was created with an idempotency key: a hash of the request, and its first answer, byte for byte. Each noun has
keys of its own.';
alter table private.stored_replies enable row level security;

create function private.hash_request(request jsonb)
returns bytea
language sql immutable security invoker set search_path = ''
as $$
  select sha256(convert_to(jsonb_strip_nulls(request)::text, 'UTF8'))
$$;
comment on function private.hash_request(jsonb) is 'What tells a repeat from another request with the same key.';

create function private.find_reply(noun text, client_id uuid, request jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  stored private.stored_replies;
begin
  if find_reply.client_id is null then
    return null;
  end if;
  -- Requests with the same key wait until one is stored.
  perform pg_advisory_xact_lock(hashtextextended(format('%s %s %s', find_reply.noun, me, find_reply.client_id), 0));
  select * into stored
  from private.stored_replies as known
  where known.user_id = me and known.noun = find_reply.noun and known.client_id = find_reply.client_id;
  if not found then
    return null;
  elsif stored.request_hash <> private.hash_request(request) then
    raise sqlstate 'PT422' using message = format('This idempotency key was used for another %s', find_reply.noun);
  end if;
  perform private.set_response_metadata(stored.metadata || '{"replayed": true}');
  return stored.body;
end
$$;
comment on function private.find_reply(text, uuid, jsonb) is
  'The stored answer to this request of the caller, if any. Raises 422 if the key was used for another request.';

create function private.store_reply(noun text, client_id uuid, request jsonb, body json, metadata jsonb default '{}')
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if store_reply.client_id is not null then
    insert into private.stored_replies (user_id, noun, client_id, request_hash, body, metadata)
    values (
      private.my_id(), store_reply.noun, store_reply.client_id, private.hash_request(request), store_reply.body,
      store_reply.metadata
    );
  end if;
  perform private.set_response_metadata(store_reply.metadata);
  return store_reply.body;
end
$$;
comment on function private.store_reply(text, uuid, jsonb, json, jsonb) is
  'Stores the first answer, if there is a key, sets its response metadata and returns it.';
