-- Devices: the Web Push subscriptions of users' browsers, as the Push API gives them.
create table private.devices (
  user_id bigint not null references public.users (id) on delete cascade,
  id uuid not null,
  endpoint text not null
    constraint "endpoint has at most 2,048 visible ASCII characters"
    check (char_length(endpoint) <= 2048 and endpoint ~ '^[\u0021-\u007e]+$'),
  p256dh text not null
    constraint "p256dh is a public key in base64url" check (p256dh ~ '^[A-Za-z0-9_-]{87}$'),
  auth text not null
    constraint "auth is 16 bytes in base64url" check (auth ~ '^[A-Za-z0-9_-]{22}$'),
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, id)
);
comment on table private.devices is
  'Where pushes for a user go: the endpoint and the keys are what a browser hands out for one subscription.';
create unique index devices_endpoint_key on private.devices (endpoint);
alter table private.devices enable row level security;

create function api.list_devices()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(array(
    select json_build_object(
      'id', id, 'endpoint', endpoint, 'keys', json_build_object('p256dh', p256dh, 'auth', auth),
      'createdAt', private.iso(created_at)
    )
    from private.devices
    where user_id = (select private.my_id())
    order by created_at desc, id
  ))
$$;
comment on function api.list_devices() is 'The caller''s devices, newest first. Definer, as callers have no grant.';

create function api.put_device(device uuid, subscription jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  -- Serialize concurrent calls of one user, so that the limit holds. An erasure waits, or has happened.
  perform private.lock_me();
  -- Serialize calls of different users with the same endpoint: the second takes the device over.
  perform pg_advisory_xact_lock(hashtextextended('device ' || (subscription ->> 'endpoint'), 0));
  delete from private.devices where endpoint = subscription ->> 'endpoint' and (user_id, id) <> (me, device);
  if (select count(*) from private.devices where user_id = me and id <> device) >= 10 then
    raise sqlstate 'PT400' using message = 'device: you cannot have more than 10 devices', hint = 'too_many';
  end if;
  insert into private.devices (user_id, id, endpoint, p256dh, auth)
  values (me, device, subscription ->> 'endpoint', subscription #>> '{keys,p256dh}', subscription #>> '{keys,auth}')
  on conflict (user_id, id) do update
  set endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth;
end
$$;
comment on function api.put_device(uuid, jsonb) is
  'Stores the caller''s device; the browser is not that of whoever was logged in there before any more. A repeat changes
nothing. Definer, as list_devices.';

create function api.delete_device(device uuid)
returns void
language sql volatile security definer set search_path = ''
as $$
  delete from private.devices where user_id = private.my_id() and id = device
$$;
comment on function api.delete_device(uuid) is 'Removes a caller''s device, if it is there. Definer, as list_devices.';
