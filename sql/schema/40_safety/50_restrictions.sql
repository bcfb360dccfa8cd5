-- What admins do about people without a report: find, hide, suspend, lift, erase. As in 30_moderation.sql, only the
-- secret key and the owner can call this, and everything but finding is logged.
create function public.find_people(query text, restricted boolean default false)
returns table (
  id bigint, name text, email text, status text, is_hidden boolean, is_searchable boolean, bio text, location text,
  role text, created_at timestamptz, reports bigint, upheld bigint
)
language plpgsql stable security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  wanted constant text := private.fold(trim(coalesce(query, '')));
begin
  return query
    select
      users.id, users.name, users.email,
      case
        when users.erased_at is not null then 'erased'
        when users.confirmed_at is null then 'pending'
        when users.is_active then 'active'
        else 'suspended'
      end,
      coalesce(is_hidden, false), coalesce(is_searchable, false), bio, location, role, users.created_at,
      about.reports, about.upheld
    from public.users
    left join public.profiles on profiles.user_id = users.id
    cross join lateral (
      select count(*) as reports, count(*) filter (where resolution <> 'dismiss') as upheld
      from public.reports where reports.user_id = users.id
    ) as about
    where (
        users.id::text = wanted
        or wanted !~ '^[0-9]+$' and position(wanted in private.fold(users.name || E'\n' || users.email)) > 0
      )
      and (
        restricted is not true
        or is_hidden
        or not users.is_active and users.confirmed_at is not null and users.erased_at is null
      )
    order by users.id desc limit 50;
end
$$;
comment on function public.find_people(text, boolean) is
  'The newest 50 people with this text in their name or e-mail address, regardless of case and accents; digits alone are
an id; restricted: only who is hidden or suspended. Definer, because the secret key has no rights on schema private.';

create function public.restrict_person(person bigint, restriction text, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.set_restriction(person, restriction, true) then
    raise sqlstate 'PT409' using message = case
      when exists (select from public.users where id = person and erased_at is not null) then 'This account was erased'
      when restriction = 'hide' then 'This profile is already hidden'
      else 'This account is not active'
    end;
  end if;
  perform private.log_moderation(action => restriction, report => null, person => person, note => note);
  return 'restricted';
end
$$;
comment on function public.restrict_person(bigint, text, text) is
  'Hides or suspends as resolve_report does, without a report. Raises 409 if that was done before. Definer, as that.';

create function public.lift_restriction(person bigint, restriction text, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.set_restriction(person, restriction, false) then
    raise sqlstate 'PT409' using
      message = case restriction when 'hide' then 'This profile is not hidden' else 'This account is not suspended' end;
  end if;
  perform private.log_moderation(action => 'lift ' || restriction, report => null, person => person, note => note);
  return 'lifted';
end
$$;
comment on function public.lift_restriction(bigint, text, text) is
  'Ends a restriction; a profile stays unsearchable until its owner changes that. Definer, as resolve_report.';

create function public.erase_person(person bigint, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from public.users where id = person) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  -- First, because it locks in the order of every erasure, and the entry in the log locks the person.
  if not private.erase_person(person) then
    raise sqlstate 'PT409' using message = 'This account was erased before';
  end if;
  perform private.log_moderation(action => 'erase', report => null, person => person, note => note);
  return 'erased';
end
$$;
comment on function public.erase_person(bigint, text) is
  'Erases a person; their avatars have to be removed by hand (docs/runbook.md). Definer, as find_people.';
