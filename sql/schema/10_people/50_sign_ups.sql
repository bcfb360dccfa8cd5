-- Sign-up: how an Auth account becomes a user with a profile. Auth keeps the first sign-up of an unconfirmed address,
-- password included. So the Edge Function removes that account and asks Auth again, once Auth has accepted a CAPTCHA.
create table private.sign_ups (
  ticket uuid primary key default gen_random_uuid(),
  user_id bigint not null,
  profile_id bigint not null,
  address_hash bytea not null,
  name text,
  fields jsonb,
  is_accepted boolean not null default false,
  begun_at timestamptz not null default now()
);
comment on table private.sign_ups is
  'Sign-ups in progress, with the ids that the new account will get: drawn before Auth is called, so that every sign-up
returns one and uses up as many, whether or not the address is taken. Name and fields (of PATCH /users/profile) wait
here and not in the metadata of the Auth account, which Auth copies into every access token. Kept for an hour.';
comment on column private.sign_ups.address_hash is 'SHA-256 of the address in lower case, to tell which began last.';
comment on column private.sign_ups.name is
  'Null, as fields, once the account is made. Without a row it came from Auth, and supersedes none.';
comment on column private.sign_ups.is_accepted is 'Whether Auth has accepted its CAPTCHA: then it supersedes others.';
create index sign_ups_begun_at_idx on private.sign_ups (begun_at);
create index sign_ups_address_hash_idx on private.sign_ups (address_hash);
alter table private.sign_ups enable row level security;

create function private.handle_new_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  metadata_ticket constant uuid := case
    when new.raw_user_meta_data ->> 'ticket' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then (new.raw_user_meta_data ->> 'ticket')::uuid
  end;
  confirmed_at constant timestamptz := coalesce(new.email_confirmed_at, new.phone_confirmed_at);
  sign_up private.sign_ups;
  fields jsonb;
begin
  select * into sign_up from private.sign_ups where ticket = metadata_ticket and name is not null for update;
  update private.sign_ups set name = null, fields = null where ticket = sign_up.ticket;
  fields := coalesce(sign_up.fields, '{}');
  sign_up.user_id := coalesce(sign_up.user_id, nextval('public.users_id_seq'));
  sign_up.profile_id := coalesce(sign_up.profile_id, nextval('public.profiles_id_seq'));
  insert into public.users (id, auth_id, name, email, bio, location, is_active, created_at, confirmed_at)
  overriding system value
  values (
    sign_up.user_id, new.id,
    coalesce(sign_up.name, nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''), fields ->> 'bio', fields ->> 'location', confirmed_at is not null,
    coalesce(new.created_at, now()), confirmed_at
  );
  insert into public.profiles
  overriding system value
  select *
  from jsonb_populate_record(
    null::public.profiles,
    '{"is_searchable": false, "show_answers": true, "is_hidden": false}' || jsonb_strip_nulls(fields)
      || jsonb_build_object('id', sign_up.profile_id, 'user_id', sign_up.user_id)
  );
  perform private.replace_interests(sign_up.profile_id, nullif(fields -> 'interest_ids', 'null'));
  return null;
end
$$;
comment on function private.handle_new_user() is
  'Creates a user and a profile with the Auth account, whose metadata may hold the ticket of a sign-up in progress, or a
name. The user is inactive until the address is confirmed. Definer, as sync_auth_email.';

create trigger handle_new_user
  after insert on auth.users
  for each row execute function private.handle_new_user();

create function private.confirm_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users set is_active = true, confirmed_at = now() where auth_id = new.id and confirmed_at is null;
  return null;
end
$$;
comment on function private.confirm_user() is
  'Activates a pending account when its address is confirmed. Only once: who was deactivated since stays so. Definer, as
sync_auth_email.';

create trigger confirm_user
  after update of email_confirmed_at, phone_confirmed_at on auth.users
  for each row
  when (
    coalesce(old.email_confirmed_at, old.phone_confirmed_at) is null
    and coalesce(new.email_confirmed_at, new.phone_confirmed_at) is not null
  )
  execute function private.confirm_user();

create function private.forget_pending_password()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  new.encrypted_password := null;
  return new;
end
$$;
comment on function private.forget_pending_password() is
  'Removes the password of a pending account when a recovery link is requested or its address is invited: the owner of
the address, which the link confirms, need not have signed up. A trigger, so that no sign-up in between keeps its own.';

create trigger forget_pending_password
  before update of recovery_token, invited_at on auth.users
  for each row
  when (
    (
      new.recovery_token <> '' and new.recovery_token is distinct from old.recovery_token
      or new.invited_at is distinct from old.invited_at
    )
    and new.email_confirmed_at is null and new.phone_confirmed_at is null
  )
  execute function private.forget_pending_password();

create function private.begin_sign_up(address text, name text, fields jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  begun private.sign_ups;
begin
  -- Auth would report an unknown interest as an unspecified failure.
  perform private.interest_ids(nullif(fields -> 'interest_ids', 'null'));
  delete from private.sign_ups
  where ticket in (
    select ticket from private.sign_ups where begun_at < now() - interval '1 hour' for update skip locked
  );
  insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
  values (
    nextval('public.users_id_seq'), nextval('public.profiles_id_seq'), sha256(convert_to(lower(address), 'UTF8')),
    begin_sign_up.name, begin_sign_up.fields
  )
  returning * into begun;
  return json_build_object(
    'ticket', begun.ticket, 'user_id', begun.user_id,
    'pending', exists (
      select from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is null
    )
  );
end
$$;
comment on function private.begin_sign_up(text, text, jsonb) is
  'Returns {ticket, user_id, pending}: the account whose metadata holds the ticket gets id, name and fields; pending is
whether an unconfirmed account has the address, which stays until Auth has seen the CAPTCHA (check_sign_up). Raises
400 for unknown interests or more than 50. Definer, because edge_functions has no rights on the tables.';

create function private.check_sign_up(address text, begun uuid, accepted boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  sign_up private.sign_ups;
  holder public.users;
begin
  update private.sign_ups set is_accepted = is_accepted or accepted where ticket = begun returning * into sign_up;
  select * into holder from public.users where lower(email) = lower(address) and email <> '';
  -- Also without a row, which is deleted after an hour: Auth answers long before.
  if sign_up.name is null then
    return to_json('made'::text);
  elsif holder.confirmed_at is not null then
    return to_json('taken'::text);
  -- Ids are drawn in order. If every sign-up could remove the others, concurrent ones could remove each other until
  -- none is left.
  elsif exists (
    select from private.sign_ups
    where address_hash = sign_up.address_hash and user_id > sign_up.user_id and (is_accepted or name is null)
  ) then
    return to_json('superseded'::text);
  elsif accepted then
    -- With the account go the links that were mailed. If it is being confirmed concurrently, this waits and checks the
    -- condition again. An invited account, which an admin created and which has no password, stays.
    begin
      delete from auth.users
      where id = holder.auth_id and email_confirmed_at is null and phone_confirmed_at is null and invited_at is null;
      if found then
        return to_json('retry'::text);
      end if;
    exception
      -- An admin has created a conversation with this user, so the account stays.
      when foreign_key_violation then
        null;
    end;
  end if;
  return to_json(case when holder.id is null then 'not made' else 'taken' end);
end
$$;
comment on function private.check_sign_up(text, uuid, boolean) is
  'The outcome of a sign-up, which the answer of Auth does not reveal: made; superseded by a later one with the address
that Auth has accepted; retry, because this has removed a pending account with the address; taken, by an account that
stays; not made, for another reason. Definer, because it deletes from auth.users.';
