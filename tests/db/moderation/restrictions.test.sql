-- Without a report: hide, suspend, lift, erase. Each is logged with its reason, or refused.
select plan(25);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
update public.profiles set is_searchable = true;
create temp table ids as
select tests.id_of('ana') as ana, tests.id_of('ben') as ben, tests.id_of('cat') as cat, max(id) + 1 as nobody
from public.users;
grant select on ids to public;
create function pg_temp.latest_entry()
returns text
language sql
as $$
  select concat_ws(', ', action, user_id - (select ben from ids), report_id, note)
  from public.moderation_log
  order by id desc
  limit 1
$$;
grant execute on function pg_temp.latest_entry() to public;

select tests.become_role('service_role');
select is(public.restrict_person(ben, 'hide', 'Advertises'), 'restricted', 'an admin hides ben') from ids;
select is(pg_temp.latest_entry(), 'hide, 0, Advertises', 'which is logged, without a report');
select tests.become_owner();
select is(
  array(select user_id from public.profiles where not is_searchable), array(select ben from ids),
  'his profile alone is not searchable any more'
);
select throws_ok(
  $$ select tests.ask('ben', 'set_searchable(true)') $$, 'PT403', 'An administrator has hidden this profile',
  'and he cannot change that'
);
select tests.become_role('service_role');
select is(public.restrict_person(ben, 'suspend', 'Goes on'), 'restricted', 'an admin suspends him') from ids;
select is(pg_temp.latest_entry(), 'suspend, 0, Goes on', 'which is logged');
select is(
  array(select id from public.users where not is_active), array(select ben from ids), 'his account alone is inactive'
);
select is(public.lift_restriction(ben, 'suspend', 'Promised'), 'lifted', 'an admin lifts it') from ids;
select is(public.lift_restriction(ben, 'hide', 'Promised'), 'lifted', 'and the hiding') from ids;
select is(public.restrict_person(ben, 'hide', 'Again'), 'restricted', 'and can do it again') from ids;
select is((select count(*) from public.moderation_log), 5::bigint, 'each has an entry');

select throws_ok(
  format(call, case who when 'nobody' then nobody when 'ben' then ben else cat end), state, message, call || ' ' || who
)
from (
  values
    ('select public.restrict_person(%s, ''ban'', ''Why'')', 'cat', 'PT400', 'restriction: must be hide or suspend'),
    ('select public.restrict_person(%s, null, ''Why'')', 'cat', 'PT400', 'restriction: must be hide or suspend'),
    ('select public.restrict_person(%s, ''hide'', '' '')', 'cat', 'PT400', 'note: say why, in 1 to 2,000 characters'),
    ('select public.restrict_person(%s, ''hide'', ''Why'')', 'nobody', 'PT404', 'User not found'),
    ('select public.restrict_person(%s, ''hide'', ''Why'')', 'ben', 'PT409', 'This profile is already hidden'),
    ('select public.erase_person(%s, null)', 'cat', 'PT400', 'note: say why, in 1 to 2,000 characters'),
    ('select public.erase_person(%s, ''Why'')', 'nobody', 'PT404', 'User not found')
) as refusals (call, who, state, message), ids;
select is(
  (select concat_ws(' ', name, is_active, is_searchable) from public.users
    join public.profiles on profiles.user_id = users.id where users.id = cat),
  'cat t t', 'what was refused has changed nothing'
)
from ids;

select is(public.erase_person(cat, 'Asked by letter'), 'erased', 'an admin erases cat') from ids;
select is(pg_temp.latest_entry(), 'erase, 1, Asked by letter', 'which is logged');
select is(name || coalesce(email, ''), 'Deleted user', 'and done') from public.users, ids where id = cat;
select throws_ok(
  format($$ select public.erase_person(%s, 'Why') $$, cat), 'PT409', 'This account was erased before', 'once'
)
from ids;
select throws_ok(
  format($$ select public.restrict_person(%s, '%s', 'Why') $$, cat, restriction), 'PT409', 'This account was erased',
  'who was erased is beyond ' || restriction
)
from ids, unnest(array['hide', 'suspend']) as restriction;
