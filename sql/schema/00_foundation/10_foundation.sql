-- Schemas, the role that the Edge Functions log in as, and private.act_as, which makes a statement run as its caller.
-- The Data API and the dashboard show public alone. A function without a grant is only called by definer functions.
create schema api;
create schema private;
comment on schema api is 'API functions. Only the Edge Functions may call them, each as its caller (private.act_as).';
comment on schema private is 'Helpers of policies and API functions, and tables that no caller can access.';

-- Only the explicit grants of these files count, not those of the platform on new tables and of Postgres on functions.
alter default privileges in schema public revoke all on tables from anon, authenticated;
alter default privileges in schema public revoke all on sequences from anon, authenticated;
alter default privileges in schema public revoke all on functions from anon, authenticated;
alter default privileges revoke execute on functions from public;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'edge_functions') then
    create role edge_functions login noinherit;
  end if;
end
$$;
comment on role edge_functions is 'The Edge Functions: may only call functions and become anon or authenticated.';
grant anon, authenticated to edge_functions;
-- A statement that takes longer is answered with 503.
alter role edge_functions set statement_timeout = '5s';
-- Lets a connection that logs in as postgres start as edge_functions (see functions/_shared/rpc.ts).
grant edge_functions to postgres;

grant usage on schema api to edge_functions;
grant usage on schema private to edge_functions, anon, authenticated;

create function private.act_as(claims jsonb, strict boolean)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me bigint;
  status text;
  -- What set_config returns is assigned: perform would run a statement for it, which takes five times as long.
  is_set text;
begin
  is_set := set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  is_set := set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  if claims is not null then
    me := private.find_me();
    if me is null then
      status := private.account_status();
      if status = 'active' then
        -- It became active after find_me looked; the Edge Function retries.
        raise sqlstate '40001' using message = 'This account has just changed';
      elsif strict and status is null then
        raise sqlstate 'PT401' using message = 'This account no longer exists';
      elsif strict then
        raise sqlstate 'PT403' using message = 'This account is deactivated', hint = 'deactivated';
      end if;
      return private.act_as(null, false);
    end if;
  end if;
  is_set := set_config('api.caller', coalesce(me::text, ''), true);
  -- As the platform limits anonymous callers. Unlike a statement_timeout it applies to the statement that sets it.
  if claims is null and current_setting('server_version_num')::integer >= 170000 then
    is_set := set_config('transaction_timeout', '3s', true);
  end if;
  -- The role is a literal and never taken from the claims.
  is_set := set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return is_set is not null;
end
$$;
comment on function private.act_as(jsonb, boolean) is
  'Makes the rest of the transaction run as the caller; null claims are an anonymous one. With strict, unknown accounts
(401) and deactivated ones (403) are refused; without, they count as anonymous. In the API function''s statement, as
begin, set and commit would halve the request rate (bench/one_round_trip.ts).';

create function private.set_response_metadata(metadata jsonb)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.response_metadata', set_response_metadata.metadata::text, true);
end
$$;
comment on function private.set_response_metadata(jsonb) is
  'Stores what an API function returns besides its answer: {next: cursor}, {replayed: true}, {place} or {file}.';

create function private.to_page(listed anyarray, page_limit bigint, next bigint)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', next));
    listed := listed[:page_limit];
  end if;
  return coalesce(array_to_json(listed), '[]');
end
$$;
comment on function private.to_page(anyarray, bigint, bigint) is
  'A page of what was listed, with a row more than the limit if another follows: then next goes into the metadata.';

create function private.present()
returns timestamptz
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return clock_timestamp();
end
$$;
comment on function private.present() is
  'The present time, also in a transaction that has waited for a lock. A function, so that tests can replace it.';

create function private.refuse_change()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if tg_op = 'DELETE' and pg_trigger_depth() > 1 then
    return null;
  end if;
  raise exception using message = tg_argv[0], errcode = coalesce(tg_argv[1], '42501'), hint = coalesce(tg_argv[2], '');
end
$$;
comment on function private.refuse_change() is
  'Refuses a change with this message, code and hint, by the owner of the table too, but what a trigger deletes, as that
of a foreign key.';

-- Without `set search_path`, which would prevent inlining: a page of 50 messages calls it 50 times.
create function private.iso(moment timestamptz)
returns text
language sql stable security invoker parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function private.iso(timestamptz) is 'ISO 8601 in UTC with milliseconds, as every timestamp in an answer.';

-- The same characters as of isLine in functions/_shared/validate.ts, which has them by their properties in Unicode.
create function private.is_line(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value !~ '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]'
    and (
      value = ''
      or value ~ '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
    );
end
$$;
comment on function private.is_line(text) is
  'Whether the text can be a name or title: one line, no control characters, no overrides of the direction of writing,
and something that shows, or nothing at all. Null for null.';

-- The same pattern as webAddress in functions/_shared/validate.ts.
create function private.is_web_address(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value ~ '^https://(\[[0-9A-Fa-f:.]+\]|[^\[\]\u0022\u0027\u0060<>{}|\\\^%/?#@:,;!$&()*+=\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]+)(:[0-9]{1,5})?([/?#][^\u0022\u0027\u0060<>\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]*)?$';
end
$$;
comment on function private.is_web_address(text) is
  'Whether the text is an https URL without user info that is safe in HTML without escaping. Null for null.';

create function private.is_own_photo(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  -- False, as the function is strict.
  return value is null;
end
$$;
comment on function private.is_own_photo(text) is
  'Whether the text is the address of an avatar in a Storage without https: never, but on one machine, whose stack
replaces this function (supabase/local/own_photos.ts). Null for null.';
