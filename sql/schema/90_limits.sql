-- Limits: how often somebody may do a thing. A row for each person or address and thing, and in it one moment: when all their turns will be
-- back (the generic cell rate algorithm). Unlogged, because a count is worth no write to disk and is to be in no backup: after a crash
-- everybody starts anew.
create unlogged table private.rate_limits (
  key bytea primary key,
  tat timestamptz not null
) with (fillfactor = 50);
comment on table private.rate_limits is
  'Who took turns lately, under a hash that nobody can undo once the salt is gone. A row whose moment has passed says nothing any more.';
alter table private.rate_limits enable row level security;

create unlogged table private.turn_salts (
  salt text not null,
  made_on date primary key default current_date
);
comment on table private.turn_salts is
  'What addresses are hashed with, made anew every day: without it, all addresses there are could be tried. Then every count starts anew.';
alter table private.turn_salts enable row level security;

create function private.rate_limit_key(kind text, who text)
returns bytea
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  todays text := (select salt from private.turn_salts where made_on = current_date);
begin
  if todays is null then
    delete from private.turn_salts where made_on < current_date;
    insert into private.turn_salts (salt)
    values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.turn_salts where made_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.rate_limit_key(text, text) is
  'Under what a person''s or an address''s turns are kept today.';

create function private.purge_rate_limits()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.rate_limits
  where key in (select key from private.rate_limits where tat < clock_timestamp() for update skip locked)
$$;
comment on function private.purge_rate_limits() is
  'Drops the rows that say nothing any more, and waits for nobody.';

create function private.consume_rate_limit(kind text, who text, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer
set search_path = ''
-- Who waits longer than this for a count is let through without.
set lock_timeout = '250ms'
as $$
declare
  gap constant interval := make_interval(secs => seconds_each);
  mine constant bytea := private.rate_limit_key(kind, who);
  free_at timestamptz;
begin
  -- Every hundredth tidies up, which keeps the table a hundred rows from what it must hold.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as turn (key, tat)
  values (mine, clock_timestamp() + gap)
  -- By the clock once the row is held, so that of many at once neither one too many nor one too few gets in.
  on conflict (key) do update set tat = greatest(turn.tat, clock_timestamp()) + gap
  where turn.tat <= clock_timestamp() + gap * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - gap * (burst - 1) into free_at from private.rate_limits where key = mine;
  return to_json(greatest(1, ceil(extract(epoch from free_at - clock_timestamp()))));
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Takes one of the turns somebody has for a thing: a burst at once, and one more for every so many seconds. 0, or how many seconds to wait
for the next; a refusal takes nothing. Definer, because the doors hold no right on the counts.';
grant execute on function private.consume_rate_limit(text, text, double precision, integer) to edge_functions;

create function private.consume_send_limit(account uuid, client_id uuid, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if client_id is not null and exists (
    select
    from public.messages
    join public.users on users.id = messages.user_id
    where users.auth_id = account and messages.client_id = consume_send_limit.client_id
  ) then
    return to_json(0);
  end if;
  return private.consume_rate_limit('send', account::text, seconds_each, burst);
end
$$;
comment on function private.consume_send_limit(uuid, uuid, double precision, integer) is
  'As consume_rate_limit, for messages: one that was sent before under the same key is no new one, and takes no turn. Definer, as consume_rate_limit.';
grant execute on function private.consume_send_limit(uuid, uuid, double precision, integer) to edge_functions;

create table private.rate_settings (
  name text primary key
    constraint "name is RATE_LIMIT_PROFILE" check (name = 'RATE_LIMIT_PROFILE'),
  rate text not null
    constraint "rate is count/seconds, count/seconds/burst or off" check (rate ~ '^([1-9]\d{0,5}/[1-9]\d{0,5}(/[1-9]\d{0,5})?|off)$')
);
comment on table private.rate_settings is
  'What the database counts by itself, because the functions'' environment is not to be seen from here. Operators change it in the SQL editor.';
alter table private.rate_settings enable row level security;
insert into private.rate_settings (name, rate) values ('RATE_LIMIT_PROFILE', '120/3600/30');

create function private.count_profile_change()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- The local stack says it for its own connections, of which several can share a database.
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
      'RATE_LIMIT_PROFILE', (select auth.uid())::text, rate[2]::double precision / rate[1]::integer, coalesce(rate[3], rate[1])::integer
    )::text::integer;
  exception
    when lock_not_available then
      raise warning 'A limit was not counted: RATE_LIMIT_PROFILE';
      return null;
  end;
  if wait > 0 then
    raise sqlstate 'PT429' using
      message = 'Too many requests, please try again later',
      hint = format('In %s seconds', wait);
  end if;
  return null;
end
$$;
comment on function private.count_profile_change() is
  'Takes a turn of RATE_LIMIT_PROFILE for a change that comes through the Data API; the functions take theirs before they ask. What is refused or
fails takes none. Definer, as consume_rate_limit.';

-- Whose caller is known, a function asked for. Hiding is free, as it is there, and nothing else is: each change is a vector to make.
create trigger count_changes_of_users
  after update on public.users
  for each row
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.count_profile_change();

create trigger count_changes_of_profiles
  after update on public.profiles
  for each row
  when (
    current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = ''
    and (
      new.is_searchable
      or (old.first_name, old.last_name, old.age, old.biography, old.country, old.city, old.image_url)
        is distinct from (new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url)
    )
  )
  execute function private.count_profile_change();

create trigger count_changes_of_interests
  after insert or delete on public.profile_interests
  for each statement
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.count_profile_change();
