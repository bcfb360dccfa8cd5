-- Schemas, the role the doors log in as, and the step every request takes: becoming its caller.
--   public   tables, as the Data API and the dashboard show them
--   api      verbs, one for each thing a caller can ask of a door; the Data API does not show this schema
--   private  what policies and verbs lean on, and what nobody may reach
create schema api;
create schema private;
comment on schema api is 'The verbs of the Edge Functions. Only they may call them, and each runs with the caller''s rights.';
comment on schema private is 'Helpers of policies and verbs, and tables no caller sees.';

-- The platform grants everything on new tables to the API roles, and Postgres lets everybody call new functions.
-- Here nothing is granted that a noun's file does not say.
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
comment on role edge_functions is
  'What the Edge Functions log in as: no rights of its own but calling verbs, and becoming anon or authenticated.';
grant anon, authenticated to edge_functions;
-- Whatever takes longer is answered with 503. The platform has its own limits for callers of the Data API: 3 s anonymous, 8 s with a token.
alter role edge_functions set statement_timeout = '5s';
-- So that a connection that logs in as postgres can start as edge_functions (see functions/_shared/rpc.ts).
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
begin
  perform set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  if claims is not null then
    me := private.find_me();
    if me is null then
      status := private.account_status();
      if status = 'active' then
        -- Since a moment ago: the door asks again.
        raise sqlstate '40001' using message = 'This account has just changed';
      elsif strict and status is null then
        raise sqlstate 'PT401' using message = 'This account no longer exists';
      elsif strict then
        raise sqlstate 'PT403' using message = 'This account is deactivated';
      end if;
      perform set_config('request.jwt.claims', '{"role": "anon"}', true);
      perform set_config('request.jwt.claim.sub', '', true);
      claims := null;
    end if;
  end if;
  perform set_config('api.caller', coalesce(me::text, ''), true);
  if claims is null and current_setting('server_version_num')::integer >= 170000 then
    perform set_config('transaction_timeout', '3s', true);
  end if;
  -- The role is a literal, whatever the claims say.
  perform set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return true;
end
$$;
comment on function private.act_as(jsonb, boolean) is
  'Makes the rest of the statement run as the caller: role, claims and user id last until its transaction ends. Null claims are an
anonymous caller. Strict refuses unknown (401) and deactivated (403) accounts; otherwise they count as anonymous.
Anonymous callers have 3 s, as the platform gives them in the Data API: a statement_timeout that a statement sets comes too late for itself,
transaction_timeout does not. It closes the connection, and exists since Postgres 17.
Called before the verb in one statement it keeps 75 % of the bare rate of requests, where begin, set and commit keep 28 %
(bench/one_round_trip.ts).';
grant execute on function private.act_as(jsonb, boolean) to edge_functions;

create function private.set_response_metadata(metadata jsonb)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.response_metadata', set_response_metadata.metadata::text, true);
end
$$;
comment on function private.set_response_metadata(jsonb) is
  'What a verb has to say besides its answer, for the door to put into headers: {next: cursor} or {replayed: true}.';
grant execute on function private.set_response_metadata(jsonb) to anon, authenticated;

-- Without `set search_path`, which would keep the planner from inlining it: a page of 50 messages calls it 50 times.
create function private.iso(moment timestamptz)
returns text
language sql stable security invoker parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function private.iso(timestamptz) is 'ISO 8601 in UTC with milliseconds, as every timestamp in an answer.';
grant execute on function private.iso(timestamptz) to anon, authenticated;

-- The pattern is webAddress of functions/_shared/validate.ts, letter for letter (tests/local/web_addresses.test.ts compares them).
create function private.is_web_address(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value ~ '^https://(\[[0-9A-Fa-f:.]+\]|[^\[\]\u0022\u0027\u0060<>{}|\\\^%/?#@:,;!$&()*+=\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]+)(:[0-9]{1,5})?([/?#][^\u0022\u0027\u0060<>\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]*)?$';
end
$$;
comment on function private.is_web_address(text) is
  'Whether this is an https address that can stand in HTML as it is: a host without a user, and nowhere a quote, an angle bracket, a backslash,
white space, a control character or one that is not to be seen. Null of null. plpgsql, because Postgres plans the body of an SQL function anew
at each call, and a constraint asks at each change of a profile.';
grant execute on function private.is_web_address(text) to authenticated, service_role;
