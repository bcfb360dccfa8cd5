-- Rate limits by the generic cell rate algorithm (GCRA): one row for each user or IP address and kind of request, with
-- its theoretical arrival time (tat). Unlogged, because a count is worth neither a write to the WAL nor a place in a
-- backup; after a crash everybody starts again with a full burst.
create unlogged table private.rate_limits (key bytea primary key, tat timestamptz not null) with (fillfactor = 50);
comment on table private.rate_limits is
  'Each key is a hash that cannot be reversed without the day''s salt. A row whose tat has passed means nothing.';
alter table private.rate_limits enable row level security;

create unlogged table private.rate_limit_salts (salt text not null, valid_on date primary key default current_date);
comment on table private.rate_limit_salts is 'The salt of the hashes. It is new every day, which resets every limit.';
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
    insert into private.rate_limit_salts values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.rate_limit_salts where valid_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.rate_limit_key(text, text) is 'Today''s key of a user or address for one kind of request.';

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
  wait json;
begin
  -- One call in a hundred purges, which leaves about a hundred expired rows at most.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as existing (key, tat)
  values (own_key, clock_timestamp() + token_interval)
  -- clock_timestamp() is read while the row is locked, so that concurrent calls get exactly the allowed tokens.
  on conflict (key) do update set tat = greatest(existing.tat, clock_timestamp()) + token_interval
  where existing.tat <= clock_timestamp() + token_interval * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - token_interval * (burst - 1) into allowed_at from private.rate_limits where key = own_key;
  wait := to_json(greatest(1, ceil(extract(epoch from allowed_at - clock_timestamp()))));
  perform private.set_response_metadata(jsonb_build_object('wait', wait));
  return wait;
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Consumes a token: a burst at once, then one token every seconds_each. Returns 0, or the number of seconds until the
next token, which are wait in the response metadata, too, for the statement that writes and then does not. An error of
the write rolls the count back; the Edge Function then counts again. Definer, because it has no grant on rate_limits.';
