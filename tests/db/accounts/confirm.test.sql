-- Until its address is confirmed an account is pending: invisible, unusable, and replaced by the next sign-up with that
-- address.
select plan(57);
select tests.make_person('ana');

-- Creates an account as Auth does with e-mail confirmation on; metadata may hold the ticket of a sign-up.
create function pg_temp.sign_up(address text, metadata jsonb)
returns uuid
language sql
as $$
  insert into auth.users (
    id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
  )
  values (
    gen_random_uuid(), 'authenticated', 'authenticated', address, 'a hash', '{"provider": "email"}', metadata,
    now(), now()
  )
  returning id
$$;
create function pg_temp.confirm(address text)
returns void
language sql
as $$ update auth.users set email_confirmed_at = now() where email = address $$;
create function pg_temp.account_of(address text)
returns uuid
language sql security definer
as $$ select id from auth.users where email = address $$;
grant execute on all functions in schema pg_temp to public;
-- The number of hits of an anonymous search.
create function pg_temp.found(word text)
returns integer
language sql
as $$
  select (
    tests.ask(null, format('search_profiles(%L)', jsonb_build_object('q', word, 'limit', 5, 'offset', 0)))
      -> 'estimatedTotalHits'
  )::integer
$$;

create function pg_temp.begin_sign_up(address text)
returns json
language sql
as $$ select private.begin_sign_up(address => address, name => 'Cat', fields => '{}') $$;
-- The outcome of a sign-up whose CAPTCHA Auth has accepted.
create function pg_temp.check_sign_up(address text, begun uuid)
returns text
language sql
as $$ select private.check_sign_up(address, begun, accepted => true)::text $$;

select pg_temp.sign_up('ben@tests.example', jsonb_build_object('ticket', private.begin_sign_up(
  address => 'ben@tests.example',
  name => 'Benjamin',
  fields => '{"biography": "Quagga", "is_searchable": true, "interest_ids": [1]}'
) ->> 'ticket'));
create temp table ben as
select users.id, profiles.id as profile_id
from public.users
join public.profiles on user_id = users.id
where email = 'ben@tests.example';
grant select on ben to public;
create temp table claims as select tests.claims_of('ben') as of_ben;
grant select on claims to public;

select results_eq(
  $$ select is_active, confirmed_at from public.users where email = 'ben@tests.example' $$,
  $$ values (false, null::timestamptz) $$, 'ben, whose address is not confirmed, is not active'
);
select is(pg_temp.found('Quagga'), 0, 'no search finds ben');
select throws_ok(
  format('select tests.ask(%L, %L)', person, format(call, id)), 'PT404', null,
  format('%s cannot %s', coalesce(person, 'an anonymous caller'), what)
)
from (
  values
    (null, 'get_public_profile(%s)', 'see ben''s profile', (select profile_id from ben)),
    ('ana', 'open_conversation(%s)', 'open a conversation with ben', (select id from ben)),
    ('ana', 'block_person(%s)', 'block ben', (select id from ben)),
    ('ana', 'unblock_person(%s)', 'unblock ben', (select id from ben))
) as attempts (person, call, what, id);
select tests.become_owner();
select is_empty(
  $$ select from private.embedding_queue where id in (select id from ben union select profile_id from ben) $$,
  'no embedding of ben is queued'
);
select throws_ok(
  $$ select private.act_as((select of_ben from claims), true) $$, 'PT401', null, 'a token of ben is refused'
);
select lives_ok(
  $$ select private.act_as((select of_ben from claims), false) $$,
  'where a token is optional, a token of ben is accepted'
);
select is(current_setting('role'), 'anon', 'the bearer of an optional token of ben is anonymous');
select tests.become_owner();
select throws_ok(
  $$ update public.users set is_active = true where email = 'ben@tests.example' $$, '23514',
  'new row for relation "users" violates check constraint "nobody is active before their address is confirmed"',
  'an admin cannot activate ben without confirming his address'
);

-- Confirming
select pg_temp.confirm('ben@tests.example');
select results_eq(
  $$ select is_active, confirmed_at from public.users where email = 'ben@tests.example' $$, $$ values (true, now()) $$,
  'confirming the address activates ben in the same transaction'
);
select is(pg_temp.found('Quagga'), 1, 'a search finds ben once he is confirmed');
select tests.become_owner();
select ok(not private.remove_pending_account('ben@tests.example'), 'a confirmed account cannot be removed');
select ok(
  not private.remove_pending_account('BEN@Tests.example'),
  'a confirmed account cannot be removed by an address in other case'
);
select isnt(pg_temp.account_of('ben@tests.example'), null, 'ben''s Auth account still exists');
update public.users set is_active = false where email = 'ben@tests.example';
update auth.users set email_confirmed_at = null where email = 'ben@tests.example';
select ok(
  not private.remove_pending_account('ben@tests.example'),
  'an account that was confirmed once cannot be removed after Auth has reset the confirmation'
);
select pg_temp.confirm('ben@tests.example');
select ok(
  not (select is_active from public.users where email = 'ben@tests.example'),
  'confirming an address does not reactivate a deactivated user'
);

-- Signing up again
select pg_temp.sign_up('cat@tests.example', jsonb_build_object('ticket', private.begin_sign_up(
  address => 'cat@tests.example', name => 'Stranger', fields => '{"biography": "Dodo", "is_searchable": true}'
) ->> 'ticket'));
select set_config('tests.stranger', tests.claims_of('cat')::text, true);
create temp table earlier as select pg_temp.begin_sign_up('cat@tests.example')::jsonb as sign_up;
create temp table begun as select pg_temp.begin_sign_up('CAT@tests.example')::jsonb as sign_up;
select is(sign_up -> 'pending', 'true', 'beginning a sign-up says that a pending account has its address') from begun;
select is(
  private.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid, accepted => false)::text, '"taken"',
  'before Auth has accepted the CAPTCHA the outcome is "taken"'
)
from begun;
select isnt_empty(
  $$ select from public.users where name = 'Stranger' $$,
  'whoever has no CAPTCHA cannot remove a pending account'
);
select is(
  pg_temp.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid), '"retry"',
  'the outcome is "retry" once Auth has accepted the CAPTCHA'
)
from begun;
select is(pg_temp.account_of('cat@tests.example'), null, 'that removes the pending account');
select is_empty($$ select from public.users where name = 'Stranger' $$, 'the removed account''s user is gone');
select is_empty($$ select from public.profiles where biography = 'Dodo' $$, 'the removed account''s profile is gone');
select is(
  pg_temp.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid), '"not made"',
  'the outcome is "not made" until Auth has created the account'
)
from begun;
select is(
  pg_temp.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid), '"superseded"',
  'the outcome of an earlier sign-up is "superseded"'
)
from earlier;
select pg_temp.sign_up('cat@tests.example', jsonb_build_object('ticket', sign_up ->> 'ticket'))
from earlier;
select is(
  pg_temp.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid), '"retry"',
  'the outcome is "retry" if Auth has created the account of an earlier sign-up'
)
from begun;
select is(pg_temp.account_of('cat@tests.example'), null, 'the account of the earlier sign-up is removed');
select pg_temp.sign_up('cat@tests.example', jsonb_build_object('ticket', sign_up ->> 'ticket', 'id', 1))
from begun;
select is(
  pg_temp.check_sign_up('cat@tests.example', (sign_up ->> 'ticket')::uuid), '"made"',
  'the outcome is "made" for the account with the ticket'
)
from begun;
select is(
  (select to_jsonb(id) from public.users where email = 'cat@tests.example'), sign_up -> 'user_id',
  'the account has the id that begin_sign_up returned'
)
from begun;
insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
select (sign_up -> 'user_id')::bigint - 1, 1, sha256('cat@tests.example'), 'Earlier', '{}' from begun;
select is(
  pg_temp.check_sign_up('cat@tests.example', ticket), '"superseded"',
  'the outcome of an earlier sign-up is "superseded" once the later account exists'
)
from private.sign_ups, begun
where user_id = (sign_up -> 'user_id')::bigint - 1 and name is not null;
select isnt(pg_temp.account_of('cat@tests.example'), null, 'a superseded sign-up does not remove the later account');
select pg_temp.sign_up('dan@tests.example', jsonb_build_object('name', 'Dan', 'ticket', sign_up ->> 'ticket'))
from begun;
select isnt(
  (select to_jsonb(id) from public.users where email = 'dan@tests.example'), sign_up -> 'user_id',
  'a ticket is valid for one account'
)
from begun;
select lives_ok(
  format('select pg_temp.sign_up(%L, %L)', 'eve@tests.example', '{"ticket": "'' or true --"}'),
  'a malformed ticket is ignored'
);
create temp table direct as select pg_temp.begin_sign_up('fay@tests.example')::jsonb as sign_up;
select pg_temp.sign_up('fay@tests.example', '{"name": "Stranger"}');
select is(
  pg_temp.check_sign_up('fay@tests.example', (sign_up ->> 'ticket')::uuid), '"retry"',
  'the outcome is "retry" if a later account was created in Auth directly, without a sign-up'
)
from direct;
select is(pg_temp.account_of('fay@tests.example'), null, 'the account that was created directly is removed');
select pg_temp.sign_up('fay@tests.example', jsonb_build_object('name', 'Fay', 'ticket', sign_up ->> 'ticket'))
from direct;
select is(
  pg_temp.check_sign_up('fay@tests.example', (sign_up ->> 'ticket')::uuid), '"made"',
  'the next try creates the account of the sign-up'
)
from direct;
select is(
  (select to_jsonb(id) from public.users where email = 'fay@tests.example'), sign_up -> 'user_id',
  'the account has the id of the sign-up'
)
from direct;
select is(
  pg_temp.check_sign_up('ANA@tests.example', (pg_temp.begin_sign_up('Ana@tests.example') ->> 'ticket')::uuid),
  '"taken"', 'the outcome is "taken" for the address of a confirmed account'
);
select isnt(pg_temp.account_of('ana@tests.example'), null, 'the confirmed account stays');

create temp table hal as
select
  (pg_temp.begin_sign_up('hal@tests.example') ->> 'ticket')::uuid as earlier,
  pg_temp.begin_sign_up('hal@tests.example')::jsonb as later;
select is(later -> 'pending', 'false', 'beginning a sign-up says that no pending account has the address') from hal;
select is(
  pg_temp.check_sign_up('hal@tests.example', earlier), '"not made"',
  'a later sign-up whose CAPTCHA Auth has not accepted supersedes no other one'
)
from hal;
select private.check_sign_up('hal@tests.example', (later ->> 'ticket')::uuid, accepted => true) from hal;
select is(
  pg_temp.check_sign_up('hal@tests.example', earlier), '"superseded"',
  'once Auth has accepted its CAPTCHA it does'
)
from hal;
create temp table first as select pg_temp.begin_sign_up('ana@tests.example')::jsonb as sign_up;
select pg_temp.begin_sign_up('ana@tests.example');
select is(
  pg_temp.check_sign_up('ana@tests.example', (sign_up ->> 'ticket')::uuid), '"taken"',
  'with a taken address, a later sign-up changes nothing for an earlier one'
)
from first;
select pg_temp.sign_up('invited@tests.example', '{"name": "Invited"}');
update auth.users set invited_at = now(), encrypted_password = '' where email = 'invited@tests.example';
select is(
  pg_temp.check_sign_up(
    'invited@tests.example', (pg_temp.begin_sign_up('invited@tests.example') ->> 'ticket')::uuid
  ),
  '"taken"',
  'the outcome is "taken" for the address of an invited account'
);
select isnt(pg_temp.account_of('invited@tests.example'), null, 'the invited account stays, so its link stays valid');

-- Every sign-up uses up one user id and one profile id, so that gaps do not reveal taken addresses.
create temp table counted as
select
  (pg_temp.begin_sign_up('ana@tests.example') ->> 'user_id')::bigint as taken,
  (pg_temp.begin_sign_up('nobody.yet@tests.example') ->> 'user_id')::bigint as free;
select is(free - taken, 1::bigint, 'a sign-up uses up one id, whether or not the address is free') from counted;
select is(
  (select count(distinct profile_id) from private.sign_ups), (select count(*) from private.sign_ups),
  'a sign-up uses up one profile id'
);
update private.sign_ups set begun_at = now() - interval '61 minutes';
select pg_temp.begin_sign_up('nobody.yet@tests.example');
select is((select count(*) from private.sign_ups), 1::bigint, 'an unfinished sign-up is deleted after an hour');

-- Recovery, as Auth requests and completes it
update auth.users set encrypted_password = 'a hash' where email in ('ana@tests.example', 'cat@tests.example');
update auth.users set recovery_token = null where email in ('ana@tests.example', 'cat@tests.example');
update auth.users set recovery_token = '' where email in ('ana@tests.example', 'cat@tests.example');
create temp view passwords as
select email::text, encrypted_password::text
from auth.users
where email in ('ana@tests.example', 'cat@tests.example')
order by 1;
select results_eq(
  'select * from passwords', $$ values ('ana@tests.example', 'a hash'), ('cat@tests.example', 'a hash') $$,
  'without a request for recovery the passwords stay'
);
update auth.users set recovery_token = md5(email), recovery_sent_at = now()
where email in ('ana@tests.example', 'cat@tests.example');
select results_eq(
  'select * from passwords', $$ values ('ana@tests.example', 'a hash'), ('cat@tests.example', null) $$,
  'requesting recovery removes the password of a pending account, and of no other'
);
update auth.users set encrypted_password = 'chosen', recovery_token = null where email = 'cat@tests.example';
select is(
  (select encrypted_password::text from auth.users where email = 'cat@tests.example'), 'chosen',
  'a password that is chosen afterwards stays'
);

-- An invitation to an address that somebody else has signed up with
select pg_temp.sign_up('gil@tests.example', '{"name": "Stranger"}');
update auth.users set invited_at = now(), confirmation_token = md5(email) where email = 'gil@tests.example';
select is(
  (select encrypted_password::text from auth.users where email = 'gil@tests.example'), null,
  'inviting the address of a pending account removes its password'
);
update auth.users set invited_at = now() where email = 'ana@tests.example';
select is(
  (select encrypted_password::text from auth.users where email = 'ana@tests.example'), 'a hash',
  'an invitation never removes the password of a confirmed account'
);

-- Other log-in methods
insert into auth.users (id, aud, role, phone, phone_confirmed_at, raw_user_meta_data, created_at)
values (gen_random_uuid(), 'authenticated', 'authenticated', '351900000001', now(), '{"name": "By phone"}', now());
insert into auth.users (id, aud, role, is_anonymous, raw_user_meta_data, created_at)
values (gen_random_uuid(), 'authenticated', 'authenticated', true, '{"name": "Anonymous"}', now());
select results_eq(
  $$ select name, is_active from public.users where name in ('By phone', 'Anonymous') order by name desc $$,
  $$ values ('By phone', true), ('Anonymous', false) $$,
  'a confirmed phone activates the user; an anonymous sign-in does not'
);

-- Pending accounts with a conversation
select pg_temp.sign_up('dora@tests.example', '{"name": "Dora"}');
insert into public.conversations (voyager_id, local_id)
select ana.id, dora.id
from public.users as ana, public.users as dora
where ana.email = 'ana@tests.example' and dora.email = 'dora@tests.example';
select pg_temp.begin_sign_up('dora@tests.example');
select isnt_empty(
  $$ select from public.conversations join public.users on users.id = local_id where email = 'dora@tests.example' $$,
  'a pending account to which an admin gave a conversation stays, and signing up with its address does not fail'
);
