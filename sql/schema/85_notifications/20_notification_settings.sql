-- What users want to be told while they are away, and when not.
create table private.outbox_settings (
  singleton boolean primary key default true check (singleton),
  delay_seconds integer not null default 600
    constraint "delay_seconds is at most a day" check (delay_seconds between 0 and 86400),
  webhooks boolean not null default false
);
comment on table private.outbox_settings is 'What triggers must know of the environment, which notify writes. One row.';
alter table private.outbox_settings enable row level security;
insert into private.outbox_settings default values;

create table private.notification_settings (
  user_id bigint primary key references public.users (id) on delete cascade,
  push boolean not null default true,
  email boolean not null default true,
  delay_minutes integer
    constraint "delay_minutes is 0 to 1,440" check (delay_minutes between 0 and 1440),
  quiet_from time,
  quiet_to time,
  time_zone text
    constraint "time_zone has at most 64 characters" check (char_length(time_zone) <= 64),
  previews boolean not null default false,
  constraint "quiet hours have a beginning, an end and a time zone"
    check (num_nulls(quiet_from, quiet_to, time_zone) in (0, 3)),
  constraint "quiet hours end at another time than they begin" check (quiet_from <> quiet_to)
);
comment on table private.notification_settings is 'What each user has chosen; whoever has no row has the defaults.';
comment on column private.notification_settings.delay_minutes is 'Null: not chosen, so outbox_settings.delay_seconds.';
alter table private.notification_settings enable row level security;

create function private.notification_settings_of(person bigint)
returns private.notification_settings
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return coalesce(
    (select chosen from private.notification_settings as chosen where user_id = person),
    jsonb_populate_record(null::private.notification_settings, '{"push": true, "email": true, "previews": false}')
  );
end
$$;
comment on function private.notification_settings_of(bigint) is
  'What a user has chosen, with the defaults, except that a delay which was not chosen is null.';

create function api.get_notification_settings()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'push', push, 'email', email, 'delay_minutes', coalesce(delay_minutes, ceil(delay_seconds / 60.0)::integer),
    'quiet_hours', case
      when time_zone is not null then json_build_object(
        'from', left(quiet_from::text, 5), 'to', left(quiet_to::text, 5), 'time_zone', time_zone
      )
    end,
    'previews', previews
  )
  from private.notification_settings_of(private.my_id())
  cross join private.outbox_settings
$$;
comment on function api.get_notification_settings() is
  'The caller''s settings, with the defaults. Definer, because callers have no grant on them.';

create function private.quiet_until(quiet_from time, quiet_to time, time_zone text, moment timestamptz)
returns timestamptz
language plpgsql stable security invoker set search_path = ''
as $$
begin
  -- Both ends are computed from the wall clock of their own day, so that they are right on the days on which the clocks
  -- change: such a night is an hour shorter or longer.
  return (
    select max(ends)
    from (
      select
        (day + quiet_from) at time zone time_zone as starts,
        (day + (quiet_to < quiet_from)::integer + quiet_to) at time zone time_zone as ends
      from (values ((moment at time zone time_zone)::date), ((moment at time zone time_zone)::date - 1)) as days (day)
    ) as nights
    where moment >= starts and moment < ends
  );
exception
  -- Postgres has forgotten the time zone since it was chosen.
  when invalid_parameter_value then
    return null;
end
$$;
comment on function private.quiet_until(time, time, text, timestamptz) is
  'When the quiet hours end that this moment is in; null if it is in none, or there are none.';

create function api.update_notification_settings(changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  wanted private.notification_settings;
  quiet constant jsonb := nullif(changes -> 'quiet_hours', 'null');
begin
  -- Serializes concurrent changes of one user, of which each keeps what it does not name. An erasure waits.
  perform private.lock_me();
  wanted := jsonb_populate_record(private.notification_settings_of(me), jsonb_strip_nulls(changes));
  wanted.user_id := me;
  if changes ? 'quiet_hours' then
    wanted.quiet_from := (quiet ->> 'from')::time;
    wanted.quiet_to := (quiet ->> 'to')::time;
    wanted.time_zone := quiet ->> 'time_zone';
  end if;
  if quiet is not null then
    begin
      perform now() at time zone wanted.time_zone;
    exception
      when invalid_parameter_value then
        raise sqlstate 'PT400' using message = 'quiet_hours.time_zone: must be the name of a time zone';
    end;
  end if;
  delete from private.notification_settings where user_id = me;
  insert into private.notification_settings select wanted.*;
  -- What waits already goes by the new delay.
  if changes ? 'delay_minutes' then
    update private.outbox
    set due_at = created_at + make_interval(mins => wanted.delay_minutes)
    where user_id = me and channel = 'person';
  end if;
  return api.get_notification_settings();
end
$$;
comment on function api.update_notification_settings(jsonb) is
  'Changes what is given of the caller''s settings, and returns the whole. Definer, as get_notification_settings.';

alter table public.users add column unsubscribe_token text not null unique default gen_random_uuid();
comment on column public.users.unsubscribe_token is
  'Of the link in a user''s mails that turns them off. It does not expire: mails are kept for years.';

create function api.unsubscribe(token text, confirmed boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  person constant bigint := (select id from public.users where unsubscribe_token = token);
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'This link is not one of ours';
  end if;
  if confirmed then
    insert into private.notification_settings (user_id, email)
    select id, false from public.users where id = person and erased_at is null
    on conflict (user_id) do update set email = false;
  end if;
  return json_build_object('email', not confirmed and (private.notification_settings_of(person)).email);
end
$$;
comment on function api.unsubscribe(text, boolean) is
  'Turns off the mails of the user whom the token names, if that is confirmed, because mail programs follow links before
anybody reads the mail. Returns whether they get any, as {email}. Definer, because it is called without log-in.';
