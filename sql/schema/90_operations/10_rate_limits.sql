-- Rate limits by the generic cell rate algorithm (GCRA): one row for each user or IP address and kind of request, with
-- its theoretical arrival time (tat). Unlogged, because a count is worth neither a write to the WAL nor a place in a
-- backup; after a crash everybody starts again with a full burst.
create unlogged table private.rate_limits (
  key bytea primary key,
  tat timestamptz not null
) with (fillfactor = 50);
comment on table private.rate_limits is
  'The theoretical arrival time of each rate-limited key. The key is a hash that cannot be reversed once the day''s salt
is deleted. A row whose tat has passed means nothing.';
alter table private.rate_limits enable row level security;

create unlogged table private.rate_limit_salts (
  salt text not null,
  valid_on date primary key default current_date
);
comment on table private.rate_limit_salts is
  'The salt of the hashes, renewed every day, which also resets every limit. Without a salt the hashes of all addresses
could be computed.';
alter table private.rate_limit_salts enable row level security;

create function private.rate_limit_key(kind text, who text)
returns bytea
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  todays text := (select salt from private.rate_limit_salts where valid_on = current_date);
begin
  if todays is null then
    delete from private.rate_limit_salts where valid_on < current_date;
    insert into private.rate_limit_salts (salt)
    values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.rate_limit_salts where valid_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.rate_limit_key(text, text) is
  'Today''s key in rate_limits of a user or address for one kind of request.';

create function private.purge_rate_limits()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.rate_limits
  where key in (select key from private.rate_limits where tat < clock_timestamp() for update skip locked)
$$;
comment on function private.purge_rate_limits() is 'Deletes rows whose tat has passed, skipping locked ones.';

create function private.consume_rate_limit(kind text, who text, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer
set search_path = ''
-- A caller whose other requests hold the row for longer is refused (rate_limit.ts).
set lock_timeout = '250ms'
as $$
declare
  token_interval constant interval := make_interval(secs => seconds_each);
  own_key constant bytea := private.rate_limit_key(kind, who);
  allowed_at timestamptz;
begin
  -- One call in a hundred purges, which leaves about a hundred expired rows at most.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as existing (key, tat)
  values (own_key, clock_timestamp() + token_interval)
  -- clock_timestamp() is read while the row is locked, so that concurrent calls get exactly the allowed number of
  -- tokens.
  on conflict (key) do update set tat = greatest(existing.tat, clock_timestamp()) + token_interval
  where existing.tat <= clock_timestamp() + token_interval * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - token_interval * (burst - 1) into allowed_at from private.rate_limits where key = own_key;
  return to_json(greatest(1, ceil(extract(epoch from allowed_at - clock_timestamp()))));
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Consumes a token: a burst at once, then one token every seconds_each. Returns 0, or the number of seconds until
the next token; a refusal consumes nothing. Definer, because the Edge Functions have no grant on rate_limits.';
grant execute on function private.consume_rate_limit(text, text, double precision, integer) to edge_functions;

create function private.consume_write_limit(
  kind text, account uuid, client_id uuid, seconds_each double precision, burst integer
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint;
  is_repeat boolean;
begin
  if client_id is not null then
    select id into me from public.users where auth_id = account;
    is_repeat := case kind
      when 'RATE_LIMIT_SEND' then exists (
        select from public.messages where user_id = me and messages.client_id = consume_write_limit.client_id
      )
      when 'RATE_LIMIT_RESERVE' then exists (
        select
        from private.stored_replies
        where user_id = me and noun = 'reservation' and stored_replies.client_id = consume_write_limit.client_id
      )
      when 'RATE_LIMIT_REPORT' then exists (
        select
        from private.stored_replies
        where user_id = me and noun = 'report' and stored_replies.client_id = consume_write_limit.client_id
      )
    end;
    if is_repeat then
      return to_json(0);
    end if;
  end if;
  return private.consume_rate_limit(kind => kind, who => account::text, seconds_each => seconds_each, burst => burst);
end
$$;
comment on function private.consume_write_limit(text, uuid, uuid, double precision, integer) is
  'As consume_rate_limit, for messages, reservations and reports: repeating one with the same client_id consumes
nothing. Definer, as consume_rate_limit.';
grant execute on function private.consume_write_limit(text, uuid, uuid, double precision, integer) to edge_functions;

create function private.is_within_write_limit(
  kind text, account uuid, client_id uuid, seconds_each double precision, burst integer
)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  wait constant json := private.consume_write_limit(
    kind => kind, account => account, client_id => client_id, seconds_each => seconds_each, burst => burst
  );
begin
  if wait::text = '0' then
    return true;
  end if;
  perform set_config('api.response_metadata', json_build_object('wait', wait)::text, true);
  return false;
end
$$;
comment on function private.is_within_write_limit(text, uuid, uuid, double precision, integer) is
  'As consume_write_limit, for the statement that writes: if it returns false, nothing is written, and wait in the
response metadata has the seconds. An error of the write rolls the count back; the Edge Function then counts again.';
grant execute on function private.is_within_write_limit(text, uuid, uuid, double precision, integer)
  to edge_functions;

create table private.rate_settings (
  name text primary key
    constraint "name is RATE_LIMIT_PROFILE" check (name = 'RATE_LIMIT_PROFILE'),
  rate text not null
    constraint "rate is count/seconds, count/seconds/burst or off"
    check (rate ~ '^([1-9]\d{0,5}/[1-9]\d{0,5}(/[1-9]\d{0,5})?|off)$')
);
comment on table private.rate_settings is
  'The limits that the database enforces itself, because it cannot see the environment of the Edge Functions. Operators
change them in the SQL editor.';
alter table private.rate_settings enable row level security;
insert into private.rate_settings (name, rate) values ('RATE_LIMIT_PROFILE', '120/3600/30');

create function private.limit_profile_changes()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- The local stack sets it for its own connections, because several stacks can share a database.
  setting constant text := coalesce(
    nullif(current_setting('api.rate_limit_profile', true), ''),
    (select rate_settings.rate from private.rate_settings where name = 'RATE_LIMIT_PROFILE'),
    'off'
  );
  rate constant text[] := string_to_array(setting, '/');
  wait integer;
begin
  if setting = 'off' then
    return null;
  end if;
  begin
    wait := private.consume_rate_limit(
      kind => 'RATE_LIMIT_PROFILE',
      who => (select auth.uid())::text,
      seconds_each => rate[2]::double precision / rate[1]::integer,
      burst => coalesce(rate[3], rate[1])::integer
    )::text::integer;
  exception
    -- As rate_limit.ts.
    when lock_not_available then
      wait := 1;
  end;
  if wait > 0 then
    raise sqlstate 'PT429' using
      message = 'Too many requests, please try again later',
      hint = format('In %s seconds', wait);
  end if;
  return null;
end
$$;
comment on function private.limit_profile_changes() is
  'Consumes a token of RATE_LIMIT_PROFILE for a change through the Data API; the Edge Functions consume theirs before
they call the database. A refused or failed change consumes none. Definer, as consume_rate_limit.';

-- api.caller is set for calls of Edge Functions. Hiding a profile is free, there as here; any other change costs an
-- embedding.
create trigger count_changes_of_users
  after update on public.users
  for each row
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.limit_profile_changes();

create trigger count_changes_of_profiles
  after update on public.profiles
  for each row
  when (
    current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = ''
    and (
      new.is_searchable
      or to_jsonb(old.*) - 'is_searchable' is distinct from to_jsonb(new.*) - 'is_searchable'
    )
  )
  execute function private.limit_profile_changes();

create trigger count_changes_of_interests
  after insert or delete on public.profile_interests
  for each statement
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.limit_profile_changes();
