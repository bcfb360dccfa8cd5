-- Until their address is confirmed people are nobody, and whoever signs up with it again takes their place.
select plan(44);
select tests.make_person('ana');

-- An Auth account as Auth makes it where addresses must be confirmed; the ticket is that of a sign-up.
create function pg_temp.sign_up(address text, metadata jsonb)
returns uuid
language sql
as $$
  insert into auth.users (id, aud, role, email, encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values (gen_random_uuid(), 'authenticated', 'authenticated', address, 'a hash', '{"provider": "email"}', metadata, now(), now())
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
-- How many a search without a token finds.
create function pg_temp.found(word text)
returns integer
language sql
as $$ select (tests.ask(null, format('search_profiles(%L)', jsonb_build_object('q', word, 'limit', 5, 'offset', 0))) -> 'estimatedTotalHits')::integer $$;

select pg_temp.sign_up(
  'ben@tests.example',
  '{"name": "Benjamin", "profile": {"biography": "Quagga", "is_searchable": true, "interest_ids": [1]}}'
);
create temp table ben as
select users.id, profiles.id as profile_id from public.users join public.profiles on user_id = users.id where email = 'ben@tests.example';
grant select on ben to public;
create temp table claims as select tests.claims_of('ben') as of_ben;
grant select on claims to public;

select results_eq(
  $$ select is_active, confirmed_at from public.users where email = 'ben@tests.example' $$,
  $$ values (false, null::timestamptz) $$,
  'ben, who has not confirmed his address, is not active'
);
select is(pg_temp.found('Quagga'), 0, 'no search finds him');
select throws_ok(
  format('select tests.ask(%L, %L)', person, format(verb, id)), 'PT404', null, format('%s cannot %s: there is nobody', coalesce(person, 'nobody'), what)
)
from (
  values
    (null, 'get_public_profile(%s)', 'look at him', (select profile_id from ben)),
    ('ana', 'open_conversation(%s)', 'write to him', (select id from ben)),
    ('ana', 'block_person(%s)', 'block him', (select id from ben)),
    ('ana', 'unblock_person(%s)', 'take a block of him back', (select id from ben))
) as attempts (person, verb, what, id);
select tests.become_owner();
select is_empty(
  $$ select from private.embedding_queue where id in (select id from ben union select profile_id from ben) $$, 'nobody makes vectors of him'
);
select throws_ok(
  $$ select private.act_as((select of_ben from claims), true) $$, 'PT401', null, 'a token of his, should there be one, is nobody''s'
);
select lives_ok($$ select private.act_as((select of_ben from claims), false) $$, 'and no token where none is needed');
select is(current_setting('role'), 'anon', 'which leaves its bearer anonymous');
select tests.become_owner();
select throws_ok(
  $$ update public.users set is_active = true where email = 'ben@tests.example' $$,
  '23514',
  'new row for relation "users" violates check constraint "nobody is active before their address is confirmed"',
  'an admin cannot make him somebody but by confirming his address'
);

-- Confirming.
select pg_temp.confirm('ben@tests.example');
select results_eq(
  $$ select is_active, confirmed_at from public.users where email = 'ben@tests.example' $$,
  $$ values (true, now()) $$,
  'as the address is confirmed ben is active, in the same transaction'
);
select is(pg_temp.found('Quagga'), 1, 'and found');
select tests.become_owner();
select ok(not private.remove_pending_account('ben@tests.example'), 'once confirmed he cannot be removed');
select ok(not private.remove_pending_account('BEN@Tests.example'), 'in whatever case his address is written');
select isnt(pg_temp.account_of('ben@tests.example'), null, 'his log-in is there');
update public.users set is_active = false where email = 'ben@tests.example';
update auth.users set email_confirmed_at = null where email = 'ben@tests.example';
select ok(not private.remove_pending_account('ben@tests.example'), 'nor when Auth takes his confirmation back');
select pg_temp.confirm('ben@tests.example');
select ok(
  not (select is_active from public.users where email = 'ben@tests.example'),
  'deactivated, he does not come back by confirming an address'
);

-- Signing up again.
select pg_temp.sign_up('cat@tests.example', '{"name": "Stranger", "profile": {"biography": "Dodo", "is_searchable": true}}');
select set_config('tests.stranger', tests.claims_of('cat')::text, true);
create temp table earlier as select private.begin_sign_up('cat@tests.example')::jsonb as it;
create temp table begun as select private.begin_sign_up('CAT@tests.example')::jsonb as it;
select is(pg_temp.account_of('cat@tests.example'), null, 'whoever begins to sign up with a pending address removes who waits there');
select is_empty($$ select from public.users where name = 'Stranger' $$, 'with user and profile');
select is_empty($$ select from public.profiles where biography = 'Dodo' $$, 'and all that was said in it');
select is(
  private.check_sign_up('cat@tests.example', (it ->> 'ticket')::uuid)::text, '"not made"', 'until Auth has made the account, it is not made'
)
from begun;
select is(
  private.check_sign_up('cat@tests.example', (it ->> 'ticket')::uuid)::text, '"superseded"', 'a later sign-up supersedes an earlier one'
)
from earlier;
select pg_temp.sign_up('cat@tests.example', jsonb_build_object('name', 'Earlier', 'ticket', it ->> 'ticket')) from earlier;
select is(
  private.check_sign_up('cat@tests.example', (it ->> 'ticket')::uuid)::text, '"retry"',
  'an earlier sign-up that Auth lets through after all is removed'
)
from begun;
select is(pg_temp.account_of('cat@tests.example'), null, 'with its account');
select pg_temp.sign_up('cat@tests.example', jsonb_build_object('name', 'Cat', 'ticket', it ->> 'ticket', 'id', 1)) from begun;
select is(private.check_sign_up('cat@tests.example', (it ->> 'ticket')::uuid)::text, '"made"', 'the account with the ticket is it')
from begun;
select is(
  (select to_jsonb(id) from public.users where email = 'cat@tests.example'), it -> 'user_id', 'and has the id that was named before'
)
from begun;
insert into private.sign_ups (user_id, profile_id, address_hash)
select (it -> 'user_id')::bigint - 1, 1, sha256('cat@tests.example') from begun;
select is(
  private.check_sign_up('cat@tests.example', ticket)::text, '"superseded"', 'an earlier sign-up that is still under way finds it'
)
from private.sign_ups, begun
where user_id = (it -> 'user_id')::bigint - 1;
select isnt(pg_temp.account_of('cat@tests.example'), null, 'and leaves it');
select is(
  (select raw_user_meta_data from auth.users where email = 'cat@tests.example'), '{"id": 1, "name": "Cat"}',
  'the ticket is not kept where tokens would carry it'
);
select pg_temp.sign_up('dan@tests.example', jsonb_build_object('name', 'Dan', 'ticket', it ->> 'ticket')) from begun;
select isnt(
  (select to_jsonb(id) from public.users where email = 'dan@tests.example'), it -> 'user_id', 'a ticket is good for one account'
)
from begun;
select lives_ok(
  format('select pg_temp.sign_up(%L, %L)', 'eve@tests.example', '{"ticket": "'' or true --"}'), 'one that is none is no ticket'
);
select is(
  private.check_sign_up('ANA@tests.example', ((private.begin_sign_up('Ana@tests.example')) ->> 'ticket')::uuid)::text, '"taken"',
  'with the address of somebody who confirmed it nobody signs up'
);
select isnt(pg_temp.account_of('ana@tests.example'), null, 'and ana stays');

select pg_temp.sign_up('invited@tests.example', '{"name": "Invited"}');
update auth.users set invited_at = now(), encrypted_password = '' where email = 'invited@tests.example';
select is(
  private.check_sign_up('invited@tests.example', ((private.begin_sign_up('invited@tests.example')) ->> 'ticket')::uuid)::text, '"taken"',
  'whom an admin has invited nobody takes the place of'
);
select isnt(pg_temp.account_of('invited@tests.example'), null, 'and their link stays good');

-- An id and a profile's id for each, whatever comes of it: nobody learns from what is left out that an address was taken.
create temp table counted as
select
  (private.begin_sign_up('ana@tests.example') ->> 'user_id')::bigint as taken,
  (private.begin_sign_up('nobody.yet@tests.example') ->> 'user_id')::bigint as free;
select is(free - taken, 1::bigint, 'a sign-up uses up one id, whether or not the address is free') from counted;
select is(
  (select count(distinct profile_id) from private.sign_ups), (select count(*) from private.sign_ups), 'and one profile''s id'
);
update private.sign_ups set begun_at = now() - interval '61 minutes';
select private.begin_sign_up('nobody.yet@tests.example');
select is((select count(*) from private.sign_ups), 1::bigint, 'what was begun and not ended is forgotten after an hour');

-- Recovery, as Auth requests and claims it.
update auth.users set encrypted_password = 'a hash' where email in ('ana@tests.example', 'cat@tests.example');
update auth.users set recovery_token = null where email in ('ana@tests.example', 'cat@tests.example');
update auth.users set recovery_token = '' where email in ('ana@tests.example', 'cat@tests.example');
select results_eq(
  $$ select email::text, encrypted_password::text from auth.users where email in ('ana@tests.example', 'cat@tests.example') order by 1 $$,
  $$ values ('ana@tests.example', 'a hash'), ('cat@tests.example', 'a hash') $$,
  'a password is kept where no recovery is requested'
);
update auth.users set recovery_token = md5(email), recovery_sent_at = now()
where email in ('ana@tests.example', 'cat@tests.example');
select results_eq(
  $$ select email::text, encrypted_password::text from auth.users where email in ('ana@tests.example', 'cat@tests.example') order by 1 $$,
  $$ values ('ana@tests.example', 'a hash'), ('cat@tests.example', null) $$,
  'requesting recovery removes the password of a pending account, and of no other'
);
update auth.users set encrypted_password = 'chosen', recovery_token = null where email = 'cat@tests.example';
select is(
  (select encrypted_password::text from auth.users where email = 'cat@tests.example'), 'chosen',
  'a password chosen afterwards is kept'
);

-- Other ways in.
insert into auth.users (id, aud, role, phone, phone_confirmed_at, raw_user_meta_data, created_at)
values (gen_random_uuid(), 'authenticated', 'authenticated', '351900000001', now(), '{"name": "By phone"}', now());
insert into auth.users (id, aud, role, is_anonymous, raw_user_meta_data, created_at)
values (gen_random_uuid(), 'authenticated', 'authenticated', true, '{"name": "Anonymous"}', now());
select results_eq(
  $$ select name, is_active from public.users where name in ('By phone', 'Anonymous') order by name desc $$,
  $$ values ('By phone', true), ('Anonymous', false) $$,
  'a confirmed phone makes somebody; who signed in anonymously is nobody'
);

-- What an admin has given somebody is not removed with them.
select pg_temp.sign_up('dora@tests.example', '{"name": "Dora"}');
insert into public.conversations (voyager_id, local_id)
select ana.id, dora.id
from public.users as ana, public.users as dora
where ana.email = 'ana@tests.example' and dora.email = 'dora@tests.example';
select private.begin_sign_up('dora@tests.example');
select isnt_empty(
  $$ select from public.conversations join public.users on users.id = local_id where email = 'dora@tests.example' $$,
  'a pending account with a conversation stays, and signing up with its address does not fail'
);
